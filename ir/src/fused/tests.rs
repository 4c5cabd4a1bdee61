//! Against a reference that knows no rounding tricks: exact numbers of 4224 bits, and a search for the nearest float.

use super::*;
use crate::float;
use std::cmp::Ordering;

/// The last bit of an exact number is worth 2 to this: the smallest `f64` squared.
const LAST: i32 = 2 * LOWEST_PLACE;
const WORDS: usize = 66;

/// A magnitude, exactly: words of a fixed-point number, the lowest first.
#[derive(Clone, Copy)]
struct Exact([u64; WORDS]);

impl Exact {
    /// `bits * 2^exponent`.
    fn new(bits: u128, exponent: i32) -> Exact {
        let (word, shift) = ((exponent - LAST) as usize / 64, (exponent - LAST) as usize % 64);
        let mut words = [0; WORDS];
        words[word] = (bits << shift) as u64;
        words[word + 1] = (bits >> (64 - shift)) as u64;
        if shift > 0 {
            words[word + 2] = (bits >> (128 - shift)) as u64;
        }
        Exact(words)
    }

    fn of(x: f64) -> Exact {
        let (bits, exponent) = significand(x);
        Exact::new(bits, exponent)
    }

    fn plus(&self, other: &Exact) -> Exact {
        let mut carry = false;
        Exact(std::array::from_fn(|word| {
            let (sum, first) = self.0[word].overflowing_add(other.0[word]);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            sum
        }))
    }

    fn minus(&self, other: &Exact) -> Exact {
        let mut borrow = false;
        Exact(std::array::from_fn(|word| {
            let (difference, first) = self.0[word].overflowing_sub(other.0[word]);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            borrow = first || second;
            difference
        }))
    }

    /// Times 2^64.
    fn scaled(&self) -> Exact {
        Exact(std::array::from_fn(|word| if word == 0 { 0 } else { self.0[word - 1] }))
    }

    fn cmp(&self, other: &Exact) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }

    /// The last of a format's bit patterns whose value is not above this one. Patterns are in the order of their
    /// values, and infinity's, the last one, has the value that would come next if there were one.
    fn truncated(&self, infinity: u64, value: fn(u64) -> Exact) -> u64 {
        let (mut low, mut high) = (0, infinity);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if value(middle).cmp(self).is_gt() { high = middle - 1 } else { low = middle }
        }
        low
    }

    /// The pattern whose value is nearest to this one, of two the even one.
    fn nearest(&self, infinity: u64, value: fn(u64) -> Exact) -> u64 {
        let low = self.truncated(infinity, value);
        if low == infinity {
            return infinity;
        }
        match self.plus(self).cmp(&value(low).plus(&value(low + 1))) {
            Ordering::Less => low,
            Ordering::Equal => low + (low & 1),
            Ordering::Greater => low + 1,
        }
    }
}

fn significand(x: f64) -> (u128, i32) {
    let bits = x.to_bits() << 1 >> 1;
    match bits >> 52 {
        0 => (u128::from(bits), -1074),
        exponent => (u128::from(bits % (1 << 52) + (1 << 52)), exponent as i32 - 1075),
    }
}

fn value_of_f64(bits: u64) -> Exact {
    Exact::of(f64::from_bits(bits))
}

fn value_of_f32(bits: u64) -> Exact {
    if bits == f32::INFINITY.to_bits().into() {
        Exact::new(1, 128)
    } else {
        Exact::of(f32::from_bits(bits as u32).into())
    }
}

/// `a * b + c` of finite numbers: its sign and its magnitude.
fn exact(a: f64, b: f64, c: f64) -> (f64, Exact) {
    let ((a_bits, a_exponent), (b_bits, b_exponent)) = (significand(a), significand(b));
    let product = Exact::new(a_bits * b_bits, a_exponent + b_exponent);
    let addend = Exact::of(c);
    let product_sign = a.signum() * b.signum();
    if product_sign == c.signum() {
        return (product_sign, product.plus(&addend));
    }
    match product.cmp(&addend) {
        Ordering::Less => (c.signum(), addend.minus(&product)),
        Ordering::Equal => (1.0, product.minus(&addend)),
        Ordering::Greater => (product_sign, product.minus(&addend)),
    }
}

