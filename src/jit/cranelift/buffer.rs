//! Loads from resources, the caller's bytes as they are, and stores to memory. Every one is checked against the length
//! in the table.

use super::value::Memo;
use super::{Emitter, result};
use crate::jit::abi::offset;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder};
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Resource, Type};

/// What loads at one fixed offset of a resource have in common.
#[derive(Clone, Copy)]
struct Window {
    /// The address that operand 0 loads from: inside the resource, or a zero word that is not.
    base: clif::Value,
    /// The largest operand, 32-bit, for which four bytes can be read there.
    last: clif::Value,
}

impl Emitter<'_, '_> {
    /// Loads the pointer to the resources' table, which holds for the whole call.
    pub(super) fn load_resource_table(&mut self) {
        if self.program.facts.uses_resources {
            self.resources = self.simd.load(I64, self.args, offset::RESOURCES);
        }
    }

    pub(super) fn resource_bytes(&mut self, inst: &InstData, resource: Resource) {
        let bytes = self.simd.load(I32, self.resources, offset::resource(resource.as_u32()).1);
        self.define_scalar(result(inst), bytes);
    }

    pub(super) fn resource_load(&mut self, inst: &InstData, resource: Resource, at: u32) {
        let (window, operand) = (self.window(resource, at), inst.args[0]);
        if self.is_uniform(operand) {
            let mut operand = self.scalar(operand);
            if inst.op == Op::MemoryLoad {
                let mask = self.simd.iconst(!3);
                operand = self.simd.ins().band(operand, mask);
            }
            let inside = self.simd.icmp(IntCC::UnsignedLessThanOrEqual, operand, window.last);
            let operand = self.simd.ins().uextend(I64, operand);
            let address = self.simd.ins().iadd(window.base, operand);
            let zero = self.zero_word();
            let address = self.simd.ins().select(inside, address, zero);
            // A float's load and the splat right after it become one instruction.
            let ty = if inst.ty == Type::F32 { F32 } else { I32 };
            let word = self.simd.load(ty, address, 0);
            self.define_scalar(result(inst), word);
        } else {
            let operands = self.vector(operand);
            let operands = self.word_aligned(inst, operands);
            let vector = self.gather_words(window, resource, at, operands);
            self.define_vector(result(inst), vector);
        }
    }

    /// Byte offsets; of memory, those of the words that they are in.
    fn word_aligned(&mut self, inst: &InstData, operands: clif::Value) -> clif::Value {
        if inst.op == Op::ResourceLoad {
            return operands;
        }
        let mask = self.word(I32X4, !3);
        self.simd.ins().band(operands, mask)
    }

    /// Stores a word of each lane where the mask holds. What is outside goes to the word in front of the memory.
    pub(super) fn memory_store(&mut self, inst: &InstData, resource: Resource, at: u32) {
        let (data, bytes) = offset::resource(resource.as_u32());
        let [operands, value, mask] = [0, 1, 2].map(|operand| self.vector(inst.args[operand]));
        let operands = self.word_aligned(inst, operands);
        // Memory is never so long that this is in range where the sum is not a number of 32 bits.
        let needed = self.word(I32X4, at.saturating_add(4));
        let bytes = self.simd.load(I32, self.resources, bytes);
        let bytes = self.simd.ins().splat(I32X4, bytes);
        let fits = self.simd.icmp(IntCC::UnsignedLessThanOrEqual, needed, bytes);
        let room = self.simd.ins().isub(bytes, needed);
        let inside = self.simd.icmp(IntCC::UnsignedLessThanOrEqual, operands, room);
        let inside = self.simd.ins().band(inside, fits);
        let inside = self.simd.ins().band(inside, mask);
        // The word in front is at 0.
        let offsets = self.simd.ins().iadd(operands, needed);
        let offsets = self.simd.ins().band(offsets, inside);
        let data = self.simd.load(I64, self.resources, data);
        self.scatter_to(data, value, offsets, |_| -4);
    }

    /// Each lane's word. Lanes that are outside load what operand 0 would, and drop it.
    fn gather_words(&mut self, window: Window, resource: Resource, at: u32, operands: clif::Value) -> clif::Value {
        let last = self.memoised(Memo::LastInWindow(resource, at), |this| this.simd.ins().splat(I32X4, window.last));
        let inside = self.simd.icmp(IntCC::UnsignedLessThanOrEqual, operands, last);
        let offsets = self.simd.ins().band(operands, inside);
        let words = self.gather_lanes(window.base, offsets, |_| 0);
        self.simd.ins().band(words, inside)
    }

    /// Where a resource shorter than four bytes past `at` is read only the zero word is in the window, at operand 0.
    fn window(&mut self, resource: Resource, at: u32) -> Window {
        let key = Memo::Window(resource, at);
        if let Some(&[base, last, ..]) = self.here.memo.get(&key) {
            return Window { base, last };
        }
        let (data, bytes) = offset::resource(resource.as_u32());
        let data = self.simd.load(I64, self.resources, data);
        let bytes = self.simd.load(I32, self.resources, bytes);
        // Resources are never so long that this is in range where the sum is not a number of 32 bits.
        let needed = self.simd.iconst(at.saturating_add(4));
        let fits = self.simd.icmp(IntCC::UnsignedLessThanOrEqual, needed, bytes);
        let start = self.simd.ins().iconst(I64, i64::from(at));
        let start = self.simd.ins().iadd(data, start);
        let zero = self.zero_word();
        let base = self.simd.ins().select(fits, start, zero);
        let room = self.simd.ins().isub(bytes, needed);
        let nothing = self.simd.iconst(0);
        let last = self.simd.ins().select(fits, room, nothing);
        self.here.memo.insert(key, [base, last, base, last]);
        Window { base, last }
    }

    /// The address of the zero word among the arguments.
    fn zero_word(&mut self) -> clif::Value {
        let at = self.simd.ins().iconst(I64, i64::from(offset::ZERO));
        self.simd.ins().iadd(self.args, at)
    }
}
