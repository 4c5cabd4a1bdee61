//! Loops that take values in turn and have more of them than registers: against the interpreter, in which they rotate.

use super::phases::rows;
use super::{Case, check, lockstep};
use shaderjit_ir::{Function, FunctionBuilder, Op, Type, Value};

/// How the rows of a loop are found.
#[derive(Clone, Copy, Debug)]
enum Rows {
    /// By the index alone.
    Indexed,
    /// By the index, which is added up besides.
    IndexAdded,
    /// By what is computed of the index and of the round.
    Computed,
}

/// A loop that blends rows of uniforms, as skinning blends matrices: so many indices and so many weights take turns,
/// and 12 sums go on. The first uniform says how many rounds there are.
fn blended([period, weighted]: [usize; 2], found: Rows) -> Function {
    let mut b = FunctionBuilder::new("blended", 4, 4);
    let space = b.add_space("c", None);
    let word = |b: &mut FunctionBuilder, ty, at: usize| b.input(ty, at as u32 / 4, at as u8 % 4);
    let indices: Vec<Value> = (0..period).map(|at| word(&mut b, Type::I32, at)).collect();
    let weights: Vec<Value> = (0..weighted).map(|at| word(&mut b, Type::F32, 8 + at)).collect();
    let (zero, bound) = (b.i32(0), b.uniform_load(Type::I32, space, 0, 0));
    let sums: Vec<Value> = (0..12).map(|at| b.f32(at as f32)).collect();
    let begin: Vec<Value> = indices.into_iter().chain(weights).chain(sums).chain([zero]).collect();
    let types = (0..begin.len()).map(|at| match at {
        at if at < period || at + 1 == begin.len() => Type::I32,
        _ => Type::F32,
    });
    let vars: Vec<_> = types.map(|ty| b.declare_var(ty)).collect();
    std::iter::zip(&vars, begin).for_each(|(&var, value)| b.def_var(var, value));
    let (head, done) = (b.create_block(), b.create_block());
    b.jump(head);
    b.switch_to_block(head);
    let now: Vec<Value> = vars.iter().map(|&var| b.use_var(var)).collect();
    let (indices, rest) = now.split_at(period);
    let (weights, rest) = rest.split_at(weighted);
    let (sums, round) = (&rest[..12], rest[12]);
    let seven = b.i32(7);
    let index = match found {
        Rows::Computed => b.iadd([indices[0], round]),
        _ => indices[0],
    };
    let index = b.op(Op::And, &[index, seven]);
    let mut added: Vec<Value> = Vec::new();
    for (at, &sum) in sums.iter().enumerate() {
        let row = b.uniform_load_at(Type::F32, space, 1 + at as u32 / 4, at as u8 % 4, index);
        let product = b.fmul([row, weights[0]]);
        added.push(b.fadd([sum, product]));
    }
    if let Rows::IndexAdded = found {
        let number = b.itof([index]);
        added[11] = b.fadd([added[11], number]);
    }
    let one = b.i32(1);
    let next = b.iadd([round, one]);
    let turned = |values: &[Value]| -> Vec<Value> { values[1..].iter().chain(&values[..1]).copied().collect() };
    let after: Vec<Value> = turned(indices).into_iter().chain(turned(weights)).chain(added).chain([next]).collect();
    std::iter::zip(&vars, after).for_each(|(&var, value)| b.def_var(var, value));
    let more = b.slt([next, bound]);
    b.br_if(more, head, done);
    b.seal_block(head);
    b.seal_block(done);
    b.switch_to_block(done);
    for (at, &var) in vars[period + weighted..][..12].iter().enumerate() {
        let sum = b.use_var(var);
        b.output(at as u32 / 4, at as u8 % 4, sum);
    }
    let last = b.use_var(vars[vars.len() - 1]);
    b.output(3, 0, last);
    b.ret();
    lockstep(b)
}

#[test]
fn what_takes_turns_is_where_the_interpreter_has_it() {
    for periods in [[2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [3, 4], [4, 3], [2, 5], [6, 5]] {
        for found in [Rows::Indexed, Rows::IndexAdded, Rows::Computed] {
            let func = blended(periods, found);
            let case = |(count, rounds): (u32, u32)| {
                let inputs = (0..4).map(|seed| rows(seed, count)).collect();
                let table: Vec<[u32; 4]> = rows(periods[0] as u32, 11);
                let uniforms = vec![[vec![[rounds, 0, 0, 0]], table].concat()];
                Case { inputs, uniforms, ..Case::new(rows(0, count)) }
            };
            check(&func, &[(1, 1), (21, 2), (40, 5), (7, 6), (16, 13)].map(case));
        }
    }
}
