//! Long blocks of loops, whose instructions code has in another order: against the interpreter, which has them as they
//! come.

use super::phases::{Random, rows};
use super::{Case, check, lockstep};
use shaderjit_ir::{Function, FunctionBuilder, Op, Type, Value};

/// A loop that all lanes leave together: floats, integers, truth values, and an array that is stored and loaded.
fn rounds(seed: u32) -> Function {
    let mut random = Random(seed);
    let mut b = FunctionBuilder::new("rounds", 2, 1);
    let (space, array) = (b.add_space("c", None), b.add_array(7, 2));
    let vars = [Type::F32, Type::F32, Type::I32, Type::I32].map(|ty| b.declare_var(ty));
    let [x, y] = [0, 1].map(|component| b.input(Type::F32, 0, component));
    let (i, zero, bound) = (b.input(Type::I32, 1, 0), b.i32(0), b.uniform_load(Type::I32, space, 0, 0));
    std::iter::zip(vars, [x, y, i, zero]).for_each(|(var, value)| b.def_var(var, value));
    let (head, done) = (b.create_block(), b.create_block());
    b.jump(head);
    b.switch_to_block(head);
    let [x, y, i, round] = vars.map(|var| b.use_var(var));
    let (mut floats, mut ints, mut truths) = (vec![x, y], vec![i, round], vec![b.flt([x, y])]);
    let uniform = b.uniform_load(Type::F32, space, 1, 1);
    for _ in 0..90 + random.below(150) {
        let [f, g, h] = [0; 3].map(|_| random.pick(&floats));
        let [j, k] = [0; 2].map(|_| random.pick(&ints));
        let truth = random.pick(&truths);
        match random.below(12) {
            0 => floats.push(b.fdiv([f, g])),
            1 => truths.push(b.flt([f, g])),
            2 => floats.push(b.op(Op::Select, &[truth, f, g])),
            3 => ints.push(b.iadd([j, k])),
            4 => floats.push(b.itof([j])),
            5 => floats.push(b.array_load(Type::F32, array, 0, k)),
            6 => b.array_store(array, random.below(2) as u8, j, f),
            7 => b.array_store_masked(array, 0, j, g, truth),
            8 => ints.push(b.array_load(Type::I32, array, 1, j)),
            9 => floats.push(b.fmul([f, uniform])),
            _ => {
                let product = b.fmul([f, g]);
                floats.push(b.fsub([product, h]));
            }
        }
    }
    let one = b.i32(1);
    let next = b.iadd([round, one]);
    let seven = b.i32(7);
    let index = b.op(Op::And, &[ints[ints.len() - 1], seven]);
    let values: [Value; 4] = [floats[floats.len() - 1], random.pick(&floats), index, next];
    std::iter::zip(vars, values).for_each(|(var, value)| b.def_var(var, value));
    let more = b.slt([next, bound]);
    b.br_if(more, head, done);
    b.seal_block(head);
    b.seal_block(done);
    b.switch_to_block(done);
    for (component, var) in (0..).zip(vars) {
        let value = b.use_var(var);
        b.output(0, component, value);
    }
    b.ret();
    lockstep(b)
}

#[test]
fn loops_compute_the_same_in_any_order() {
    for seed in 0..32 {
        let func = rounds(seed);
        let case = |count| {
            let inputs = vec![rows(seed, count), rows(seed + 1, count)];
            let uniforms = vec![vec![[3, 0, 0, 0], [0, 0.75f32.to_bits(), 0, 0]]];
            Case { inputs, uniforms, ..Case::new(rows(seed, count)) }
        };
        check(&func, &[1, 16, 45].map(case));
    }
}
