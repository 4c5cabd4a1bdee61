//! Running one group of lanes at a time, for a caller who looks at what a group leaves behind before the next one runs: records
//! it emitted into arrays that are kept, state that the next invocation begins with.

use super::{Batch, InputArgs, OutputArgs, Row, Scratch};
use crate::error::CallError;
use crate::jit::Code;
use shaderjit_ir::Array;

/// Lends memory to one group after the other. Inputs are 16 bytes a lane in the formats of the code's layout, outputs four words.
pub struct GroupRunner<'a> {
    code: &'a Code,
    scratch: &'a mut Scratch,
}

impl Code {
    /// Begins to run groups.
    pub fn groups<'a>(&'a self, scratch: &'a mut Scratch) -> GroupRunner<'a> {
        self.reserve(scratch);
        GroupRunner { code: self, scratch }
    }
}

impl GroupRunner<'_> {
    fn lanes(&self) -> usize {
        self.code.lanes() as usize
    }

    /// What a lane reads of an input element.
    pub fn input(&mut self, element: usize, lane: usize) -> &mut [u32; 4] {
        let at = element * self.lanes() + lane;
        &mut self.scratch.tail_inputs[at].0
    }

    /// Runs the first `batch.count` lanes of one group; the others repeat the last of them. The streams of the batch are not
    /// looked at.
    ///
    /// # Errors
    /// [`CallError::Invalid`] and [`CallError::ShortBuffer`] if uniforms or resources are missing or too short, or there are more
    /// invocations than lanes. [`CallError::OutOfFuel`] if a loop runs too long.
    pub fn run(&mut self, batch: &Batch<'_>) -> Result<(), CallError> {
        let (code, lanes) = (self.code, self.lanes());
        let valid = batch.count as usize;
        code.check_memory(batch)?;
        if !(1..=lanes).contains(&valid) {
            return Err(CallError::Invalid(format!("{valid} invocations in a group of {lanes}")));
        }
        code.bind_memory(batch, &mut self.scratch.tables);
        let Scratch { tail_inputs, tail_outputs, tables, .. } = &mut *self.scratch;
        for rows in tail_inputs.chunks_mut(lanes) {
            let last = rows[valid - 1];
            rows[valid..].fill(last);
        }
        let stride = size_of::<Row>();
        let inputs = tail_inputs.chunks(lanes);
        tables.inputs.clear();
        tables.inputs.extend(inputs.map(|rows| InputArgs { data: rows.as_ptr().cast(), stride }));
        let outputs = tail_outputs.chunks_mut(lanes);
        tables.outputs.clear();
        tables.outputs.extend(outputs.map(|rows| OutputArgs { data: rows.as_mut_ptr().cast(), stride }));
        // SAFETY: `reserve` made `lanes` rows for each input and output, and every stream points to its own.
        unsafe { code.call(batch, self.scratch, 0, valid - 1, lanes) }
    }

    /// What a lane stored to an output element.
    pub fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        self.scratch.tail_outputs[element * self.lanes() + lane].0
    }

    /// What a lane stored to an element of an array of four components; zeros past its end.
    pub fn array_row(&self, array: Array, element: u32, lane: usize) -> [u32; 4] {
        let place = &self.code.info.arrays[array];
        if element >= place.elements {
            return [0; 4];
        }
        // An element is `[component][lane]`, four lanes a row.
        let first = (place.offset + element * place.element_bytes) as usize / size_of::<Row>() + lane / 4;
        let rows = self.scratch.arrays[first..].iter().step_by(self.lanes() / 4);
        let mut words = [0; 4];
        for (word, row) in words.iter_mut().zip(rows) {
            *word = row.0[lane % 4];
        }
        words
    }
}
