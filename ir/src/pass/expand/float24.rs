//! The 24-bit floats of PICA200 as `f32` values: one sign bit, 7 bits of exponent with bias 63, 16 of mantissa.

use super::Emit;
use crate::op::Op;

/// 2^64, from which on there is infinity only: an exponent of 128, the lowest of `f32`'s infinities, is 64 above it.
const SCALE: f32 = 18_446_744_073_709_551_616.0;

/// The smallest normal float24, 2^-62.
const MIN_NORMAL: f32 = 1.0 / (SCALE / 4.0);

/// The smallest denormal float24, 2^-78.
const DENORMAL_PLACE: f32 = MIN_NORMAL / 65_536.0;

/// Bits of an `f32`'s mantissa that a float24's lacks.
const LOST_BITS: u32 = 23 - 16;

/// Scaled by 2^64, the largest float24 has the exponent of the largest `f32`: a carry out of the mantissa makes
/// infinity where it should. Scaling back is exact.
pub(super) fn fround24<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let scale = e.f32(SCALE);
    let scaled = e.op(Op::Fmul, &[x, scale]);
    let bits = e.op(Op::BitcastI32, &[scaled]);
    // Adding half of the last place that stays rounds to nearest; a tie is half exactly, and is rounded up if that
    // place is odd.
    let (lost, one, below_half) = (e.i32(LOST_BITS), e.i32(1), e.i32((1 << (LOST_BITS - 1)) - 1));
    let last_place = e.op(Op::Ushr, &[bits, lost]);
    let is_odd = e.op(Op::And, &[last_place, one]);
    let bits = e.op(Op::Iadd, &[bits, below_half]);
    let bits = e.op(Op::Iadd, &[bits, is_odd]);
    let kept = e.i32(!((1 << LOST_BITS) - 1));
    let bits = e.op(Op::And, &[bits, kept]);
    let rounded = e.op(Op::BitcastF32, &[bits]);
    let unscale = e.f32(1.0 / SCALE);
    let rounded = e.op(Op::Fmul, &[rounded, unscale]);
    let rounded = fflush24(e, rounded);
    // The carry may have made anything of a NaN.
    let is_nan = e.op(Op::Funo, &[x, x]);
    e.op(Op::Select, &[is_nan, x, rounded])
}

/// A sum with a large enough number drops what is below the last place of a denormal. It has no sign if nothing is
/// left.
pub(super) fn f32tof24<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let normal = fround24(e, x);
    let magic = e.f32(1.5 * (1 << 23) as f32 * DENORMAL_PLACE);
    let denormal = e.op(Op::Fadd, &[x, magic]);
    let denormal = e.op(Op::Fsub, &[denormal, magic]);
    let (magnitude, smallest) = (e.op(Op::Fabs, &[x]), e.f32(MIN_NORMAL));
    let is_denormal = e.op(Op::Flt, &[magnitude, smallest]);
    e.op(Op::Select, &[is_denormal, denormal, normal])
}

