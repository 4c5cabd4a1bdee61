//! A product and a sum, rounded once, without the C library: that is what Rust's `mul_add` calls where a target is not
//! known to have the instruction, and MinGW's rounds wrongly. The `libm` crate knows at run time whether there is an
//! instruction; without one it rounds wrongly too (0.2.16: a tie that a product far below the addend decides).

/// The value of the last bit of denormals, and of the smallest normal numbers: 2 to this.
const LOWEST_PLACE: i32 = f64::MIN_EXP - f64::MANTISSA_DIGITS as i32;
/// Bits of a significand behind the leading one.
const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;

/// `a * b + c`, as good as exact for an `f32`: it lies on the same side of every number of at most 25 bits as the exact
/// result, and equals one only if that does. So it can be compared with such numbers, and rounded to an `f32` as if it
/// were exact.
#[inline(always)]
pub fn wide(a: f32, b: f32, c: f32) -> f64 {
    // 24 by 24 bits: exact.
    let (product, addend) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + addend;
    if sum.to_bits() % (1 << (f64::MANTISSA_DIGITS - 25)) != 0 {
        return sum;
    }
    // 25 bits, which the exact sum, `sum + error` (Knuth's two-sum), may have been rounded to.
    let part = sum - product;
    let error = (product - (sum - part)) + (addend - part);
    // It is rounded to odd instead: towards zero, the last bit set. The error of infinity or NaN is NaN.
    let truncated = sum.to_bits().wrapping_sub((sum.to_bits() ^ error.to_bits()) >> 63);
    if error.abs() > 0.0 { f64::from_bits(truncated | 1) } else { sum }
}

/// `a * b + c`, rounded to nearest even.
#[inline]
pub fn double(a: f64, b: f64, c: f64) -> f64 {
    if has_instruction() { libm::fma(a, b, c) } else { by_integers(a, b, c) }
}

/// Whether [`libm::fma`] is an instruction of this machine.
#[inline]
fn has_instruction() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return cfg!(target_arch = "aarch64");
}

/// [`double`] by integers of 128 bits, which hold a product whole.
fn by_integers(a: f64, b: f64, c: f64) -> f64 {
    let is_ordinary = |x: f64| x.is_finite() && x != 0.0;
    if !(is_ordinary(a) && is_ordinary(b)) {
        // The product is zero, infinite or NaN: it is not rounded.
        return a * b + c;
    }
    if !c.is_finite() {
        return c;
    }
    let [a_parts, b_parts, c_parts] = [a, b, c].map(parts);
    let product = Magnitude::new(a_parts.0 * b_parts.0, a_parts.1 + b_parts.1);
    let addend = Magnitude::new(c_parts.0, c_parts.1);
    let product_sign = (a.to_bits() ^ b.to_bits()) >> 63;
    let addend_sign = c.to_bits() >> 63;
    let (large, small, sign) =
        if product < addend { (addend, product, addend_sign) } else { (product, addend, product_sign) };
    // Where bits are lost here, `small` is so much smaller that the result has at least 126 bits: none of those lost
    // would be among the 53 of the result, nor the one behind them, so it is enough to know whether there are any.
    let aligned = shift_right(small.bits, large.exponent - small.exponent);
    let bits = if product_sign == addend_sign { large.bits + aligned } else { large.bits - aligned };
    // What cancels is +0.
    let sign = if bits == 0 { 0 } else { sign << 63 };
    f64::from_bits(sign | rounded(bits, large.exponent))
}

/// The bits of the significand, and 2 to what the last one is worth.
#[inline(always)]
fn parts(x: f64) -> (u128, i32) {
    let fraction = x.to_bits() & ((1 << FRACTION) - 1);
    let exponent = (x.to_bits() >> FRACTION) as i32 & 0x7ff;
    // Denormals have no leading one and the places of the lowest normal numbers.
    let leading = u64::from(exponent != 0) << FRACTION;
    (u128::from(leading | fraction), LOWEST_PLACE + (exponent - 1).max(0))
}

/// `bits * 2^exponent`, ordered by size: the leading one is bit 126, which leaves room for a sum.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Magnitude {
    exponent: i32,
    bits: u128,
}

impl Magnitude {
    /// Of bits of which the highest is not set.
    #[inline(always)]
    fn new(bits: u128, exponent: i32) -> Magnitude {
        if bits == 0 {
            // Below all others, so that it is zero that is aligned.
            return Magnitude { exponent: i32::MIN / 2, bits };
        }
        let free = bits.leading_zeros() - 1;
        Magnitude { exponent: exponent - free as i32, bits: bits << free }
    }
}

/// The bits without the last `by`, the last one left set if any of those was: it *sticks*.
#[inline(always)]
fn shift_right(bits: u128, by: i32) -> u128 {
    if by >= 128 {
        return u128::from(bits != 0);
    }
    let kept = bits >> by;
    kept | u128::from(kept << by != bits)
}

/// The bits of the `f64` nearest to `bits * 2^exponent`, of the even one of two.
#[inline(always)]
fn rounded(bits: u128, exponent: i32) -> u64 {
    if bits == 0 {
        return 0;
    }
    let free = bits.leading_zeros();
    let (bits, exponent) = (bits << free, exponent - free as i32);
    // What the last place of the result is worth, and with it how many bits it has.
    let place = (exponent + 128 - f64::MANTISSA_DIGITS as i32).max(LOWEST_PLACE);
    // With the first bit that is dropped, and one that says whether there are more.
    let kept = shift_right(bits, place - exponent - 2) as u64;
    let rounds_up = kept & 0b10 != 0 && kept & 0b101 != 0;
    // A leading one counts as one exponent more, and so does a carry.
    let biased = (place - LOWEST_PLACE) as u64;
    ((biased << FRACTION) + (kept >> 2) + u64::from(rounds_up)).min(f64::INFINITY.to_bits())
}

#[cfg(test)]
mod tests;
