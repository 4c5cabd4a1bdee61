//! Checks that a program keeps the rules of phases and of the call's block.

use super::{Parts, Phase};
use crate::cfg::{self, Edge, Lists};
use crate::function::{InstData, Terminator};
use crate::op::Memory;
use crate::print::Numbering;
use crate::verify::{Rule, VerifyError, VerifyErrors};
use crate::{Block, Op, Type, Value};
use cranelift_entity::SecondaryMap;

/// The part of a program that a block is of.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    Call,
    /// The tile's; that of all waves if the function is not cut.
    #[default]
    Tile,
    Phase(u32),
}

/// Looks for broken rules.
struct Checker<'a> {
    program: &'a Parts,
    /// Made for the first error.
    numbering: Option<Numbering>,
    errors: Vec<VerifyError>,
    /// The part that makes each value; none for rows that the call's block holds for all.
    made: SecondaryMap<Value, Part>,
}

/// Checks [`Rule::Phase`].
pub fn phases(program: &Parts) -> Result<(), VerifyErrors> {
    let mut checker = Checker { program, numbering: None, errors: Vec::new(), made: program.value_map() };
    for &block in &program.layout {
        let part = checker.part(block);
        for value in program.defs_in(block) {
            let is_held = part == Part::Call && program.ty(value) == Type::Row;
            checker.made[value] = if is_held { Part::Tile } else { part };
        }
    }
    for &block in &program.layout {
        checker.block(block);
    }
    if program.is_cut() {
        checker.order(&cfg::predecessors(program));
    }
    if checker.errors.is_empty() { Ok(()) } else { Err(VerifyErrors(checker.errors)) }
}

impl Checker<'_> {
    fn part(&self, block: Block) -> Part {
        match self.program.phase_of(block) {
            _ if self.program.call.block == Some(block) => Part::Call,
            Some(number) => Part::Phase(number as u32),
            None => Part::Tile,
        }
    }

    #[cold]
    fn report(&mut self, block: Block, message: String) {
        if self.errors.len() < VerifyErrors::MAX {
            let at = self.numbering().block(block).to_string();
            self.errors.push(VerifyError { rule: Rule::Phase, at, message });
        }
    }

    fn numbering(&mut self) -> &Numbering {
        let program = self.program;
        self.numbering.get_or_insert_with(|| Numbering::new(&program.func))
    }

    fn block(&mut self, block: Block) {
        let (program, part) = (self.program, self.part(block));
        let data = &program.blocks[block];
        for inst in data.insts.iter().map(|&inst| &program.insts[inst]) {
            inst.args.iter().for_each(|&arg| self.used(block, part, arg));
            if usize::from(inst.vector) >= usize::from(program.vectors) {
                self.report(block, format!("{} is for a vector that waves have not", inst.op));
            }
            if !may_stand(program, part, inst) {
                self.report(block, format!("{} cannot stand there", inst.op));
            }
        }
        data.terminator().uses().for_each(|value| self.used(block, part, value));
        if program.is_cut() && !matches!(part, Part::Phase(_)) {
            for value in program.defs_in(block).filter(|&value| !program.uniform.contains(value)) {
                let name = self.numbering().value(value);
                self.report(block, format!("{name} differs among lanes, and the block is of no phase"));
            }
        }
        for target in cfg::successors(program, block) {
            self.edge(block, part, target);
        }
        let Part::Phase(number) = part else { return };
        if program.cut.phases[number as usize].blocks[0] == block && !data.params.is_empty() {
            self.report(block, "a phase begins with it, and it has parameters".to_string());
        }
        if *data.terminator() == Terminator::Return {
            self.report(block, "a phase returns".to_string());
        }
    }

    /// Phases are in one piece each, behind the one block that leads there.
    fn order(&mut self, predecessors: &Lists<Edge>) {
        let layout = &self.program.layout;
        let mut positions: SecondaryMap<Block, usize> = SecondaryMap::new();
        layout.iter().enumerate().for_each(|(at, &block)| positions[block] = at);
        for blocks in self.program.cut.phases.iter().map(|phase| &phase.blocks) {
            let (at, before) = (positions[blocks[0]], &predecessors[blocks[0]]);
            let is_behind = at > 0 && !before.is_empty() && before.iter().all(|edge| edge.from == layout[at - 1]);
            if !is_behind || !layout[at..].starts_with(blocks) {
                self.report(blocks[0], "its phase is not behind the one block that leads there".to_string());
            }
        }
    }

    #[inline]
    fn used(&mut self, block: Block, part: Part, value: Value) {
        let made = self.made[value];
        if made != Part::Tile && made != part {
            self.of_another_part(block, value);
        }
    }

    #[cold]
    fn of_another_part(&mut self, block: Block, value: Value) {
        let name = self.numbering().value(value);
        self.report(block, format!("{name} is of another part"));
    }

    fn edge(&mut self, block: Block, part: Part, target: Block) {
        let program = self.program;
        let is_wrong = match (part, self.part(target)) {
            (Part::Phase(number), to) if to != part => {
                let Phase { next, .. } = program.cut.phases[number as usize];
                target != next || !program.blocks[target].params.is_empty()
            }
            (Part::Tile, Part::Phase(number)) => {
                program.cut.phases[number as usize].blocks[0] != target
                    || !matches!(program.blocks[block].terminator(), Terminator::Jump(_))
            }
            (Part::Call, to) => target != program.order[0] || to != Part::Tile,
            _ => false,
        };
        if is_wrong {
            let name = self.numbering().block(target);
            self.report(block, format!("it cannot lead to {name}"));
        }
    }
}

/// Whether an instruction may be in a part.
fn may_stand(program: &Parts, part: Part, inst: &InstData) -> bool {
    let is_cut = program.is_cut();
    match (inst.op, inst.op.memory()) {
        (Op::LanePick, _) => program.vectors == 1,
        (Op::CallStore, _) => part == Part::Call,
        (Op::CallLoad, _) => true,
        (Op::WorklistPush, _) => matches!(part, Part::Phase(_)),
        (Op::WorklistAny | Op::WorklistEnter, _) => is_cut && part == Part::Tile,
        // A tile reads what its waves share where none of them writes it.
        (op, Some(Memory::Buffer)) if !op.writes_buffers() => part != Part::Call,
        (Op::GuardOrdered, _) | (_, Some(Memory::Array | Memory::Output | Memory::Slot | Memory::Buffer)) => {
            if is_cut {
                matches!(part, Part::Phase(_))
            } else {
                part != Part::Call
            }
        }
        (Op::Barrier, _) => !is_cut && part != Part::Call,
        _ => true,
    }
}
