//! Samplers as the specification tells them, one lane at a time and one texel after the other.

use super::address::{Span, snap};
use super::cube::{self, OnFace};
use super::detail::Detail;
use crate::texture::{Filter, Reduction, SamplerState, Texel, TexelKind, Texture, TextureInfo, TextureShape};
use shaderjit_ir::Op;
use shaderjit_ir::texture::Access;

/// A texture.
pub struct View<'a> {
    pub texture: &'a dyn Texture,
    pub info: TextureInfo,
}

impl View<'_> {
    /// The texel at a place inside.
    pub fn texel(&self, at: Texel) -> [u32; 4] {
        present(&self.info, self.texture.texel(at))
    }

    /// The slice nearest to a number.
    fn slice(&self, number: f32) -> u32 {
        // What is no number becomes 0.
        number.round_ties_even().clamp(0.0, (self.info.slices - 1) as f32) as u32
    }
}

/// The components that the format has, the others by default.
fn present(info: &TextureInfo, texel: [u32; 4]) -> [u32; 4] {
    std::array::from_fn(|component| {
        if component < usize::from(info.components) { texel[component] } else { info.kind.default_component(component) }
    })
}

/// One sample or gather, all but the level.
pub struct Sampling<'a> {
    view: &'a View<'a>,
    sampler: &'a SamplerState,
    offsets: [i32; 3],
    /// For comparisons, as exact as the texels are.
    reference: Option<f32>,
    place: Place,
}

/// Where.
enum Place {
    Flat { coordinates: [f32; 3], layer: u32 },
    Cube { point: OnFace, slice: u32 },
}

impl<'a> Sampling<'a> {
    /// At coordinates and behind them, for arrays, the slice.
    pub fn new(view: &'a View<'a>, sampler: &'a SamplerState, at: [f32; 4], offsets: [i32; 3]) -> Sampling<'a> {
        let shape = view.info.shape;
        let slice = if shape.is_array() { view.slice(at[shape.coordinates()]) } else { 0 };
        let coordinates = [at[0], at[1], at[2]];
        let place = if shape.is_cube() {
            Place::Cube { point: cube::project(coordinates), slice }
        } else {
            Place::Flat { coordinates, layer: slice }
        };
        Sampling { view, sampler, offsets, reference: None, place }
    }

    /// The same with every texel replaced by whether a reference passes against its first component: 1.0 or 0.0.
    pub fn comparing(mut self, reference: f32) -> Sampling<'a> {
        self.reference = Some(quantize(self.view.info.kind, reference));
        self
    }

    /// Filtered at a level of detail, before the sampler's bias and bounds.
    pub fn sample(&self, lod: f32, least: f32) -> [u32; 4] {
        // Integers have no weights.
        let is_integer = self.view.info.kind.is_integer();
        let is_linear = |filter| filter != Filter::Point && !is_integer;
        let SamplerState { min, mag, mip, max_lod, .. } = *self.sampler;
        if least > 0.0 && (least > (self.view.info.levels - 1) as f32 || least > max_lod) {
            return if self.reference.is_some() { [0; 4] } else { present(&self.view.info, [0; 4]) };
        }
        let lod = bounded(self.sampler, biased(self.sampler, lod), least);
        let filter = is_linear(if lod <= 0.0 { mag } else { min });
        let last = (self.view.info.levels - 1) as f32;
        if is_linear(mip) {
            let lod = lod.clamp(0.0, last);
            let level = lod.floor();
            self.lerp(lod - level, |next| self.at_level(level as u32 + next, filter))
        } else {
            self.at_level((lod + 0.5).floor().clamp(0.0, last) as u32, filter)
        }
    }

    /// One component of the four texels that a linear filter reads at level 0: at the lower left, and on
    /// counterclockwise.
    pub fn gather(&self, component: usize) -> [u32; 4] {
        const ORDER: [[usize; 2]; 4] = [[0, 1], [1, 1], [1, 0], [0, 0]];
        match self.place {
            Place::Flat { coordinates, layer } => {
                let [columns, rows, slices] = self.spans(coordinates, 0, true);
                ORDER.map(|[column, row]| {
                    let place = [columns.texels[column], rows.texels[row], slices.texels[0]];
                    self.tap(place, layer, 0)[component]
                })
            }
            Place::Cube { point, slice } => {
                let [(columns, _), (rows, _)] =
                    point.position.map(|at| cube::linear(at, self.view.info.width, self.sampler.precision));
                ORDER.map(|[column, row]| self.cube_tap(slice, point.face, [columns[column], rows[row]], 0)[component])
            }
        }
    }

