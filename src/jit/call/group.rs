//! Running one group of lanes at a time, for a caller who looks at what a group leaves behind before the next one runs: records
//! it emitted into arrays that are kept, state that the next invocation begins with.
//!
//! Inputs are 16 bytes a lane, outputs four words a lane, both in scratch memory. Two forms of one function for the same lanes have
//! them in the same places, so one can run where a guard of the other has failed.

use super::{Batch, InputArgs, OutputArgs, Progress, Row, Scratch};
use crate::error::CallError;
use crate::jit::Code;
use shaderjit_ir::Array;

impl Code {
    /// Makes the scratch memory ready for the inputs of groups.
    pub fn begin_groups(&self, batch: &Batch<'_>, scratch: &mut Scratch) -> Result<(), CallError> {
        self.check_memory(batch)?;
        self.prepare(batch, scratch);
        Ok(())
    }

    /// Sets what a lane reads of an input element, in the format of the layout.
    pub fn set_group_input(&self, scratch: &mut Scratch, element: usize, lane: usize, words: [u32; 4]) {
        scratch.tail_inputs[element * self.lanes() as usize + lane] = Row(words);
    }

    /// Runs the first `batch.count` lanes of one group; the others repeat the last of them. The streams of the batch are not
    /// looked at.
    ///
    /// # Errors
    /// [`CallError::Invalid`] and [`CallError::ShortBuffer`] if uniforms or resources are missing or too short, or there are more
    /// invocations than lanes. [`CallError::OutOfFuel`] if a loop runs too long.
    pub fn run_group(&self, batch: &Batch<'_>, scratch: &mut Scratch) -> Result<Progress, CallError> {
        let (lanes, valid) = (self.lanes() as usize, batch.count as usize);
        if !(1..=lanes).contains(&valid) {
            return Err(CallError::Invalid(format!("{valid} invocations in a group of {lanes}")));
        }
        self.begin_groups(batch, scratch)?;
        self.bind_memory(batch, &mut scratch.tables);
        let Scratch { tail_inputs, tail_outputs, tables, .. } = &mut *scratch;
        for rows in tail_inputs.chunks_mut(lanes) {
            let last = rows[valid - 1];
            rows[valid..].fill(last);
        }
        let stride = size_of::<Row>();
        tables.inputs.clear();
        let inputs = tail_inputs.chunks(lanes);
        tables.inputs.extend(inputs.map(|rows| InputArgs { data: rows.as_ptr().cast(), stride }));
        tables.outputs.clear();
        let outputs = tail_outputs.chunks_mut(lanes);
        tables.outputs.extend(outputs.map(|rows| OutputArgs { data: rows.as_mut_ptr().cast(), stride }));
        // SAFETY: `prepare` made `lanes` rows for each input and output, and every stream points to its own.
        let stopped = unsafe { self.call(batch, scratch, 0, valid - 1, 0..lanes)? };
        Ok(stopped.map_or(Progress::Done, |vertex| Progress::GuardFailed { vertex }))
    }

    /// What a lane stored to an output element.
    pub fn group_output(&self, scratch: &Scratch, element: usize, lane: usize) -> [u32; 4] {
        scratch.tail_outputs[element * self.lanes() as usize + lane].0
    }

    /// What a lane stored to an element of an array of four components; zeros past its end.
    pub fn group_array_row(&self, scratch: &Scratch, array: Array, element: u32, lane: usize) -> [u32; 4] {
        let place = &self.info.arrays[array];
        if element >= place.elements {
            return [0; 4];
        }
        // An element is `[component][lane]`, four lanes a row.
        let first = (place.offset + element * place.element_bytes) as usize / size_of::<Row>() + lane / 4;
        let rows = scratch.arrays[first..].iter().step_by(self.lanes() as usize / 4);
        let mut words = [0; 4];
        for (word, row) in words.iter_mut().zip(rows) {
            *word = row.0[lane % 4];
        }
        words
    }
}
