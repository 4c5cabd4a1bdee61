//! The opcode table: one line an opcode, everything else derived from it.
//!
//! Numbers and names are those of Microsoft's public `d3d11TokenizedProgramFormat.hpp`; mnemonics are spelt as the
//! reference disassembler spells them. Numbers 107, 112, 209 and 218 are reserved and not opcodes.

use std::fmt;

/// What an operand's bits mean to the instruction. It decides how an immediate prints, what a negation does and whether
/// a result can be saturated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataClass {
    /// 32-bit float. Negation flips the sign bit.
    Float,
    /// Signed 32-bit integer, also addresses and offsets. Negation is two's complement.
    Int,
    /// Unsigned 32-bit integer or a bit pattern. Negation is two's complement.
    Uint,
    /// 64-bit float in two components, the low half first.
    Double,
    /// Bits that are moved and not interpreted. Negation flips the sign bit.
    Untyped,
    /// A resource view or group-shared memory (`t#`, `u#`, `g#`).
    View,
    /// A sampler.
    Sampler,
    /// A label or a function body.
    Label,
    /// A geometry-shader output stream.
    Stream,
    /// An interface with the index of the instance called.
    Interface,
}

/// Whether an operand is written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Written. Destinations come before sources.
    Destination,
    /// Read.
    Source,
}

/// One operand of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Written or read.
    pub role: Role,
    /// What its bits mean.
    pub class: DataClass,
}

/// The kind of work an opcode does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Arithmetic, comparison and conversion of 32-bit floats, and moves.
    Float,
    /// Bit fields and logic.
    Bit,
    /// Signed integer arithmetic.
    Int,
    /// Unsigned integer arithmetic.
    Uint,
    /// 64-bit float arithmetic.
    Double,
    /// Control flow, and what a stage emits or discards.
    Flow,
    /// Sampling, loads through typed views, and questions about views.
    Texture,
    /// Typed, raw and structured loads and stores.
    Memory,
    /// Atomic operations.
    Atomic,
    /// The forms of loads and samples that also return a residency status.
    TiledFeedback,
    /// Help for debuggers.
    Debug,
    /// A declaration.
    Declaration,
    /// A block of data that is not an instruction.
    CustomData,
}

/// The shader model or runtime that introduced an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// Shader model 4.0 (Direct3D 10.0).
    Sm40,
    /// Shader model 4.1 (Direct3D 10.1).
    Sm41,
    /// Shader model 5.0 (Direct3D 11.0).
    Sm50,
    /// Shader model 5.0 with the extensions of Direct3D 11.1.
    Sm50Ext11_1,
    /// Shader model 5.0 with tiled resources (Direct3D 11.2).
    Sm50Tiled,
}

/// What bits 11 to 23 of the opcode token hold, the precise mask apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Controls {
    /// Nothing.
    None,
    /// Saturate, bit 13.
    Saturate,
    /// The condition is zero or non-zero, bit 18.
    Test,
    /// The return type of `resinfo`, bits 11 and 12.
    ResinfoReturn,
    /// The return type of `sampleinfo`, bits 11 and 12.
    SampleInfoReturn,
    /// The memory and the threads that `sync` waits for, bits 11 to 14.
    Sync,
    /// Laid out by the declaration or the custom-data block.
    Own,
}

/// The columns of the table, by the short names its lines use: `D` is a destination, the last letter the class.
mod column {
    use super::DataClass::*;
    use super::Role::{Destination, Source};
    use super::{DataClass, Slot};

    const fn dst(class: DataClass) -> Slot {
        Slot { role: Destination, class }
    }
    const fn src(class: DataClass) -> Slot {
        Slot { role: Source, class }
    }

    pub const DF: Slot = dst(Float);
    pub const DI: Slot = dst(Int);
    pub const DU: Slot = dst(Uint);
    pub const DD: Slot = dst(Double);
    pub const DX: Slot = dst(Untyped);
    pub const DV: Slot = dst(View);
    pub const F: Slot = src(Float);
    pub const I: Slot = src(Int);
    pub const U: Slot = src(Uint);
    pub const D: Slot = src(Double);
    pub const X: Slot = src(Untyped);
    pub const V: Slot = src(View);
    pub const S: Slot = src(Sampler);
    pub const L: Slot = src(Label);
    pub const M: Slot = src(Stream);
    pub const P: Slot = src(Interface);
}

