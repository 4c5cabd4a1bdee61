//! The states of the fixed functions, named as Direct3D names them.
//!
//! Each [`Default`] is Direct3D's, except that depth is not tested: a draw without a depth buffer needs nothing said.

use crate::texture::Comparison;

/// Which triangles are dropped for the way they face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CullMode {
    /// None.
    None,
    /// Those that face the eye.
    Front,
    /// Those that face away. What has no area faces away.
    #[default]
    Back,
}

/// How triangles are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FillMode {
    /// Their area.
    #[default]
    Solid,
    /// Their edges, as lines; not those that clipping makes.
    Wireframe,
}

/// How primitives become pixels (functional specification, 15.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RasterizerState {
    /// Area or edges.
    pub fill: FillMode,
    /// What is dropped.
    pub cull: CullMode,
    /// Whether triangles that wind counter-clockwise on the screen face the eye, instead of the others.
    pub front_counter_clockwise: bool,
    /// Added to the depths of triangles, in the smallest steps of the depth buffer.
    pub depth_bias: i32,
    /// Added to the depths of triangles for each pixel that their depth rises by 1, in the steeper direction.
    pub slope_scaled_depth_bias: f32,
    /// The most that is added if above 0, the least if below.
    pub depth_bias_clamp: f32,
    /// Whether primitives are clipped to depths of the viewport; else depths are clamped.
    pub depth_clip: bool,
    /// Whether pixels are limited to the viewport's scissor rectangle.
    pub scissor: bool,
    /// Whether lines are rectangles 1.4 pixels wide, which cover samples, instead of one pixel in each column or row.
    /// It says nothing of points and triangles.
    pub multisample: bool,
}

impl Default for RasterizerState {
    fn default() -> RasterizerState {
        RasterizerState {
            fill: FillMode::Solid,
            cull: CullMode::Back,
            front_counter_clockwise: false,
            depth_bias: 0,
            slope_scaled_depth_bias: 0.0,
            depth_bias_clamp: 0.0,
            depth_clip: true,
            scissor: false,
            multisample: false,
        }
    }
}

/// Where clip space lies on the target, and the range of depths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    /// Left edge in pixels.
    pub x: f32,
    /// Upper edge in pixels.
    pub y: f32,
    /// Pixels from the left to the right edge.
    pub width: f32,
    /// Pixels from the upper to the lower edge.
    pub height: f32,
    /// Depth of what is nearest, 0 to 1.
    pub min_depth: f32,
    /// Depth of what is farthest, 0 to 1 and no less than the nearest.
    pub max_depth: f32,
}

impl Viewport {
    /// All of a target, and all depths.
    pub fn new(width: u32, height: u32) -> Viewport {
        Viewport { x: 0.0, y: 0.0, width: width as f32, height: height as f32, min_depth: 0.0, max_depth: 1.0 }
    }

    /// Whether the numbers are in the ranges of 15.6.1.
    pub(super) fn is_valid(&self) -> bool {
        let edge = |at: f32| (-32768.0..=32767.0).contains(&at);
        let span = |at: f32, size: f32| edge(at) && size >= 0.0 && edge(at + size);
        let depth = |depth: f32| (0.0..=1.0).contains(&depth);
        span(self.x, self.width)
            && span(self.y, self.height)
            && depth(self.min_depth)
            && depth(self.max_depth)
            && self.min_depth <= self.max_depth
    }
}

/// The pixels that may be drawn: from left to right and top to bottom, the last ones excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Scissor {
    /// The first column.
    pub left: i32,
    /// The first row.
    pub top: i32,
    /// The column behind the last.
    pub right: i32,
    /// The row behind the last.
    pub bottom: i32,
}

/// What becomes of a stencil value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum StencilOp {
    /// It stays.
    #[default]
    Keep,
    /// 0.
    Zero,
    /// The reference value.
    Replace,
    /// One more, at most 255.
    IncrementSaturate,
    /// One less, at least 0.
    DecrementSaturate,
    /// Every bit inverted.
    Invert,
    /// One more; 0 after 255.
    Increment,
    /// One less; 255 before 0.
    Decrement,
}

/// The stencil test of triangles that face one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StencilFace {
    /// If the stencil test fails.
    pub fail: StencilOp,
    /// If it passes and the depth test fails.
    pub depth_fail: StencilOp,
    /// If both pass.
    pub pass: StencilOp,
    /// The test: the reference on the left, the stored value on the right.
    pub comparison: Comparison,
}

impl Default for StencilFace {
    fn default() -> StencilFace {
        let keep = StencilOp::Keep;
        StencilFace { fail: keep, depth_fail: keep, pass: keep, comparison: Comparison::Always }
    }
}

/// What is tested and written of depth and stencil (functional specification, 17.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DepthStencilState {
    /// Whether depths are tested and written.
    pub depth: bool,
    /// Whether they are written.
    pub depth_write: bool,
    /// The test: the pixel's depth on the left, the stored one on the right.
    pub depth_comparison: Comparison,
    /// Whether stencils are tested and written.
    pub stencil: bool,
    /// Bits that the test compares.
    pub stencil_read_mask: u8,
    /// Bits that are written.
    pub stencil_write_mask: u8,
    /// For triangles that face the eye, points and lines.
    pub front: StencilFace,
    /// For triangles that face away.
    pub back: StencilFace,
}

