//! How a shader's components become stored ones (Direct3D 11.3 functional specification, 3.2.3): narrower floats are
//! rounded toward zero, numbers from 0 to 1 and from -1 to 1 to the nearest step, integers are clamped to their range.

use shaderjit_ir::packing::NumericKind;

impl NumericComponent {
    /// The stored bits of a component.
    pub fn encode(self, bits: u32) -> u32 {
        let NumericComponent { kind, width } = self;
        let all = if width == 32 { u32::MAX } else { (1 << width) - 1 };
        let value = f32::from_bits(bits);
        match kind {
            NumericKind::Float if width == 32 => bits,
            NumericKind::Float if width == 16 => narrow(bits, 10, true),
            NumericKind::Float => narrow(bits, width - 5, false),
            NumericKind::Uint | NumericKind::Uscaled => bits.min(all),
            NumericKind::Sint | NumericKind::Sscaled if width == 32 => bits,
            NumericKind::Sint | NumericKind::Sscaled => {
                let most = (1 << (width - 1)) - 1;
                (bits as i32).clamp(-most - 1, most) as u32 & all
            }
            NumericKind::Unorm => (f64::from(clamped(value, 0.0)) * f64::from(all) + 0.5) as u32,
            NumericKind::Snorm => {
                let scaled = f64::from(clamped(value, -1.0)) * f64::from(all >> 1);
                (scaled + 0.5f64.copysign(scaled)) as i32 as u32 & all
            }
        }
    }
}

/// One component of a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumericComponent {
    /// What it is.
    pub kind: NumericKind,
    /// Bits it is stored in.
    pub width: u32,
}

/// To 1 at most and `least` at least; 0 for what is no number.
pub(crate) fn clamped(value: f32, least: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(least, 1.0) }
}

/// A value of the sRGB curve (IEC 61966-2-1); a NaN is none.
pub(super) fn to_srgb(value: f32) -> f32 {
    let value = f64::from(clamped(value, 0.0));
    (if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 }) as f32
}

/// A float of 5 bits of exponent and so many of mantissa, with a sign or not: toward zero, and never beyond the largest
/// but for infinities. Without a sign, what is below zero is zero.
fn narrow(bits: u32, mantissa_bits: u32, has_sign: bool) -> u32 {
    const EXPONENTS: u32 = 31;
    let (is_negative, magnitude) = (bits >> 31 != 0, bits & 0x7fff_ffff);
    let sign = if has_sign { u32::from(is_negative) << (5 + mantissa_bits) } else { 0 };
    let infinity = EXPONENTS << mantissa_bits;
    if magnitude > 0x7f80_0000 {
        return sign | infinity | 1 << (mantissa_bits - 1);
    }
    if is_negative && !has_sign {
        return 0;
    }
    if magnitude == 0x7f80_0000 {
        return sign | infinity;
    }
    // 127 and 15 are the biases. A denormal float is below every float of 5 bits of exponent.
    let exponent = (magnitude >> 23) as i32 - 127 + 15;
    let dropped = 23 - mantissa_bits;
    let stored = if exponent >= EXPONENTS as i32 {
        infinity - 1
    } else if exponent <= 0 {
        let significand = magnitude & 0x7f_ffff | 0x80_0000;
        significand.checked_shr(dropped + (1 - exponent) as u32).unwrap_or(0)
    } else {
        (exponent as u32) << mantissa_bits | (magnitude & 0x7f_ffff) >> dropped
    };
    sign | stored
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::TexelFormat;

    fn encode(kind: NumericKind, width: u32, bits: u32) -> u32 {
        NumericComponent { kind, width }.encode(bits)
    }

    #[test]
    fn halves_are_rounded_toward_zero() {
        let half = |value: f32| encode(NumericKind::Float, 16, value.to_bits());
        for (value, stored) in [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65520.0, 0x7bff),
            (1e30, 0x7bff),
            (f32::INFINITY, 0x7c00),
            (f32::NEG_INFINITY, 0xfc00),
            (f32::from_bits(0x3f80_1fff), 0x3c00),
            (2f32.powi(-20), 0x0010),
            (2f32.powi(-24), 0x0001),
            (2f32.powi(-25), 0),
            (f32::from_bits(1), 0),
        ] {
            assert_eq!(half(value), stored, "{value}");
        }
        assert_eq!(half(f32::NAN) & 0x7e00, 0x7e00);
    }

    #[test]
    fn small_floats_have_no_sign() {
        let eleven = |value: f32| encode(NumericKind::Float, 11, value.to_bits());
        assert_eq!([1.0, -1.0, f32::NEG_INFINITY, f32::INFINITY, 1e9].map(eleven), [0x3c0, 0, 0, 0x7c0, 0x7bf]);
        assert_eq!(encode(NumericKind::Float, 10, 0.5f32.to_bits()), 0x1c0);
    }

    #[test]
    fn steps_are_the_nearest_and_integers_are_clamped() {
        let unorm = |value: f32| encode(NumericKind::Unorm, 8, value.to_bits());
        assert_eq!([0.0, 1.0, 2.0, -1.0, f32::NAN, 0.5, 0.001].map(unorm), [0, 255, 255, 0, 0, 128, 0]);
        let snorm = |value: f32| encode(NumericKind::Snorm, 8, value.to_bits());
        assert_eq!([0.0, 1.0, -1.0, -9.0, f32::NAN, -0.5].map(snorm), [0, 0x7f, 0x81, 0x81, 0, 0xc0]);
        assert_eq!(encode(NumericKind::Uint, 8, 256), 255);
        assert_eq!([128, -129i32 as u32, 5].map(|bits| encode(NumericKind::Sint, 8, bits)), [0x7f, 0x80, 5]);
    }

    #[test]
    fn what_is_decoded_is_stored_as_it_was() {
        let stored = |format: &&TexelFormat| **format != TexelFormat::Rgb9e5Float;
        for &format in TexelFormat::ALL.iter().filter(stored) {
            for seed in 0..2000u32 {
                let words = [0, 1, 2, 3].map(|word| seed.wrapping_mul(0x9e37_79b9).rotate_left(word * 7 + seed));
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let decoded = format.decode(&bytes[..format.bytes()]);
                let again: Vec<u8> = format.encode(decoded).iter().flat_map(|word| word.to_le_bytes()).collect();
                // The least of the signed steps has two codes, and NaNs many.
                let stored = format.decode(&again[..format.bytes()]);
                let is_same =
                    |(a, b): (&u32, &u32)| a == b || f32::from_bits(*a).is_nan() && f32::from_bits(*b).is_nan();
                assert!(decoded.iter().zip(&stored).all(is_same), "{}: {decoded:x?} {stored:x?}", format.name());
            }
        }
    }
}
