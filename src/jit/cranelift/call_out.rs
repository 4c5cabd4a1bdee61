//! What native code has done for it by a call: [double arithmetic](crate::jit::double) and [accesses of textures and
//! memory](crate::jit::texture). Operands and results go through memory on the stack, all lanes of a vector in one
//! call, or one lane where they agree.

use super::value::vector_type;
use super::{Emitter, result};
use crate::error::JitError;
use crate::jit::double::{self, Words};
use crate::jit::places::codegen;
use crate::jit::{abi, mode, texture};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, AbiParam, InstBuilder, SigRef, Signature, StackSlot, StackSlotData};
use cranelift_codegen::isa::CallConv;
use shaderjit_ir::Type;
use shaderjit_ir::function::InstData;
use shaderjit_ir::texture::{Access, Rows};

/// What all calls of a kind share.
#[derive(Clone, Copy)]
pub(super) struct Callee {
    slot: StackSlot,
    signature: SigRef,
}

/// The callees that a function has so far.
#[derive(Default)]
pub(super) struct Callees {
    doubles: Option<Callee>,
    textures: Option<Callee>,
}

impl Emitter<'_, '_> {
    /// Double arithmetic.
    pub(super) fn call_double(&mut self, inst: &InstData) -> Result<(), JitError> {
        let number = double::number(inst.op).ok_or_else(|| codegen(format!("{} has no native form", inst.op)))?;
        let callee = match self.callees.doubles {
            Some(callee) => callee,
            None => *self
                .callees
                .doubles
                .insert(self.simd.callee::<Words>(self.target.cranelift().call_conv(), &[I32, I32, I64])),
        };
        let words = self.store_operands(inst, callee, Words::offset);
        let number = self.simd.iconst(number);
        let lanes = self.simd.iconst(self.lanes_of_call(inst) as u32);
        self.call(callee, mode::compute_doubles as *const () as usize, &[number, lanes, words]);
        self.load_result(inst, words, Words::offset);
        Ok(())
    }

    /// An access of a texture or of memory.
    pub(super) fn access(&mut self, inst: &InstData, access: Access) {
        let callee = match self.callees.textures {
            Some(callee) => callee,
            None => {
                *self.callees.textures.insert(self.simd.callee::<Rows>(self.target.cranelift().call_conv(), &[I64; 4]))
            }
        };
        let rows = self.store_operands(inst, callee, texture::offset);
        let numbers = [self.accesses.len(), self.lanes_of_call(inst)];
        let [number, lanes] = numbers.map(|number| self.simd.ins().iconst(I64, number as i64));
        self.accesses.push(access);
        let textures = self.simd.load(I64, self.args, abi::offset::TEXTURES);
        self.call(callee, mode::access_textures as *const () as usize, &[textures, number, lanes, rows]);
        if inst.result.is_some() {
            self.load_result(inst, rows, texture::offset);
        }
    }

    fn lanes_of_call(&self, inst: &InstData) -> usize {
        if self.is_for_one(inst) { 1 } else { 4 }
    }

    /// Whether one lane stands for all. What writes does so for each.
    fn is_for_one(&self, inst: &InstData) -> bool {
        inst.result.is_some_and(|result| self.is_uniform(result))
    }

    fn call(&mut self, callee: Callee, address: usize, args: &[clif::Value]) {
        let address = self.simd.ins().iconst(I64, address as i64);
        self.simd.ins().call_indirect(callee.signature, address, args);
    }

    /// Stores the words of operands, and says where.
    fn store_operands(&mut self, inst: &InstData, callee: Callee, at: fn(usize, usize) -> i32) -> clif::Value {
        let is_uniform = self.is_for_one(inst);
        let memory = self.simd.ins().stack_addr(I64, callee.slot, 0);
        for (operand, &arg) in inst.args.iter().enumerate() {
            for (number, word) in self.words(arg, is_uniform).into_iter().enumerate() {
                self.simd.store(word, memory, at(operand, number));
            }
        }
        memory
    }

    /// Words that are not used later cost nothing: Cranelift drops their loads.
    fn load_result(&mut self, inst: &InstData, memory: clif::Value, at: fn(usize, usize) -> i32) {
        let (result, ty) = (result(inst), inst.op.result().of_inst(inst.ty).unwrap_or(inst.ty));
        let held = match (ty, self.is_uniform(result)) {
            (Type::F32, true) => F32,
            (_, true) => I32,
            (ty, false) => vector_type(ty),
        };
        let load = |word: u32| self.simd.load(held, memory, at(0, word as usize));
        let mut words: Vec<clif::Value> = (0..ty.words()).map(load).collect();
        if ty == Type::I1 {
            let zero = if held == I32 { self.simd.iconst(0) } else { self.word(I32X4, 0) };
            words[0] = self.simd.icmp(IntCC::NotEqual, words[0], zero);
        }
        self.define(result, &words);
    }
}

impl super::Simd<'_> {
    /// Memory on the stack for a `T`, and the signature of what takes its address and the like.
    fn callee<T>(&mut self, call_conv: CallConv, params: &[clif::Type]) -> Callee {
        let mut signature = Signature::new(call_conv);
        signature.params = params.iter().copied().map(AbiParam::new).collect();
        let (size, align) = (size_of::<T>() as u32, align_of::<T>().trailing_zeros() as u8);
        let slot = StackSlotData::new(clif::StackSlotKind::ExplicitSlot, size, align);
        let func = &mut self.builder.func;
        Callee { slot: func.create_sized_stack_slot(slot), signature: func.import_signature(signature) }
    }
}