    fn at_level(&self, level: u32, linear: bool) -> [u32; 4] {
        match self.place {
            Place::Flat { coordinates, layer } => {
                let [x, y, z] = self.spans(coordinates, level, linear);
                self.lerp(z.weight, |dz| {
                    self.lerp(y.weight, |dy| {
                        self.lerp(x.weight, |dx| {
                            let texels = [x.texels[dx as usize], y.texels[dy as usize], z.texels[dz as usize]];
                            self.tap(texels, layer, level)
                        })
                    })
                })
            }
            Place::Cube { point: OnFace { face, position }, slice } => {
                let [size, ..] = self.view.info.level_size(level);
                if !linear {
                    let place = position.map(|at| cube::nearest(at, size, self.sampler.precision) as i32);
                    return self.cube_tap(slice, face, place, level);
                }
                let [(columns, x_weight), (rows, y_weight)] =
                    position.map(|at| cube::linear(at, size, self.sampler.precision));
                self.lerp(y_weight, |dy| {
                    self.lerp(x_weight, |dx| {
                        self.cube_tap(slice, face, [columns[dx as usize], rows[dy as usize]], level)
                    })
                })
            }
        }
    }

    /// The texels of each direction.
    fn spans(&self, coordinates: [f32; 3], level: u32, linear: bool) -> [Span; 3] {
        let (size, directions) = (self.view.info.level_size(level), self.view.info.shape.coordinates());
        std::array::from_fn(|axis| {
            if axis >= directions {
                return Span::NONE;
            }
            let span = if linear { Span::linear } else { Span::nearest };
            let SamplerState { address_modes, precision, .. } = *self.sampler;
            span(coordinates[axis], size[axis], address_modes[axis], self.offsets[axis], precision)
        })
    }

    /// The weighted mean of what `value` gives for 0 and 1. `value(1)` is not asked for if its weight is 0.
    pub fn lerp(&self, weight: f32, value: impl Fn(u32) -> [u32; 4]) -> [u32; 4] {
        let first = value(0);
        if weight == 0.0 {
            return first;
        }
        let second = value(1);
        std::array::from_fn(|component| {
            let [a, b] = [first, second].map(|texel| f32::from_bits(texel[component]));
            match self.sampler.reduction {
                Reduction::Minimum if self.reference.is_none() => lesser(a, b).to_bits(),
                Reduction::Maximum if self.reference.is_none() => (-lesser(-a, -b)).to_bits(),
                _ => (a + weight * (b - a)).to_bits(),
            }
        })
    }

    /// A texel or the border.
    fn tap(&self, texels: [Option<u32>; 3], layer: u32, level: u32) -> [u32; 4] {
        let value = match texels {
            [Some(x), Some(y), Some(z)] => self.view.texel(Texel { x, y, z, layer, level, sample: 0 }),
            _ => self.border(),
        };
        self.compared(value)
    }

    /// A texel of a face or beyond one of its edges.
    fn cube_tap(&self, slice: u32, face: u32, place: [i32; 2], level: u32) -> [u32; 4] {
        let [size, ..] = self.view.info.level_size(level);
        let tap = |place| {
            let (face, [x, y]) = crate::texture::cube::texel(face, size, place)?;
            let at = Texel { x, y, z: 0, layer: 6 * slice + face, level, sample: 0 };
            Some(self.compared(self.view.texel(at)))
        };
        let inside = place.map(|at| at.clamp(0, size as i32 - 1));
        let around =
            || [inside, [place[0], inside[1]], [inside[0], place[1]]].map(|place| tap(place).unwrap_or_default());
        tap(place).unwrap_or_else(|| match around() {
            [texel, ..] if self.view.info.kind.is_integer() => texel,
            three => std::array::from_fn(|component| {
                let [a, b, c] = three.map(|texel| f32::from_bits(texel[component]));
                match self.sampler.reduction {
                    Reduction::Average => ((a + b + c) / 3.0).to_bits(),
                    Reduction::Minimum => a.min(b).min(c).to_bits(),
                    Reduction::Maximum => a.max(b).max(c).to_bits(),
                }
            }),
        })
    }

    fn border(&self) -> [u32; 4] {
        let colour = self.sampler.border;
        present(
            &self.view.info,
            match self.view.info.kind {
                TexelKind::Float => colour.map(f32::to_bits),
                TexelKind::Unorm { .. } => colour.map(|value| clamp(value, 0.0).to_bits()),
                TexelKind::Snorm { .. } => colour.map(|value| clamp(value, -1.0).to_bits()),
                TexelKind::Uint => colour.map(|value| value as u32),
                TexelKind::Sint => colour.map(|value| value as i32 as u32),
            },
        )
    }

    fn compared(&self, texel: [u32; 4]) -> [u32; 4] {
        match self.reference {
            None => texel,
            Some(reference) => {
                let passes = self.sampler.comparison.passes(reference, f32::from_bits(texel[0]));
                [if passes { 1.0f32 } else { 0.0 }.to_bits(); 4]
            }
        }
    }
}

/// To 1 at most and `least` at least; 0 for what is no number.
fn clamp(value: f32, least: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(least, 1.0) }
}

