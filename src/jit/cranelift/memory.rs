//! Ops that touch memory: inputs and outputs, register arrays.

use super::fetch;
use super::value::{Memo, vector_type};
use super::{Emitter, result};
use crate::error::JitError;
use crate::jit::abi::{self, ArrayPlace, offset};
use crate::jit::places::codegen;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};
use shaderjit_ir::batch::Stream;
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::{Array, Block, Op, SysVal, Value};

/// Bytes that one round of the loop over the arrays zeroes.
const ZERO_STEP: u32 = 64;

/// Up to how many bytes are zeroed without a loop.
const ZERO_UNROLLED: u32 = 512;

impl Emitter<'_, '_> {
    /// Loads the pointers that hold for the whole call.
    pub(super) fn load_pointers(&mut self) {
        if self.program.facts.used_spaces.contains(&true) {
            let table = self.simd.load(I64, self.args, offset::SPACES);
            for (index, &used) in (0..).zip(&self.program.facts.used_spaces) {
                if used {
                    self.spaces[index as usize] = self.simd.load(I64, table, offset::space(index).0);
                }
            }
        }
        if self.places.scratch_bytes > 0 {
            self.scratch = self.simd.load(I64, self.args, offset::SCRATCH);
        }
    }

    /// Arrays start as zero in every wave: so many bytes of them. May go on in another block.
    pub(super) fn zero_arrays(&mut self, bytes: u32) {
        if bytes == 0 {
            return;
        }
        let zero = self.simd.word(I32X4, 0);
        if bytes <= ZERO_UNROLLED {
            for at in (0..bytes).step_by(16) {
                self.simd.store(zero, self.scratch, at as i32);
            }
            return;
        }
        let (body, done) = (self.simd.builder.create_block(), self.simd.builder.create_block());
        let at = self.simd.builder.append_block_param(body, I64);
        let start = self.simd.ins().iconst(I64, 0);
        self.simd.ins().jump(body, &[BlockArg::from(start)]);
        self.simd.builder.switch_to_block(body);
        let address = self.simd.ins().iadd(self.scratch, at);
        for step in (0..ZERO_STEP).step_by(16) {
            self.simd.store(zero, address, step as i32);
        }
        let step = self.simd.ins().iconst(I64, i64::from(ZERO_STEP));
        let at = self.simd.ins().iadd(at, step);
        let end = self.simd.ins().iconst(I64, i64::from(bytes));
        let more = self.simd.icmp(IntCC::UnsignedLessThan, at, end);
        self.simd.ins().brif(more, body, &[BlockArg::from(at)], done, &[]);
        self.simd.builder.switch_to_block(done);
    }

    // ---- inputs and outputs

    /// Fetches the words of an input element's rows, unless they have been or nothing wants them. Only in the IR's
    /// entry block.
    pub(super) fn fetch_input(&mut self, element: u32, vector: u8) {
        let at = element as usize * self.vectors() + usize::from(vector);
        if self.program.facts.wanted[element as usize] > 0 && self.fetched[at].is_empty() {
            let rows = self.rows(Stream::Input(element), vector);
            let rows = rows.try_into().expect("a vector has four lanes");
            self.fetched[at] =
                fetch::fetch(&mut self.simd, abi::read_bytes(self.layout.inputs[element as usize]), rows);
        }
    }

    /// Loads where a stream begins and its stride.
    fn load_stream(&mut self, stream: Stream) -> [clif::Value; 2] {
        let (table, (data, stride)) = match stream {
            Stream::Input(element) => (offset::INPUTS, offset::input(element)),
            Stream::Output(element) => (offset::OUTPUTS, offset::output(element)),
        };
        let table = self.simd.load(I64, self.args, table);
        [data, stride].map(|field| self.simd.load(I64, table, field))
    }

    /// In front of a loop whose first element is `first`: loads the strides of the streams that it carries, and returns
    /// the first row of each.
    pub(super) fn begin_streams(&mut self, first: clif::Value) -> Vec<clif::Value> {
        self.wave.strides.clear();
        let mut rows = Vec::new();
        for index in 0..self.carried().len() {
            let [data, stride] = self.load_stream(self.carried()[index]);
            self.wave.strides.push(stride);
            // Loops that are no phases begin with the first element of all.
            rows.push(match self.tile {
                Some(_) => fetch::row_address(&mut self.simd, data, stride, first),
                None => data,
            });
        }
        rows
    }

    /// The streams whose rows the loop steps along.
    pub(super) fn carried(&self) -> &[Stream] {
        self.program.facts.streams(self.phase.as_ref().map_or(0, |phase| phase.number))
    }

