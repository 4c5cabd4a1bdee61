//! Integer ops on all lanes. Those that the machine has no form of are built from those it has: with AVX2 bits are
//! counted through the exponents of floats; integers are divided as doubles. All of it is exact.

use super::Selector;
use super::code::Source;
use super::simd::{EVEN_WORDS, ODD_WORDS, integer, round};
use super::table::Op as X;
use crate::error::JitError;
use crate::jit::places::codegen;
use regalloc2::VReg;
use shaderjit_ir::Op;

/// The high word of 2^52 as a double, whose low word counts ones.
const TWO_TO_52: u32 = 0x4330_0000;

impl Selector<'_> {
    /// An op on integers.
    pub(super) fn integer_op(&mut self, op: Op, a: VReg, b: VReg) -> Result<VReg, JitError> {
        Ok(match op {
            Op::Ishl => self.shift_lanes(X::Psllvd, a, b),
            Op::Ushr => self.shift_lanes(X::Psrlvd, a, b),
            Op::Sshr => self.shift_lanes(X::Psravd, a, b),
            Op::Popcnt => self.count_ones(a),
            Op::Clz if self.simd.has_masks() => self.simd.op(X::Plzcntd, &[], a),
            Op::Clz => self.leading_zeros(a),
            Op::Ctz => self.trailing_zeros(a),
            Op::Smulhi => self.high_words(X::Pmuldq, a, b),
            Op::Umulhi => self.high_words(X::Pmuludq, a, b),
            Op::Udiv => self.divide(a, b, false),
            Op::Urem => self.divide(a, b, true),
            Op::Ieq => self.equal(a, b),
            Op::Ine | Op::Slt | Op::Sle | Op::Ult | Op::Ule if self.simd.has_masks() => {
                let machine = if matches!(op, Op::Ult | Op::Ule) { X::PcmpudMask } else { X::PcmpdMask };
                let predicate = match op {
                    Op::Ine => integer::NOT_EQUAL,
                    Op::Slt | Op::Ult => integer::LESS,
                    _ => integer::LESS_EQUAL,
                };
                self.simd.op_imm(machine, &[a], b, predicate)
            }
            Op::Ine => {
                let equal = self.equal(a, b);
                self.complement(equal)
            }
            Op::Slt => self.simd.op(X::Pcmpgtd, &[b], a),
            Op::Sle => {
                let greater = self.simd.op(X::Pcmpgtd, &[a], b);
                self.complement(greater)
            }
            Op::Ule => self.at_most(a, b.into()),
            Op::Ult => {
                let not_less = self.at_most(b, a.into());
                self.complement(not_less)
            }
            op => return Err(codegen(format!("{op} has no native form"))),
        })
    }

    /// Where both are the same: a mask.
    pub(super) fn equal(&mut self, a: VReg, b: impl Into<Source>) -> VReg {
        match self.simd.has_masks() {
            true => self.simd.op_imm(X::PcmpdMask, &[a], b, integer::EQUAL),
            false => self.simd.op(X::Pcmpeqd, &[a], b),
        }
    }

    /// Where `a <= b`, of unsigned numbers: a mask.
    pub(super) fn at_most(&mut self, a: VReg, b: Source) -> VReg {
        if self.simd.has_masks() {
            return self.simd.op_imm(X::PcmpudMask, &[a], b, integer::LESS_EQUAL);
        }
        let smallest = self.simd.op(X::Pminud, &[a], b);
        self.simd.op(X::Pcmpeqd, &[smallest], a)
    }

    /// Shifts all lanes by one amount, 0 to 31.
    pub(super) fn shift(&mut self, op: Op, vector: VReg, amount: u32) -> VReg {
        let machine = match op {
            Op::Ishl => X::Pslld,
            Op::Ushr => X::Psrld,
            _ => X::Psrad,
        };
        self.simd.op_imm(machine, &[], vector, amount)
    }

    fn shift_lanes(&mut self, op: X, value: VReg, amount: VReg) -> VReg {
        let low_bits = self.simd.word_source(31);
        let amount = self.simd.op(X::Pand, &[amount], low_bits);
        self.simd.op(op, &[value], amount)
    }

    /// Of each nibble by a table, then of bytes to words.
    fn count_ones(&mut self, value: VReg) -> VReg {
        let table = self.simd.row_constant([0x0201_0100, 0x0302_0201, 0x0302_0201, 0x0403_0302]);
        let nibbles = self.simd.word(0x0f0f_0f0f);
        let low = self.simd.op(X::Pand, &[value], nibbles);
        let high = self.shift(Op::Ushr, value, 4);
        let high = self.simd.op(X::Pand, &[high], nibbles);
        let [low, high] = [low, high].map(|nibbles| self.simd.op(X::Pshufb, &[table], nibbles));
        // At most eight a byte: nothing is carried.
        let bytes = self.simd.op(X::Paddd, &[low], high);
        let ones = self.simd.word(0x0101_0101);
        let halves = self.simd.op(X::Pmaddubsw, &[bytes], ones);
        let ones = self.simd.word(0x0001_0001);
        self.simd.op(X::Pmaddwd, &[halves], ones)
    }

    /// By the exponent of the value as a float. Clearing each bit below a set one keeps the float from rounding up.
    fn leading_zeros(&mut self, value: VReg) -> VReg {
        let half = self.shift(Op::Ushr, value, 1);
        let sparse = self.simd.op(X::Pandn, &[half], value);
        let float = self.simd.op(X::Cvtdq2ps, &[], sparse);
        let exponent = self.shift(Op::Ushr, float, 23);
        let top = self.simd.word(127 + 31);
        let count = self.simd.op(X::Psubd, &[top], exponent);
        // The exponent of zero is 0.
        let limit = self.simd.word_source(32);
        let count = self.simd.op(X::Pminud, &[count], limit);
        // A set top bit made the number negative: none lead.
        let negative = self.shift(Op::Sshr, value, 31);
        self.simd.op(X::Pandn, &[negative], count)
    }

    fn trailing_zeros(&mut self, value: VReg) -> VReg {
        let ones = self.simd.word_source(u32::MAX);
        let less = self.simd.op(X::Paddd, &[value], ones);
        let trailing = self.simd.op(X::Pandn, &[value], less);
        // As many ones as there are zeroes: the number of those that lead tells how many.
        let leading = match self.simd.has_masks() {
            true => self.simd.op(X::Plzcntd, &[], trailing),
            false => self.leading_zeros(trailing),
        };
        let width = self.simd.word(32);
        self.simd.op(X::Psubd, &[width], leading)
    }

    /// The high words of 64-bit products, those of even lanes first and then those of odd ones.
    fn high_words(&mut self, op: X, a: VReg, b: VReg) -> VReg {
        let even = self.simd.op(op, &[a], b);
        let [odd_a, odd_b] = [a, b].map(|vector| self.simd.op_imm(X::Psrlq, &[], vector, 32));
        let odd = self.simd.op(op, &[odd_a], odd_b);
        let high = self.simd.shuffle(even, odd, ODD_WORDS);
        self.simd.permute(high, [0, 2, 1, 3])
    }

    /// Unsigned integers less `raised` as doubles: two of each row, and the other two.
    pub(super) fn integers_as_doubles(&mut self, integers: VReg, raised: u32) -> [VReg; 2] {
        let high = self.simd.word(TWO_TO_52);
        [X::Punpckldq, X::Punpckhdq].map(|unpack| {
            let biased = self.simd.op(unpack, &[integers], high);
            let bias = self.simd.pair_source([raised, TWO_TO_52]);
            self.simd.op(X::Subpd, &[biased], bias)
        })
    }

    /// Unsigned quotient or remainder, all ones where the divisor is zero. Doubles hold 32 bits with room to spare:
    /// rounding moves a quotient by less than the 1/b by which one that is no integer misses the next.
    fn divide(&mut self, a: VReg, b: VReg, is_remainder: bool) -> VReg {
        let (dividends, divisors) = (self.integers_as_doubles(a, 0), self.integers_as_doubles(b, 0));
        let [first, second] = [0, 1].map(|half| {
            let quotient = self.simd.op(X::Divpd, &[dividends[half]], divisors[half]);
            let whole = self.simd.op_imm(X::Roundpd, &[], quotient, round::TRUNCATE);
            let bias = self.simd.pair_source([0, TWO_TO_52]);
            self.simd.op(X::Addpd, &[whole], bias)
        });
        let mut value = self.simd.shuffle(first, second, EVEN_WORDS);
        if is_remainder {
            let product = self.simd.op(X::Pmulld, &[value], b);
            value = self.simd.op(X::Psubd, &[a], product);
        }
        let zero = self.simd.word(0);
        let by_zero = self.equal(b, zero);
        if self.simd.has_masks() {
            let ones = self.simd.word_source(u32::MAX);
            return self.simd.blend(by_zero, ones, value);
        }
        self.simd.op(X::Por, &[value], by_zero)
    }

    pub(super) fn unsigned_as_float(&mut self, value: VReg) -> VReg {
        if self.simd.has_masks() {
            return self.simd.op(X::Cvtudq2ps, &[], value);
        }
        // Both halves are exact, and so is the high one multiplied: the sum is rounded once.
        let high = self.shift(Op::Ushr, value, 16);
        let low_bits = self.simd.word_source(0xffff);
        let low = self.simd.op(X::Pand, &[value], low_bits);
        let [high, low] = [high, low].map(|half| self.simd.op(X::Cvtdq2ps, &[], half));
        let factor = self.simd.word_source(65536.0f32.to_bits());
        self.simd.op(X::Fma132, &[high, low], factor)
    }
}
