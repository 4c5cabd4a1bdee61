//! Selection for slots: those of the call, and what a wave keeps in its record, or, if the function is not cut, in the
//! frame.

use super::value::vector_type;
use super::{Emitter, result};
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::types::F32X4;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Type};

impl Emitter<'_, '_> {
    /// Loads or stores a slot of the wave: a vector for each word of a value.
    pub(super) fn slot(&mut self, inst: &InstData, slot: u32) {
        let (memory, start) = match self.wave.record {
            Some(record) => (record, 0),
            None => (self.frame.expect("slots are there"), self.places.frame.kept.start as i32),
        };
        let at = |word: u32| start + 16 * (slot + word) as i32;
        if inst.op == Op::SlotLoad {
            let load = |word| self.simd.load(vector_type(inst.ty), memory, at(word));
            let words: Vec<clif::Value> = (0..inst.ty.words()).map(load).collect();
            return self.define(result(inst), &words);
        }
        for (word, vector) in (0..).zip(self.words(inst.args[0], false)) {
            self.simd.store(vector, memory, at(word));
        }
    }

    /// Loads or stores a slot of the call.
    pub(super) fn call_slot(&mut self, inst: &InstData, slot: u32) {
        let frame = self.frame.expect("slots are there");
        match (inst.op, inst.ty) {
            (Op::CallLoad, Type::Row) => {
                let row = self.call_row(slot);
                self.values[result(inst)].0[0] = row;
            }
            (Op::CallLoad, _) => {
                let splat = self.call_row(slot);
                self.define_vector(result(inst), splat);
            }
            (_, Type::Row) => {
                let join = self.func.def_inst(inst.args[0]).expect("rows of the call are made of words");
                for (word, &value) in (0..).zip(join.args.iter()) {
                    let scalar = self.scalar(value);
                    self.simd.store(scalar, frame, slot as i32 * 16 + word * 4);
                }
            }
            _ => {
                let splat = self.vector(inst.args[0]);
                self.simd.store(splat, frame, slot as i32 * 16);
            }
        }
    }

    /// What a slot of the call has.
    pub(super) fn call_row(&mut self, slot: u32) -> clif::Value {
        let frame = self.frame.expect("slots are there");
        self.simd.load(F32X4, frame, slot as i32 * 16)
    }
}
