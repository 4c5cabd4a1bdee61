//! Levels of detail: how many texels a pixel covers, by the derivatives of its coordinates (Direct3D 11.3 functional
//! specification, 7.18.11), and the footprint of an anisotropic filter.

use super::cube;
use super::filter::{Detail, Filtering};
use super::lanes::{Texels, float, log2, square, word};
use super::{Filter, TextureShape};
use crate::simd::{Floats, Mask};

/// A level of detail, with what stands behind the changes: the least there may be, and a bias.
#[inline(always)]
fn with_words<F: Floats>(lod: F, [dx, dy]: [&[F; 4]; 2]) -> Detail<F> {
    // A NaN stays one.
    let bias = float::<F>(15.99).min(float::<F>(-16.0).max(dy[3]));
    Detail { lod: lod + bias, least: dx[3] }
}

/// What a pixel covers of a rectangle: an ellipse, sampled along its longer axis.
struct Footprint<F: Floats> {
    /// By the shorter axis.
    lod: F,
    /// The longer axis, in units of the coordinates.
    axis: [F; 2],
    /// How often it is longer than the other, or as often as the sampler allows.
    places: F,
}

impl<F: Floats, const IS_PLAIN: bool> Filtering<'_, F, IS_PLAIN> {
    /// Filtered at the level that changes of the coordinates give.
    #[inline(always)]
    pub fn sample_gradients(&self, at: &[F; 4], changes: [&[F; 4]; 2]) -> Texels<F> {
        let mut position = self.position(at);
        if !self.is_anisotropic() {
            return self.sample(&position, self.detail(at, changes));
        }
        let footprint = self.footprint(changes);
        let detail = with_words(footprint.lod, changes);
        let centre = position.coordinates;
        let mut mean = [word::<F>(0); 4];
        let mut place = 0.0;
        while place == 0.0 || float::<F>(place).less(footprint.places).any() {
            // In the middle of one of as many parts.
            let part = float::<F>(place + 0.5) / footprint.places - float(0.5);
            for (axis, length) in footprint.axis.into_iter().enumerate() {
                position.coordinates[axis] = centre[axis] + length * part;
            }
            let texels = self.sample(&position, detail);
            if place == 0.0 {
                mean = texels;
            } else {
                // A mean so far, and one more: what is the same everywhere stays as it is.
                let is_place = float::<F>(place).less(footprint.places);
                let weight = float::<F>(1.0 / (place + 1.0)).or_where_not(is_place, float(0.0));
                self.reduce(&mut mean, &texels, weight);
            }
            place += 1.0;
        }
        mean
    }

    /// The level of detail that changes of the coordinates give.
    #[inline(always)]
    pub fn detail(&self, at: &[F; 4], changes: [&[F; 4]; 2]) -> Detail<F> {
        let lod = if self.is_anisotropic() { self.footprint(changes).lod } else { self.level_of_detail(at, changes) };
        with_words(lod, changes)
    }

    /// Whether derivatives give an ellipse. Of cubes and blocks, the filter is linear, as the specification allows.
    #[inline(always)]
    fn is_anisotropic(&self) -> bool {
        !IS_PLAIN
            && self.sampler.min == Filter::Anisotropic
            && matches!(self.shape(), TextureShape::D2 | TextureShape::D2Array)
            && !self.view.info.kind.is_integer()
    }

    /// The level of detail at which a pixel is no longer than a texel.
    #[inline(always)]
    fn level_of_detail(&self, at: &[F; 4], changes: [&[F; 4]; 2]) -> F {
        let (x, y) = (square(self.in_texels(at, changes[0])), square(self.in_texels(at, changes[1])));
        let longer = x.or_where_not(y.less(x) | y.is_nan(), y);
        // Of the square of the length.
        float::<F>(0.5) * log2(longer)
    }

    /// A change of the coordinates in texels of level 0.
    #[inline(always)]
    fn in_texels(&self, [x, y, z, _]: &[F; 4], change: &[F; 4]) -> [F; 3] {
        let size = self.view.info.level_size(0).map(|size| size as f32);
        let shape = self.shape();
        let [mut u, mut v, w, _] = *change;
        if shape.is_cube() {
            [u, v] = cube::project_derivatives([*x, *y, *z], [u, v, w]);
        }
        let directions = if shape.is_cube() { 2 } else { shape.coordinates() };
        let mut texels = [float(0.0); 3];
        for (axis, change) in [u, v, w].into_iter().enumerate().take(directions) {
            texels[axis] = change * float(size[axis]);
        }
        texels
    }

    /// The ellipse that a circle around the pixel becomes: its axes are the singular vectors of the derivatives
    /// (Heckbert 1989, whom the specification cites).
    #[inline(always)]
    fn footprint(&self, [dx, dy]: [&[F; 4]; 2]) -> Footprint<F> {
        let (width, height) = (float::<F>(self.view.info.width as f32), float::<F>(self.view.info.height as f32));
        let [dxu, dxv, dyu, dyv] = [dx[0] * width, dx[1] * height, dy[0] * width, dy[1] * height];
        let (zero, one, half) = (float::<F>(0.0), float::<F>(1.0), float::<F>(0.5));
        let most = float::<F>(self.sampler.max_anisotropy.into());
        // The specification's A, B, C, p, q and t, and the root of its F.
        let (a, c) = (dxv * dxv + dyv * dyv, dxu * dxu + dyu * dyu);
        let b = float::<F>(-2.0) * (dxu * dxv + dyu * dyv);
        let (p, q) = (a - c, a + c);
        let t = (p * p + b * b).sqrt();
        let determinant = (dxu * dyv - dxv * dyu).abs();
        let longer = ((q + t) * half).sqrt();
        let is_ellipse = zero.less(longer) & t.less(float(f32::INFINITY));
        // Of a circle, any direction will do.
        let is_long = zero.less(t);
        let cosine = ((t - p) / (t + t)).sqrt().or_where_not(is_long, one);
        let cosine = cosine.negated().or_where_not(zero.less(b), cosine);
        let sine = ((t + p) / (t + t)).sqrt().or_where_not(is_long, zero);
        let ratio = longer * longer / determinant;
        let is_allowed = ratio.less(most);
        let shorter = (determinant / longer).or_where_not(is_allowed, longer / most);
        let ratio = ratio.or_where_not(is_allowed, most);
        // What is smaller than a texel needs no more places than there are texels.
        let ratio = (ratio * shorter).or_where_not(shorter.less(one), ratio);
        // Rounded up; a hundredth is no reason for one more.
        let places = (float::<F>(0.01) - ratio).floor().negated().max(one).min(most);
        Footprint {
            lod: log2(shorter.or_where_not(is_ellipse, longer)),
            axis: [
                (cosine * longer / width).or_where_not(is_ellipse, zero),
                (sine * longer / height).or_where_not(is_ellipse, zero),
            ],
            places: places.or_where_not(is_ellipse, one),
        }
    }
}
