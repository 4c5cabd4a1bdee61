//! Codes that several parts of shader model 6 use (DirectXShaderCompiler, `DxilConstants.h`).

open_code! {
    /// What kind of function a program or an entry is.
    ShaderStage(u32) {
        0 PIXEL "pixel",
        1 VERTEX "vertex",
        2 GEOMETRY "geometry",
        3 HULL "hull",
        4 DOMAIN "domain",
        5 COMPUTE "compute",
        6 LIBRARY "library",
        7 RAY_GENERATION "ray generation",
        8 INTERSECTION "intersection",
        9 ANY_HIT "any hit",
        10 CLOSEST_HIT "closest hit",
        11 MISS "miss",
        12 CALLABLE "callable",
        13 MESH "mesh",
        14 AMPLIFICATION "amplification",
        15 NODE "node",
        16 INVALID "invalid",
    }
}

impl ShaderStage {
    /// The letters that begin a profile, such as `vs`. Functions that exist in libraries alone have none of their own.
    pub const fn prefix(self) -> Option<&'static str> {
        Some(match self {
            Self::PIXEL => "ps",
            Self::VERTEX => "vs",
            Self::GEOMETRY => "gs",
            Self::HULL => "hs",
            Self::DOMAIN => "ds",
            Self::COMPUTE => "cs",
            Self::LIBRARY => "lib",
            Self::MESH => "ms",
            Self::AMPLIFICATION => "as",
            _ => return None,
        })
    }
}

open_code! {
    /// Shape of a resource.
    DxilResourceKind(u32) {
        0 INVALID "invalid",
        1 TEXTURE_1D "1d",
        2 TEXTURE_2D "2d",
        3 TEXTURE_2D_MS "2d multisampled",
        4 TEXTURE_3D "3d",
        5 TEXTURE_CUBE "cube",
        6 TEXTURE_1D_ARRAY "1d array",
        7 TEXTURE_2D_ARRAY "2d array",
        8 TEXTURE_2D_MS_ARRAY "2d multisampled array",
        9 TEXTURE_CUBE_ARRAY "cube array",
        10 TYPED_BUFFER "typed buffer",
        11 RAW_BUFFER "raw buffer",
        12 STRUCTURED_BUFFER "structured buffer",
        13 CBUFFER "cbuffer",
        14 SAMPLER "sampler",
        15 TBUFFER "tbuffer",
        16 ACCELERATION_STRUCTURE "acceleration structure",
        17 FEEDBACK_TEXTURE_2D "feedback 2d",
        18 FEEDBACK_TEXTURE_2D_ARRAY "feedback 2d array",
    }
}

open_code! {
    /// What a signature element stands for.
    SemanticKind(u8) {
        0 ARBITRARY "arbitrary",
        1 VERTEX_ID "VertexID",
        2 INSTANCE_ID "InstanceID",
        3 POSITION "Position",
        4 RENDER_TARGET_ARRAY_INDEX "RenderTargetArrayIndex",
        5 VIEWPORT_ARRAY_INDEX "ViewportArrayIndex",
        6 CLIP_DISTANCE "ClipDistance",
        7 CULL_DISTANCE "CullDistance",
        8 OUTPUT_CONTROL_POINT_ID "OutputControlPointID",
        9 DOMAIN_LOCATION "DomainLocation",
        10 PRIMITIVE_ID "PrimitiveID",
        11 GS_INSTANCE_ID "GSInstanceID",
        12 SAMPLE_INDEX "SampleIndex",
        13 IS_FRONT_FACE "IsFrontFace",
        14 COVERAGE "Coverage",
        15 INNER_COVERAGE "InnerCoverage",
        16 TARGET "Target",
        17 DEPTH "Depth",
        18 DEPTH_LESS_EQUAL "DepthLessEqual",
        19 DEPTH_GREATER_EQUAL "DepthGreaterEqual",
        20 STENCIL_REF "StencilRef",
        21 DISPATCH_THREAD_ID "DispatchThreadID",
        22 GROUP_ID "GroupID",
        23 GROUP_INDEX "GroupIndex",
        24 GROUP_THREAD_ID "GroupThreadID",
        25 TESS_FACTOR "TessFactor",
        26 INSIDE_TESS_FACTOR "InsideTessFactor",
        27 VIEW_ID "ViewID",
        28 BARYCENTRICS "Barycentrics",
        29 SHADING_RATE "ShadingRate",
        30 CULL_PRIMITIVE "CullPrimitive",
        31 START_VERTEX_LOCATION "StartVertexLocation",
        32 START_INSTANCE_LOCATION "StartInstanceLocation",
    }
}

open_code! {
    /// How an element is interpolated over a primitive.
    Interpolation(u8) {
        0 UNDEFINED "undefined",
        1 CONSTANT "constant",
        2 LINEAR "linear",
        3 LINEAR_CENTROID "linear centroid",
        4 LINEAR_NOPERSPECTIVE "linear noperspective",
        5 LINEAR_NOPERSPECTIVE_CENTROID "linear noperspective centroid",
        6 LINEAR_SAMPLE "linear sample",
        7 LINEAR_NOPERSPECTIVE_SAMPLE "linear noperspective sample",
    }
}

open_code! {
    /// What a geometry shader takes.
    InputPrimitive(u32) {
        0 UNDEFINED "undefined",
        1 POINT "point",
        2 LINE "line",
        3 TRIANGLE "triangle",
        6 LINE_ADJACENCY "line with adjacency",
        7 TRIANGLE_ADJACENCY "triangle with adjacency",
    }
}

impl InputPrimitive {
    /// Control points of a patch; `None` if it is no patch.
    pub const fn control_points(self) -> Option<u32> {
        match self.0 {
            8..=39 => Some(self.0 - 7),
            _ => None,
        }
    }
}

open_code! {
    /// What a geometry shader makes.
    PrimitiveTopology(u32) {
        0 UNDEFINED "undefined",
        1 POINT_LIST "point list",
        2 LINE_LIST "line list",
        3 LINE_STRIP "line strip",
        4 TRIANGLE_LIST "triangle list",
        5 TRIANGLE_STRIP "triangle strip",
    }
}

open_code! {
    /// What a tessellator subdivides.
    TessellatorDomain(u32) {
        0 UNDEFINED "undefined",
        1 ISOLINE "isoline",
        2 TRIANGLE "triangle",
        3 QUAD "quad",
    }
}

open_code! {
    /// What a tessellator makes.
    TessellatorOutput(u32) {
        0 UNDEFINED "undefined",
        1 POINT "point",
        2 LINE "line",
        3 TRIANGLE_CW "triangle, clockwise",
        4 TRIANGLE_CCW "triangle, counterclockwise",
    }
}

open_code! {
    /// What a mesh shader makes.
    MeshTopology(u8) {
        0 UNDEFINED "undefined",
        1 LINE "line",
        2 TRIANGLE "triangle",
    }
}
