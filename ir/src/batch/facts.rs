//! What a back end has to know of a program as a whole: one walk over it finds all.

use super::assigned::assigned;
use super::{Parts, Word, is_of_run};
use crate::bounds::{RowCounts, static_rows};
use crate::cfg;
use crate::entity::{Array, Value};
use crate::function::{Imm, InstData};
use crate::op::{Memory, Op};
use crate::set::EntitySet;
use crate::texture::Access;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use smallvec::{SmallVec, smallvec};

/// As many streams as a loop can have a pointer and a stride of in registers. If there are more, it loads both for
/// each.
const CARRIED_STREAMS: usize = 4;

/// Waves that one call of native code runs at most: beginning again costs little against so many.
const WAVES_AT_ONCE: usize = 1024;

/// Invocations that it runs at most if some of their outputs are copied afterwards.
const COPIED_AT_ONCE: usize = 192;

/// What the waves of one call weigh without what their loops take: a millisecond's work or so.
const WEIGHT_AT_ONCE: u64 = 1 << 20;

/// The words of a row, each a bit.
const ALL_WORDS: u8 = 0b1111;

/// An input or output element's place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// That of an input element.
    Input(u32),
    /// That of an output element.
    Output(u32),
}

/// The facts.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// For each input element, the words of its rows that lanes read, bit 0 for the first.
    pub wanted: SmallVec<[u8; 16]>,
    /// For each input element, whether its rows are read, be it by what copies it.
    pub reads: SmallVec<[bool; 16]>,
    /// The words that are taken out of each row, but by what has rows of a wave as they lie in memory; bit 0 for the
    /// first.
    pub row_words: SecondaryMap<Value, u8>,
    /// For each uniform space, whether code loads anything from it.
    pub used_spaces: SmallVec<[bool; 16]>,
    /// For each uniform space, how many rows are read without a check, by code or by what the call fills in.
    pub readable_rows: RowCounts,
    /// Whether anything is asked of a resource.
    pub uses_resources: bool,
    /// Whether any value is guarded.
    pub guards: bool,
    /// Whether any edge costs fuel.
    pub pays: bool,
    /// Whether lanes have addresses of their own.
    pub scattered: bool,
    /// The register arrays that need not begin as zero, beside those that are kept.
    pub assigned: EntitySet<Array>,
    /// The streams whose rows each loop steps along, if they are few: for each phase, or for the one loop.
    streams: Vec<Streams>,
}

/// Some streams; most loops have few.
type Streams = SmallVec<[Stream; CARRIED_STREAMS]>;

impl Facts {
    /// Finds them.
    pub(super) fn of(program: &Parts) -> Facts {
        let mut facts = Facts {
            wanted: smallvec![0; program.inputs as usize],
            reads: smallvec![false; program.inputs as usize],
            used_spaces: smallvec![false; program.spaces.len()],
            readable_rows: static_rows(program),
            streams: streams(program),
            assigned: assigned(program),
            ..Facts::default()
        };
        for &block in &program.layout {
            facts.pays |= cfg::successors(program, block).any(|target| program.costs.edge(block, target) > 0);
            program.insts_in(block).for_each(|inst| facts.note(program, inst));
            program.blocks[block].terminator().uses().for_each(|value| facts.row_words[value] = ALL_WORDS);
        }
        for word in program.call.fills.iter().flat_map(|fill| fill.words) {
            if let Word::Uniform { space, row, .. } = word {
                let rows = &mut facts.readable_rows[space as usize];
                *rows = (row + 1).max(*rows);
            }
        }
        program.copies.iter().for_each(|copy| facts.reads[copy.input as usize] = true);
        facts
    }

