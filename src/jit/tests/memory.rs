//! Uniform spaces and register arrays, in range and out of it.

use super::{Case, Rows, check, compile, lockstep};
use crate::error::JitError;
use crate::jit::{CodegenOptions, Layout, Target, limits};
use crate::vertex_format::VertexFormat;
use shaderjit_ir::bounds::STATIC_ROWS;
use shaderjit_ir::{FunctionBuilder, Op, Space, Type, Value};

/// Indices in range, at the end, past it, and wrapping.
const INDICES: [u32; 14] = [0, 1, 2, 3, 4, 5, 6, 7, 100, 4096, 0x1000_0000, 0x7fff_ffff, 0xffff_fffe, 0xffff_ffff];

fn index_rows() -> Rows {
    INDICES.iter().chain(INDICES.iter().rev()).map(|&index| [index, index ^ 1, index & 3, 0]).collect()
}

fn some_rows(count: u32) -> Rows {
    (0..count).map(|row| [1, 2, 3, 4].map(|component| row * 16 + component)).collect()
}

fn index(b: &mut FunctionBuilder, space: Option<Space>, component: u8) -> Value {
    match space {
        Some(space) => b.uniform_load(Type::I32, space, 0, component),
        None => b.input(Type::I32, 0, component),
    }
}

#[test]
fn uniform_rows_are_zero_past_the_bound_ones() {
    for uniform in [false, true] {
        for base in [0, 2, 5, 7, 8, 15, u32::MAX - 8, u32::MAX] {
            let mut b = FunctionBuilder::new(format!("rows {base}"), 1, 3);
            let (indices, space) = (b.add_space("i", None), b.add_space("c", None));
            let at = index(&mut b, uniform.then_some(indices), 0);
            for component in 0..4 {
                let ty = if component % 2 == 0 { Type::I32 } else { Type::F32 };
                let value = b.uniform_load_at(ty, space, base, component, at);
                b.output(0, component, value);
                let fixed = b.uniform_load(ty, space, base, component);
                b.output(1, component, fixed);
                // In the same window as the row above, or in the one after it.
                let next = b.uniform_load_at(ty, space, base.wrapping_add(component.into()), component, at);
                b.output(2, component, next);
            }
            b.ret();
            let func = lockstep(b);
            let mut cases = Vec::new();
            for bound in [0, 1, 4, 6, 7, 9, 17] {
                let rows = if uniform { vec![[0; 4]; 5] } else { index_rows() };
                for &value in if uniform { &INDICES[..] } else { &[0] } {
                    let uniforms = vec![vec![[value, 0, 0, 0]], some_rows(bound)];
                    cases.push(Case { uniforms, ..Case::new(rows.clone()) });
                }
            }
            check(&func, &cases);
        }
    }
}

/// An index that `and` bounds is not checked: the code has all the rows it can reach, whatever is bound.
#[test]
fn bounded_indices_need_no_check() {
    for uniform in [false, true] {
        for (base, mask) in [(0, 7), (3, 15), (90, 127), (STATIC_ROWS - 8, 7), (STATIC_ROWS - 7, 7)] {
            let mut b = FunctionBuilder::new(format!("rows {base} {mask}"), 1, 1);
            let (indices, space) = (b.add_space("i", None), b.add_space("c", None));
            let (at, mask) = (index(&mut b, uniform.then_some(indices), 0), b.i32(mask));
            let at = b.and([at, mask]);
            for component in 0..4 {
                let value = b.uniform_load_at(Type::I32, space, base, component, at);
                b.output(0, component, value);
            }
            b.ret();
            let func = lockstep(b);
            let rows = if uniform { vec![[0; 4]; 5] } else { index_rows() };
            let values = if uniform { &INDICES[..] } else { &[0] };
            let case = |value, bound| Case {
                uniforms: vec![vec![[value, 0, 0, 0]], some_rows(bound)],
                ..Case::new(rows.clone())
            };
            let cases: Vec<Case> =
                values.iter().flat_map(|&value| [0, 5, 100, 4093].map(|bound| case(value, bound))).collect();
            check(&func, &cases);
        }
    }
}

