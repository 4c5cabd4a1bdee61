//! Folding of operations into phis, for values that rotate: a loop that takes its operands in turn from several
//! parameters, the first of which it uses while it hands on the others, carries what it computes of them instead.
//!
//! That is how PICA200 programs blend the matrices of bones: `a0 = index.x`, `index = index.yzwx`, round after round.
//! Where the rows of the next matrix lie is known before the loop then, not after a chain of operations in each round.

use crate::cfg::{self, Edge};
use crate::entity::{Block, Inst, Value};
use crate::function::{Function, Imm, InstData};
use crate::op::{Effect, Op, Varies};
use crate::rings::{Ring, rings};
use crate::types::Type;
use crate::uses::Uses;
use cranelift_entity::SecondaryMap;
use foldhash::{HashMap, HashMapExt};

/// The most operations that are moved.
const MOST_OPS: usize = 16;

/// Moves what loops compute of rotating parameters, and of literals, out of them.
///
/// What masks an index stays: who reads by the index sees its bounds there.
pub fn carry(func: &mut Function) {
    if func.layout.iter().all(|&block| func.blocks[block].params.len() < 2) {
        return;
    }
    let incoming = cfg::predecessors(func);
    let rings: Vec<Ring> = func.layout.iter().flat_map(|&head| rings(func, head, &incoming[head])).collect();
    if rings.is_empty() {
        return;
    }
    let uses = Uses::count(func, &func.layout);
    let mut carried: SecondaryMap<Value, Option<Value>> = func.value_map();
    for ring in rings {
        if let Some((front, chain)) = ring.chain(func, &uses) {
            carried[chain.end] = Some(front);
            ring.rewrite(func, &incoming[ring.head], front, &chain);
        }
    }
    func.replace_uses(|value| carried[value].unwrap_or(value));
}

/// The operations that are computed of a value and of literals alone, in order.
struct Chain {
    insts: Vec<Inst>,
    /// The one result that others use.
    end: Value,
}

impl Ring {
    /// What the block computes of one of the parameters, if there is nothing else that uses any of them; and that one.
    fn chain(&self, func: &Function, uses: &SecondaryMap<Value, Uses>) -> Option<(Value, Chain)> {
        let is_word = |value: Value| matches!(func.ty(value), Type::F32 | Type::I32);
        let total = |value: Value| uses[value].guards + uses[value].others;
        let front = func.blocks[self.head].params[self.members[self.front(func, uses)?]];
        // How often each result of the chain is used outside of it.
        let mut left: HashMap<Value, u32> = HashMap::from_iter([(front, total(front) - self.rounds)]);
        let mut insts = Vec::new();
        for &inst in &func.blocks[self.head].insts {
            let data = &func.insts[inst];
            let is_known = |arg: &Value| left.contains_key(arg);
            let Some(result) = data.result.filter(|_| data.args.iter().any(is_known)) else { continue };
            let is_moved = data.args.iter().all(|arg| is_known(arg) || func.constant(*arg).is_some());
            if !is_moved || !is_computed(data) {
                continue;
            }
            data.args.iter().for_each(|arg| _ = left.get_mut(arg).map(|left| *left -= 1));
            left.insert(result, total(result));
            insts.push(inst);
            if insts.len() > MOST_OPS {
                return None;
            }
        }
        // A mask at the end.
        let last = *insts.last()?;
        let masked = &func.insts[last];
        if masked.op == Op::And && masked.args.iter().any(|&arg| func.constant(arg).is_some()) {
            insts.pop();
            left.remove(&masked.result.expect("a mask is a value"));
            masked.args.iter().for_each(|arg| _ = left.get_mut(arg).map(|left| *left += 1));
        }
        let mut ends = left.iter().filter(|&(_, &left)| left > 0).map(|(&end, _)| end);
        let (Some(end), None) = (ends.next(), ends.next()) else { return None };
        (end != front && is_word(end) && is_word(front)).then_some((front, Chain { insts, end }))
    }

    /// Has edges from outside give results of the chain, of what they gave before; the parameters are those results.
    fn rewrite(&self, func: &mut Function, incoming: &[Edge], front: Value, chain: &Chain) {
        let params: Vec<Value> = self.members.iter().map(|&member| func.blocks[self.head].params[member]).collect();
        for &edge in incoming {
            let given: Vec<Value> = self.members.iter().map(|&member| func.edge(edge).args[member]).collect();
            if given.iter().all(|arg| params.contains(arg)) {
                continue;
            }
            let mut made: HashMap<Value, Value> = HashMap::new();
            for (&member, arg) in self.members.iter().zip(given) {
                let result = *made.entry(arg).or_insert_with(|| chain.copy(func, edge.from, front, arg));
                func.edge_mut(edge).args[member] = result;
            }
        }
        let ty = func.ty(chain.end);
        params.iter().for_each(|&param| func.values[param].ty = ty);
        func.blocks[self.head].insts.retain(|inst| !chain.insts.contains(inst));
    }
}

