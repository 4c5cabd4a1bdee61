//! Ops on four lanes. Those that Cranelift has no vector form of are built from those it has: bits are counted and
//! shifted through the exponents of floats, integers divided as doubles. All of it is exact and stays in vector
//! registers.

use super::Emitter;
use super::simd::Simd;
use crate::error::JitError;
use crate::jit::places::codegen;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32X4, F64X2, I8X16, I32X4};
use cranelift_codegen::ir::{InstBuilder, Value};
use shaderjit_ir::Op;

/// The low words of the 64-bit lanes of two vectors.
const LOW_WORDS: [u8; 4] = [0, 2, 4, 6];
/// Their high words.
const HIGH_WORDS: [u8; 4] = [1, 3, 5, 7];

impl Emitter<'_, '_> {
    /// A pure op on one vector of lanes, whose operands `arg` gives.
    pub(super) fn vector_op(&mut self, op: Op, arg: impl Fn(usize) -> Value) -> Result<Value, JitError> {
        if op.operands().is_empty() {
            return Err(codegen(format!("{op} has no native form")));
        }
        let (a, b) = (arg(0), if op.operands().len() > 1 { arg(1) } else { arg(0) });
        let simd = &mut self.simd;
        Ok(match op {
            Op::And => simd.ins().band(a, b),
            Op::Or => simd.ins().bor(a, b),
            Op::Xor => simd.ins().bxor(a, b),
            Op::Not => simd.ins().bnot(a),
            Op::BitcastI32 => simd.cast(I32X4, a),
            Op::BitcastF32 => simd.cast(F32X4, a),
            Op::Ishl => shift_left(simd, a, b),
            Op::Ushr => shift_right(simd, a, b),
            Op::Sshr => {
                // A negative number shifts like its complement.
                let sign = simd.sar(a, 31);
                let magnitude = simd.ins().bxor(a, sign);
                let shifted = shift_right(simd, magnitude, b);
                simd.ins().bxor(shifted, sign)
            }
            Op::Popcnt => count_ones(simd, a),
            Op::Clz => leading_zeros(simd, a),
            Op::Ctz => trailing_zeros(simd, a),
            Op::Iadd => simd.ins().iadd(a, b),
            Op::Isub => simd.ins().isub(a, b),
            Op::Imul => simd.ins().imul(a, b),
            Op::Smulhi => high_words(simd, true, a, b),
            Op::Umulhi => high_words(simd, false, a, b),
            Op::Udiv => divide(simd, a, b).0,
            Op::Urem => divide(simd, a, b).1,
            Op::Smin => simd.ins().smin(a, b),
            Op::Smax => simd.ins().smax(a, b),
            Op::Umin => simd.ins().umin(a, b),
            Op::Umax => simd.ins().umax(a, b),
            Op::Ieq => simd.icmp(IntCC::Equal, a, b),
            Op::Ine => simd.icmp(IntCC::NotEqual, a, b),
            Op::Slt => simd.icmp(IntCC::SignedLessThan, a, b),
            Op::Sle => simd.icmp(IntCC::SignedLessThanOrEqual, a, b),
            Op::Ult => simd.icmp(IntCC::UnsignedLessThan, a, b),
            Op::Ule => simd.icmp(IntCC::UnsignedLessThanOrEqual, a, b),
            Op::Fadd => simd.ins().fadd(a, b),
            Op::Fsub => simd.ins().fsub(a, b),
            Op::Fmul => simd.ins().fmul(a, b),
            Op::Fdiv => simd.ins().fdiv(a, b),
            Op::Fsqrt => simd.ins().sqrt(a),
            Op::Fma if self.target.has_fma() => simd.ins().fma(a, b, arg(2)),
            Op::Fma => return Err(codegen("the target has no fma".to_string())),
            Op::Fneg => simd.ins().fneg(a),
            Op::Fabs => simd.ins().fabs(a),
            Op::Pmin => simd.float_min_max([a, b], a, b),
            Op::Pmax => simd.float_min_max([b, a], a, b),
            Op::Ffloor => simd.ins().floor(a),
            Op::Fceil => simd.ins().ceil(a),
            Op::Ftrunc => simd.ins().trunc(a),
            Op::Fnearest => simd.ins().nearest(a),
            Op::Feq => simd.fcmp(FloatCC::Equal, a, b),
            Op::Fne => simd.fcmp(FloatCC::NotEqual, a, b),
            Op::Flt => simd.fcmp(FloatCC::LessThan, a, b),
            Op::Fle => simd.fcmp(FloatCC::LessThanOrEqual, a, b),
            Op::Funo => simd.fcmp(FloatCC::Unordered, a, b),
            Op::Ftoi => to_signed(simd, a),
            Op::Ftou => simd.ins().fcvt_to_uint_sat(I32X4, a),
            Op::Itof => simd.ins().fcvt_from_sint(F32X4, a),
            Op::Utof => simd.ins().fcvt_from_uint(F32X4, a),
            Op::QuadLeft => quad(simd, a, [0, 0, 2, 2]),
            Op::QuadRight => quad(simd, a, [1, 1, 3, 3]),
            Op::QuadTop => quad(simd, a, [0, 1, 0, 1]),
            Op::QuadBottom => quad(simd, a, [2, 3, 2, 3]),
            op => return Err(codegen(format!("{op} has no native form"))),
        })
    }