/// Comparing takes care of -0 and of the denormals of `f32`, too. NaN is not less.
pub(super) fn fflush24<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let (magnitude, smallest, zero) = (e.op(Op::Fabs, &[x]), e.f32(MIN_NORMAL), e.f32(0.0));
    let is_zero = e.op(Op::Flt, &[magnitude, smallest]);
    e.op(Op::Select, &[is_zero, zero, x])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::eval;
    use crate::types::Type;

    fn apply(op: Op, bits: u32) -> u32 {
        let [fused, separate] = [true, false].map(|fused| eval(op, Type::F32, &[[bits]], fused)[0]);
        assert_eq!(fused, separate);
        fused
    }

    /// The nearest float24, by its definition and in doubles, which have room for every step.
    fn nearest(x: f32) -> f32 {
        if x.is_nan() || x.is_infinite() {
            return x;
        }
        let x = f64::from(x);
        if x == 0.0 {
            return 0.0;
        }
        // The weight of the last place: 2^-16 of the power of two below.
        let place = 2f64.powi(x.abs().log2().floor() as i32 - 16);
        let rounded = (x / place).round_ties_even() * place;
        match rounded.abs() {
            large if large >= 2f64.powi(64) => f32::INFINITY.copysign(rounded as f32),
            small if small < 2f64.powi(-62) => 0.0,
            _ => rounded as f32,
        }
    }

    #[test]
    fn results_are_the_nearest_of_every_binade() {
        let mut state = 1u32;
        for high in 0..0x200u32 {
            for step in 0..300u32 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Ties, what is next to them, carries out of the mantissa, and anything.
                let mantissa = match step {
                    0..64 => (state >> 9 & !0x7f) | 0x40,
                    64..96 => (state >> 9 & !0x7f) + 0x3f,
                    96..128 => (state >> 9 & !0x7f) + 0x41,
                    128..160 => 0x7f_ff80 | step & 0x7f,
                    160..164 => step - 160,
                    _ => state >> 9,
                };
                let x = f32::from_bits(high << 23 | mantissa & 0x7f_ffff);
                let got = f32::from_bits(apply(Op::Fround24, x.to_bits()));
                let want = nearest(if x.is_subnormal() { 0.0 } else { x });
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{:#010x} = {x:e} gives {got:e}, not {want:e}", x.to_bits());
                // Rounding what is rounded changes nothing, and there is nothing left to flush.
                for op in [Op::Fround24, Op::Fflush24] {
                    let again = f32::from_bits(apply(op, got.to_bits()));
                    assert!(again.to_bits() == got.to_bits() || got.is_nan() && again.is_nan(), "{op} of {got:e}");
                }
            }
        }
    }

    #[test]
    fn conversion_keeps_denormals() {
        let mut state = 1u32;
        for high in 0..0x200u32 {
            for step in 0..200u32 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let x = f32::from_bits(high << 23 | [state >> 9, step][usize::from(step < 4)]);
                let got = f32::from_bits(apply(Op::F32tof24, x.to_bits()));
                let want = if x.abs() < MIN_NORMAL {
                    let place = f64::from(DENORMAL_PLACE);
                    // No sign of zero.
                    ((f64::from(x) / place).round_ties_even() * place) as f32 + 0.0
                } else {
                    f32::from_bits(apply(Op::Fround24, x.to_bits()))
                };
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{:#010x} = {x:e} gives {got:e}, not {want:e}", x.to_bits());
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_where_they_should_be() {
        let round = |x: f32| f32::from_bits(apply(Op::Fround24, x.to_bits()));
        let largest = 2f32.powi(64) - 2f32.powi(47);
        assert_eq!(round(largest), largest);
        assert_eq!(round(largest + 2f32.powi(45)), largest);
        assert_eq!(round(largest + 2f32.powi(46)), f32::INFINITY);
        assert_eq!(round(-f32::MAX), f32::NEG_INFINITY);
        let smallest = 2f32.powi(-62);
        assert_eq!(round(-smallest), -smallest);
        // A tie between the smallest normal and what is below it goes to the even one.
        assert_eq!(round(smallest - smallest * 2f32.powi(-18)), smallest);
        assert_eq!(round(smallest - smallest * 2f32.powi(-17)).to_bits(), 0);
        for bits in [0x8000_0000, 0x8000_0001, 0x0000_0001, 0x007f_ffff, 0x9f00_0000] {
            assert_eq!(apply(Op::Fround24, bits), 0, "{bits:#x}");
        }
    }

    #[test]
    fn flushing_leaves_what_is_no_denormal() {
        for bits in [0x2080_0000, 0xa080_0000, 0x3f80_0001, 0x7f80_0000, 0xff80_0000, 0x7fff_ffff] {
            assert_eq!(apply(Op::Fflush24, bits), bits);
        }
        for bits in [0x207f_ffff, 0xa07f_ffff, 0x8000_0000, 0x8000_0001, 0] {
            assert_eq!(apply(Op::Fflush24, bits), 0, "{bits:#x}");
        }
    }
}
