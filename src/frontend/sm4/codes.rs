//! The small enumerations of the token format, one line a value: number, name, and the word the reference disassembler
//! prints. Values are those of Microsoft's public `d3d11TokenizedProgramFormat.hpp`.

use crate::error::DecodeError;

codes! {
    /// The pipeline stage a program is for.
    Stage "stage" {
        0 Pixel    "ps";
        1 Vertex   "vs";
        2 Geometry "gs";
        3 Hull     "hs";
        4 Domain   "ds";
        5 Compute  "cs";
    }

    /// The shape of a resource.
    Dimension "resource dimension" {
        0  Unknown            "unknown";
        1  Buffer             "buffer";
        2  Texture1d          "texture1d";
        3  Texture2d          "texture2d";
        4  Texture2dMs        "texture2dms";
        5  Texture3d          "texture3d";
        6  TextureCube        "texturecube";
        7  Texture1dArray     "texture1darray";
        8  Texture2dArray     "texture2darray";
        9  Texture2dMsArray   "texture2dmsarray";
        10 TextureCubeArray   "texturecubearray";
        11 RawBuffer          "raw_buffer";
        12 StructuredBuffer   "structured_buffer";
    }

    /// What a component of a typed resource reads as.
    ReturnType "resource return type" {
        1 Unorm     "unorm";
        2 Snorm     "snorm";
        3 Sint      "sint";
        4 Uint      "uint";
        5 Float     "float";
        6 Mixed     "mixed";
        7 Double    "double";
        8 Continued "<continued>";
        9 Unused    "<unused>";
    }

    /// How a pixel-shader input is interpolated.
    Interpolation "interpolation mode" {
        0 Undefined                   "undefined";
        1 Constant                    "constant";
        2 Linear                      "linear";
        3 LinearCentroid              "linear centroid";
        4 LinearNoPerspective         "linear noperspective";
        5 LinearNoPerspectiveCentroid "linear noperspective centroid";
        6 LinearSample                "linear sample";
        7 LinearNoPerspectiveSample   "linear noperspective sample";
    }

    /// A value that the pipeline generates or interprets.
    SystemValue "system value" {
        0  Undefined                 "undefined";
        1  Position                  "position";
        2  ClipDistance              "clip_distance";
        3  CullDistance              "cull_distance";
        4  RenderTargetArrayIndex    "rendertarget_array_index";
        5  ViewportArrayIndex        "viewport_array_index";
        6  VertexId                  "vertex_id";
        7  PrimitiveId               "primitive_id";
        8  InstanceId                "instance_id";
        9  IsFrontFace               "is_front_face";
        10 SampleIndex               "sampleIndex";
        11 FinalQuadUeq0EdgeTessFactor "finalQuadUeq0EdgeTessFactor";
        12 FinalQuadVeq0EdgeTessFactor "finalQuadVeq0EdgeTessFactor";
        13 FinalQuadUeq1EdgeTessFactor "finalQuadUeq1EdgeTessFactor";
        14 FinalQuadVeq1EdgeTessFactor "finalQuadVeq1EdgeTessFactor";
        15 FinalQuadUInsideTessFactor  "finalQuadUInsideTessFactor";
        16 FinalQuadVInsideTessFactor  "finalQuadVInsideTessFactor";
        17 FinalTriUeq0EdgeTessFactor  "finalTriUeq0EdgeTessFactor";
        18 FinalTriVeq0EdgeTessFactor  "finalTriVeq0EdgeTessFactor";
        19 FinalTriWeq0EdgeTessFactor  "finalTriWeq0EdgeTessFactor";
        20 FinalTriInsideTessFactor    "finalTriInsideTessFactor";
        21 FinalLineDetailTessFactor   "finalLineDetailTessFactor";
        22 FinalLineDensityTessFactor  "finalLineDensityTessFactor";
        23 Barycentrics              "barycentrics";
        24 ShadingRate               "shadingrate";
        25 CullPrimitive             "cullprimitive";
    }

    /// What a sampler is used for.
    SamplerMode "sampler mode" {
        0 Default    "mode_default";
        1 Comparison "mode_comparison";
        2 Mono       "mode_mono";
    }

    /// What a geometry or hull shader reads.
    Primitive "input primitive" {
        0  Undefined   "undefined";
        1  Point       "point";
        2  Line        "line";
        3  Triangle    "triangle";
        6  LineAdj     "lineadj";
        7  TriangleAdj "triangleadj";
        8  Patch1      "patch1";
        9  Patch2      "patch2";
        10 Patch3      "patch3";
        11 Patch4      "patch4";
        12 Patch5      "patch5";
        13 Patch6      "patch6";
        14 Patch7      "patch7";
        15 Patch8      "patch8";
        16 Patch9      "patch9";
        17 Patch10     "patch10";
        18 Patch11     "patch11";
        19 Patch12     "patch12";
        20 Patch13     "patch13";
        21 Patch14     "patch14";
        22 Patch15     "patch15";
        23 Patch16     "patch16";
        24 Patch17     "patch17";
        25 Patch18     "patch18";
        26 Patch19     "patch19";
        27 Patch20     "patch20";
        28 Patch21     "patch21";
        29 Patch22     "patch22";
        30 Patch23     "patch23";
        31 Patch24     "patch24";
        32 Patch25     "patch25";
        33 Patch26     "patch26";
        34 Patch27     "patch27";
        35 Patch28     "patch28";
        36 Patch29     "patch29";
        37 Patch30     "patch30";
        38 Patch31     "patch31";
        39 Patch32     "patch32";
    }

    /// What a geometry shader emits.
    Topology "output topology" {
        0  Undefined        "undefined";
        1  PointList        "pointlist";
        2  LineList         "linelist";
        3  LineStrip        "linestrip";
        4  TriangleList     "trianglelist";
        5  TriangleStrip    "trianglestrip";
        10 LineListAdj      "linelist_adj";
        11 LineStripAdj     "linestrip_adj";
        12 TriangleListAdj  "trianglelist_adj";
        13 TriangleStripAdj "trianglestrip_adj";
    }

    /// What the tessellator divides.
    TessDomain "tessellator domain" {
        0 Undefined "domain_undefined";
        1 Isoline   "domain_isoline";
        2 Tri       "domain_tri";
        3 Quad      "domain_quad";
    }

    /// How the tessellator divides edges.
    TessPartitioning "tessellator partitioning" {
        0 Undefined      "partitioning_undefined";
        1 Integer        "partitioning_integer";
        2 Pow2           "partitioning_pow2";
        3 FractionalOdd  "partitioning_fractional_odd";
        4 FractionalEven "partitioning_fractional_even";
    }

    /// What the tessellator makes.
    TessOutput "tessellator output primitive" {
        0 Undefined   "output_undefined";
        1 Point       "output_point";
        2 Line        "output_line";
        3 TriangleCw  "output_triangle_cw";
        4 TriangleCcw "output_triangle_ccw";
    }

    /// What `resinfo` and `sampleinfo` return.
    InfoReturn "info return type" {
        0 Float    "";
        1 RcpFloat "_rcpFloat";
        2 Uint     "_uint";
    }

    /// The precision an operand may be computed with.
    MinPrecision "minimum precision" {
        0 Default   "";
        1 Float16   "min16f";
        2 Float2_8  "min2_8f";
        4 Sint16    "min16i";
        5 Uint16    "min16u";
    }
}

