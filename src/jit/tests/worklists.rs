//! Functions cut into phases whose waves go different ways.

use super::phases::{COUNTS, rows};
use super::{Case, Rows, check, compile_all, lockstep, run_native, run_reference};
use crate::error::CallError;
use crate::pipeline::{self, PassOptions};
use shaderjit_ir::entity::Variable;
use shaderjit_ir::function::Imm;
use shaderjit_ir::{Function, FunctionBuilder, Op, Type, Value};

/// A long chain that no two lanes are likely to end at the same value.
fn chain(b: &mut FunctionBuilder, start: Value) -> Value {
    let (one, mut value) = (b.f32(1.25), start);
    for _ in 0..24 {
        let square = b.fmul([value, value]);
        let sum = b.fadd([square, one]);
        let root = b.fsqrt([sum]);
        value = b.fdiv([sum, root]);
    }
    value
}

/// Emits `for (counter = 0; counter < bound; counter++) { body }`.
fn loop_to(b: &mut FunctionBuilder, bound: Value, mut body: impl FnMut(&mut FunctionBuilder, Value)) {
    let [head, inside, behind] = [(); 3].map(|()| b.create_block());
    let (counter, zero) = (b.declare_var(Type::I32), b.i32(0));
    b.def_var(counter, zero);
    b.jump(head);
    b.switch_to_block(head);
    let at = b.use_var(counter);
    let more = b.slt([at, bound]);
    b.br_if(more, inside, behind);
    b.seal_block(inside);
    b.switch_to_block(inside);
    body(b, at);
    let (at, one) = (b.use_var(counter), b.i32(1));
    let next = b.iadd([at, one]);
    b.def_var(counter, next);
    b.jump(head);
    b.seal_block(head);
    b.seal_block(behind);
    b.switch_to_block(behind);
}

/// Emits `if (condition) variable = chain(variable)`.
fn chain_if(b: &mut FunctionBuilder, condition: Value, variable: Variable) {
    let [inside, behind] = [(); 2].map(|()| b.create_block());
    b.br_if(condition, inside, behind);
    b.seal_block(inside);
    b.switch_to_block(inside);
    let value = b.use_var(variable);
    let value = chain(b, value);
    b.def_var(variable, value);
    b.jump(behind);
    b.seal_block(behind);
    b.switch_to_block(behind);
}

/// What the passes make of a function.
fn optimised(builder: FunctionBuilder) -> Function {
    pipeline::run(builder.finish(), &PassOptions { fused: false, guards: false }, None).unwrap().into_inner()
}

/// A loop in a loop and then a branch, as often as each lane says: the first input is the numbers of rounds and what
/// decides the branch, the second what is computed with. A uniform decides as well.
fn nested() -> Function {
    let mut b = FunctionBuilder::new("nested", 2, 2);
    let space = b.add_space("c", None);
    let [outer, inner, sign] = [0, 1, 2].map(|component| b.input(Type::I32, 0, component));
    let [x, y] = [0, 1].map(|component| b.input(Type::F32, 1, component));
    let step = b.uniform_load(Type::F32, space, 0, 0);
    let [p, q] = [x, y].map(|start| {
        let variable = b.declare_var(Type::F32);
        b.def_var(variable, start);
        variable
    });
    loop_to(&mut b, outer, |b, at| {
        loop_to(b, inner, |b, _| {
            let value = b.use_var(p);
            let value = chain(b, value);
            let value = b.fsub([value, step]);
            b.def_var(p, value);
        });
        let bit = b.xor([at, sign]);
        let (one, zero) = (b.i32(1), b.i32(0));
        let bit = b.and([bit, one]);
        let odd = b.op(Op::Ine, &[bit, zero]);
        chain_if(b, odd, q);
    });
    let [p, q] = [p, q].map(|variable| b.use_var(variable));
    let sum = b.fadd([p, x]);
    for (element, component, value) in [(0, 0, p), (0, 1, q), (0, 2, y), (1, 3, sum)] {
        b.output(element, component, value);
    }
    b.ret();
    optimised(b)
}

/// Rounds of the two loops, and the sign.
fn rounds(seed: u32, count: u32, most: u32) -> Rows {
    let word = |row: u32, column: u32| (row * (11 + seed) + column * 5 + row / 7 * seed) % (most + 1);
    (0..count).map(|row| [word(row, 0), word(row, 1), word(row, 2), 0]).collect()
}