    /// The rows of the next wave in the streams that the loop carries.
    pub(super) fn next_rows(&mut self) -> Vec<clif::Value> {
        let shift = self.step.ilog2();
        let streams = std::iter::zip(&self.wave.first_rows, &self.wave.strides);
        streams
            .map(|(&row, &stride)| {
                let step = self.simd.shl(stride, shift);
                self.simd.ins().iadd(row, step)
            })
            .collect()
    }

    /// The addresses of the rows of a vector's lanes in a stream, or of all vertices of a round if those are fewer, in
    /// forms that are addressing modes where they can be.
    pub(super) fn rows(&mut self, stream: Stream, vector: u8) -> Vec<clif::Value> {
        let [mut first, stride, twice, _] = self.memoised_all(Memo::Stream(stream), |this| {
            let (first, stride) = match this.carried().iter().position(|&carried| carried == stream) {
                Some(index) => (this.wave.first_rows[index], this.wave.strides[index]),
                None => {
                    let [data, stride] = this.load_stream(stream);
                    (fetch::row_address(&mut this.simd, data, stride, this.wave.element), stride)
                }
            };
            let twice = if this.step > 2 { this.simd.shl(stride, 1) } else { stride };
            [first, stride, twice, first]
        });
        for _ in 0..vector {
            let four = self.simd.shl(stride, 2);
            first = self.simd.ins().iadd(first, four);
        }
        let mut rows = vec![first, self.simd.ins().iadd(first, stride)];
        if self.step > 2 {
            rows.extend([rows[0], rows[1]].map(|row| self.simd.ins().iadd(row, twice)));
        }
        rows
    }

    /// A word of an input element's rows.
    pub(super) fn input(&mut self, inst: &InstData, element: u32, word: u8) {
        if !self.program.is_used(result(inst)) {
            // Only copies use it.
            return;
        }
        // In later blocks it has been.
        self.fetch_input(element, inst.vector);
        let words = &self.fetched[element as usize * self.vectors() + usize::from(inst.vector)];
        self.define_vector(result(inst), words[usize::from(word)]);
    }

    pub(super) fn sysval(&mut self, inst: &InstData, sysval: SysVal) -> Result<(), JitError> {
        match sysval {
            SysVal::InstanceId => {
                let instance = self.simd.load(I32, self.args, offset::INSTANCE);
                self.define_scalar(result(inst), instance);
            }
            SysVal::VertexId => {
                let (_, element) = self.elements(inst.vector);
                let first = self.simd.load(I32, self.args, offset::FIRST_VERTEX);
                let first = self.simd.ins().splat(I32X4, first);
                let vertex = self.simd.ins().iadd(first, element);
                self.define_vector(result(inst), vertex);
            }
            // Those whose numbers rise.
            SysVal::Active => {
                let (all, element) = self.elements(inst.vector);
                let is_own = self.simd.icmp(IntCC::Equal, all, element);
                let one = self.simd.words(I32X4, [1; 4]);
                let is_own = self.simd.ins().band(is_own, one);
                self.define_vector(result(inst), is_own);
            }
            other => return Err(codegen(format!("{} has no native form", other.name()))),
        }
        Ok(())
    }

    /// The numbers of a vector's elements as they rise, and as lanes of the tail repeat the last.
    fn elements(&mut self, vector: u8) -> (clif::Value, clif::Value) {
        let element = self.simd.ins().ireduce(I32, self.wave.element);
        let element = self.simd.ins().splat(I32X4, element);
        let lanes = [0, 1, 2, 3].map(|lane| u32::from(vector) * 4 + lane);
        let lanes = self.simd.words(I32X4, lanes);
        let all = self.simd.ins().iadd(element, lanes);
        let last = self.simd.load(I32, self.args, offset::LAST);
        let last = self.simd.ins().splat(I32X4, last);
        (all, self.simd.ins().umin(all, last))
    }

    /// Begins a block: counts what it sets of each output.
    pub(super) fn count_outputs(&mut self, block: Block) {
        for inst in self.func.blocks[block].insts.iter().map(|&inst| &self.func.insts[inst]) {
            if let (Op::Output, Imm::Element { element, .. }) = (inst.op, inst.imm) {
                self.here.outputs.count(element, inst.vector);
            }
        }
    }

    /// Sets a component of an output. The element is stored when that was the last one that the block sets.
    pub(super) fn output(&mut self, inst: &InstData, element: u32, component: u8) -> Result<(), JitError> {
        let stored = if self.program.is_stored(element) { self.layout.stored(element) } else { 0 };
        let Some(set) = self.here.outputs.set((element, inst.vector), component, inst.args[0], stored)? else {
            return Ok(());
        };
        let components: Vec<clif::Value> = set.into_iter().map(|value| self.vector(value)).collect();
        let rows = self.rows(Stream::Output(element), inst.vector);
        let rows = rows.try_into().expect("a vector has four lanes");
        fetch::store(&mut self.simd, &components, rows);
        Ok(())
    }

