//! Work that no group of lanes changes: uniform floats are computed once, in front of the loop over groups.
//!
//! What the loop uses of them lies in memory, in all lanes, and is loaded at each use. Held in registers it would crowd
//! out what varies, and computed at its use it costs two instructions even if it is nothing but a row's component,
//! since Cranelift does not sink a load into the splat of a value whose users have several users. A row's component is
//! put there by the call, which keeps it out of the code; the others by code in front of the loop.

use super::Emitter;
use super::rows::RowForms;
use crate::error::JitError;
use crate::jit::abi::offset;
use crate::jit::limits;
use cranelift_codegen::entity::packed_option::PackedOption;
use cranelift_codegen::entity::{EntitySet, SecondaryMap, entity_impl};
use cranelift_codegen::ir::types::{F32X4, I64};
use shaderjit_ir::function::{Imm, Origin};
use shaderjit_ir::op::Effect;
use shaderjit_ir::{Block, Function, Inst, Op, Type, Value};

/// Most floats that are hoisted; the rest is computed where it is used. Each may take 16 bytes of memory.
const MAX_FLOATS: usize = 512;

/// A float's place in memory, in units of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(u32);

entity_impl!(Place);

/// A component of a uniform row that a call puts into all lanes for the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splat {
    /// Its place, in units of 16 bytes.
    pub place: u32,
    /// Number of the uniform space.
    pub space: u32,
    /// A row that can be read without a check.
    pub row: u32,
    /// The component.
    pub component: u8,
}

/// One word of a row that a call fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A literal.
    Literal(u32),
    /// A component of a uniform row that can be read without a check.
    Uniform {
        /// Number of the uniform space.
        space: u32,
        /// Row.
        row: u32,
        /// Component.
        component: u8,
    },
}

impl Word {
    /// The word that a value is; `None` if it has to be computed.
    fn of(func: &Function, value: Value) -> Option<Word> {
        let data = func.def_inst(value)?;
        match (data.op, data.imm) {
            (Op::Const, Imm::Bits(bits)) => Some(Word::Literal(bits as u32)),
            (Op::UniformLoad, Imm::Row { space, row, component }) if row < limits::STATIC_ROWS => {
                Some(Word::Uniform { space: space.as_u32(), row, component })
            }
            _ => None,
        }
    }
}

/// Four floats that the loop loads as one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HoistedRow {
    /// The call puts them there.
    Call([Word; 4]),
    /// Code in front of the loop does.
    Code([Value; 4]),
}

/// What runs in front of the loop.
#[derive(Default)]
pub struct Hoisted {
    /// Instructions, in order. Those that compute no float run in the loop as well, if it uses them.
    insts: Vec<Inst>,
    /// Floats that the loop does not compute.
    floats: EntitySet<Value>,
    /// What the instructions compute.
    computed: EntitySet<Value>,
    /// Floats that the loop uses, in the order of their places.
    kept: Vec<Value>,
    /// Those of them that the call puts there.
    pub splats: Vec<Splat>,
    /// The rows of uniforms that row forms use, behind the floats.
    rows: Vec<HoistedRow>,
    places: SecondaryMap<Value, PackedOption<Place>>,
}

impl Hoisted {
    /// Finds what depends on nothing but uniform spaces, resources and literals. Every op is total, so it may run
    /// though its block does not.
    pub fn find(func: &Function, order: &[Block], uniform: &EntitySet<Value>) -> Hoisted {
        let mut hoisted = Hoisted::default();
        let (mut values, mut floats) = (EntitySet::new(), 0);
        for &block in order {
            for &inst in &func.blocks[block].insts {
                let data = &func.insts[inst];
                let Some(result) = data.result.filter(|&result| uniform.contains(result)) else { continue };
                let ty = func.ty(result);
                let is_wide = matches!(ty, Type::F64 | Type::Row);
                let moves = data.op != Op::Const && data.op.effect() == Effect::Pure && !is_wide;
                let ready = |&arg: &Value| values.contains(arg) || func.constant(arg).is_some();
                if moves && floats < MAX_FLOATS && data.args.iter().all(ready) {
                    hoisted.insts.push(inst);
                    values.insert(result);
                    if ty == Type::F32 {
                        floats += 1;
                        hoisted.floats.insert(result);
                    }
                }
            }
        }
        hoisted
    }

