//! Branches, loops, fuel.

use super::{Case, EDGES, Rows, check, compile_all, lockstep, run_native};
use crate::error::CallError;
use shaderjit_ir::function::Imm;
use shaderjit_ir::{Function, FunctionBuilder, Op, Type};

/// Lanes whose x is not yet y add 1 to it, until all are: a loop in lockstep form with an exec mask.
fn counting() -> Function {
    let mut b = FunctionBuilder::new("counting", 1, 1);
    let (i, rounds) = (b.declare_var(Type::I32), b.declare_var(Type::I32));
    let bound = b.input(Type::I32, 0, 1);
    let start = b.input(Type::I32, 0, 0);
    b.def_var(i, start);
    let (head, body, done) = (b.create_block(), b.create_block(), b.create_block());
    b.jump(head);
    b.switch_to_block(head);
    let at = b.use_var(i);
    let more = b.ult([at, bound]);
    let any = b.any([more]);
    b.br_if(any, body, done);
    b.seal_block(body);
    b.switch_to_block(body);
    let one = b.i32(1);
    let next = b.iadd([at, one]);
    let kept = b.select([more, next, at]);
    b.def_var(i, kept);
    let (count, one) = (b.use_var(rounds), b.i32(1));
    let count = b.iadd([count, one]);
    b.def_var(rounds, count);
    b.jump(head);
    b.seal_block(head);
    b.seal_block(done);
    b.switch_to_block(done);
    let (i, rounds) = (b.use_var(i), b.use_var(rounds));
    b.output(0, 0, i);
    b.output(0, 1, rounds);
    b.ret();
    lockstep(b)
}

#[test]
fn loops_run_until_the_last_lane_is_done() {
    let rows: Rows = (0..23).map(|vertex| [0, vertex * 5 % 11, 0, 0]).collect();
    check(&counting(), &[Case::new(rows)]);
}

#[test]
fn fuel_is_counted_for_each_group_as_the_interpreter_counts() {
    for fuel in 0..13 {
        let rows: Rows = (0..16).map(|vertex| [0, vertex * 5 % 11, 0, 0]).collect();
        check(&counting(), &[Case { fuel, ..Case::new(rows) }]);
    }
}

#[test]
fn a_loop_without_end_runs_out_of_fuel() {
    // Both edges of the branch go backwards, and there is no returning block.
    let mut b = FunctionBuilder::new("endless", 1, 1);
    let i = b.declare_var(Type::I32);
    let head = b.create_block();
    b.jump(head);
    b.switch_to_block(head);
    let (at, one) = (b.use_var(i), b.i32(1));
    let next = b.iadd([at, one]);
    b.def_var(i, next);
    let odd = b.and([next, one]);
    let condition = b.ieq([odd, one]);
    b.br_if(condition, head, head);
    b.seal_block(head);
    let func = lockstep(b);
    check(&func, &[Case { fuel: 100_000, ..Case::new(vec![[0; 4]; 3]) }]);
}

#[test]
fn uniform_branches_take_the_right_edge() {
    for (float, name) in [(false, "integers"), (true, "floats")] {
        let mut b = FunctionBuilder::new(name, 1, 1);
        let space = b.add_space("u", None);
        let ty = if float { Type::F32 } else { Type::I32 };
        let (left, right) = (b.uniform_load(ty, space, 0, 0), b.uniform_load(ty, space, 0, 1));
        let less = if float { b.flt([left, right]) } else { b.slt([left, right]) };
        let (x, out) = (b.input(Type::F32, 0, 0), b.declare_var(Type::F32));
        let (scale, flag) = (b.declare_var(Type::F32), b.declare_var(Type::I1));
        let (yes, no, join) = (b.create_block(), b.create_block(), b.create_block());
        b.br_if(less, yes, no);
        b.seal_block(yes);
        b.seal_block(no);
        b.switch_to_block(yes);
        let doubled = b.fadd([x, x]);
        b.def_var(out, doubled);
        let two = b.f32(2.0);
        b.def_var(scale, two);
        b.def_var(flag, less);
        b.jump(join);
        b.switch_to_block(no);
        let constant = b.f32(-7.0);
        b.def_var(out, constant);
        let loaded = b.uniform_load(Type::F32, space, 0, 2);
        b.def_var(scale, loaded);
        b.jump(join);
        b.seal_block(join);
        b.switch_to_block(join);
        // A divergent parameter with one uniform edge, a uniform one of floats, one of truth values.
        let (out, scale, flag) = (b.use_var(out), b.use_var(scale), b.use_var(flag));
        b.output(0, 0, out);
        b.output(0, 1, scale);
        let product = b.fmul([out, scale]);
        b.output(0, 2, product);
        let picked = b.select([flag, product, x]);
        b.output(0, 3, picked);
        b.ret();
        let func = lockstep(b);
        let rows: Rows = EDGES.iter().map(|&a| [a, 0, 0, 0]).collect();
        let pairs = EDGES.iter().step_by(3).flat_map(|&a| EDGES.iter().step_by(4).map(move |&b| [a, b, a ^ b, 0]));
        let cases: Vec<Case> =
            pairs.map(|row| Case { uniforms: vec![vec![row]], ..Case::new(rows[10..19].to_vec()) }).collect();
        check(&func, &cases);
    }
}

