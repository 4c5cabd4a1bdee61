//! Powers, sines and cosines. The coefficients are minimax fits; errors are about 2^-22 of the result.

use super::simd::Simd;

/// 1.5 * 2^23: the sum with a small number has that number, rounded to an integer, in its lowest bits.
const ROUNDER: f32 = 12_582_912.0;

/// Highest power first.
#[inline(always)]
fn polynomial<S: Simd>(x: S::F, coefficients: &[f32]) -> S::F {
    let mut sum = S::splat(coefficients[0]);
    for &coefficient in &coefficients[1..] {
        sum = S::fma(sum, x, S::splat(coefficient));
    }
    sum
}

/// For positive bases that are not denormal, and results below 2^127. Those below 2^-64 become that, so that no product
/// of one is denormal, which would cost a hundred cycles.
#[inline(always)]
pub fn pow<S: Simd>(base: S::F, exponent: S::F) -> S::F {
    exp2::<S>(S::mul(exponent, log2::<S>(base)))
}

/// Of a positive number that is not denormal.
#[inline(always)]
fn log2<S: Simd>(x: S::F) -> S::F {
    const SERIES: [f32; 8] = [
        -0.145_811_65,
        0.234_042_35,
        -0.248_876_87,
        0.287_098_7,
        -0.360_239_62,
        0.480_923_24,
        -0.721_352_8,
        1.442_694_9,
    ];
    // The mantissa is between the roots of 1/2 and 2.
    let bits = S::bits(x);
    let root = S::ints(std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32);
    let exponent = S::sar(S::isub(bits, root), 23);
    let mantissa = S::float(S::isub(bits, S::shl(exponent, 23)));
    let t = S::sub(mantissa, S::splat(1.0));
    S::fma(t, polynomial::<S>(t, &SERIES), S::convert(exponent))
}

/// Of a number below 127; one below -64 counts as that.
#[inline(always)]
fn exp2<S: Simd>(x: S::F) -> S::F {
    const SERIES: [f32; 6] = [0.001_330_060_5, 0.009_669_691, 0.055_505_585, 0.240_222_83, std::f32::consts::LN_2, 1.0];
    let x = S::max(x, S::splat(-64.0));
    let rounded = S::add(x, S::splat(ROUNDER));
    let rest = S::sub(x, S::sub(rounded, S::splat(ROUNDER)));
    let exponent = S::shl(S::bits(rounded), 23);
    S::float(S::iadd(S::bits(polynomial::<S>(rest, &SERIES)), exponent))
}

/// Sine and cosine of an angle of at most some hundred turns.
#[inline(always)]
pub fn sin_cos<S: Simd>(x: S::F) -> (S::F, S::F) {
    const SINE: [f32; 3] = [-0.000_195_146_32, 0.008_332_156, -0.166_666_55];
    const COSINE: [f32; 5] = [2.443_241_3e-5, -0.001_388_731, 0.041_666_646, -0.5, 1.0];
    /// pi/2, and what is missing from it.
    const QUARTER: [f32; 2] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8];
    // How many quarters of a turn, and the rest.
    let rounded = S::fma(x, S::splat(std::f32::consts::FRAC_2_PI), S::splat(ROUNDER));
    let quarters = S::sub(rounded, S::splat(ROUNDER));
    let r = S::fnma(quarters, S::splat(QUARTER[0]), x);
    let r = S::fnma(quarters, S::splat(QUARTER[1]), r);
    let square = S::mul(r, r);
    let sin = S::fma(S::mul(r, square), polynomial::<S>(square, &SINE), r);
    let cos = polynomial::<S>(square, &COSINE);

    let quarters = S::bits(rounded);
    // Odd quarters exchange them; of four quarters two negate each.
    let odd = S::float(S::shl(quarters, 31));
    let next = S::iadd(quarters, S::ints(1));
    let (sin, cos) = (S::where_negative(odd, cos, sin), S::where_negative(odd, sin, cos));
    (negated::<S>(sin, quarters), negated::<S>(cos, next))
}

/// Negated in the third and fourth quarter of a turn.
#[inline(always)]
fn negated<S: Simd>(x: S::F, quarters: S::I) -> S::F {
    let sign = S::shl(S::and(quarters, S::ints(2)), 30);
    S::float(S::xor(S::bits(x), sign))
}