    fn note(&mut self, program: &Parts, inst: &InstData) {
        let is_used = inst.result.is_some_and(|result| program.is_used(result));
        match (inst.op, inst.imm) {
            (Op::Input | Op::InputWord, Imm::Element { element, component }) if is_used => {
                self.wanted[element as usize] |= 1 << component;
                self.reads[element as usize] = true;
            }
            (Op::InputRow, Imm::Stream(element)) => self.reads[element as usize] = true,
            (Op::UniformLoad | Op::UniformLoadAt, Imm::Row { space, .. })
            | (Op::RowAt, Imm::SpaceRow { space, .. }) => self.used_spaces[space.as_u32() as usize] = true,
            (Op::ResourceLoad | Op::ResourceBytes | Op::MemoryLoad | Op::MemoryStoreMasked, _) => {
                self.uses_resources = true;
            }
            (Op::GuardOrdered, _) => self.guards = true,
            (Op::RowWord, Imm::Component(component)) => self.row_words[inst.args[0]] |= 1 << component,
            _ if is_of_run(inst) => {}
            _ => {
                let rows = inst.args.iter().filter(|&&arg| program.ty(arg) == Type::Row);
                rows.for_each(|&row| self.row_words[row] = ALL_WORDS);
            }
        }
        let is_address = matches!(inst.op, Op::UniformLoadAt | Op::RowAt | Op::ResourceLoad | Op::MemoryLoad)
            || inst.op.memory() == Some(Memory::Array);
        self.scattered |= is_address && !program.uniform.contains(inst.args[0]) || inst.op == Op::MemoryStoreMasked;
    }

    /// What an instruction accesses, and how much of the answer is read; none if it accesses nothing.
    pub fn access(&self, inst: &InstData) -> Option<Access> {
        let access = Access::new(inst.op, inst.imm)?;
        let read = inst.result.map_or(0, |result| self.row_words[result]);
        let words = u8::BITS - read.leading_zeros();
        Some(Access { words: words.clamp(1, 4) as u8, ..access })
    }

    /// The streams whose rows a loop steps along: that of a phase, or the one loop, which is number 0.
    pub fn streams(&self, phase: usize) -> &[Stream] {
        &self.streams[phase]
    }
}

impl Parts {
    /// How many waves one call of native code runs: whole tiles, few enough that whoever wants to end the batch is
    /// heard soon, and that its output bytes are still in the first-level cache where they are copied.
    pub fn waves_at_once(&self) -> usize {
        let most = if self.copies.is_empty() { WAVES_AT_ONCE } else { COPIED_AT_ONCE / self.wave() };
        let waves = (WEIGHT_AT_ONCE / self.costs.whole().max(1)).min(most as u64) as usize;
        (waves / self.tile()).max(1) * self.tile()
    }
}

/// The streams that each loop steps along.
fn streams(program: &Parts) -> Vec<Streams> {
    let phases = &program.cut.phases;
    let mut streams = vec![Streams::new(); phases.len().max(1)];
    // For each input the last phase that has it, plus 1.
    let mut fetched_by: SmallVec<[usize; 8]> = smallvec![0; program.inputs as usize];
    let mut stored_by: SmallVec<[Option<usize>; 8]> = smallvec![None; program.outputs as usize];
    for &block in &program.order {
        let phase = program.phase_of(block).unwrap_or(0);
        for inst in program.insts_in(block) {
            let is_used = inst.result.is_some_and(|result| program.is_used(result));
            match (inst.op, inst.imm) {
                (Op::Input | Op::InputWord, Imm::Element { element, .. }) | (Op::InputRow, Imm::Stream(element))
                    if is_used && std::mem::replace(&mut fetched_by[element as usize], phase + 1) != phase + 1 =>
                {
                    streams[phase].push(Stream::Input(element));
                }
                (Op::Output, Imm::Element { element, .. }) if program.is_stored(element) => {
                    stored_by[element as usize] = Some(phase);
                }
                (Op::OutputRow, Imm::Stream(element)) => stored_by[element as usize] = Some(phase),
                _ => {}
            }
        }
    }
    for (output, phase) in (0u32..).zip(stored_by) {
        streams[phase.unwrap_or(0)].extend(phase.map(|_| Stream::Output(output)));
    }
    // Waves of a worklist do not follow each other.
    for (number, streams) in streams.iter_mut().enumerate() {
        let is_listed = phases.get(number).is_some_and(|phase| phase.worklist.is_some());
        if is_listed || streams.len() > CARRIED_STREAMS {
            streams.clear();
        }
    }
    streams
}
