//! What registers hold for whole loops (loop-invariant code motion of constants), as far as values leave them free. All
//! else is an operand in memory, which takes the port of a load at each use, and an instruction where it is to be the
//! first operand.
//!
//! For a whole call they hold the literals that loops use most. With AVX2, which has few registers, each phase has its
//! own instead: literals, and slots of the call, which take an instruction wherever there are no masks.

use super::{Level, Selector};
use cranelift_entity::SecondaryMap;
use regalloc2::VReg;
use shaderjit_ir::batch::{BatchProgram, is_of_run};
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::loops::Loops;
use shaderjit_ir::op::Memory;
use shaderjit_ir::{Op, Type, Value, pressure};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Vector registers of AVX2.
const REGISTERS: usize = 16;

/// Of those the ones that a phase leaves free, for what instructions make by the way.
const SPARE_IN_PHASES: usize = 1;

/// Registers that are left beside those of the values that are alive on average: for where there are more, and for what
/// instructions make by the way. Where more are alive for a while, the scan has literals wait in the frame.
const SPARE: usize = 7;

/// The most literals that are held.
const MOST: usize = 12;

/// How often a use in a loop of the program counts, where others count once.
const IN_LOOP: u32 = 8;

/// How often a literal must be used.
const FEWEST: u32 = 4;

/// A literal that one of so many instructions uses is held even where values want all registers: it takes the place of
/// one that is used less often, and of a load at each multiplication with addition that has two literals.
const DENSE: u32 = 16;

/// What is held for the phase at hand beside literals.
pub struct Pins {
    /// Whether each phase has its own.
    by_phase: bool,
    /// Slots of the call.
    slots: Vec<(u32, VReg)>,
    /// Working memory: the phase in which a value has been counted, plus 1.
    counted: SecondaryMap<Value, u32>,
}

impl Pins {
    pub fn new(program: &BatchProgram, level: Level) -> Pins {
        let are_blocks = program.cut.phases.iter().all(|phase| phase.blocks.len() == 1);
        let by_phase = level == Level::Avx2 && program.is_cut() && are_blocks;
        let counted = if by_phase { program.value_map() } else { SecondaryMap::new() };
        Pins { by_phase, slots: Vec::new(), counted }
    }

    /// The register that holds a slot of the call, if one does.
    pub fn slot(&self, slot: u32) -> Option<VReg> {
        self.slots.iter().find(|&&(pinned, _)| pinned == slot).map(|&(_, register)| register)
    }
}

/// What all waves of a phase use alike.
#[derive(Default)]
struct Common {
    /// How often literals are used, and what they are.
    literals: SmallVec<[(u32, u32); 2 * REGISTERS]>,
    slots: SmallVec<[u32; REGISTERS]>,
    /// Vector registers that its values take.
    alive: usize,
}

impl Common {
    /// Notes a literal, or not, if there are more than can be held anyhow.
    fn literal(&mut self, word: u32) {
        if let Some((count, _)) = self.literals.iter_mut().find(|(_, other)| *other == word) {
            *count += 1;
        } else if self.literals.len() < 2 * REGISTERS {
            self.literals.push((1, word));
        }
    }

    /// Notes a slot, or not.
    fn slot(&mut self, slot: u32) {
        if self.slots.len() < REGISTERS && !self.slots.contains(&slot) {
            self.slots.push(slot);
        }
    }
}

