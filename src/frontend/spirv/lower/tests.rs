//! Modules that break a rule or ask for too much, word by word.

use spirv::{BuiltIn, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};

use super::{LowerOptions, lower, reflect};
use crate::error::LowerError;
use crate::frontend::spirv::{MAGIC, Module};

/// Ids that every module of these tests has.
const MAIN: u32 = 1;
const VOID: u32 = 2;
const FUNCTION_TYPE: u32 = 3;
const UINT: u32 = 4;
const BOOL: u32 = 5;
const ONE: u32 = 6;
const TRUE: u32 = 7;
/// The first id that is free.
const FREE: u32 = 20;

/// A module that is put together.
struct Words(Vec<u32>);

impl Words {
    /// A vertex shader up to the beginning of its functions.
    fn new() -> Words {
        Words::of(ExecutionModel::Vertex, &[], &[])
    }

    /// A shader of a stage up to the beginning of its functions, with execution modes and variables of its interface.
    fn of(model: ExecutionModel, modes: &[(ExecutionMode, &[u32])], variables: &[u32]) -> Words {
        let mut words = Words(vec![MAGIC, 0x0001_0300, 0, 1000, 0]);
        words.op(Op::Capability, &[1]).op(Op::MemoryModel, &[0, 1]);
        words.op(Op::EntryPoint, &[&[model as u32, MAIN, u32::from_le_bytes(*b"main"), 0], variables].concat());
        for (mode, operands) in modes {
            words.op(Op::ExecutionMode, &[&[MAIN, *mode as u32], *operands].concat());
        }
        words.op(Op::TypeVoid, &[VOID]).op(Op::TypeFunction, &[FUNCTION_TYPE, VOID]);
        words.op(Op::TypeInt, &[UINT, 32, 0]).op(Op::TypeBool, &[BOOL]);
        words.op(Op::Constant, &[UINT, ONE, 1]).op(Op::ConstantTrue, &[BOOL, TRUE]);
        words
    }

    fn op(&mut self, opcode: Op, operands: &[u32]) -> &mut Words {
        self.0.push((operands.len() as u32 + 1) << 16 | opcode as u32);
        self.0.extend(operands);
        self
    }

    /// Byte offset of what comes next.
    fn offset(&self) -> usize {
        4 * self.0.len()
    }

    /// Begins a function and its first block.
    fn function(&mut self, id: u32, label: u32) -> &mut Words {
        self.op(Op::Function, &[VOID, id, 0, FUNCTION_TYPE]).op(Op::Label, &[label])
    }

    /// Ends the block and the function.
    fn end(&mut self) -> &mut Words {
        self.op(Op::Return, &[]).op(Op::FunctionEnd, &[])
    }

    fn module(&self) -> Module {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        Module::decode(&bytes, 0).unwrap()
    }

    fn lower(&self) -> Result<(), LowerError> {
        lower(&self.module(), 0, &LowerOptions::default()).map(drop)
    }

    fn is_invalid(&self, what: &str) {
        match self.lower() {
            Err(LowerError::Invalid { what: found, .. }) => assert!(found.contains(what), "{found}"),
            other => panic!("{other:?} is not invalid for {what}"),
        }
    }
}

#[test]
fn the_least_module_lowers() {
    let mut words = Words::new();
    words.function(MAIN, FREE).end();
    assert_eq!(words.lower(), Ok(()));
    assert_eq!(reflect(&words.module(), 0).unwrap().name, "main");
}

#[test]
fn recursion_is_an_error() {
    let mut words = Words::new();
    words.function(MAIN, FREE).op(Op::FunctionCall, &[VOID, FREE + 1, FREE + 2]).end();
    words.function(FREE + 2, FREE + 3).op(Op::FunctionCall, &[VOID, FREE + 4, MAIN]).end();
    words.is_invalid("function %1 calls itself");
}

#[test]
fn calls_that_double_at_each_level_are_over_a_limit() {
    let mut words = Words::new();
    words.function(MAIN, FREE).op(Op::FunctionCall, &[VOID, FREE + 1, 100]).end();
    for level in 0..40 {
        let (id, free) = (100 + level, 200 + 10 * level);
        words.function(id, free);
        if level < 39 {
            words.op(Op::FunctionCall, &[VOID, free + 1, id + 1]).op(Op::FunctionCall, &[VOID, free + 2, id + 1]);
        }
        words.end();
    }
    assert!(matches!(words.lower(), Err(LowerError::Limit { .. })), "{:?}", words.lower());
}