macro_rules! opcodes {
    ($( $number:literal $name:ident $mnemonic:literal [$($slot:ident)*] $group:ident $controls:ident $model:ident $doc:literal; )*) => {
        /// An opcode of shader model 4.0 to 5.1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Opcode {
            $( #[doc = concat!("`", $mnemonic, "`: ", $doc)] $name = $number, )*
        }

        impl Opcode {
            /// Every opcode, by ascending number.
            pub const ALL: &'static [Opcode] = &[$( Opcode::$name, )*];

            /// The name the reference disassembler prints, without suffixes.
            pub const fn mnemonic(self) -> &'static str {
                match self { $( Opcode::$name => $mnemonic, )* }
            }

            /// The operands in token order, destinations first. Empty for declarations and custom data, whose tokens
            /// have layouts of their own.
            pub const fn slots(self) -> &'static [Slot] {
                match self { $( Opcode::$name => const { &[$( column::$slot, )*] }, )* }
            }

            /// The kind of work it does.
            pub const fn group(self) -> Group {
                match self { $( Opcode::$name => Group::$group, )* }
            }

            /// What the opcode token holds besides number and length.
            pub const fn controls(self) -> Controls {
                match self { $( Opcode::$name => Controls::$controls, )* }
            }

            /// What introduced it.
            pub const fn introduced(self) -> Model {
                match self { $( Opcode::$name => Model::$model, )* }
            }

            /// What it does, in a line.
            pub const fn description(self) -> &'static str {
                match self { $( Opcode::$name => $doc, )* }
            }
        }
    };
}

