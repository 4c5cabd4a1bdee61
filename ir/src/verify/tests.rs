use super::*;
use crate::function::{BlockCall, Imm, Operands, Terminator, ValueData, ValueDef};
use crate::parse::parse;
use crate::types::Type;

/// A function of `body`, with one space, one array of two elements of three components, two inputs and one output.
fn function(body: &str) -> Function {
    let head = r#"function "f" inputs 2 outputs 1 { space0 "cb0" array0 [2 x 3] block0:"#;
    parse(&format!("{head}\n{body}\n}}")).unwrap()
}

fn lockstep(body: &str) -> Function {
    Function { lockstep: true, ..function(body) }
}

/// A function in lockstep form with a buffer that it writes.
fn memory(body: &str) -> Function {
    let head = r#"function "f" inputs 0 outputs 0 lockstep { resource0 "u0" buffer block0:"#;
    parse(&format!("{head} {body} }}")).unwrap()
}

fn changed(body: &str, change: impl FnOnce(&mut Function)) -> Function {
    let mut func = function(body);
    assert_eq!(verify(&func), Ok(()));
    change(&mut func);
    func
}

/// A function of a row `v0` and `body`, with bytes, a cube and a sampler.
fn texture(body: &str) -> Function {
    let head = r#"function "f" inputs 0 outputs 0 { resource0 "t0" resource1 "t1" texturecube sampler0 "s0" block0:"#;
    let row = "v9 = const.f32 1.0 v0 = row_join.f32 v9, v9, v9, v9";
    parse(&format!("{head}\n{row}\n{body} return\n}}")).unwrap()
}

const CONST: &str = "v0 = const.i32 5 return";
const SUM: &str = "v0 = const.i32 5 v1 = iadd v0, v0 return";
const JUMP: &str = "v0 = const.i32 5 jump block1(v0) block1(v1: i32): return";

fn inst(number: u32) -> Inst {
    Inst::from_u32(number)
}

fn block(number: u32) -> Block {
    Block::from_u32(number)
}

fn value(number: u32) -> Value {
    Value::from_u32(number)
}

