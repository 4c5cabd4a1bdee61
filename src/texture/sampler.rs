//! Sampler states: filters, address modes, comparisons.

use super::lanes::flushed;
use crate::simd::Floats;

/// Which texels a sample weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Filter {
    /// The nearest.
    Point,
    /// The nearest two in each direction, weighted.
    #[default]
    Linear,
    /// As [`Linear`](Self::Linear); and if it is the filter of texels that are smaller than what is sampled, rectangles
    /// sampled with derivatives are read along the longer axis of what a pixel covers: as often as it is longer than
    /// the other one, at the level of detail of the shorter.
    Anisotropic,
}

/// What a filter makes of its texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Reduction {
    /// Their weighted mean.
    #[default]
    Average,
    /// The least of each component, of those texels that have any weight.
    Minimum,
    /// The most of each component.
    Maximum,
}

/// How exactly a filter knows places and levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Precision {
    /// Floats, which are as exact as anything else in the shader.
    #[default]
    Float,
    /// Eight bits of fraction of a texel and of a level, which is the least that Direct3D allows, and what most
    /// graphics processors have: weights go in steps of 1/256.
    Fixed8,
}

/// Which texel stands for one beyond the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum AddressMode {
    /// The texture repeats.
    Wrap,
    /// The texture repeats, every other time reversed.
    Mirror,
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The border colour.
    Border,
    /// The texture, mirrored at 0; beyond that, the texel at the edge.
    MirrorOnce,
}

/// The test that a comparison sampler applies, with the reference on the left and the texel on the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Comparison {
    /// Fails always.
    #[default]
    Never,
    /// `<`
    Less,
    /// `==`
    Equal,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `!=`
    NotEqual,
    /// `>=`
    GreaterEqual,
    /// Passes always.
    Always,
}

impl Comparison {
    /// Whether a reference passes against a texel. Denormals count as zero; with NaN, only [`NotEqual`](Self::NotEqual)
    /// and [`Always`](Self::Always) pass.
    pub fn passes(self, reference: f32, texel: f32) -> bool {
        let flush = |value: f32| if value.is_subnormal() { 0.0 } else { value };
        self.holds(flush(reference), flush(texel))
    }

    /// Whether it holds between numbers as they are.
    #[inline]
    pub(crate) fn holds(self, value: f32, other: f32) -> bool {
        match self {
            Comparison::Never => false,
            Comparison::Less => value < other,
            Comparison::Equal => value == other,
            Comparison::LessEqual => value <= other,
            Comparison::Greater => value > other,
            Comparison::NotEqual => value != other,
            Comparison::GreaterEqual => value >= other,
            Comparison::Always => true,
        }
    }

    /// The lanes whose reference [passes](Self::passes) against their texel.
    #[inline(always)]
    pub(super) fn passing<F: Floats>(self, reference: F, texel: F) -> F::Mask {
        self.holding(flushed(reference), flushed(texel))
    }

    /// The lanes in which it [holds](Self::holds).
    #[inline(always)]
    pub(crate) fn holding<F: Floats>(self, value: F, other: F) -> F::Mask {
        let is_equal = value.equals(other);
        match self {
            Comparison::Never => value.less(value),
            Comparison::Less => value.less(other),
            Comparison::Equal => is_equal,
            Comparison::LessEqual => value.less(other) | is_equal,
            Comparison::Greater => other.less(value),
            Comparison::NotEqual => !is_equal,
            Comparison::GreaterEqual => other.less(value) | is_equal,
            Comparison::Always => !value.less(value),
        }
    }
}