opcodes! {
    // number, name, mnemonic, operands, group, controls, introduced in, meaning
      0 Add                    "add"                       [DF F F]           Float         Saturate         Sm40        "a + b";
      1 And                    "and"                       [DU U U]           Bit           None             Sm40        "a & b";
      2 Break                  "break"                     []                 Flow          None             Sm40        "leave the innermost loop or switch";
      3 BreakC                 "breakc"                    [U]                Flow          Test             Sm40        "leave the innermost loop or switch if the test holds";
      4 Call                   "call"                      [L]                Flow          None             Sm40        "run the subroutine at the label";
      5 CallC                  "callc"                     [U L]              Flow          Test             Sm40        "run the subroutine at the label if the test holds";
      6 Case                   "case"                      [I]                Flow          None             Sm40        "where a switch goes for this value";
      7 Continue               "continue"                  []                 Flow          None             Sm40        "next iteration of the innermost loop";
      8 ContinueC              "continuec"                 [U]                Flow          Test             Sm40        "next iteration of the innermost loop if the test holds";
      9 Cut                    "cut"                       []                 Flow          None             Sm40        "end the current primitive strip";
     10 Default                "default"                   []                 Flow          None             Sm40        "where a switch goes for all other values";
     11 DerivRtx               "deriv_rtx"                 [DF F]             Float         Saturate         Sm40        "rate of change in x across the pixel quad";
     12 DerivRty               "deriv_rty"                 [DF F]             Float         Saturate         Sm40        "rate of change in y across the pixel quad";
     13 Discard                "discard"                   [U]                Flow          Test             Sm40        "drop the pixel if the test holds";
     14 Div                    "div"                       [DF F F]           Float         Saturate         Sm40        "a / b";
     15 Dp2                    "dp2"                       [DF F F]           Float         Saturate         Sm40        "dot product of xy";
     16 Dp3                    "dp3"                       [DF F F]           Float         Saturate         Sm40        "dot product of xyz";
     17 Dp4                    "dp4"                       [DF F F]           Float         Saturate         Sm40        "dot product of xyzw";
     18 Else                   "else"                      []                 Flow          None             Sm40        "other arm of an if";
     19 Emit                   "emit"                      []                 Flow          None             Sm40        "append a vertex to the output";
     20 EmitThenCut            "emit_then_cut"             []                 Flow          None             Sm40        "append a vertex, then end the strip";
     21 EndIf                  "endif"                     []                 Flow          None             Sm40        "end of an if";
     22 EndLoop                "endloop"                   []                 Flow          None             Sm40        "end of a loop, back to its start";
     23 EndSwitch              "endswitch"                 []                 Flow          None             Sm40        "end of a switch";
     24 Eq                     "eq"                        [DU F F]           Float         None             Sm40        "all ones where a == b, else 0";
     25 Exp                    "exp"                       [DF F]             Float         Saturate         Sm40        "2 to the power a";
     26 Frc                    "frc"                       [DF F]             Float         Saturate         Sm40        "a - floor(a)";
     27 FtoI                   "ftoi"                      [DI F]             Float         None             Sm40        "float to signed integer, toward zero";
     28 FtoU                   "ftou"                      [DU F]             Float         None             Sm40        "float to unsigned integer, toward zero";
     29 Ge                     "ge"                        [DU F F]           Float         None             Sm40        "all ones where a >= b, else 0";
     30 IAdd                   "iadd"                      [DI I I]           Int           None             Sm40        "a + b";
     31 If                     "if"                        [U]                Flow          Test             Sm40        "run the following arm if the test holds";
     32 IEq                    "ieq"                       [DU I I]           Int           None             Sm40        "all ones where a == b, else 0";
     33 IGe                    "ige"                       [DU I I]           Int           None             Sm40        "all ones where a >= b, signed, else 0";
     34 ILt                    "ilt"                       [DU I I]           Int           None             Sm40        "all ones where a < b, signed, else 0";
     35 IMad                   "imad"                      [DI I I I]         Int           None             Sm40        "low half of a * b, + c";
     36 IMax                   "imax"                      [DI I I]           Int           None             Sm40        "larger of two, signed";
     37 IMin                   "imin"                      [DI I I]           Int           None             Sm40        "smaller of two, signed";
     38 IMul                   "imul"                      [DI DI I I]        Int           None             Sm40        "high and low half of a * b, signed";
     39 INe                    "ine"                       [DU I I]           Int           None             Sm40        "all ones where a != b, else 0";
     40 INeg                   "ineg"                      [DI I]             Int           None             Sm40        "-a";
     41 IShl                   "ishl"                      [DI I U]           Int           None             Sm40        "a << (b & 31)";
     42 IShr                   "ishr"                      [DI I U]           Int           None             Sm40        "a >> (b & 31), keeping the sign";
     43 ItoF                   "itof"                      [DF I]             Int           Saturate         Sm40        "signed integer to float";
     44 Label                  "label"                     [L]                Flow          None             Sm40        "start of a subroutine";
     45 Ld                     "ld"                        [DX I V]           Texture       None             Sm40        "fetch a texel by integer address";
     46 LdMs                   "ldms"                      [DX I V I]         Texture       None             Sm40        "fetch a sample of a multisampled texel";
     47 Log                    "log"                       [DF F]             Float         Saturate         Sm40        "logarithm to base 2";
     48 Loop                   "loop"                      []                 Flow          None             Sm40        "start of a loop";
     49 Lt                     "lt"                        [DU F F]           Float         None             Sm40        "all ones where a < b, else 0";
     50 Mad                    "mad"                       [DF F F F]         Float         Saturate         Sm40        "a * b + c";
     51 Min                    "min"                       [DF F F]           Float         Saturate         Sm40        "smaller of two";
     52 Max                    "max"                       [DF F F]           Float         Saturate         Sm40        "larger of two";
     53 CustomData             "customdata"                []                 CustomData    Own              Sm40        "a block of data";
     54 Mov                    "mov"                       [DF X]             Float         Saturate         Sm40        "copy the bits";
     55 MovC                   "movc"                      [DF X X X]         Float         Saturate         Sm40        "b where any bit of a is set, else c";
     56 Mul                    "mul"                       [DF F F]           Float         Saturate         Sm40        "a * b";
     57 Ne                     "ne"                        [DU F F]           Float         None             Sm40        "all ones where a != b, else 0";
     58 Nop                    "nop"                       []                 Flow          None             Sm40        "nothing";
     59 Not                    "not"                       [DU U]             Bit           None             Sm40        "!a";
     60 Or                     "or"                        [DU U U]           Bit           None             Sm40        "a | b";
     61 ResInfo                "resinfo"                   [DX I V]           Texture       ResinfoReturn    Sm40        "size and level count of a texture";
     62 Ret                    "ret"                       []                 Flow          None             Sm40        "end of the invocation or subroutine";
     63 RetC                   "retc"                      [U]                Flow          Test             Sm40        "end of the invocation or subroutine if the test holds";
     64 RoundNe                "round_ne"                  [DF F]             Float         Saturate         Sm40        "round to nearest, ties to even";
     65 RoundNi                "round_ni"                  [DF F]             Float         Saturate         Sm40        "round down";
     66 RoundPi                "round_pi"                  [DF F]             Float         Saturate         Sm40        "round up";
     67 RoundZ                 "round_z"                   [DF F]             Float         Saturate         Sm40        "round toward zero";
     68 Rsq                    "rsq"                       [DF F]             Float         Saturate         Sm40        "1 / sqrt(a)";
     69 Sample                 "sample"                    [DX F V S]         Texture       None             Sm40        "sample, level from derivatives";
     70 SampleC                "sample_c"                  [DX F V S F]       Texture       None             Sm40        "sample and compare, level from derivatives";
     71 SampleCLz              "sample_c_lz"               [DX F V S F]       Texture       None             Sm40        "sample and compare at level 0";
     72 SampleL                "sample_l"                  [DX F V S F]       Texture       None             Sm40        "sample at a given level";
     73 SampleD                "sample_d"                  [DX F V S F F]     Texture       None             Sm40        "sample with given derivatives";
     74 SampleB                "sample_b"                  [DX F V S F]       Texture       None             Sm40        "sample, level from derivatives plus a bias";
     75 Sqrt                   "sqrt"                      [DF F]             Float         Saturate         Sm40        "square root";
     76 Switch                 "switch"                    [I]                Flow          None             Sm40        "go to the case of this value";
     77 SinCos                 "sincos"                    [DF DF F]          Float         Saturate         Sm40        "sine and cosine";
     78 UDiv                   "udiv"                      [DU DU U U]        Uint          None             Sm40        "quotient and remainder";
     79 ULt                    "ult"                       [DU U U]           Uint          None             Sm40        "all ones where a < b, else 0";
     80 UGe                    "uge"                       [DU U U]           Uint          None             Sm40        "all ones where a >= b, else 0";
     81 UMul                   "umul"                      [DU DU U U]        Uint          None             Sm40        "high and low half of a * b";
     82 UMad                   "umad"                      [DU U U U]         Uint          None             Sm40        "low half of a * b, + c";
     83 UMax                   "umax"                      [DU U U]           Uint          None             Sm40        "larger of two";
     84 UMin                   "umin"                      [DU U U]           Uint          None             Sm40        "smaller of two";
     85 UShr                   "ushr"                      [DU U U]           Uint          None             Sm40        "a >> (b & 31)";
     86 UtoF                   "utof"                      [DF U]             Uint          Saturate         Sm40        "unsigned integer to float";
     87 Xor                    "xor"                       [DU U U]           Bit           None             Sm40        "a ^ b";
     88 DclResource            "dcl_resource"              []                 Declaration   Own              Sm40        "a typed resource view";
     89 DclConstantBuffer      "dcl_constantbuffer"        []                 Declaration   Own              Sm40        "a constant buffer";
     90 DclSampler             "dcl_sampler"               []                 Declaration   Own              Sm40        "a sampler";
     91 DclIndexRange          "dcl_indexrange"            []                 Declaration   Own              Sm40        "registers that are indexed dynamically";
     92 DclOutputTopology      "dcl_outputtopology"        []                 Declaration   Own              Sm40        "what a geometry shader emits";
     93 DclInputPrimitive      "dcl_inputprimitive"        []                 Declaration   Own              Sm40        "what a geometry shader reads";
     94 DclMaxOut              "dcl_maxout"                []                 Declaration   Own              Sm40        "most vertices a geometry shader emits";
     95 DclInput               "dcl_input"                 []                 Declaration   Own              Sm40        "an input register";
     96 DclInputSgv            "dcl_input_sgv"             []                 Declaration   Own              Sm40        "an input the system generates";
     97 DclInputSiv            "dcl_input_siv"             []                 Declaration   Own              Sm40        "an input the system interprets";
     98 DclInputPs             "dcl_input_ps"              []                 Declaration   Own              Sm40        "a pixel-shader input register";
     99 DclInputPsSgv          "dcl_input_ps_sgv"          []                 Declaration   Own              Sm40        "a pixel-shader input the system generates";
    100 DclInputPsSiv          "dcl_input_ps_siv"          []                 Declaration   Own              Sm40        "a pixel-shader input the system interprets";
    101 DclOutput              "dcl_output"                []                 Declaration   Own              Sm40        "an output register";
    102 DclOutputSgv           "dcl_output_sgv"            []                 Declaration   Own              Sm40        "an output the system generates";
    103 DclOutputSiv           "dcl_output_siv"            []                 Declaration   Own              Sm40        "an output the system interprets";
    104 DclTemps               "dcl_temps"                 []                 Declaration   Own              Sm40        "number of temporary registers";
    105 DclIndexableTemp       "dcl_indexableTemp"         []                 Declaration   Own              Sm40        "an array of temporary registers";
    106 DclGlobalFlags         "dcl_globalFlags"           []                 Declaration   Own              Sm40        "flags of the whole program";
    108 Lod                    "lod"                       [DF F V S]         Texture       None             Sm41        "the level a sample would use";
    109 Gather4                "gather4"                   [DX F V S]         Texture       None             Sm41        "the four texels a bilinear sample reads";
    110 SamplePos              "samplepos"                 [DF V I]           Texture       None             Sm41        "position of a sample in its pixel";
    111 SampleInfo             "sampleinfo"                [DX V]             Texture       SampleInfoReturn Sm41        "number of samples";
    113 HsDecls                "hs_decls"                  []                 Declaration   Own              Sm50        "start of a hull shader's declarations";
    114 HsControlPointPhase    "hs_control_point_phase"    []                 Declaration   Own              Sm50        "start of the control-point phase";
    115 HsForkPhase            "hs_fork_phase"             []                 Declaration   Own              Sm50        "start of a fork phase";
    116 HsJoinPhase            "hs_join_phase"             []                 Declaration   Own              Sm50        "start of a join phase";
    117 EmitStream             "emit_stream"               [M]                Flow          None             Sm50        "append a vertex to a stream";
    118 CutStream              "cut_stream"                [M]                Flow          None             Sm50        "end a stream's primitive strip";
    119 EmitThenCutStream      "emit_then_cut_stream"      [M]                Flow          None             Sm50        "append a vertex to a stream, then end the strip";
    120 InterfaceCall          "fcall"                     [P]                Flow          None             Sm50        "run the function of the bound class instance";
    121 BufInfo                "bufinfo"                   [DU V]             Texture       None             Sm50        "number of elements of a buffer";
    122 DerivRtxCoarse         "deriv_rtx_coarse"          [DF F]             Float         Saturate         Sm50        "rate of change in x, one for the quad";
    123 DerivRtxFine           "deriv_rtx_fine"            [DF F]             Float         Saturate         Sm50        "rate of change in x, one for each row";
    124 DerivRtyCoarse         "deriv_rty_coarse"          [DF F]             Float         Saturate         Sm50        "rate of change in y, one for the quad";
    125 DerivRtyFine           "deriv_rty_fine"            [DF F]             Float         Saturate         Sm50        "rate of change in y, one for each column";
    126 Gather4C               "gather4_c"                 [DX F V S F]       Texture       None             Sm50        "gather and compare";
    127 Gather4Po              "gather4_po"                [DX F I V S]       Texture       None             Sm50        "gather with offsets from a register";
    128 Gather4PoC             "gather4_po_c"              [DX F I V S F]     Texture       None             Sm50        "gather with offsets from a register, and compare";
    129 Rcp                    "rcp"                       [DF F]             Float         Saturate         Sm50        "1 / a";
    130 F32toF16               "f32tof16"                  [DU F]             Float         None             Sm50        "float to half, toward zero, in the low 16 bits";
    131 F16toF32               "f16tof32"                  [DF U]             Float         Saturate         Sm50        "half in the low 16 bits to float";
    132 UAddC                  "uaddc"                     [DU DU U U]        Uint          None             Sm50        "a + b and the carry";
    133 USubB                  "usubb"                     [DU DU U U]        Uint          None             Sm50        "a - b and the borrow";
    134 CountBits              "countbits"                 [DU U]             Bit           None             Sm50        "number of set bits";
    135 FirstBitHi             "firstbit_hi"               [DU U]             Bit           None             Sm50        "highest set bit, counted from bit 31";
    136 FirstBitLo             "firstbit_lo"               [DU U]             Bit           None             Sm50        "lowest set bit";
    137 FirstBitShi            "firstbit_shi"              [DU I]             Bit           None             Sm50        "highest bit that is not the sign, counted from bit 31";
    138 Ubfe                   "ubfe"                      [DU U U U]         Bit           None             Sm50        "unsigned bit field: width, offset, value";
    139 Ibfe                   "ibfe"                      [DI U U I]         Bit           None             Sm50        "signed bit field: width, offset, value";
    140 Bfi                    "bfi"                       [DU U U U U]       Bit           None             Sm50        "insert a bit field: width, offset, field, into";
    141 BfRev                  "bfrev"                     [DU U]             Bit           None             Sm50        "reverse the bits";
    142 SwapC                  "swapc"                     [DF DF X X X]      Float         Saturate         Sm50        "c, b where any bit of a is set, else b, c";
    143 DclStream              "dcl_stream"                []                 Declaration   Own              Sm50        "an output stream";
    144 DclFunctionBody        "dcl_function_body"         []                 Declaration   Own              Sm50        "a function that an interface call may run";
    145 DclFunctionTable       "dcl_function_table"        []                 Declaration   Own              Sm50        "the function bodies of a class";
    146 DclInterface           "dcl_interface"             []                 Declaration   Own              Sm50        "an interface and the tables it may use";
    147 DclInputControlPointCount  "dcl_input_control_point_count"  []        Declaration   Own              Sm50        "control points of an input patch";
    148 DclOutputControlPointCount "dcl_output_control_point_count" []        Declaration   Own              Sm50        "control points of an output patch";
    149 DclTessDomain          "dcl_tessellator_domain"    []                 Declaration   Own              Sm50        "what is tessellated";
    150 DclTessPartitioning    "dcl_tessellator_partitioning" []              Declaration   Own              Sm50        "how edges are divided";
    151 DclTessOutputPrimitive "dcl_tessellator_output_primitive" []          Declaration   Own              Sm50        "what the tessellator makes";
    152 DclHsMaxTessFactor     "dcl_hs_max_tessfactor"     []                 Declaration   Own              Sm50        "largest tessellation factor";
    153 DclHsForkPhaseInstanceCount "dcl_hs_fork_phase_instance_count" []     Declaration   Own              Sm50        "instances of a fork phase";
    154 DclHsJoinPhaseInstanceCount "dcl_hs_join_phase_instance_count" []     Declaration   Own              Sm50        "instances of a join phase";
    155 DclThreadGroup         "dcl_thread_group"          []                 Declaration   Own              Sm50        "size of a thread group";
    156 DclUavTyped            "dcl_uav_typed"             []                 Declaration   Own              Sm50        "a typed unordered-access view";
    157 DclUavRaw              "dcl_uav_raw"               []                 Declaration   Own              Sm50        "a raw unordered-access view";
    158 DclUavStructured       "dcl_uav_structured"        []                 Declaration   Own              Sm50        "a structured unordered-access view";
    159 DclTgsmRaw             "dcl_tgsm_raw"              []                 Declaration   Own              Sm50        "raw group-shared memory";
    160 DclTgsmStructured      "dcl_tgsm_structured"       []                 Declaration   Own              Sm50        "structured group-shared memory";
    161 DclResourceRaw         "dcl_resource_raw"          []                 Declaration   Own              Sm50        "a raw resource view";
    162 DclResourceStructured  "dcl_resource_structured"   []                 Declaration   Own              Sm50        "a structured resource view";
    163 LdUavTyped             "ld_uav_typed"              [DX I V]           Memory        None             Sm50        "load from a typed view";
    164 StoreUavTyped          "store_uav_typed"           [DV I X]           Memory        None             Sm50        "store to a typed view";
    165 LdRaw                  "ld_raw"                    [DX I V]           Memory        None             Sm50        "load from a raw view by byte address";
    166 StoreRaw               "store_raw"                 [DV I X]           Memory        None             Sm50        "store to a raw view by byte address";
    167 LdStructured           "ld_structured"             [DX I I V]         Memory        None             Sm50        "load from a structure: index, byte offset";
    168 StoreStructured        "store_structured"          [DV I I X]         Memory        None             Sm50        "store to a structure: index, byte offset";
    169 AtomicAnd              "atomic_and"                [DV I U]           Atomic        None             Sm50        "memory &= a";
    170 AtomicOr               "atomic_or"                 [DV I U]           Atomic        None             Sm50        "memory |= a";
    171 AtomicXor              "atomic_xor"                [DV I U]           Atomic        None             Sm50        "memory ^= a";
    172 AtomicCmpStore         "atomic_cmp_store"          [DV I U U]         Atomic        None             Sm50        "memory = b if it equals a";
    173 AtomicIAdd             "atomic_iadd"               [DV I I]           Atomic        None             Sm50        "memory += a";
    174 AtomicIMax             "atomic_imax"               [DV I I]           Atomic        None             Sm50        "memory = larger of it and a, signed";
    175 AtomicIMin             "atomic_imin"               [DV I I]           Atomic        None             Sm50        "memory = smaller of it and a, signed";
    176 AtomicUMax             "atomic_umax"               [DV I U]           Atomic        None             Sm50        "memory = larger of it and a";
    177 AtomicUMin             "atomic_umin"               [DV I U]           Atomic        None             Sm50        "memory = smaller of it and a";
    178 ImmAtomicAlloc         "imm_atomic_alloc"          [DU V]             Atomic        None             Sm50        "count up a view's hidden counter; its old value";
    179 ImmAtomicConsume       "imm_atomic_consume"        [DU V]             Atomic        None             Sm50        "count down a view's hidden counter; its new value";
    180 ImmAtomicIAdd          "imm_atomic_iadd"           [DI V I I]         Atomic        None             Sm50        "memory += a; its old value";
    181 ImmAtomicAnd           "imm_atomic_and"            [DU V I U]         Atomic        None             Sm50        "memory &= a; its old value";
    182 ImmAtomicOr            "imm_atomic_or"             [DU V I U]         Atomic        None             Sm50        "memory |= a; its old value";
    183 ImmAtomicXor           "imm_atomic_xor"            [DU V I U]         Atomic        None             Sm50        "memory ^= a; its old value";
    184 ImmAtomicExch          "imm_atomic_exch"           [DU V I U]         Atomic        None             Sm50        "memory = a; its old value";
    185 ImmAtomicCmpExch       "imm_atomic_cmp_exch"       [DU V I U U]       Atomic        None             Sm50        "memory = b if it equals a; its old value";
    186 ImmAtomicIMax          "imm_atomic_imax"           [DI V I I]         Atomic        None             Sm50        "memory = larger of it and a, signed; its old value";
    187 ImmAtomicIMin          "imm_atomic_imin"           [DI V I I]         Atomic        None             Sm50        "memory = smaller of it and a, signed; its old value";
    188 ImmAtomicUMax          "imm_atomic_umax"           [DU V I U]         Atomic        None             Sm50        "memory = larger of it and a; its old value";
    189 ImmAtomicUMin          "imm_atomic_umin"           [DU V I U]         Atomic        None             Sm50        "memory = smaller of it and a; its old value";
    190 Sync                   "sync"                      []                 Flow          Sync             Sm50        "wait for memory and threads";
    191 DAdd                   "dadd"                      [DD D D]           Double        Saturate         Sm50        "a + b";
    192 DMax                   "dmax"                      [DD D D]           Double        Saturate         Sm50        "larger of two";
    193 DMin                   "dmin"                      [DD D D]           Double        Saturate         Sm50        "smaller of two";
    194 DMul                   "dmul"                      [DD D D]           Double        Saturate         Sm50        "a * b";
    195 DEq                    "deq"                       [DU D D]           Double        None             Sm50        "all ones where a == b, else 0";
    196 DGe                    "dge"                       [DU D D]           Double        None             Sm50        "all ones where a >= b, else 0";
    197 DLt                    "dlt"                       [DU D D]           Double        None             Sm50        "all ones where a < b, else 0";
    198 DNe                    "dne"                       [DU D D]           Double        None             Sm50        "all ones where a != b, else 0";
    199 DMov                   "dmov"                      [DD D]             Double        Saturate         Sm50        "copy";
    200 DMovC                  "dmovc"                     [DD X D D]         Double        Saturate         Sm50        "b where any bit of a is set, else c";
    201 DtoF                   "dtof"                      [DF D]             Double        Saturate         Sm50        "double to float";
    202 FtoD                   "ftod"                      [DD F]             Double        Saturate         Sm50        "float to double";
    203 EvalSnapped            "eval_snapped"              [DF F I]           Float         Saturate         Sm50        "interpolate at an offset in the pixel";
    204 EvalSampleIndex        "eval_sample_index"         [DF F I]           Float         Saturate         Sm50        "interpolate at a sample";
    205 EvalCentroid           "eval_centroid"             [DF F]             Float         Saturate         Sm50        "interpolate at the centroid";
    206 DclGsInstances         "dcl_gsinstances"           []                 Declaration   Own              Sm50        "instances of a geometry shader";
    207 Abort                  "abort"                     []                 Debug         None             Sm50        "stop the program with an error";
    208 DebugBreak             "debug_break"               []                 Debug         None             Sm50        "stop in the debugger";
    210 DDiv                   "ddiv"                      [DD D D]           Double        Saturate         Sm50Ext11_1 "a / b";
    211 DFma                   "dfma"                      [DD D D D]         Double        Saturate         Sm50Ext11_1 "a * b + c, rounded once";
    212 DRcp                   "drcp"                      [DD D]             Double        Saturate         Sm50Ext11_1 "1 / a";
    213 Msad                   "msad"                      [DU U U U]         Uint          None             Sm50Ext11_1 "c + sum of absolute byte differences, zero bytes of a skipped";
    214 DtoI                   "dtoi"                      [DI D]             Double        None             Sm50Ext11_1 "double to signed integer, toward zero";
    215 DtoU                   "dtou"                      [DU D]             Double        None             Sm50Ext11_1 "double to unsigned integer, toward zero";
    216 ItoD                   "itod"                      [DD I]             Int           Saturate         Sm50Ext11_1 "signed integer to double";
    217 UtoD                   "utod"                      [DD U]             Uint          Saturate         Sm50Ext11_1 "unsigned integer to double";
    219 Gather4S               "gather4_s"                 [DX DU F V S]      TiledFeedback None             Sm50Tiled   "gather4 with status";
    220 Gather4CS              "gather4_c_s"               [DX DU F V S F]    TiledFeedback None             Sm50Tiled   "gather4_c with status";
    221 Gather4PoS             "gather4_po_s"              [DX DU F I V S]    TiledFeedback None             Sm50Tiled   "gather4_po with status";
    222 Gather4PoCS            "gather4_po_c_s"            [DX DU F I V S F]  TiledFeedback None             Sm50Tiled   "gather4_po_c with status";
    223 LdS                    "ld_s"                      [DX DU I V]        TiledFeedback None             Sm50Tiled   "ld with status";
    224 LdMsS                  "ldms_s"                    [DX DU I V I]      TiledFeedback None             Sm50Tiled   "ldms with status";
    225 LdUavTypedS            "ld_uav_typed_s"            [DX DU I V]        TiledFeedback None             Sm50Tiled   "ld_uav_typed with status";
    226 LdRawS                 "ld_raw_s"                  [DX DU I V]        TiledFeedback None             Sm50Tiled   "ld_raw with status";
    227 LdStructuredS          "ld_structured_s"           [DX DU I I V]      TiledFeedback None             Sm50Tiled   "ld_structured with status";
    228 SampleLS               "sample_l_s"                [DX DU F V S F]    TiledFeedback None             Sm50Tiled   "sample_l with status";
    229 SampleCLzS             "sample_c_lz_s"             [DX DU F V S F]    TiledFeedback None             Sm50Tiled   "sample_c_lz with status";
    230 SampleClS              "sample_cl_s"               [DX DU F V S F]    TiledFeedback None             Sm50Tiled   "sample with level clamp and status";
    231 SampleBClS             "sample_b_cl_s"             [DX DU F V S F F]  TiledFeedback None             Sm50Tiled   "sample_b with level clamp and status";
    232 SampleDClS             "sample_d_cl_s"             [DX DU F V S F F F] TiledFeedback None            Sm50Tiled   "sample_d with level clamp and status";
    233 SampleCClS             "sample_c_cl_s"             [DX DU F V S F F]  TiledFeedback None             Sm50Tiled   "sample_c with level clamp and status";
    234 CheckAccessFullyMapped "check_access_fully_mapped" [DU U]             TiledFeedback None             Sm50Tiled   "all ones if the status says that every texel was resident";
}

