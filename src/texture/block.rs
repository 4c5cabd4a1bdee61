//! Block compression: images of 4 by 4 texels a block, decoded once, when the image is made (Direct3D 11.3 functional
//! specification, 19.5). The decoder is `bcdec_rs`'s.

use super::{Image, ImageLayout, TexelFormat, TextureInfo};
use crate::error::TextureError;

/// Texels along each side of a block.
const SIDE: usize = 4;

macro_rules! block_formats {
    ($( $(#[$doc:meta])* $name:ident $text:ident: $bytes:literal bytes, $texels:ident; )*) => {
        /// How the blocks of an image are compressed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum BlockFormat { $( $(#[$doc])* $name, )* }

        impl BlockFormat {
            /// Every format.
            pub const ALL: &'static [BlockFormat] = &[$( BlockFormat::$name, )*];

            /// The name users write: `bc1`.
            pub const fn name(self) -> &'static str { match self { $( BlockFormat::$name => stringify!($text), )* } }

            /// Bytes of a block.
            pub const fn bytes(self) -> usize { match self { $( BlockFormat::$name => $bytes, )* } }

            /// The format that texels are decoded to: exactly, but that colours of BC1 to BC3 between two others, and
            /// alphas of BC3, are rounded to bytes, and values of BC4 and BC5 to 16 bits if they have no sign.
            pub const fn texels(self) -> TexelFormat {
                match self { $( BlockFormat::$name => TexelFormat::$texels, )* }
            }
        }
    };
}
block_formats! {
    /// Colours, transparent or not.
    Bc1Unorm bc1: 8 bytes, Rgba8Unorm;
    /// The same, of the sRGB curve.
    Bc1Srgb bc1srgb: 8 bytes, Rgba8Srgb;
    /// Colours with alphas of four bits.
    Bc2Unorm bc2: 16 bytes, Rgba8Unorm;
    /// The same, of the sRGB curve.
    Bc2Srgb bc2srgb: 16 bytes, Rgba8Srgb;
    /// Colours with interpolated alphas.
    Bc3Unorm bc3: 16 bytes, Rgba8Unorm;
    /// The same, of the sRGB curve.
    Bc3Srgb bc3srgb: 16 bytes, Rgba8Srgb;
    /// One component from 0.0 to 1.0.
    Bc4Unorm bc4: 8 bytes, R16Unorm;
    /// One component from -1.0 to 1.0.
    Bc4Snorm bc4s: 8 bytes, R32Float;
    /// Two components from 0.0 to 1.0.
    Bc5Unorm bc5: 16 bytes, Rg16Unorm;
    /// Two components from -1.0 to 1.0.
    Bc5Snorm bc5s: 16 bytes, Rg32Float;
    /// Three half floats that are not negative.
    Bc6hUfloat bc6h: 16 bytes, Rgba16Float;
    /// Three half floats.
    Bc6hFloat bc6hs: 16 bytes, Rgba16Float;
    /// Colours and alphas, the finest.
    Bc7Unorm bc7: 16 bytes, Rgba8Unorm;
    /// The same, of the sRGB curve.
    Bc7Srgb bc7srgb: 16 bytes, Rgba8Srgb;
}

impl BlockFormat {
    /// The format of that name.
    pub fn from_name(name: &str) -> Option<BlockFormat> {
        BlockFormat::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// How many bytes the blocks of an image are: layer by layer, level by level, slice by slice of a 3D image, row by
    /// row, without padding. Blocks at the right and at the bottom may reach beyond a level.
    ///
    /// # Errors
    /// The sizes fit no texture, need more bytes than memory has addresses, or are of a shape that has no blocks: only
    /// rectangles, 3D images and cubes have some, and arrays of them.
    pub fn blocks_bytes(self, layout: &ImageLayout) -> Result<usize, TextureError> {
        let info = layout.info();
        layout.bytes()?;
        if info.shape.is_multisampled() || info.shape.coordinates() == 1 {
            return Err(TextureError::Blocks { shape: info.shape });
        }
        let layer = (0..info.levels).try_fold(0usize, |sum, level| {
            let [columns, rows, slices] = self.blocks(&info, level);
            sum.checked_add(columns.checked_mul(rows)?.checked_mul(slices)?.checked_mul(self.bytes())?)
        });
        let bytes = layer.and_then(|layer| layer.checked_mul(info.layers() as usize));
        bytes.ok_or(TextureError::Huge)
    }

    /// Columns, rows and slices of blocks of a level.
    fn blocks(self, info: &TextureInfo, level: u32) -> [usize; 3] {
        let [width, height, depth] = info.level_size(level).map(|size| size as usize);
        [width.div_ceil(SIDE), height.div_ceil(SIDE), depth]
    }

    /// The texels of a block, row by row.
    fn decode(self, block: &[u8]) -> [[u8; 16]; SIDE * SIDE] {
        let mut texels = [[0; 16]; SIDE * SIDE];
        match self {
            BlockFormat::Bc4Unorm | BlockFormat::Bc4Snorm | BlockFormat::Bc5Unorm | BlockFormat::Bc5Snorm => {
                let is_signed = matches!(self, BlockFormat::Bc4Snorm | BlockFormat::Bc5Snorm);
                let components = self.texels().components();
                let mut values = [0.0f32; 2 * SIDE * SIDE];
                match components {
                    1 => bcdec_rs::bc4_float(block, &mut values, SIDE, is_signed),
                    _ => bcdec_rs::bc5_float(block, &mut values, 2 * SIDE, is_signed),
                }
                for (texel, values) in values.chunks_exact(components).take(SIDE * SIDE).enumerate() {
                    for (component, &value) in values.iter().enumerate() {
                        let at = component * self.texels().bytes() / components;
                        if is_signed {
                            texels[texel][at..at + 4].copy_from_slice(&value.to_le_bytes());
                        } else {
                            let stored = (value * 65535.0 + 0.5) as u16;
                            texels[texel][at..at + 2].copy_from_slice(&stored.to_le_bytes());
                        }
                    }
                }
            }
            BlockFormat::Bc6hUfloat | BlockFormat::Bc6hFloat => {
                let mut halves = [0u16; 3 * SIDE * SIDE];
                bcdec_rs::bc6h_half(block, &mut halves, 3 * SIDE, matches!(self, BlockFormat::Bc6hFloat));
                const ONE: u16 = 0x3c00;
                for (texel, halves) in halves.chunks_exact(3).enumerate() {
                    let halves = [halves[0], halves[1], halves[2], ONE].map(u16::to_le_bytes);
                    texels[texel][..8].copy_from_slice(halves.as_flattened());
                }
            }
            _ => {
                let mut colours = [0u8; 4 * SIDE * SIDE];
                let pitch = 4 * SIDE;
                match self {
                    BlockFormat::Bc1Unorm | BlockFormat::Bc1Srgb => bcdec_rs::bc1(block, &mut colours, pitch),
                    BlockFormat::Bc2Unorm | BlockFormat::Bc2Srgb => bcdec_rs::bc2(block, &mut colours, pitch),
                    BlockFormat::Bc3Unorm | BlockFormat::Bc3Srgb => bcdec_rs::bc3(block, &mut colours, pitch),
                    _ => bcdec_rs::bc7(block, &mut colours, pitch),
                }
                for (texel, colour) in colours.chunks_exact(4).enumerate() {
                    texels[texel][..4].copy_from_slice(colour);
                }
            }
        }
        texels
    }
}

impl Image<'static> {
    /// Decodes an image of blocks: at least [as many bytes](BlockFormat::blocks_bytes) as the layout needs. The format
    /// of the layout counts for nothing; that of the image is what the blocks are [decoded to](BlockFormat::texels),
    /// and takes up to eight times the memory.
    ///
    /// ```
    /// use shaderjit::{BlockFormat, Image, ImageLayout, TexelFormat};
    ///
    /// let blocks = [0; 2 * 2 * 8];
    /// let layout = ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, 8, 6);
    /// let image = Image::from_blocks(BlockFormat::Bc1Unorm, layout, &blocks)?;
    /// # let _ = image;
    /// # Ok::<(), shaderjit::error::TextureError>(())
    /// ```
    ///
    /// # Errors
    /// There are too few bytes, the sizes fit no texture, or the shape is none that has blocks.
    pub fn from_blocks(
        format: BlockFormat,
        layout: ImageLayout,
        blocks: &[u8],
    ) -> Result<Image<'static>, TextureError> {
        let layout = layout.with_format(format.texels());
        let (needed, available) = (format.blocks_bytes(&layout)?, blocks.len());
        if available < needed {
            return Err(TextureError::Short { needed, available });
        }
        let (info, size) = (layout.info(), layout.format().bytes());
        let mut texels = Vec::with_capacity(layout.bytes()?);
        let mut left = blocks;
        for level in (0..info.layers()).flat_map(|_| 0..info.levels) {
            let [width, height, depth] = info.level_size(level).map(|size| size as usize);
            let [columns, rows, _] = format.blocks(&info, level);
            for row in (0..depth).flat_map(|_| 0..rows) {
                let (blocks, behind) = left.split_at(columns * format.bytes());
                left = behind;
                let start = texels.len();
                let lines = SIDE.min(height - row * SIDE);
                texels.resize(start + lines * width * size, 0);
                for (column, block) in blocks.chunks_exact(format.bytes()).enumerate() {
                    for (number, texel) in format.decode(block).iter().enumerate() {
                        let (x, y) = (column * SIDE + number % SIDE, number / SIDE);
                        if x < width && y < lines {
                            let at = start + (y * width + x) * size;
                            texels[at..at + size].copy_from_slice(&texel[..size]);
                        }
                    }
                }
            }
        }
        Image::new(layout, texels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::{Texel, Texture, TextureShape};

    fn texels(format: BlockFormat, block: &[u8]) -> Vec<[f32; 4]> {
        let image = Image::from_blocks(format, ImageLayout::texture_2d(TexelFormat::R8Uint, 4, 4), block).unwrap();
        let at = |number: u32| Texel { x: number % 4, y: number / 4, ..Texel::default() };
        (0..16).map(|number| image.texel(at(number)).map(f32::from_bits)).collect()
    }

    /// Codes of three bits, of texels 0 to 15.
    fn codes(of: impl Fn(u64) -> u64) -> [u8; 6] {
        let bits = (0..16).fold(0, |bits, texel| bits | of(texel) << (3 * texel));
        *bits.to_le_bytes().first_chunk().unwrap()
    }

    #[test]
    fn names_are_found_and_every_block_decodes() {
        let mut block = [0u8; 16];
        for &format in BlockFormat::ALL {
            assert_eq!(BlockFormat::from_name(format.name()), Some(format));
            for seed in 0..500u32 {
                for (at, byte) in block.iter_mut().enumerate() {
                    *byte = (seed.wrapping_mul(0x9e37_79b9) >> (at % 25)) as u8 ^ (at as u32 * seed) as u8;
                }
                assert_eq!(texels(format, &block[..format.bytes()]).len(), 16);
            }
        }
    }

    /// The specification's palettes (19.5.6): red and blue, and what is between.
    #[test]
    fn colours_are_two_and_what_lies_between() {
        let codes = [0b11_10_01_00u8; 4];
        let opaque = [[0x00, 0xf8, 0x1f, 0x00].as_slice(), &codes].concat();
        let third = 85.0 / 255.0;
        let [red, blue] = [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]];
        let row = [red, blue, [2.0 * third, 0.0, third, 1.0], [third, 0.0, 2.0 * third, 1.0]];
        assert_eq!(texels(BlockFormat::Bc1Unorm, &opaque)[..4], row);
        let transparent = [[0x1f, 0x00, 0x00, 0xf8].as_slice(), &codes].concat();
        let found = texels(BlockFormat::Bc1Unorm, &transparent);
        assert_eq!([found[0], found[1], found[3]], [blue, red, [0.0; 4]]);
        assert!((found[2][0] - 0.5).abs() < 0.004 && found[2][3] == 1.0);
        // Alphas of four bits in front of the same colours, always of the first kind.
        let with_alpha = [[0xf0, 0xff, 0x10, 0x32, 0, 0, 0, 0].as_slice(), &transparent].concat();
        let found = texels(BlockFormat::Bc2Unorm, &with_alpha);
        assert_eq!([found[0][3], found[1][3], found[4][3]], [0.0, 1.0, 0.0]);
        assert_eq!(found[3][3], 1.0);
        assert_eq!(found[3][..3], [2.0 * third, 0.0, third]);
    }

    /// All of 19.5.9 and 19.5.10, within their tolerances; ends and bounds exactly.
    #[test]
    fn single_components_are_as_exact_as_the_specification_asks() {
        for (first, second) in [(200u8, 13u8), (13, 200), (255, 0), (7, 7), (0x81, 0x7f), (0x7f, 0x81)] {
            let block = [[first, second].as_slice(), &codes(|texel| texel % 8)].concat();
            for is_signed in [false, true] {
                let end = |byte: u8| match is_signed {
                    true => (f32::from(byte as i8) / 127.0).max(-1.0),
                    false => f32::from(byte) / 255.0,
                };
                let [a, b] = [end(first), end(second)];
                let is_long = if is_signed { first as i8 > second as i8 } else { first > second };
                let (steps, least) = (if is_long { 7 } else { 5 }, if is_signed { -1.0 } else { 0.0 });
                let expected = |code: i32| match code {
                    0 => a,
                    1 => b,
                    6 if !is_long => least,
                    7 if !is_long => 1.0,
                    code => (a * (steps + 1 - code) as f32 + b * (code - 1) as f32) / steps as f32,
                };
                let format = if is_signed { BlockFormat::Bc4Snorm } else { BlockFormat::Bc4Unorm };
                let tolerance = if is_signed { 1.0 / 32767.0 } else { 1.0 / 65535.0 };
                for (texel, [value, ..]) in texels(format, &block).into_iter().enumerate() {
                    let (code, expected) = (texel % 8, expected(texel as i32 % 8));
                    let is_exact = code < 2 || !is_long && code > 5;
                    let bound = if is_exact { 0.0 } else { tolerance };
                    assert!(
                        (value - expected).abs() <= bound,
                        "{format:?} {first} {second} {code}: {value} {expected}"
                    );
                }
                let two = [block.as_slice(), &block].concat();
                let format = if is_signed { BlockFormat::Bc5Snorm } else { BlockFormat::Bc5Unorm };
                assert!(texels(format, &two).iter().all(|texel| texel[0] == texel[1] && texel[3] == 1.0));
            }
        }
    }

    #[test]
    fn levels_slices_and_edges_have_whole_blocks() {
        let layout = ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, 9, 5).levels(4).slices(2);
        let format = BlockFormat::Bc4Unorm;
        // 9 by 5, 4 by 2, 2 by 1, 1 by 1.
        assert_eq!(format.blocks_bytes(&layout), Ok(2 * (3 * 2 + 1 + 1 + 1) * 8));
        let blocks: Vec<u8> = (0..18).flat_map(|number| [10 * number, 0, 0, 0, 0, 0, 0, 0]).collect();
        let image = Image::from_blocks(format, layout, &blocks).unwrap();
        let texel = |x, y, level, layer| {
            let value = f32::from_bits(image.texel(Texel { x, y, level, layer, ..Texel::default() })[0]);
            (value * 25.5).round() as u32
        };
        assert_eq!([texel(0, 0, 0, 0), texel(8, 0, 0, 0), texel(7, 4, 0, 0), texel(8, 4, 0, 0)], [0, 2, 4, 5]);
        assert_eq!([texel(3, 1, 1, 0), texel(1, 0, 2, 0), texel(0, 0, 3, 1), texel(8, 3, 0, 1)], [6, 7, 17, 11]);
        let block = ImageLayout::texture_3d(TexelFormat::Rgba8Unorm, 4, 4, 3);
        assert_eq!(format.blocks_bytes(&block), Ok(3 * 8));
        let short = Image::from_blocks(format, layout, &blocks[1..]).map(drop);
        assert_eq!(short, Err(TextureError::Short { needed: 144, available: 143 }));
        let row = ImageLayout::texture_1d(TexelFormat::Rgba8Unorm, 8);
        assert_eq!(format.blocks_bytes(&row), Err(TextureError::Blocks { shape: TextureShape::D1 }));
    }
}
