//! Exponential, logarithm, sine and cosine as polynomials.
//!
//! Bounds of the error in units of the last place of the exact result, with `fmad` fused and separate, checked by the
//! tests below on samples of every binade:
//!
//! | function     | where                                | fused | separate |
//! |--------------|--------------------------------------|-------|----------|
//! | `exp2`       | wherever the result is not flushed   | 1.9   | 2.1      |
//! | `log2`       | outside 1/2..=2                      | 1.4   | 1.5      |
//! | `log2`       | inside; within 2^-9 of 1: 1.5        | 4.1   | 4.2      |
//! | `sin`, `cos` | up to ±100π                          | 1.5   | 2.5      |
//!
//! Inside 1/2..=2 the error of `log2` is below 1.5e-7 absolute. Direct3D and Vulkan allow 4.8e-7 there; outside, and of
//! `exp2`, Direct3D allows four units at least and Vulkan three.
//!
//! Next to the zeros of `sin` and `cos` the error is below 5e-13 absolute. Beyond ±100π it grows slowly: it stays
//! below 1.6e-7 up to ±4,000π (±100,000 fused), then up to ±2^22 below what moving the operand by two units of its
//! last place does; past that only -1 ≤ result ≤ 1 is promised.
//!
//! Coefficients: minimax polynomials of the relative error (Remez exchange in 50 digits), rounded to `f32`, then moved
//! by single units of the last place as long as that lowered the larger of the two measured maxima.

use super::Emit;
use crate::op::Op;

/// 1.5 * 2^23: adding it rounds a float of at most 2^22 to an integer, found in the low bits of the sum.
const MAGIC: f32 = 12_582_912.0;

/// `2^f` on -1/2..=1/2, by rising powers of `f`. The value at 0 is exactly 1, so that powers of integers are exact.
/// Relative error before rounding: 1.4e-7.
const EXP2: [f32; 6] = [1.0, 0.693_146_8, 0.240_221_78, 0.055_507_734, 0.009_675_199, 0.001_329_614_1];

/// `log2(1 + t) / t` on sqrt(1/2) - 1 ..= sqrt(2) - 1, by rising powers of `t`. Relative error before rounding: 2.2e-7.
const LOG2: [f32; 8] = [
    std::f32::consts::LOG2_E,
    -0.721_352_2,
    0.480_918_88,
    -0.360_256_85,
    0.287_173_33,
    -0.248_790_06,
    0.233_611_4,
    -0.145_515_49,
];

/// `(sin(r) / r - 1) / u` for `u = r * r` up to (pi/4)^2, by rising powers of `u`. Relative error of the sine before
/// rounding: 3.8e-9.
const SIN: [f32; 3] = [-0.166_666_55, 0.008_332_168, -0.000_195_152_5];

/// `cos(r)` for `u = r * r` up to (pi/4)^2, by rising powers of `u`. Relative error before rounding: 1.2e-10.
const COS: [f32; 5] = [1.0, -0.5, 0.041_666_646, -0.001_388_727_2, 2.443_311_3e-5];

/// -pi/2 in two parts, for fused multiplication and addition. The operand cancels the first part's product with the
/// quadrant, so the first sum is exact. What is left of pi/2 is below 2^-49.
///
/// All parts have one sign: then -0 stays -0.
const FUSED_PARTS: &[f32] = &[-std::f32::consts::FRAC_PI_2.next_down(), -7.549_79e-8];

/// The same in three for separate multiplication and addition. The first has 8 significant bits, the second 16, so
/// their products with numbers of up to 8 bits are exact: enough for 100pi. What is left of pi/2 is below 2^-54.
const SEPARATE_PARTS: &[f32] = &[-1.570_312_5, -0.000_483_825_8, -9.920_936e-10];