#[test]
fn types_cannot_contain_themselves() {
    let mut words = Words::new();
    words.op(Op::TypeStruct, &[FREE, FREE]).function(MAIN, FREE + 1).end();
    words.is_invalid("%20 is no type");
}

#[test]
fn types_that_grow_by_each_level_have_no_values() {
    let mut words = Words::new();
    words.op(Op::TypeStruct, &[FREE, UINT, UINT]);
    for level in 0..40 {
        words.op(Op::TypeStruct, &[FREE + 1 + level, FREE + level, FREE + level]);
    }
    let (pointer, variable) = (FREE + 50, FREE + 51);
    words.op(Op::TypePointer, &[pointer, 7, FREE + 40]).function(MAIN, FREE + 52);
    words.op(Op::Variable, &[pointer, variable, 7]).end();
    assert!(matches!(words.lower(), Err(LowerError::Limit { .. })), "{:?}", words.lower());
    let mut deep = Words::new();
    for level in 0..100 {
        deep.op(Op::TypeStruct, &[FREE + level, if level == 0 { UINT } else { FREE + level - 1 }]);
    }
    deep.function(MAIN, 200).end();
    deep.is_invalid("nested too deep");
}

#[test]
fn values_are_used_where_they_have_been_computed() {
    let (left, right, join, sum) = (FREE, FREE + 1, FREE + 2, FREE + 3);
    let mut words = Words::new();
    words.function(MAIN, FREE + 9).op(Op::BranchConditional, &[TRUE, left, right]);
    words.op(Op::Label, &[left]).op(Op::IAdd, &[UINT, sum, ONE, ONE]).op(Op::Branch, &[join]);
    words.op(Op::Label, &[right]).op(Op::Branch, &[join]);
    words.op(Op::Label, &[join]).op(Op::IAdd, &[UINT, FREE + 4, sum, ONE]).end();
    words.is_invalid("%23 is used where it may not have been computed");
    let mut undefined = Words::new();
    undefined.function(MAIN, FREE).op(Op::IAdd, &[UINT, FREE + 1, 999, ONE]).end();
    undefined.is_invalid("%999 is not defined");
}

#[test]
fn graphs_that_have_no_end_are_graphs() {
    let mut words = Words::new();
    words.function(MAIN, FREE).op(Op::Branch, &[FREE + 1]).op(Op::Label, &[FREE + 1]).op(Op::Branch, &[FREE + 1]);
    words.op(Op::FunctionEnd, &[]);
    assert_eq!(words.lower(), Ok(()));
    let mut back = Words::new();
    back.function(MAIN, FREE).op(Op::Branch, &[FREE]).op(Op::FunctionEnd, &[]);
    back.is_invalid("goes to the first block");
    let mut open = Words::new();
    open.function(MAIN, FREE).op(Op::IAdd, &[UINT, FREE + 1, ONE, ONE]).op(Op::FunctionEnd, &[]);
    open.is_invalid("is in a block that does not end");
}

#[test]
fn what_does_not_run_is_refused_by_name() {
    let mut words = Words::new();
    words.function(MAIN, FREE);
    let offset = words.offset();
    words.op(Op::EmitVertex, &[]).end();
    assert_eq!(words.lower(), Err(LowerError::Unsupported { what: "OpEmitVertex".to_string(), offset }));
}

#[test]
fn operands_are_of_their_opcode() {
    for operands in [&[UINT, FREE][..], &[UINT, FREE, ONE], &[UINT, FREE, TRUE, TRUE], &[BOOL, FREE, ONE, ONE]] {
        let mut words = Words::new();
        words.function(MAIN, FREE + 1).op(Op::IAdd, operands).end();
        assert!(matches!(words.lower(), Err(LowerError::Invalid { .. })), "{operands:?}: {:?}", words.lower());
    }
}