/// A sampler. [`Default`] is Direct3D's: linear filters, coordinates clamped, every level, no comparison passes.
///
/// ```
/// use shaderjit::{AddressMode, Filter, SamplerState};
///
/// let pixels = SamplerState::point().address(AddressMode::Wrap);
/// let one_level = SamplerState { mip: Filter::Point, max_lod: 0.0, ..SamplerState::default() };
/// assert_ne!(pixels, one_level);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerState {
    /// Filter where the level of detail is above 0: texels are smaller than what is sampled.
    pub min: Filter,
    /// Filter where it is 0 or less.
    pub mag: Filter,
    /// Filter between levels.
    pub mip: Filter,
    /// For u, v and w. Cubes have no edges and ignore them.
    pub address_modes: [AddressMode; 3],
    /// What [`AddressMode::Border`] reads: red, green, blue, alpha. Only the components that the format has count.
    pub border: [f32; 4],
    /// When a reference passes.
    pub comparison: Comparison,
    /// Added to the level of detail; -16 to 15.99.
    pub lod_bias: f32,
    /// The level of detail is at least this, whatever the maximum says.
    pub min_lod: f32,
    /// The level of detail is at most this.
    pub max_lod: f32,
    /// Most places that [`Filter::Anisotropic`] reads along an axis, 1 to 16.
    pub max_anisotropy: u8,
    /// What becomes of the texels.
    pub reduction: Reduction,
    /// How exact places are.
    pub precision: Precision,
}

impl Default for SamplerState {
    fn default() -> SamplerState {
        SamplerState::DEFAULT
    }
}

impl SamplerState {
    /// [`Default`].
    pub(super) const DEFAULT: SamplerState = SamplerState {
        min: Filter::Linear,
        mag: Filter::Linear,
        mip: Filter::Linear,
        address_modes: [AddressMode::Clamp; 3],
        border: [1.0; 4],
        comparison: Comparison::Never,
        lod_bias: 0.0,
        min_lod: f32::MIN,
        max_lod: f32::MAX,
        max_anisotropy: 16,
        reduction: Reduction::Average,
        precision: Precision::Float,
    };

    /// Linear in all ways.
    pub fn linear() -> SamplerState {
        SamplerState::default()
    }

    /// The nearest texel of the nearest level.
    pub fn point() -> SamplerState {
        SamplerState { min: Filter::Point, mag: Filter::Point, mip: Filter::Point, ..SamplerState::default() }
    }

    /// Linear in all ways, along the longer axis of what is sampled at up to so many places, 1 to 16.
    pub fn anisotropic(most: u8) -> SamplerState {
        SamplerState {
            min: Filter::Anisotropic,
            mag: Filter::Anisotropic,
            max_anisotropy: most,
            ..SamplerState::default()
        }
    }

    /// The same with one address mode in all directions.
    pub fn address(self, mode: AddressMode) -> SamplerState {
        SamplerState { address_modes: [mode; 3], ..self }
    }

    /// The same with a comparison.
    pub fn compare(self, comparison: Comparison) -> SamplerState {
        SamplerState { comparison, ..self }
    }

    /// What is wrong with it, if anything.
    pub(crate) fn objection(&self) -> Option<&'static str> {
        if self.min_lod.is_nan() || self.max_lod.is_nan() || self.lod_bias.is_nan() {
            Some("a level of detail of the sampler is no number")
        } else if !(1..=16).contains(&self.max_anisotropy) {
            Some("anisotropy is 1 to 16")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Mask;
    use crate::simd::array::Floats8;

    #[test]
    fn the_reference_is_compared_with_the_texel() {
        use Comparison::*;
        let all = [Never, Less, Equal, LessEqual, Greater, NotEqual, GreaterEqual, Always];
        let passing = |reference, texel| {
            all.map(|comparison| {
                let lanes = comparison.passing(Floats8::all(reference), Floats8::all(texel));
                assert_eq!(lanes.any(), comparison.passes(reference, texel));
                u8::from(lanes.any())
            })
        };
        assert_eq!(passing(0.25, 0.5), [0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(passing(0.5, 0.5), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(passing(0.75, 0.5), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(passing(f32::NAN, 0.5), [0, 0, 0, 0, 0, 1, 0, 1]);
        assert_eq!(passing(1e-40, -1e-39), [0, 0, 1, 1, 0, 0, 1, 1]);
    }
}