#[test]
fn tables_are_part_of_the_code() {
    let mut b = FunctionBuilder::new("table", 1, 1);
    let table = b.add_space("icb", Some(some_rows(3)));
    let at = b.input(Type::I32, 0, 0);
    let value = b.uniform_load_at(Type::I32, table, 0, 1, at);
    b.output(0, 0, value);
    let fixed = [b.uniform_load(Type::I32, table, 2, 3), b.uniform_load(Type::I32, table, 3, 3)];
    b.output(0, 1, fixed[0]);
    b.output(0, 2, fixed[1]);
    b.ret();
    check(&lockstep(b), &[Case::new(index_rows())]);
}

/// Stores and loads at indices that differ among lanes or not, under masks that do or do not.
#[test]
fn arrays_read_zero_and_drop_writes_out_of_range() {
    for (elements, components) in [(1, 1), (4, 2), (6, 3), (50, 4)] {
        for uniform in 0..8u8 {
            let from = |bit: u8, space| (uniform >> bit & 1 != 0).then_some(space);
            let mut b = FunctionBuilder::new(format!("array {elements}x{components} {uniform:03b}"), 1, 2);
            let space = b.add_space("i", None);
            // Two arrays, so that neither may touch the other.
            let (array, other) = (b.add_array(elements, components), b.add_array(3, 1));
            let (marker, two) = (b.i32(0x5555), b.i32(2));
            b.array_store(other, 0, two, marker);
            let (store, load) = (index(&mut b, from(0, space), 0), index(&mut b, from(1, space), 1));
            let value = b.input(Type::I32, 0, 1);
            let mask = {
                let (word, one) = (index(&mut b, from(2, space), 2), b.i32(1));
                b.ule([word, one])
            };
            let float = b.input(Type::F32, 0, 0);
            b.array_store(array, 0, store, value);
            b.array_store_masked(array, components - 1, store, float, mask);
            b.array_store_masked(array, 0, load, store, mask);
            for component in 0..components {
                let loaded = b.array_load(Type::I32, array, component, load);
                b.output(0, component, loaded);
            }
            let (back, fixed, one) = (b.array_load(Type::F32, array, 0, store), b.i32(elements), b.i32(1));
            b.output(1, 0, back);
            let past = b.array_load(Type::I32, array, 0, fixed);
            b.output(1, 1, past);
            let [kept, untouched] = [two, one].map(|at| b.array_load(Type::I32, other, 0, at));
            b.output(1, 2, kept);
            b.output(1, 3, untouched);
            b.ret();
            let func = lockstep(b);
            let rows = index_rows();
            let uniforms = if uniform == 0 { &rows[..1] } else { &rows[..INDICES.len()] };
            let cases: Vec<Case> =
                uniforms.iter().map(|&row| Case { uniforms: vec![vec![row]], ..Case::new(rows.clone()) }).collect();
            check(&func, &cases);
        }
    }
}

#[test]
fn arrays_are_zero_again_in_the_next_group_and_call() {
    let mut b = FunctionBuilder::new("fresh", 1, 1);
    let array = b.add_array(20, 2);
    let (at, value) = (b.input(Type::I32, 0, 0), b.input(Type::I32, 0, 1));
    let before = b.array_load(Type::I32, array, 1, at);
    b.array_store(array, 1, at, value);
    b.output(0, 0, before);
    b.ret();
    let rows: Rows = vec![[3, 77, 0, 0]; 40];
    check(&lockstep(b), &[Case::new(rows.clone()), Case::new(rows)]);
}

#[test]
fn huge_arrays_and_functions_are_refused() {
    let layout = Layout { inputs: vec![VertexFormat::U32x1].into(), outputs: vec![1].into() };
    let compile = |b: FunctionBuilder| {
        compile(&lockstep(b), &layout, &Target::host().unwrap(), &CodegenOptions::default()).map(|_| ())
    };
    let mut b = FunctionBuilder::new("huge array", 1, 1);
    b.add_array(u32::MAX, 4);
    b.ret();
    assert!(matches!(compile(b), Err(JitError::Limit { .. })));
    // Too many ops, and ops that become too many instructions.
    for (op, count) in [(Op::Not, limits::FUNCTION_SIZE), (Op::Urem, limits::EMITTED_INSTS / 20)] {
        let mut b = FunctionBuilder::new("huge function", 1, 1);
        let mut value = b.input(Type::I32, 0, 0);
        for _ in 0..count {
            value = b.op(op, &[value, value][..op.operands().len()]);
        }
        b.output(0, 0, value);
        b.ret();
        assert!(matches!(compile(b), Err(JitError::Limit { .. })), "{op}");
    }
}