fn check_f64(a: f64, b: f64, c: f64) {
    let want = if !(a.is_finite() && b.is_finite()) {
        a * b + c
    } else if !c.is_finite() {
        c
    } else {
        let (sign, magnitude) = exact(a, b, c);
        f64::from_bits(magnitude.nearest(f64::INFINITY.to_bits(), value_of_f64)).copysign(sign)
    };
    for got in [double(a, b, c), by_integers(a, b, c)] {
        let is_same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(is_same, "{a:e} * {b:e} + {c:e} is {want:e}, not {got:e}");
    }
}

fn check_f32(a: f32, b: f32, c: f32) {
    let [x, y, z] = [a, b, c].map(|operand| f64::from(float::flush(operand)));
    let got = float::fma(a, b, c);
    if !(x.is_finite() && y.is_finite() && z.is_finite()) {
        let want = (x * y + z) as f32;
        assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{a:e} * {b:e} + {c:e} is {want:e}");
        return;
    }
    let (sign, magnitude) = exact(x, y, z);

    let truncated = magnitude.truncated(f64::INFINITY.to_bits(), value_of_f64);
    let is_exact = magnitude.cmp(&value_of_f64(truncated)).is_eq();
    let wide = wide(x as f32, y as f32, z as f32).abs().to_bits();
    // The first 25 bits, and whether there are more.
    let halves = |bits: u64, has_more: bool| (bits >> 28, bits << 36 != 0 || has_more);
    assert_eq!(halves(wide, false), halves(truncated, !is_exact), "{a:e} * {b:e} + {c:e}, wide");

    let infinity = f32::INFINITY.to_bits().into();
    let rounded = magnitude.nearest(infinity, value_of_f32) as u32;
    let is_tiny = if cfg!(target_arch = "aarch64") {
        magnitude.cmp(&Exact::new(1, -126)).is_lt()
    } else {
        // Where no denormals are near, all numbers are rounded to 24 bits.
        magnitude.scaled().nearest(infinity, value_of_f32) < 2f32.powi(-126 + 64).to_bits().into()
    };
    let want = f32::from_bits(if is_tiny { 0 } else { rounded }).copysign(sign as f32);
    assert_eq!(got.to_bits(), want.to_bits(), "{a:e} * {b:e} + {c:e} is {want:e}, not {got:e}");
}

/// Numbers of few bits or many, some next to a power of two: what rounds badly.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: i32) -> i32 {
        (self.bits() % bound as u64) as i32
    }

    /// Significands of `digits` bits in [1, 2), of either sign.
    fn fraction(&mut self, digits: u32) -> f64 {
        let unit = 1u64 << (digits - 1);
        let fraction = match self.below(4) {
            0 => self.bits() % unit,
            1 => (1 << self.below(digits as i32)) % unit,
            2 => (unit - (1 << self.below(digits as i32))) % unit,
            _ => (self.bits() & self.bits() & self.bits()) % unit,
        };
        let sign = if self.below(2) == 0 { 1.0 } else { -1.0 };
        sign * (unit + fraction) as f64 / unit as f64
    }
}

/// Times 2^exponent, rounded once.
fn scaled(x: f64, exponent: i32) -> f64 {
    let near = exponent.clamp(-1000, 1000);
    x * 2f64.powi(near) * 2f64.powi(exponent - near)
}

/// With the numbers in between and their negatives, all that is special about a format.
const EDGES: [u64; 12] = [
    0,
    1,
    3 << 50,
    (1 << 52) - 1,
    1 << 52,
    1023 << 52,
    1024 << 52,
    1076 << 52,
    2045 << 52,
    2046 << 52,
    2047 << 52,
    0x7ff8 << 48,
];