#[test]
fn constants_of_operations_are_what_they_compute() {
    let (sum, array) = (FREE, FREE + 1);
    let mut words = Words::new();
    // The length of an array is 1 + 1.
    words.op(Op::SpecConstantOp, &[UINT, sum, Op::IAdd as u32, ONE, ONE]).op(Op::TypeArray, &[array, UINT, sum]);
    words.op(Op::ConstantComposite, &[array, FREE + 2, ONE, ONE]).function(MAIN, FREE + 3).end();
    assert_eq!(words.lower(), Ok(()));
    let mut three = Words::new();
    three.op(Op::SpecConstantOp, &[UINT, sum, Op::IAdd as u32, ONE, ONE]).op(Op::TypeArray, &[array, UINT, sum]);
    three.op(Op::ConstantComposite, &[array, FREE + 2, ONE, ONE, ONE]).function(MAIN, FREE + 3).end();
    three.is_invalid("OpConstantComposite");
}

/// A tessellation control shader of two control points.
fn control() -> Words {
    Words::of(ExecutionModel::TessellationControl, &[(ExecutionMode::OutputVertices, &[2])], &[])
}

/// Operands of a barrier of the whole patch: the constant 2.
const TWO: u32 = FREE + 30;
const BARRIER: [u32; 3] = [TWO, TWO, TWO];

