//! Quotients and remainders of integers of 64 bits, by way of doubles.
//!
//! A quotient of doubles, made a little smaller so that it is never too large, leaves out less than 2^-49 of the right
//! one. What is left is then at most 2^15 times the divisor, a second quotient leaves at most once the divisor, and a
//! comparison decides about that. Divided by zero, all is ones, as of 32 bits.

use shaderjit_ir::{Type, Value};
use spirv::Op;

use super::Lowering;
use super::wide::Pair;

/// 1 - 2^-50: more than four roundings make up for.
const A_LITTLE_LESS: f64 = 1.0 - 1.0 / (1u64 << 50) as f64;
/// What a high word counts.
const WORD: f64 = 4_294_967_296.0;

impl Lowering<'_> {
    /// What a division gives, which the opcode is one of.
    pub(super) fn wide_division(&mut self, opcode: Op, x: Pair, y: Pair) -> Pair {
        if let Op::UDiv | Op::UMod = opcode {
            let (quotient, remainder) = self.wide_divided(x, y);
            return if opcode == Op::UDiv { quotient } else { remainder };
        }
        let bits = self.b.i32(31);
        let [sign_of_x, sign_of_y] = [x, y].map(|pair| self.b.sshr([pair.1, bits]));
        let (positive_x, positive_y) = (self.wide_negated(x, sign_of_x), self.wide_negated(y, sign_of_y));
        let (quotient, remainder) = self.wide_divided(positive_x, positive_y);
        if opcode == Op::SDiv {
            let sign = self.b.xor([sign_of_x, sign_of_y]);
            return self.wide_negated(quotient, sign);
        }
        let remainder = self.wide_negated(remainder, sign_of_x);
        if opcode == Op::SRem {
            return remainder;
        }
        // Of a modulus the sign is the divisor's.
        let zero = self.b.i32(0);
        let (any, differs) = (self.b.or([remainder.0, remainder.1]), self.b.ine([sign_of_x, sign_of_y]));
        let some = self.b.ine([any, zero]);
        let adds = self.b.and([some, differs]);
        let more = self.wide_sum(remainder, y);
        (self.b.select([adds, more.0, remainder.0]), self.b.select([adds, more.1, remainder.1]))
    }

    /// The pair, or its negation where a word is all ones instead of zero.
    fn wide_negated(&mut self, x: Pair, sign: Value) -> Pair {
        let flipped = (self.b.xor([x.0, sign]), self.b.xor([x.1, sign]));
        self.wide_difference(flipped, (sign, sign))
    }

    /// Quotient and remainder of numbers without a sign.
    fn wide_divided(&mut self, x: Pair, y: Pair) -> (Pair, Pair) {
        let divisor = self.double_of(y);
        let (mut quotient, mut rest) = ((self.b.i32(0), self.b.i32(0)), x);
        for _ in 0..2 {
            let part = self.smaller_quotient(rest, divisor);
            let product = self.wide_product(part, y);
            (quotient, rest) = (self.wide_sum(quotient, part), self.wide_difference(rest, product));
        }
        let (one, zero) = (self.b.i32(1), self.b.i32(0));
        let (more, less) = (self.wide_sum(quotient, (one, zero)), self.wide_difference(rest, y));
        let is_less = self.wide_less(rest, y, false);
        let (either, ones) = (self.b.or([y.0, y.1]), self.b.i32(u32::MAX));
        let is_zero = self.b.ieq([either, zero]);
        let mut chosen = |if_less, otherwise| {
            let value = self.b.select([is_less, if_less, otherwise]);
            self.b.select([is_zero, ones, value])
        };
        let quotient = (chosen(quotient.0, more.0), chosen(quotient.1, more.1));
        let rest = (chosen(rest.0, less.0), chosen(rest.1, less.1));
        (quotient, rest)
    }

    /// A number without a sign as a double, rounded once.
    fn double_of(&mut self, x: Pair) -> Value {
        let (low, high, word) = (self.b.utod([x.0]), self.b.utod([x.1]), self.double(WORD));
        self.b.dfma([high, word, low])
    }

    /// At most how often a number has another in it.
    fn smaller_quotient(&mut self, x: Pair, divisor: Value) -> Pair {
        let (x, less) = (self.double_of(x), self.double(A_LITTLE_LESS));
        let quotient = self.b.ddiv([x, divisor]);
        let quotient = self.b.dmul([quotient, less]);
        let (part, word) = (self.double(1.0 / WORD), self.double(-WORD));
        let high = self.b.dmul([quotient, part]);
        let high = self.b.dtou([high]);
        let whole = self.b.utod([high]);
        let low = self.b.dfma([whole, word, quotient]);
        (self.b.dtou([low]), high)
    }

    fn double(&mut self, value: f64) -> Value {
        self.b.constant(Type::F64, value.to_bits())
    }
}
