//! Powers, sines and cosines. The coefficients are minimax fits; errors are about 2^-22 of the result.

use super::vector::splat;
use std::arch::x86_64::*;

/// 1.5 * 2^23: the sum with a small number has that number, rounded to an integer, in its lowest bits.
const ROUNDER: f32 = 12_582_912.0;

/// Highest power first.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn polynomial(x: __m128, coefficients: &[f32]) -> __m128 {
    let mut sum = splat(coefficients[0]);
    for &coefficient in &coefficients[1..] {
        sum = _mm_fmadd_ps(sum, x, splat(coefficient));
    }
    sum
}

/// For positive bases that are not denormal, and results below 2^127. Those below 2^-64 become that, so that no product
/// of one is denormal, which would cost a hundred cycles.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn pow(base: __m128, exponent: __m128) -> __m128 {
    exp2(_mm_mul_ps(exponent, log2(base)))
}

/// Of a positive number that is not denormal.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn log2(x: __m128) -> __m128 {
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
    let bits = _mm_castps_si128(x);
    let root = _mm_set1_epi32(std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32);
    let exponent = _mm_srai_epi32::<23>(_mm_sub_epi32(bits, root));
    let mantissa = _mm_castsi128_ps(_mm_sub_epi32(bits, _mm_slli_epi32::<23>(exponent)));
    let t = _mm_sub_ps(mantissa, splat(1.0));
    _mm_fmadd_ps(t, polynomial(t, &SERIES), _mm_cvtepi32_ps(exponent))
}

/// Of a number below 127; one below -64 counts as that.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn exp2(x: __m128) -> __m128 {
    const SERIES: [f32; 6] = [0.001_330_060_5, 0.009_669_691, 0.055_505_585, 0.240_222_83, std::f32::consts::LN_2, 1.0];
    let x = _mm_max_ps(x, splat(-64.0));
    let rounded = _mm_add_ps(x, splat(ROUNDER));
    let rest = _mm_sub_ps(x, _mm_sub_ps(rounded, splat(ROUNDER)));
    let exponent = _mm_slli_epi32::<23>(_mm_castps_si128(rounded));
    _mm_castsi128_ps(_mm_add_epi32(_mm_castps_si128(polynomial(rest, &SERIES)), exponent))
}

/// Sine and cosine of an angle of at most some hundred turns.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn sin_cos(x: __m128) -> (__m128, __m128) {
    const SINE: [f32; 3] = [-0.000_195_146_32, 0.008_332_156, -0.166_666_55];
    const COSINE: [f32; 5] = [2.443_241_3e-5, -0.001_388_731, 0.041_666_646, -0.5, 1.0];
    /// pi/2, and what is missing from it.
    const QUARTER: [f32; 2] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8];
    // How many quarters of a turn, and the rest.
    let rounded = _mm_fmadd_ps(x, splat(std::f32::consts::FRAC_2_PI), splat(ROUNDER));
    let quarters = _mm_sub_ps(rounded, splat(ROUNDER));
    let r = _mm_fnmadd_ps(quarters, splat(QUARTER[0]), x);
    let r = _mm_fnmadd_ps(quarters, splat(QUARTER[1]), r);
    let square = _mm_mul_ps(r, r);
    let sin = _mm_fmadd_ps(_mm_mul_ps(r, square), polynomial(square, &SINE), r);
    let cos = polynomial(square, &COSINE);

    let quarters = _mm_castps_si128(rounded);
    // Odd quarters exchange them; of four quarters two negate each.
    let odd = _mm_castsi128_ps(_mm_slli_epi32::<31>(quarters));
    let sign = |quarters| _mm_castsi128_ps(_mm_slli_epi32::<30>(_mm_and_si128(quarters, _mm_set1_epi32(2))));
    let next = _mm_add_epi32(quarters, _mm_set1_epi32(1));
    let (sin, cos) = (_mm_blendv_ps(sin, cos, odd), _mm_blendv_ps(cos, sin, odd));
    (_mm_xor_ps(sin, sign(quarters)), _mm_xor_ps(cos, sign(next)))
}
