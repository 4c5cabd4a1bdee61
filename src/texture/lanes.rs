//! Arithmetic of all lanes: what the sampler needs beside the operations that [vectors](crate::simd) have.

use super::sampler::Reduction;
use crate::simd::{Floats, Words};
use std::f32::consts::LOG2_E;

/// The bits of four components of each lane's texel.
pub type Texels<F> = [<F as Floats>::Words; 4];

/// A float in every lane.
#[inline(always)]
pub fn float<F: Floats>(value: f32) -> F {
    F::all(value)
}

/// A word in every lane.
#[inline(always)]
pub fn word<F: Floats>(value: u32) -> F::Words {
    F::Words::all(value)
}

/// The whole number below, and how far above it the value is: less than 1.
#[inline(always)]
pub fn whole<F: Floats>(value: F) -> (F::Words, F) {
    let floor = value.floor();
    // Just below a whole number, the difference is rounded up.
    let rest = (value - floor).min(float(1.0f32.next_down()));
    (floor.to_integers(), rest)
}

/// Zero for what is no number.
#[inline(always)]
pub fn number<F: Floats>(value: F) -> F {
    value.or_where_not(value.equals(value), float(0.0))
}

/// Zero for denormals.
#[inline(always)]
pub fn flushed<F: Floats>(value: F) -> F {
    float::<F>(0.0).or_where_not(value.abs().less(float(f32::MIN_POSITIVE)), value)
}

/// The square of a vector's length.
#[inline(always)]
pub fn square<F: Floats>([u, v, w]: [F; 3]) -> F {
    u * u + v * v + w * w
}

/// What of a number lies between bounds; the upper one for what is none.
#[inline(always)]
pub fn bounded<F: Floats>(value: F, least: f32, most: f32) -> F {
    value.min(float(most)).max(float(least))
}

/// A number with eight bits of fraction, to nearest even (Direct3D 11.3 functional specification, 3.2.4.1).
#[inline(always)]
pub fn fixed<F: Floats>(value: F) -> F {
    (value * float(256.0)).round() * float(1.0 / 256.0)
}

/// The binary logarithm of a number that is not negative; of denormals that of 0. Exact for powers of two, elsewhere
/// off by less than 2^-21.
#[inline(always)]
pub fn log2<F: Floats>(value: F) -> F {
    let bits = value.bits();
    let fraction = bits & word::<F>(0x7f_ffff);
    // The mantissa from √½ to √2, so that nothing cancels near 1.
    let is_above = word::<F>(0x35_04f3).less(fraction);
    let exponent = bits.shr(23) - word::<F>(127);
    let exponent = (exponent + word::<F>(1)).or_where_not(is_above, exponent).to_floats();
    let mantissa = (fraction | word::<F>(0x3f00_0000).or_where_not(is_above, word::<F>(0x3f80_0000))).as_floats();
    // log2(1 + t) / t between those bounds, by its values at Chebyshev's points; summed pair by pair (Estrin), for
    // much waits for the result.
    const SERIES: [f32; 8] =
        [LOG2_E, -0.721_352_93, 0.480_916_7, -0.360_225_17, 0.287_288_87, -0.249_271_82, 0.232_652_57, -0.142_759_74];
    let t = mantissa - float(1.0);
    let (square, [a, b, c, d, e, f, g, h]) = (t * t, SERIES.map(float::<F>));
    let (low, high) = ((a + b * t) + (c + d * t) * square, (e + f * t) + (g + h * t) * square);
    let result = exponent + (low + high * (square * square)) * t;
    // Zero, and infinity or NaN.
    let result = float::<F>(f32::NEG_INFINITY).or_where_not(value.less(float(f32::MIN_POSITIVE)), result);
    result.or_where_not(value.less(float(f32::INFINITY)), value)
}

/// The weighted mean of two values. What has no weight does not count, even if it is infinite.
#[inline(always)]
pub fn lerp<F: Floats>(first: F::Words, second: F::Words, weight: F) -> F::Words {
    first.or_where_not(weight.equals(float(0.0)), lerp_finite(first, second, weight))
}

/// The weighted mean of two values that are finite, so that without a weight the second one adds nothing; the first one
/// is not -0.
#[inline(always)]
pub fn lerp_finite<F: Floats>(first: F::Words, second: F::Words, weight: F) -> F::Words {
    let (a, b) = (first.as_floats(), second.as_floats());
    (a + weight * (b - a)).bits()
}

/// The weighted mean of two values, or the least or the most of those that have a weight.
#[inline(always)]
pub fn reduce<F: Floats>(first: F::Words, second: F::Words, weight: F, reduction: Reduction) -> F::Words {
    let (a, b) = (first.as_floats(), second.as_floats());
    let reduced = match reduction {
        Reduction::Average => return lerp(first, second, weight),
        Reduction::Minimum => least(a, b),
        Reduction::Maximum => least(a.negated(), b.negated()).negated(),
    };
    first.or_where_not(weight.equals(float(0.0)), reduced.bits())
}

/// The lesser; of a NaN and a number the number.
#[inline(always)]
pub fn least<F: Floats>(a: F, b: F) -> F {
    a.or_where_not(a.less(b) | b.is_nan(), b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::array::Floats8;

    fn one(value: f32) -> Floats8 {
        Floats8::all(value)
    }

    fn of(value: Floats8) -> f32 {
        f32::from_bits(value.bits().to_array()[0])
    }

    #[test]
    fn logarithms_are_exact_for_powers_of_two_and_near_elsewhere() {
        let log2 = |value: f32| of(log2(one(value)));
        for exponent in -126..128 {
            assert_eq!(log2(2f32.powi(exponent)), exponent as f32);
        }
        for step in 0..500_000u32 {
            let value = f32::from_bits(0x0080_0000 + step * 4243);
            let exact = f64::from(value).log2();
            let error = (f64::from(log2(value)) - exact).abs();
            assert!(error <= 2f64.powi(-21) * exact.abs().max(1.0), "{value:e}: {error:e}");
        }
        assert_eq!([0.0, 1e-40, f32::INFINITY].map(log2), [f32::NEG_INFINITY, f32::NEG_INFINITY, f32::INFINITY]);
        assert!(log2(f32::NAN).is_nan());
    }

    #[test]
    fn numbers_are_split_at_the_whole_number_below() {
        let whole = |value: f32| {
            let (number, rest) = whole(one(value));
            (number.to_array()[0] as i32, of(rest))
        };
        let below = 1.0f32.next_down();
        assert_eq!([2.75, -0.25, -1e-9, 163_840.5].map(whole), [(2, 0.75), (-1, 0.75), (-1, below), (163_840, 0.5)]);
    }

    #[test]
    fn fixed_point_numbers_have_eight_bits_of_fraction_to_nearest_even() {
        let steps = |value: f32| of(fixed(one(value))) * 256.0;
        assert_eq!([0.5, 1.0 / 512.0, 3.0 / 512.0, -0.3].map(steps), [128.0, 0.0, 2.0, -77.0]);
    }
}
