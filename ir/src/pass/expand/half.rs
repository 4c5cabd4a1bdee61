//! Conversion from and to binary16, on targets whose SIMD units may not know it.

use super::Emit;
use crate::op::Op;

/// Moving the bits to their places and adding to the exponent makes a float of a normal half. The bits of infinity and
/// NaN want as much added again, so that the payload of a NaN stays.
///
/// A denormal half `m * 2^-24` has the exponent of zero and so gets an implicit one: it comes out as
/// `y = 2^-15 + m * 2^-25`. What is meant is `2 * y - 2^-14`, which is less than `y`; for every other half it is at
/// least `y`. Floats that are not negative are in the order of their bits, and `2 * y` has one more in its exponent.
pub(super) fn f16tof32<E: Emit>(e: &mut E, half: E::Value) -> E::Value {
    let (magnitude_mask, sign_gap, mantissa_gap) = (e.i32(0x7fff), e.i32(16), e.i32(13));
    let magnitude = e.op(Op::And, &[half, magnitude_mask]);
    let sign = e.op(Op::Xor, &[half, magnitude]);
    let sign = e.op(Op::Ishl, &[sign, sign_gap]);

    let (exponent_gap, doubled_gap) = (e.i32(112 << 23), e.i32(113 << 23));
    let bits = e.op(Op::Ishl, &[magnitude, mantissa_gap]);
    let normal = e.op(Op::Iadd, &[bits, exponent_gap]);
    let doubled = e.op(Op::Iadd, &[bits, doubled_gap]);
    let (doubled, implicit_one) = (e.op(Op::BitcastF32, &[doubled]), e.f32(2f32.powi(-14)));
    let denormal = e.op(Op::Fsub, &[doubled, implicit_one]);
    let denormal = e.op(Op::BitcastI32, &[denormal]);
    let finite = e.op(Op::Smin, &[denormal, normal]);

    let (largest_half, zero) = (e.i32(0x7bff), e.i32(0));
    let is_special = e.op(Op::Slt, &[largest_half, magnitude]);
    let again = e.op(Op::Select, &[is_special, exponent_gap, zero]);
    let bits = e.op(Op::Iadd, &[finite, again]);
    let bits = e.op(Op::Or, &[bits, sign]);
    e.op(Op::BitcastF32, &[bits])
}

/// Normal halves by shifting, denormal ones by counting units of 2^-24. Every NaN gives 0x7e00: sign and payload of a
/// NaN are not defined, but the integer it is converted to has to be.
pub(super) fn f32tof16<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let magnitude = e.op(Op::Fabs, &[x]);
    let bits = e.op(Op::BitcastI32, &[magnitude]);
    let (mantissa_gap, exponent_gap) = (e.i32(13), e.i32(112 << 10));
    let normal = e.op(Op::Ushr, &[bits, mantissa_gap]);
    let normal = e.op(Op::Isub, &[normal, exponent_gap]);

    // Below 2^23 the sum holds the count of units in its low bits.
    let (units, integers) = (e.f32(2f32.powi(24)), 2f32.powi(23));
    let count = e.op(Op::Fmul, &[magnitude, units]);
    let count = e.op(Op::Ftrunc, &[count]);
    let integer_ulp = e.f32(integers);
    let count = e.op(Op::Fadd, &[count, integer_ulp]);
    let count = e.op(Op::BitcastI32, &[count]);
    let exponent = e.i32(integers.to_bits());
    let denormal = e.op(Op::Isub, &[count, exponent]);

    let smallest_normal = e.f32(2f32.powi(-14));
    let is_denormal = e.op(Op::Flt, &[magnitude, smallest_normal]);
    let half = e.op(Op::Select, &[is_denormal, denormal, normal]);
    let infinity = e.f32(f32::INFINITY);
    let is_infinite = e.op(Op::Feq, &[magnitude, infinity]);
    let (infinite_half, largest_half) = (e.i32(0x7c00), e.i32(0x7bff));
    let limit = e.op(Op::Select, &[is_infinite, infinite_half, largest_half]);
    let half = e.op(Op::Smin, &[half, limit]);

    let bits = e.op(Op::BitcastI32, &[x]);
    let (sign_gap, sign_mask) = (e.i32(16), e.i32(0x8000));
    let sign = e.op(Op::Ushr, &[bits, sign_gap]);
    let sign = e.op(Op::And, &[sign, sign_mask]);
    let half = e.op(Op::Or, &[half, sign]);
    let is_nan = e.op(Op::Funo, &[x, x]);
    let nan = e.i32(0x7e00);
    e.op(Op::Select, &[is_nan, nan, half])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::eval;
    use crate::types::Type;

    /// Magnitude of a half by its definition; `None` for NaN.
    fn value(half: u32) -> Option<f64> {
        let (exponent, mantissa) = ((half >> 10) & 31, f64::from(half & 0x3ff));
        match exponent {
            0 => Some(mantissa * 2f64.powi(-24)),
            31 => (mantissa == 0.0).then_some(f64::INFINITY),
            _ => Some((1024.0 + mantissa) * 2f64.powi(exponent as i32 - 25)),
        }
    }

    #[test]
    fn every_half_widens_to_its_value() {
        for half in 0..=0xffffu32 {
            // What is above the low 16 bits does not count.
            let [got] = eval(Op::F16tof32, Type::F32, &[[half | half << 16]], false);
            let want = match value(half) {
                Some(want) => (want as f32).to_bits(),
                // The payload stays where it is, at the top.
                None => 0x7f80_0000 | (half & 0x3ff) << 13,
            };
            assert_eq!(got, want | (half & 0x8000) << 16, "{half:#06x} gives {got:#010x}");
        }
    }

    /// The largest half that is not larger in magnitude.
    fn narrowed(x: f32, magnitudes: &[f64]) -> u32 {
        if x.is_nan() {
            return 0x7e00;
        }
        let sign = (x.to_bits() >> 16) & 0x8000;
        let magnitude = if x.is_subnormal() { 0.0 } else { f64::from(x.abs()) };
        match magnitude.is_infinite() {
            true => sign | 0x7c00,
            false => sign | (magnitudes.partition_point(|&half| half <= magnitude) as u32 - 1),
        }
    }

    fn assert_narrows(bits: u32, magnitudes: &[f64]) {
        let x = f32::from_bits(bits);
        for fused in [false, true] {
            let [got] = eval(Op::F32tof16, Type::F32, &[[bits]], fused);
            assert_eq!(got, narrowed(x, magnitudes), "{bits:#010x} = {x:e} gives {got:#06x}");
        }
    }

    #[test]
    fn floats_narrow_toward_zero() {
        let magnitudes: Vec<f64> = (0..0x7c00).filter_map(value).collect();
        // Each half, and the floats next to it.
        for half in 0..0x7c00u32 {
            let bits = (magnitudes[half as usize] as f32).to_bits();
            for bits in [bits.wrapping_sub(1) & 0x7fff_ffff, bits, bits + 1] {
                assert_narrows(bits, &magnitudes);
                assert_narrows(bits | 0x8000_0000, &magnitudes);
            }
        }
        // Every exponent and both signs, denormals, infinities and NaNs among them.
        let mut state = 1u32;
        for high in 0..0x200u32 {
            for _ in 0..256 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                assert_narrows(high << 23 | state >> 9, &magnitudes);
            }
            assert_narrows(high << 23, &magnitudes);
            assert_narrows(high << 23 | 0x7f_ffff, &magnitudes);
        }
    }
}
