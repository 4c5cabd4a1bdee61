//! Guards: values that must not be NaN. They are noted as they come and looked at once a wave.
//!
//! A block gathers them in a mask. Where a wave has several blocks, each adds the bits of its own to a word in the
//! frame.

use super::Selector;
use super::code::Address;
use super::encode::{Condition, Size};
use super::simd::float;
use super::table::Op as X;
use crate::jit::abi::{self, offset};
use regalloc2::VReg;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Block, Op};

/// What is known of guards.
#[derive(Default)]
pub struct Guards {
    /// A vector of this block that has yet to be looked at: two take one comparison.
    pending: Option<VReg>,
    /// The lanes in which some value of this block was NaN.
    failed: Option<VReg>,
    /// Whether blocks of this wave or phase note theirs in the frame's word: those that end it may be selected first.
    are_noted: bool,
}

impl Selector<'_> {
    fn failed_word(&self) -> Address {
        self.own(self.own.failed)
    }

    /// Begins a wave: no guard has failed.
    pub(super) fn begin_guards(&mut self) {
        self.guards = Guards { are_noted: self.waves_have_blocks() && self.waves_have_guards(), ..Guards::default() };
        if self.guards.are_noted {
            let none = self.simd.literal(0);
            self.simd.store_word(none, self.failed_word());
        }
    }

    /// The blocks that a wave goes through, of this phase if there are any.
    fn blocks_of_wave(&self) -> &[Block] {
        match &self.phase {
            Some(phase) => &self.program.cut.phases[phase.number].blocks,
            None => &self.program.order,
        }
    }

    fn waves_have_blocks(&self) -> bool {
        self.blocks_of_wave().len() > 1
    }

    fn waves_have_guards(&self) -> bool {
        let mut blocks = self.blocks_of_wave().iter();
        let is_guard = |inst: &InstData| inst.op == Op::GuardOrdered;
        self.program.facts.guards && blocks.any(|&block| self.program.insts_in(block).any(is_guard))
    }

    /// Notes a vector, in whatever lanes it is NaN.
    pub(super) fn guard(&mut self, vector: VReg) {
        match self.guards.pending.take() {
            Some(other) => self.note_unordered(other, vector),
            None => self.guards.pending = Some(vector),
        }
    }

    /// Ends a block: what is pending is looked at.
    pub(super) fn flush_guards(&mut self) {
        if let Some(vector) = self.guards.pending.take() {
            self.note_unordered(vector, vector);
        }
        if self.waves_have_blocks()
            && let Some(failed) = self.guards.failed.take()
        {
            let bits = self.simd.mask_bits(failed);
            let word = self.failed_word();
            self.simd.effect(X::OrTo, Size::X, &[bits], Some(word), 0);
        }
    }

    fn note_unordered(&mut self, a: VReg, b: VReg) {
        let unordered = self.simd.compare_floats(float::UNORDERED, a, b);
        let failed = match self.guards.failed {
            Some(failed) => self.simd.masks(X::Por, X::Kor, failed, unordered),
            None => unordered,
        };
        self.guards.failed = Some(failed);
    }

    /// Sets flags: not equal if a guard has failed in this wave. `false` if there was none.
    fn test_guards(&mut self) -> bool {
        if let Some(failed) = self.guards.failed.take() {
            self.simd.test_mask(failed);
        } else if self.guards.are_noted {
            let word = self.failed_word();
            self.simd.compare_imm(X::CmpImmediate, word, 0);
        } else {
            return false;
        }
        true
    }

    /// Ends a wave: goes on in a new block if no guard has failed, else stops.
    pub(super) fn check_guards(&mut self) {
        if self.test_guards() {
            self.stop_if(Condition::NotEqual, self.wave.element);
        }
    }

    /// Ends the function if a condition holds, at the wave that begins with an element; else goes on in a new block.
    fn stop_if(&mut self, condition: Condition, element: VReg) {
        let (stop, go_on) = (self.simd.code.cold_block(), self.simd.code.block());
        self.simd.code.branch_only(condition, stop, go_on);
        self.simd.code.switch_to(stop);
        let status = self.simd.literal(abi::GUARD_FAILED);
        self.stop(element, status);
        self.simd.code.switch_to(go_on);
    }

    /// Ends the function at the wave or the tile that begins with an element.
    fn stop(&mut self, element: VReg, status: VReg) {
        self.simd.store_word(element, Address::at(self.args, offset::STOPPED));
        self.simd.code.ret(status);
    }

    /// What happens where fuel runs out. With guards a wave stops, since it may have gone astray. A tile that runs out
    /// of it says where it begins: some wave of it may have run out, or all together.
    pub(super) fn run_out_of_fuel(&mut self) {
        self.simd.code.switch_to(self.out_of_fuel);
        let failed = if self.program.facts.guards { abi::GUARD_FAILED } else { abi::OUT_OF_FUEL };
        let failed = self.simd.literal(failed);
        match &self.tile {
            None => self.stop(self.wave.element, failed),
            Some(tile) => {
                let first = tile.first;
                let out_of_fuel = self.simd.literal(abi::OUT_OF_FUEL);
                self.simd.compare_imm(X::CmpImmediate64, self.count, self.step as u32);
                let status = self.simd.choose(Condition::BelowEqual, failed, out_of_fuel);
                self.stop(first, status);
            }
        }
    }

    // ---- in phases: a wave of the tile may fail in any of them, and those before it go on to the last

    /// Begins a tile: no guard has failed.
    pub(super) fn begin_tile(&mut self) {
        if self.program.facts.guards {
            self.simd.store_pointer(self.count, self.own(self.own.stopped));
        }
    }

    /// Ends a wave of a phase, and goes on in a new block. Out of line it is noted if a guard has failed in it, and
    /// none in a wave before it.
    pub(super) fn note_wave(&mut self) {
        if !self.test_guards() {
            return;
        }
        let (note, go_on) = (self.simd.code.cold_block(), self.simd.code.block());
        self.simd.code.branch(Condition::NotEqual, (note, &[]), (go_on, &[]));
        self.simd.code.switch_to(note);
        let stopped = self.own(self.own.stopped);
        let before = self.simd.load_pointer(stopped);
        self.simd.compare(X::Cmp64, self.wave.element, before);
        let first = self.simd.choose64(Condition::Below, self.wave.element, before);
        self.simd.store_pointer(first, stopped);
        self.simd.code.jump(go_on, &[]);
        self.simd.code.switch_to(go_on);
    }

    /// Ends a tile: goes on in a new block if no guard has failed, else stops.
    pub(super) fn check_tile(&mut self) {
        if self.program.facts.guards {
            let element = self.simd.load_pointer(self.own(self.own.stopped));
            self.simd.compare(X::Cmp64, element, self.count);
            self.stop_if(Condition::Below, element);
        }
    }
}