/// Horner's rule. `coefficients` by rising powers.
fn polynomial<E: Emit>(e: &mut E, x: E::Value, coefficients: &[f32]) -> E::Value {
    let (&last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
    let mut sum = e.f32(last);
    for &coefficient in rest.iter().rev() {
        let coefficient = e.f32(coefficient);
        sum = e.op(Op::Fmad, &[sum, x, coefficient]);
    }
    sum
}

/// `2^x = 2^f * 2^n` with `n` the nearest integer. Operands are clamped to -127..=128, so adding `n` to the exponent of
/// `2^f` gives zero and infinity where they are due, and denormals between. `pmin` and `pmax` give their second operand
/// if it is NaN.
pub(super) fn exp2<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let (highest, lowest) = (e.f32(128.0), e.f32(-127.0));
    let x = e.op(Op::Pmin, &[highest, x]);
    let x = e.op(Op::Pmax, &[lowest, x]);
    let magic = e.f32(MAGIC);
    let rounded = e.op(Op::Fadd, &[x, magic]);
    let n = e.op(Op::Fsub, &[rounded, magic]);
    let f = e.op(Op::Fsub, &[x, n]);
    let power = polynomial(e, f, &EXP2);
    // The shift drops the exponent of the sum.
    let bits = e.op(Op::BitcastI32, &[rounded]);
    let mantissa_bits = e.i32(23);
    let exponent = e.op(Op::Ishl, &[bits, mantissa_bits]);
    let bits = e.op(Op::BitcastI32, &[power]);
    let bits = e.op(Op::Iadd, &[bits, exponent]);
    let scaled = e.op(Op::BitcastF32, &[bits]);
    // Adding zero flushes denormals, and as a multiple of `f` it is NaN where that is: no bits of a NaN are left.
    let zero = e.f32(0.0);
    e.op(Op::Fmad, &[f, zero, scaled])
}

/// The same to the bit with [`Op::Fscale`], which needs no bounds: it gives zero and infinity as they have to be given.
pub(super) fn exp2_by_scale<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let n = e.op(Op::Fnearest, &[x]);
    let f = e.op(Op::Fsub, &[x, n]);
    // Infinity less itself is NaN, and so is the power then; an infinite exponent decides alone.
    let power = polynomial(e, f, &EXP2);
    e.op(Op::Fscale, &[power, n])
}

/// `log2(x) = n + log2(1 + t)` with `x = 2^n * (1 + t)` and `1 + t` around 1: so there is no cancellation next to 1,
/// where `n` is zero, and the result is `t` times something.
fn ordinary_log2<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let bits = e.op(Op::BitcastI32, &[x]);
    let root_half = e.i32(std::f32::consts::FRAC_1_SQRT_2.to_bits());
    let above = e.op(Op::Isub, &[bits, root_half]);
    let exponent_mask = e.i32(0xff80_0000);
    let exponent = e.op(Op::And, &[above, exponent_mask]);
    let fraction = e.op(Op::Isub, &[bits, exponent]);
    let fraction = e.op(Op::BitcastF32, &[fraction]);
    let one = e.f32(1.0);
    let t = e.op(Op::Fsub, &[fraction, one]);
    let mantissa_bits = e.i32(23);
    let n = e.op(Op::Sshr, &[above, mantissa_bits]);
    let n = e.op(Op::Itof, &[n]);
    let slope = polynomial(e, t, &LOG2);
    e.op(Op::Fmad, &[slope, t, n])
}

/// The logarithm, whatever the operand is. A maximum and sums deal with what has no ordinary one: processors have more
/// units for additions than for comparisons, and Intel's take three steps to select.
pub(super) fn log2<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let log = ordinary_log2(e, x);
    // Of infinity and NaN this is what they are, and `pmax` gives a NaN that is its second operand. Of the largest
    // number it is zero, of all others below every logarithm.
    let largest = e.f32(f32::MAX);
    let below = e.op(Op::Fsub, &[x, largest]);
    let log = e.op(Op::Pmax, &[log, below]);
    // Then zeros of both signs, denormals among them, and what is below zero: NaN as processors of x86 make it. A
    // logarithm is not -0, so adding +0 changes nothing.
    let zero = e.f32(0.0);
    let nan = f32::from_bits(0xffc0_0000);
    [(Op::Feq, f32::NEG_INFINITY), (Op::Flt, nan)].into_iter().fold(log, |log, (compare, result)| {
        let result = e.f32(result);
        let is_case = e.op(compare, &[x, zero]);
        let added = e.op(Op::Select, &[is_case, result, zero]);
        e.op(Op::Fadd, &[log, added])
    })
}

/// The same to the bit with [`Op::Flogcase`].
pub(super) fn log2_by_case<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let log = ordinary_log2(e, x);
    e.op(Op::Flogcase, &[log, x])
}

/// An angle as `quadrant * pi/2 + r` with `r` around zero, and the functions of `r`.
struct Angle<V> {
    /// Bit 31 is bit 0 of the quadrant, the others are zero.
    odd: V,
    /// Whether it is set.
    is_odd: V,
    /// Bit 31 is bit 1 of the quadrant, the others are zero.
    negative: V,
    sin: V,
    cos: V,
}