impl Default for DepthStencilState {
    fn default() -> DepthStencilState {
        DepthStencilState {
            depth: false,
            depth_write: true,
            depth_comparison: Comparison::Less,
            stencil: false,
            stencil_read_mask: 0xff,
            stencil_write_mask: 0xff,
            front: StencilFace::default(),
            back: StencilFace::default(),
        }
    }
}

impl DepthStencilState {
    /// Depths are tested so, and written.
    pub fn depth(comparison: Comparison) -> DepthStencilState {
        DepthStencilState { depth: true, depth_comparison: comparison, ..DepthStencilState::default() }
    }
}

/// What source or destination is multiplied by. Of alpha, colours stand for alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blend {
    /// 0
    Zero,
    /// 1
    One,
    /// The source's colour.
    SourceColor,
    /// 1 less the source's colour.
    InverseSourceColor,
    /// The source's alpha.
    SourceAlpha,
    /// 1 less the source's alpha.
    InverseSourceAlpha,
    /// The destination's alpha.
    DestinationAlpha,
    /// 1 less the destination's alpha.
    InverseDestinationAlpha,
    /// The destination's colour.
    DestinationColor,
    /// 1 less the destination's colour.
    InverseDestinationColor,
    /// Of colour, the source's alpha or 1 less the destination's, whichever is less; of alpha, 1.
    SourceAlphaSaturate,
    /// The draw's constant.
    Factor,
    /// 1 less the draw's constant.
    InverseFactor,
    /// The colour of the shader's second output (dual source).
    Source1Color,
    /// 1 less the colour of the shader's second output.
    InverseSource1Color,
    /// The alpha of the shader's second output.
    Source1Alpha,
    /// 1 less the alpha of the shader's second output.
    InverseSource1Alpha,
}

/// How weighted source and destination are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlendOp {
    /// Source plus destination.
    Add,
    /// Source less destination.
    Subtract,
    /// Destination less source.
    ReverseSubtract,
    /// The lesser; weights do not count.
    Min,
    /// The greater; weights do not count.
    Max,
}

/// An equation of blending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlendEquation {
    /// What the source is multiplied by.
    pub source: Blend,
    /// What the destination is multiplied by.
    pub destination: Blend,
    /// How they are joined.
    pub op: BlendOp,
}

/// Bits of source `s` and destination `d` (functional specification, 17.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogicOp {
    /// `0`
    Clear,
    /// `1`
    Set,
    /// `s`
    Copy,
    /// `!s`
    CopyInverted,
    /// `d`
    Noop,
    /// `!d`
    Invert,
    /// `s & d`
    And,
    /// `!(s & d)`
    Nand,
    /// `s | d`
    Or,
    /// `!(s | d)`
    Nor,
    /// `s ^ d`
    Xor,
    /// `!(s ^ d)`
    Equivalent,
    /// `s & !d`
    AndReverse,
    /// `!s & d`
    AndInverted,
    /// `s | !d`
    OrReverse,
    /// `!s | d`
    OrInverted,
}

/// How a shader's output and what a target holds become what it holds afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mix {
    /// The output replaces it.
    #[default]
    Replace,
    /// They are blended: an equation for colour, one for alpha. Targets of integers are not blended.
    Blend(BlendEquation, BlendEquation),
    /// Their bits are joined, in targets of unsigned integers.
    Logic(LogicOp),
}

impl Mix {
    /// Source over destination: weights are the source's alpha, and 1 less it.
    pub const ALPHA: Mix = Mix::Blend(
        BlendEquation { source: Blend::SourceAlpha, destination: Blend::InverseSourceAlpha, op: BlendOp::Add },
        BlendEquation { source: Blend::One, destination: Blend::InverseSourceAlpha, op: BlendOp::Add },
    );
}

/// What is done with one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetBlend {
    /// How output and target become one.
    pub mix: Mix,
    /// Components that are written, red in bit 0.
    pub write_mask: u8,
}

impl Default for TargetBlend {
    fn default() -> TargetBlend {
        TargetBlend { mix: Mix::Replace, write_mask: 0xf }
    }
}

/// The most targets of a draw.
pub const MAX_TARGETS: usize = 8;

/// The most viewports of a draw.
pub const MAX_VIEWPORTS: usize = 16;

/// What is done with the outputs of a pixel shader (functional specification, 17.1).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct BlendState {
    /// Whether the alpha of output 0 says how many samples are covered.
    pub alpha_to_coverage: bool,
    /// One entry a target.
    pub targets: [TargetBlend; MAX_TARGETS],
    /// The constant of [`Blend::Factor`].
    pub factor: [f32; 4],
}

impl BlendState {
    /// This mix for every target.
    pub fn all(mix: Mix) -> BlendState {
        let target = TargetBlend { mix, ..TargetBlend::default() };
        BlendState { targets: [target; MAX_TARGETS], ..BlendState::default() }
    }
}
