//! Loads from resources, the caller's bytes as they are, and stores to memory. Every one is checked against the length
//! in the table.

use super::value::Memo;
use super::{Emitter, result};
use crate::jit::abi::offset;
use crate::jit::coalesce::Place;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder};
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Resource, Type, Value};

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
        let (operand, is_memory) = (inst.args[0], inst.op == Op::MemoryLoad);
        if !self.is_uniform(operand) {
            let vector = self.load_words((operand, is_memory), (resource, at));
            return self.define_vector(result(inst), vector);
        }
        let mut word = self.scalar(operand);
        if is_memory && !self.coalescing.is_aligned(operand) {
            let mask = self.simd.iconst(!3);
            word = self.simd.ins().band(word, mask);
        }
        let (address, at) = if self.coalescing.is_inside(operand, (resource, at), 0) {
            let word = self.simd.ins().uextend(I64, word);
            let data = self.resource_data(resource);
            (self.simd.ins().iadd(data, word), at as i32)
        } else {
            let window = self.window(resource, at);
            let inside = self.simd.icmp(IntCC::UnsignedLessThanOrEqual, word, window.last);
            let word = self.simd.ins().uextend(I64, word);
            let address = self.simd.ins().iadd(window.base, word);
            let zero = self.zero_word();
            (self.simd.ins().select(inside, address, zero), 0)
        };
        // A float's load and the splat right after it become one instruction.
        let ty = if inst.ty == Type::F32 { F32 } else { I32 };
        let word = self.simd.load(ty, address, at);
        self.define_scalar(result(inst), word);
    }

    /// A vector of addresses; of memory, those of the words that they are in.
    pub(super) fn word_addresses(&mut self, address: Value, is_memory: bool) -> clif::Value {
        let addresses = self.vector(address);
        if !is_memory || self.coalescing.is_aligned(address) {
            return addresses;
        }
        let mask = self.word(I32X4, !3);
        self.simd.ins().band(addresses, mask)
    }

    /// Words that do not lie together.
    pub(super) fn load_apart(&mut self, (address, is_memory): (Value, bool), (resource, at): Place) -> clif::Value {
        let (window, addresses) = (self.window(resource, at), self.word_addresses(address, is_memory));
        self.gather_words(window, resource, at, addresses)
    }

    /// Stores words that do not lie together. What is outside goes to the word in front of the memory.
    pub(super) fn store_apart(&mut self, address: Value, (resource, at): Place, value: clif::Value, mask: clif::Value) {
        let operands = self.word_addresses(address, true);
        // Memory is never so long that this is in range where the sum is not a number of 32 bits.
        let needed = self.word(I32X4, at.saturating_add(4));
        let bytes = self.simd.load(I32, self.resources, offset::resource(resource.as_u32()).1);
        let bytes = self.simd.ins().splat(I32X4, bytes);
        let fits = self.simd.icmp(IntCC::UnsignedLessThanOrEqual, needed, bytes);
        let room = self.simd.ins().isub(bytes, needed);
        let inside = self.simd.icmp(IntCC::UnsignedLessThanOrEqual, operands, room);
        let inside = self.simd.ins().band(inside, fits);
        let inside = self.simd.ins().band(inside, mask);
        // The word in front is at 0.
        let offsets = self.simd.ins().iadd(operands, needed);
        let offsets = self.simd.ins().band(offsets, inside);
        let data = self.resource_data(resource);
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
        let [base, last, ..] = self.memoised_all(Memo::Window(resource, at), |this| {
            let data = this.resource_data(resource);
            let bytes = this.simd.load(I32, this.resources, offset::resource(resource.as_u32()).1);
            // Resources are never so long that this is in range where the sum is not a number of 32 bits.
            let needed = this.simd.iconst(at.saturating_add(4));
            let fits = this.simd.icmp(IntCC::UnsignedLessThanOrEqual, needed, bytes);
            let start = this.simd.ins().iconst(I64, i64::from(at));
            let start = this.simd.ins().iadd(data, start);
            let zero = this.zero_word();
            let base = this.simd.ins().select(fits, start, zero);
            let room = this.simd.ins().isub(bytes, needed);
            let nothing = this.simd.iconst(0);
            let last = this.simd.ins().select(fits, room, nothing);
            [base, last, base, last]
        });
        Window { base, last }
    }

    /// Where a resource begins.
    pub(super) fn resource_data(&mut self, resource: Resource) -> clif::Value {
        let (data, _) = offset::resource(resource.as_u32());
        self.memoised(Memo::Data(resource), |this| this.simd.load(I64, this.resources, data))
    }

    /// The address of the zero word among the arguments.
    fn zero_word(&mut self) -> clif::Value {
        let at = self.simd.ins().iconst(I64, i64::from(offset::ZERO));
        self.simd.ins().iadd(self.args, at)
    }
}
