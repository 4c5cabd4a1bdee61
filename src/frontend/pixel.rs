//! What only a pixel shader has: where each of its inputs is evaluated in a primitive, and what a rasteriser must know
//! of it (Direct3D 11.3 functional specification, chapter 16).

/// How an attribute varies over a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// It does not: every pixel has the bits of the leading vertex.
    Constant,
    /// Linearly over the primitive in space: linear over the target after division by w.
    Perspective,
    /// Linearly over the target.
    NoPerspective,
}

/// Where in a pixel an input is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// At its centre.
    Centre,
    /// At its centre if all samples are covered or none, else at the first sample that is (3.5.5).
    Centroid,
    /// At the sample that is being shaded.
    Sample,
}

/// Where an element of a pixel shader's input signature comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PixelInput {
    /// From the vertices. Each of its components has a plane.
    Attribute {
        /// How it varies.
        interpolation: Interpolation,
        /// Where it is evaluated.
        location: Location,
        /// Number of its first component's plane among those of a primitive; the others follow.
        plane: u32,
    },
    /// `SV_Position`: x and y in the target, depth, w.
    Position(Location),
    /// `SV_IsFrontFace`: all ones or zero.
    FrontFace,
    /// `SV_PrimitiveID`.
    PrimitiveId,
    /// `SV_SampleIndex`: the sample that is being shaded.
    SampleIndex,
    /// `SV_Coverage`: the samples of the pixel that the primitive covers.
    Coverage,
    /// `SV_InnerCoverage`: whether the primitive covers all of the pixel, which is known of conservative rasterization
    /// alone: 0.
    InnerCoverage,
}

/// What a pixel shader computes of an input at a place of its own choice, by `eval_centroid`, `eval_sample_index` and
/// `eval_snapped`: its plane in each pixel. These are input elements behind the signature's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HiddenInput {
    /// 1 in a pixel that is shaded for itself, 0 in one that helps its neighbours, and has no effects.
    Live,
    /// What the attribute of this element is at the pixel's centre, divided by w if it is in perspective.
    Value(u32),
    /// How much that changes from pixel to pixel in x.
    ChangeX(u32),
    /// How much that changes from pixel to pixel in y.
    ChangeY(u32),
    /// 1/w at the pixel's centre, and how much it changes in x and in y.
    ReciprocalW,
    /// Where the centroid is, from the pixel's centre: x and y.
    Centroid,
}

/// What a depth output promises of the depth that the rasteriser interpolates (16.9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DepthOutput {
    /// Nothing: `SV_Depth`.
    Any,
    /// That it is at least that: `SV_DepthGreaterEqual`. The rasteriser sees to it.
    GreaterEqual,
    /// That it is at most that: `SV_DepthLessEqual`. The rasteriser sees to it.
    LessEqual,
}

/// What a pixel shader's output element is to a rasteriser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PixelOutput {
    /// The colour of a render target. Which components of it are written is the element's
    /// [mask](crate::Element::mask).
    Target(u32),
    /// The depth.
    Depth(DepthOutput),
    /// The stencil reference: `SV_StencilRef`.
    StencilRef,
    /// The samples that are written, if they are covered: `SV_Coverage`.
    Coverage,
}

/// What a rasteriser must know of a pixel shader.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PixelInterface {
    /// One entry an input element of the [signature](crate::Interface::signature_inputs).
    pub inputs: Vec<PixelInput>,
    /// One entry an output element of the [signature](crate::Interface::signature_outputs); `None` for what is none of
    /// them.
    pub outputs: Vec<Option<PixelOutput>>,
    /// How many planes a primitive has: components of its attributes.
    pub planes: u32,
    /// Whether it runs once a sample instead of once a pixel: each quad for each sample covered in one of its pixels
    /// (16.2).
    pub per_sample: bool,
    /// Whether depth and stencil are tested before it runs, and by its depth output never (16.12).
    pub early_depth_stencil: bool,
    /// Whether it evaluates attributes at places of its own choice (16.5), which planes are needed for.
    pub pulls_attributes: bool,
    /// Whether it writes memory.
    pub writes_memory: bool,
    /// Whether some view is rasteriser-ordered: accesses of one place in the target happen primitive by primitive, in
    /// the order in which quads are given.
    pub ordered: bool,
    /// One entry an input element behind the signature's.
    pub(crate) hidden: Vec<HiddenInput>,
}

/// Where the samples of a pixel are, from its centre in sixteenths of a pixel, x to the right and y down (Direct3D's
/// standard patterns, `D3D11_STANDARD_MULTISAMPLE_PATTERN`). Only 1, 2, 4, 8 and 16 samples have places; those of other
/// numbers are at the centre: there is no entry.
pub fn sample_positions(samples: u32) -> &'static [[i8; 2]] {
    match samples {
        1 => &[[0, 0]],
        2 => &[[4, 4], [-4, -4]],
        4 => &[[-2, -6], [6, -2], [-6, 2], [2, 6]],
        8 => &[[1, -3], [-1, 3], [5, 1], [-3, -5], [-5, 5], [-7, -1], [3, 7], [7, -7]],
        16 => &[
            [1, 1],
            [-1, -3],
            [-3, 2],
            [4, -1],
            [-5, -2],
            [2, 5],
            [5, 3],
            [3, -5],
            [-2, 6],
            [0, -7],
            [-4, -6],
            [-6, 4],
            [-8, 0],
            [7, -4],
            [6, 7],
            [-7, -8],
        ],
        _ => &[],
    }
}
