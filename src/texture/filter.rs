//! What a sampler makes of a texture: levels of detail, filters, comparisons, gathers.

use super::address::Span;
use super::cube::{self, OnFace};
use super::{Filter, SamplerState, Texel, TexelKind, Texture, TextureInfo};
use shaderjit_ir::eval::eval;
use shaderjit_ir::{Op, Type};

/// A bound texture.
#[derive(Clone, Copy)]
pub struct View<'a> {
    texture: &'a dyn Texture,
    pub info: TextureInfo,
}

impl<'a> View<'a> {
    /// A texture and what it says of itself, which has been checked.
    pub fn new(texture: &'a dyn Texture, info: TextureInfo) -> View<'a> {
        View { texture, info }
    }

    /// The texel at a place inside.
    pub fn texel(&self, at: Texel) -> [u32; 4] {
        self.info.present(self.texture.texel(at))
    }

    /// The slice nearest to a number.
    fn slice(&self, number: f32) -> u32 {
        // What is no number becomes 0.
        number.round_ties_even().clamp(0.0, (self.info.slices - 1) as f32) as u32
    }
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
    pub fn sample(&self, lod: f32) -> [u32; 4] {
        // Integers have no weights.
        let is_integer = self.view.info.kind.is_integer();
        let is_linear = |filter| filter != Filter::Point && !is_integer;
        let SamplerState { min, mag, mip, lod_bias, min_lod, max_lod, .. } = *self.sampler;
        // A NaN is lost here.
        let lod = (lod + lod_bias.clamp(-16.0, 15.99)).min(max_lod).max(min_lod);
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
                let [(columns, _), (rows, _)] = point.position.map(|at| cube::linear(at, self.view.info.width));
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
                    let place = position.map(|at| cube::nearest(at, size) as i32);
                    return self.cube_tap(slice, face, place, level);
                }
                let [(columns, x_weight), (rows, y_weight)] = position.map(|at| cube::linear(at, size));
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
            span(coordinates[axis], size[axis], self.sampler.address_modes[axis], self.offsets[axis])
        })
    }

    /// The weighted mean of what `value` gives for 0 and 1. `value(1)` is not asked for if its weight is 0.
    fn lerp(&self, weight: f32, value: impl Fn(u32) -> [u32; 4]) -> [u32; 4] {
        let first = value(0);
        if weight == 0.0 {
            return first;
        }
        let second = value(1);
        std::array::from_fn(|component| {
            let [a, b] = [first, second].map(|texel| f32::from_bits(texel[component]));
            (a + weight * (b - a)).to_bits()
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
            let (face, [x, y]) = cube::texel(face, size, place)?;
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
                ((a + b + c) / 3.0).to_bits()
            }),
        })
    }

    fn border(&self) -> [u32; 4] {
        let colour = self.sampler.border;
        self.view.info.present(match self.view.info.kind {
            TexelKind::Float => colour.map(f32::to_bits),
            TexelKind::Unorm { .. } => colour.map(|value| clamp(value, 0.0).to_bits()),
            TexelKind::Snorm { .. } => colour.map(|value| clamp(value, -1.0).to_bits()),
            TexelKind::Uint => colour.map(|value| value as u32),
            TexelKind::Sint => colour.map(|value| value as i32 as u32),
        })
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

/// The level of detail at which changes of the coordinates by `dx` and `dy` are no longer than a texel.
pub fn level_of_detail(info: &TextureInfo, at: [f32; 4], changes: [[f32; 4]; 2]) -> f32 {
    let size = info.level_size(0).map(|size| size as f32);
    let lengths = changes.map(|change| {
        let change = [change[0], change[1], change[2]];
        let scaled = if info.shape.is_cube() {
            let [u, v] = cube::project_derivative([at[0], at[1], at[2]], change);
            [u * size[0], v * size[0], 0.0]
        } else {
            let directions = info.shape.coordinates();
            std::array::from_fn(|axis| if axis < directions { change[axis] * size[axis] } else { 0.0 })
        };
        let [u, v, w] = scaled;
        (u * u + v * v + w * w).sqrt()
    });
    let [lod] = eval(Op::Flog2, Type::F32, &[[lengths[0].max(lengths[1]).to_bits()]], false);
    f32::from_bits(lod)
}