/// A word of flags whose set bits print by name, in ascending order.
macro_rules! flags {
    ($(#[$doc:meta])* $name:ident { $( $bit:literal $constant:ident $printed:literal $flag_doc:literal; )* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(u32);

        impl $name {
            $( #[doc = concat!("`", $printed, "`: ", $flag_doc)] pub const $constant: $name = $name(1 << $bit); )*

            /// Every flag by ascending bit, with the word that prints.
            pub const ALL: &'static [($name, &'static str)] = &[$( ($name::$constant, $printed), )*];

            /// The bits that mean something.
            const MASK: u32 = 0 $( | 1 << $bit )*;

            /// The flags of an opcode token; its other bits are dropped.
            pub const fn from_token(token: u32) -> Self {
                $name(token & Self::MASK)
            }

            /// The token with these flags and no others.
            pub const fn set(self, token: u32) -> u32 {
                token & !Self::MASK | self.0
            }

            /// The flags at the bits they have in the opcode token.
            pub const fn bits(self) -> u32 {
                self.0
            }

            /// Whether every flag of `other` is set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// The words of the flags that are set, by ascending bit.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                Self::ALL.iter().filter(move |(flag, _)| self.contains(*flag)).map(|(_, name)| *name)
            }
        }
    };
}

flags! {
    /// Flags of the whole program, from `dcl_globalFlags`.
    GlobalFlags {
        11 REFACTORING_ALLOWED "refactoringAllowed" "results may differ from evaluation in the written order.";
        12 DOUBLE_PRECISION "enableDoublePrecisionFloatOps" "the program uses doubles.";
        13 EARLY_DEPTH_STENCIL "forceEarlyDepthStencil" "depth and stencil are tested before the pixel shader.";
        14 RAW_AND_STRUCTURED "enableRawAndStructuredBuffers" "shader model 4 with raw and structured buffers.";
        15 SKIP_OPTIMIZATION "skipOptimization" "the driver is asked not to optimise.";
        16 MINIMUM_PRECISION "enableMinimumPrecision" "operands may be computed with less precision.";
        17 DOUBLE_EXTENSIONS "enable11_1DoubleExtensions" "the double operations of Direct3D 11.1.";
        18 SHADER_EXTENSIONS "enable11_1ShaderExtensions" "the other operations of Direct3D 11.1.";
        19 ALL_RESOURCES_BOUND "allResourcesBound" "the application binds every resource.";
    }
}