#[test]
fn every_invocation_of_a_patch_comes_to_a_barrier_once() {
    let mut words = control();
    words.op(Op::Constant, &[UINT, TWO, 2]).function(MAIN, FREE).op(Op::ControlBarrier, &BARRIER).end();
    assert_eq!(words.lower(), Ok(()));
    let mut skipped = control();
    skipped.op(Op::Constant, &[UINT, TWO, 2]).function(MAIN, FREE);
    skipped.op(Op::BranchConditional, &[TRUE, FREE + 1, FREE + 2]).op(Op::Label, &[FREE + 1]);
    skipped.op(Op::ControlBarrier, &BARRIER).op(Op::Branch, &[FREE + 2]).op(Op::Label, &[FREE + 2]).end();
    let mut repeated = control();
    repeated.op(Op::Constant, &[UINT, TWO, 2]).function(MAIN, FREE).op(Op::Branch, &[FREE + 1]);
    repeated.op(Op::Label, &[FREE + 1]);
    repeated.op(Op::ControlBarrier, &BARRIER).op(Op::BranchConditional, &[TRUE, FREE + 1, FREE + 2]);
    repeated.op(Op::Label, &[FREE + 2]).end();
    let mut called = control();
    called.op(Op::Constant, &[UINT, TWO, 2]).function(MAIN, FREE);
    called.op(Op::FunctionCall, &[VOID, FREE + 1, FREE + 2]).end();
    called.function(FREE + 2, FREE + 3).op(Op::ControlBarrier, &BARRIER).end();
    for words in [skipped, repeated, called] {
        match words.lower() {
            Err(LowerError::Unsupported { what, .. }) => assert!(what.starts_with("OpControlBarrier"), "{what}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn stages_between_vertices_and_pixels_declare_what_they_make() {
    let lowered = |model, modes: &[(ExecutionMode, &[u32])]| {
        let mut words = Words::of(model, modes, &[]);
        words.function(MAIN, FREE).end();
        words.lower()
    };
    let invalid = |result: Result<(), LowerError>, rule: &str| match result {
        Err(LowerError::Invalid { what, .. }) => assert!(what.contains(rule), "{what}"),
        other => panic!("{other:?} is not invalid for {rule}"),
    };
    use ExecutionMode::{InputPoints, Invocations, OutputPoints, OutputVertices};
    let control = ExecutionModel::TessellationControl;
    invalid(lowered(control, &[]), "number of control points");
    invalid(lowered(control, &[(OutputVertices, &[33])]), "33 control points");
    let geometry = ExecutionModel::Geometry;
    invalid(lowered(geometry, &[(OutputPoints, &[]), (OutputVertices, &[1])]), "input primitive");
    invalid(lowered(geometry, &[(InputPoints, &[]), (OutputPoints, &[])]), "number of vertices");
    invalid(lowered(geometry, &[(InputPoints, &[]), (OutputVertices, &[1])]), "what is emitted");
    let whole: [(ExecutionMode, &[u32]); 3] = [(InputPoints, &[]), (OutputPoints, &[]), (OutputVertices, &[4])];
    assert_eq!(lowered(geometry, &whole), Ok(()));
    for (mode, count) in [(OutputVertices, 1025), (Invocations, 33)] {
        let modes = [whole[0], whole[1], (mode, &[count][..]), whole[2]];
        assert!(matches!(lowered(geometry, &modes), Err(LowerError::Limit { .. })), "{mode:?} {count}");
    }
    assert_eq!(lowered(ExecutionModel::TessellationEvaluation, &[]), Ok(()));
}

#[test]
fn streams_are_constants_below_four() {
    let modes: [(ExecutionMode, &[u32]); 3] =
        [(ExecutionMode::InputPoints, &[]), (ExecutionMode::OutputPoints, &[]), (ExecutionMode::OutputVertices, &[4])];
    let emits = |stream: u32| {
        let mut words = Words::of(ExecutionModel::Geometry, &modes, &[]);
        words.op(Op::Constant, &[UINT, FREE, stream]).function(MAIN, FREE + 1);
        words.op(Op::EmitStreamVertex, &[FREE]).op(Op::EndStreamPrimitive, &[FREE]).end();
        words
    };
    assert_eq!(emits(3).lower(), Ok(()));
    emits(4).is_invalid("OpEmitStreamVertex");
}

#[test]
fn members_that_nobody_names_are_no_elements() {
    let (float, vector, block, array, pointer, variable, part) =
        (FREE, FREE + 1, FREE + 2, FREE + 3, FREE + 4, FREE + 5, FREE + 6);
    let modes: [(ExecutionMode, &[u32]); 3] =
        [(ExecutionMode::InputPoints, &[]), (ExecutionMode::OutputPoints, &[]), (ExecutionMode::OutputVertices, &[1])];
    let mut words = Words::of(ExecutionModel::Geometry, &modes, &[variable]);
    for (member, built_in) in [(0, BuiltIn::Position), (1, BuiltIn::PointSize)] {
        words.op(Op::MemberDecorate, &[block, member, Decoration::BuiltIn as u32, built_in as u32]);
    }
    words.op(Op::TypeFloat, &[float, 32]).op(Op::TypeVector, &[vector, float, 4]);
    words.op(Op::TypeStruct, &[block, vector, float]).op(Op::TypeArray, &[array, block, ONE]);
    words.op(Op::TypePointer, &[pointer, StorageClass::Input as u32, array]);
    words.op(Op::TypePointer, &[part, StorageClass::Input as u32, float]);
    words.op(Op::Constant, &[UINT, FREE + 7, 0]).op(Op::Variable, &[pointer, variable, StorageClass::Input as u32]);
    words.function(MAIN, FREE + 8).op(Op::AccessChain, &[part, FREE + 9, variable, FREE + 7, ONE]);
    words.op(Op::Load, &[float, FREE + 10, FREE + 9]).end();
    let lowered = lower(&words.module(), 0, &LowerOptions::default()).unwrap();
    let names: Vec<&str> = lowered.interface.inputs.iter().map(|element| element.semantic.as_str()).collect();
    assert_eq!(names, ["PSIZE", "SV_PrimitiveID", "SV_GSInstanceID"]);
}

#[test]
fn modes_of_floats_are_kept_or_refused() {
    use ExecutionMode::{
        DenormFlushToZero, DenormPreserve, RoundingModeRTE, RoundingModeRTZ, SignedZeroInfNanPreserve,
    };
    for (mode, width, is_kept) in [
        (DenormPreserve, 16, true),
        (DenormPreserve, 32, false),
        (DenormPreserve, 64, true),
        (DenormFlushToZero, 16, false),
        (DenormFlushToZero, 32, true),
        (DenormFlushToZero, 64, false),
        (RoundingModeRTE, 32, true),
        (RoundingModeRTZ, 16, false),
        (SignedZeroInfNanPreserve, 32, true),
    ] {
        let mut words = Words::of(ExecutionModel::Vertex, &[(mode, &[width])], &[]);
        words.function(MAIN, FREE).end();
        match words.lower() {
            Ok(()) => assert!(is_kept, "{mode:?} {width}"),
            Err(LowerError::Unsupported { what, offset }) => {
                assert!(!is_kept && what == format!("{mode:?} of {width} bits") && offset > 20, "{what} at {offset}");
            }
            other => panic!("{other:?}"),
        }
    }
}
