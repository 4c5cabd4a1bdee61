//! The numbers in `RDEF` records that stand for something (Direct3D 11 and 12 reflection).

open_code! {
    /// What the variables of a constant-buffer record describe.
    ConstantBufferType(u32) {
        0 CBUFFER "cbuffer",
        1 TBUFFER "tbuffer",
        2 INTERFACE_POINTERS "interfaces",
        3 RESOURCE_BIND_INFO "resource bind info",
    }
}

open_code! {
    /// What is bound to a slot.
    InputType(u32) {
        0 CBUFFER "cbuffer",
        1 TBUFFER "tbuffer",
        2 TEXTURE "texture",
        3 SAMPLER "sampler",
        4 UAV_TYPED "UAV",
        5 STRUCTURED "structured buffer",
        6 UAV_STRUCTURED "structured UAV",
        7 BYTE_ADDRESS "byte-address buffer",
        8 UAV_BYTE_ADDRESS "byte-address UAV",
        9 UAV_APPEND "append UAV",
        10 UAV_CONSUME "consume UAV",
        11 UAV_STRUCTURED_COUNTER "structured UAV with counter",
        12 ACCELERATION_STRUCTURE "acceleration structure",
        13 FEEDBACK_TEXTURE "feedback texture",
    }
}

impl InputType {
    /// Whether it is a buffer of structures, of either kind of view.
    pub const fn is_structured(self) -> bool {
        matches!(
            self,
            Self::STRUCTURED
                | Self::UAV_STRUCTURED
                | Self::UAV_APPEND
                | Self::UAV_CONSUME
                | Self::UAV_STRUCTURED_COUNTER
        )
    }
}

impl Dimension {
    /// Whether a texel has several samples.
    pub const fn is_multisampled(self) -> bool {
        matches!(self, Self::TEXTURE_2D_MS | Self::TEXTURE_2D_MS_ARRAY)
    }
}

open_code! {
    /// What reading a resource returns.
    ReturnType(u32) {
        0 NONE "none",
        1 UNORM "unorm",
        2 SNORM "snorm",
        3 SINT "sint",
        4 UINT "uint",
        5 FLOAT "float",
        6 MIXED "mixed",
        7 DOUBLE "double",
        8 CONTINUED "continued",
    }
}

open_code! {
    /// Shape of a resource.
    Dimension(u32) {
        0 NONE "none",
        1 BUFFER "buffer",
        2 TEXTURE_1D "1d",
        3 TEXTURE_1D_ARRAY "1d array",
        4 TEXTURE_2D "2d",
        5 TEXTURE_2D_ARRAY "2d array",
        6 TEXTURE_2D_MS "2d multisampled",
        7 TEXTURE_2D_MS_ARRAY "2d multisampled array",
        8 TEXTURE_3D "3d",
        9 TEXTURE_CUBE "cube",
        10 TEXTURE_CUBE_ARRAY "cube array",
        11 BUFFER_EX "raw buffer",
    }
}

open_code! {
    /// What kind of type a type record describes.
    TypeClass(u16) {
        0 SCALAR "scalar",
        1 VECTOR "vector",
        2 MATRIX_ROWS "row-major matrix",
        3 MATRIX_COLUMNS "column-major matrix",
        4 OBJECT "object",
        5 STRUCT "struct",
        6 INTERFACE_CLASS "interface class",
        7 INTERFACE_POINTER "interface pointer",
    }
}

open_code! {
    /// The type of a scalar, or of the components of a vector or matrix, or the kind of an object, as HLSL spells it.
    BaseType(u16) {
        0 VOID "void",
        1 BOOL "bool",
        2 INT "int",
        3 FLOAT "float",
        4 STRING "string",
        5 TEXTURE "texture",
        6 TEXTURE_1D "Texture1D",
        7 TEXTURE_2D "Texture2D",
        8 TEXTURE_3D "Texture3D",
        9 TEXTURE_CUBE "TextureCube",
        10 SAMPLER "sampler",
        11 SAMPLER_1D "sampler1D",
        12 SAMPLER_2D "sampler2D",
        13 SAMPLER_3D "sampler3D",
        14 SAMPLER_CUBE "samplerCUBE",
        15 PIXEL_SHADER "PixelShader",
        16 VERTEX_SHADER "VertexShader",
        17 PIXEL_FRAGMENT "PixelFragment",
        18 VERTEX_FRAGMENT "VertexFragment",
        19 UINT "uint",
        20 UINT_8 "uint8",
        21 GEOMETRY_SHADER "GeometryShader",
        22 RASTERIZER "RasterizerState",
        23 DEPTH_STENCIL "DepthStencilState",
        24 BLEND "BlendState",
        25 BUFFER "Buffer",
        26 CBUFFER "cbuffer",
        27 TBUFFER "tbuffer",
        28 TEXTURE_1D_ARRAY "Texture1DArray",
        29 TEXTURE_2D_ARRAY "Texture2DArray",
        30 RENDER_TARGET_VIEW "RenderTargetView",
        31 DEPTH_STENCIL_VIEW "DepthStencilView",
        32 TEXTURE_2D_MS "Texture2DMS",
        33 TEXTURE_2D_MS_ARRAY "Texture2DMSArray",
        34 TEXTURE_CUBE_ARRAY "TextureCubeArray",
        35 HULL_SHADER "HullShader",
        36 DOMAIN_SHADER "DomainShader",
        37 INTERFACE_POINTER "interface",
        38 COMPUTE_SHADER "ComputeShader",
        39 DOUBLE "double",
        40 RW_TEXTURE_1D "RWTexture1D",
        41 RW_TEXTURE_1D_ARRAY "RWTexture1DArray",
        42 RW_TEXTURE_2D "RWTexture2D",
        43 RW_TEXTURE_2D_ARRAY "RWTexture2DArray",
        44 RW_TEXTURE_3D "RWTexture3D",
        45 RW_BUFFER "RWBuffer",
        46 BYTE_ADDRESS_BUFFER "ByteAddressBuffer",
        47 RW_BYTE_ADDRESS_BUFFER "RWByteAddressBuffer",
        48 STRUCTURED_BUFFER "StructuredBuffer",
        49 RW_STRUCTURED_BUFFER "RWStructuredBuffer",
        50 APPEND_BUFFER "AppendStructuredBuffer",
        51 CONSUME_BUFFER "ConsumeStructuredBuffer",
        52 MIN_8_FLOAT "min8float",
        53 MIN_10_FLOAT "min10float",
        54 MIN_16_FLOAT "min16float",
        55 MIN_12_INT "min12int",
        56 MIN_16_INT "min16int",
        57 MIN_16_UINT "min16uint",
        58 INT_16 "int16_t",
        59 UINT_16 "uint16_t",
        60 FLOAT_16 "float16_t",
        61 INT_64 "int64_t",
        62 UINT_64 "uint64_t",
    }
}