/// A reference as exact as texels of a kind are (Direct3D 11.3 functional specification, 22.4.19 and 3.2.3).
fn quantize(kind: TexelKind, reference: f32) -> f32 {
    let (least, bits) = match kind {
        TexelKind::Unorm { bits } => (0.0, bits),
        TexelKind::Snorm { bits } => (-1.0, bits - 1),
        _ => return reference,
    };
    let steps = ((1u64 << bits) - 1) as f64;
    let scaled = f64::from(clamp(reference, least)) * steps;
    (scaled + 0.5f64.copysign(scaled)).trunc() as f32 / steps as f32
}

/// The lesser; of a NaN and a number the number.
fn lesser(a: f32, b: f32) -> f32 {
    if a < b || b.is_nan() { a } else { b }
}

/// A level of detail with the sampler's bias.
pub fn biased(sampler: &SamplerState, lod: f32) -> f32 {
    lod + sampler.lod_bias.clamp(-16.0, 15.99)
}

/// A level of detail between the sampler's bounds, and no less than there may be.
pub fn bounded(sampler: &SamplerState, lod: f32, least: f32) -> f32 {
    let lod = lod.min(sampler.max_lod).max(sampler.min_lod).max(least);
    if lod.abs() < 32.0 { snap(lod, sampler.precision) } else { lod }
}

/// One lane's answer.
pub fn answer(
    access: &Access,
    view: &View<'_>,
    sampler: &SamplerState,
    operand: impl Fn(usize) -> [u32; 4],
) -> [u32; 4] {
    let floats = |number| operand(number).map(f32::from_bits);
    let sampling = |offsets: [i32; 3]| Sampling::new(view, sampler, floats(0), offsets);
    let offsets = access.offsets.map(i32::from);
    // Six bits with a sign.
    let dynamic_offsets = |number| {
        let [u, v, ..] = operand(number).map(|word| (word as i32) << 26 >> 26);
        [u, v, 0]
    };
    match access.op {
        Op::TextureLoad => load(view, operand(0), access.offsets),
        Op::TextureSize => size(&view.info, operand(0)[0]),
        Op::TextureSamples => [view.info.samples, 0, 0, 0],
        Op::SampleLevel => sampling(offsets).sample(floats(1)[0], 0.0),
        Op::SampleCompare => sampling(offsets).comparing(floats(1)[0]).sample(0.0, 0.0),
        Op::SampleGradients | Op::SampleCompareGradients | Op::TextureLod => {
            let reference = (access.op == Op::SampleCompareGradients).then(|| floats(1)[0]);
            let first = if reference.is_some() { 2 } else { 1 };
            let changes = [floats(first), floats(first + 1)];
            let detail = Detail { view, sampler, at: floats(0), changes, offsets };
            if access.op == Op::TextureLod { detail.levels() } else { detail.sample(reference) }
        }
        Op::Gather => sampling(offsets).gather(access.component.into()),
        Op::GatherAt => sampling(dynamic_offsets(1)).gather(access.component.into()),
        Op::GatherCompare => sampling(offsets).comparing(floats(1)[0]).gather(0),
        Op::GatherCompareAt => sampling(dynamic_offsets(2)).comparing(floats(1)[0]).gather(0),
        op => {
            debug_assert!(false, "{op} accesses no texture");
            [0; 4]
        }
    }
}

/// The texel at an integer address; zero outside.
fn load(view: &View<'_>, address: [u32; 4], offsets: [i8; 3]) -> [u32; 4] {
    let info = &view.info;
    let (directions, number) = (info.shape.coordinates(), address[3]);
    let layer = if info.shape.is_array() { address[directions] } else { 0 };
    let (level, sample) = if info.shape.is_multisampled() { (0, number) } else { (number, 0) };
    let size = info.level_size(level);
    let place: [u32; 3] = std::array::from_fn(|axis| {
        if axis < directions { address[axis].wrapping_add_signed(offsets[axis].into()) } else { 0 }
    });
    let is_inside = level < info.levels
        && sample < info.samples
        && layer < info.layers()
        && place.iter().zip(size).all(|(&at, size)| at < size);
    match place {
        [x, y, z] if is_inside => view.texel(Texel { x, y, z, layer, level, sample }),
        _ => present(info, [0; 4]),
    }
}

/// The sizes of a level, 0 if there is none; the length of an array behind them; the number of levels last.
fn size(info: &TextureInfo, level: u32) -> [u32; 4] {
    if level >= info.levels {
        return [0, 0, 0, info.levels];
    }
    let [width, height, depth] = info.level_size(level);
    let [y, z] = match info.shape {
        TextureShape::D1 => [0, 0],
        TextureShape::D1Array => [info.slices, 0],
        TextureShape::D3 => [height, depth],
        shape if shape.is_array() => [height, info.slices],
        _ => [height, 0],
    };
    [width, y, z, info.levels]
}
