//! The register-file table: what an operand can name.

use crate::container::dxbc::InputType;

macro_rules! register_files {
    ($( $number:literal $name:ident $printed:literal $doc:literal; )*) => {
        /// What an operand names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum RegisterFile { $( #[doc = concat!("`", $printed, "`: ", $doc)] $name = $number, )* }

        impl RegisterFile {
            /// Every register file, by ascending number.
            pub const ALL: &'static [RegisterFile] = &[$( RegisterFile::$name, )*];

            /// The register file with a number.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number { $( $number => Some(RegisterFile::$name), )* _ => None }
            }

            /// The letters the reference disassembler prints for it.
            pub const fn letters(self) -> &'static str {
                match self { $( RegisterFile::$name => $printed, )* }
            }
        }
    };
}

register_files! {
     0 Temp                 "r"                         "temporary register";
     1 Input                "v"                         "input register";
     2 Output               "o"                         "output register";
     3 IndexableTemp        "x"                         "array of temporary registers";
     4 Immediate32          "l"                         "one or four immediate dwords";
     5 Immediate64          "d"                         "one or two immediate doubles";
     6 Sampler              "s"                         "sampler";
     7 Resource             "t"                         "resource view";
     8 ConstantBuffer       "cb"                        "constant buffer";
     9 ImmediateConstants   "icb"                       "immediate constant buffer";
    10 Label                "label"                     "label of a subroutine";
    11 PrimitiveId          "vPrim"                     "number of the primitive";
    12 OutputDepth          "oDepth"                    "depth of the pixel";
    13 Null                 "null"                      "a result that is dropped";
    14 Rasterizer           "rasterizer"                "the rasterizer, for its sample count";
    15 OutputCoverage       "oMask"                     "coverage mask of the pixel";
    16 Stream               "m"                         "geometry-shader output stream";
    17 FunctionBody         "fb"                        "function body";
    18 FunctionTable        "ft"                        "function table";
    19 Interface            "fp"                        "interface";
    20 FunctionInput        "fi"                        "function input";
    21 FunctionOutput       "fo"                        "function output";
    22 OutputControlPointId "vOutputControlPointID"     "number of the control point written";
    23 ForkInstanceId       "vForkInstanceID"           "instance of a fork phase";
    24 JoinInstanceId       "vJoinInstanceID"           "instance of a join phase";
    25 InputControlPoint    "vicp"                      "control point of the input patch";
    26 OutputControlPoint   "vocp"                      "control point of the output patch";
    27 PatchConstant        "vpc"                       "patch constant";
    28 DomainPoint          "vDomain"                   "location in the tessellated domain";
    29 ThisPointer          "this"                      "data of a class instance";
    30 UnorderedAccess      "u"                         "unordered-access view";
    31 GroupShared          "g"                         "group-shared memory";
    32 ThreadId             "vThreadID"                 "number of the thread in the dispatch";
    33 ThreadGroupId        "vThreadGroupID"            "number of the group in the dispatch";
    34 ThreadIdInGroup      "vThreadIDInGroup"          "number of the thread in its group";
    35 InputCoverage        "vCoverage"                 "coverage of the pixel by the primitive";
    36 ThreadIdInGroupFlattened "vThreadIDInGroupFlattened" "number of the thread in its group, flattened";
    37 GsInstanceId         "vGSInstanceID"             "instance of a geometry shader";
    38 OutputDepthGe        "oDepthGE"                  "depth, not less than the rasterized one";
    39 OutputDepthLe        "oDepthLE"                  "depth, not greater than the rasterized one";
    40 CycleCounter         "vCycleCounter"             "a counter of time";
    41 OutputStencilRef     "oStencilRef"               "stencil reference of the pixel";
    42 InnerCoverage        "vInnerCoverage"            "whether the primitive covers the whole pixel";
}

impl RegisterFile {
    /// Its number, bits 12 to 19 of the operand token.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The register file that something of this type is bound to; none in shader models 4 and 5 for what came later.
    pub fn of_binding(input_type: InputType) -> Option<Self> {
        Some(match input_type {
            InputType::CBUFFER => Self::ConstantBuffer,
            InputType::SAMPLER => Self::Sampler,
            InputType::TBUFFER | InputType::TEXTURE | InputType::STRUCTURED | InputType::BYTE_ADDRESS => Self::Resource,
            InputType::UAV_TYPED
            | InputType::UAV_STRUCTURED
            | InputType::UAV_BYTE_ADDRESS
            | InputType::UAV_APPEND
            | InputType::UAV_CONSUME
            | InputType::UAV_STRUCTURED_COUNTER => Self::UnorderedAccess,
            _ => return None,
        })
    }
}
