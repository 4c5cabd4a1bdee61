//! Loop-invariant code motion to the level of the call: what depends on nothing but uniform spaces, resources and
//! literals is computed once, in front of the loop over waves, and its floats are *spilled* there.
//!
//! What the loop uses of them lies in slots of the call, in all lanes, and is loaded at each use. Held in registers it
//! would crowd out what varies. Components of rows that need no computing are put there by the call itself, which keeps
//! them out of the code: the *fills*. The rest is done by the *call's block*, the first of the program.

use super::is_of_run;
use super::rewrite::rewrite;
use crate::bounds::STATIC_ROWS;
use crate::entity::{Block, Inst, Value};
use crate::function::{BlockCall, Function, Imm, Origin, Terminator};
use crate::op::{Effect, Op};
use crate::pass::dce;
use crate::set::EntitySet;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use foldhash::{HashMap, HashMapExt};
use smallvec::SmallVec;

/// Most floats that are hoisted; the rest is computed where it is used. Each may take a slot.
const MAX_FLOATS: usize = 512;

/// For how many instructions of each vector the users of one float share a load, if there are several vectors. Those
/// further behind load it again, as with one vector each user does: it is then part of the instruction that uses it.
pub const REACH: usize = 8;

/// One word that a call fills in.
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

/// What a call puts into a slot of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The slot, which is 16 bytes.
    pub slot: u32,
    /// The words; of a float in all lanes all are the same.
    pub words: [Word; 4],
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

/// What can be computed once a call.
#[derive(Clone, Debug, Default)]
pub struct CallValues {
    /// Instructions, in order.
    insts: SmallVec<[Inst; 16]>,
    /// Their floats, which the loop does not compute.
    floats: EntitySet<Value>,
}