    // ---- register arrays

    pub(super) fn array_load(&mut self, inst: &InstData, array: Array, component: u8) {
        let place = self.places.arrays[array];
        let at = self.component_offset(array, component, inst.vector);
        let index = inst.args[0];
        // Out of range is the element that stays zero.
        let vector = if self.is_uniform(index) {
            let index = self.scalar(index);
            let zero_element = self.simd.iconst(place.elements);
            let index = self.simd.ins().umin(index, zero_element);
            let address = self.element_address(index, place.element_bytes);
            self.simd.load(vector_type(inst.ty), address, at)
        } else {
            let zero_element = self.word(I32X4, place.elements);
            let indices = self.vector(index);
            let index = self.simd.ins().umin(indices, zero_element);
            let offsets = self.element_offsets(index, place.element_bytes);
            self.gather_lanes(self.scratch, offsets, |lane| at + 4 * i32::from(lane))
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
    fn store_element(&mut self, array: Array, at: i32, index: Value, mut value: clif::Value, mask: Option<Value>) {
        let place = self.places.arrays[array];
        // Where it is known to lie there is nothing to compute: emitted records, most of them.
        if let (Some(index), None) = (self.literal_element(index, place), mask) {
            return self.simd.store(value, self.scratch, at + index);
        }
        let index = self.scalar(index);
        let elements = self.simd.iconst(place.elements);
        let mut stores = self.simd.icmp(IntCC::UnsignedLessThan, index, elements);
        if let Some(mask) = mask.filter(|&mask| self.is_uniform(mask)) {
            let mask = self.scalar(mask);
            stores = self.simd.ins().band(stores, mask);
        }
        let junk_element = self.simd.iconst(place.elements + 1);
        let index = self.simd.ins().select(stores, index, junk_element);
        let address = self.element_address(index, place.element_bytes);
        if let Some(mask) = mask.filter(|&mask| !self.is_uniform(mask)) {
            let mask = self.vector(mask);
            let old = self.simd.load(self.simd.ty(value), address, at);
            value = self.simd.blend(mask, value, old);
        }
        self.simd.store(value, address, at);
    }

    /// Stores to an element of its own in each lane.
    fn store_lanes(&mut self, array: Array, at: i32, index: Value, value: clif::Value, mask: Option<Value>) {
        let place = self.places.arrays[array];
        let indices = self.vector(index);
        let elements = self.word(I32X4, place.elements);
        let junk_element = self.word(I32X4, place.elements + 1);
        // What is clamped to the end goes one further.
        let clamped = self.simd.ins().umin(indices, elements);
        let outside = self.simd.icmp(IntCC::Equal, clamped, elements);
        let mut index = self.simd.ins().isub(clamped, outside);
        if let Some(mask) = mask {
            let mask = self.vector(mask);
            index = self.simd.blend(mask, index, junk_element);
        }
        let offsets = self.element_offsets(index, place.element_bytes);
        self.scatter_to(self.scratch, value, offsets, |lane| at + 4 * i32::from(lane));
    }

    /// Bytes from an array's start to the element of a literal index that is in range.
    fn literal_element(&self, index: Value, place: ArrayPlace) -> Option<i32> {
        let index = self.func.constant(index).filter(|&index| index < u64::from(place.elements))?;
        Some((index as u32 * place.element_bytes) as i32)
    }

    /// Bytes from the start of scratch memory to a vector of a component of an array's first element.
    fn component_offset(&self, array: Array, component: u8, vector: u8) -> i32 {
        let number = i32::from(component) * self.vectors() as i32 + i32::from(vector);
        self.places.arrays[array].offset as i32 + number * 16
    }

    fn element_address(&mut self, index: clif::Value, element_bytes: u32) -> clif::Value {
        let index = self.simd.ins().uextend(I64, index);
        let size = self.simd.ins().iconst(I64, i64::from(element_bytes));
        let offset = self.simd.ins().imul(index, size);
        self.simd.ins().iadd(self.scratch, offset)
    }

    fn element_offsets(&mut self, index: clif::Value, element_bytes: u32) -> clif::Value {
        if element_bytes.is_power_of_two() {
            return self.simd.shl(index, element_bytes.trailing_zeros());
        }
        let size = self.word(I32X4, element_bytes);
        self.simd.ins().imul(index, size)
    }

    pub(super) fn scatter_to(
        &mut self,
        base: clif::Value,
        value: clif::Value,
        offsets: clif::Value,
        at: impl Fn(u8) -> i32,
    ) {
        let value = self.simd.cast(I32X4, value);
        let offsets = self.keep_offsets(offsets);
        for lane in 0..4u8 {
            let address = self.lane_address(base, offsets, lane);
            let word = self.simd.ins().extractlane(value, lane);
            self.simd.store(word, address, at(lane));
        }
    }
}