flags! {
    /// What a `sync` instruction waits for.
    SyncFlags {
        11 THREADS "_t" "every thread of the group arrives.";
        12 GROUP_SHARED "_g" "accesses to group-shared memory.";
        13 UAV_GROUP "_ugroup" "accesses to unordered-access views, seen by the group.";
        14 UAV_GLOBAL "_uglobal" "accesses to unordered-access views, seen by all.";
    }
}

flags! {
    /// Flags of an unordered-access view's declaration.
    UavFlags {
        16 GLOBALLY_COHERENT "_glc" "writes are seen by other groups.";
        17 RASTERIZER_ORDERED "_rov" "accesses happen in the order of the primitives.";
        23 ORDER_PRESERVING_COUNTER "_opc" "has a hidden counter.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_map_back() {
        for &value in SystemValue::ALL {
            assert_eq!(SystemValue::from_number(value.number()), Some(value));
        }
        assert_eq!(SystemValue::from_number(26), None);
        assert_eq!(Primitive::from_number(39).map(Primitive::name), Some("patch32"));
        assert_eq!(Primitive::from_number(4), None);
    }

    #[test]
    fn an_unknown_number_is_an_error_at_its_token() {
        assert_eq!(
            Dimension::decode(13, 0x40),
            Err(DecodeError::Invalid { what: "resource dimension", value: 13, offset: 0x40 })
        );
    }

    #[test]
    fn flags_keep_their_own_bits_and_print_in_order() {
        let flags = GlobalFlags::from_token(u32::MAX);
        assert_eq!(flags.names().count(), 9);
        assert_eq!(
            GlobalFlags::from_token(1 << 11 | 1 << 15).names().collect::<Vec<_>>(),
            ["refactoringAllowed", "skipOptimization"]
        );
        assert!(!SyncFlags::from_token(0).contains(SyncFlags::THREADS));
    }
}