/// The part that `sin` and `cos` of one operand share: the same ops for both, so value numbering leaves one.
fn angle<E: Emit>(e: &mut E, x: E::Value) -> Angle<E::Value> {
    let (two_over_pi, magic) = (e.f32(std::f32::consts::FRAC_2_PI), e.f32(MAGIC));
    let rounded = e.op(Op::Fmad, &[x, two_over_pi, magic]);
    let n = e.op(Op::Fsub, &[rounded, magic]);
    let mut r = x;
    for &part in if e.fused() { FUSED_PARTS } else { SEPARATE_PARTS } {
        let part = e.f32(part);
        r = e.op(Op::Fmad, &[n, part, r]);
    }
    // Only angles so large that `n` is wrong are out of bounds. NaN, also from infinity, is kept: it is the second
    // operand.
    let (highest, lowest) = (e.f32(1.0), e.f32(-1.0));
    let r = e.op(Op::Pmin, &[highest, r]);
    let r = e.op(Op::Pmax, &[lowest, r]);

    let u = e.op(Op::Fmul, &[r, r]);
    let cos = polynomial(e, u, &COS);
    let slope = polynomial(e, u, &SIN);
    // Adding zero makes the factor +0 for a zero `r` (it would be -0), so that -0 stays -0 in the sum below.
    let zero = e.f32(0.0);
    let factor = e.op(Op::Fmad, &[slope, u, zero]);
    let sin = e.op(Op::Fmad, &[factor, r, r]);

    let quadrant = e.op(Op::BitcastI32, &[rounded]);
    let (to_sign, sign_mask, none) = (e.i32(31), e.i32(0x8000_0000), e.i32(0));
    let odd = e.op(Op::Ishl, &[quadrant, to_sign]);
    let is_odd = e.op(Op::Slt, &[odd, none]);
    let to_sign = e.i32(30);
    let negative = e.op(Op::Ishl, &[quadrant, to_sign]);
    let negative = e.op(Op::And, &[negative, sign_mask]);
    Angle { odd, is_odd, negative, sin, cos }
}

/// `value` with its sign flipped where bit 31 of `sign` is set, which has no other.
fn flip<E: Emit>(e: &mut E, value: E::Value, sign: E::Value) -> E::Value {
    let bits = e.op(Op::BitcastI32, &[value]);
    let bits = e.op(Op::Xor, &[bits, sign]);
    e.op(Op::BitcastF32, &[bits])
}

/// sin r, cos r, -sin r, -cos r by quadrant.
pub(super) fn sin<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let angle = angle(e, x);
    let magnitude = e.op(Op::Select, &[angle.is_odd, angle.cos, angle.sin]);
    flip(e, magnitude, angle.negative)
}