    /// Gives what the loop uses its place, and drops the instructions that nobody needs then.
    pub fn place(&mut self, func: &Function, order: &[Block], rows: &RowForms) {
        let mut needed = EntitySet::new();
        for &block in order {
            let data = &func.blocks[block];
            let insts = data.insts.iter().map(|&inst| &func.insts[inst]);
            let in_loop = insts
                .filter(|inst| inst.result.is_none_or(|result| !self.floats.contains(result)) && !rows.cover(inst));
            let args = in_loop.flat_map(|inst| inst.args.iter().copied());
            let passed = data.terminator().calls().flat_map(|call| call.args.iter().copied());
            for value in args.chain(passed) {
                if self.floats.contains(value) && needed.insert(value) {
                    self.places[value] = Place(self.kept.len() as u32).into();
                    self.kept.push(value);
                }
            }
        }
        for (place, &value) in (0..).zip(&self.kept) {
            if let Some(Word::Uniform { space, row, component }) = Word::of(func, value) {
                self.splats.push(Splat { place, space, row, component });
                needed.remove(value);
            }
        }
        for &row in &rows.uniforms {
            self.rows.push(match row.map(|value| Word::of(func, value)) {
                [Some(x), Some(y), Some(z), Some(w)] => HoistedRow::Call([x, y, z, w]),
                _ => {
                    row.iter().for_each(|&value| _ = needed.insert(value));
                    HoistedRow::Code(row)
                }
            });
        }
        let mut insts = Vec::new();
        for &inst in self.insts.iter().rev() {
            let data = &func.insts[inst];
            if data.result.is_some_and(|result| needed.contains(result)) {
                data.args.iter().for_each(|&arg| {
                    needed.insert(arg);
                });
                insts.push(inst);
            }
        }
        insts.reverse();
        self.insts = insts;
        self.computed = needed;
    }

    /// Bytes of what is kept.
    pub fn bytes(&self) -> usize {
        16 * (self.kept.len() + self.rows.len())
    }

    /// Place of a float that the loop uses and does not compute, in units of 16 bytes.
    pub fn place_of(&self, value: Value) -> Option<u32> {
        self.places[value].expand().map(|place| place.0)
    }

    /// Place of a [row of uniforms](RowForms::uniforms), in units of 16 bytes.
    pub fn row_place(&self, number: u32) -> u32 {
        self.kept.len() as u32 + number
    }

    /// The rows that a call puts there, and their places.
    pub fn call_rows(&self) -> impl Iterator<Item = (u32, [Word; 4])> {
        (0..).zip(&self.rows).filter_map(|(number, row)| match *row {
            HoistedRow::Call(words) => Some((self.row_place(number), words)),
            HoistedRow::Code(_) => None,
        })
    }

    /// Whether no code loads this value, because all that wants it is what a call puts into memory, or nothing wants
    /// it.
    pub fn is_filled_in(&self, value: Value) -> bool {
        self.floats.contains(value) && !self.computed.contains(value)
    }

    /// Whether the loop leaves this value to what runs in front of it.
    pub fn contains(&self, value: Value) -> bool {
        self.floats.contains(value)
    }
}

impl Emitter<'_, '_> {
    /// Emits what runs in front of the loop.
    pub(super) fn hoist(&mut self) -> Result<(), JitError> {
        for index in 0..self.plan.hoisted.insts.len() {
            self.inst(&self.func.insts[self.plan.hoisted.insts[index]])?;
        }
        self.set_origin(Origin::default());
        if self.plan.hoisted_bytes() == 0 {
            return Ok(());
        }
        let memory = self.simd.load(I64, self.args, offset::HOISTED);
        let mut splats = self.plan.hoisted.splats.iter().map(|splat| splat.place).peekable();
        for (place, value) in (0..).zip(&self.plan.hoisted.kept) {
            if splats.next_if_eq(&place).is_none() {
                let splat = self.values[*value].0[0];
                self.simd.store(splat, memory, place as i32 * 16);
            }
        }
        for index in 0..self.plan.hoisted.rows.len() {
            if let HoistedRow::Code(values) = self.plan.hoisted.rows[index] {
                let place = self.plan.hoisted.row_place(index as u32) as i32;
                for (lane, value) in (0..).zip(values) {
                    let scalar = self.scalar(value);
                    self.simd.store(scalar, memory, place * 16 + lane * 4);
                }
            }
        }
        self.hoisted = Some(memory);
        Ok(())
    }

    /// A float that was hoisted, in all lanes.
    pub(super) fn load_hoisted(&mut self, place: u32) -> cranelift_codegen::ir::Value {
        let memory = self.hoisted.expect("hoisted floats are there");
        self.simd.load(F32X4, memory, place as i32 * 16)
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
        let order = reverse_postorder(&func);
        let mut hoisted = Hoisted::find(&func, &order, &uniform_values(&func));
        hoisted.place(&func, &order, &RowForms::default());
        let value = Value::from_u32;
        // The integer runs in front of the loop for what is made of it, and in the loop for its other user. The call
        // puts v1 into memory, but the product needs it as well.
        let results: Vec<Value> = hoisted.insts.iter().filter_map(|&inst| func.insts[inst].result).collect();
        assert_eq!(results, [1, 2, 3, 4, 5, 6].map(value));
        assert_eq!(hoisted.kept, [6, 1].map(value));
        assert_eq!(hoisted.splats, [Splat { place: 1, space: 0, row: 0, component: 0 }]);
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|v| hoisted.contains(value(v))),
            [true, true, true, false, true, true, false, false, true]
        );
    }
}
