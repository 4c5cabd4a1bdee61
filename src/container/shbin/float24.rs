//! The PICA200's 24-bit float: sign in bit 23, exponent in 22..16 with bias 63, mantissa in 15..0. Exponent 127 is
//! infinity or NaN; exponent 0 is subnormal, in steps of 2^-78.

/// Bits of the mantissa.
const MANTISSA: u32 = 16;
/// The exponent of infinity and NaN.
const EXPONENT_MAX: u32 = 0x7f;
/// Difference between the exponent biases of `f32` and float24.
const REBIAS: u32 = 127 - 63;

/// The value of the low 24 bits of `bits`. Exact: `f32` has every float24 value, the subnormal ones as normal numbers.
/// A NaN keeps its sign and mantissa.
pub fn float24_to_f32(bits: u32) -> f32 {
    let sign = (bits >> 23 & 1) << 31;
    let exponent = bits >> MANTISSA & EXPONENT_MAX;
    let mantissa = bits & ((1 << MANTISSA) - 1);
    let widened = mantissa << (23 - MANTISSA);
    match exponent {
        0 => {
            let step = f32::from_bits((127 - 78) << 23);
            f32::from_bits(sign | (mantissa as f32 * step).to_bits())
        }
        EXPONENT_MAX => f32::from_bits(sign | 0xff << 23 | widened),
        _ => f32::from_bits(sign | (exponent + REBIAS) << 23 | widened),
    }
}

#[cfg(test)]
mod tests {
    use super::float24_to_f32;

    #[test]
    fn known_values() {
        let cases = [
            (0x00_0000, 0.0),
            (0x3f_0000, 1.0),
            (0xbf_0000, -1.0),
            (0x40_0000, 2.0),
            (0x3f_8000, 1.5),
            (0x3e_0000, 0.5),
            (0x41_8000, 6.0),
            (0x00_0001, 2f32.powi(-78)),
            (0x00_ffff, 65535.0 * 2f32.powi(-78)),
            (0x01_0000, 2f32.powi(-62)),
            (0x7e_ffff, 2f32.powi(64) * (1.0 - 2f32.powi(-17))),
            (0x7f_0000, f32::INFINITY),
            (0xff_0000, f32::NEG_INFINITY),
        ];
        for (bits, value) in cases {
            assert_eq!(float24_to_f32(bits).to_bits(), value.to_bits(), "{bits:#08x}");
        }
        assert_eq!(float24_to_f32(0x80_0000).to_bits(), (-0.0f32).to_bits());
        assert!(float24_to_f32(0x7f_0001).is_nan() && float24_to_f32(0xff_8000).is_nan());
        assert_eq!(float24_to_f32(0xff3f_0000).to_bits(), 1f32.to_bits(), "bits above 24 do not matter");
    }

    /// All 2^24 values against the definition in `f64`, which is exact in every step.
    #[test]
    fn every_value_is_exact() {
        for bits in 0..1u32 << 24 {
            let (exponent, mantissa) = (bits >> 16 & 0x7f, f64::from(bits & 0xffff));
            let magnitude = match exponent {
                0 => mantissa * 2f64.powi(-78),
                0x7f if mantissa == 0.0 => f64::INFINITY,
                0x7f => f64::NAN,
                _ => (1.0 + mantissa / 65536.0) * f64::from_bits(u64::from(exponent + 1023 - 63) << 52),
            };
            let expected = if bits >> 23 == 1 { -magnitude } else { magnitude };
            let value = float24_to_f32(bits);
            if expected.is_nan() {
                assert!(value.is_nan(), "{bits:#08x}");
            } else {
                assert_eq!(f64::from(value).to_bits(), expected.to_bits(), "{bits:#08x}");
            }
        }
    }
}
