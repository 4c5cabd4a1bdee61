//! Gives block parameters the type that their values have: integers that a loop carries in the bits of floats.
//!
//! Registers of Direct3D have no type, and front ends take them for floats. A counter is then a float to every edge and
//! an integer to whatever counts, compares or indexes by it. On most machines that is a way through two register files.

use crate::entity::{Block, Inst, Value};
use crate::function::{Function, Imm, ValueDef};
use crate::op::Op;
use crate::set::EntitySet;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use foldhash::{HashMap, HashMapExt};

/// Makes integers of float parameters whose bits alone are used, and which get nothing but literals and the bits of
/// integers, or such parameters. What one edge gives to another parameter ties both: they change together.
pub fn retype(func: &mut Function) {
    let has_floats = |&block: &Block| func.blocks[block].params.iter().any(|&param| func.ty(param) == Type::F32);
    if !func.layout.iter().any(has_floats) {
        return;
    }
    let integers = integers(func);
    if integers.is_empty() {
        return;
    }
    give_integers(func, &integers);
    let mut same: SecondaryMap<Value, Option<Value>> = func.value_map();
    for index in 0..func.layout.len() {
        let Function { layout, blocks, insts, .. } = &mut *func;
        blocks[layout[index]].insts.retain(|&inst| {
            let data = &insts[inst];
            let is_same = data.op == Op::BitcastI32 && integers.contains(data.args[0]);
            if is_same {
                same[data.result.expect("the op has a result")] = Some(data.args[0]);
            }
            !is_same
        });
    }
    func.replace_uses(|value| same[value].unwrap_or(value));
}

/// The parameters that become integers.
fn integers(func: &Function) -> EntitySet<Value> {
    let is_param = |value: Value| matches!(func.values[value].def, ValueDef::Param(_));
    let is_bits = |value: Value| func.def_inst(value).is_some_and(|def| matches!(def.op, Op::Const | Op::BitcastF32));
    // Those that stay floats, and which are tied.
    let (mut floats, mut ties) = (Vec::new(), SecondaryMap::<Value, Vec<Value>>::new());
    let mut candidates = EntitySet::with_capacity(func.values.len());
    for &block in &func.layout {
        let params = func.blocks[block].params.iter().filter(|&&param| func.ty(param) == Type::F32);
        params.for_each(|&param| _ = candidates.insert(param));
        let insts = func.insts_in(block).filter(|inst| inst.op != Op::BitcastI32);
        floats.extend(insts.flat_map(|inst| inst.args.iter().copied()).filter(|&arg| is_param(arg)));
        for (param, arg) in func.passed(block).filter(|&(param, _)| func.ty(param) == Type::F32) {
            if is_param(arg) {
                ties[param].push(arg);
                ties[arg].push(param);
            } else if !is_bits(arg) {
                floats.push(param);
            }
        }
    }
    while let Some(float) = floats.pop() {
        if candidates.remove(float) {
            floats.append(&mut ties[float]);
        }
    }
    candidates
}

/// Has edges give integers to those parameters, whose type they are from now on.
fn give_integers(func: &mut Function, integers: &EntitySet<Value>) {
    let mut literals = HashMap::new();
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        let Some(mut terminator) = func.blocks[block].terminator.take() else { continue };
        for call in terminator.calls_mut() {
            for at in 0..call.args.len() {
                let (param, arg) = (func.blocks[call.block].params[at], call.args[at]);
                if integers.contains(param) && !integers.contains(arg) {
                    call.args[at] = integer(func, arg, &mut literals);
                }
            }
        }
        func.blocks[block].terminator = Some(terminator);
    }
    for &block in &func.layout {
        for &param in func.blocks[block].params.iter().filter(|&&param| integers.contains(param)) {
            func.values[param].ty = Type::I32;
        }
    }
    let entry = func.entry();
    func.blocks[entry].insts.splice(0..0, literals.into_values());
}

/// The integer with the bits of a value. New literals go to the front of the entry.
fn integer(func: &mut Function, value: Value, literals: &mut HashMap<u64, Inst>) -> Value {
    let Some(bits) = func.constant(value) else {
        return func.def_inst(value).expect("it has the bits of an integer").args[0];
    };
    let inst = *literals.entry(bits).or_insert_with(|| func.make_inst(Op::Const, Type::I32, &[], Imm::Bits(bits)));
    func.insts[inst].result.expect("a literal is a value")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_keeps_meaning, assert_makes};
    use super::*;

    #[test]
    fn meaning_is_kept() {
        assert_keeps_meaning(retype);
    }

    #[test]
    fn a_counter_becomes_an_integer() {
        assert_makes(
            retype,
            "function \"f\" inputs 1 outputs 1 { block0:
                v0 = input.i32 0.0 v1 = const.f32 0.0 jump block1(v1)
            block1(v2: f32):
                v3 = bitcast_i32 v2 v4 = const.i32 1 v5 = iadd v3, v4 v6 = bitcast_f32 v5 v7 = ult v5, v0
                br_if v7, block1(v6), block2(v2)
            block2(v8: f32):
                v9 = bitcast_i32 v8 output.i32 0.0, v9 return }",
            "function \"f\" inputs 1 outputs 1 { block0:
                v0 = const.i32 0 v1 = input.i32 0.0 v2 = const.f32 0.0 jump block1(v0)
            block1(v3: i32):
                v4 = const.i32 1 v5 = iadd v3, v4 v6 = bitcast_f32 v5 v7 = ult v5, v1
                br_if v7, block1(v5), block2(v3)
            block2(v8: i32):
                output.i32 0.0, v8 return }",
        );
    }

    #[test]
    fn what_is_used_as_a_float_stays_one() {
        let text = "function \"f\" inputs 1 outputs 1 { block0:
                v0 = input.i32 0.0 v1 = const.f32 0.0 jump block1(v1)
            block1(v2: f32):
                v3 = bitcast_i32 v2 v4 = const.i32 1 v5 = iadd v3, v4 v6 = bitcast_f32 v5 v7 = ult v5, v0
                br_if v7, block1(v6), block2(v2)
            block2(v8: f32):
                v9 = fadd v8, v8 output.f32 0.0, v9 return }";
        assert_makes(retype, text, text);
    }
}