#[test]
fn doubles_travel_through_block_parameters() {
    for uniform in [false, true] {
        let mut b = FunctionBuilder::new("doubles", 1, 1);
        let space = b.add_space("u", None);
        let selector = b.uniform_load(Type::I32, space, 0, 0);
        let word = if uniform { b.uniform_load(Type::I32, space, 0, 1) } else { b.input(Type::I32, 0, 0) };
        let (double, zero) = (b.declare_var(Type::F64), b.i32(0));
        let signed = b.itod([word]);
        b.def_var(double, signed);
        let (other, join) = (b.create_block(), b.create_block());
        let condition = b.ieq([selector, zero]);
        b.br_if(condition, other, join);
        b.seal_block(other);
        b.switch_to_block(other);
        let unsigned = b.utod([word]);
        b.def_var(double, unsigned);
        b.jump(join);
        b.seal_block(join);
        b.switch_to_block(join);
        let double = b.use_var(double);
        let (low, high) = (b.f64lo([double]), b.f64hi([double]));
        b.output(0, 0, low);
        b.output(0, 1, high);
        b.ret();
        let rows: Rows = EDGES.iter().map(|&a| [a, 0, 0, 0]).collect();
        let cases = [0, 1]
            .map(|selector| Case { uniforms: vec![vec![[selector, 0xffff_fff0, 0, 0]]], ..Case::new(rows.clone()) });
        check(&lockstep(b), &cases);
    }
}

#[test]
fn switches_find_sparse_and_dense_cases() {
    let mut b = FunctionBuilder::new("switch", 1, 1);
    let space = b.add_space("u", None);
    let selector = b.uniform_load(Type::I32, space, 0, 0);
    let values = [0, 1, 2, 3, 4, 77, 0x8000_0000, u32::MAX];
    let (x, out) = (b.input(Type::I32, 0, 0), b.declare_var(Type::I32));
    let blocks = values.map(|_| b.create_block());
    let (default, join) = (b.create_block(), b.create_block());
    let cases: Vec<_> = values.into_iter().zip(blocks).collect();
    b.switch(selector, &cases, default);
    for (number, block) in (10..).zip(blocks.into_iter().chain([default])) {
        b.seal_block(block);
        b.switch_to_block(block);
        let number = b.i32(number);
        let sum = b.iadd([x, number]);
        b.def_var(out, sum);
        b.jump(join);
    }
    b.seal_block(join);
    b.switch_to_block(join);
    let out = b.use_var(out);
    b.output(0, 0, out);
    b.ret();
    let cases: Vec<Case> = [0, 1, 2, 3, 4, 5, 76, 77, 78, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX]
        .map(|selector| Case { uniforms: vec![vec![[selector, 0, 0, 0]]], ..Case::new(vec![[100, 0, 0, 0]; 6]) })
        .to_vec();
    check(&lockstep(b), &cases);
}

/// A switch whose cases go back to the loop's head: each costs fuel.
#[test]
fn switches_may_go_backwards() {
    let mut b = FunctionBuilder::new("state machine", 1, 1);
    let space = b.add_space("u", None);
    let (state, steps) = (b.declare_var(Type::I32), b.declare_var(Type::I32));
    let start = b.uniform_load(Type::I32, space, 0, 0);
    b.def_var(state, start);
    let (head, done) = (b.create_block(), b.create_block());
    b.jump(head);
    b.switch_to_block(head);
    let (at, count, one) = (b.use_var(state), b.use_var(steps), b.i32(1));
    let next = b.isub([at, one]);
    b.def_var(state, next);
    let count = b.iadd([count, one]);
    b.def_var(steps, count);
    b.switch(next, &[(0, done), (1, head), (2, head)], head);
    b.seal_block(head);
    b.seal_block(done);
    b.switch_to_block(done);
    let steps = b.use_var(steps);
    b.output(0, 0, steps);
    b.ret();
    let func = lockstep(b);
    for fuel in [0, 1, 2, 8, 9, 10] {
        check(&func, &[Case { uniforms: vec![vec![[10, 0, 0, 0]]], fuel, ..Case::new(vec![[0; 4]; 5]) }]);
    }
}

