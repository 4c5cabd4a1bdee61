//! Native code in memory that it keeps from run to run: batches of vertices, or one wave at a time for a caller who
//! looks at what a wave leaves behind before the next one runs: records it emitted into arrays that are kept, state
//! that the next invocation begins with.
//!
//! Inputs of a wave are 16 bytes a lane, outputs four words a lane, both in scratch memory. Two forms of one function
//! for the same lanes have them in the same places, so one can run where a guard of the other has failed.

use super::{Batch, GroupRunner, OutputBuffer, Progress, Row, Scratch, Span, UniformRows};
use crate::error::CallError;
use crate::jit::Code;
use crate::jit::series::Fresh;
use shaderjit_ir::Array;
use std::ops::Range;

/// Runs native code in memory of its own.
pub struct WaveRunner<'a> {
    code: &'a Code,
    scratch: &'a mut Scratch,
    /// Whether the memory is large enough for this code, and the tables of streams point to the rows of a wave.
    is_bound: bool,
}

impl<'a> WaveRunner<'a> {
    /// Takes memory of any size. A wave's inputs are not defined before they are set.
    pub fn new(code: &'a Code, scratch: &'a mut Scratch) -> WaveRunner<'a> {
        WaveRunner { code, scratch, is_bound: false }
    }

    /// Goes on with other code: another form of the same function, for as many lanes. Inputs stay.
    pub fn switch(&mut self, code: &'a Code) {
        if !std::ptr::eq(self.code, code) {
            (self.code, self.is_bound) = (code, false);
        }
    }

    /// Shades some of the vertices of a batch: [`Code::run_range`]. The inputs of a wave are not defined afterwards.
    ///
    /// # Errors
    /// As [`Code::run_range`].
    pub fn run_range(
        &mut self,
        batch: &Batch<'_>,
        vertices: Range<u32>,
        output: &mut OutputBuffer<'_>,
    ) -> Result<Progress, CallError> {
        self.is_bound = false;
        self.code.run_range(batch, vertices, output, self.scratch)
    }

    /// Lanes of a wave.
    pub fn lanes(&self) -> usize {
        self.code.lanes() as usize
    }

    /// Runs thread groups in the same memory: [`GroupRunner::new`].
    ///
    /// # Errors
    /// As [`GroupRunner::new`].
    pub fn groups<'g>(
        &'g mut self,
        batch: &Batch<'g>,
        number: Option<(usize, UniformRows)>,
    ) -> Result<GroupRunner<'g>, CallError> {
        self.is_bound = false;
        GroupRunner::new(self.code, self.scratch, batch, number)
    }

    /// Sets what a lane reads of an input element, in the format of the layout.
    pub fn set_input(&mut self, element: usize, lane: usize, words: [u32; 4]) {
        if !self.is_bound {
            self.code.reserve(self.scratch);
        }
        let at = element * self.lanes() + lane;
        self.scratch.tail_inputs[at] = Row(words);
    }

    /// Runs the first `batch.count` lanes of a wave; the others repeat the last of them. The streams of the batch are
    /// not looked at. If `uniforms_changed` is false, some of the uniforms may be those of the run before.
    ///
    /// # Errors
    /// [`CallError::Invalid`] and [`CallError::ShortBuffer`] if uniforms or resources are missing or too short, or
    /// there are more invocations than lanes. [`CallError::OutOfFuel`] if a loop runs too long.
    pub fn run(&mut self, batch: &Batch<'_>, uniforms_changed: bool) -> Result<Progress, CallError> {
        let (code, lanes, valid) = (self.code, self.lanes(), batch.count as usize);
        if !(1..=lanes).contains(&valid) {
            return Err(CallError::Invalid(format!("{valid} invocations in a wave of {lanes}")));
        }
        code.check_uniforms(batch.uniforms)?;
        code.check_memory(batch)?;
        if !self.is_bound {
            code.reserve(self.scratch);
        }
        if uniforms_changed || !self.is_bound {
            code.fill_slots(batch.uniforms, self.scratch);
        }
        code.bind_uniforms(batch.uniforms, &mut self.scratch.tables);
        code.bind_memory(batch, &mut self.scratch.tables);
        if valid < lanes {
            for rows in self.scratch.tail_inputs.chunks_mut(lanes) {
                let last = rows[valid - 1];
                rows[valid..].fill(last);
            }
        }
        if !self.is_bound {
            code.bind_scratch(self.scratch);
            self.is_bound = true;
        }
        // SAFETY: `reserve` made `lanes` rows for each input and output of this code, every stream points to its own,
        // and nobody else has had the scratch memory since.
        let ended =
            unsafe { code.call(batch, &batch.fuel, self.scratch, &Span::wave(0, lanes), valid - 1, &Fresh::ONE)? };
        let progress = ended.progress(&batch.fuel)?;
        code.copy_scratch_outputs(self.scratch);
        Ok(progress)
    }

    /// What a lane stored to an output element.
    pub fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        self.scratch.tail_outputs[element * self.lanes() + lane].0
    }

    /// Appends what a lane stored to some elements of an array of four components. Those past its end do not count.
    pub fn read_array(&self, array: Array, first: u32, count: u32, lane: usize, rows: &mut Vec<[u32; 4]>) {
        let place = &self.code.info.arrays[array];
        let end = first.saturating_add(count).min(place.elements);
        // An element is `[component][vector][lane]`, four lanes a row.
        let rows_of_component = self.lanes() / 4;
        let row = |element: u32| (place.offset + element * place.element_bytes) as usize / size_of::<Row>();
        let (first, end) = (row(first.min(end)), row(end));
        let elements = &self.scratch.arrays[first..end];
        let (at, lane) = (lane / 4 % rows_of_component, lane % 4);
        let elements = elements.chunks_exact(4 * rows_of_component);
        rows.extend(elements.map(|element| [0, 1, 2, 3].map(|row| element[row * rows_of_component + at].0[lane])));
    }
}
