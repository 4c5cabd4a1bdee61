//! Pure ops: of floats and truth values, selects, and what leads to integer ops on [vectors](super::vector) and on
//! [general registers](super::scalar).

use super::code::Source;
use super::simd::{LOGARITHM_CASES, float, floats_with_signs, round};
use super::table::Op as X;
use super::{Selector, result};
use crate::error::JitError;
use crate::jit::places::codegen;
use regalloc2::VReg;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Type, Value};

impl Selector<'_> {
    /// A pure op on values of one word.
    pub(super) fn arithmetic(&mut self, inst: &InstData) -> Result<(), JitError> {
        let result = result(inst);
        if inst.op.operands().is_empty() {
            return Err(codegen(format!("{} has no native form", inst.op)));
        }
        let is_vector = !self.is_uniform(result) || self.func.ty(result) == Type::F32;
        if !is_vector {
            let is_float = |&arg: &Value| self.func.ty(arg) == Type::F32;
            if !inst.args.iter().any(is_float)
                && let Some(scalar) = self.scalar_op(inst)
            {
                self.values[result].0[0] = scalar;
                return Ok(());
            }
        }
        let vector = match inst.op {
            Op::And | Op::Or | Op::Xor | Op::Not if inst.ty == Type::I1 => self.mask_op(inst),
            Op::BitcastI32 | Op::BitcastF32 => self.vector(inst.args[0]),
            Op::Fma => {
                let args = [0, 1, 2].map(|arg| inst.args[arg]);
                let [a, b, c] = args.map(|arg| self.here.patterns.negated(self.program, arg));
                let ops = floats_with_signs(a.is_some() != b.is_some(), c.is_some());
                let args: [Value; 3] = std::array::from_fn(|arg| [a, b, c][arg].unwrap_or(args[arg]));
                let sources = [self.source(args[0]), self.source(args[1]), self.source(args[2])];
                self.simd.fused(&ops, sources, args.map(|arg| self.dies(arg)))
            }
            Op::Ishl | Op::Ushr | Op::Sshr if let Some(amount) = self.literal(inst.args[1]) => {
                let vector = self.vector(inst.args[0]);
                self.shift(inst.op, vector, amount & 31)
            }
            Op::Ult
                if !self.simd.has_masks()
                    && let Some(limit) = self.literal(inst.args[1]).filter(|limit| limit.is_power_of_two()) =>
            {
                let vector = self.vector(inst.args[0]);
                let high = self.shift(Op::Ushr, vector, limit.trailing_zeros());
                let zero = self.simd.word(0);
                self.simd.op(X::Pcmpeqd, &[high], zero)
            }
            Op::Ftoi if self.here.patterns.is_unsaturated(result) => {
                let number = self.source(inst.args[0]);
                self.simd.op(X::Cvttps2dq, &[], number)
            }
            Op::Fscale if self.simd.has_masks() => {
                let [number, exponent] = [self.vector(inst.args[0]), self.vector(inst.args[1])];
                self.simd.op(X::Scalefps, &[number], exponent)
            }
            Op::Flogcase if self.simd.has_masks() => {
                let [logarithm, number] = [self.vector(inst.args[0]), self.vector(inst.args[1])];
                let cases = self.simd.word_source(LOGARITHM_CASES);
                self.simd.op(X::Fixupimmps, &[logarithm, number], cases)
            }
            Op::Fdiv if self.multiplies_for_reciprocals() && self.literal(inst.args[0]) == Some(1f32.to_bits()) => {
                let number = self.vector(inst.args[1]);
                self.simd.reciprocal(number)
            }
            _ => self.vector_op(inst.op, &mut |this, arg| this.source(inst.args[arg]))?,
        };
        if is_vector {
            self.define_vector(result, vector);
            return Ok(());
        }
        self.values[result].0[0] = match self.func.ty(result) {
            Type::I1 => {
                let bits = self.simd.mask_bits(vector);
                self.simd.general_imm(X::AndImmediate, bits, 1)
            }
            _ => self.simd.first_word(vector),
        };
        Ok(())
    }

    /// Whether multiplications give a reciprocal in less time than the divider.
    fn multiplies_for_reciprocals(&self) -> bool {
        self.simd.has_masks() && !self.simd.level.has_halves()
    }

    fn mask_op(&mut self, inst: &InstData) -> VReg {
        let first = self.mask(inst.args[0]);
        let ops = match inst.op {
            Op::Not => return self.simd.not_mask(first),
            Op::And => (X::Pand, X::Kand),
            Op::Or => (X::Por, X::Kor),
            _ => (X::Pxor, X::Kxor),
        };
        let second = self.mask(inst.args[1]);
        self.simd.masks(ops.0, ops.1, first, second)
    }

    /// A pure op that gives a vector or a mask, whose operands `arg` gives.
    pub(super) fn vector_op(
        &mut self,
        op: Op,
        arg: &mut dyn FnMut(&mut Self, usize) -> Source,
    ) -> Result<VReg, JitError> {
        let mut a = arg(self, 0);
        let two = op.operands().len() > 1;
        let mut b = if two { arg(self, 1) } else { a };
        let commutes = matches!(op, Op::Fadd | Op::Fmul | Op::And | Op::Or | Op::Xor | Op::Iadd | Op::Imul)
            || matches!(op, Op::Smin | Op::Smax | Op::Umin | Op::Umax | Op::Feq | Op::Fne | Op::Funo);
        if commutes && matches!((a, b), (Source::Memory(_), Source::Register(_))) {
            (a, b) = (b, a);
        }
        if let Some(lanes) = quad(op) {
            return Ok(self.simd.permute(a, lanes));
        }
        if let Some(machine) = float_unary(op) {
            return Ok(match machine {
                (op, Some(immediate)) => self.simd.op_imm(op, &[], a, immediate),
                (op, None) => self.simd.op(op, &[], a),
            });
        }
        if let Some(machine) = binary(op) {
            let a = self.simd.in_register(a);
            return Ok(self.simd.op(machine, &[a], b));
        }
        let a = self.simd.in_register(a);
        let predicate = match op {
            Op::Feq => Some(float::EQUAL),
            Op::Fne => Some(float::NOT_EQUAL),
            Op::Flt => Some(float::LESS),
            Op::Fle => Some(float::LESS_EQUAL),
            Op::Funo => Some(float::UNORDERED),
            _ => None,
        };
        if let Some(predicate) = predicate {
            return Ok(self.simd.compare_floats(predicate, a, b));
        }
        Ok(match op {
            Op::Fneg => {
                let sign = self.simd.word_source(1 << 31);
                self.simd.op(X::Pxor, &[a], sign)
            }
            Op::Fabs => {
                let magnitude = self.simd.word_source(!(1 << 31));
                self.simd.op(X::Pand, &[a], magnitude)
            }
            Op::Not => self.complement(a),
            Op::Ftoi => self.truncate_signed(a),
            Op::Ftou => self.truncate_unsigned(a),
            Op::Utof => self.unsigned_as_float(a),
            _ => {
                let b = if two { self.simd.in_register(b) } else { a };
                self.integer_op(op, a, b)?
            }
        })
    }

    /// One of two values, in each lane or in all.
    pub(super) fn select(&mut self, inst: &InstData) {
        let (result, [condition, yes, no]) = (result(inst), [inst.args[0], inst.args[1], inst.args[2]]);
        let is_scalar = self.is_uniform(result) && inst.ty != Type::F32;
        if is_scalar {
            let words = self.words(yes, true).into_iter().zip(self.words(no, true)).collect::<Vec<_>>();
            let condition = self.branch_condition(condition);
            let words: Vec<VReg> = words.into_iter().map(|(yes, no)| self.simd.choose(condition, yes, no)).collect();
            return self.define(result, &words);
        }
        if inst.ty == Type::I1 {
            let mask = self.select_mask([condition, yes, no]);
            return self.define_vector(result, mask);
        }
        if inst.ty == Type::F64 {
            return self.select_doubles(result, [condition, yes, no]);
        }
        let vector = self.select_vector([condition, yes, no]);
        self.define_vector(result, vector);
    }

    /// One of two words in each lane. Where one is zero, or without masks all ones, the mask does for it.
    fn select_vector(&mut self, [condition, yes, no]: [Value; 3]) -> VReg {
        let (yes_bits, no_bits) = (self.literal(yes), self.literal(no));
        let mask = match self.here.patterns.sign(condition) {
            Some(word) => self.vector(word),
            None => self.mask(condition),
        };
        let has_masks = self.simd.has_masks();
        match (yes_bits, no_bits) {
            (Some(u32::MAX), Some(0)) if !has_masks => mask,
            (_, Some(0)) => {
                let yes = self.source(yes);
                self.simd.keep(mask, yes)
            }
            (Some(u32::MAX), _) if !has_masks => {
                let no = self.source(no);
                self.simd.op(X::Por, &[mask], no)
            }
            (Some(0), _) if !has_masks => {
                let no = self.source(no);
                self.simd.op(X::Pandn, &[mask], no)
            }
            (Some(0), _) => {
                let mask = self.simd.not_mask(mask);
                let no = self.source(no);
                self.simd.keep(mask, no)
            }
            _ => {
                let (no, yes) = (self.vector(no), self.source(yes));
                self.simd.blend(mask, yes, no)
            }
        }
    }

    fn select_mask(&mut self, values: [Value; 3]) -> VReg {
        let [mask, yes, no] = values.map(|value| self.mask(value));
        let kept = self.simd.masks(X::Pand, X::Kand, mask, yes);
        // Of the first operand the complement.
        let others = self.simd.masks(X::Pandn, X::Kandn, mask, no);
        self.simd.masks(X::Por, X::Kor, kept, others)
    }

    /// Whether a truth value holds in any lane.
    pub(super) fn any_lane(&mut self, value: Value) -> VReg {
        if self.is_uniform(value) {
            return self.scalar(value);
        }
        let mask = self.mask(value);
        self.simd.test_mask(mask);
        self.simd.set(super::encode::Condition::NotEqual)
    }

    /// A word of a row.
    pub(super) fn row_word(&mut self, inst: &InstData, component: u8) {
        let result = result(inst);
        let word = self.words(inst.args[0], self.is_uniform(result))[usize::from(component)];
        self.define(result, &[word]);
    }
}

