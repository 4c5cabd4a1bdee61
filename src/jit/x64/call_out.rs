//! What native code has done for it by a call: [accesses of textures and memory](crate::jit::texture). Operands and
//! results go through memory on the stack, all lanes of a vector in one call, or one lane where they agree.

use super::code::Address;
use super::table::Op as X;
use super::{Selector, result};
use crate::jit::{abi, mode, texture};
use regalloc2::VReg;
use shaderjit_ir::Type;
use shaderjit_ir::function::InstData;
use shaderjit_ir::texture::{Access, Rows};

impl Selector<'_> {
    /// An access of a texture or of memory.
    pub(super) fn access(&mut self, inst: &InstData, access: Access) {
        self.passed = self.passed.max(size_of::<Rows>() as u32);
        self.store_operands(inst);
        let [number, lanes] =
            [self.accesses.len() as u32, self.lanes_of_call(inst)].map(|word| self.simd.literal(word));
        self.accesses.push(access);
        let textures = self.simd.load_pointer(Address::at(self.args, abi::offset::TEXTURES));
        let rows = self.simd.address(Address::stack(0));
        self.simd.code.call(mode::access_textures as *const () as usize, &[textures, number, lanes, rows]);
        if inst.result.is_some() {
            self.load_result(inst);
        }
    }

    fn lanes_of_call(&self, inst: &InstData) -> u32 {
        if self.is_for_one(inst) { 1 } else { u32::from(self.simd.lanes()) }
    }

    /// Whether one lane stands for all. What writes does so for each.
    fn is_for_one(&self, inst: &InstData) -> bool {
        inst.result.is_some_and(|result| self.is_uniform(result))
    }

    /// Stores the words of operands.
    fn store_operands(&mut self, inst: &InstData) {
        let is_uniform = self.is_for_one(inst);
        for (operand, &arg) in inst.args.iter().enumerate() {
            for (number, mut word) in self.words(arg, is_uniform).into_iter().enumerate() {
                let address = Address::stack(texture::offset(operand, number));
                if is_uniform {
                    self.simd.store_word(word, address);
                    continue;
                }
                if self.func.ty(arg) == Type::I1 {
                    word = self.simd.mask_to_vector(word);
                }
                self.simd.store(word, address);
            }
        }
    }

    fn load_result(&mut self, inst: &InstData) {
        let (result, ty) = (result(inst), inst.op.result().of_inst(inst.ty).unwrap_or(inst.ty));
        let address = |word: u32| Address::stack(texture::offset(0, word as usize));
        let is_uniform = self.is_uniform(result);
        match (ty, is_uniform) {
            (Type::F32, true) => self.define_loaded(result, address(0)),
            (Type::I1, true) => {
                let word = self.simd.load_word(address(0));
                self.simd.compare(X::Test, word, word);
                let bit = self.simd.set(super::encode::Condition::NotEqual);
                self.define_scalar(result, bit);
            }
            (Type::I1, false) => {
                let word = self.simd.load(address(0));
                let zero = self.simd.word(0);
                let equal = self.lanes_equal(word, zero);
                let differs = self.simd.not_mask(equal);
                self.define_vector(result, differs);
            }
            _ => {
                let load = |word| match is_uniform {
                    true => self.simd.load_word(address(word)),
                    false => self.simd.load(address(word)),
                };
                let words: Vec<VReg> = (0..ty.words()).map(load).collect();
                self.define(result, &words);
            }
        }
    }
}