/// One past the largest opcode number.
const END: usize = Opcode::ALL[Opcode::ALL.len() - 1] as usize + 1;

/// Opcodes by number, `None` where a number is reserved.
static BY_NUMBER: [Option<Opcode>; END] = {
    let mut table = [None; END];
    let mut i = 0;
    while i < Opcode::ALL.len() {
        let opcode = Opcode::ALL[i];
        assert!(table[opcode as usize].is_none(), "two opcodes with one number");
        table[opcode as usize] = Some(opcode);
        i += 1;
    }
    table
};

impl Opcode {
    /// The opcode with a number, if the number is not reserved.
    pub fn from_number(number: u32) -> Option<Self> {
        BY_NUMBER.get(usize::try_from(number).ok()?).copied().flatten()
    }

    /// Its number, bits 0 to 10 of the opcode token.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Whether Microsoft's compiler leaves a dword behind the operands that may be anything. Behind those of other
    /// opcodes (`samplepos`, `sample_l_s`) it leaves zeros. Its disassembler skips both.
    pub const fn is_padded_with_anything(self) -> bool {
        use Opcode::{SampleBClS, SampleCClS, SampleCLzS, SampleClS, SampleDClS};
        matches!(self, SampleCLzS | SampleClS | SampleBClS | SampleDClS | SampleCClS)
    }

