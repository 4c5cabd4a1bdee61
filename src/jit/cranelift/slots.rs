//! Selection for values that are kept in slots.

use super::Emitter;
use super::value::{Memo, vector_type};
use cranelift_codegen::ir as clif;
use shaderjit_ir::Value;
use shaderjit_ir::batch::Slot;

impl Emitter<'_, '_> {
    /// Stores a vector of a value, if that has a slot.
    pub(super) fn store_slot(&mut self, value: Value, which: usize, vector: clif::Value) {
        if let Some(slot) = self.plan.slots.of(value) {
            let (memory, at) = self.slot_address(slot, which);
            self.simd.store(vector, memory, at);
        }
    }

    /// What is in a value's slot, if it is used from there by now.
    pub(super) fn load_slot(&mut self, value: Value, which: usize) -> Option<clif::Value> {
        let slot = self.plan.slots.of(value).filter(|slot| slot.from <= self.region)?;
        if self.record.is_none() {
            return Some(self.load_from_slot(value, slot, which));
        }
        let key = Memo::Slot(value, which);
        Some(self.memoised(key, |this| this.load_from_slot(value, slot, which)))
    }

    fn load_from_slot(&mut self, value: Value, slot: Slot, which: usize) -> clif::Value {
        let (memory, at) = self.slot_address(slot, which);
        self.simd.load(vector_type(self.func.ty(value)), memory, at)
    }

    fn slot_address(&self, slot: Slot, which: usize) -> (clif::Value, i32) {
        let vector = slot.place as usize + which;
        match self.record {
            Some(record) => (record, 16 * vector as i32),
            None => (self.frame.expect("slots are there"), (self.plan.frame.kept.start + 16 * vector) as i32),
        }
    }
}
