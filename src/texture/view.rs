//! A bound texture: where its levels lie, and the texels of all lanes at once.

use super::address::{BORDER, Span};
use super::decode::Decoder;
use super::lanes::{float, number, word};
use super::mean::{Mean, corner_of, is_border};
use super::{Image, Texel, Texture, TextureInfo};
use crate::simd::{Array, Floats, Mask, Words};
use shaderjit_ir::texture::{LANES, TextureShape};

/// Most levels of a texture, and one more, which makes a power of two.
const LEVELS: usize = 16;

/// A texture as a call has bound it: what is the same for all accesses is found out here, once.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub info: TextureInfo,
    source: Source<'a>,
}

/// Where texels come from.
#[derive(Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "there are few, and an access should follow no more pointers")]
enum Source<'a> {
    /// The caller is asked for each.
    Caller(&'a dyn Texture),
    /// Memory.
    Image {
        bytes: &'a [u8],
        decoder: Decoder,
        /// Texels of a layer in front of each level, and of a whole layer. The image has fewer than 2^31 words.
        starts: [u32; LEVELS],
        layer: u32,
    },
}

/// One level of one layer in each lane.
#[derive(Clone, Copy)]
pub struct Plane<F: Floats> {
    pub level: F::Words,
    pub layer: F::Words,
    /// Width, height and depth.
    pub size: [F::Words; 3],
    /// The number of its first texel in the image.
    start: F::Words,
}

