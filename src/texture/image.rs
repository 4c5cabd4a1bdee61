//! The built-in texture: bytes in a format.

use super::{Texel, TexelFormat, Texture, TextureInfo, TextureShape};
use crate::error::TextureError;
use std::borrow::Cow;
use std::fmt;

/// Shape, sizes and format of an [`Image`].
///
/// ```
/// use shaderjit::{ImageLayout, TexelFormat};
///
/// let atlas = ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, 256, 128).levels(9).slices(4);
/// assert_eq!(atlas.bytes(), Ok(4 * (256 * 128 * 4 + 128 * 64 * 4 + 64 * 32 * 4 + 32 * 16 * 4 + 16 * 8 * 4 + 8 * 4 * 4
///     + 4 * 2 * 4 + 2 * 1 * 4 + 4)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageLayout {
    info: TextureInfo,
    format: TexelFormat,
}

impl ImageLayout {
    fn new(shape: TextureShape, format: TexelFormat, [width, height, depth]: [u32; 3]) -> ImageLayout {
        let components = format.components() as u8;
        let info = TextureInfo { width, height, depth, components, ..TextureInfo::new(shape, format.kind()) };
        ImageLayout { info, format }
    }

    /// A row.
    pub fn texture_1d(format: TexelFormat, width: u32) -> ImageLayout {
        ImageLayout::new(TextureShape::D1, format, [width, 1, 1])
    }

    /// A rectangle.
    pub fn texture_2d(format: TexelFormat, width: u32, height: u32) -> ImageLayout {
        ImageLayout::new(TextureShape::D2, format, [width, height, 1])
    }

    /// A rectangle of texels of several samples.
    pub fn texture_2d_ms(format: TexelFormat, width: u32, height: u32, samples: u32) -> ImageLayout {
        let mut layout = ImageLayout::new(TextureShape::D2Ms, format, [width, height, 1]);
        layout.info.samples = samples;
        layout
    }

    /// A block.
    pub fn texture_3d(format: TexelFormat, width: u32, height: u32, depth: u32) -> ImageLayout {
        ImageLayout::new(TextureShape::D3, format, [width, height, depth])
    }

    /// Six faces.
    pub fn cube(format: TexelFormat, edge: u32) -> ImageLayout {
        ImageLayout::new(TextureShape::Cube, format, [edge, edge, 1])
    }

    /// An array of so many slices, or cubes, of this layout. There are no arrays of blocks: their
    /// [`bytes`](Self::bytes) are an error.
    pub fn slices(mut self, slices: u32) -> ImageLayout {
        self.info.slices = slices;
        self.info.shape = match self.info.shape {
            TextureShape::D1 => TextureShape::D1Array,
            TextureShape::D2 => TextureShape::D2Array,
            TextureShape::D2Ms => TextureShape::D2MsArray,
            TextureShape::Cube => TextureShape::CubeArray,
            shape => shape,
        };
        self
    }

    /// This layout with so many levels.
    pub fn levels(mut self, levels: u32) -> ImageLayout {
        self.info.levels = levels;
        self
    }

    /// This layout with another format.
    pub(super) fn with_format(self, format: TexelFormat) -> ImageLayout {
        let info = TextureInfo { kind: format.kind(), components: format.components() as u8, ..self.info };
        ImageLayout { info, format }
    }

    /// Shape, sizes and kind of texels that an image of this layout has.
    pub fn info(&self) -> TextureInfo {
        self.info
    }

    /// The format of its texels.
    pub fn format(&self) -> TexelFormat {
        self.format
    }

    /// How many bytes an image has.
    ///
    /// # Errors
    /// The sizes fit no texture, or need more bytes than memory has addresses.
    pub fn bytes(&self) -> Result<usize, TextureError> {
        self.info.check()?;
        let layer = (0..self.info.levels).try_fold(0usize, |sum, level| sum.checked_add(self.level_bytes(level)?));
        let bytes = layer.and_then(|layer| layer.checked_mul(self.info.layers() as usize));
        bytes.ok_or(TextureError::Huge)
    }

    /// Bytes of one level of one layer.
    fn level_bytes(&self, level: u32) -> Option<usize> {
        let [width, height, depth] = self.info.level_size(level).map(|size| size as usize);
        let texel = self.format.bytes().checked_mul(self.info.samples as usize)?;
        width.checked_mul(height)?.checked_mul(depth)?.checked_mul(texel)
    }
}

/// A texture of bytes, borrowed or owned: layer by layer, level by level, row by row without padding, the samples of a
/// texel one after the other.
///
/// ```
/// use shaderjit::{Image, ImageLayout, TexelFormat};
///
/// let pixels = [0; 8 * 8 * 4];
/// let image = Image::new(ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, 8, 8), &pixels[..])?;
/// # let _ = image;
/// # Ok::<(), shaderjit::error::TextureError>(())
/// ```
#[derive(Clone)]
pub struct Image<'a> {
    layout: ImageLayout,
    /// Where each level begins in a layer, and how long a layer is.
    levels: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Image<'a> {
    /// An image of at least as many bytes as the layout needs; the rest is ignored.
    ///
    /// # Errors
    /// There are too few bytes, or the sizes fit no texture.
    pub fn new(layout: ImageLayout, bytes: impl Into<Cow<'a, [u8]>>) -> Result<Image<'a>, TextureError> {
        let (needed, bytes) = (layout.bytes()?, bytes.into());
        if bytes.len() < needed {
            return Err(TextureError::Short { needed, available: bytes.len() });
        }
        let ends = (0..layout.info.levels).scan(0, |end, level| {
            *end += layout.level_bytes(level)?;
            Some(*end)
        });
        Ok(Image { layout, levels: std::iter::once(0).chain(ends).collect(), bytes })
    }

    /// Shape, sizes and format.
    pub fn layout(&self) -> &ImageLayout {
        &self.layout
    }
}

impl Image<'_> {
    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Texture for Image<'_> {
    fn info(&self) -> TextureInfo {
        self.layout.info
    }

    fn image(&self) -> Option<&Image<'_>> {
        Some(self)
    }

    fn texel(&self, at: Texel) -> [u32; 4] {
        let ImageLayout { info, format } = self.layout;
        let [width, height, _] = info.level_size(at.level).map(|size| size as usize);
        let [x, y, z, layer, level, sample] =
            [at.x, at.y, at.z, at.layer, at.level, at.sample].map(|number| number as usize);
        let texel = (((z * height + y) * width) + x) * info.samples as usize + sample;
        let (Some(start), Some(layer_bytes)) = (self.levels.get(level), self.levels.last()) else { return [0; 4] };
        let start = layer * layer_bytes + start + texel * format.bytes();
        format.decode(self.bytes.get(start..start + format.bytes()).unwrap_or_default())
    }
}

impl fmt::Debug for Image<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("layout", &self.layout).finish_non_exhaustive()
    }
}
