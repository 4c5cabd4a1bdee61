//! The opcode table: one line an opcode that runs, with what it is to the lowering. Numbers, names and operands come
//! from the `spirv` crate and `rspirv`'s grammar, which Khronos's tables are the source of.
//!
//! An opcode without a line is read and printed, and refused by name where it would have to run.

use spirv::{GlslStd450Op, Op};

/// What an opcode is to the lowering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// For people and debuggers.
    Debug,
    /// Says something of the module or of an id.
    Declaration,
    /// Makes a type.
    Type,
    /// Makes a constant.
    Constant,
    /// Part of a function's frame.
    Function,
    /// Variables, pointers, loads and stores.
    Memory,
    /// Takes composites apart or puts them together.
    Composite,
    /// Computes each component from the components of its operands.
    Each,
    /// Computes with whole vectors and matrices.
    Matrix,
    /// An instruction of an extended set.
    Extended,
    /// Blocks and branches.
    Flow,
    /// Reads a texture or what is to be known of it.
    Image,
    /// Reads, changes and writes memory at once.
    Atomic,
    /// Waits for other invocations.
    Barrier,
    /// Subtracts the values of neighbouring pixels.
    Derivative,
    /// Exchanges values among the invocations of a subgroup.
    Subgroup,
    /// Appends a vertex to what a geometry shader makes, or ends a strip.
    Emission,
}

impl Class {
    /// Every class, in the order of the support matrix.
    pub const ALL: [Class; 17] = [
        Class::Debug,
        Class::Declaration,
        Class::Type,
        Class::Constant,
        Class::Function,
        Class::Flow,
        Class::Memory,
        Class::Composite,
        Class::Each,
        Class::Matrix,
        Class::Extended,
        Class::Derivative,
        Class::Image,
        Class::Atomic,
        Class::Barrier,
        Class::Subgroup,
        Class::Emission,
    ];

    /// Its name in the support matrix.
    pub fn name(self) -> &'static str {
        match self {
            Class::Debug => "debug",
            Class::Declaration => "declaration",
            Class::Type => "type",
            Class::Constant => "constant",
            Class::Function => "function",
            Class::Memory => "memory",
            Class::Composite => "composite",
            Class::Each => "arithmetic",
            Class::Matrix => "matrix",
            Class::Extended => "extended",
            Class::Flow => "control flow",
            Class::Image => "image",
            Class::Atomic => "atomic",
            Class::Barrier => "barrier",
            Class::Derivative => "derivative",
            Class::Subgroup => "subgroup",
            Class::Emission => "emission",
        }
    }
}

macro_rules! define_classes {
    ($( $class:ident: $($opcode:ident)*; )*) => {
        /// Every opcode that runs, by class.
        pub const RUNS: &[Op] = &[$( $( Op::$opcode, )* )*];

        /// What an opcode is; none if it does not run.
        pub fn class(opcode: Op) -> Option<Class> {
            Some(match opcode {
                $( $( Op::$opcode => Class::$class, )* )*
                _ => return None,
            })
        }
    };
}

