//! Every op of the table, with operands that differ among lanes and operands that do not.

use super::{Case, EDGES, Rows, check, check_case, compile, compile_all, lockstep};
use crate::error::JitError;
use crate::jit::{CodegenOptions, Layout, Target};
use shaderjit_ir::op::{Attribute, Effect, ImmKind, TypeRule};
use shaderjit_ir::{FunctionBuilder, Op, Space, Type, Value};
use std::collections::BTreeMap;

/// A value of a type from component `at` of the input, or of the uniform row.
fn operand(b: &mut FunctionBuilder, ty: Type, at: u8, space: Option<Space>) -> Value {
    let word = |b: &mut FunctionBuilder, ty| match space {
        Some(space) => b.uniform_load(ty, space, 0, at),
        None => b.input(ty, 0, at),
    };
    match ty {
        Type::F32 | Type::I32 => word(b, ty),
        Type::I1 => {
            let (word, one) = (word(b, Type::I32), b.i32(1));
            let bit = b.and([word, one]);
            b.ine([bit, one])
        }
        Type::F64 => {
            // Edges of words as high words give denormals, NaNs and much between.
            let word = word(b, Type::I32);
            b.f64join([word, word])
        }
        other => panic!("no operand of {other}"),
    }
}

/// Puts a value of any type out as an element of its own.
fn put(b: &mut FunctionBuilder, element: u32, value: Value) {
    match b.ty(value) {
        Type::F64 => {
            let (low, high) = (b.f64lo([value]), b.f64hi([value]));
            b.output(element, 0, low);
            b.output(element, 1, high);
        }
        Type::I1 => {
            // As a condition of floats, as one of integers, as an operand.
            let (one, two) = (b.f32(1.0), b.f32(2.0));
            let float = b.select([value, one, two]);
            b.output(element, 0, float);
            let (one, two) = (b.i32(1), b.i32(2));
            let word = b.select([value, one, two]);
            b.output(element, 1, word);
            let any = b.any([value]);
            let both = b.xor([any, value]);
            let word = b.select([both, one, two]);
            b.output(element, 2, word);
        }
        _ => b.output(element, 0, value),
    }
}

/// Operand combinations: all pairs of edges, and fewer triples.
fn rows(operands: usize) -> Rows {
    match operands {
        1 => EDGES.iter().map(|&a| [a, 0, 0, 0]).collect(),
        2 => EDGES.iter().flat_map(|&a| EDGES.map(|b| [a, b, 0, 0])).collect(),
        _ => {
            let some: Vec<u32> = EDGES.iter().copied().step_by(3).collect();
            let pairs = some.iter().flat_map(|&a| some.iter().map(move |&b| (a, b)));
            pairs.flat_map(|(a, b)| some.iter().map(move |&c| [a, b, c, 0])).collect()
        }
    }
}

/// Checks all ops with these operands in one function, an output element each.
fn check_ops(types: &[Type], ops: &[Op]) {
    for uniform in 0..1u32 << types.len() {
        let mut b = FunctionBuilder::new(format!("{ops:?} uniform {uniform:03b}"), 1, ops.len() as u32);
        let space = b.add_space("u", None);
        let args: Vec<Value> = (0u8..)
            .zip(types)
            .map(|(at, &ty)| operand(&mut b, ty, at, (uniform >> at & 1 != 0).then_some(space)))
            .collect();
        for (element, &op) in (0..).zip(ops) {
            let result = b.op(op, &args);
            put(&mut b, element, result);
        }
        b.ret();
        let func = lockstep(b);
        let codes = compile_all(&func);
        // One run for each value of the uniform operands, the others all together.
        let key = |row: &[u32; 4]| (0..types.len()).filter(|at| uniform >> at & 1 != 0).map(|at| row[at]).collect();
        let mut by_uniform: BTreeMap<Vec<u32>, Rows> = BTreeMap::new();
        for row in rows(types.len()) {
            by_uniform.entry(key(&row)).or_default().push(row);
        }
        // Where all operands are uniform, a few of their values do, and a few vertices.
        let step = if uniform + 1 == 1 << types.len() { types.len().pow(2) } else { 1 };
        for mut rows in by_uniform.into_values().step_by(step) {
            rows.resize(rows.len().max(5), rows[0]);
            check_case(&func, &codes, &Case { uniforms: vec![vec![rows[0]]], ..Case::new(rows) });
        }
    }
}

#[test]
fn every_op_does_what_the_interpreter_does() {
    let mut by_operands: BTreeMap<Vec<Type>, Vec<Op>> = BTreeMap::new();
    for &op in Op::ALL {
        let plain = op.attribute() != Attribute::Composite
            && !op.is_of_machines()
            && op.imm() == ImmKind::None
            && op.effect() == Effect::Pure;
        // Rows are with the textures that use them.
        let plain = plain && op.result() != TypeRule::Row && !op.operands().contains(&TypeRule::Row);
        if !plain || op == Op::Fma && !Target::host().unwrap().has_fma() {
            continue;
        }
        let set = op.operands().iter().find(|rule| rule.is_set());
        for ty in Type::ALL {
            // By rows they are in batch programs.
            if set.map_or(ty == Type::I32, |rule: &TypeRule| rule.allows(ty) && ty != Type::Row) {
                let types = op.operands().iter().map(|rule| rule.fixed().unwrap_or(ty)).collect();
                by_operands.entry(types).or_default().push(op);
            }
        }
    }
    for (types, ops) in by_operands {
        // `fma` apart: not all targets have it.
        let (fma, others): (Vec<Op>, Vec<Op>) = ops.into_iter().partition(|&op| op == Op::Fma);
        for ops in [fma, others].iter().filter(|ops| !ops.is_empty()) {
            check_ops(&types, ops);
        }
    }
}