/// Functions that break exactly one rule each.
fn broken() -> Vec<(Rule, Function)> {
    let in_args = |func: &mut Function, arg| func.insts[inst(1)].args[0] = arg;
    vec![
        (Rule::Index, changed(CONST, |f| f.layout.push(block(9)))),
        (Rule::Index, changed(CONST, |f| f.blocks[block(0)].insts.push(inst(9)))),
        (Rule::Index, changed(CONST, |f| f.blocks[block(0)].params.push(value(9)))),
        (Rule::Index, changed(CONST, |f| f.insts[inst(0)].result = Some(value(9)))),
        (Rule::Index, changed(SUM, |f| in_args(f, value(9)))),
        (Rule::Index, changed(SUM, |f| in_args(f, Value::from_u32(u32::MAX - 1)))),
        (
            Rule::Index,
            changed(CONST, |f| {
                let call = BlockCall { block: block(9), args: vec![] };
                f.blocks[block(0)].terminator = Some(Terminator::Jump(call));
            }),
        ),
        (
            Rule::Index,
            changed(JUMP, |f| {
                let call = BlockCall { block: block(1), args: vec![value(9)] };
                f.blocks[block(0)].terminator = Some(Terminator::Jump(call));
            }),
        ),
        (Rule::Once, changed(JUMP, |f| f.layout.push(block(1)))),
        (Rule::Once, changed(CONST, |f| f.blocks[block(0)].insts.push(inst(0)))),
        (Rule::Entry, Function::new("empty")),
        (Rule::Entry, parse(r#"function "f" inputs 0 outputs 0 { block0(v0: i32): return }"#).unwrap()),
        (Rule::Entry, function("jump block0")),
        (Rule::Terminator, function("v0 = const.i32 5")),
        (Rule::Target, changed(JUMP, |f| f.layout.truncate(1))),
        (Rule::Array, parse(r#"function "f" inputs 0 outputs 0 { array0 [0 x 4] block0: return }"#).unwrap()),
        (Rule::Array, parse(r#"function "f" inputs 0 outputs 0 { array0 [1 x 5] block0: return }"#).unwrap()),
        (Rule::EdgeArguments, function("jump block1 block1(v0: i32): return")),
        (Rule::EdgeArguments, function("v0 = const.f32 1.0 jump block1(v0) block1(v1: i32): return")),
        (Rule::Selector, function("v0 = const.i32 1 br_if v0, block1, block1 block1: return")),
        (Rule::Selector, function("v0 = const.i1 true switch v0 { default: block1 } block1: return")),
        (
            Rule::Cases,
            function("v0 = const.i32 1 switch v0 { -1: block1, 0xffffffff: block1, default: block1 } block1: return"),
        ),
        (Rule::InstType, function("v0 = input.f64 0.0 return")),
        (Rule::InstType, function("v0 = input.f32 0.0 v1 = not.f32 v0 return")),
        (Rule::InstType, changed(SUM, |f| f.insts[inst(1)].ty = Type::F32)),
        (Rule::OperandCount, function("v0 = const.i32 5 v1 = iadd v0 return")),
        (Rule::OperandType, function("v0 = const.f32 1.0 v1 = not.i32 v0 return")),
        (Rule::OperandType, function("v0 = const.f32 1.0 v1 = popcnt v0 return")),
        (Rule::ImmediateKind, changed(SUM, |f| f.insts[inst(1)].imm = Imm::Bits(0))),
        (Rule::ImmediateKind, changed(CONST, |f| f.insts[inst(0)].imm = Imm::Element { element: 0, component: 0 })),
        (Rule::Immediate, changed(CONST, |f| f.insts[inst(0)].imm = Imm::Bits(1 << 32))),
        (Rule::Immediate, function("v0 = input.f32 2.0 return")),
        (Rule::Immediate, function("v0 = input.f32 1.4 return")),
        (Rule::Immediate, function("v0 = input.f32 1.0 output.f32 1.0, v0 return")),
        (Rule::Immediate, function("v0 = uniform_load.f32 space1[0].0 return")),
        (Rule::Immediate, function("v0 = uniform_load.f32 space0[0].4 return")),
        (Rule::Immediate, function("v0 = const.i32 0 v1 = array_load.f32 array1.0, v0 return")),
        (Rule::Immediate, function("v0 = const.i32 0 v1 = array_load.f32 array0.3, v0 return")),
        (Rule::Result, changed(CONST, |f| f.insts[inst(0)].result = None)),
        (Rule::Result, changed(CONST, |f| f.values[value(0)].ty = Type::F32)),
        (
            Rule::Result,
            changed("v0 = const.i32 5 output.i32 0.0, v0 return", |f| {
                let ty = Type::I32;
                let result = f.values.push(ValueData { ty, def: ValueDef::Inst(inst(1)) });
                f.insts[inst(1)].result = Some(result);
            }),
        ),
        (Rule::Definition, changed(CONST, |f| f.values[value(0)].def = ValueDef::Param(block(0)))),
        (
            Rule::Definition,
            changed("v0 = const.i32 5 v1 = const.i32 6 return", |f| f.insts[inst(1)].result = Some(value(0))),
        ),
        (Rule::Immediate, texture("v1 = texture_load resource2, v0")),
        (Rule::Immediate, texture("v1 = texture_load resource0, v0")),
        (Rule::Immediate, texture("v1 = texture_samples resource1")),
        (Rule::Immediate, texture("v1 = gather resource1.4, sampler0, v0")),
        (Rule::Immediate, texture("v1 = gather resource1.3, sampler1, v0")),
        (Rule::Immediate, texture("v1 = gather resource1.3 + [1, 0, 0], sampler0, v0")),
        (Rule::Immediate, texture("v1 = row_word.i32 4, v0")),
        (Rule::Immediate, texture("v1 = resource_bytes resource1")),
        (Rule::InstType, texture("v1 = const.i1 true v2 = select.row v1, v0, v0")),
        (Rule::RowInBlock, texture("jump block1 block1: v1 = row_word.f32 0, v0")),
        (Rule::RowInBlock, texture("jump block1(v0) block1(v1: row):")),
        (Rule::Dominance, function("v1 = iadd v0, v0 v0 = const.i32 1 return")),
        (Rule::Dominance, function("v0 = iadd v0, v0 return")),
        (
            Rule::Dominance,
            function(
                "v0 = const.i1 true br_if v0, block1, block2
                 block1: v1 = const.i32 1 jump block2
                 block2: v2 = popcnt v1 return",
            ),
        ),
        (Rule::Dominance, function("jump block2 block1: v0 = const.i32 1 jump block2 block2: v1 = popcnt v0 return")),
        (Rule::Dominance, changed(SUM, |f| f.blocks[block(0)].insts.retain(|&kept| kept == inst(1)))),
        (Rule::Dominance, function("jump block1(v0) block1(v0: i32): return")),
        (Rule::UniformBranch, lockstep("v0 = input.i32 0.0 switch v0 { 1: block1, default: block1 } block1: return")),
        (Rule::OpOfLockstep, function("v0 = const.i1 true v1 = any v0 return")),
        (Rule::OneReturn, lockstep("v0 = const.i1 true br_if v0, block1, block2 block1: return block2: return")),
        (Rule::ActiveWrites, memory("v0 = const.i32 1 memory_store.i32 resource0[0], v0, v0 return")),
        (Rule::OutputAtReturn, lockstep("v0 = const.i32 1 output.i32 0.0, v0 jump block1 block1: return")),
        (Rule::BackEndForm, function("return")),
        (Rule::BackEndForm, lockstep("v0 = input.i32 0.0 v1 = bitrev v0 output.i32 0.0, v1 return")),
        (Rule::BackEndForm, lockstep("v0 = input_word 0.0 output.i32 0.0, v0 return")),
    ]
}

#[test]
fn every_rule_has_a_function_that_breaks_only_it() {
    let broken = broken();
    for (rule, func) in &broken {
        let errors = Verified::new(func.clone()).map(drop).expect_err(rule.name());
        assert_eq!(verify(func).is_ok(), *rule == Rule::BackEndForm, "{rule}");
        assert!(errors.0.iter().all(|error| error.rule == *rule), "{rule}: {errors}");
    }
    // Phases are those of batch programs.
    for rule in Rule::ALL.iter().filter(|rule| **rule != Rule::Phase) {
        assert!(broken.iter().any(|(broken, _)| broken == rule), "nothing breaks {rule}");
    }
}

#[test]
fn what_the_entry_does_not_reach_may_use_any_definition() {
    let func = function("jump block2 block1: v0 = popcnt v1 jump block2 block2: v1 = const.i32 1 return");
    assert_eq!(verify(&func), Ok(()));
}

#[test]
fn lockstep_branches_on_what_all_lanes_agree_on() {
    let func = lockstep(
        "v0 = input.i32 0.0 v1 = uniform_load.i32 space0[0].0 v2 = ult v0, v1 v3 = any v2
         br_if v3, block1, block2 block1: jump block2 block2: output.i32 0.0, v0 return",
    );
    assert_eq!(verify(&func), Ok(()));
}

#[test]
fn errors_carry_the_printed_instruction_and_their_number_is_bounded() {
    let func = function("v0 = const.f32 1.0 v1 = iadd v0, v0 return");
    let line = "block0: v1 = iadd v0, v0: operand 0, v0 is f32, must be i32 (operand-type)";
    assert_eq!(verify(&func).unwrap_err().to_string().lines().next(), Some(line));
    let func = function(&format!("{} return", "output.i32 0.0 ".repeat(1000)));
    assert_eq!(verify(&func).unwrap_err().0.len(), VerifyErrors::MAX);
}

#[test]
fn an_instruction_with_operands_beyond_its_line_is_refused_before_they_are_looked_at() {
    let func = changed(SUM, |f| f.insts[inst(1)].args = Operands::new(&[value(0); 3]));
    assert_eq!(verify(&func).unwrap_err().0[0].rule, Rule::OperandCount);
}
