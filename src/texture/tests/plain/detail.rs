//! Levels of detail and ellipses, one at a time.

use super::cube;
use super::filter::{Sampling, View, biased, bounded};
use crate::simd::array::Floats8;
use crate::simd::{Floats, Words};
use crate::texture::{Filter, SamplerState, TextureShape};

/// A sample with derivatives.
pub struct Detail<'a> {
    pub view: &'a View<'a>,
    pub sampler: &'a SamplerState,
    pub at: [f32; 4],
    /// Behind them the least level and a bias.
    pub changes: [[f32; 4]; 2],
    pub offsets: [i32; 3],
}

/// What a pixel covers.
struct Footprint {
    lod: f32,
    /// The longer axis.
    axis: [f32; 2],
    places: f32,
}

/// The logarithm that the lanes have.
fn log2(value: f32) -> f32 {
    f32::from_bits(crate::texture::lanes::log2(Floats8::all(value)).bits().to_array()[0])
}

impl Detail<'_> {
    /// Filtered, or compared with a reference.
    pub fn sample(&self, reference: Option<f32>) -> [u32; 4] {
        let Footprint { lod, axis, places } = self.footprint();
        let mut mean = [0; 4];
        for place in 0..places as u32 {
            let part = (place as f32 + 0.5) / places - 0.5;
            let mut at = self.at;
            if places > 1.0 {
                at[0] += axis[0] * part;
                at[1] += axis[1] * part;
            }
            let sampling = Sampling::new(self.view, self.sampler, at, self.offsets);
            let sampling = match reference {
                Some(reference) => sampling.comparing(reference),
                None => sampling,
            };
            let sample = sampling.sample(lod, self.changes[0][3]);
            mean = match place {
                0 => sample,
                _ => sampling.lerp(1.0 / (place as f32 + 1.0), |number| if number == 0 { mean } else { sample }),
            };
        }
        mean
    }

    /// The level, and what it is before anything bounds it.
    pub fn levels(&self) -> [u32; 4] {
        let lod = biased(self.sampler, self.footprint().lod);
        let last = (self.view.info.levels - 1) as f32;
        // The sum makes -0 the lower bound.
        let level = bounded(self.sampler, lod, self.changes[0][3]).clamp(0.0, last) + 0.0;
        [level.to_bits(), lod.to_bits(), 0, 0]
    }

    fn footprint(&self) -> Footprint {
        let info = &self.view.info;
        let is_flat = matches!(info.shape, TextureShape::D2 | TextureShape::D2Array);
        let mut footprint = match self.sampler.min == Filter::Anisotropic && is_flat && !info.kind.is_integer() {
            true => self.ellipse(),
            false => {
                let [x, y] = self.in_texels().map(|[u, v, w]| u * u + v * v + w * w);
                Footprint { lod: 0.5 * log2(x.max(y)), axis: [0.0; 2], places: 1.0 }
            }
        };
        footprint.lod += self.changes[1][3].clamp(-16.0, 15.99);
        footprint
    }

    /// Changes in texels of level 0.
    fn in_texels(&self) -> [[f32; 3]; 2] {
        let info = &self.view.info;
        let size = info.level_size(0).map(|size| size as f32);
        let [x, y, z, _] = self.at;
        self.changes.map(|[u, v, w, _]| {
            if info.shape.is_cube() {
                let [u, v] = cube::project_derivative([x, y, z], [u, v, w]);
                return [u * size[0], v * size[0], 0.0];
            }
            let directions = info.shape.coordinates();
            std::array::from_fn(|axis| if axis < directions { [u, v, w][axis] * size[axis] } else { 0.0 })
        })
    }

    /// The axes of the ellipse that a circle around the pixel becomes.
    fn ellipse(&self) -> Footprint {
        let [[dxu, dxv, _], [dyu, dyv, _]] = self.in_texels();
        let (a, c) = (dxv * dxv + dyv * dyv, dxu * dxu + dyu * dyu);
        let b = -2.0 * (dxu * dxv + dyu * dyv);
        let (p, q) = (a - c, a + c);
        let t = (p * p + b * b).sqrt();
        let longer = ((q + t) * 0.5).sqrt();
        let is_ellipse = longer > 0.0 && t < f32::INFINITY;
        if !is_ellipse {
            return Footprint { lod: log2(longer), axis: [0.0; 2], places: 1.0 };
        }
        let root = |value: f32| (value / (2.0 * t)).sqrt();
        let [mut cosine, sine] = if t > 0.0 { [root(t - p), root(t + p)] } else { [1.0, 0.0] };
        if b > 0.0 {
            cosine = -cosine;
        }
        let most = f32::from(self.sampler.max_anisotropy);
        let area = (dxu * dyv - dxv * dyu).abs();
        let (mut ratio, mut shorter) = (longer * longer / area, area / longer);
        if ratio.is_nan() || ratio >= most {
            (ratio, shorter) = (most, longer / most);
        }
        if shorter < 1.0 {
            ratio *= shorter;
        }
        let [width, height, _] = self.view.info.level_size(0).map(|size| size as f32);
        let axis = [cosine * longer / width, sine * longer / height];
        Footprint { lod: log2(shorter), axis, places: (ratio - 0.01).ceil().clamp(1.0, most) }
    }
}
