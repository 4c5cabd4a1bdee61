//! Doubles: their words, and their arithmetic, which is done by a [call](crate::jit::double).

use super::places::codegen;
use super::value::Vectors;
use super::{Emitter, result};
use crate::error::JitError;
use crate::jit::double::{self, Words};
use crate::jit::mode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F32X4, I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, AbiParam, InstBuilder, SigRef, Signature, StackSlot, StackSlotData};
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Type, Value};

/// What all calls share.
#[derive(Clone, Copy)]
pub(super) struct Callee {
    /// Holds [`Words`].
    slot: StackSlot,
    signature: SigRef,
}

impl Emitter<'_, '_> {
    /// Words of a double, and a double of words: no code at all.
    pub(super) fn double_words(&mut self, inst: &InstData) {
        let (result, arg) = (result(inst), inst.args[0]);
        let word = usize::from(inst.op == Op::F64hi);
        match (inst.op, self.is_uniform(result)) {
            (Op::F64join, true) => {
                let words = [inst.args[0], inst.args[1]].map(|arg| self.scalar(arg));
                self.define_double_scalars(result, words);
            }
            (Op::F64join, false) => {
                let words = [inst.args[0], inst.args[1]].map(|arg| self.vectors(arg));
                self.define_double_vectors(result, words);
            }
            (_, true) => {
                let scalar = self.double_scalars(arg)[word];
                self.define_scalar(result, scalar);
            }
            (_, false) => {
                let vectors = self.double_vectors(arg)[word];
                self.define_vectors(result, vectors);
            }
        }
    }

    /// Integers as doubles, which no mode changes.
    pub(super) fn integer_to_double(&mut self, inst: &InstData) {
        let (result, arg, signed) = (result(inst), inst.args[0], inst.op == Op::Itod);
        if self.is_uniform(result) {
            let integer = self.scalar(arg);
            let words = self.scalar_to_double(signed, integer);
            return self.define_double_scalars(result, words);
        }
        let integers = self.vectors(arg);
        let mut words = [integers; 2];
        for (which, &integer) in integers.iter().enumerate().take(self.places.vectors) {
            let [low, high] = self.vector_to_double(signed, integer);
            (words[0][which], words[1][which]) = (low, high);
        }
        self.define_double_vectors(result, words);
    }

    /// Everything else: all lanes in one call, or one where they agree.
    pub(super) fn call_double(&mut self, inst: &InstData) -> Result<(), JitError> {
        let number = double::number(inst.op).ok_or_else(|| codegen(format!("{} has no native form", inst.op)))?;
        let Callee { slot, signature } = self.double_callee();
        let result = result(inst);
        let is_uniform = self.is_uniform(result);
        let words = self.simd.ins().stack_addr(I64, slot, 0);
        for (operand, &arg) in inst.args.iter().enumerate() {
            if is_uniform {
                self.store_scalar_words(words, operand, arg);
            } else {
                self.store_words(words, operand, arg);
            }
        }
        let number = self.simd.iconst(number);
        let lanes = self.simd.iconst(if is_uniform { 1 } else { self.places.vectors as u32 * 4 });
        let callee = mode::compute_doubles as *const () as usize;
        let callee = self.simd.ins().iconst(I64, callee as i64);
        self.simd.ins().call_indirect(signature, callee, &[number, lanes, words]);
        if is_uniform {
            self.load_scalar_result(words, result);
        } else {
            self.load_result(words, result);
        }
        Ok(())
    }

    /// The slot and signature of calls, made for the first one.
    fn double_callee(&mut self) -> Callee {
        if let Some(callee) = self.doubles {
            return callee;
        }
        let mut signature = Signature::new(self.call_conv);
        signature.params = [I32, I32, I64].map(AbiParam::new).to_vec();
        let func = &mut self.simd.builder.func;
        let align = align_of::<Words>().trailing_zeros() as u8;
        let slot = StackSlotData::new(clif::StackSlotKind::ExplicitSlot, size_of::<Words>() as u32, align);
        let slot = func.create_sized_stack_slot(slot);
        let signature = func.import_signature(signature);
        *self.doubles.insert(Callee { slot, signature })
    }

    fn store_scalar_words(&mut self, words: clif::Value, operand: usize, arg: Value) {
        if self.func.ty(arg) == Type::F64 {
            for (word, scalar) in self.double_scalars(arg).into_iter().enumerate() {
                self.simd.store(scalar, words, Words::offset(operand, word));
            }
        } else {
            let scalar = self.scalar(arg);
            self.simd.store(scalar, words, Words::offset(operand, 0));
        }
    }

    fn store_words(&mut self, words: clif::Value, operand: usize, arg: Value) {
        let halves: Vec<Vectors> = match self.func.ty(arg) {
            Type::F64 => self.double_vectors(arg).to_vec(),
            _ => vec![self.vectors(arg)],
        };
        for (word, vectors) in halves.into_iter().enumerate() {
            for (which, &vector) in vectors.iter().enumerate().take(self.places.vectors) {
                self.simd.store(vector, words, Words::offset(operand, word) + 16 * which as i32);
            }
        }
    }

    fn load_scalar_result(&mut self, words: clif::Value, result: Value) {
        let mut load = |ty, word| self.simd.load(ty, words, Words::offset(0, word));
        match self.func.ty(result) {
            Type::F64 => {
                let words = [load(I32, 0), load(I32, 1)];
                self.define_double_scalars(result, words);
            }
            Type::I1 => {
                let holds = load(I32, 0);
                let holds = self.simd.ins().icmp_imm_u(IntCC::NotEqual, holds, 0);
                self.define_scalar(result, holds);
            }
            ty => {
                let scalar = load(if ty == Type::F32 { F32 } else { I32 }, 0);
                self.define_scalar(result, scalar);
            }
        }
    }

    fn load_result(&mut self, words: clif::Value, result: Value) {
        let ty = self.func.ty(result);
        let lanes = if ty == Type::F32 { F32X4 } else { I32X4 };
        let mut load = |word| {
            let offset = Words::offset(0, word);
            self.each_vector(|simd, which| simd.load(lanes, words, offset + 16 * which as i32))
        };
        let low = load(0);
        match ty {
            Type::F64 => {
                let high = load(1);
                self.define_double_vectors(result, [low, high]);
            }
            Type::I1 => {
                let zero = self.word(I32X4, 0);
                let masks = self.each_vector(|simd, which| simd.icmp(IntCC::NotEqual, low[which], zero));
                self.define_vectors(result, masks);
            }
            _ => self.define_vectors(result, low),
        }
    }
}