impl Chain {
    /// Computes it at the end of a block, of another value than it is computed of.
    fn copy(&self, func: &mut Function, block: Block, of: Value, other: Value) -> Value {
        let mut copies = HashMap::from_iter([(of, other)]);
        for &inst in &self.insts {
            let InstData { op, ty, args, imm, result, origin, .. } = func.insts[inst];
            func.origin = origin;
            let args: Vec<Value> = args
                .iter()
                .map(|arg| {
                    *copies.entry(*arg).or_insert_with(|| {
                        let bits = func.constant(*arg).expect("it is a literal, or of the chain");
                        let literal = func.make_inst(Op::Const, func.ty(*arg), &[], Imm::Bits(bits));
                        func.blocks[block].insts.push(literal);
                        func.insts[literal].result.expect("a literal is a value")
                    })
                })
                .collect();
            let copy = func.make_inst(op, ty, &args, imm);
            func.blocks[block].insts.push(copy);
            copies.insert(result.expect("it is of the chain"), func.insts[copy].result.expect("as the op it copies"));
        }
        copies[&self.end]
    }
}

/// Whether an instruction computes its result of its operands alone.
pub(super) fn is_computed(inst: &InstData) -> bool {
    inst.imm == Imm::None && inst.op.effect() == Effect::Pure && inst.op.varies() == Varies::Follows
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_keeps_meaning, assert_makes};
    use super::*;
    use crate::interp::{Bindings, InterpOptions, Interpreter};
    use crate::parse::parse;
    use crate::texture::NoTextures;

    #[test]
    fn random_functions_keep_their_meaning() {
        assert_keeps_meaning(carry);
    }

    /// Sums up what stands in a table at three indices, in turn, as often as the last input says. `USED` is done once a
    /// round.
    fn in_turn(used: &str) -> String {
        let text = "function \"f\" inputs 1 outputs 1 { space0 \"c\" block0:
                v0 = input.f32 0.0 v1 = input.f32 0.1 v2 = input.f32 0.2 v3 = input.i32 0.3 v4 = const.f32 0.0
                jump block1(v0, v1, v2, v3, v4)
            block1(v5: f32, v6: f32, v7: f32, v8: i32, v9: f32):
                v10 = ftoi v5 v11 = const.i32 3 v12 = imul v10, v11 v13 = const.i32 15 v14 = and.i32 v12, v13
                v15 = uniform_load_at.f32 space0[0].0, v14 v16 = fadd v9, v15 USED
                v18 = const.i32 -1 v19 = iadd v8, v18 v20 = const.i32 0 v21 = slt v20, v19
                br_if v21, block1(v6, v7, v5, v19, v16), block2
            block2:
                output.f32 0.0, v16 return }";
        text.replace("USED", used)
    }

    #[test]
    fn what_is_computed_of_rotating_values_is_computed_before() {
        let after = "function \"f\" inputs 1 outputs 1 { space0 \"c\" block0:
                v0 = input.f32 0.0 v1 = input.f32 0.1 v2 = input.f32 0.2 v3 = input.i32 0.3 v4 = const.f32 0.0
                v22 = ftoi v0 v23 = const.i32 3 v24 = imul v22, v23
                v25 = ftoi v1 v26 = const.i32 3 v27 = imul v25, v26
                v28 = ftoi v2 v29 = const.i32 3 v30 = imul v28, v29
                jump block1(v24, v27, v30, v3, v4)
            block1(v5: i32, v6: i32, v7: i32, v8: i32, v9: f32):
                v11 = const.i32 3 v13 = const.i32 15 v14 = and.i32 v5, v13
                v15 = uniform_load_at.f32 space0[0].0, v14 v16 = fadd v9, v15
                v18 = const.i32 -1 v19 = iadd v8, v18 v20 = const.i32 0 v21 = slt v20, v19
                br_if v21, block1(v6, v7, v5, v19, v16), block2
            block2:
                output.f32 0.0, v16 return }";
        assert_makes(carry, &in_turn(""), after);
    }

    #[test]
    fn sums_stay_the_same_for_any_number_of_rounds() {
        let before = parse(&in_turn("")).unwrap();
        let mut after = before.clone();
        carry(&mut after);
        assert_ne!(before, after);
        let rows: Vec<[u32; 4]> = (0..16u8).map(|row| [f32::from(row * row).to_bits(), 0, 0, 0]).collect();
        for rounds in 0..8 {
            let inputs = [[[2.5f32.to_bits()], [f32::NAN.to_bits()], [(-7.0f32).to_bits()], [rounds]]];
            let bindings = Bindings {
                inputs: &inputs,
                vertex_id: [0],
                instance_id: 0,
                uniforms: &[&rows],
                resources: &[],
                textures: &NoTextures,
            };
            let options = InterpOptions { fuel: 1_000.into(), fused: true };
            let sums = [&before, &after]
                .map(|func| Interpreter::<1>::new(func).run(&bindings, &options).map(|outputs| outputs[0][0][0]));
            assert_eq!(sums[0], sums[1], "{rounds} rounds");
        }
    }

    #[test]
    fn values_that_something_else_uses_stay() {
        for used in
            ["v17 = fadd v5, v5 output.f32 0.1, v17", "v17 = ftoi v6 output.i32 0.1, v17", "output.i32 0.1, v10"]
        {
            let text = in_turn(used);
            assert_makes(carry, &text, &text);
        }
    }

    #[test]
    fn edges_back_go_around_all_in_one_way() {
        let text = in_turn("v17 = fadd v5, v5").replace("block1(v6, v7, v5", "block1(v6, v7, v17");
        assert_makes(carry, &text, &text);
        // Two edges back that hand on in different orders.
        let text = in_turn("").replace(
            "block2\n            block2",
            "block3 block3: br_if v21, block1(v7, v5, v6, v19, v16), block2\n block2",
        );
        assert_makes(carry, &text, &text);
    }
}
