//! Selection for slots: those of the call, and what a wave keeps in its record, or, if the function is not cut, in the
//! frame.

use super::value::{MAX_VECTORS, vector_type};
use super::{Emitter, result};
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::types::{F32X4, I32X4};
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Type};

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
                for (which, vector) in vectors.iter_mut().enumerate().take(self.places.vectors) {
                    let (memory, at) = self.slot_address(slot + word, which);
                    *vector = self.simd.load(I32X4, memory, at);
                }
                vectors
            });
            return self.define_double_vectors(result(inst), words);
        }
        for (word, vectors) in (0..).zip(self.double_vectors(inst.args[0])) {
            for (which, &vector) in vectors.iter().enumerate().take(self.places.vectors) {
                let (memory, at) = self.slot_address(slot + word, which);
                self.simd.store(vector, memory, at);
            }
        }
    }

    /// Loads or stores a slot of the call.
    pub(super) fn call_slot(&mut self, inst: &InstData, slot: u32) {
        let frame = self.frame.expect("slots are there");
        match (inst.op, inst.ty) {
            (Op::CallLoad, Type::Row) => {
                let row = self.call_row(slot);
                self.held_rows.insert(result(inst), row);
            }
            (Op::CallLoad, _) => {
                let splat = self.call_row(slot);
                self.define_splat(result(inst), splat);
            }
            (_, Type::Row) => {
                let join = self.func.def_inst(inst.args[0]).expect("rows of the call are made of words");
                for (word, &value) in (0..).zip(join.args.iter()) {
                    let scalar = self.scalar(value);
                    self.simd.store(scalar, frame, slot as i32 * 16 + word * 4);
                }
            }
            _ => {
                let splat = self.vector(inst.args[0], 0);
                self.simd.store(splat, frame, slot as i32 * 16);
            }
        }
    }

    /// What a slot of the call has.
    pub(super) fn call_row(&mut self, slot: u32) -> clif::Value {
        let frame = self.frame.expect("slots are there");
        self.simd.load(F32X4, frame, slot as i32 * 16)
    }

    fn slot_address(&self, slot: u32, which: usize) -> (clif::Value, i32) {
        let vector = slot as usize * self.places.vectors + which;
        match self.record {
            Some(record) => (record, 16 * vector as i32),
            None => (self.frame.expect("slots are there"), (self.places.frame.kept.start + 16 * vector) as i32),
        }
    }
}
