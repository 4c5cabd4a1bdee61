//! The small enumerations of the token format, one line a value: number, name, and what the reference disassembler
//! prints.

use crate::error::DecodeError;

codes! {
    /// The pipeline stage a program is for, by the third byte of its version token.
    Stage "shader stage" {
        0xfe Vertex "vs";
        0xff Pixel  "ps";
    }

    /// What a register belongs to. Some numbers have two meanings, which stage and version tell apart.
    RegisterFile "register file" {
        0  Temporary          "r";
        1  Input              "v";
        2  Constant           "c";
        3  AddressOrTexture   "a";
        4  RasterizerOutput   "oPos";
        5  ColorOutput        "oD";
        6  Output             "o";
        7  ConstantInt        "i";
        8  PixelColor         "oC";
        9  PixelDepth         "oDepth";
        10 Sampler            "s";
        11 Constant2          "c";
        12 Constant3          "c";
        13 Constant4          "c";
        14 ConstantBool       "b";
        15 Loop               "aL";
        16 TemporaryFloat16   "h";
        17 Miscellaneous      "vPos";
        18 Label              "l";
        19 Predicate          "p";
    }

    /// What is done to a source after its components are selected. `$` stands for the register.
    SourceModifier "source modifier" {
        0  None           "$";
        1  Negate         "-$";
        2  Bias           "$_bias";
        3  BiasNegate     "-$_bias";
        4  Sign           "$_bx2";
        5  SignNegate     "-$_bx2";
        6  Complement     "1-$";
        7  Double         "$_x2";
        8  DoubleNegate   "-$_x2";
        9  DivideZ        "$_dz";
        10 DivideW        "$_dw";
        11 Absolute       "$_abs";
        12 AbsoluteNegate "-$_abs";
        13 Not            "!$";
    }

    /// How two numbers are compared.
    Comparison "comparison" {
        1 Greater      "_gt";
        2 Equal        "_eq";
        3 GreaterEqual "_ge";
        4 Less         "_lt";
        5 NotEqual     "_ne";
        6 LessEqual    "_le";
    }

    /// What a texture load does with the fourth coordinate.
    TextureLoad "texture load" {
        0 Plain     "";
        1 Projected "p";
        2 Biased    "b";
    }

    /// What an input or output is for.
    Usage "usage" {
        0  Position     "position";
        1  BlendWeight  "blendweight";
        2  BlendIndices "blendindices";
        3  Normal       "normal";
        4  PointSize    "psize";
        5  TexCoord     "texcoord";
        6  Tangent      "tangent";
        7  Binormal     "binormal";
        8  TessFactor   "tessfactor";
        9  PositionT    "positiont";
        10 Color        "color";
        11 Fog          "fog";
        12 Depth        "depth";
        13 Sample       "sample";
    }

    /// The shape of the texture that a sampler reads.
    SamplerType "sampler type" {
        0 Unknown "";
        2 Flat    "2d";
        3 Cube    "cube";
        4 Volume  "volume";
    }
}