#[test]
fn inputs_of_later_blocks_are_fetched_in_the_first() {
    let mut b = FunctionBuilder::new("late input", 2, 1);
    let space = b.add_space("u", None);
    let (selector, zero) = (b.uniform_load(Type::I32, space, 0, 0), b.i32(0));
    let condition = b.ieq([selector, zero]);
    let early = b.input(Type::F32, 0, 3);
    let out = b.declare_var(Type::F32);
    b.def_var(out, early);
    let (late, join) = (b.create_block(), b.create_block());
    b.br_if(condition, late, join);
    b.seal_block(late);
    b.switch_to_block(late);
    let (x, w) = (b.input(Type::F32, 1, 0), b.input(Type::F32, 0, 1));
    let sum = b.fadd([x, w]);
    b.def_var(out, sum);
    b.jump(join);
    b.seal_block(join);
    b.switch_to_block(join);
    let (out, again) = (b.use_var(out), b.input(Type::I32, 1, 2));
    b.output(0, 0, out);
    b.output(0, 1, again);
    b.ret();
    let func = lockstep(b);
    let rows =
        |seed: u32| -> Rows { (0..10).map(|v| [1, 2, 3, 4].map(|c: u32| ((v * c + seed) as f32).to_bits())).collect() };
    let cases = [0, 1].map(|selector| Case {
        inputs: vec![rows(1), rows(100)],
        uniforms: vec![vec![[selector, 0, 0, 0]]],
        ..Case::new(rows(1))
    });
    check(&func, &cases);
}

#[test]
fn out_of_fuel_names_the_budget() {
    let func = counting();
    let codes = compile_all(&func);
    let case = Case { fuel: 3, ..Case::new(vec![[0, 9, 0, 0]; 4]) };
    assert_eq!(run_native(&codes[0], &func, &case), Err(CallError::OutOfFuel { fuel: 3 }));
}

/// A guard in a loop, of which the block that returns lies in front or behind.
#[test]
fn guards_of_any_block_are_looked_at_where_a_wave_ends() {
    for is_exit_first in [false, true] {
        let mut b = FunctionBuilder::new("guarded", 1, 1);
        let x = b.input(Type::F32, 0, 0);
        let (i, value) = (b.declare_var(Type::I32), b.declare_var(Type::F32));
        let zero = b.i32(0);
        b.def_var(i, zero);
        b.def_var(value, x);
        let (head, body, done) = (b.create_block(), b.create_block(), b.create_block());
        b.jump(head);
        b.switch_to_block(head);
        let (at, bound) = (b.use_var(i), b.i32(3));
        if is_exit_first {
            let ends = b.ule([bound, at]);
            b.br_if(ends, done, body);
        } else {
            let goes_on = b.ult([at, bound]);
            b.br_if(goes_on, body, done);
        }
        b.seal_block(body);
        b.seal_block(done);
        b.switch_to_block(body);
        let (before, one) = (b.use_var(value), b.i32(1));
        let sum = b.fadd([before, before]);
        b.emit(Op::GuardOrdered, Type::F32, &[sum], Imm::None);
        b.def_var(value, sum);
        let next = b.iadd([at, one]);
        b.def_var(i, next);
        b.jump(head);
        b.seal_block(head);
        b.switch_to_block(done);
        let value = b.use_var(value);
        b.output(0, 0, value);
        b.ret();
        let func = lockstep(b);
        let mut vertices: Rows = (0..40).map(|number| [(number as f32).to_bits(), 0, 0, 0]).collect();
        check(&func, &[Case::new(vertices.clone())]);
        vertices[21][0] = f32::NAN.to_bits();
        for code in compile_all(&func) {
            let vertex = 21 / code.lanes() * code.lanes();
            let failed = run_native(&code, &func, &Case::new(vertices.clone()));
            assert_eq!(failed, Err(CallError::GuardFailed { vertex }), "{is_exit_first}, {} lanes", code.lanes());
        }
    }
}
