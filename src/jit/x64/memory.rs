//! Ops that touch memory: inputs and outputs, register arrays.

use super::code::Address;
use super::constants::Constant;
use super::encode::{Condition, Size};
use super::table::{Class, Op as X};
use super::value::Memo;
use super::{Selector, WaveArgs, result};
use crate::error::JitError;
use crate::jit::abi::{self, ArrayPlace, offset};
use crate::jit::places::codegen;
use regalloc2::VReg;
use shaderjit_ir::batch::Stream;
use shaderjit_ir::bounds::last_row;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Array, Op, SysVal, Value};

/// Bytes that one round of the loop over the arrays zeroes.
const ZERO_STEP: u32 = 64;

/// Up to how many bytes are zeroed without a loop.
const ZERO_UNROLLED: u32 = 1024;

impl Selector<'_> {
    /// Loads the pointers that hold for the whole call.
    pub(super) fn load_pointers(&mut self) {
        if self.program.facts.used_spaces.contains(&true) {
            let table = self.simd.load_pointer(Address::at(self.args, offset::SPACES));
            for (index, &used) in (0..).zip(&self.program.facts.used_spaces) {
                if used {
                    self.spaces[index as usize] = self.simd.load_pointer(Address::at(table, offset::space(index).0));
                }
            }
        }
        if self.places.scratch_bytes > 0 {
            self.scratch = self.simd.load_pointer(Address::at(self.args, offset::SCRATCH));
        }
        if self.program.facts.uses_resources {
            self.resources = self.simd.load_pointer(Address::at(self.args, offset::RESOURCES));
        }
        if self.places.frame.bytes() > 0 {
            self.frame = self.simd.load_pointer(Address::at(self.args, offset::FRAME));
        }
    }

    /// Arrays start as zero in every wave: so many bytes of them, a multiple of 64. May go on in another block.
    pub(super) fn zero_arrays(&mut self, bytes: u32) {
        if bytes == 0 {
            return;
        }
        let zero = self.simd.word(0);
        let size = self.simd.size().bytes();
        if bytes <= ZERO_UNROLLED {
            for at in (0..bytes as i32).step_by(size as usize) {
                self.simd.store(zero, Address::at(self.scratch, at));
            }
            return;
        }
        let (body, done) = (self.simd.code.block(), self.simd.code.block());
        let start = self.simd.literal(0);
        self.simd.code.jump(body, &[start]);
        let at = self.simd.code.param(body, Class::G);
        self.simd.code.switch_to(body);
        for step in (0..ZERO_STEP as i32).step_by(size as usize) {
            self.simd.store(zero, Address::indexed(self.scratch, at, 0, step));
        }
        let next = self.simd.address(Address::at(at, ZERO_STEP as i32));
        self.simd.compare_imm(X::CmpImmediate64, next, bytes);
        self.simd.code.branch(Condition::Below, (body, &[next]), (done, &[]));
        self.simd.code.switch_to(done);
    }

    // ---- inputs and outputs

    /// Fetches the words of an input element's rows, unless they have been or nothing wants them. Only in the IR's
    /// entry block.
    pub(super) fn fetch_input(&mut self, element: u32, vector: u8) {
        let at = element as usize * self.vectors() + usize::from(vector);
        let wanted = self.program.facts.wanted[element as usize];
        if wanted > 0 && self.fetched[at].is_none() {
            let rows = self.rows(Stream::Input(element), vector);
            let words = self.fetch(abi::read_bytes(self.layout.inputs[element as usize]), &rows, wanted);
            self.fetched[at] = Some(words);
        }
    }

    /// In front of a loop whose first element is `first`: loads the strides of the streams that it carries, and adds
    /// the first row of each.
    pub(super) fn begin_streams(&mut self, first: VReg, rows: &mut WaveArgs) {
        self.wave.strides.clear();
        for index in 0..self.carried().len() {
            let [data, one] = self.load_stream(self.carried()[index]);
            let stride = self.stride(one);
            self.wave.strides.push(stride);
            // Loops that are no phases begin with the first element of all.
            rows.push(if self.tile.is_some() { self.row_address(data, one, first) } else { data });
        }
    }

    /// The streams whose rows the loop steps along.
    pub(super) fn carried(&self) -> &[Stream] {
        self.program.facts.streams(self.phase.as_ref().map_or(0, |phase| phase.number))
    }

    /// Adds the rows of the next wave in the streams that the loop carries.
    pub(super) fn next_rows(&mut self, rows: &mut WaveArgs) {
        for index in 0..self.wave.first_rows.len() {
            let next = self.rows_behind(self.wave.first_rows[index], self.wave.strides[index], self.step);
            rows.push(self.simd.address(next));
        }
    }

    /// A word of an input element's rows.
    pub(super) fn input(&mut self, inst: &InstData, element: u32, word: u8) {
        if !self.program.is_used(result(inst)) {
            // Only copies use it.
            return;
        }
        // In later blocks it has been.
        self.fetch_input(element, inst.vector);
        let words = self.fetched[element as usize * self.vectors() + usize::from(inst.vector)];
        self.define_vector(result(inst), words.expect("it has been fetched")[usize::from(word)]);
    }

    pub(super) fn sysval(&mut self, inst: &InstData, sysval: SysVal) -> Result<(), JitError> {
        match sysval {
            SysVal::InstanceId => {
                let instance = self.simd.load_word(Address::at(self.args, offset::INSTANCE));
                self.define_scalar(result(inst), instance);
            }
            SysVal::VertexId => {
                let numbers = self.thread_numbers(inst.vector);
                self.define_vector(result(inst), numbers);
            }
            // Those whose numbers rise.
            SysVal::Active => {
                let (all, elements) = self.elements(inst.vector);
                let is_own = self.lanes_equal(all, elements);
                let [is_own, one] = [self.simd.mask_to_vector(is_own), self.simd.word(1)];
                let is_own = self.simd.op(X::Pand, &[is_own], one);
                self.define_vector(result(inst), is_own);
            }
            other => return Err(codegen(format!("{} has no native form", other.name()))),
        }
        Ok(())
    }

    /// The numbers of vertices, or of threads of a group.
    pub(super) fn thread_numbers(&mut self, vector: u8) -> VReg {
        let (_, elements) = self.elements(vector);
        let first = self.simd.load(Address::at(self.args, offset::FIRST_VERTEX).in_all_lanes());
        self.simd.op(X::Paddd, &[elements], first)
    }

    /// The numbers of a vector's elements as they rise, and as lanes of the tail repeat the last.
    fn elements(&mut self, vector: u8) -> (VReg, VReg) {
        // The element's low word.
        let element = self.simd.general(X::Mov, &[], self.wave.element);
        let elements = self.simd.splat(element);
        let lanes = self.simd.lanes();
        let count = self.simd.code.constant(Constant::Count(u32::from(vector * lanes), 1, lanes));
        let all = self.simd.op(X::Paddd, &[elements], count);
        let last = self.simd.load(Address::at(self.args, offset::LAST).in_all_lanes());
        (all, self.simd.op(X::Pminud, &[all], last))
    }

    /// Sets a component of an output. The element is stored when that was the last one that the block sets.
    pub(super) fn output(&mut self, inst: &InstData, element: u32, component: u8) -> Result<(), JitError> {
        let stored = if self.program.is_stored(element) { self.layout.stored(element) } else { 0 };
        let Some(set) = self.here.outputs.set((element, inst.vector), component, inst.args[0], stored)? else {
            return Ok(());
        };
        let components: Vec<VReg> = set.into_iter().map(|value| self.vector(value)).collect();
        let rows = self.rows(Stream::Output(element), inst.vector);
        self.store_components(&components, &rows);
        Ok(())
    }

    // ---- register arrays

    pub(super) fn array_load(&mut self, inst: &InstData, array: Array, component: u8) {
        let place = self.places.arrays[array];
        let at = self.component_offset(array, component, inst.vector);
        let index = inst.args[0];
        let vector = if self.is_uniform(index) {
            let address = self.element(inst, array, component);
            self.simd.load(address)
        } else {
            // Out of range is the element that stays zero.
            let indices = self.vector(index);
            let zero_element = self.simd.word_source(place.elements);
            let index = self.simd.op(X::Pminud, &[indices], zero_element);
            let offsets = self.element_offsets(index, place.element_bytes);
            let first = Address::at(self.scratch, at);
            if self.simd.gathers() {
                let (offsets, all) = (self.in_columns(offsets), self.simd.whole_mask(true));
                self.simd.gather(all, first.with_index(offsets))
            } else {
                self.words_one_by_one(offsets, |lane| first.plus(4 * i32::from(lane)))
            }
        };
        self.define_vector(result(inst), vector);
    }

    pub(super) fn array_store(&mut self, inst: &InstData, array: Array, component: u8) {
        let at = self.component_offset(array, component, inst.vector);
        let (index, value) = (inst.args[0], self.vector(inst.args[1]));
        let mask = (inst.op == Op::ArrayStoreMasked).then(|| inst.args[2]);
        if self.is_uniform(index) {
            self.store_element(array, at, index, value, mask);
        } else {
            self.store_lanes(array, at, index, value, mask);
        }
    }

    /// Stores to one element in all lanes.
    fn store_element(&mut self, array: Array, at: i32, index: Value, mut value: VReg, mask: Option<Value>) {
        let place = self.places.arrays[array];
        // Where it is known to lie there is nothing to compute: emitted records, most of them.
        if let (Some(index), None) = (self.literal_element(index, place), mask) {
            return self.simd.store(value, Address::at(self.scratch, at + index));
        }
        let mut index = self.scalar(index);
        let junk_element = self.simd.literal(place.elements + 1);
        if let Some(mask) = mask.filter(|&mask| self.is_uniform(mask)) {
            let stores = self.branch_condition(mask);
            index = self.simd.choose(stores, index, junk_element);
        }
        self.simd.compare_imm(X::CmpImmediate, index, place.elements);
        let index = self.simd.choose(Condition::Below, index, junk_element);
        let offset = self.element_offset(index, place.element_bytes);
        let address = Address::indexed(self.scratch, offset, 0, at);
        if let Some(mask) = mask.filter(|&mask| !self.is_uniform(mask)) {
            let mask = self.mask(mask);
            let old = self.simd.load(address);
            value = self.simd.blend(mask, value, old);
        }
        self.simd.store(value, address);
    }

    /// Stores to an element of its own in each lane.
    fn store_lanes(&mut self, array: Array, at: i32, index: Value, value: VReg, mask: Option<Value>) {
        let place = self.places.arrays[array];
        let indices = self.vector(index);
        let last = self.simd.word_source(place.elements - 1);
        let mut inside = self.at_most(indices, last);
        if let Some(mask) = mask {
            let mask = self.mask(mask);
            inside = self.simd.masks(X::Pand, X::Kand, inside, mask);
        }
        if self.simd.gathers() {
            let offsets = self.element_offsets(indices, place.element_bytes);
            let offsets = self.in_columns(offsets);
            return self.simd.scatter(value, inside, Address::at(self.scratch, at).with_index(offsets));
        }
        let junk_element = self.simd.word(place.elements + 1);
        let index = self.simd.blend(inside, indices, junk_element);
        let offsets = self.element_offsets(index, place.element_bytes);
        let (offsets, base) = (self.keep_offsets(offsets), self.scratch);
        self.scatter_lanes(value, |this, lane| {
            let offset = this.lane_offset(offsets, lane);
            Address::indexed(base, offset, 0, at + 4 * i32::from(lane))
        });
    }

    /// The offsets of elements, each lane's further on by its number of words: arrays have a column for each lane.
    fn in_columns(&mut self, offsets: VReg) -> VReg {
        let columns = self.simd.code.constant(Constant::Count(0, 4, self.simd.lanes()));
        self.simd.op(X::Paddd, &[offsets], columns)
    }

    /// Where the words of two vectors are the same.
    pub(super) fn lanes_equal(&mut self, a: VReg, b: VReg) -> VReg {
        let op = if self.simd.has_masks() { X::PcmpdMask } else { X::Pcmpeqd };
        self.simd.op(op, &[a], b)
    }

    /// Bytes from an array's start to the element of a literal index that is in range.
    fn literal_element(&self, index: Value, place: ArrayPlace) -> Option<i32> {
        let index = self.func.constant(index).filter(|&index| index < u64::from(place.elements))?;
        Some((index as u32 * place.element_bytes) as i32)
    }

    /// Bytes from the start of scratch memory to a vector of a component of an array's first element.
    fn component_offset(&self, array: Array, component: u8, vector: u8) -> i32 {
        let number = i32::from(component) * self.vectors() as i32 + i32::from(vector);
        self.places.arrays[array].offset as i32 + number * self.simd.size().bytes()
    }

    /// Where a component of an array's element is that is the same one in all lanes.
    pub(super) fn element(&mut self, inst: &InstData, array: Array, component: u8) -> Address {
        let (place, index) = (self.places.arrays[array], inst.args[0]);
        let at = self.component_offset(array, component, inst.vector);
        if let Some(element) = self.literal_element(index, place) {
            return Address::at(self.scratch, at + element);
        }
        let offset = self.memoised(Memo::Element(array, index), |this| {
            let mut number = this.scalar(index);
            if last_row(this.func, 0, index).is_none_or(|last| last >= place.elements) {
                // Out of range is the element that stays zero.
                let zero_element = this.simd.literal(place.elements);
                number = this.simd.umin(number, zero_element);
            }
            this.element_offset(number, place.element_bytes)
        });
        Address::indexed(self.scratch, offset, 0, at)
    }

    fn element_offset(&mut self, index: VReg, element_bytes: u32) -> VReg {
        match element_bytes.is_power_of_two() {
            true => self.simd.general_imm(X::Shl64, index, element_bytes.trailing_zeros()),
            false => self.simd.general_imm(X::ImulImmediate64, index, element_bytes),
        }
    }

    fn element_offsets(&mut self, index: VReg, element_bytes: u32) -> VReg {
        if element_bytes.is_power_of_two() {
            return self.shift(Op::Ishl, index, element_bytes.trailing_zeros());
        }
        let size = self.simd.word_source(element_bytes);
        self.simd.op(X::Pmulld, &[index], size)
    }
}

impl super::simd::Simd {
    /// Adds 64-bit numbers in memory.
    pub fn add_to(&mut self, address: Address, number: VReg) {
        self.effect(X::AddTo64, Size::X, &[number], Some(address), 0);
    }
}
