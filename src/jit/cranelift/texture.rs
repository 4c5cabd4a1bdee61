//! Rows, and texture accesses, which are done by a [call](crate::jit::texture).

use super::value::Vectors;
use super::{Emitter, result};
use crate::jit::mode;
use crate::jit::texture::{encode, offset};
use cranelift_codegen::ir::types::{F32, I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, AbiParam, InstBuilder, SigRef, Signature, StackSlot, StackSlotData};
use shaderjit_ir::function::InstData;
use shaderjit_ir::texture::{Access, Rows};
use shaderjit_ir::{Op, Type, Value};

/// What all calls share.
#[derive(Clone, Copy)]
pub(super) struct Callee {
    /// Holds [`Rows`].
    slot: StackSlot,
    signature: SigRef,
}

/// What holds the words of a row that an access has given.
#[derive(Clone, Copy)]
pub(super) enum Row {
    /// Scalars, `i32`.
    Uniform([clif::Value; 4]),
    /// Vectors of `i32`.
    Divergent([Vectors; 4]),
}

/// One word of an operand.
#[derive(Clone, Copy)]
enum Word {
    /// A value of 32 bits.
    Value(Value),
    Scalar(clif::Value),
    Vectors(Vectors),
}

impl Emitter<'_, '_> {
    /// The words of an operand: those of a row, or the one of anything else.
    fn operand_words(&self, arg: Value) -> Vec<Word> {
        if self.func.ty(arg) != Type::Row {
            return vec![Word::Value(arg)];
        }
        match self.func.def_inst(arg) {
            Some(join) if join.op == Op::RowJoin => join.args.iter().map(|&word| Word::Value(word)).collect(),
            _ => match self.access_rows[&arg] {
                Row::Uniform(words) => words.map(Word::Scalar).to_vec(),
                Row::Divergent(words) => words.map(Word::Vectors).to_vec(),
            },
        }
    }

    pub(super) fn row_word(&mut self, inst: &InstData, component: u8) {
        let result = result(inst);
        let word = self.operand_words(inst.args[0])[usize::from(component)];
        if self.is_uniform(result) {
            let scalar = self.word_scalar(word);
            let ty = if inst.ty == Type::F32 { F32 } else { I32 };
            let scalar = self.simd.cast(ty, scalar);
            self.define_scalar(result, scalar);
        } else {
            let vectors = self.word_vectors(word);
            self.define_vectors(result, vectors);
        }
    }

    /// All lanes in one call, or one where they agree.
    pub(super) fn access(&mut self, inst: &InstData, access: &Access) {
        let Callee { slot, signature } = self.access_callee();
        let result = result(inst);
        let is_uniform = self.is_uniform(result);
        let rows = self.simd.ins().stack_addr(I64, slot, 0);
        for (operand, &arg) in inst.args.iter().enumerate() {
            for (number, word) in self.operand_words(arg).into_iter().enumerate() {
                let at = offset(operand, number);
                if is_uniform {
                    let scalar = self.word_scalar(word);
                    self.simd.store(scalar, rows, at);
                } else {
                    let vectors = self.word_vectors(word);
                    for (which, &vector) in vectors.iter().enumerate().take(self.places.vectors) {
                        self.simd.store(vector, rows, at + 16 * which as i32);
                    }
                }
            }
        }
        let lanes = if is_uniform { 1 } else { self.places.vectors * 4 };
        let [what, names] = encode(access, lanes).map(|bits| self.simd.ins().iconst(I64, bits as i64));
        let textures = self.simd.load(I64, self.args, crate::jit::abi::offset::TEXTURES);
        let callee = mode::access_textures as *const () as usize;
        let callee = self.simd.ins().iconst(I64, callee as i64);
        self.simd.ins().call_indirect(signature, callee, &[textures, what, names, rows]);
        self.load_answer(rows, inst, result);
    }

    /// Words that are not used later cost nothing: Cranelift drops their loads.
    fn load_answer(&mut self, rows: clif::Value, inst: &InstData, result: Value) {
        match (inst.ty, self.is_uniform(result)) {
            (Type::Row, true) => {
                let words = [0, 1, 2, 3].map(|word| self.simd.load(I32, rows, offset(0, word)));
                self.access_rows.insert(result, Row::Uniform(words));
            }
            (Type::Row, false) => {
                let words = [0, 1, 2, 3].map(|word| self.load_vectors(rows, word));
                self.access_rows.insert(result, Row::Divergent(words));
            }
            (ty, true) => {
                let scalar = self.simd.load(if ty == Type::F32 { F32 } else { I32 }, rows, offset(0, 0));
                self.define_scalar(result, scalar);
            }
            (_, false) => {
                let vectors = self.load_vectors(rows, 0);
                self.define_vectors(result, vectors);
            }
        }
    }

    fn load_vectors(&mut self, rows: clif::Value, word: usize) -> Vectors {
        self.each_vector(|simd, which| simd.load(I32X4, rows, offset(0, word) + 16 * which as i32))
    }

    fn word_scalar(&mut self, word: Word) -> clif::Value {
        match word {
            Word::Value(value) => self.scalar(value),
            Word::Scalar(scalar) => scalar,
            Word::Vectors(_) => unreachable!("what is uniform is made of uniform words"),
        }
    }

    fn word_vectors(&mut self, word: Word) -> Vectors {
        match word {
            Word::Value(value) => self.vectors(value),
            Word::Scalar(scalar) => {
                let splat = self.simd.ins().splat(I32X4, scalar);
                self.each_vector(|_, _| splat)
            }
            Word::Vectors(vectors) => vectors,
        }
    }

    /// The slot and signature of calls, made for the first one.
    fn access_callee(&mut self) -> Callee {
        if let Some(callee) = self.accesses {
            return callee;
        }
        let mut signature = Signature::new(self.call_conv);
        signature.params = [I64; 4].map(AbiParam::new).to_vec();
        let func = &mut self.simd.builder.func;
        let align = align_of::<Rows>().trailing_zeros() as u8;
        let slot = StackSlotData::new(clif::StackSlotKind::ExplicitSlot, size_of::<Rows>() as u32, align);
        let slot = func.create_sized_stack_slot(slot);
        let signature = func.import_signature(signature);
        *self.accesses.insert(Callee { slot, signature })
    }
}
