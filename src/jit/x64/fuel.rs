//! Metering: edges that go backwards pay with the wave's fuel, or with that of all waves of a tile, which go together.
//!
//! What is left is counted in memory, among the arguments. When that is used up, a call says whether there is more
//! ([`crate::jit::refuel`]); it keeps all registers, so the loop around it is what it would be without the call.

use super::Selector;
use super::code::{Address, BlockId};
use super::encode::{Condition, Size};
use super::table::Op as X;
use crate::jit::abi::offset;
use crate::jit::mode;
use regalloc2::VReg;
use shaderjit_ir::{Block, cfg};

impl Selector<'_> {
    fn args_at(&self, field: i32) -> Address {
        Address::at(self.args, field)
    }

    /// Copies a word.
    fn copy_word(&mut self, from: Address, to: Address) {
        let word = self.simd.load_word(from);
        self.simd.store_word(word, to);
    }

    /// Begins a wave or a tile: fills up its fuel.
    pub(super) fn begin_fuel(&mut self) {
        if !self.program.facts.pays {
            return;
        }
        self.copy_word(self.args_at(offset::FUEL), self.args_at(offset::LEFT));
        if self.program.is_cut() {
            // What the waves of the tile take, each for itself.
            let none = self.simd.literal(0);
            self.simd.store_pointer(none, self.own(self.own.spent));
        }
    }

    /// Ends a wave or a tile: adds what it has taken to what others have.
    pub(super) fn end_fuel(&mut self) {
        if !self.program.facts.pays {
            return;
        }
        let taken = if self.program.is_cut() {
            self.simd.load_pointer(self.own(self.own.spent))
        } else {
            let granted = self.simd.load_word(self.args_at(offset::GRANTED));
            self.simd.general(X::Sub, &[granted], self.args_at(offset::LEFT))
        };
        self.simd.add_to(self.args_at(offset::SPENT), taken);
        self.copy_word(self.args_at(offset::FUEL), self.args_at(offset::GRANTED));
    }

    /// Whether waves pay in a phase, each for itself.
    pub(super) fn pays(&self, phase: usize) -> bool {
        let blocks = &self.program.cut.phases[phase].blocks;
        blocks.iter().any(|&block| cfg::successors(self.func, block).any(|to| self.program.costs.edge(block, to) > 0))
    }

    fn phase_pays(&self) -> bool {
        self.phase.as_ref().is_some_and(|phase| self.pays(phase.number))
    }

    /// In front of a phase: the tile's fuel is kept, and the least that a wave has left of it.
    pub(super) fn begin_phase_fuel(&mut self) {
        if self.phase_pays() {
            let left = self.simd.load_word(self.args_at(offset::LEFT));
            self.simd.store_word(left, self.own(self.own.left));
            self.simd.store_word(left, self.own(self.own.least));
        }
    }

    /// Begins a wave of a phase: it has what the tile has.
    pub(super) fn begin_wave_fuel(&mut self) {
        if self.phase_pays() {
            self.copy_word(self.own(self.own.left), self.args_at(offset::LEFT));
        }
    }

    /// Ends a wave of a phase.
    pub(super) fn end_wave_fuel(&mut self, phase: usize) {
        if self.pays(phase) {
            let left = self.simd.load_word(self.args_at(offset::LEFT));
            let least = self.simd.load_word(self.own(self.own.least));
            self.simd.compare(X::Cmp, left, least);
            let least = self.simd.choose(Condition::Less, left, least);
            self.simd.store_word(least, self.own(self.own.least));
        }
    }

    /// Behind a phase whose waves pay: a tile has left what the wave has left that took most. It runs out of fuel no
    /// later than one of its waves would.
    pub(super) fn end_phase_fuel(&mut self) {
        self.copy_word(self.own(self.own.least), self.args_at(offset::LEFT));
    }

    /// Ends the current block with an edge that costs fuel.
    pub(super) fn pay_and_jump(&mut self, from: Block, cost: u32, (target, args): (BlockId, &[VReg])) {
        if self.program.is_cut() {
            let spent = self.own(self.own.spent);
            match i32::try_from(cost) {
                Ok(_) if self.phase.is_some() => {
                    self.simd.effect(X::AddImmediate64, Size::X, &[], Some(spent), cost);
                }
                _ => {
                    let mut taken = self.simd.literal(cost);
                    if self.phase.is_none() {
                        let waves = self.waves_at(from);
                        taken = self.simd.general(X::Imul64, &[waves], taken);
                    }
                    self.simd.add_to(spent, taken);
                }
            }
        }
        let left = self.args_at(offset::LEFT);
        self.simd.effect(X::SubFrom, Size::X, &[], Some(left), cost.min(i32::MAX as u32));
        let refuel = self.simd.code.cold_block();
        self.simd.code.branch(Condition::Sign, (refuel, &[]), (target, args));

        self.simd.code.switch_to(refuel);
        self.simd.code.refuel(mode::refuel_wide(self.simd.has_masks()));
        self.simd.compare_imm(X::CmpImmediate, left, 0);
        self.simd.code.branch(Condition::Less, (self.out_of_fuel, &[]), (target, args));
    }
}
