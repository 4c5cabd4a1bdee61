//! Literals that registers hold for a whole call (loop-invariant code motion of constants): those that loops use most,
//! in registers that values leave free. All others are operands in memory, which takes the port of a load at each use,
//! and an instruction where the literal is to be the first operand.

use super::{Level, Selector};
use shaderjit_ir::batch::is_of_run;
use shaderjit_ir::function::InstData;
use shaderjit_ir::loops::Loops;
use shaderjit_ir::{Op, Type, pressure};
use std::collections::BTreeMap;

/// Registers that are left beside those of the values that are alive on average: for where there are more, and for what
/// instructions make by the way. Where more are alive for a while, the scan has literals wait in the frame.
const SPARE: usize = 7;

/// The most literals that are held.
const MOST: usize = 12;

/// How often a use in a loop of the program counts, where others count once.
const IN_LOOP: u32 = 8;

/// How often a literal must be used.
const FEWEST: u32 = 4;

impl Selector<'_> {
    /// Loads the literals to be held, in front of all loops.
    pub(super) fn pin_literals(&mut self) {
        let uses = self.literal_uses();
        if uses.is_empty() {
            return;
        }
        let registers: usize = match self.simd.level {
            Level::Avx2 => 16,
            Level::Avx512 { .. } => 32,
        };
        let is_held = |value| {
            let is_operand = |def: &InstData| matches!(def.op, Op::Const | Op::CallLoad);
            !self.func.def_inst(value).is_some_and(is_operand)
                && (!self.is_uniform(value) || self.func.ty(value) == Type::F32)
        };
        let alive = pressure::average(self.func, &self.program.order, is_held);
        let free = registers.saturating_sub(alive + SPARE).min(MOST);
        for &(_, word) in uses.iter().take(free) {
            let register = self.simd.word(word);
            self.simd.pinned.push((word, register));
        }
    }

    /// Literals that are used often enough, how often, and what they are: the most used ones first.
    fn literal_uses(&self) -> Vec<(u32, u32)> {
        let program = self.program;
        let loops = Loops::find(program, &program.order).outermost();
        let mut uses: BTreeMap<u32, u32> = BTreeMap::new();
        for (&block, around) in program.order.iter().zip(loops) {
            for inst in program.insts_in(block).filter(|inst| !is_of_run(inst)) {
                // Amounts of shifts are immediates.
                let is_shift = matches!(inst.op, Op::Ishl | Op::Ushr | Op::Sshr);
                for &arg in inst.args.iter().take(if is_shift { 1 } else { 4 }) {
                    let is_word = matches!(self.func.ty(arg), Type::F32 | Type::I32);
                    if let Some(bits) = self.func.constant(arg).filter(|_| is_word) {
                        *uses.entry(bits as u32).or_default() += if around.is_some() { IN_LOOP } else { 1 };
                    }
                }
            }
        }
        let mut uses: Vec<(u32, u32)> = uses.into_iter().map(|(word, count)| (count, word)).collect();
        uses.retain(|&(count, _)| count >= FEWEST);
        uses.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        uses
    }
}
