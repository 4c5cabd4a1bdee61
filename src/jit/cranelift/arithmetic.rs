//! Pure ops, on scalars or on vectors as their results are held.

use super::{Emitter, result};
use crate::error::JitError;
use cranelift_codegen::ir::types::{F32, F32X4, I32, I32X4};
use cranelift_codegen::ir::{InstBuilder, Value as Held};
use shaderjit_ir::function::{InstData, Picks};
use shaderjit_ir::{Op, Type, Value};

impl Emitter<'_, '_> {
    /// A pure op on values of one word.
    pub(super) fn arithmetic(&mut self, inst: &InstData) -> Result<(), JitError> {
        let result = result(inst);
        // Uniform floats are held as vectors, so vector arithmetic saves taking them apart.
        let is_float = |value: Value| self.func.ty(value) == Type::F32;
        let is_vector = !self.is_uniform(result) || is_float(result) && inst.args.iter().all(|&arg| is_float(arg));
        if is_vector {
            let vector = self.vector_arithmetic(inst)?;
            self.define_vector(result, vector);
        } else {
            let args: Vec<Held> = inst.args.iter().map(|&arg| self.scalar(arg)).collect();
            let scalar = self.scalar_op(inst.op, inst.ty, &args)?;
            self.define_scalar(result, scalar);
        }
        Ok(())
    }

    fn vector_arithmetic(&mut self, inst: &InstData) -> Result<Held, JitError> {
        // A shift of all lanes by one amount is one instruction.
        if matches!(inst.op, Op::Ishl | Op::Ushr | Op::Sshr) && self.is_uniform(inst.args[1]) {
            let (value, amount) = (self.vector(inst.args[0]), self.scalar(inst.args[1]));
            return Ok(match inst.op {
                Op::Ishl => self.simd.ins().ishl(value, amount),
                Op::Ushr => self.simd.ins().ushr(value, amount),
                _ => self.simd.ins().sshr(value, amount),
            });
        }
        // Cranelift overwrites the first factor with the result: a literal can go, if it is made for this alone. So can
        // what nothing else uses, and a literal that is held need not.
        let factor = if inst.op == Op::Fma { self.func.constant(inst.args[1]) } else { None };
        let factor = factor.filter(|&bits| {
            let uses = self.program.uses[inst.args[0]];
            uses.others + uses.guards > 1 || self.held_literal(F32X4, bits as u32).is_none()
        });
        let mut args = [self.args; 3];
        for (number, (arg, &value)) in args.iter_mut().zip(inst.args.iter()).enumerate() {
            *arg = match factor {
                Some(bits) if number == 1 => self.simd.word(F32X4, bits as u32),
                _ => self.vector(value),
            };
        }
        if factor.is_some() {
            args.swap(0, 1);
        }
        self.vector_op(inst.op, |arg| args[arg])
    }

    /// One of two values, in each lane or in all.
    pub(super) fn select(&mut self, inst: &InstData) {
        let (result, [condition, yes, no]) = (result(inst), [inst.args[0], inst.args[1], inst.args[2]]);
        let is_scalar = self.is_uniform(result) && inst.ty != Type::F32;
        if !is_scalar && inst.ty != Type::F64 {
            let vector = self.select_vector(inst.ty, [condition, yes, no]);
            return self.define_vector(result, vector);
        }
        let condition = if is_scalar { self.scalar(condition) } else { self.vector(condition) };
        let words = self.words(yes, is_scalar).into_iter().zip(self.words(no, is_scalar));
        let words: Vec<Held> = words
            .map(|(yes, no)| match is_scalar {
                true => self.simd.ins().select(condition, yes, no),
                false => self.simd.blend(condition, yes, no),
            })
            .collect();
        self.define(result, &words);
    }

    /// One of two values of one word in each lane. Where one is all ones or zero the mask does for it, which saves that
    /// literal, and on some processors two of a blend's three steps.
    fn select_vector(&mut self, ty: Type, [condition, yes, no]: [Value; 3]) -> Held {
        let bits = |value| self.func.constant(value).map(|bits| bits as u32);
        let all = if ty == Type::I1 { 1 } else { u32::MAX };
        let (yes_bits, no_bits) = (bits(yes), bits(no));
        let mask = self.vector(condition);
        let lanes = |this: &mut Self, value| {
            let vector = this.vector(value);
            this.simd.cast(I32X4, vector)
        };
        match (yes_bits, no_bits) {
            (Some(yes), Some(0)) if yes == all => mask,
            (_, Some(0)) => {
                let yes = lanes(self, yes);
                self.simd.ins().band(mask, yes)
            }
            (Some(yes), _) if yes == all => {
                let no = lanes(self, no);
                self.simd.ins().bor(mask, no)
            }
            (Some(0), _) => {
                let no = lanes(self, no);
                self.simd.ins().band_not(no, mask)
            }
            _ => {
                let (yes, no) = (self.vector(yes), self.vector(no));
                self.simd.blend(mask, yes, no)
            }
        }
    }

    /// Whether a truth value holds in any lane.
    pub(super) fn any_lane(&mut self, value: Value) -> Held {
        if self.is_uniform(value) {
            return self.scalar(value);
        }
        let mask = self.vector(value);
        self.simd.ins().vany_true(mask)
    }

    /// Words of a double, and a double of words: no code at all.
    pub(super) fn double_words(&mut self, inst: &InstData) {
        let result = result(inst);
        let as_scalars = self.is_uniform(result);
        let words: Vec<Held> = inst.args.iter().flat_map(|&arg| self.words(arg, as_scalars)).collect();
        match inst.op {
            Op::F64join => self.define(result, &words),
            _ => self.define(result, &words[usize::from(inst.op == Op::F64hi)..][..1]),
        }
    }

    /// Integers as doubles, which no mode changes.
    pub(super) fn integer_to_double(&mut self, inst: &InstData) {
        let (result, arg, signed) = (result(inst), inst.args[0], inst.op == Op::Itod);
        let words = if self.is_uniform(result) {
            let integer = self.scalar(arg);
            self.scalar_to_double(signed, integer)
        } else {
            let integers = self.vector(arg);
            self.vector_to_double(signed, integers)
        };
        self.define(result, &words);
    }

    /// A word of a row.
    pub(super) fn row_word(&mut self, inst: &InstData, component: u8) {
        let result = result(inst);
        let mut word = self.words(inst.args[0], self.is_uniform(result))[usize::from(component)];
        if self.is_uniform(result) {
            word = self.simd.cast(if inst.ty == Type::F32 { F32 } else { I32 }, word);
        }
        self.define(result, &[word]);
    }

    /// For each lane a word of some lane of either operand.
    pub(super) fn lane_pick(&mut self, inst: &InstData, picks: Picks) {
        let mut lanes = [0; 4];
        for (to, (operand, lane)) in lanes.iter_mut().zip(picks.sources(4)) {
            *to = (4 * operand + lane) as u8;
        }
        let [first, second] = [0, 1].map(|operand| self.vector(inst.args[operand]));
        let picked = self.simd.shuffle(first, second, lanes);
        let picked = self.simd.cast(if inst.ty == Type::F32 { F32X4 } else { I32X4 }, picked);
        self.define(result(inst), &[picked]);
    }
}