impl Selector<'_> {
    /// Loads what a phase holds, in front of its loop.
    pub(super) fn pin_phase(&mut self, number: usize) {
        if !self.pins.by_phase {
            return;
        }
        let Some(Common { mut literals, slots, alive }) = self.common(number) else { return };
        let free = REGISTERS.saturating_sub(alive + SPARE_IN_PHASES);
        for slot in slots.into_iter().take(free) {
            let register = self.simd.load(self.call_row(slot).in_all_lanes());
            self.pins.slots.push((slot, register));
        }
        literals.sort_unstable_by_key(|&(count, _)| Reverse(count));
        for (_, word) in literals.into_iter().take(free - self.pins.slots.len()) {
            let register = self.simd.word(word);
            self.simd.pinned.push((word, register));
        }
    }

    /// Ends the phase: what is behind it need not come from there.
    pub(super) fn unpin_phase(&mut self) {
        if self.pins.by_phase {
            self.simd.pinned.clear();
            self.pins.slots.clear();
        }
    }

    /// What the block of a phase uses, found from its end to its beginning; `None` if it has runs of rows.
    fn common(&mut self, number: usize) -> Option<Common> {
        let (program, phase) = (self.program, number as u32 + 1);
        let (mut common, mut alive, mut most) = (Common::default(), 0, 0);
        for inst in self.func.blocks[program.cut.phases[number].blocks[0]].insts.iter().rev() {
            let inst = &self.func.insts[*inst];
            if is_of_run(inst) {
                return None;
            }
            if let (Op::CallLoad, Type::F32, Imm::Slot(slot)) = (inst.op, inst.ty, inst.imm) {
                common.slot(slot);
            }
            let is_alive = |result: Value| !self.is_uniform(result) && self.pins.counted[result] == phase;
            if inst.result.is_some_and(is_alive) {
                alive -= 1;
            }
            // Amounts of shifts are immediates.
            let is_shift = matches!(inst.op, Op::Ishl | Op::Ushr | Op::Sshr);
            for &arg in inst.args.iter().take(if is_shift { 1 } else { inst.args.len() }) {
                let ty = self.func.ty(arg);
                if let Some(bits) = self.func.constant(arg) {
                    if matches!(ty, Type::F32 | Type::I32) {
                        common.literal(bits as u32);
                    }
                    continue;
                }
                let is_slot = self.func.def_inst(arg).is_some_and(|def| def.op == Op::CallLoad);
                let is_uniform = self.is_uniform(arg);
                let is_held = !is_slot && (!is_uniform || ty == Type::F32);
                if !is_held || std::mem::replace(&mut self.pins.counted[arg], phase) == phase {
                    continue;
                }
                // Most of that the tile has made: it is alive in all rounds.
                if is_uniform {
                    common.alive += 1;
                } else {
                    alive += 1;
                    most = most.max(alive);
                }
            }
        }
        common.alive += most;
        Some(common)
    }

    /// Loads the literals to be held for the whole call, in front of all loops.
    pub(super) fn pin_literals(&mut self) {
        if self.pins.by_phase {
            return;
        }
        let (uses, insts) = self.literal_uses();
        if uses.is_empty() {
            return;
        }
        let registers: usize = match self.simd.level {
            Level::Avx2 => REGISTERS,
            Level::Avx512 { .. } => 32,
        };
        let is_held = |value| {
            let is_operand = |def: &InstData| matches!(def.op, Op::Const | Op::CallLoad);
            !self.func.def_inst(value).is_some_and(is_operand)
                && (!self.is_uniform(value) || self.func.ty(value) == Type::F32)
        };
        let alive = pressure::average(self.func, &self.program.order, is_held);
        let free = registers.saturating_sub(alive + SPARE).min(MOST);
        let dense = uses.iter().take_while(|&&(count, _)| count >= insts.div_ceil(DENSE)).count();
        for &(_, word) in uses.iter().take(free.max(dense)) {
            let register = self.simd.word(word);
            self.simd.pinned.push((word, register));
        }
    }

    /// Literals that are used often enough, how often, and what they are: the most used ones first. And how many
    /// instructions there are, counted alike.
    fn literal_uses(&self) -> (Vec<(u32, u32)>, u32) {
        let program = self.program;
        let loops = Loops::find(program, &program.order).outermost();
        let (mut uses, mut insts) = (BTreeMap::<u32, u32>::new(), 0);
        for (&block, around) in program.order.iter().zip(loops) {
            let count = if around.is_some() { IN_LOOP } else { 1 };
            for inst in program.insts_in(block).filter(|inst| !is_of_run(inst)) {
                let is_general = |result: Value| self.is_uniform(result) && self.func.ty(result) != Type::F32;
                if inst.op == Op::Const || inst.result.is_some_and(is_general) {
                    continue;
                }
                insts += count;
                // Amounts of shifts are immediates, and so are fixed elements of arrays.
                let is_shift = matches!(inst.op, Op::Ishl | Op::Ushr | Op::Sshr);
                let is_array = inst.op.memory() == Some(Memory::Array);
                for &arg in inst.args.iter().take(if is_shift { 1 } else { 4 }).skip(usize::from(is_array)) {
                    let is_word = matches!(self.func.ty(arg), Type::F32 | Type::I32);
                    if let Some(bits) = self.func.constant(arg).filter(|_| is_word) {
                        *uses.entry(bits as u32).or_default() += count;
                    }
                }
            }
        }
        let mut uses: Vec<(u32, u32)> = uses.into_iter().map(|(word, count)| (count, word)).collect();
        uses.retain(|&(count, _)| count >= FEWEST);
        uses.sort_by_key(|&(count, _)| Reverse(count));
        (uses, insts)
    }
}