fn case(rounds: Rows, fuel: u32) -> Case {
    let inputs = vec![rounds.clone(), rows(3, rounds.len() as u32)];
    Case { inputs, uniforms: vec![rows(4, 1)], fuel, ..Case::new(rounds) }
}

#[test]
fn groups_go_their_own_ways() {
    let func = nested();
    let cases = COUNTS.map(|count| case(rounds(count, count, 3), 1000));
    check(&func, &cases);
}

/// A tile takes as many edges as the slowest of its vectors in each loop, which may be more than any of them takes.
#[test]
fn fuel_is_each_groups_own() {
    let func = nested();
    // Many rounds of few in one wave, few of many in another.
    let uneven: Rows = (0..140).map(|row| if row / 8 % 2 == 0 { [6, 1, row, 0] } else { [1, 9, row, 0] }).collect();
    for fuel in [0, 1, 5, 11, 12, 13, 14, 15, 16, 30, 60] {
        check(&func, &[case(uneven.clone(), fuel), case(rounds(5, 90, 4), fuel)]);
    }
}

/// Lanes leave a loop by themselves, and all together by another edge.
#[test]
fn loops_with_several_ends_stay_whole() {
    let mut b = FunctionBuilder::new("ends", 2, 1);
    let space = b.add_space("c", None);
    let bound = b.input(Type::I32, 0, 0);
    let start = b.input(Type::F32, 1, 0);
    let last = b.uniform_load(Type::I32, space, 0, 0);
    let value = b.declare_var(Type::F32);
    b.def_var(value, start);
    let end = b.create_block();
    loop_to(&mut b, bound, |b, at| {
        let go_on = b.create_block();
        let stops = b.ieq([at, last]);
        b.br_if(stops, end, go_on);
        b.seal_block(go_on);
        b.switch_to_block(go_on);
        let before = b.use_var(value);
        let after = chain(b, before);
        b.def_var(value, after);
    });
    b.jump(end);
    b.seal_block(end);
    b.switch_to_block(end);
    let value = b.use_var(value);
    b.output(0, 0, value);
    b.ret();
    let func = optimised(b);
    for last in [0, 2, 9] {
        let uniforms = vec![vec![[last, 0, 0, 0]]];
        check(&func, &[Case { uniforms, ..case(rounds(2, 70, 5), 1000) }]);
    }
}

/// A loop of a uniform number of rounds with a guard in it.
#[test]
fn the_first_group_that_fails_in_any_round_is_found() {
    let mut b = FunctionBuilder::new("guarded", 1, 1);
    let space = b.add_space("c", None);
    let [x, y] = [0, 1].map(|component| b.input(Type::F32, 0, component));
    let bound = b.uniform_load(Type::I32, space, 0, 0);
    let value = b.declare_var(Type::F32);
    b.def_var(value, x);
    loop_to(&mut b, bound, |b, _| {
        let before = b.use_var(value);
        let after = chain(b, before);
        let sum = b.fadd([after, y]);
        b.emit(Op::GuardOrdered, Type::F32, &[sum], Imm::None);
        b.def_var(value, after);
    });
    let value = b.use_var(value);
    b.output(0, 0, value);
    b.ret();
    let func = lockstep(b);
    let nan = f32::NAN.to_bits();
    let case = |vertices, fuel| Case { uniforms: vec![vec![[3, 0, 0, 0]]], fuel, ..Case::new(vertices) };
    for code in compile_all(&func) {
        let whole = case(rows(1, 200), 1 << 20);
        assert_eq!(run_native(&code, &func, &whole), Ok(run_reference::<4>(&func, &whole).unwrap()));
        for (one, other) in [(0, 199), (9, 20), (70, 69), (197, 140), (63, 64)] {
            let mut vertices = rows(1, 200);
            (vertices[one][0], vertices[other][1]) = (nan, nan);
            let vertex = one.min(other) as u32 / code.lanes() * code.lanes();
            let failed = run_native(&code, &func, &case(vertices, 1 << 20));
            assert_eq!(failed, Err(CallError::GuardFailed { vertex }), "{one} {other}, {} lanes", code.lanes());
        }
        // A wave that runs out of fuel may have gone astray.
        let failed = run_native(&code, &func, &case(rows(1, 200), 3));
        assert_eq!(failed, Err(CallError::GuardFailed { vertex: 0 }));
    }
}
