//! Textures as a caller binds them, and the filtering and addressing of a shader's accesses.
//!
//! | file | what it does |
//! |---|---|
//! | `format`, `encode` | how texels are stored |
//! | `image` | the built-in texture: bytes in one of the formats |
//! | `block` | images of compressed blocks |
//! | `sampler` | sampler states |
//! | `lanes` | arithmetic of all lanes |
//! | `decode` | texels of all lanes: bytes → components |
//! | `view` | a bound texture: where its levels lie, and reading it |
//! | `address` | coordinates → texels and weights, address modes |
//! | `cube` | directions → faces, and what lies beyond a face's edges |
//! | `mean` | texels and weights → linear interpolation |
//! | `filter` | levels, filters, comparisons, gathers |
//! | `detail` | derivatives → levels of detail and anisotropic footprints |
//! | `access` | the ops of the IR on a call's textures |
//!
//! All engines ask the same code (`shaderjit_ir::texture::Textures`), once an access, so they get the same bits. The
//! rules are those of the Direct3D 11.3 functional specification, sections 7.18 and 22.4. Where it leaves something
//! open:
//! * coordinates, weights and levels of detail are floats: its eight bits of fraction are what hardware must have at
//!   least, and show as steps where a texture is much enlarged. [`Precision::Fixed8`] has exactly those eight bits, to
//!   compare pictures with those of hardware;
//! * texels are weighed as the floats they are decoded to, x before y before z before levels, `a + weight * (b - a)`;
//! * a texel whose weight is 0 does not count, even if it is infinite;
//! * derivatives are taken as they are, without the orthogonal transformation, and the longer of the two counts;
//! * an [anisotropic](Filter::Anisotropic) filter reads, along the longer axis of the ellipse, the mean of as many
//!   places as that is longer than the other, rounded up, in the middle of equal parts. Cubes are filtered linearly;
//! * magnification is decided after the level of detail is clamped;
//! * filters keep denormals;
//! * the missing texel at a cube's corner is the mean of the three there are.
//!
//! What is generic over vectors (`src/simd`) is written once and compiled for each kind of machine; which code reads
//! a format is found out when a texture is bound.

mod access;
mod address;
mod block;
mod cube;
mod decode;
mod detail;
mod encode;
mod filter;
mod format;
mod image;
mod lanes;
mod mean;
mod sampler;
mod view;

pub(crate) use access::BoundTextures;
pub use block::BlockFormat;
#[cfg(feature = "raster")]
pub(crate) use encode::clamped;
pub use format::{TexelFormat, TexelKind};
pub use image::{Image, ImageLayout};
pub use sampler::{AddressMode, Comparison, Filter, Precision, Reduction, SamplerState};
pub use shaderjit_ir::texture::TextureShape;

use crate::error::TextureError;

/// A texture that shaders read: the caller's own, or an [`Image`].
///
/// ```
/// use shaderjit::texture::{Texel, TexelKind, TextureInfo};
/// use shaderjit::{Texture, TextureShape};
///
/// /// A chessboard that takes no memory.
/// struct Chessboard;
///
/// impl Texture for Chessboard {
///     fn info(&self) -> TextureInfo {
///         TextureInfo { width: 8, height: 8, components: 1, ..TextureInfo::new(TextureShape::D2, TexelKind::Float) }
///     }
///
///     fn texel(&self, at: Texel) -> [u32; 4] {
///         let white = (at.x + at.y) % 2 == 0;
///         [(if white { 1.0f32 } else { 0.0 }).to_bits(), 0, 0, 0]
///     }
/// }
/// # assert_eq!(Chessboard.info().check(), Ok(()));
/// ```
pub trait Texture: Send + Sync {
    /// Shape, sizes and kind of texels. Asked once, when the texture is bound to a call.
    fn info(&self) -> TextureInfo;

    /// The bits of a texel's components: red, green, blue, alpha. The place is inside the sizes of
    /// [`info`](Self::info). Components that the format lacks are ignored.
    ///
    /// A place must give the same bits throughout a run. Texels that no vertex needs may be asked for, too.
    fn texel(&self, at: Texel) -> [u32; 4];

    /// The image whose texels these are, if they are all as it has them: it is sampled many times as fast. Asked once,
    /// when the texture is bound to a call. The default is none.
    fn image(&self) -> Option<&Image<'_>> {
        None
    }
}

