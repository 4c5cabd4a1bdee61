//! The vertices left after whole waves, or whole rounds of a loop that does all by rows, and those of which native code
//! would read more than there is. They go through rows of scratch memory, a lane each, and lanes that are left repeat
//! the last vertex. A single vertex needs no copy: all lanes read it where it lies, and store the same to the same
//! place, unless what they store comes from memory that is written.

use super::bind::{Elements, stored_bytes};
use super::{Batch, InputArgs, OutputArgs, OutputBuffer, Row, Scratch};
use crate::jit::Code;
use std::ops::Range;

impl Code {
    /// Points the streams to so many vertices, at most those of a round, in the form that native code may read.
    pub(super) fn bind_tail(
        &self,
        batch: &Batch<'_>,
        output: &mut OutputBuffer<'_>,
        vertices: Range<usize>,
        scratch: &mut Scratch,
    ) {
        if vertices.len() == 1 && !self.info.repeats_differ() {
            return self.bind_buffers(batch, output, vertices.start, Elements::Repeat, scratch);
        }
        let rows = scratch.tail_inputs.chunks_exact_mut(self.lanes() as usize);
        for ((stream, format), rows) in batch.inputs.iter().zip(&self.info.inputs).zip(rows) {
            if format.is_none() {
                continue;
            }
            let (own, rest) = rows[..self.info.vertices_of_round].split_at_mut(vertices.len());
            for (row, vertex) in own.iter_mut().zip(vertices.clone()) {
                *row = Row::from_bytes(&stream.bytes[vertex * stream.stride..]);
            }
            rest.fill(own[own.len() - 1]);
        }
        self.bind_scratch(scratch);
    }

    /// Brings what was stored for these vertices to where it belongs.
    pub(super) fn store_tail(
        &self,
        batch: &Batch<'_>,
        output: &mut OutputBuffer<'_>,
        vertices: Range<usize>,
        scratch: &mut Scratch,
    ) {
        if vertices.len() == 1 && !self.info.repeats_differ() {
            return self.copy_outputs(batch, output, vertices);
        }
        self.copy_scratch_outputs(scratch);
        let rows = scratch.tail_outputs.chunks_exact(self.lanes() as usize);
        for ((element, &components), rows) in output.elements.iter().zip(&self.info.outputs).zip(rows) {
            let bytes = stored_bytes(components);
            for (row, vertex) in rows.iter().zip(vertices.clone()).filter(|_| bytes > 0) {
                let words = output.bytes[element.offset + vertex * element.stride..][..bytes].as_chunks_mut().0;
                for (to, word) in words.iter_mut().zip(row.0) {
                    *to = word.to_ne_bytes();
                }
            }
        }
    }

    /// Points the streams to the rows of a wave in scratch memory.
    pub(super) fn bind_scratch(&self, scratch: &mut Scratch) {
        let (lanes, stride) = (self.lanes() as usize, size_of::<Row>());
        let Scratch { tail_inputs, tail_outputs, tables, .. } = scratch;
        tables.inputs.clear();
        let inputs = tail_inputs.chunks(lanes);
        tables.inputs.extend(inputs.map(|rows| InputArgs { data: rows.as_ptr().cast(), stride }));
        tables.outputs.clear();
        let outputs = tail_outputs.chunks_mut(lanes);
        tables.outputs.extend(outputs.map(|rows| OutputArgs { data: rows.as_mut_ptr().cast(), stride }));
    }
}
