//! Values that are kept in memory through loops.

use super::{Case, Rows, check};
use shaderjit_ir::pass::lockstep;
use shaderjit_ir::{Function, FunctionBuilder, Op, Type, Value};

fn rows(seed: u32) -> Rows {
    (0..13)
        .map(|row| [0, 1, 2, 3].map(|column| ((row * 7 + column * 3 + seed) as f32 * 0.25 - 6.0).to_bits()))
        .collect()
}

/// How often each vertex goes round: never, once, more often than others.
fn rounds() -> Rows {
    (0..13).map(|row| [row % 5, 0, 0, 0]).collect()
}

/// A loop that carries `carried` sums and keeps four times `kept` inputs: it adds the first of them up, and the others
/// only after the last round. A comparison in front of it is kept, too.
fn sums(carried: u32, kept: u32, nested: bool) -> Function {
    let mut b = FunctionBuilder::new("sums", kept + 1, carried);
    let limit = b.input(Type::I32, 0, 0);
    let inputs: Vec<[Value; 4]> =
        (1..=kept).map(|element| [0, 1, 2, 3].map(|component| b.input(Type::F32, element, component))).collect();
    let zero = b.f32(0.0);
    let positive = b.flt([zero, inputs[0][0]]);
    let sums: Vec<_> = (0..carried).map(|_| b.declare_var(Type::F32)).collect();
    sums.iter().for_each(|&sum| b.def_var(sum, zero));
    let depth = if nested { 2 } else { 1 };
    let counters: Vec<_> = (0..depth).map(|_| b.declare_var(Type::I32)).collect();
    let heads: Vec<_> = (0..depth).map(|_| b.create_block()).collect();
    let bodies: Vec<_> = (0..depth).map(|_| b.create_block()).collect();
    let exits: Vec<_> = (0..depth).map(|_| b.create_block()).collect();
    let (nought, one) = (b.i32(0), b.i32(1));
    for level in 0..depth {
        b.def_var(counters[level], nought);
        b.jump(heads[level]);
        b.switch_to_block(heads[level]);
        let count = b.use_var(counters[level]);
        let goes_on = b.slt([count, limit]);
        b.br_if(goes_on, bodies[level], exits[level]);
        b.seal_block(bodies[level]);
        b.switch_to_block(bodies[level]);
    }
    for (number, &sum) in sums.iter().enumerate() {
        let (old, term) = (b.use_var(sum), inputs[0][number % 4]);
        let new = b.fadd([old, term]);
        b.def_var(sum, new);
    }
    for level in (0..depth).rev() {
        let count = b.use_var(counters[level]);
        let count = b.iadd([count, one]);
        b.def_var(counters[level], count);
        b.jump(heads[level]);
        b.seal_block(heads[level]);
        b.seal_block(exits[level]);
        b.switch_to_block(exits[level]);
    }
    for (element, &sum) in (0..).zip(&sums) {
        let sum = b.use_var(sum);
        for component in 0..4u8 {
            let column = inputs.iter().map(|input| input[usize::from(component)]);
            let terms: Vec<Value> = column.collect();
            let total = terms.into_iter().fold(sum, |total, term| b.fadd([total, term]));
            let chosen = b.op(Op::Select, &[positive, total, sum]);
            b.output(element, component, chosen);
        }
    }
    b.ret();
    let mut func = b.finish();
    lockstep(&mut func).unwrap();
    func
}

#[test]
fn what_a_crowded_loop_keeps_goes_to_memory() {
    for (carried, kept, nested) in [(1, 1, false), (2, 4, false), (6, 4, false), (3, 3, true), (14, 1, true)] {
        let func = sums(carried, kept, nested);
        let mut inputs = vec![rounds()];
        inputs.extend((0..kept).map(rows));
        check(&func, &[Case { inputs, ..Case::new(rounds()) }]);
    }
}
