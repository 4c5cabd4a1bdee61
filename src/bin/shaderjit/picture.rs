//! Pictures: PNG files as textures, and targets as PNG files, still or moving.

use crate::report::Failure;
use shaderjit::raster::Targets;
use shaderjit::{Image, ImageLayout, TexelFormat};
use std::fmt::Display;
use std::fs::File;
use std::io::BufReader;

/// What the numbers of a picture are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texels {
    /// Values from 0 to 1, as they are in the file.
    Data,
    /// Values from 0 to 1, with smaller levels made of them.
    DataLevels,
    /// Colours, which are made linear when they are read, with smaller levels.
    Colors,
}

/// Rows of four bytes a pixel, from the top.
struct Pixels {
    size: [u32; 2],
    bytes: Vec<u8>,
}

impl Pixels {
    fn read(path: &str) -> Result<Pixels, Failure> {
        let failure = |error: &dyn Display| Failure::input(format_args!("{path}: {error}"));
        let file = File::open(path).map_err(|error| failure(&error))?;
        let mut decoder = png::Decoder::new(BufReader::new(file));
        decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
        let mut reader = decoder.read_info().map_err(|error| failure(&error))?;
        let size = reader.output_buffer_size().ok_or_else(|| failure(&"it is too large"))?;
        let mut bytes = vec![0; size];
        let info = reader.next_frame(&mut bytes).map_err(|error| failure(&error))?;
        bytes.truncate(info.buffer_size());
        if info.color_type == png::ColorType::GrayscaleAlpha {
            bytes = bytes.as_chunks().0.iter().flat_map(|&[grey, alpha]| [grey, grey, grey, alpha]).collect();
        }
        Ok(Pixels { size: [info.width, info.height], bytes })
    }

    /// The next smaller level: means of two by two pixels, of the light that colours stand for.
    fn halved(&self, are_colors: bool) -> Pixels {
        let [width, height] = self.size.map(|size| (size / 2).max(1));
        let value = |byte: u8, component: usize| match are_colors && component < 3 {
            true => linear(f32::from(byte) / 255.0),
            false => f32::from(byte) / 255.0,
        };
        let at = |x: u32, y: u32, component: usize| {
            let [x, y] = [x.min(self.size[0] - 1), y.min(self.size[1] - 1)];
            value(self.bytes[4 * (y * self.size[0] + x) as usize + component], component)
        };
        let mean = |x: u32, y: u32, component: usize| {
            let sum: f32 =
                [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[i, j]| at(2 * x + i, 2 * y + j, component)).iter().sum();
            byte(if are_colors && component < 3 { encoded(sum / 4.0) } else { sum / 4.0 })
        };
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Pixels { size: [width, height], bytes: places.flat_map(|(x, y)| [0, 1, 2, 3].map(|n| mean(x, y, n))).collect() }
    }
}

/// A picture as a texture of four components.
pub fn texture(path: &str, texels: Texels) -> Result<Image<'static>, Failure> {
    let mut pixels = Pixels::read(path)?;
    let format = if texels == Texels::Colors { TexelFormat::Rgba8Srgb } else { TexelFormat::Rgba8Unorm };
    let levels = if texels == Texels::Data { 1 } else { pixels.size[0].max(pixels.size[1]).max(1).ilog2() + 1 };
    let layout = ImageLayout::texture_2d(format, pixels.size[0], pixels.size[1]).levels(levels);
    let mut bytes = pixels.bytes.clone();
    for _ in 1..levels {
        pixels = pixels.halved(texels == Texels::Colors);
        bytes.extend(&pixels.bytes);
    }
    Image::new(layout, bytes).map_err(|error| Failure::input(format_args!("{path}: {error}")))
}

/// What a byte of a picture stands for (sRGB, IEC 61966-2-1).
fn linear(value: f32) -> f32 {
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

/// The other way.
fn encoded(value: f32) -> f32 {
    if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 }
}

fn byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// A target's pixels, red, green, blue and alpha of each, the values clamped to 0 to 1 and those of sRGB targets
/// encoded; zeros where `is_nothing` says of the values that nothing was drawn.
pub fn of_target(targets: &Targets, slot: usize, is_nothing: impl Fn(&[f32; 4]) -> bool) -> Vec<u8> {
    let format = targets.layout().format(slot);
    let value = |bits: u32| match format {
        Some(TexelFormat::Rgba32Uint) => bits as f32,
        Some(TexelFormat::Rgba32Sint) => bits as i32 as f32,
        _ => f32::from_bits(bits),
    };
    let is_encoded = matches!(format, Some(TexelFormat::Rgba8Srgb | TexelFormat::Bgra8Srgb));
    let pixel = |color: [u32; 4]| {
        let values = color.map(value);
        match (is_nothing(&values), values) {
            (true, _) => [0; 4],
            (false, [r, g, b, a]) if is_encoded => [byte(encoded(r)), byte(encoded(g)), byte(encoded(b)), byte(a)],
            (false, values) => values.map(byte),
        }
    };
    targets.resolved(slot, 0).into_iter().flat_map(pixel).collect()
}

/// A PNG file of frames of that size, each made when it is its turn; of several frames, one that moves, so many a
/// second.
pub fn png(
    [width, height]: [u32; 2],
    frames: u32,
    per_second: u16,
    mut frame: impl FnMut(u32) -> Result<Vec<u8>, Failure>,
) -> Result<Vec<u8>, Failure> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    if frames > 1 {
        encoder.set_animated(frames, 0).map_err(Failure::input)?;
        encoder.set_frame_delay(1, per_second).map_err(Failure::input)?;
    }
    let mut writer = encoder.write_header().map_err(Failure::input)?;
    for number in 0..frames {
        writer.write_image_data(&frame(number)?).map_err(Failure::input)?;
    }
    writer.finish().map_err(Failure::input)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_means_of_light() {
        let bytes = vec![0, 0, 0, 0, 255, 255, 255, 255];
        let pixels = Pixels { size: [2, 1], bytes };
        assert_eq!(pixels.halved(false).bytes, [128; 4]);
        assert_eq!(pixels.halved(true).bytes, [188, 188, 188, 128]);
        assert_eq!(pixels.halved(true).size, [1, 1]);
    }

    #[test]
    fn bytes_come_back_from_light() {
        for number in 0..=255u8 {
            assert_eq!(byte(encoded(linear(f32::from(number) / 255.0))), number);
        }
    }
}
