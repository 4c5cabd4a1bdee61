//! The scalar meaning of `f32` arithmetic with denormals flushed, exactly as hardware with DAZ and FTZ set computes it.
//!
//! Flushing a result is subtle only where rounding meets the smallest normal number: x86 decides "tiny" after rounding
//! to 24 bits with an unbounded exponent, AArch64 before rounding. A result that rounds up to 2^-126 in the denormal
//! range may therefore still be flushed. [`TINY`] is the bound on the exact result's magnitude below which it is.

use crate::fused;

/// 2^-126, the smallest normal `f32`.
const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;

/// Exact results below this in magnitude are flushed: 2^-126 - 2^-151 where tininess is detected after rounding (half a
/// unit of the last of 24 bits below 2^-126, a tie that rounds up), 2^-126 where it is detected before.
const TINY: f64 = if cfg!(target_arch = "aarch64") { MIN_NORMAL } else { MIN_NORMAL - MIN_NORMAL / 33_554_432.0 };

/// A denormal becomes zero of the same sign; anything else stays.
#[inline(always)]
pub fn flush(x: f32) -> f32 {
    f32::from_bits(flush_bits(x.to_bits()))
}

/// [`flush`] on bits.
#[inline(always)]
pub fn flush_bits(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Whether a rounded result does not say if the exact one is tiny: it is the smallest normal number, which smaller ones
/// are rounded up to.
#[inline(always)]
pub fn is_edge(bits: u32) -> bool {
    bits & 0x7fff_ffff == 0x0080_0000
}

/// Flushes a rounded result, given whether the exact one is tiny where rounding could hide it.
#[inline(always)]
fn flush_result(rounded: f32, is_tiny: impl FnOnce() -> bool) -> f32 {
    if is_edge(rounded.to_bits()) && is_tiny() {
        f32::from_bits(rounded.to_bits() & 0x8000_0000)
    } else {
        flush(rounded)
    }
}

/// Sum. Sums of normal numbers in the denormal range are exact, so rounding hides nothing.
#[inline(always)]
pub fn add(a: f32, b: f32) -> f32 {
    flush(flush(a) + flush(b))
}

/// Difference.
#[inline(always)]
pub fn sub(a: f32, b: f32) -> f32 {
    flush(flush(a) - flush(b))
}

/// A product's rounded result, not flushed.
#[inline(always)]
pub fn product(a: f32, b: f32) -> f32 {
    flush(a) * flush(b)
}

/// Product.
#[inline(always)]
pub fn mul(a: f32, b: f32) -> f32 {
    // 24 by 24 bits: exact in f64.
    flush_result(product(a, b), || (f64::from(flush(a)) * f64::from(flush(b))).abs() < TINY)
}

/// A quotient's rounded result, not flushed.
#[inline(always)]
pub fn quotient(a: f32, b: f32) -> f32 {
    flush(a) / flush(b)
}

/// Quotient.
#[inline(always)]
pub fn div(a: f32, b: f32) -> f32 {
    // |a / b| < TINY without dividing: TINY has 25 significant bits, so TINY * b is exact.
    flush_result(quotient(a, b), || f64::from(flush(a)).abs() < TINY * f64::from(flush(b)).abs())
}

/// Square root.
#[inline(always)]
pub fn sqrt(a: f32) -> f32 {
    flush(a).sqrt()
}

/// The rounded result of `a * b + c`, not flushed. Only for code that is compiled for machines with an instruction for
/// it: elsewhere Rust calls a function of the C library, which may be wrong.
#[inline(always)]
pub fn fused_sum(a: f32, b: f32, c: f32) -> f32 {
    flush(a).mul_add(flush(b), flush(c))
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    // Below TINY, which has 25 bits, if the exact result is.
    let sum = fused::wide(flush(a), flush(b), flush(c));
    if sum.abs() < TINY { f32::from_bits((sum.to_bits() >> 32) as u32 & 0x8000_0000) } else { sum as f32 }
}

/// `a * 2^floor(b)` as `vscalefps` has it. Infinite exponents decide alone, of quiet NaNs, too, but zero does not
/// become infinity nor infinity zero.
pub fn scale(a: f32, b: f32) -> f32 {
    const QUIET: u32 = 1 << 22;
    let (a, b) = (flush(a), flush(b));
    if b.is_nan() || a.is_nan() && (b.is_finite() || a.to_bits() & QUIET == 0) {
        return f32::NAN;
    }
    if b == f32::INFINITY {
        return if a == 0.0 {
            f32::NAN
        } else if a.is_nan() {
            b
        } else {
            b.copysign(a)
        };
    }
    if b == f32::NEG_INFINITY {
        return if a.is_infinite() {
            f32::NAN
        } else if a.is_nan() {
            0.0
        } else {
            0f32.copysign(a)
        };
    }
    // Beyond these exponents all results are zero or infinite, and all products are exact doubles.
    let scaled = f64::from(a) * f64::from(b.floor().clamp(-400.0, 400.0)).exp2();
    // What is denormal is flushed, whatever it would be rounded to.
    if scaled.abs() < f64::from(f32::MIN_POSITIVE) { 0f32.copysign(a) } else { scaled as f32 }
}

/// A logarithm of `number` where that is positive and finite; else what the logarithm of `number` is.
pub fn logcase(logarithm: f32, number: f32) -> f32 {
    match flush(number) {
        0.0 => f32::NEG_INFINITY,
        number if number < 0.0 => f32::NAN,
        number if number.is_finite() => logarithm,
        number => number,
    }
}

/// `a < b ? a : b`.
#[inline(always)]
pub fn pmin(a: f32, b: f32) -> f32 {
    let (a, b) = (flush(a), flush(b));
    if a < b { a } else { b }
}

/// `a > b ? a : b`.
#[inline(always)]
pub fn pmax(a: f32, b: f32) -> f32 {
    let (a, b) = (flush(a), flush(b));
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_results_that_round_up_are_flushed_as_the_hardware_does() {
        // (1 - 2^-24) * 2^-126 has 24 bits: exact before rounding to denormals, hence tiny.
        let just_below = f32::from_bits(0x3f7f_ffff);
        assert_eq!(mul(just_below, f32::MIN_POSITIVE).to_bits(), 0);
        assert_eq!(fma(just_below, f32::MIN_POSITIVE, 0.0).to_bits(), 0);
        // (1 - 2^-24)^2 * 2^-125 = 2^-125 - ...: normal.
        assert_eq!(mul(just_below, 2.0 * f32::MIN_POSITIVE).to_bits(), 0x00ff_ffff);
        // A quotient just below 2^-126 that needs more than 24 bits and rounds up to it.
        let q = div(f32::from_bits(0x0080_0001), f32::from_bits(0x3f80_0002));
        assert_eq!(q.to_bits(), 0);
    }

    #[test]
    fn zeros_keep_their_sign() {
        let denormal = f32::from_bits(0x8000_0001);
        assert_eq!(add(denormal, denormal).to_bits(), 0x8000_0000);
        assert_eq!(mul(denormal, 1.0).to_bits(), 0x8000_0000);
        assert_eq!(sqrt(denormal).to_bits(), 0x8000_0000);
        assert_eq!(pmin(1.0, denormal).to_bits(), 0x8000_0000);
    }

    /// The reference against the processor itself, on operands whose results lie around 2^-126.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn thresholds_are_where_exact_arithmetic_puts_them() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        for _ in 0..200_000 {
            let a = f32::from_bits(0x3f00_0000 | (random() & 0xff_ffff));
            let b = f32::from_bits((random() & 0xff_ffff) | 0x0080_0000);
            let exact = f64::from(a) * f64::from(b);
            let want = if exact.abs() < TINY { 0.0 } else { a * b };
            assert_eq!(mul(a, b).to_bits(), want.to_bits(), "{a:e} * {b:e}");
        }
    }
}
