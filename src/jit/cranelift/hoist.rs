//! The code in front of the loop over waves: what is computed once a call.

use super::Emitter;
use crate::error::JitError;
use crate::jit::abi::offset;
use cranelift_codegen::ir::types::{F32X4, I64};
use cranelift_codegen::ir::{self as clif};
use shaderjit_ir::Value;
use shaderjit_ir::batch::CallRow;
use shaderjit_ir::function::Origin;

impl Emitter<'_, '_> {
    /// Emits it.
    pub(super) fn hoist(&mut self) -> Result<(), JitError> {
        let call_values = self.plan.call_values;
        for &inst in call_values.insts() {
            self.inst(&self.func.insts[inst])?;
        }
        self.set_origin(Origin::default());
        if self.plan.frame.bytes() == 0 {
            return Ok(());
        }
        let memory = self.simd.load(I64, self.args, offset::FRAME);
        for (place, value) in call_values.stored() {
            let splat = self.values[value].0[0];
            self.simd.store(splat, memory, place as i32 * 16);
        }
        for (place, _, row) in call_values.rows() {
            if let CallRow::Code(values) = row {
                for (lane, value) in (0..).zip(values) {
                    let scalar = self.scalar(value);
                    self.simd.store(scalar, memory, place as i32 * 16 + lane * 4);
                }
            }
        }
        self.frame = Some(memory);
        if self.program.is_by_rows() {
            for (_, value, _) in call_values.rows() {
                let row = self.call_row(value);
                self.held_rows.insert(value, row);
            }
        }
        Ok(())
    }

    /// A float of the call, in all lanes.
    pub(super) fn load_slot_of_call(&mut self, place: u32) -> clif::Value {
        let memory = self.frame.expect("the slots of the call are filled");
        self.simd.load(F32X4, memory, place as i32 * 16)
    }

    /// A row of the call, which the loop may hold.
    pub(super) fn call_row(&mut self, row: Value) -> clif::Value {
        if let Some(&held) = self.held_rows.get(&row) {
            return held;
        }
        let place = self.plan.call_values.place_of(row).expect("rows of the call have places");
        self.load_slot_of_call(place)
    }
}
