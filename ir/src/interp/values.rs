//! The store: which words each value has in each lane.

use super::Interpreter;
use crate::entity::Value;
use crate::eval::Lanes;
use crate::types::Type;

impl<const L: usize> Interpreter<'_, L> {
    /// Sets a value of one word, the same in all lanes.
    pub(crate) fn set(&mut self, value: Value, word: u32) {
        let slot = self.slot_of[value] as usize;
        self.slots[slot] = [word; L];
    }

    /// Makes a value zero.
    pub(crate) fn clear(&mut self, value: Value) {
        let (slot, words) = (self.slot_of[value] as usize, self.func.ty(value).words() as usize);
        self.slots[slot..slot + words].fill([0; L]);
    }

    pub(super) fn lanes(&self, value: Value) -> Lanes<L> {
        self.slots[self.slot_of[value] as usize]
    }

    pub(super) fn high(&self, value: Value) -> Lanes<L> {
        self.slots[self.slot_of[value] as usize + 1]
    }

    /// The bits of a value of any type, zeros above those of 32.
    pub(super) fn wide_lanes(&self, value: Value) -> [u64; L] {
        let low = self.lanes(value).map(u64::from);
        if self.func.ty(value) != Type::F64 {
            return low;
        }
        let high = self.high(value);
        std::array::from_fn(|l| u64::from(high[l]) << 32 | low[l])
    }

    /// The words of a value in the first lane, zeros behind them.
    pub(crate) fn words(&self, value: Value) -> [u32; 4] {
        let (slot, words) = (self.slot_of[value] as usize, self.func.ty(value).words() as usize);
        std::array::from_fn(|word| if word < words { self.slots[slot + word][0] } else { 0 })
    }

    /// The bits of a value of at most 64 in the first lane.
    pub(crate) fn bits(&self, value: Value) -> u64 {
        self.wide_lanes(value)[0]
    }

    pub(super) fn set_pair(&mut self, value: Value, low: Lanes<L>, high: Lanes<L>) {
        let slot = self.slot_of[value] as usize;
        self.slots[slot] = low;
        self.slots[slot + 1] = high;
    }

    /// The words of a row; the first of a value that is one word, and zeros.
    pub(super) fn row(&self, value: Value) -> [Lanes<L>; 4] {
        let slot = self.slot_of[value] as usize;
        let words = if self.func.ty(value) == Type::Row { 4 } else { 1 };
        std::array::from_fn(|word| if word < words { self.slots[slot + word] } else { [0; L] })
    }

    pub(super) fn set_row(&mut self, value: Value, row: [Lanes<L>; 4]) {
        let slot = self.slot_of[value] as usize;
        self.slots[slot..slot + 4].copy_from_slice(&row);
    }
}