impl CallValues {
    /// Finds what depends on nothing but uniform spaces, resources and literals. Every op is total, so it may run
    /// though its block does not.
    pub fn find(func: &Function, order: &[Block], uniform: &EntitySet<Value>) -> CallValues {
        let mut found = CallValues::default();
        let (mut values, mut floats) = (EntitySet::new(), 0);
        for &block in order {
            for &inst in &func.blocks[block].insts {
                let data = &func.insts[inst];
                let Some(result) = data.result.filter(|&result| uniform.contains(result)) else { continue };
                let ty = func.ty(result);
                let is_wide = matches!(ty, Type::F64 | Type::Row);
                let moves =
                    data.op.effect() == Effect::Pure && !matches!(data.op, Op::Const | Op::CallLoad) && !is_wide;
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

    /// Whether the loop leaves this value to what runs in front of it.
    pub fn contains(&self, value: Value) -> bool {
        self.floats.contains(value)
    }

    /// The rows of nothing but such floats and literals that runs use; not those of literals alone, which are part of
    /// the code.
    pub fn rows(&self, func: &Function, order: &[Block]) -> SmallVec<[Value; 8]> {
        let mut in_runs = EntitySet::new();
        let mut rows = SmallVec::new();
        for &block in order {
            for data in func.insts_in(block).filter(|inst| is_of_run(inst)) {
                data.args.iter().filter(|&&arg| func.ty(arg) == Type::Row).for_each(|&row| _ = in_runs.insert(row));
            }
            for data in func.insts_in(block).filter(|inst| inst.op == Op::RowJoin) {
                let is_held = |&arg: &Value| self.floats.contains(arg) || func.constant(arg).is_some();
                let is_literal = data.args.iter().all(|&arg| func.constant(arg).is_some());
                let is_one = data.args.iter().all(is_held) && !is_literal;
                rows.extend(data.result.filter(|&row| is_one && in_runs.contains(row)));
            }
        }
        rows
    }
}

/// What a call does in front of the loop.
#[derive(Clone, Debug, Default)]
pub struct CallPart {
    /// The call's block, if any code runs there.
    pub block: Option<Block>,
    /// What the call puts into its slots.
    pub fills: Vec<Fill>,
}

/// Makes the call's block, and loads what it makes at each use. With `holds_rows` the rows are loaded there as well,
/// for the whole loop.
pub fn hoist(func: &mut Function, order: &[Block], values: &CallValues, vectors: u8, holds_rows: bool) -> CallPart {
    if values.insts.is_empty() {
        return CallPart::default();
    }
    let rows = values.rows(func, order);
    let floats = used_floats(func, order, values, &rows);
    let mut part = CallPart::default();
    let mut hoisting = Hoisting { insts: Vec::new(), copies: HashMap::new() };
    let (mut slots, mut held) = (func.value_map::<Option<u32>>(), SecondaryMap::new());
    let (mut needed, mut stored) = (EntitySet::<Value>::with_capacity(func.values.len()), Vec::new());
    part.fills.reserve(floats.len() + rows.len());
    for (slot, &value) in (0..).zip(floats.iter().chain(&rows)) {
        slots[value] = Some(slot);
        let words: [Value; 4] = match func.def_inst(value) {
            Some(join) if func.ty(value) == Type::Row => std::array::from_fn(|at| join.args[at]),
            _ => [value; 4],
        };
        match words.map(|word| Word::of(func, word)) {
            [Some(x), Some(y), Some(z), Some(w)] => part.fills.push(Fill { slot, words: [x, y, z, w] }),
            _ => {
                needed.extend(words);
                stored.push((slot, value, words));
            }
        }
    }
    for &inst in values.insts.iter().rev() {
        let data = &func.insts[inst];
        if data.result.is_some_and(|result| needed.contains(result)) {
            needed.extend(data.args.iter().copied());
        }
    }
    for &inst in &values.insts {
        if func.insts[inst].result.is_some_and(|result| needed.contains(result)) {
            hoisting.copy(func, inst);
        }
    }
    func.origin = Origin::default();
    for (slot, value, words) in stored {
        let ty = func.ty(value);
        let mut stored = hoisting.copy_of(func, words[0]);
        if ty == Type::Row {
            let words = words.map(|word| hoisting.copy_of(func, word));
            stored = hoisting.push(func, Op::RowJoin, Type::F32, &words, Imm::None).expect("a row is a value");
        }
        hoisting.push(func, Op::CallStore, ty, &[stored], Imm::Slot(slot));
    }
    for &row in rows.iter().filter(|_| holds_rows) {
        let slot = slots[row].expect("rows have slots");
        held[row] = hoisting.push(func, Op::CallLoad, Type::Row, &[], Imm::Slot(slot));
    }
    for &block in order {
        load(func, block, values, &slots, &held, vectors);
    }
    if !hoisting.insts.is_empty() {
        let block = func.blocks.push(Default::default());
        let entry = func.entry();
        func.blocks[block].insts = hoisting.insts;
        func.blocks[block].terminator = Some(Terminator::Jump(BlockCall { block: entry, args: Vec::new() }));
        func.layout.insert(0, block);
        part.block = Some(block);
    }
    // What only hoisted code used: operands, which floats of uniform spaces do not have, and literals of rows.
    let is_load = |inst: &Inst| func.insts[*inst].op == Op::UniformLoad && func.insts[*inst].ty == Type::F32;
    let is_loaded =
        |row: &Value| func.def_inst(*row).is_some_and(|join| join.args.iter().all(|&word| values.contains(word)));
    if !values.insts.iter().all(is_load) || !rows.iter().all(is_loaded) {
        dce(func);
    }
    part
}

/// The floats that the loop uses, but for those that it uses in rows alone.
fn used_floats(func: &Function, order: &[Block], values: &CallValues, rows: &[Value]) -> Vec<Value> {
    let (mut seen, mut is_row) = (EntitySet::<Value>::new(), EntitySet::<Value>::new());
    rows.iter().for_each(|&row| _ = is_row.insert(row));
    let mut floats = Vec::new();
    for &block in order {
        let mut used = |value: Value| {
            if values.contains(value) && seen.insert(value) {
                floats.push(value);
            }
        };
        for inst in func.insts_in(block) {
            if inst.result.is_none_or(|result| !values.contains(result) && !is_row.contains(result)) {
                inst.args.iter().for_each(|&arg| used(arg));
            }
        }
        func.blocks[block].terminator().uses().for_each(used);
    }
    floats
}

/// Loads what a block uses of the call.
fn load(
    func: &mut Function,
    block: Block,
    values: &CallValues,
    slots: &SecondaryMap<Value, Option<u32>>,
    held: &SecondaryMap<Value, Option<Value>>,
    vectors: u8,
) {
    let mut old = std::mem::take(&mut func.blocks[block].insts);
    old.retain(|&inst| {
        let is_hoisted = |result| values.contains(result) || slots[result].is_some();
        !func.insts[inst].result.is_some_and(is_hoisted)
    });
    let mut new = Vec::with_capacity(old.len());
    let reach = if vectors > 1 { REACH } else { 0 };
    let mut loaded = Loaded { slots, held, reach, floats: HashMap::new(), rows: Vec::new() };
    let mut context = (func, &mut loaded);
    rewrite(
        &mut context,
        &old,
        &mut new,
        |(func, loaded), new, value| loaded.of(func, new, value),
        // Rows that are loaded are those of the run in front of which they are.
        |(_, loaded), _, _| loaded.rows.clear(),
    );
    let (func, loaded) = context;
    func.origin = Origin::default();
    let mut terminator = func.blocks[block].terminator.take();
    if let Some(terminator) = &mut terminator {
        terminator.for_each_use_mut(|value| *value = loaded.of(func, &mut new, *value));
    }
    let data = &mut func.blocks[block];
    (data.insts, data.terminator) = (new, terminator);
}

impl AsMut<Function> for (&mut Function, &mut Loaded<'_>) {
    fn as_mut(&mut self) -> &mut Function {
        self.0
    }
}

/// What a block has loaded of the call.
struct Loaded<'a> {
    slots: &'a SecondaryMap<Value, Option<u32>>,
    /// Rows that the call's block holds.
    held: &'a SecondaryMap<Value, Option<Value>>,
    /// For how many instructions a float is used again.
    reach: usize,
    /// For each float what was loaded last, and behind how many instructions.
    floats: HashMap<Value, (Value, usize)>,
    /// The rows that were loaded for the run behind them.
    rows: Vec<(Value, Value)>,
}

impl Loaded<'_> {
    /// What a block has of a value.
    #[inline]
    fn of(&mut self, func: &mut Function, new: &mut Vec<Inst>, value: Value) -> Value {
        match self.slots[value] {
            None => value,
            Some(slot) => self.load(func, new, value, slot),
        }
    }

    /// What it has of one that is in a slot.
    fn load(&mut self, func: &mut Function, new: &mut Vec<Inst>, value: Value, slot: u32) -> Value {
        if let Some(held) = self.held[value] {
            return held;
        }
        let row = self.rows.iter().find(|(row, _)| *row == value).map(|&(_, load)| load);
        let float = self.floats.get(&value).filter(|(_, at)| new.len() - at < self.reach).map(|&(load, _)| load);
        if let Some(load) = row.or(float) {
            return load;
        }
        let inst = func.make_inst(Op::CallLoad, func.ty(value), &[], Imm::Slot(slot));
        let load = func.insts[inst].result.expect("a load has a result");
        if func.ty(value) == Type::Row {
            new.push(inst);
            self.rows.push((value, load));
        } else {
            // Rows come last: they are part of the run.
            new.insert(new.len() - self.rows.len(), inst);
            if self.reach > 0 {
                self.floats.insert(value, (load, new.len()));
            }
        }
        load
    }
}

/// The call's block while it is made.
struct Hoisting {
    insts: Vec<Inst>,
    /// What it has of the values of the loop.
    copies: HashMap<Value, Value>,
}

impl Hoisting {
    /// Copies an instruction whose operands have been copied, or are literals.
    fn copy(&mut self, func: &mut Function, inst: Inst) {
        let data = func.insts[inst];
        let mut args = data.args;
        args.iter_mut().for_each(|arg| *arg = self.copy_of(func, *arg));
        func.origin = data.origin;
        let copy = self.push(func, data.op, data.ty, &args, data.imm);
        self.copies.extend(data.result.zip(copy));
    }

