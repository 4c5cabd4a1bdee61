//! Numbers as the reference disassembler prints them.

use std::fmt::{self, Display, Formatter};

use crate::frontend::sm4::Dialect;

/// Integers up to this magnitude print in decimal, others as their bits.
const MAX_DECIMAL: u32 = 10_000;

fn is_small(word: u32) -> bool {
    (word as i32).unsigned_abs() <= MAX_DECIMAL
}

/// A dword that the instruction reads as an integer.
pub(super) struct Integer(pub u32);

impl Display for Integer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match is_small(self.0) {
            true => write!(f, "{}", self.0 as i32),
            false => write!(f, "0x{:08x}", self.0),
        }
    }
}

/// A finite number to six decimals. What lies midway is rounded away from zero, not to the even one as Rust's
/// formatting does.
///
/// Midway are odd multiples of 2^-7 and nothing else: they are what 2 * 10^6 = 2^7 * 5^6 makes odd whole numbers of.
fn sixth_decimal(value: f64, f: &mut Formatter<'_>) -> fmt::Result {
    if (value * 128.0) % 2.0 == value.signum() {
        let (whole, fraction) = (value.trunc(), value.fract().abs());
        // The fraction has seven bits, so this is exact, and it stays below 1.
        let above = format!("{:.6}", fraction + f64::EPSILON.sqrt());
        return write!(f, "{whole:.0}{}", above.trim_start_matches('0'));
    }
    write!(f, "{value:.6}")
}

/// A dword that the instruction reads as a float.
pub(super) struct Float(pub u32);

impl Display for Float {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match f32::from_bits(self.0) {
            value if value.is_finite() => sixth_decimal(value.into(), f),
            _ => write!(f, "0x{:08x}", self.0),
        }
    }
}

/// A dword that the instruction only moves: a small integer, a float, or bits that are neither.
pub(super) struct Untyped(pub u32, pub Dialect);

impl Display for Untyped {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let value = f32::from_bits(self.0);
        let as_bits = value.is_subnormal() || value == 0.0 && !self.1.spelling().negative_zero_is_float;
        match is_small(self.0) || as_bits {
            true => Integer(self.0).fmt(f),
            false => Float(self.0).fmt(f),
        }
    }
}

/// Two dwords, the low half of a double first.
pub(super) struct Double<'a>(pub &'a [u32]);

impl Display for Double<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bits = u64::from(self.0[1]) << 32 | u64::from(self.0[0]);
        match f64::from_bits(bits) {
            value if value.is_finite() => {
                sixth_decimal(value, f)?;
                f.write_str("l")
            }
            _ => write!(f, "0x{bits:016x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_by_class() {
        let untyped = |bits| Untyped(bits, Dialect::Fxc10_1).to_string();
        assert_eq!(
            ["0", "-1", "1.000000", "-0.000000"],
            [0, u32::MAX, 0x3f80_0000, 0x8000_0000].map(untyped).each_ref()
        );
        assert_eq!(
            ["0x00010000", "0x7f800000", "0x7fc00000"],
            [0x10000, 0x7f80_0000, 0x7fc0_0000].map(untyped).each_ref()
        );
        assert_eq!(
            ["10000", "0x00002711", "-10000", "0xffffd8ef"],
            [10_000, 10_001, -10_000i32 as u32, -10_001i32 as u32].map(|bits| Integer(bits).to_string()).each_ref()
        );
        assert_eq!(
            ["0.000000", "0.000000", "-2.500000"],
            [0, 1, 0xc020_0000].map(|bits| Float(bits).to_string()).each_ref()
        );
        assert_eq!(Double(&[0, 0x3fe0_0000]).to_string(), "0.500000l");
        assert_eq!(Untyped(0x8000_0000, Dialect::Fxc9_29).to_string(), "0x80000000");
    }

    #[test]
    fn what_lies_midway_is_rounded_away_from_zero() {
        let float = |value: f32| Float(value.to_bits()).to_string();
        assert_eq!(
            ["123456.789063", "-0.007813", "1.992188"],
            [15_802_469.0, -1.0, 255.0].map(|odd: f32| odd / 128.0).map(float)
        );
        // Not midway.
        assert_eq!(["0.500000", "-0.015625", "0.000000"], [0.5, -0.015_625, 1.0 / 4_194_304.0].map(float));
        // The largest double with seven bits behind the point.
        let bits = (f64::from(u32::MAX) * 16384.0 + 1.0 / 128.0).to_bits();
        assert_eq!(Double(&[bits as u32, (bits >> 32) as u32]).to_string(), "70368744161280.007813l");
    }
}
