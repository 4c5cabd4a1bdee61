//! Loop-invariant code motion to the level of the call: what depends on nothing but uniform spaces, resources and
//! literals is computed once, in front of the loop over waves, and its floats are *spilled* there.
//!
//! What the loop uses of them lies in memory, in all lanes, and is loaded at each use. Held in registers it would crowd
//! out what varies. A row's component is put there by the call, which keeps it out of the code; the others by code in
//! front of the loop.

use super::STATIC_ROWS;
use crate::entity::{Block, Inst, Value};
use crate::function::{Function, Imm, InstData};
use crate::op::{Effect, Op};
use crate::types::Type;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap, entity_impl};

/// Most floats that are hoisted; the rest is computed where it is used. Each may take 16 bytes of memory.
const MAX_FLOATS: usize = 512;

/// A float's place in memory, in units of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
            (Op::UniformLoad, Imm::Row { space, row, component }) if row < STATIC_ROWS => {
                Some(Word::Uniform { space: space.as_u32(), row, component })
            }
            _ => None,
        }
    }
}

/// Four words that the loop loads as one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRow {
    /// The call puts them there.
    Call([Word; 4]),
    /// Code in front of the loop does.
    Code([Value; 4]),
}

/// What is computed once a call.
#[derive(Clone, Debug, Default)]
pub struct CallValues {
    /// Instructions, in order. Those that compute no float run in the loop as well, if it uses them.
    insts: Vec<Inst>,
    /// Floats that the loop does not compute.
    floats: EntitySet<Value>,
    /// What the instructions compute.
    computed: EntitySet<Value>,
    /// Floats that the loop uses, in the order of their places.
    kept: Vec<Value>,
    /// Those of them that the call puts there.
    splats: Vec<Splat>,
    /// Rows of them and of literals, in the order of their places behind the floats.
    rows: Vec<(Value, CallRow)>,
    places: SecondaryMap<Value, PackedOption<Place>>,
}

impl CallValues {
    /// Finds what depends on nothing but uniform spaces, resources and literals. Every op is total, so it may run
    /// though its block does not.
    pub(super) fn find(func: &Function, order: &[Block], uniform: &EntitySet<Value>) -> CallValues {
        let mut found = CallValues::default();
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
                    found.insts.push(inst);
                    values.insert(result);
                    if ty == Type::F32 {
                        floats += 1;
                        found.floats.insert(result);
                    }
                }
            }
        }
        found
    }

    /// Gives what the loop uses its place, and drops the instructions that nobody needs then.
    pub(super) fn place(&mut self, func: &Function, order: &[Block]) {
        let (mut needed, mut in_rows) = (EntitySet::new(), EntitySet::new());
        for data in order.iter().flat_map(|&block| &func.blocks[block].insts).map(|&inst| &func.insts[inst]) {
            let rows = data.args.iter().filter(|&&arg| super::is_of_run(data) && func.ty(arg) == Type::Row);
            rows.for_each(|&row| _ = in_rows.insert(row));
        }
        // A row of nothing but floats of the call and literals is loaded as one.
        let is_row = |inst: &InstData| {
            let is_held = |&arg: &Value| self.floats.contains(arg) || func.constant(arg).is_some();
            inst.op == Op::RowJoin
                && inst.result.is_some_and(|result| in_rows.contains(result))
                && inst.args.iter().all(is_held)
        };
        let mut rows = Vec::new();
        for &block in order {
            let data = &func.blocks[block];
            let mut wants = |value: Value| {
                if self.floats.contains(value) && needed.insert(value) {
                    self.places[value] = Place(self.kept.len() as u32).into();
                    self.kept.push(value);
                }
            };
            for inst in data.insts.iter().map(|&inst| &func.insts[inst]) {
                match inst.result {
                    Some(result) if self.floats.contains(result) => {}
                    Some(result) if is_row(inst) => rows.push((result, [0, 1, 2, 3].map(|word| inst.args[word]))),
                    _ => inst.args.iter().for_each(|&arg| wants(arg)),
                }
            }
            data.terminator().calls().flat_map(|call| call.args.iter().copied()).for_each(wants);
        }
        for (place, &value) in (0..).zip(&self.kept) {
            if let Some(Word::Uniform { space, row, component }) = Word::of(func, value) {
                self.splats.push(Splat { place, space, row, component });
                needed.remove(value);
            }
        }
        for (result, row) in rows {
            let row = match row.map(|value| Word::of(func, value)) {
                // Those are part of the code.
                [Some(Word::Literal(_)), Some(Word::Literal(_)), Some(Word::Literal(_)), Some(Word::Literal(_))] => {
                    continue;
                }
                [Some(x), Some(y), Some(z), Some(w)] => CallRow::Call([x, y, z, w]),
                _ => {
                    row.iter().for_each(|&value| _ = needed.insert(value));
                    CallRow::Code(row)
                }
            };
            self.places[result] = Place((self.kept.len() + self.rows.len()) as u32).into();
            self.rows.push((result, row));
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

    /// The instructions, in order. Those that compute no float run in the loop as well, if it uses them.
    pub fn insts(&self) -> &[Inst] {
        &self.insts
    }

    /// The floats that code in front of the loop puts into memory, and their places in units of 16 bytes.
    pub fn stored(&self) -> impl Iterator<Item = (u32, Value)> {
        let mut splats = self.splats.iter().map(|splat| splat.place).peekable();
        (0..).zip(self.kept.iter().copied()).filter(move |(place, _)| splats.next_if_eq(place).is_none())
    }

    /// Components of rows that the call puts into memory, in all lanes.
    pub fn splats(&self) -> &[Splat] {
        &self.splats
    }

    /// Bytes of what is kept.
    pub fn bytes(&self) -> usize {
        16 * (self.kept.len() + self.rows.len())
    }

    /// Place of a float that the loop uses and does not compute, or of a row, in units of 16 bytes.
    pub fn place_of(&self, value: Value) -> Option<u32> {
        self.places[value].expand().map(|place| place.0)
    }

    /// The rows that the loop loads as one, and their places in units of 16 bytes.
    pub fn rows(&self) -> impl Iterator<Item = (u32, Value, CallRow)> {
        let first = self.kept.len() as u32;
        (first..).zip(&self.rows).map(|(place, &(value, row))| (place, value, row))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::reverse_postorder;
    use crate::parse::parse;
    use crate::uniform::uniform_values;

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
        let mut hoisted = CallValues::find(&func, &order, &uniform_values(&func));
        hoisted.place(&func, &order);
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