    fn copy_of(&mut self, func: &mut Function, value: Value) -> Value {
        if let Some(&copy) = self.copies.get(&value) {
            return copy;
        }
        let literal = *func.def_inst(value).expect("what is no literal has been copied");
        let copy = self.push(func, literal.op, literal.ty, &[], literal.imm).expect("a literal is a value");
        self.copies.insert(value, copy);
        copy
    }

    fn push(&mut self, func: &mut Function, op: Op, ty: Type, args: &[Value], imm: Imm) -> Option<Value> {
        let inst = func.make_inst(op, ty, args, imm);
        self.insts.push(inst);
        func.insts[inst].result
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
        let mut func = parse(text).unwrap();
        let order = reverse_postorder(&func);
        let values = CallValues::find(&func, &order, &uniform_values(&func));
        let value = Value::from_u32;
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|v| values.contains(value(v))),
            [true, true, true, false, true, true, false, false, true]
        );
        // The integer is computed in front of the loop for what is made of it, and in the loop for its other user. The
        // call puts v1 into memory, but the product needs it as well.
        let part = hoist(&mut func, &order, &values, 1, false);
        assert_eq!(part.fills, [Fill { slot: 1, words: [Word::Uniform { space: 0, row: 0, component: 0 }; 4] }]);
        let ops = |block: Block| func.blocks[block].insts.iter().map(|&inst| func.insts[inst].op).collect::<Vec<Op>>();
        let (load, sum) = (Op::UniformLoad, Op::Fadd);
        assert_eq!(ops(part.block.unwrap()), [load, load, Op::Fmul, load, Op::Itof, sum, Op::CallStore]);
        assert_eq!(
            ops(order[0]),
            [Op::Input, load, Op::CallLoad, Op::Fmul, Op::CallLoad, Op::Fmul, Op::Output, Op::Output]
        );
    }
}