    /// The low and high words of integers as doubles.
    pub(super) fn vector_to_double(&mut self, signed: bool, integers: Value) -> [Value; 2] {
        let simd = &mut self.simd;
        let halves = if signed {
            // Raised by 2^31 they are unsigned.
            let top = simd.word(I32X4, 1 << 31);
            let raised = simd.ins().bxor(integers, top);
            to_doubles(simd, raised, 1 << 31)
        } else {
            to_doubles(simd, integers, 0)
        };
        let [first, second] = halves.map(|half| simd.cast(I32X4, half));
        [simd.shuffle_words(first, second, LOW_WORDS), simd.shuffle_words(first, second, HIGH_WORDS)]
    }
}

/// Floats from other lanes: a vector is a quad.
fn quad(simd: &mut Simd<'_>, a: Value, lanes: [u8; 4]) -> Value {
    let shuffled = simd.shuffle(a, a, lanes);
    simd.cast(F32X4, shuffled)
}

/// The high word of 2^52 as a double, whose low word counts ones.
const TWO_TO_52: u32 = 0x4330_0000;

/// `2^52 + low` in both lanes.
fn double_bias(simd: &mut Simd<'_>, low: u32) -> Value {
    simd.words(F64X2, [low, TWO_TO_52, low, TWO_TO_52])
}

/// Unsigned integers less `raised` as doubles, two and two.
fn to_doubles(simd: &mut Simd<'_>, integers: Value, raised: u32) -> [Value; 2] {
    let high = simd.word(I32X4, TWO_TO_52);
    let bias = double_bias(simd, raised);
    [[0, 4, 1, 5], [2, 6, 3, 7]].map(|lanes| {
        let biased = simd.shuffle(integers, high, lanes);
        let biased = simd.cast(F64X2, biased);
        simd.ins().fsub(biased, bias)
    })
}

/// Unsigned quotient and remainder, all ones where the divisor is zero. Doubles hold 32 bits with room to spare:
/// rounding moves a quotient by less than the 1/b by which one that is no integer misses the next.
fn divide(simd: &mut Simd<'_>, a: Value, b: Value) -> (Value, Value) {
    let (dividends, divisors) = (to_doubles(simd, a, 0), to_doubles(simd, b, 0));
    let bias = double_bias(simd, 0);
    let [first, second] = [0, 1].map(|half| {
        let quotient = simd.ins().fdiv(dividends[half], divisors[half]);
        let whole = simd.ins().trunc(quotient);
        let biased = simd.ins().fadd(whole, bias);
        simd.cast(I32X4, biased)
    });
    let quotient = simd.shuffle_words(first, second, LOW_WORDS);
    let product = simd.ins().imul(quotient, b);
    let remainder = simd.ins().isub(a, product);
    let zero = simd.word(I32X4, 0);
    let by_zero = simd.icmp(IntCC::Equal, b, zero);
    (simd.ins().bor(quotient, by_zero), simd.ins().bor(remainder, by_zero))
}

/// 64-bit products, two and two.
fn wide_products(simd: &mut Simd<'_>, signed: bool, a: Value, b: Value) -> [Value; 2] {
    // Cranelift knows these forms: pmuldq and pmuludq, smull and umull.
    let [low_a, low_b] = [a, b].map(|x| if signed { simd.ins().swiden_low(x) } else { simd.ins().uwiden_low(x) });
    let [high_a, high_b] = [a, b].map(|x| if signed { simd.ins().swiden_high(x) } else { simd.ins().uwiden_high(x) });
    [simd.ins().imul(low_a, low_b), simd.ins().imul(high_a, high_b)]
}

