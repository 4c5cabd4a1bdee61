//! Integers of 64 bits: pairs of words, which travel as the bits of a double.
//!
//! Moves never change a bit of a double, and taking one apart that was just put together costs nothing.

use shaderjit_ir::Value;
use spirv::Op;

use super::Lowering;
use super::types::Scalar;

/// Low and high word.
pub(super) type Pair = (Value, Value);

impl Lowering<'_> {
    fn pair(&mut self, value: Value) -> Pair {
        (self.b.f64lo([value]), self.b.f64hi([value]))
    }

    fn joined(&mut self, (low, high): Pair) -> Value {
        self.b.f64join([low, high])
    }

    /// What an opcode computes of one component of integers of 64 bits. None for what is not there.
    pub(super) fn wide_component(&mut self, opcode: Op, result: Scalar, args: &[Value]) -> Option<Value> {
        let x = self.pair(args[0]);
        let zero = self.b.i32(0);
        let second = match args.get(1) {
            // How far to shift may be any integer.
            Some(&y) if self.b.ty(y) == shaderjit_ir::Type::F64 => self.pair(y),
            Some(&y) => (y, zero),
            None => (zero, zero),
        };
        let pair = match opcode {
            Op::IAdd => self.wide_sum(x, second),
            Op::ISub => self.wide_difference(x, second),
            Op::SNegate => self.wide_difference((zero, zero), x),
            Op::IMul => self.wide_product(x, second),
            Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod => self.wide_division(opcode, x, second),
            Op::BitwiseAnd => (self.b.and([x.0, second.0]), self.b.and([x.1, second.1])),
            Op::BitwiseOr => (self.b.or([x.0, second.0]), self.b.or([x.1, second.1])),
            Op::BitwiseXor => (self.b.xor([x.0, second.0]), self.b.xor([x.1, second.1])),
            Op::Not => (self.b.not([x.0]), self.b.not([x.1])),
            Op::ShiftLeftLogical => {
                let (high, low) =
                    self.wide_shift((x.1, x.0), second.0, |this, word, by| this.b.ishl([word, by]), zero, false);
                (low, high)
            }
            Op::ShiftRightLogical => self.wide_shift(x, second.0, |this, word, by| this.b.ushr([word, by]), zero, true),
            Op::ShiftRightArithmetic => {
                let bits = self.b.i32(31);
                let sign = self.b.sshr([x.1, bits]);
                self.wide_shift(x, second.0, |this, word, by| this.b.sshr([word, by]), sign, true)
            }
            Op::UConvert | Op::SConvert => match result {
                Scalar::Int { width: 64, .. } => x,
                Scalar::Int { width: width @ (8 | 16), .. } => return Some(self.held(result, x.0, width)),
                _ => return Some(x.0),
            },
            Op::IEqual | Op::INotEqual => {
                let (low, high) = (self.b.xor([x.0, second.0]), self.b.xor([x.1, second.1]));
                let differences = self.b.or([low, high]);
                return Some(match opcode {
                    Op::IEqual => self.b.ieq([differences, zero]),
                    _ => self.b.ine([differences, zero]),
                });
            }
            Op::ULessThan | Op::SLessThan => return Some(self.wide_less(x, second, opcode == Op::SLessThan)),
            Op::UGreaterThan | Op::SGreaterThan => return Some(self.wide_less(second, x, opcode == Op::SGreaterThan)),
            Op::ULessThanEqual | Op::SLessThanEqual => {
                let greater = self.wide_less(second, x, opcode == Op::SLessThanEqual);
                return Some(self.b.not([greater]));
            }
            Op::UGreaterThanEqual | Op::SGreaterThanEqual => {
                let less = self.wide_less(x, second, opcode == Op::SGreaterThanEqual);
                return Some(self.b.not([less]));
            }
            Op::ConvertUToF | Op::ConvertSToF if result == (Scalar::Float { width: 64 }) => {
                let high = if opcode == Op::ConvertSToF { self.b.itod([x.1]) } else { self.b.utod([x.1]) };
                let low = self.b.utod([x.0]);
                // 2^32 times the high word is exact, so the sum is rounded once.
                let factor = self.b.constant(shaderjit_ir::Type::F64, 4_294_967_296.0f64.to_bits());
                return Some(self.b.dfma([high, factor, low]));
            }
            _ => return None,
        };
        Some(self.joined(pair))
    }

    /// A narrower integer, as it is held, in 64 bits.
    pub(super) fn wide_of(&mut self, opcode: Op, value: Value) -> Value {
        let high = match opcode {
            Op::SConvert => {
                let bits = self.b.i32(31);
                self.b.sshr([value, bits])
            }
            _ => self.b.i32(0),
        };
        self.joined((value, high))
    }

    pub(super) fn wide_product(&mut self, x: Pair, y: Pair) -> Pair {
        let (low, high) = (self.b.imul([x.0, y.0]), self.b.umulhi([x.0, y.0]));
        let (a, b) = (self.b.imul([x.0, y.1]), self.b.imul([x.1, y.0]));
        let cross = self.b.iadd([a, b]);
        (low, self.b.iadd([high, cross]))
    }

    pub(super) fn wide_sum(&mut self, x: Pair, y: Pair) -> Pair {
        let low = self.b.iadd([x.0, y.0]);
        let carries = self.b.ult([low, x.0]);
        let (carry, high) = (self.truth(carries), self.b.iadd([x.1, y.1]));
        (low, self.b.iadd([high, carry]))
    }

    pub(super) fn wide_difference(&mut self, x: Pair, y: Pair) -> Pair {
        let borrows = self.b.ult([x.0, y.0]);
        let (borrow, high) = (self.truth(borrows), self.b.isub([x.1, y.1]));
        (self.b.isub([x.0, y.0]), self.b.isub([high, borrow]))
    }

    pub(super) fn wide_less(&mut self, x: Pair, y: Pair, signed: bool) -> Value {
        let high = if signed { self.b.slt([x.1, y.1]) } else { self.b.ult([x.1, y.1]) };
        let (same, low) = (self.b.ieq([x.1, y.1]), self.b.ult([x.0, y.0]));
        let low = self.b.and([same, low]);
        self.b.or([high, low])
    }

    /// A pair shifted toward its first word by the low six bits of a number. `shift` shifts the second word, whose
    /// place bits of `fill` take; `right` says which way bits leave the second word.
    fn wide_shift(
        &mut self,
        (near, far): Pair,
        by: Value,
        shift: impl Fn(&mut Self, Value, Value) -> Value,
        fill: Value,
        right: bool,
    ) -> Pair {
        let [zero, one, most, half] = [0, 1, 31, 32].map(|bits| self.b.i32(bits));
        let (bits, whole) = (self.b.and([by, most]), self.b.and([by, half]));
        // What crosses from the far word: by 31 less its shift and one more, for a shift by 32 does nothing.
        let rest = self.b.xor([bits, most]);
        let (kept, crossing) = if right {
            let far = self.b.ishl([far, one]);
            (self.b.ushr([near, bits]), self.b.ishl([far, rest]))
        } else {
            let far = self.b.ushr([far, one]);
            (self.b.ishl([near, bits]), self.b.ushr([far, rest]))
        };
        let moved = self.b.or([kept, crossing]);
        let far = shift(self, far, bits);
        let is_whole = self.b.ine([whole, zero]);
        (self.b.select([is_whole, far, moved]), self.b.select([is_whole, fill, far]))
    }
}