/// cos r, -sin r, -cos r, sin r by quadrant.
pub(super) fn cos<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let angle = angle(e, x);
    let magnitude = e.op(Op::Select, &[angle.is_odd, angle.sin, angle.cos]);
    let negative = e.op(Op::Xor, &[angle.negative, angle.odd]);
    flip(e, magnitude, negative)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::eval;
    use crate::types::Type;

    const LANES: usize = 64;

    fn on_lanes(op: Op, x: [f32; LANES], fused: bool) -> [f32; LANES] {
        eval(op, Type::F32, &[x.map(f32::to_bits)], fused).map(f32::from_bits)
    }

    fn on(op: Op, x: f32) -> [f32; 2] {
        [false, true].map(|fused| on_lanes(op, [x; LANES], fused)[0])
    }

    /// Calls `f` with 2^14 numbers of each binade of both signs between `lowest` and `highest` in magnitude, spread
    /// evenly but off any grid. Debug builds take fewer from binades far from 1, where nothing new happens.
    fn for_binades(lowest: f32, highest: f32, mut f: impl FnMut([f32; LANES])) {
        let mut state = 12345u32;
        for exponent in lowest.to_bits() >> 23..=highest.to_bits() >> 23 {
            let sparse = cfg!(debug_assertions) && !(127 - 16..127 + 10).contains(&exponent);
            let step = if sparse { 32 } else { 1 };
            for start in (0..1u32 << 14).step_by(step * LANES / 2) {
                f(std::array::from_fn(|l| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let mantissa = ((start + l as u32 / 2) << 9) | state >> 23;
                    let magnitude = f32::from_bits(exponent << 23 | mantissa).clamp(lowest, highest);
                    if l % 2 == 0 { magnitude } else { -magnitude }
                }));
            }
        }
    }

    /// The distance in units of the last place of the exact result. Exact results below 2^-126 must be zero.
    fn ulps(got: f32, exact: f64) -> f64 {
        if exact.abs() < f64::from(f32::MIN_POSITIVE) {
            return if got == 0.0 { 0.0 } else { f64::INFINITY };
        }
        let exponent = ((exact.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        (f64::from(got) - exact).abs() * 2f64.powi(23 - exponent)
    }

    /// What sines and cosines may be off next to their zeros.
    const NEXT_TO_ZEROS: f64 = 5e-13;

    /// The largest error, unfused and fused.
    fn worst(op: Op, exact: fn(f64) -> f64, lowest: f32, highest: f32, positive_only: bool) -> [f64; 2] {
        let allowed = if matches!(op, Op::Fsin | Op::Fcos) { NEXT_TO_ZEROS } else { 0.0 };
        let mut worst = [0.0f64; 2];
        for_binades(lowest, highest, |x| {
            let x = if positive_only { x.map(f32::abs) } else { x };
            let exact = x.map(|x| exact(f64::from(x)));
            for fused in [false, true] {
                let got = on_lanes(op, x, fused);
                for l in 0..LANES {
                    let error = ulps(got[l], exact[l]);
                    assert!(error < 100.0, "{op} {:e} fused {fused}: {:e}, exactly {:e}", x[l], got[l], exact[l]);
                    if (f64::from(got[l]) - exact[l]).abs() > allowed {
                        worst[usize::from(fused)] = worst[usize::from(fused)].max(error);
                    }
                }
            }
        });
        worst
    }

    fn assert_within(worst: [f64; 2], fused: f64, separate: f64) {
        println!("fused {:.4} of {fused}, separate {:.4} of {separate}", worst[1], worst[0]);
        assert!(worst[1] <= fused && worst[0] <= separate, "fused {:.4}, separate {:.4}", worst[1], worst[0]);
    }

    #[test]
    fn exp2_is_within_its_bound_in_every_binade() {
        assert_within(worst(Op::Fexp2, f64::exp2, f32::MIN_POSITIVE, 127.999_99, false), 1.9, 2.1);
    }

    #[test]
    fn log2_is_within_its_bound_in_every_binade() {
        let between = |lowest, highest| worst(Op::Flog2, f64::log2, lowest, highest, true);
        assert_within(between(f32::MIN_POSITIVE, 0.5f32.next_down()), 1.4, 1.5);
        assert_within(between(0.5, 2.0), 4.1, 4.2);
        assert_within(between(2.0f32.next_up(), f32::MAX), 1.4, 1.5);
        for_binades(0.5, 2.0, |x| {
            let x = x.map(f32::abs);
            for fused in [false, true] {
                for (x, got) in x.into_iter().zip(on_lanes(Op::Flog2, x, fused)) {
                    let error = (f64::from(got) - f64::from(x).log2()).abs();
                    assert!(error < 1.5e-7, "log2 {x:e} fused {fused}: {got:e} is {error:e} off");
                }
            }
        });
    }

    #[test]
    fn log2_is_within_its_bound_next_to_one() {
        let mut worst = [0.0f64; 2];
        for start in (0..1u32 << 16).step_by(LANES) {
            let x: [f32; LANES] = std::array::from_fn(|l| f32::from_bits(0x3f7f_8000 + start + l as u32));
            for fused in [false, true] {
                let got = on_lanes(Op::Flog2, x, fused);
                for (x, got) in x.into_iter().zip(got).filter(|&(x, _)| x != 1.0) {
                    let exact = (f64::from(x) - 1.0).ln_1p() / std::f64::consts::LN_2;
                    worst[usize::from(fused)] = worst[usize::from(fused)].max(ulps(got, exact));
                }
            }
        }
        assert_within(worst, 1.5, 1.5);
    }

    #[test]
    fn sin_is_within_its_bound_in_every_binade() {
        assert_within(worst(Op::Fsin, f64::sin, f32::MIN_POSITIVE, 100.0 * std::f32::consts::PI, false), 1.5, 2.5);
    }

    #[test]
    fn cos_is_within_its_bound_in_every_binade() {
        assert_within(worst(Op::Fcos, f64::cos, f32::MIN_POSITIVE, 100.0 * std::f32::consts::PI, false), 1.5, 2.5);
    }

    /// The floats around each multiple of pi/2: zeros of one function and extrema of the other.
    #[test]
    fn sin_and_cos_are_within_their_bounds_around_multiples_of_half_pi() {
        for multiple in 1..=200u32 {
            let center = ((f64::from(multiple) * std::f64::consts::FRAC_PI_2) as f32).to_bits();
            let x: [f32; LANES] = std::array::from_fn(|l| f32::from_bits(center + l as u32 - LANES as u32 / 2));
            for (op, exact) in [(Op::Fsin, f64::sin as fn(f64) -> f64), (Op::Fcos, f64::cos)] {
                for fused in [false, true] {
                    for (x, got) in x.into_iter().zip(on_lanes(op, x, fused)) {
                        let exact = exact(f64::from(x));
                        let within = ulps(got, exact) <= 1.5 || (f64::from(got) - exact).abs() < NEXT_TO_ZEROS;
                        assert!(within, "{op} {x:e} fused {fused}: {got:e}, exactly {exact:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn large_angles_degrade_slowly_and_stay_in_range() {
        for_binades(256.0, f32::MAX, |x| {
            for (op, exact) in [(Op::Fsin, f64::sin as fn(f64) -> f64), (Op::Fcos, f64::cos)] {
                for fused in [false, true] {
                    for (x, got) in x.into_iter().zip(on_lanes(op, x, fused)) {
                        assert!((-1.0..=1.0).contains(&got), "{op} {x:e}: {got:e}");
                        let error = (f64::from(got) - exact(f64::from(x))).abs();
                        let moved = f64::from(f32::from_bits(x.abs().to_bits() + 2)) - f64::from(x.abs());
                        let bound = match x.abs() {
                            ..=12_566.0 => 1.6e-7,
                            ..=100_000.0 if fused => 1.6e-7,
                            ..=4_194_304.0 => moved,
                            _ => 2.0,
                        };
                        assert!(error <= bound, "{op} {x:e} fused {fused}: {error:e} is over {bound:e}");
                    }
                }
            }
        });
    }

    #[test]
    fn exp2_of_special_operands() {
        let exactly = |x: f32, want: f32| {
            for got in on(Op::Fexp2, x) {
                assert_eq!(got.to_bits(), want.to_bits(), "exp2 {x:e}: {got:e}");
            }
        };
        for x in [f32::INFINITY, 128.0, 128.00002, 1e30, f32::MAX] {
            exactly(x, f32::INFINITY);
        }
        for x in [f32::NEG_INFINITY, f32::MIN, -150.0, -127.0, f32::from_bits((-126f32).to_bits() + 1)] {
            exactly(x, 0.0);
        }
        for n in -126..=127 {
            exactly(n as f32, 2f32.powi(n));
        }
        for x in [0.0, -0.0, f32::from_bits(1), f32::from_bits(0x807f_ffff), f32::MIN_POSITIVE, -1e-10] {
            exactly(x, 1.0);
        }
        assert!(on(Op::Fexp2, 127.999_99).iter().all(|&got| got.is_finite()));
        assert!([f32::NAN, -f32::NAN].iter().all(|&x| on(Op::Fexp2, x).iter().all(|got| got.is_nan())));
    }

    #[test]
    fn log2_of_special_operands() {
        for bits in [0, 0x8000_0000, 1, 0x8000_0001, 0x007f_ffff, 0x807f_ffff, 0x0040_0000] {
            let got = on(Op::Flog2, f32::from_bits(bits));
            assert_eq!(got, [f32::NEG_INFINITY; 2], "log2 of {bits:#x}");
        }
        for x in [-f32::MIN_POSITIVE, -1.0, f32::MIN, f32::NEG_INFINITY, f32::NAN, -f32::NAN] {
            assert!(on(Op::Flog2, x).iter().all(|got| got.is_nan()), "log2 of {x:e}");
        }
        assert_eq!(on(Op::Flog2, f32::INFINITY), [f32::INFINITY; 2]);
        for n in -126..=127 {
            let got = on(Op::Flog2, f32::from_bits(((n + 127) as u32) << 23));
            assert_eq!(got.map(f32::to_bits), [(n as f32).to_bits(); 2], "log2 of 2^{n}");
        }
    }

    #[test]
    fn sin_and_cos_of_special_operands() {
        for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN] {
            assert!([Op::Fsin, Op::Fcos].iter().all(|&op| on(op, x).iter().all(|got| got.is_nan())), "{x:e}");
        }
        // Zeros keep their sign, denormals count as zeros, tiny angles are their own sine.
        for (x, want) in
            [(0.0, 0.0), (-0.0, -0.0), (f32::from_bits(9), 0.0), (f32::from_bits(0x8000_0009), -0.0), (1e-30, 1e-30)]
        {
            assert_eq!(on(Op::Fsin, x).map(f32::to_bits), [f32::to_bits(want); 2], "sin {x:e}");
            assert_eq!(on(Op::Fcos, x), [1.0; 2], "cos {x:e}");
        }
    }
}