fn high_words(simd: &mut Simd<'_>, signed: bool, a: Value, b: Value) -> Value {
    let [first, second] = wide_products(simd, signed, a, b).map(|product| simd.cast(I32X4, product));
    simd.shuffle_words(first, second, HIGH_WORDS)
}

/// 2 to the power of each lane, 0 to 31.
fn power_of_two(simd: &mut Simd<'_>, exponent: Value) -> Value {
    let raised = simd.shl(exponent, 23);
    let one = simd.word(I32X4, 1.0f32.to_bits());
    let bits = simd.ins().iadd(raised, one);
    let float = simd.cast(F32X4, bits);
    // 2^31 does not fit a signed integer; the x86 instruction gives the right bits for it.
    if simd.x86 { simd.ins().x86_cvtt2dq(I32X4, float) } else { simd.ins().fcvt_to_uint_sat(I32X4, float) }
}

fn shift_left(simd: &mut Simd<'_>, value: Value, amount: Value) -> Value {
    let mask = simd.word(I32X4, 31);
    let amount = simd.ins().band(amount, mask);
    let factor = power_of_two(simd, amount);
    simd.ins().imul(value, factor)
}

/// Truncates floats to signed integers: what is too large becomes the largest, NaN zero.
fn to_signed(simd: &mut Simd<'_>, float: Value) -> Value {
    if !simd.x86 {
        return simd.ins().fcvt_to_sint_sat(I32X4, float);
    }
    // What does not fit becomes the smallest integer: right for what is too small, and the complement of what is too
    // large. Two instructions less than Cranelift's own sequence.
    let converted = simd.ins().x86_cvtt2dq(I32X4, float);
    let limit = simd.word(F32X4, 2147483648.0f32.to_bits());
    let is_large = simd.fcmp(FloatCC::LessThanOrEqual, limit, float);
    let saturated = simd.ins().bxor(converted, is_large);
    let is_ordered = simd.fcmp(FloatCC::Ordered, float, float);
    simd.ins().band(saturated, is_ordered)
}

/// `value * 2^(31 - amount) / 2^31` in 64 bits.
fn shift_right(simd: &mut Simd<'_>, value: Value, amount: Value) -> Value {
    let mask = simd.word(I32X4, 31);
    let complement = simd.ins().band_not(mask, amount);
    let factor = power_of_two(simd, complement);
    let [first, second] = wide_products(simd, false, value, factor).map(|product| {
        let quotient = simd.shr(product, 31);
        simd.cast(I32X4, quotient)
    });
    simd.shuffle_words(first, second, LOW_WORDS)
}

fn count_ones(simd: &mut Simd<'_>, value: Value) -> Value {
    let bytes = simd.cast(I8X16, value);
    let counts = simd.ins().popcnt(bytes);
    let counts = simd.cast(I32X4, counts);
    // The product's top byte is the sum of the four.
    let ones = simd.word(I32X4, 0x0101_0101);
    let sums = simd.ins().imul(counts, ones);
    simd.shr(sums, 24)
}

/// By the exponent of the value as a float. Clearing each bit below a set one keeps the float from rounding up.
fn leading_zeros(simd: &mut Simd<'_>, value: Value) -> Value {
    let half = simd.shr(value, 1);
    let sparse = simd.ins().band_not(value, half);
    let float = simd.ins().fcvt_from_sint(F32X4, sparse);
    let bits = simd.cast(I32X4, float);
    let exponent = simd.shr(bits, 23);
    let top = simd.word(I32X4, 127 + 31);
    let count = simd.ins().isub(top, exponent);
    // The exponent of zero is 0.
    let limit = simd.word(I32X4, 32);
    let count = simd.ins().umin(count, limit);
    // A set top bit made the number negative: none lead.
    let negative = simd.sar(value, 31);
    simd.ins().band_not(count, negative)
}

/// By the exponent of the lowest set bit as a float.
fn trailing_zeros(simd: &mut Simd<'_>, value: Value) -> Value {
    let negated = simd.ins().ineg(value);
    let lowest = simd.ins().band(value, negated);
    let float = simd.ins().fcvt_from_sint(F32X4, lowest);
    // The top bit alone is a negative number.
    let magnitude = simd.ins().fabs(float);
    let bits = simd.cast(I32X4, magnitude);
    let exponent = simd.shr(bits, 23);
    let bias = simd.word(I32X4, 127);
    let count = simd.ins().isub(exponent, bias);
    // Zero gives -127, which is large.
    let limit = simd.word(I32X4, 32);
    simd.ins().umin(count, limit)
}
