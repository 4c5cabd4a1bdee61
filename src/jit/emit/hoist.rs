//! Work that no group of lanes changes: uniform floats are computed once, in front of the loop over groups.
//!
//! What the loop uses of them lies in the frame and is loaded at each use. Held in registers it would crowd out what varies, and
//! computed at its use it costs two instructions even if it is nothing but a row's component, since Cranelift does not sink
//! a load into the splat of a value whose users have several users.

use super::Emitter;
use crate::error::JitError;
use cranelift_codegen::entity::packed_option::PackedOption;
use cranelift_codegen::entity::{EntitySet, SecondaryMap, entity_impl};
use cranelift_codegen::ir::types::{F32X4, I64};
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind};
use shaderjit_ir::op::Effect;
use shaderjit_ir::{Block, Function, Inst, Op, Type, Value};

/// Most floats that are hoisted; the rest is computed where it is used. Each may take 16 bytes of the frame.
const MAX_FLOATS: usize = 512;

/// A float's place in the frame, in units of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(u32);

entity_impl!(Place);

/// What runs in front of the loop.
#[derive(Default)]
pub struct Hoisted {
    /// Instructions, in order. Those that compute no float run in the loop as well, if it uses them.
    insts: Vec<Inst>,
    /// Floats that the loop does not compute.
    floats: EntitySet<Value>,
    /// Floats that the loop uses, in the order of their places.
    kept: Vec<Value>,
    places: SecondaryMap<Value, PackedOption<Place>>,
}

impl Hoisted {
    /// Finds what depends on nothing but uniform spaces, resources and literals. Every op is total, so it may run though its block
    /// does not.
    pub fn find(func: &Function, order: &[Block], uniform: &EntitySet<Value>) -> Hoisted {
        let mut hoisted = Hoisted::default();
        let (mut candidates, mut values, mut floats) = (Vec::new(), EntitySet::new(), 0);
        for &block in order {
            for &inst in &func.blocks[block].insts {
                let data = &func.insts[inst];
                let Some(result) = data.result.filter(|&result| uniform.contains(result)) else { continue };
                let ty = func.ty(result);
                let is_wide = matches!(ty, Type::F64 | Type::Row);
                let moves = data.op != Op::Const && data.op.effect() == Effect::Pure && !is_wide;
                let ready = |&arg: &Value| values.contains(arg) || func.constant(arg).is_some();
                if moves && floats < MAX_FLOATS && data.args.iter().all(ready) {
                    candidates.push(inst);
                    values.insert(result);
                    if ty == Type::F32 {
                        floats += 1;
                        hoisted.floats.insert(result);
                    }
                }
            }
        }

        let mut needed = EntitySet::new();
        for &block in order {
            let data = &func.blocks[block];
            let in_loop = |&&inst: &&Inst| func.insts[inst].result.is_none_or(|it| !hoisted.floats.contains(it));
            let args = data.insts.iter().filter(in_loop).flat_map(|&inst| func.insts[inst].args.iter().copied());
            let passed = data.terminator().calls().flat_map(|call| call.args.iter().copied());
            for value in args.chain(passed) {
                if hoisted.floats.contains(value) && needed.insert(value) {
                    hoisted.places[value] = Place(hoisted.kept.len() as u32).into();
                    hoisted.kept.push(value);
                }
            }
        }
        for inst in candidates.into_iter().rev() {
            let data = &func.insts[inst];
            if data.result.is_some_and(|result| needed.contains(result)) {
                data.args.iter().for_each(|&arg| {
                    needed.insert(arg);
                });
                hoisted.insts.push(inst);
            }
        }
        hoisted.insts.reverse();
        hoisted
    }

    /// Whether the loop leaves this value to what runs in front of it.
    pub fn contains(&self, value: Value) -> bool {
        self.floats.contains(value)
    }
}

impl Emitter<'_, '_> {
    /// Emits what runs in front of the loop.
    pub(super) fn hoist(&mut self) -> Result<(), JitError> {
        if self.plan.hoisted.kept.is_empty() {
            return Ok(());
        }
        for index in 0..self.plan.hoisted.insts.len() {
            self.inst(&self.func.insts[self.plan.hoisted.insts[index]])?;
        }
        let bytes = 16 * self.plan.hoisted.kept.len() as u32;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4);
        let slot = self.simd.builder.create_sized_stack_slot(slot);
        let frame = self.simd.ins().stack_addr(I64, slot, 0);
        for (value, at) in self.plan.hoisted.kept.iter().zip((0..).step_by(16)) {
            let splat = self.values[*value].0[0];
            self.simd.store(splat, frame, at);
        }
        self.hoisted = Some(frame);
        Ok(())
    }

    /// A float that was hoisted, in all lanes; none if it is computed where it stands.
    pub(super) fn hoisted(&mut self, value: Value) -> Option<cranelift_codegen::ir::Value> {
        let frame = self.hoisted?;
        let place = self.plan.hoisted.places[value].expand()?;
        Some(self.simd.load(F32X4, frame, place.0 as i32 * 16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shaderjit_ir::cfg::reverse_postorder;
    use shaderjit_ir::parse::parse;
    use shaderjit_ir::uniform::uniform_values;

    #[test]
    fn what_uniforms_alone_decide_is_computed_once() {
        let text = "function \"f\" inputs 1 outputs 1 {\n    space0 \"cb0\"\nblock0:\n\
                    \u{20}   v0 = input.f32 0.0\n\
                    \u{20}   v1 = uniform_load.f32 space0[0].0\n\
                    \u{20}   v2 = uniform_load.f32 space0[0].1\n\
                    \u{20}   v3 = fmul v1, v2\n\
                    \u{20}   v4 = uniform_load.i32 space0[1].0\n\
                    \u{20}   v5 = itof v4\n\
                    \u{20}   v6 = fadd v3, v5\n\
                    \u{20}   v7 = fmul v0, v6\n\
                    \u{20}   v8 = fmul v7, v1\n\
                    \u{20}   v9 = uniform_load.f32 space0[2].0\n\
                    \u{20}   output.f32 0.0, v8\n\
                    \u{20}   output.i32 0.1, v4\n\
                    \u{20}   return\n}\n";
        let func = parse(text).unwrap();
        let hoisted = Hoisted::find(&func, &reverse_postorder(&func), &uniform_values(&func));
        let value = Value::from_u32;
        // The integer runs in front of the loop for what is made of it, and in the loop for its other user.
        let results: Vec<Value> = hoisted.insts.iter().filter_map(|&inst| func.insts[inst].result).collect();
        assert_eq!(results, [1, 2, 3, 4, 5, 6].map(value));
        assert_eq!(hoisted.kept, [6, 1].map(value));
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|v| hoisted.contains(value(v))),
            [true, true, true, false, true, true, false, false, true]
        );
    }
}
