//! Loads from resources, the caller's bytes as they are, and stores to memory. Every one is checked against the length
//! in the table.

use super::code::{Address, Source};
use super::encode::Condition;
use super::table::Op as X;
use super::value::Memo;
use super::{Selector, result};
use crate::jit::abi::offset;
use crate::jit::coalesce::Place;
use regalloc2::VReg;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Resource, Value};

impl Selector<'_> {
    pub(super) fn resource_bytes(&mut self, inst: &InstData, resource: Resource) {
        let bytes = self.simd.load_word(Address::at(self.resources, offset::resource(resource.as_u32()).1));
        self.define_scalar(result(inst), bytes);
    }

    pub(super) fn resource_load(&mut self, inst: &InstData, resource: Resource, at: u32) {
        if !self.is_uniform(inst.args[0]) {
            let vector = self.load_words(inst, resource, at);
            return self.define_vector(result(inst), vector);
        }
        let address = inst.args[0];
        let operand = if inst.op == Op::MemoryLoad { self.aligned(address) } else { self.scalar(address) };
        if self.coalescing.is_inside(inst.args[0], (resource, at), 0) {
            let data = self.resource_data(resource);
            return self.define_loaded(result(inst), Address::indexed(data, operand, 0, at as i32));
        }
        let (data, bytes) = (self.resource_data(resource), self.resource_length(resource));
        let end = self.end_of_word(operand, at);
        let (zero, address) = (self.zero_word(), self.simd.address(Address::indexed(data, end, 0, -4)));
        self.simd.compare(X::Cmp64, end, bytes);
        let address = self.simd.choose64(Condition::BelowEqual, address, zero);
        self.define_loaded(result(inst), Address::at(address, 0));
    }

    /// A uniform address in memory: that of the word that it is in.
    fn aligned(&mut self, address: Value) -> VReg {
        let operand = self.scalar(address);
        self.memoised(Memo::Aligned(address), |this| this.simd.general_imm(X::AndImmediate, operand, !3))
    }

    /// Where the word at an address ends, a number of 64 bits. Resources are never so long that it would need more.
    fn end_of_word(&mut self, address: VReg, at: u32) -> VReg {
        match i32::try_from(at.saturating_add(4)) {
            Ok(offset) => self.simd.address(Address::at(address, offset)),
            Err(_) => {
                let offset = self.simd.literal(at.saturating_add(4));
                self.simd.general(X::Add64, &[offset], address)
            }
        }
    }

    /// The word of memory at a uniform address; the one in front of the memory, if there is none.
    fn word_of_memory(&mut self, address: Value, (resource, at): Place) -> Address {
        let operand = self.aligned(address);
        let data = self.resource_data(resource);
        if self.coalescing.is_inside(address, (resource, at), 0) {
            return Address::indexed(data, operand, 0, at as i32);
        }
        let (bytes, end, none) = (self.resource_length(resource), self.end_of_word(operand, at), self.simd.literal(0));
        self.simd.compare(X::Cmp64, end, bytes);
        let end = self.simd.choose64(Condition::BelowEqual, end, none);
        Address::indexed(data, end, 0, -4)
    }

    /// Stores to one word what the last of the lanes has in which the mask holds.
    fn store_last(&mut self, to: Address, value: Value, mask: Option<VReg>) {
        let is_uniform = self.is_uniform(value);
        let value = if is_uniform { self.scalar(value) } else { self.vector(value) };
        let join = mask.map(|mask| {
            let [store, join] = [(); 2].map(|()| self.simd.code.block());
            let bits = self.simd.mask_bits(mask);
            self.simd.compare_imm(X::CmpImmediate, bits, 0);
            self.simd.code.branch(Condition::Equal, (join, &[]), (store, &[]));
            self.simd.code.switch_to(store);
            (join, bits)
        });
        let word = if is_uniform {
            value
        } else {
            let last = match join {
                Some((_, bits)) => {
                    let zeros = self.simd.general(X::Lzcnt, &[], bits);
                    self.simd.general_imm(X::XorImmediate, zeros, 31)
                }
                None => self.simd.literal(u32::from(self.program.lanes) - 1),
            };
            let last = self.simd.splat(last);
            let word = self.simd.op(X::Permps, &[last], value);
            self.simd.first_word(word)
        };
        self.simd.store_word(word, to);
        if let Some((join, _)) = join {
            self.simd.code.jump(join, &[]);
            self.simd.code.switch_to(join);
        }
    }

    /// A vector of addresses; of memory, those of the words that they are in.
    pub(super) fn word_addresses(&mut self, address: Value, is_memory: bool) -> VReg {
        if let Some(number) = self.here.bounded.number(address) {
            return self.bounded_addresses(number);
        }
        let addresses = self.late_vector(address);
        if !is_memory || self.coalescing.is_aligned(address) {
            return addresses;
        }
        let mask = self.simd.word_source(!3);
        self.simd.op(X::Pand, &[addresses], mask)
    }

    /// Stores a word of each lane where the mask holds. What is outside goes to the word in front of the memory.
    pub(super) fn memory_store(&mut self, inst: &InstData, resource: Resource, at: u32) {
        let [address, value, mask] = [0, 1, 2].map(|arg| inst.args[arg]);
        if self.is_uniform(address) {
            let (to, mask) = (self.word_of_memory(address, (resource, at)), self.stores_where(mask));
            return self.store_last(to, value, mask);
        }
        let (value, mask) = (self.vector(value), self.stores_where(mask));
        self.store_words(inst, (resource, at), (value, mask), |this| {
            this.store_apart(address, (resource, at), value, mask)
        });
    }

    /// The mask of a store, if it is not known to hold everywhere.
    pub(super) fn stores_where(&mut self, mask: Value) -> Option<VReg> {
        let holds = self.literal(mask).is_some_and(|bits| bits != 0);
        if holds { None } else { Some(self.mask(mask)) }
    }

    /// Stores words that do not lie together. What it makes, no other code may use.
    pub(super) fn store_apart(&mut self, address: Value, place: Place, value: VReg, mask: Option<VReg>) {
        let words = [self.word_addresses(address, true), value];
        self.store_near(place, words, mask, |this| this.scatter_words(place, words, mask));
    }

    /// The same wherever the words lie. What it makes, no other code may use.
    fn scatter_words(&mut self, (resource, at): Place, [addresses, value]: [VReg; 2], mask: Option<VReg>) {
        let (data, bytes) = offset::resource(resource.as_u32());
        // Memory is never so long that this is in range where the sum is not a number of 32 bits.
        let needed = self.simd.word(at.saturating_add(4));
        let bytes = self.simd.load(Address::at(self.resources, bytes).in_all_lanes());
        let fits = self.at_most(needed, bytes.into());
        let room = self.simd.op(X::Psubd, &[bytes], needed);
        let mut inside = self.at_most(addresses, room.into());
        for other in [Some(fits), mask].into_iter().flatten() {
            inside = self.simd.masks(X::Pand, X::Kand, inside, other);
        }
        if self.simd.gathers() {
            let data = self.simd.load_pointer(Address::at(self.resources, data));
            // Where a word is inside its offset is below 2^31.
            return self.simd.scatter(value, inside, Address::at(data, at as i32).with_index(addresses));
        }
        // The word in front is at 0.
        let offsets = self.simd.op(X::Paddd, &[addresses], needed);
        let offsets = self.simd.keep(inside, offsets.into());
        let offsets = self.keep_offsets(offsets);
        let data = self.simd.load_pointer(Address::at(self.resources, data));
        self.scatter_lanes(value, |this, lane| {
            let offset = this.lane_offset(offsets, lane);
            Address::indexed(data, offset, 0, -4)
        });
    }

    /// The word of each lane whose operand is at most `last`, which is in all lanes, else zero. The word at the address
    /// itself may be read. Memory, but no other resource, is known to be no longer than 2 GiB.
    pub(super) fn gather_words(
        &mut self,
        mut address: Address,
        is_memory: bool,
        last: Source,
        mut operands: VReg,
    ) -> VReg {
        let inside = self.at_most(operands, last);
        if !is_memory && self.simd.gathers() {
            // As many bytes further on as numbers without a sign are above those with one.
            let half = self.simd.literal(1 << 31);
            let base = self.simd.address(address.with_index(half));
            let sign = self.simd.word_source(1 << 31);
            (address, operands) = (Address::at(base, 0), self.simd.op(X::Pxor, &[operands], sign));
        }
        self.gather_lanes(inside, address, operands)
    }

    /// The window of loads at a fixed offset of a resource: the address that operand 0 loads from, and the largest
    /// operand for which four bytes can be read there, in all lanes. Loads behind this one in the block have it again
    /// if it is kept.
    pub(super) fn window(&mut self, resource: Resource, at: u32, is_kept: bool) -> (Address, Source) {
        if let Some(last) = self.coalescing.last_shared((resource, at)) {
            let data = self.resource_data(resource);
            return (Address::at(data, at as i32), self.simd.word_source(last));
        }
        let [base, last, ..] = match is_kept {
            true => self.memoised_all(Memo::Window(resource, at), |this| this.find_window(resource, at)),
            false => self.find_window(resource, at),
        };
        (Address::at(base, 0), last.into())
    }

    /// Where a resource shorter than four bytes past `at` is read only a zero word is in the window, at operand 0.
    fn find_window(&mut self, resource: Resource, at: u32) -> [VReg; 4] {
        let (data, bytes) = (self.resource_data(resource), self.resource_length(resource));
        // Resources are never so long that this is in range where the sum is not a number of 32 bits.
        let needed = self.simd.literal(at.saturating_add(4));
        let start = self.simd.literal(at);
        let start = self.simd.general(X::Add64, &[start], data);
        let (zero, nothing) = (self.zero_word(), self.simd.literal(0));
        let room = self.simd.general(X::Sub, &[bytes], needed);
        self.simd.compare(X::Cmp, needed, bytes);
        let base = self.simd.choose64(Condition::BelowEqual, start, zero);
        let last = self.simd.choose(Condition::BelowEqual, room, nothing);
        let last = self.simd.splat(last);
        [base, last, base, last]
    }

    /// How many bytes a resource has.
    pub(super) fn resource_length(&mut self, resource: Resource) -> VReg {
        let (_, bytes) = offset::resource(resource.as_u32());
        self.memoised(Memo::Length(resource), |this| this.simd.load_word(Address::at(this.resources, bytes)))
    }

    /// Where a resource begins.
    pub(super) fn resource_data(&mut self, resource: Resource) -> VReg {
        let (data, _) = offset::resource(resource.as_u32());
        self.memoised(Memo::Data(resource), |this| this.simd.load_pointer(Address::at(this.resources, data)))
    }

    /// The address of the zero word among the arguments.
    fn zero_word(&mut self) -> VReg {
        self.simd.address(Address::at(self.args, offset::ZERO))
    }
}