define_classes! {
    Debug: Nop SourceContinued Source SourceExtension Name MemberName String Line NoLine ModuleProcessed;
    Declaration: Extension ExtInstImport MemoryModel EntryPoint ExecutionMode ExecutionModeId Capability
        Decorate MemberDecorate DecorationGroup DecorateString MemberDecorateString;
    Type: TypeVoid TypeBool TypeInt TypeFloat TypeVector TypeMatrix TypeImage TypeSampler TypeSampledImage TypeArray
        TypeRuntimeArray TypeStruct TypePointer TypeFunction;
    Constant: Undef ConstantTrue ConstantFalse Constant ConstantComposite ConstantNull
        SpecConstantTrue SpecConstantFalse SpecConstant SpecConstantComposite SpecConstantOp;
    Function: Function FunctionParameter FunctionEnd FunctionCall;
    Memory: Variable Load Store CopyMemory AccessChain InBoundsAccessChain ArrayLength ImageTexelPointer;
    Composite: VectorExtractDynamic VectorInsertDynamic VectorShuffle CompositeConstruct CompositeExtract
        CompositeInsert CopyObject CopyLogical Transpose Select;
    Each: ConvertFToU ConvertFToS ConvertSToF ConvertUToF UConvert SConvert FConvert QuantizeToF16
        SNegate FNegate IAdd FAdd ISub FSub IMul FMul UDiv SDiv FDiv UMod SRem SMod FRem FMod
        IsNan IsInf LogicalEqual LogicalNotEqual LogicalOr LogicalAnd LogicalNot
        IEqual INotEqual UGreaterThan SGreaterThan UGreaterThanEqual SGreaterThanEqual
        ULessThan SLessThan ULessThanEqual SLessThanEqual
        FOrdEqual FUnordEqual FOrdNotEqual FUnordNotEqual FOrdLessThan FUnordLessThan FOrdGreaterThan
        FUnordGreaterThan FOrdLessThanEqual FUnordLessThanEqual FOrdGreaterThanEqual FUnordGreaterThanEqual
        ShiftRightLogical ShiftRightArithmetic ShiftLeftLogical BitwiseOr BitwiseXor BitwiseAnd Not
        BitFieldInsert BitFieldSExtract BitFieldUExtract BitReverse BitCount;
    Matrix: Bitcast VectorTimesScalar MatrixTimesScalar VectorTimesMatrix MatrixTimesVector MatrixTimesMatrix
        OuterProduct Dot Any All IAddCarry ISubBorrow UMulExtended SMulExtended;
    Extended: ExtInst;
    Flow: Phi LoopMerge SelectionMerge Label Branch BranchConditional Switch Return ReturnValue Unreachable
        Kill TerminateInvocation DemoteToHelperInvocation IsHelperInvocationEXT;
    Image: SampledImage ImageSampleImplicitLod ImageSampleExplicitLod ImageSampleDrefImplicitLod
        ImageSampleDrefExplicitLod ImageSampleProjImplicitLod ImageSampleProjExplicitLod
        ImageSampleProjDrefImplicitLod ImageSampleProjDrefExplicitLod ImageFetch ImageGather ImageDrefGather
        ImageRead ImageWrite Image ImageQuerySizeLod ImageQuerySize ImageQueryLod ImageQueryLevels ImageQuerySamples;
    Atomic: AtomicLoad AtomicStore AtomicExchange AtomicCompareExchange AtomicIIncrement AtomicIDecrement AtomicIAdd
        AtomicISub AtomicSMin AtomicUMin AtomicSMax AtomicUMax AtomicAnd AtomicOr AtomicXor;
    Barrier: ControlBarrier MemoryBarrier;
    Subgroup: GroupNonUniformElect GroupNonUniformAll GroupNonUniformAny GroupNonUniformAllEqual
        GroupNonUniformBroadcast GroupNonUniformBroadcastFirst GroupNonUniformBallot GroupNonUniformInverseBallot
        GroupNonUniformBallotBitExtract GroupNonUniformBallotBitCount GroupNonUniformBallotFindLSB
        GroupNonUniformBallotFindMSB GroupNonUniformShuffle GroupNonUniformShuffleXor GroupNonUniformShuffleUp
        GroupNonUniformShuffleDown GroupNonUniformIAdd GroupNonUniformFAdd GroupNonUniformIMul GroupNonUniformFMul
        GroupNonUniformSMin GroupNonUniformUMin GroupNonUniformFMin GroupNonUniformSMax GroupNonUniformUMax
        GroupNonUniformFMax GroupNonUniformBitwiseAnd GroupNonUniformBitwiseOr GroupNonUniformBitwiseXor
        GroupNonUniformLogicalAnd GroupNonUniformLogicalOr GroupNonUniformLogicalXor;
    Emission: EmitVertex EndPrimitive EmitStreamVertex EndStreamPrimitive;
    Derivative: DPdx DPdy Fwidth DPdxFine DPdyFine FwidthFine DPdxCoarse DPdyCoarse FwidthCoarse;
}

macro_rules! define_extended {
    ($($opcode:ident)*) => {
        /// Every instruction of GLSL.std.450 that runs.
        pub const EXTENDED: &[GlslStd450Op] = &[$( GlslStd450Op::$opcode, )*];
    };
}

define_extended! {
    Round RoundEven Trunc FAbs SAbs FSign SSign Floor Ceil Fract Radians Degrees Sin Cos Tan Asin Acos Atan Sinh Cosh
    Tanh Asinh Acosh Atanh Atan2 Pow Exp Log Exp2 Log2 Sqrt InverseSqrt Determinant MatrixInverse Modf ModfStruct FMin
    UMin SMin FMax UMax SMax FClamp UClamp SClamp FMix Step SmoothStep Fma Frexp FrexpStruct Ldexp PackSnorm4x8
    PackUnorm4x8 PackSnorm2x16 PackUnorm2x16 PackHalf2x16 PackDouble2x32 UnpackSnorm2x16 UnpackUnorm2x16
    UnpackHalf2x16 UnpackSnorm4x8 UnpackUnorm4x8 UnpackDouble2x32 Length Distance Cross Normalize FaceForward Reflect
    Refract FindILsb FindSMsb FindUMsb NMin NMax NClamp
    InterpolateAtCentroid InterpolateAtSample InterpolateAtOffset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opcode_has_one_line() {
        let mut opcodes: Vec<u32> = RUNS.iter().map(|&opcode| opcode as u32).collect();
        opcodes.sort_unstable();
        opcodes.dedup();
        assert_eq!(opcodes.len(), RUNS.len());
        assert!(RUNS.iter().all(|&opcode| class(opcode).is_some()));
    }
}