    /// How many operands it writes.
    pub fn destinations(self) -> usize {
        self.slots().iter().filter(|slot| slot.role == Role::Destination).count()
    }

    /// How many operands it reads.
    pub fn sources(self) -> usize {
        self.slots().len() - self.destinations()
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_real_number_and_no_reserved_one_is_an_opcode() {
        assert_eq!(Opcode::ALL.len(), 231);
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::from_number(opcode.number()), Some(opcode));
        }
        for reserved in [107, 112, 209, 218, 235, 0x7ff, u32::MAX] {
            assert_eq!(Opcode::from_number(reserved), None, "{reserved}");
        }
    }

    #[test]
    fn mnemonics_are_distinct() {
        let mut names: Vec<_> = Opcode::ALL.iter().map(|opcode| opcode.mnemonic()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Opcode::ALL.len());
    }

    #[test]
    fn destinations_come_first() {
        for &opcode in Opcode::ALL {
            assert!(opcode.slots().is_sorted_by_key(|slot| slot.role == Role::Source), "{opcode}");
        }
    }

    #[test]
    fn what_saturates_has_a_float_result_first() {
        for &opcode in Opcode::ALL {
            if opcode.controls() == Controls::Saturate {
                let class = opcode.slots()[0].class;
                assert!(matches!(class, DataClass::Float | DataClass::Double), "{opcode}");
            }
        }
    }

    #[test]
    fn only_declarations_and_custom_data_have_layouts_of_their_own() {
        for &opcode in Opcode::ALL {
            let own = matches!(opcode.group(), Group::Declaration | Group::CustomData);
            assert_eq!(opcode.controls() == Controls::Own, own, "{opcode}");
            assert!(!own || opcode.slots().is_empty(), "{opcode}");
        }
        assert_eq!(Opcode::ALL.iter().filter(|opcode| opcode.group() == Group::Declaration).count(), 44);
    }
}
