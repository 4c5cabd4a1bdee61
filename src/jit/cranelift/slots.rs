//! Selection for slots: what a wave keeps in its record, or, if the function is not cut, in the frame.

use super::value::{MAX_VECTORS, vector_type};
use super::{Emitter, result};
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::types::I32X4;
use shaderjit_ir::Op;
use shaderjit_ir::function::InstData;

impl Emitter<'_, '_> {
    /// Loads or stores one vector of a value of one word. A load gives it.
    pub(super) fn slot_in_vector(&mut self, inst: &InstData, slot: u32, which: usize) -> Option<clif::Value> {
        let (memory, at) = self.slot_address(slot, which);
        if inst.op == Op::SlotLoad {
            return Some(self.simd.load(vector_type(inst.ty), memory, at));
        }
        let vector = self.vector(inst.args[0], which);
        self.simd.store(vector, memory, at);
        None
    }

    /// Loads or stores a double, which is two words.
    pub(super) fn double_slot(&mut self, inst: &InstData, slot: u32) {
        if inst.op == Op::SlotLoad {
            let words = [0, 1].map(|word| {
                let mut vectors = [self.args; MAX_VECTORS];
                for (which, vector) in vectors.iter_mut().enumerate().take(self.plan.vectors) {
                    let (memory, at) = self.slot_address(slot + word, which);
                    *vector = self.simd.load(I32X4, memory, at);
                }
                vectors
            });
            return self.define_double_vectors(result(inst), words);
        }
        for (word, vectors) in (0..).zip(self.double_vectors(inst.args[0])) {
            for (which, &vector) in vectors.iter().enumerate().take(self.plan.vectors) {
                let (memory, at) = self.slot_address(slot + word, which);
                self.simd.store(vector, memory, at);
            }
        }
    }

    fn slot_address(&self, slot: u32, which: usize) -> (clif::Value, i32) {
        let vector = slot as usize * self.plan.vectors + which;
        match self.record {
            Some(record) => (record, 16 * vector as i32),
            None => (self.frame.expect("slots are there"), (self.plan.frame.kept.start + 16 * vector) as i32),
        }
    }
}