/// Doubles of any two words, in runs of arithmetic that floats interrupt: each kind of numbers has its own way with
/// denormals, and only what is seen of a NaN has bits.
#[test]
fn doubles_keep_denormals_among_floats_that_do_not() {
    let mut b = FunctionBuilder::new("doubles", 1, 9);
    let [low, high] = [0, 1].map(|component| b.input(Type::I32, 0, component));
    let float = b.input(Type::F32, 0, 0);
    let (x, third) = (b.f64join([low, high]), b.constant(Type::F64, (1.0f64 / 3.0).to_bits()));
    let tiny = b.constant(Type::F64, 3);
    let unseen = b.dmul([x, third]);
    let sum = b.dadd([tiny, unseen]);
    let flushed = b.fadd([float, float]);
    let wide = b.ftod([flushed]);
    let fused = b.dfma([sum, third, wide]);
    let least = b.dmin([fused, sum]);
    let most = b.dmax([sum, third]);
    let quotient = b.ddiv([least, most]);
    let narrow = b.dtof([quotient]);
    let squared = b.fmul([narrow, narrow]);
    let is_less = b.dlt([quotient, tiny]);
    let chosen = b.select([is_less, sum, x]);
    let [signed, unsigned] = [b.dtoi([chosen]), b.dtou([sum])];
    let [from_signed, from_unsigned] = [b.itod([signed]), b.utod([unsigned])];
    let results = [sum, quotient, narrow, squared, is_less, chosen, signed, from_signed, from_unsigned];
    for (element, result) in (0..).zip(results) {
        put(&mut b, element, result);
    }
    b.ret();
    let func = lockstep(b);
    check(&func, &[Case::new(rows(2))]);
}

#[test]
fn constants_of_every_type_meet_lanes_and_uniforms() {
    for uniform in [false, true] {
        let mut b = FunctionBuilder::new("constants", 1, 1);
        let space = b.add_space("u", None);
        let from = uniform.then_some(space);
        let x = operand(&mut b, Type::F32, 0, from);
        let (tiny, integer) = (b.constant(Type::F32, 0x0000_0001), b.i32(0x8000_0007));
        let y = operand(&mut b, Type::I32, 1, from);
        let bit = operand(&mut b, Type::I1, 2, from);
        let (yes, no) = (b.i1(true), b.i1(false));
        // Bits of a denormal literal survive a select.
        let selected = b.select([bit, tiny, x]);
        b.output(0, 0, selected);
        let sum = b.iadd([y, integer]);
        b.output(0, 1, sum);
        let flipped = b.xor([bit, yes]);
        let kept = b.or([flipped, no]);
        let (double, other) = (b.constant(Type::F64, 0x1234_5678_9abc_def0), operand(&mut b, Type::F64, 1, from));
        let double = b.select([kept, double, other]);
        let (low, high) = (b.f64lo([double]), b.f64hi([double]));
        b.output(0, 2, low);
        b.output(0, 3, high);
        b.ret();
        let rows: Rows = EDGES.iter().map(|&a| [a, a ^ 5, a >> 1, 0]).collect();
        let cases: Vec<Case> =
            rows.iter().map(|&row| Case { uniforms: vec![vec![row]], ..Case::new(rows[..9].to_vec()) }).collect();
        check(&lockstep(b), &cases);
    }
}

#[test]
fn any_looks_at_the_lanes_of_a_group() {
    let mut b = FunctionBuilder::new("any", 1, 1);
    let (x, zero) = (b.input(Type::I32, 0, 0), b.i32(0));
    let set = b.ine([x, zero]);
    let any = b.any([set]);
    let (one, two) = (b.i32(1), b.i32(2));
    let out = b.select([any, one, two]);
    b.output(0, 0, out);
    b.ret();
    let rows: Rows = (0..32).map(|vertex| [u32::from(vertex == 6 || vertex == 19), 0, 0, 0]).collect();
    check(&lockstep(b), &[Case::new(rows)]);
}

#[test]
fn vertices_and_instances_are_numbered() {
    let mut b = FunctionBuilder::new("sysvals", 1, 1);
    let (vertex, instance) = (b.sysval(shaderjit_ir::SysVal::VertexId), b.sysval(shaderjit_ir::SysVal::InstanceId));
    b.output(0, 0, vertex);
    b.output(0, 1, instance);
    let product = b.imul([vertex, instance]);
    b.output(0, 2, product);
    b.ret();
    let func = lockstep(b);
    let case = Case { first_vertex: u32::MAX - 5, instance: 7, ..Case::new(vec![[0; 4]; 19]) };
    check(&func, &[case]);
}

#[test]
fn a_fused_product_is_an_error_on_a_machine_without_it() {
    let layout = Layout { inputs: vec![crate::vertex_format::VertexFormat::F32x1].into(), outputs: vec![1].into() };
    let mut b = FunctionBuilder::new("fma", 1, 1);
    let x = b.input(Type::F32, 0, 0);
    let value = b.fma([x, x, x]);
    b.output(0, 0, value);
    b.ret();
    let func = lockstep(b);
    for target in [Target::host().unwrap(), Target::baseline().unwrap()] {
        let outcome = compile(&func, &layout, &target, &CodegenOptions::default()).map(drop);
        assert_eq!(outcome.is_ok(), target.has_fma());
        assert!(matches!(outcome, Ok(()) | Err(JitError::Codegen(_))));
    }
}
