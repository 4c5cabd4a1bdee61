//! The scalar twin: a sampler as one writes it without thinking of vectors, by the rules of `shaderjit::texture`.

use shaderjit::{AddressMode, Filter, SamplerState};

/// How texels are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Rgba8,
    /// Blocks of 4 by 4 texels.
    Bc1,
}

/// A rectangle with levels.
pub struct Texture<'a> {
    pub format: Format,
    pub width: usize,
    pub height: usize,
    /// The bytes of each level.
    pub levels: Vec<&'a [u8]>,
}

impl<'a> Texture<'a> {
    /// A texture of so many levels whose bytes these are, the largest first.
    pub fn new(format: Format, [width, height]: [usize; 2], levels: usize, bytes: &'a [u8]) -> Texture<'a> {
        let mut left = bytes;
        let levels = (0..levels).map(|level| {
            let [width, height] = [width, height].map(|size| (size >> level).max(1));
            let (level, behind) = left.split_at(match format {
                Format::Rgba8 => width * height * 4,
                Format::Bc1 => width.div_ceil(4) * height.div_ceil(4) * 8,
            });
            left = behind;
            level
        });
        Texture { format, width, height, levels: levels.collect() }
    }

    /// Filtered at a level of detail.
    pub fn sample(&self, sampler: &SamplerState, u: f32, v: f32, lod: f32) -> [f32; 4] {
        let lod = (lod + sampler.lod_bias).min(sampler.max_lod).max(sampler.min_lod);
        let filter = if lod <= 0.0 { sampler.mag } else { sampler.min };
        let last = (self.levels.len() - 1) as f32;
        if sampler.mip == Filter::Point {
            return self.level((lod + 0.5).floor().clamp(0.0, last) as usize, sampler, filter, u, v);
        }
        let lod = lod.clamp(0.0, last);
        let level = lod.floor();
        let first = self.level(level as usize, sampler, filter, u, v);
        if lod == level {
            return first;
        }
        lerp(first, self.level(level as usize + 1, sampler, filter, u, v), lod - level)
    }

    fn level(&self, level: usize, sampler: &SamplerState, filter: Filter, u: f32, v: f32) -> [f32; 4] {
        let (width, height) = ((self.width >> level).max(1), (self.height >> level).max(1));
        let texel = |x: i32, y: i32| {
            let x = address(x, width as i32, sampler.address_modes[0]);
            let y = address(y, height as i32, sampler.address_modes[1]);
            match (x, y) {
                (Some(x), Some(y)) => self.texel(level, width, x, y),
                _ => sampler.border,
            }
        };
        let x = reduce(u, sampler.address_modes[0]) * width as f32;
        let y = reduce(v, sampler.address_modes[1]) * height as f32;
        if filter == Filter::Point {
            return texel(x.floor() as i32, y.floor() as i32);
        }
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        // Just below a whole number, the difference is rounded up.
        let [weight_x, weight_y] = [x - left, y - top].map(|weight| weight.min(1.0f32.next_down()));
        let (left, top) = (left as i32, top as i32);
        lerp(
            lerp(texel(left, top), texel(left + 1, top), weight_x),
            lerp(texel(left, top + 1), texel(left + 1, top + 1), weight_x),
            weight_y,
        )
    }

    fn texel(&self, level: usize, width: usize, x: usize, y: usize) -> [f32; 4] {
        let bytes = self.levels[level];
        match self.format {
            Format::Rgba8 => {
                let at = (y * width + x) * 4;
                let texel = &bytes[at..at + 4];
                [texel[0], texel[1], texel[2], texel[3]].map(|byte| f32::from(byte) / 255.0)
            }
            Format::Bc1 => {
                let at = (y / 4 * width.div_ceil(4) + x / 4) * 8;
                bc1(&bytes[at..at + 8], x % 4, y % 4).map(|byte| f32::from(byte) / 255.0)
            }
        }
    }
}

fn lerp(a: [f32; 4], b: [f32; 4], weight: f32) -> [f32; 4] {
    [0, 1, 2, 3].map(|component| a[component] + weight * (b[component] - a[component]))
}

/// Keeps a coordinate near the texture.
fn reduce(coordinate: f32, mode: AddressMode) -> f32 {
    let reduced = match mode {
        AddressMode::Wrap => coordinate - coordinate.floor(),
        AddressMode::Mirror => (coordinate / 2.0 - (coordinate / 2.0).trunc()) * 2.0,
        _ => coordinate.clamp(-10.0, 10.0),
    };
    if reduced.is_nan() { 0.0 } else { reduced }
}

/// The texel that stands for another; none is the border.
fn address(texel: i32, size: i32, mode: AddressMode) -> Option<usize> {
    let texel = match mode {
        AddressMode::Wrap => texel.rem_euclid(size),
        AddressMode::Mirror => {
            let texel = texel.rem_euclid(2 * size);
            texel.min(2 * size - 1 - texel)
        }
        AddressMode::Border if !(0..size).contains(&texel) => return None,
        AddressMode::MirrorOnce => (if texel < 0 { -1 - texel } else { texel }).min(size - 1),
        _ => texel.clamp(0, size - 1),
    };
    Some(texel as usize)
}

/// A texel of a block.
fn bc1(block: &[u8], x: usize, y: usize) -> [u8; 4] {
    let ends = [u16::from_le_bytes([block[0], block[1]]), u16::from_le_bytes([block[2], block[3]])];
    let [first, second] = ends.map(|end| {
        let (red, green, blue) = (end >> 11, end >> 5 & 63, end & 31);
        [(red * 527 + 23) >> 6, (green * 259 + 33) >> 6, (blue * 527 + 23) >> 6]
    });
    let mix =
        |a: u16, b: u16| [0, 1, 2].map(|channel| (a * first[channel] + b * second[channel] + (a + b) / 2) / (a + b));
    let ([red, green, blue], alpha) = match (block[4 + y] >> (2 * x) & 3, ends[0] > ends[1]) {
        (0, _) => (first, 255),
        (1, _) => (second, 255),
        (2, true) => (mix(2, 1), 255),
        (_, true) => (mix(1, 2), 255),
        (2, false) => (mix(1, 1), 255),
        (_, false) => ([0; 3], 0),
    };
    [red as u8, green as u8, blue as u8, alpha]
}