/// Whether an op is selected where it stands, and takes operands in memory.
pub fn takes_memory(op: Op) -> bool {
    op == Op::Fma || binary(op).is_some()
}

/// The instruction that an op of two operands is.
fn binary(op: Op) -> Option<X> {
    Some(match op {
        Op::Fadd => X::Addps,
        Op::Fsub => X::Subps,
        Op::Fmul => X::Mulps,
        Op::Fdiv => X::Divps,
        Op::Pmin => X::Minps,
        Op::Pmax => X::Maxps,
        Op::And => X::Pand,
        Op::Or => X::Por,
        Op::Xor => X::Pxor,
        Op::Iadd => X::Paddd,
        Op::Isub => X::Psubd,
        Op::Imul => X::Pmulld,
        Op::Smin => X::Pminsd,
        Op::Smax => X::Pmaxsd,
        Op::Umin => X::Pminud,
        Op::Umax => X::Pmaxud,
        _ => return None,
    })
}

/// Which lanes of each quad, a row of 128 bits, a float is taken from.
fn quad(op: Op) -> Option<[u8; 4]> {
    Some(match op {
        Op::QuadLeft => [0, 0, 2, 2],
        Op::QuadRight => [1, 1, 3, 3],
        Op::QuadTop => [0, 1, 0, 1],
        Op::QuadBottom => [2, 3, 2, 3],
        _ => return None,
    })
}

/// The instruction and immediate that an op of one operand is.
fn float_unary(op: Op) -> Option<(X, Option<u32>)> {
    Some(match op {
        Op::Fsqrt => (X::Sqrtps, None),
        Op::Ffloor => (X::Roundps, Some(round::DOWN)),
        Op::Fceil => (X::Roundps, Some(round::UP)),
        Op::Ftrunc => (X::Roundps, Some(round::TRUNCATE)),
        Op::Fnearest => (X::Roundps, Some(round::NEAREST)),
        Op::Itof => (X::Cvtdq2ps, None),
        _ => return None,
    })
}
