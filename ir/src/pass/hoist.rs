//! Loop-invariant code motion, out of loops with barriers, and reassociation of sums that makes more of them invariant.
//!
//! What an invocation has on both sides of a barrier goes through memory, whatever it is. So a result that is the same
//! in all rounds is better loaded than computed of others that are loaded: `row * width + k + column` of an element in
//! round `k` becomes the sum of `k` and of what is known before the loop. Loops without barriers keep values in
//! registers, of which there are few, and stay as they are.

use super::carry::is_computed;
use crate::entity::{Block, Inst, Value};
use crate::function::{Function, Imm, InstData, Operands};
use crate::graph::Graph;
use crate::op::Op;
use crate::set::EntitySet;
use crate::types::Type;
use crate::uniform::uniform_values;
use crate::uses::Uses;
use cranelift_entity::SecondaryMap;
use foldhash::HashMap;

/// The most operations that are moved in a function: each may take memory in every wave.
const MOST: usize = 64;

/// Moves what is the same in every round of a loop with barriers in front of it. The function is in lockstep form.
pub fn hoist(func: &mut Function) {
    // Who waits for others has memory in common with them. Most functions have none, and need not be looked through.
    let has_memory = func.resources.values().any(|resource| resource.memory.is_some());
    if has_memory && func.layout.iter().any(|&block| has_barrier(func, block)) {
        hoist_from(func, has_barrier);
    }
}

fn has_barrier(func: &Function, block: Block) -> bool {
    func.insts_in(block).any(|inst| inst.op == Op::Barrier)
}

/// Does so for loops that have a certain block.
fn hoist_from(func: &mut Function, has: fn(&Function, Block) -> bool) {
    let Some(graph) = Graph::new(func) else { return };
    let mut position: SecondaryMap<Block, usize> = func.block_map();
    graph.order().iter().enumerate().for_each(|(at, &block)| position[block] = at);
    // Inner loops come first: what leaves one may leave the next.
    let with_fronts = graph.loops().iter().rev().filter(|body| body.iter().any(|&block| has(func, block)));
    let loops: Vec<(Block, Vec<Block>)> = with_fronts
        .filter_map(|body| {
            let mut outside = graph.predecessors[body[0]].iter().filter(|&&from| !body.has(from));
            let (Some(&front), None) = (outside.next(), outside.next()) else { return None };
            let mut body = body.to_vec();
            body.sort_unstable_by_key(|&block| position[block]);
            Some((front, body))
        })
        .collect();
    let (uniform, uses, mut count) = (uniform_values(func), Uses::count(func, &func.layout), 0);
    for (front, body) in loops {
        let mut inside = EntitySet::with_capacity(func.values.len());
        inside.extend(body.iter().flat_map(|&block| func.defs_in(block)));
        let (uniform, uses) = (&uniform, &uses);
        let mut hoister = Hoister { func, uniform, uses, inside, copies: HashMap::default(), moved: Vec::new(), count };
        body.iter().for_each(|&block| hoister.block(block));
        count = hoister.count;
        let moved = hoister.moved;
        func.blocks[front].insts.extend(moved);
    }
}

/// A loop on the way.
struct Hoister<'f> {
    func: &'f mut Function,
    /// What is uniform, and how often each value is used, before anything is moved.
    uniform: &'f EntitySet<Value>,
    uses: &'f SecondaryMap<Value, Uses>,
    /// What the loop defines.
    inside: EntitySet<Value>,
    /// What has been made in front of the loop for literals and loads of uniforms in it.
    copies: HashMap<Value, Value>,
    /// What goes in front of it, and how many operations have been moved so far.
    moved: Vec<Inst>,
    count: usize,
}