impl<'a> View<'a> {
    /// A texture and what it says of itself, which has been checked.
    pub fn new(texture: &'a dyn Texture, info: TextureInfo) -> View<'a> {
        let image = texture.image().filter(|image| image.layout().info() == info);
        let source = image.and_then(Source::memory).unwrap_or(Source::Caller(texture));
        View { info, source }
    }

    /// The planes of levels and layers, which there must be, of a texture of this shape.
    #[inline(always)]
    pub fn plane<F: Floats>(&self, shape: TextureShape, level: F::Words, layer: F::Words) -> Plane<F> {
        let mut size = [word::<F>(1); 3];
        let directions = if shape == TextureShape::D3 { 3 } else { 2 };
        let largest = [self.info.width, self.info.height, self.info.depth];
        for (level_size, largest) in size.iter_mut().zip(largest).take(directions) {
            *level_size = word::<F>(largest).shifted_by(level).max(word::<F>(1));
        }
        let mut plane = Plane { level, layer, size, start: word::<F>(0) };
        self.place(&mut plane);
        plane
    }

    /// Sets the start of a plane, whose level or layer is new.
    #[inline(always)]
    pub fn place<F: Floats>(&self, plane: &mut Plane<F>) {
        if let Source::Image { starts, layer, .. } = &self.source {
            plane.start = word::<F>(0);
            if self.info.layers() > 1 {
                plane.start = plane.layer * word::<F>(*layer);
            }
            if self.info.levels > 1 {
                plane.start = plane.start + plane.level.entries_of(starts);
            }
        }
    }

    /// The slices nearest to numbers.
    #[inline(always)]
    pub fn slices<F: Floats>(&self, numbers: F) -> F::Words {
        let last = (self.info.slices - 1) as f32;
        // What is no number becomes 0.
        number(numbers).round().max(float(0.0)).min(float(last)).to_integers()
    }

    /// Reads texels of a plane, of a texture of this shape, at N corners of spans for each of the first lanes, and
    /// gives their components one after the other, at most so many: zeros where the place is the border. Samples of
    /// multisampled texels lie side by side.
    #[inline(always)]
    pub fn read<F: Floats, const N: usize>(
        &self,
        shape: TextureShape,
        plane: &Plane<F>,
        spans: &[Span<F>; 3],
        lanes: usize,
        components: usize,
        mean: &mut Mean<'_, F>,
    ) {
        let Source::Image { bytes, decoder, .. } = &self.source else {
            return self.ask::<F, N>(plane, spans, lanes, components, mean);
        };
        let border = word::<F>(BORDER);
        let counts = word::<F>(lanes as u32);
        let is_asked = F::Words::from_array(&NUMBERS).less(counts);
        let mut width = plane.size[0];
        if shape.is_multisampled() {
            width = width * word::<F>(self.info.samples);
        }
        let mut numbers = [border; N];
        for (corner, number) in numbers.iter_mut().enumerate() {
            let place = corner_of(spans, corner);
            let [x, mut row, z] = place;
            if shape == TextureShape::D3 {
                row = row + z * plane.size[1];
            }
            let texel = plane.start + row * width + x;
            // One place by itself may be outside for other reasons: it is loaded from.
            let may_be_outside = N == 1 || mean.has_border();
            let is_there = if may_be_outside { is_asked & !is_border::<F>(&place) } else { is_asked };
            *number = texel.or_where_not(is_there, border);
        }
        let are_pairs = N > 1 && !(is_asked & !are_side_by_side(&spans[0], mean.has_border())).any();
        decoder.read(bytes, &numbers, are_pairs, lanes, components, mean);
    }

    /// Asks the caller for each texel.
    #[inline(always)]
    fn ask<F: Floats, const N: usize>(
        &self,
        plane: &Plane<F>,
        spans: &[Span<F>; 3],
        lanes: usize,
        components: usize,
        mean: &mut Mean<'_, F>,
    ) {
        let Source::Caller(texture) = &self.source else { return };
        let (level, layer) = (plane.level.to_array(), plane.layer.to_array());
        let mut texels = [[[0; LANES]; N]; 4];
        for number in 0..N {
            let [x, y, z] = corner_of(spans, number);
            let (x, y, z) = (x.to_array(), y.to_array(), z.to_array());
            for lane in 0..lanes.min(F::LANES) {
                if x[lane] == BORDER || y[lane] == BORDER || z[lane] == BORDER {
                    continue;
                }
                let (x, sample) = (x[lane] / self.info.samples, x[lane] % self.info.samples);
                let (y, z, layer, level) = (y[lane], z[lane], layer[lane], level[lane]);
                let bits = texture.texel(Texel { x, y, z, layer, level, sample });
                texels.iter_mut().zip(bits).for_each(|(texels, bits)| texels[number][lane] = bits);
            }
        }
        for (component, texels) in texels.iter().enumerate().take(components) {
            let mut corners = [word::<F>(0); N];
            for (corner, texels) in corners.iter_mut().zip(texels) {
                *corner = F::Words::from_array(texels);
            }
            mean.take(component, &corners, false);
        }
    }
}

/// The lanes whose second texel is the one behind the first, as around most points, or the border as the first is.
#[inline(always)]
fn are_side_by_side<F: Floats>(x: &Span<F>, has_border: bool) -> F::Mask {
    let [first, second] = x.texels;
    let mut step = word::<F>(1);
    if has_border {
        step = word::<F>(0).or_where_not(first.equals(word::<F>(BORDER)), step);
    }
    second.equals(first + step)
}

/// The number of each lane.
const NUMBERS: Array = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

impl<'a> Source<'a> {
    /// The memory of an image that is not too large for numbers of words.
    fn memory(image: &'a Image<'a>) -> Option<Source<'a>> {
        let (layout, mut starts) = (image.layout(), [0; LEVELS]);
        let (info, format) = (layout.info(), layout.format());
        let mut sum = 0u32;
        for level in 0..info.levels {
            *starts.get_mut(level as usize)? = sum;
            let [width, height, depth] = info.level_size(level);
            let texels = width.checked_mul(height)?.checked_mul(depth)?.checked_mul(info.samples)?;
            sum = sum.checked_add(texels)?;
        }
        let words = u64::from(sum) * u64::from(info.layers()) * format.bytes().div_ceil(4) as u64;
        let bytes = image.bytes().get(..layout.bytes().ok()?)?;
        if words >= 1 << 31 {
            return None;
        }
        Some(Source::Image { bytes, decoder: Decoder::new(format), starts, layer: sum })
    }
}