/// The place of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Texel {
    /// From the left.
    pub x: u32,
    /// From the top.
    pub y: u32,
    /// From the front, of blocks.
    pub z: u32,
    /// Slice of an array; of cubes six times that, plus the face: +x, -x, +y, -y, +z, -z.
    pub layer: u32,
    /// Level, 0 being the largest.
    pub level: u32,
    /// Sample, of multisampled textures.
    pub sample: u32,
}

/// Shape, sizes and kind of texels of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextureInfo {
    /// Shape.
    pub shape: TextureShape,
    /// Texels of level 0 from left to right.
    pub width: u32,
    /// Texels of level 0 from top to bottom; 1 for rows.
    pub height: u32,
    /// Texels of level 0 from front to back; 1 unless the texture is a block (3D).
    pub depth: u32,
    /// Slices of an array, of six faces each for cubes; 1 without an array.
    pub slices: u32,
    /// Levels, each half as large as the one before, rounded down, but at least one texel.
    pub levels: u32,
    /// Samples of a texel; 1 unless the texture is multisampled.
    pub samples: u32,
    /// Numeric kind of the components.
    pub kind: TexelKind,
    /// How many components the format has, 1 to 4. Others read 0, 0, 0 and 1.
    pub components: u8,
}

impl TextureInfo {
    /// One texel of four components.
    pub const fn new(shape: TextureShape, kind: TexelKind) -> TextureInfo {
        TextureInfo { shape, width: 1, height: 1, depth: 1, slices: 1, levels: 1, samples: 1, kind, components: 4 }
    }

    /// Whether the numbers fit each other and Direct3D 11's limits.
    ///
    /// # Errors
    /// The first number that does not fit, by name.
    pub fn check(&self) -> Result<(), TextureError> {
        let shape = self.shape;
        let only_one = |is_free: bool, limit: u32| if is_free { limit } else { 1 };
        // D3D11_REQ_TEXTURE1D_U_DIMENSION and its like.
        let edge = if shape == TextureShape::D3 { 2048 } else { 16384 };
        let is_row = matches!(shape, TextureShape::D1 | TextureShape::D1Array);
        let slices = if shape.is_cube() { 2048 / 6 } else { 2048 };
        let largest = self.width.max(self.height).max(self.depth).max(1);
        let sizes = [
            ("width", self.width, edge),
            ("height", self.height, only_one(!is_row, edge)),
            ("depth", self.depth, only_one(shape == TextureShape::D3, edge)),
            ("number of slices", self.slices, only_one(shape.is_array(), slices)),
            ("number of levels", self.levels, only_one(!shape.is_multisampled(), largest.ilog2() + 1)),
            ("number of samples", self.samples, only_one(shape.is_multisampled(), 32)),
            ("number of components", self.components.into(), 4),
        ];
        for (what, value, limit) in sizes {
            if value == 0 || value > limit {
                return Err(TextureError::Size { what, value, shape, limit });
            }
        }
        match self.kind {
            TexelKind::Unorm { bits } if !(1..=32).contains(&bits) => return Err(TextureError::Bits { bits }),
            TexelKind::Snorm { bits } if !(2..=32).contains(&bits) => return Err(TextureError::Bits { bits }),
            _ => {}
        }
        if shape.is_cube() && self.width != self.height {
            return Err(TextureError::NotSquare { width: self.width, height: self.height });
        }
        Ok(())
    }

    /// Width, height and depth of a level.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        [self.width, self.height, self.depth].map(|size| size.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Slices, or faces of all cubes.
    pub fn layers(&self) -> u32 {
        if self.shape.is_cube() { self.slices.saturating_mul(6) } else { self.slices }
    }
}

/// What accesses of one texture and one sampler, both with the number 0, are answered by: what the benches measure.
///
/// # Panics
/// What the texture says of itself is not [right](TextureInfo::check).
#[cfg(feature = "unstable")]
pub fn bound(texture: &dyn Texture, state: SamplerState) -> impl shaderjit_ir::texture::Textures {
    let info = texture.info();
    assert_eq!(info.check(), Ok(()));
    let mut bound = BoundTextures::new(1, 1);
    bound.bind(0, texture, info);
    bound.bind_sampler(0, state);
    bound
}

#[cfg(test)]
mod tests;
