//! What opcodes compute of each component of their operands.
//!
//! Integers of 8 and 16 bits are computed in 32, then cut to their width. Halves are computed as floats, then rounded.
//! A sum that has a product in it rounds once where the target has such an instruction, unless the module forbids it
//! (`NoContraction`): Vulkan leaves it open, and Direct3D's compilers write `mad`.

use shaderjit_ir::{Type, Value};
use spirv::Op;

use super::types::Scalar;
use super::{Lowering, unsupported};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;

/// The sign bit of a half, a float, and of the high word of a double.
const SIGN: u32 = 0x8000_0000;

impl Lowering<'_> {
    /// Lowers an instruction that is the same for each component.
    pub(super) fn each(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let &[ty, id, ref operands @ ..] = instruction.operands() else { return Err(self.malformed(instruction)) };
        let ty = self.value_type(ty)?;
        let (result, count) = self.vector(ty)?;
        let mut sources = Vec::with_capacity(operands.len());
        for &operand in operands {
            let (ty, scalars) = self.value(operand)?;
            let (kind, _) = self.vector(ty)?;
            // Bit fields have one offset and one count for all components.
            if scalars.len() != count && !(scalars.len() == 1 && opcode_has_scalars(opcode)) {
                return Err(self.malformed(instruction));
            }
            sources.push((kind, scalars));
        }
        let Some(&(kind, _)) = sources.first() else { return Err(self.malformed(instruction)) };
        self.check_operands(opcode, instruction, result, &sources.iter().map(|(kind, _)| *kind).collect::<Vec<_>>())?;
        let exact = self.declared.of(id).no_contraction;
        let mut scalars = Vec::with_capacity(count);
        for component in 0..count {
            let args: Vec<Value> = sources.iter().map(|(_, values)| values[component.min(values.len() - 1)]).collect();
            let value = self.component(opcode, kind, result, exact, &args);
            scalars.push(value.ok_or_else(|| unsupported_width(instruction, kind))?);
        }
        self.check_type(ty, &scalars)?;
        self.define_value(id, ty, scalars)
    }

    /// That operands are of the kinds that an opcode takes, and as many.
    fn check_operands(
        &self,
        opcode: Op,
        instruction: &Instruction<'_>,
        result: Scalar,
        kinds: &[Scalar],
    ) -> Result<(), LowerError> {
        use Op::*;
        let is = |scalar: &Scalar, letter: char| match letter {
            'b' => matches!(scalar, Scalar::Bool),
            'i' => matches!(scalar, Scalar::Int { .. }),
            _ => matches!(scalar, Scalar::Float { .. }),
        };
        // The kinds of the operands, then that of the result.
        let signature = match opcode {
            ConvertFToU | ConvertFToS => "fi",
            ConvertSToF | ConvertUToF => "if",
            UConvert | SConvert | SNegate | Not | BitReverse | BitCount => "ii",
            FConvert | QuantizeToF16 | FNegate => "ff",
            IAdd | ISub | IMul | UDiv | SDiv | UMod | SRem | SMod | ShiftRightLogical | ShiftRightArithmetic
            | ShiftLeftLogical | BitwiseOr | BitwiseXor | BitwiseAnd => "iii",
            FAdd | FSub | FMul | FDiv | FRem | FMod => "fff",
            IsNan | IsInf => "fb",
            LogicalEqual | LogicalNotEqual | LogicalOr | LogicalAnd => "bbb",
            LogicalNot => "bb",
            IEqual | INotEqual | UGreaterThan | SGreaterThan | UGreaterThanEqual | SGreaterThanEqual | ULessThan
            | SLessThan | ULessThanEqual | SLessThanEqual => "iib",
            BitFieldInsert => "iiiii",
            BitFieldSExtract | BitFieldUExtract => "iiii",
            _ => "ffb",
        };
        let fits = kinds.len() + 1 == signature.len()
            && kinds.iter().chain([&result]).zip(signature.chars()).all(|(scalar, letter)| is(scalar, letter));
        // Operands that are one kind of number are so of one width, but for what says how far, and what converts.
        let free = opcode_has_scalars(opcode)
            || matches!(opcode, ShiftRightLogical | ShiftRightArithmetic | ShiftLeftLogical | UConvert | SConvert);
        let width = |scalar: &Scalar| scalar.bytes();
        let same = free || kinds.iter().all(|kind| width(kind) == width(&kinds[0]));
        if fits && same { Ok(()) } else { Err(self.malformed(instruction)) }
    }

    /// What an opcode computes of one component of each operand. `kind` is what the first operand is. None if it is not
    /// there for numbers of that width.
    fn component(&mut self, opcode: Op, kind: Scalar, result: Scalar, exact: bool, args: &[Value]) -> Option<Value> {
        match (kind, result, opcode) {
            (Scalar::Float { width: 64 }, ..) => return self.double_component(opcode, result, args),
            (Scalar::Int { width: 64, .. }, ..) => return self.wide_component(opcode, result, args),
            (Scalar::Int { .. }, Scalar::Int { width: 64, .. }, Op::UConvert | Op::SConvert) => {
                let value = self.widened(opcode, kind, args[0]);
                return Some(self.wide_of(opcode, value));
            }
            (Scalar::Float { .. }, Scalar::Int { width: 64, .. }, _) => return None,
            _ => {}
        }
        if let (Scalar::Float { width: 64 }, Op::ConvertSToF | Op::ConvertUToF | Op::FConvert) = (result, opcode) {
            let value = self.widened(opcode, kind, args[0]);
            return Some(match opcode {
                Op::ConvertSToF => self.b.itod([value]),
                Op::ConvertUToF => self.b.utod([value]),
                _ => self.b.ftod([value]),
            });
        }
        // Integers of fewer than 32 bits, as their opcode takes them.
        let args: Vec<Value> = args.iter().map(|&arg| self.widened(opcode, kind, arg)).collect();
        let (x, y) = (args[0], *args.get(1).unwrap_or(&args[0]));
        let b = &mut self.b;
        let value = match opcode {
            // ---- conversions
            Op::ConvertFToU => b.ftou([x]),
            Op::ConvertFToS => b.ftoi([x]),
            Op::ConvertSToF => b.itof([x]),
            Op::ConvertUToF => b.utof([x]),
            Op::UConvert | Op::SConvert | Op::FConvert => x,
            Op::QuantizeToF16 => return Some(self.nearest_half(x, true)),

            // ---- numbers
            Op::SNegate => {
                let zero = b.i32(0);
                b.isub([zero, x])
            }
            Op::FNegate => b.fneg([x]),
            Op::IAdd => b.iadd([x, y]),
            Op::ISub => b.isub([x, y]),
            Op::IMul => b.imul([x, y]),
            Op::UDiv => b.udiv([x, y]),
            Op::UMod => b.urem([x, y]),
            Op::SDiv => self.signed_quotient(x, y),
            Op::SRem => self.signed_remainder(x, y),
            Op::SMod => self.signed_modulus(x, y),
            Op::FAdd => self.sum_of(x, y, exact, false),
            Op::FSub => self.sum_of(x, y, exact, true),
            Op::FMul => {
                let product = b.fmul([x, y]);
                if !exact {
                    self.products.insert(product, [x, y]);
                }
                product
            }
            Op::FDiv => b.fdiv([x, y]),
            Op::FRem => self.remainder(x, y),
            Op::FMod => {
                let quotient = b.fdiv([x, y]);
                let whole = b.ffloor([quotient]);
                let back = b.fmul([whole, y]);
                b.fsub([x, back])
            }

            // ---- logic
            Op::IsNan => b.funo([x, x]),
            Op::IsInf => {
                let (magnitude, infinity) = (b.fabs([x]), b.f32(f32::INFINITY));
                b.feq([magnitude, infinity])
            }
            Op::LogicalEqual => {
                let differ = b.xor([x, y]);
                b.not([differ])
            }
            Op::LogicalNotEqual => b.xor([x, y]),
            Op::LogicalOr => b.or([x, y]),
            Op::LogicalAnd => b.and([x, y]),
            Op::LogicalNot => b.not([x]),

            // ---- comparisons
            Op::IEqual => b.ieq([x, y]),
            Op::INotEqual => b.ine([x, y]),
            Op::UGreaterThan => b.ult([y, x]),
            Op::SGreaterThan => b.slt([y, x]),
            Op::UGreaterThanEqual => b.ule([y, x]),
            Op::SGreaterThanEqual => b.sle([y, x]),
            Op::ULessThan => b.ult([x, y]),
            Op::SLessThan => b.slt([x, y]),
            Op::ULessThanEqual => b.ule([x, y]),
            Op::SLessThanEqual => b.sle([x, y]),
            Op::FOrdEqual => b.feq([x, y]),
            Op::FUnordNotEqual => b.fne([x, y]),
            Op::FUnordEqual => {
                let (equal, unordered) = (b.feq([x, y]), b.funo([x, y]));
                b.or([equal, unordered])
            }
            Op::FOrdNotEqual => {
                let (less, greater) = (b.flt([x, y]), b.flt([y, x]));
                b.or([less, greater])
            }
            Op::FOrdLessThan => b.flt([x, y]),
            Op::FOrdGreaterThan => b.flt([y, x]),
            Op::FOrdLessThanEqual => b.fle([x, y]),
            Op::FOrdGreaterThanEqual => b.fle([y, x]),
            Op::FUnordLessThan => {
                let inverse = b.fle([y, x]);
                b.not([inverse])
            }
            Op::FUnordGreaterThan => {
                let inverse = b.fle([x, y]);
                b.not([inverse])
            }
            Op::FUnordLessThanEqual => {
                let inverse = b.flt([y, x]);
                b.not([inverse])
            }
            Op::FUnordGreaterThanEqual => {
                let inverse = b.flt([x, y]);
                b.not([inverse])
            }

            // ---- bits
            Op::ShiftRightLogical => b.ushr([x, y]),
            Op::ShiftRightArithmetic => b.sshr([x, y]),
            Op::ShiftLeftLogical => b.ishl([x, y]),
            Op::BitwiseOr => b.or([x, y]),
            Op::BitwiseXor => b.xor([x, y]),
            Op::BitwiseAnd => b.and([x, y]),
            Op::Not => b.not([x]),
            Op::BitFieldInsert => self.insert_bits([args[0], args[1], args[2], args[3]]),
            Op::BitFieldUExtract => self.extract_bits([args[0], args[1], args[2]], false),
            Op::BitFieldSExtract => self.extract_bits([args[0], args[1], args[2]], true),
            Op::BitReverse if result.bytes() == 4 => b.bitrev([x]),
            Op::BitCount => {
                let bits = self.unsigned(kind, x);
                self.b.popcnt([bits])
            }
            _ => return None,
        };
        Some(match result {
            Scalar::Int { width: width @ (8 | 16), .. } => self.held(result, value, width),
            Scalar::Float { width: 16 } if opcode != Op::FNegate => self.nearest_half(value, false),
            _ => value,
        })
    }

    /// A number of fewer than 32 bits as an opcode takes it: those that say so signed or unsigned, whatever the type.
    fn widened(&mut self, opcode: Op, kind: Scalar, value: Value) -> Value {
        use Op::*;
        let Scalar::Int { width: width @ (8 | 16), signed } = kind else { return value };
        if self.b.ty(value) != Type::I32 {
            return value;
        }
        match opcode {
            UDiv | UMod | UConvert | ConvertUToF | ShiftRightLogical | UGreaterThan | UGreaterThanEqual | ULessThan
            | ULessThanEqual | BitFieldUExtract
                if signed =>
            {
                self.unsigned(kind, value)
            }
            SDiv | SRem | SMod | SConvert | ConvertSToF | ShiftRightArithmetic | SGreaterThan | SGreaterThanEqual
            | SLessThan | SLessThanEqual | BitFieldSExtract
                if !signed =>
            {
                self.held(Scalar::Int { width, signed: true }, value, width)
            }
            _ => value,
        }
    }

    /// Bits of a number without those that extend it.
    fn unsigned(&mut self, kind: Scalar, value: Value) -> Value {
        match kind {
            Scalar::Int { width: width @ (8 | 16), .. } => {
                let mask = self.b.i32((1 << width) - 1);
                self.b.and([value, mask])
            }
            _ => value,
        }
    }

    /// The number that the low bits of a word are, as it is held.
    pub(super) fn held(&mut self, scalar: Scalar, bits: Value, width: u8) -> Value {
        match scalar {
            Scalar::Int { signed: true, .. } => {
                let shift = self.b.i32(32 - u32::from(width));
                let high = self.b.ishl([bits, shift]);
                self.b.sshr([high, shift])
            }
            Scalar::Float { .. } => {
                let mask = self.b.i32(0xffff);
                let bits = self.b.and([bits, mask]);
                self.b.f16tof32([bits])
            }
            _ => {
                let mask = self.b.i32((1 << width) - 1);
                self.b.and([bits, mask])
            }
        }
    }

    /// The bits of a number that is held in 32, in the low bits of a word.
    pub(super) fn stored(&mut self, scalar: Scalar, value: Value) -> Value {
        match scalar {
            Scalar::Float { .. } => self.half_bits(value),
            _ => self.unsigned(scalar, value),
        }
    }

    /// The sum or difference, which takes in a product before that is rounded.
    fn sum_of(&mut self, x: Value, y: Value, exact: bool, minus: bool) -> Value {
        if !exact && let Some(&[a, c]) = self.products.get(&x) {
            let y = if minus { self.b.fneg([y]) } else { y };
            return self.b.fmad([a, c, y]);
        }
        if !exact && let Some(&[a, c]) = self.products.get(&y) {
            let a = if minus { self.b.fneg([a]) } else { a };
            return self.b.fmad([a, c, x]);
        }
        if minus { self.b.fsub([x, y]) } else { self.b.fadd([x, y]) }
    }

    /// `x - y * trunc(x / y)`.
    fn remainder(&mut self, x: Value, y: Value) -> Value {
        let quotient = self.b.fdiv([x, y]);
        let whole = self.b.ftrunc([quotient]);
        let back = self.b.fmul([whole, y]);
        self.b.fsub([x, back])
    }

    /// A number's magnitude, and all ones if it is negative.
    pub(super) fn magnitude(&mut self, x: Value) -> (Value, Value) {
        let shift = self.b.i32(31);
        let sign = self.b.sshr([x, shift]);
        let flipped = self.b.xor([x, sign]);
        (self.b.isub([flipped, sign]), sign)
    }

    /// The number of a magnitude and a sign, which is all ones or zero.
    fn with_sign(&mut self, magnitude: Value, sign: Value) -> Value {
        let flipped = self.b.xor([magnitude, sign]);
        self.b.isub([flipped, sign])
    }

    fn signed_quotient(&mut self, x: Value, y: Value) -> Value {
        let ((x, of_x), (y, of_y)) = (self.magnitude(x), self.magnitude(y));
        let (quotient, sign) = (self.b.udiv([x, y]), self.b.xor([of_x, of_y]));
        self.with_sign(quotient, sign)
    }

    /// The remainder, which has the sign of the dividend.
    fn signed_remainder(&mut self, x: Value, y: Value) -> Value {
        let ((x, sign), (y, _)) = (self.magnitude(x), self.magnitude(y));
        let rest = self.b.urem([x, y]);
        self.with_sign(rest, sign)
    }

    /// The remainder, which has the sign of the divisor.
    fn signed_modulus(&mut self, x: Value, y: Value) -> Value {
        let rest = self.signed_remainder(x, y);
        let zero = self.b.i32(0);
        let signs = self.b.xor([rest, y]);
        let (differ, is_left) = (self.b.slt([signs, zero]), self.b.ine([rest, zero]));
        let moved = self.b.iadd([rest, y]);
        let wraps = self.b.and([differ, is_left]);
        self.b.select([wraps, moved, rest])
    }

    /// Ones in the low so many bits.
    fn ones(&mut self, count: Value) -> Value {
        let [one, all, most] = [1, u32::MAX, 32].map(|bits| self.b.i32(bits));
        let power = self.b.ishl([one, count]);
        let ones = self.b.isub([power, one]);
        let is_all = self.b.ule([most, count]);
        self.b.select([is_all, all, ones])
    }

    fn insert_bits(&mut self, [base, insert, offset, count]: [Value; 4]) -> Value {
        let ones = self.ones(count);
        let mask = self.b.ishl([ones, offset]);
        let (moved, kept) = (self.b.ishl([insert, offset]), self.b.not([mask]));
        let (moved, kept) = (self.b.and([moved, mask]), self.b.and([base, kept]));
        self.b.or([moved, kept])
    }

    fn extract_bits(&mut self, [base, offset, count]: [Value; 3], signed: bool) -> Value {
        let ones = self.ones(count);
        let moved = self.b.ushr([base, offset]);
        let field = self.b.and([moved, ones]);
        if !signed {
            return field;
        }
        let (half, zero) = (self.b.i32(1), self.b.i32(0));
        let above = self.b.ushr([ones, half]);
        let is_negative = self.b.ult([above, field]);
        let rest = self.b.not([ones]);
        let extended = self.b.or([field, rest]);
        let is_empty = self.b.ieq([count, zero]);
        let number = self.b.select([is_negative, extended, field]);
        self.b.select([is_empty, zero, number])
    }

    // ---- doubles

    /// One component of doubles. None for what the IR has no instruction for.
    fn double_component(&mut self, opcode: Op, result: Scalar, args: &[Value]) -> Option<Value> {
        let (x, y) = (args[0], *args.get(1).unwrap_or(&args[0]));
        let value = match opcode {
            Op::ConvertFToU | Op::ConvertFToS if !matches!(result, Scalar::Int { width: 32, .. }) => return None,
            Op::ConvertFToU => self.b.dtou([x]),
            Op::ConvertFToS => self.b.dtoi([x]),
            Op::FConvert => match result {
                Scalar::Float { width: 64 } => x,
                Scalar::Float { width: 32 } => self.b.dtof([x]),
                _ => {
                    let float = self.b.dtof([x]);
                    self.nearest_half(float, false)
                }
            },
            Op::FNegate => self.negated_double(x),
            Op::FAdd => self.b.dadd([x, y]),
            Op::FSub => {
                let negated = self.negated_double(y);
                self.b.dadd([x, negated])
            }
            Op::FMul => self.b.dmul([x, y]),
            Op::FDiv => self.b.ddiv([x, y]),
            Op::IsNan => self.b.dne([x, x]),
            Op::FOrdEqual => self.b.deq([x, y]),
            Op::FUnordNotEqual => self.b.dne([x, y]),
            Op::FOrdNotEqual => {
                let (less, greater) = (self.b.dlt([x, y]), self.b.dlt([y, x]));
                self.b.or([less, greater])
            }
            Op::FUnordEqual => {
                let (less, greater) = (self.b.dlt([x, y]), self.b.dlt([y, x]));
                let differ = self.b.or([less, greater]);
                self.b.not([differ])
            }
            Op::FOrdLessThan => self.b.dlt([x, y]),
            Op::FOrdGreaterThan => self.b.dlt([y, x]),
            Op::FOrdLessThanEqual => self.b.dle([x, y]),
            Op::FOrdGreaterThanEqual => self.b.dle([y, x]),
            Op::FUnordLessThan => {
                let inverse = self.b.dle([y, x]);
                self.b.not([inverse])
            }
            Op::FUnordGreaterThan => {
                let inverse = self.b.dle([x, y]);
                self.b.not([inverse])
            }
            Op::FUnordLessThanEqual => {
                let inverse = self.b.dlt([y, x]);
                self.b.not([inverse])
            }
            Op::FUnordGreaterThanEqual => {
                let inverse = self.b.dlt([x, y]);
                self.b.not([inverse])
            }
            _ => return None,
        };
        Some(value)
    }

    pub(super) fn negated_double(&mut self, x: Value) -> Value {
        let (low, high, sign) = (self.b.f64lo([x]), self.b.f64hi([x]), self.b.i32(SIGN));
        let high = self.b.xor([high, sign]);
        self.b.f64join([low, high])
    }
}

/// Whether an opcode has operands that are one scalar for all components.
fn opcode_has_scalars(opcode: Op) -> bool {
    matches!(opcode, Op::BitFieldInsert | Op::BitFieldSExtract | Op::BitFieldUExtract)
}

/// That an opcode is not there for numbers of a width.
fn unsupported_width(instruction: &Instruction<'_>, kind: Scalar) -> LowerError {
    match unsupported(instruction) {
        LowerError::Unsupported { what, offset } => {
            LowerError::Unsupported { what: format!("{what} of {} bits", 8 * kind.bytes()), offset }
        }
        error => error,
    }
}