impl Hoister<'_> {
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.func.blocks[block].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            let data = self.func.insts[inst];
            self.func.origin = data.origin;
            match self.moves(&data) {
                Some(result) => {
                    let args: Vec<Value> = data.args.iter().map(|&arg| self.outside(arg)).collect();
                    self.func.insts[inst].args = Operands::new(&args);
                    self.moved.push(inst);
                    self.inside.remove(result);
                    self.count += 1;
                }
                None => {
                    self.regroup(inst, &mut kept);
                    kept.push(inst);
                }
            }
        }
        self.func.blocks[block].insts = kept;
    }

    /// The result of an instruction that computes the same in every round.
    fn moves(&self, inst: &InstData) -> Option<Value> {
        let is_word = |&result: &Value| matches!(self.func.ty(result), Type::I32 | Type::F32);
        let result = inst.result.filter(is_word).filter(|_| is_computed(inst));
        let is_same = inst.args.iter().all(|&arg| self.is_same(arg) && self.func.ty(arg) != Type::Row);
        result.filter(|_| is_same && self.count < MOST)
    }

    /// Whether a value is the same in every round.
    fn is_same(&self, value: Value) -> bool {
        !self.inside.contains(value) || self.is_found_anywhere(value)
    }

    /// Whether a value is a literal, or a uniform at a fixed place.
    fn is_found_anywhere(&self, value: Value) -> bool {
        self.func.def_inst(value).is_some_and(|inst| matches!(inst.op, Op::Const | Op::UniformLoad))
    }

    /// Such a value in front of the loop.
    fn outside(&mut self, value: Value) -> Value {
        if !self.inside.contains(value) {
            return value;
        }
        let InstData { op, ty, imm, .. } = *self.func.def_inst(value).expect("it is found anywhere");
        let (func, moved) = (&mut *self.func, &mut self.moved);
        *self.copies.entry(value).or_insert_with(|| {
            let copy = func.make_inst(op, ty, &[], imm);
            moved.push(copy);
            func.insts[copy].result.expect("as the op it copies")
        })
    }

    /// An operation in front of the loop.
    fn make_outside(&mut self, op: Op, args: [Value; 2]) -> Value {
        let args = args.map(|arg| self.outside(arg));
        let inst = self.func.make_inst(op, Type::I32, &args, Imm::None);
        self.moved.push(inst);
        self.count += 1;
        self.func.insts[inst].result.expect("sums and products are values")
    }

    /// Takes a sum or a product apart, so that what is the same in every round comes together.
    fn regroup(&mut self, inst: Inst, kept: &mut Vec<Inst>) {
        let InstData { op, ref args, .. } = self.func.insts[inst];
        if !matches!(op, Op::Iadd | Op::Imul) || self.count + 2 > MOST {
            return;
        }
        let args = [args[0], args[1]];
        for [sum, same] in [args, [args[1], args[0]]] {
            let inner = self.func.def_inst(sum).filter(|inner| inner.op == Op::Iadd && self.inside.contains(sum));
            let Some(InstData { args: terms, .. }) = inner.filter(|_| self.is_same(same)) else { continue };
            let terms = [terms[0], terms[1]];
            for [changing, other] in [terms, [terms[1], terms[0]]] {
                if self.is_same(changing) || !self.is_same(other) {
                    continue;
                }
                let is_for_all = |value: Value| self.uniform.contains(value);
                if op == Op::Iadd && self.uses[sum].only() == Some(inst) {
                    // (changing + other) + same
                    let same = self.make_outside(Op::Iadd, [other, same]);
                    self.func.insts[inst].args = Operands::new(&[changing, same]);
                    return;
                }
                if op == Op::Imul && is_for_all(changing) && is_for_all(same) && !is_for_all(other) {
                    // (changing + other) * same
                    let product = self.func.make_inst(Op::Imul, Type::I32, &[changing, same], Imm::None);
                    kept.push(product);
                    let changing = self.func.insts[product].result.expect("a product is a value");
                    self.inside.insert(changing);
                    let other = self.make_outside(Op::Imul, [other, same]);
                    (self.func.insts[inst].op, self.func.insts[inst].args) =
                        (Op::Iadd, Operands::new(&[changing, other]));
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_keeps_meaning, assert_makes};
    use super::*;

    #[test]
    fn random_functions_keep_their_meaning() {
        assert_keeps_meaning(|func| {
            if func.lockstep {
                hoist_from(func, |_, _| true);
            }
        });
    }

    /// A loop over elements, of which each round stores one, waits, and loads another.
    fn rounds(in_front: &str, computed: &str, waits: &str) -> String {
        format!(
            "function \"f\" inputs 0 outputs 0 threads 64 lockstep {{
                space0 \"cb0\" resource0 \"g0\" shared 4096
            block0:
                v0 = sysval active v1 = const.i32 0 v2 = ine v0, v1
                v3 = sysval vertex_id v4 = const.i32 7 v5 = and.i32 v3, v4 v6 = const.i32 3 v7 = ushr v3, v6
                {in_front}
                jump block1(v1)
            block1(v8: i32):
                v9 = uniform_load.i32 space0[0].0 v10 = ule v9, v8
                br_if v10, block2, block3
            block2:
                return
            block3:
                {computed}
                memory_store_masked.i32 resource0[0], v18, v13, v2
                {waits}
                v19 = memory_load.i32 resource0[0], v16
                memory_store_masked.i32 resource0[0], v18, v19, v2
                v20 = const.i32 8 v21 = iadd v8, v20
                jump block1(v21) }}"
        )
    }

    const COMPUTED: &str = "v11 = imul v7, v9 v12 = iadd v11, v8 v13 = iadd v12, v5
        v14 = iadd v8, v7 v15 = imul v14, v9 v16 = iadd v5, v15
        v17 = const.i32 5 v18 = ishl v7, v17";

    #[test]
    fn what_is_the_same_in_every_round_is_computed_before() {
        let in_front = "v22 = uniform_load.i32 space0[0].0 v11 = imul v7, v22
            v23 = iadd v11, v5
            v25 = imul v7, v22 v26 = iadd v25, v5
            v27 = const.i32 5 v18 = ishl v7, v27";
        let computed = "v12 = iadd v11, v8 v13 = iadd v8, v23
            v14 = iadd v8, v7 v24 = imul v8, v9 v15 = iadd v24, v25 v16 = iadd v24, v26
            v17 = const.i32 5";
        assert_makes(hoist, &rounds("", COMPUTED, "barrier"), &rounds(in_front, computed, "barrier"));
    }

    #[test]
    fn loops_without_barriers_stay() {
        let text = rounds("", COMPUTED, "");
        assert_makes(hoist, &text, &text);
    }
}