#[test]
fn edges_of_f64_are_exact() {
    let around = EDGES.iter().flat_map(|&bits| [bits.saturating_sub(1), bits, bits + 1]);
    let edges: Vec<f64> = around.flat_map(|bits| [f64::from_bits(bits), -f64::from_bits(bits)]).collect();
    let mut random = Random(1);
    for &a in &edges {
        for &b in &edges {
            for _ in 0..4 {
                check_f64(a, b, edges[random.below(edges.len() as i32) as usize]);
            }
            // What nearly cancels.
            check_f64(a, b, -(a * b));
            check_f64(a, b, -(a * b).next_up());
        }
    }
}

#[test]
fn random_f64_are_exact() {
    let mut random = Random(2);
    for _ in 0..20_000 {
        let [a, b, c] = [0; 3].map(|_| random.fraction(53));
        // Sums around 1, around the smallest numbers and around the largest ones.
        let exponent = [0, -1074, -1022, 1022][random.below(4) as usize] + random.below(8) - 4;
        let (first, apart) = (random.below(900) - 450, random.below(240) - 120);
        let [a, b] = [scaled(a, first), scaled(b, exponent - first)];
        check_f64(a, b, scaled(c, exponent + apart));
        check_f64(a, b, -(a * b) * (1.0 + random.fraction(53) * 2f64.powi(-random.below(60))));
    }
}

#[test]
fn a_product_far_below_decides_a_tie() {
    let mut random = Random(3);
    for _ in 0..2_000 {
        // A product of 2^105 or a little more, half of what the last bit of the sum is worth.
        let a = (random.bits() >> 12 | 1 << 52) as f64;
        let b = (2f64.powi(105) / a).trunc() + f64::from(random.below(2));
        for sign in [1.0, -1.0] {
            check_f64(a, b, sign * 2f64.powi(158));
            check_f64(a, b, sign * 2f64.powi(158).next_up());
        }
    }
    // Found where the C library or a crate rounds wrongly.
    check_f64(7_106_004_196_789_251.0, 5_708_527_336_028_311.0, 2f64.powi(158));
    assert_eq!(float::fma(2f32.powi(-125), 16_777_215.0, f32::MIN_POSITIVE).to_bits(), 0x0d00_0000);
}

#[test]
fn edges_of_f32_are_exact() {
    let edges: Vec<f32> =
        [0, 1, 0x007f_ffff, 0x0080_0000, 0x0080_0001, 0x00ff_ffff, 0x0100_0000, 0x3f7f_ffff, 0x3f80_0000]
            .into_iter()
            .chain([0x3f80_0001, 0x4b7f_ffff, 0x4b80_0000, 0x7f00_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000])
            .flat_map(|bits| [f32::from_bits(bits), -f32::from_bits(bits)])
            .collect();
    for &a in &edges {
        for &b in &edges {
            edges.iter().for_each(|&c| check_f32(a, b, c));
        }
    }
}

#[test]
fn random_f32_are_exact() {
    let mut random = Random(4);
    for _ in 0..20_000 {
        let [a, b, c] = [0; 3].map(|_| random.fraction(24));
        let exponent = [0, -126, 126][random.below(3) as usize] + random.below(8) - 4;
        let (first, apart) = (random.below(120) - 60, random.below(120) - 60);
        let [a, b] = [scaled(a, first) as f32, scaled(b, exponent - first) as f32];
        check_f32(a, b, scaled(c, exponent + apart) as f32);
        // Sums of which little is left, those around the smallest normal number among them.
        check_f32(a, b, -(a * b) * (1.0 + random.fraction(24) as f32 * 2f32.powi(-random.below(30))));
        let rest = scaled(random.fraction(24), -126 - random.below(26));
        check_f32(a, b, (rest - f64::from(a) * f64::from(b)) as f32);
    }
}

#[test]
fn integers_give_what_the_instruction_gives() {
    if !has_instruction() {
        return;
    }
    let mut random = Random(5);
    for _ in 0..1_000_000 {
        let [a, b] = [0; 2].map(|_| f64::from_bits(random.bits()));
        let near = a * b * random.fraction(53) * 2f64.powi(random.below(220) - 110);
        for c in [near, f64::from_bits(random.bits())] {
            let [got, want] = [by_integers(a, b, c), double(a, b, c)];
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{a:e} * {b:e} + {c:e}");
        }
    }
}
