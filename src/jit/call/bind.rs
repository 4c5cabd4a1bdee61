//! What a call checks and binds before native code runs: the tables point to the caller's buffers.

use super::{Batch, OutputBuffer, Row, Scratch, Tables, UniformRows};
use crate::error::CallError;
use crate::jit::Code;
use crate::jit::abi::{self, InputArgs, MEMORY_BYTES, OutputArgs, ResourceArgs, SpaceArgs};
use crate::jit::limits;
use shaderjit_ir::Resource;
use shaderjit_ir::memory::MemoryKind;
use shaderjit_ir::op::RESOURCE_BYTES;
use std::sync::atomic::AtomicU32;

/// Memory that has no words, but for the one that takes what is dropped.
static NOWHERE: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Words behind one that takes what is dropped.
fn memory_args(words: Option<&[AtomicU32]>) -> ResourceArgs {
    let words = words.filter(|words| !words.is_empty()).unwrap_or(&NOWHERE[..1]);
    let bytes = (words.len() - 1).saturating_mul(4).min(MEMORY_BYTES as usize) as u32;
    ResourceArgs { data: words.as_ptr().wrapping_add(1).cast(), bytes }
}

/// The entry of a space with these rows.
pub(super) fn space_args(rows: &UniformRows) -> SpaceArgs {
    SpaceArgs { data: rows.as_ptr().cast(), end: rows.bound() + limits::WINDOW_ROWS }
}

/// Which vertices the elements of bound streams are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Elements {
    /// One vertex after the other.
    Follow,
    /// One and the same vertex: whatever is stored for it is the same in all lanes.
    Repeat,
}

impl Code {
    /// Makes the scratch memory large enough for this code.
    pub(super) fn reserve(&self, scratch: &mut Scratch) {
        let (info, lanes) = (&self.info, self.lanes() as usize);
        let Scratch { arrays, frame, tail_inputs, tail_outputs, .. } = scratch;
        arrays.reserve(info.scratch_bytes);
        frame.reserve(info.frame_bytes);
        for (rows, elements) in [(tail_inputs, info.inputs.len()), (tail_outputs, info.outputs.len())] {
            if rows.len() != elements * lanes {
                rows.resize(elements * lanes, Row::default());
            }
        }
    }

    /// Checks everything that is bound.
    pub(super) fn check(&self, batch: &Batch<'_>, output: &OutputBuffer<'_>) -> Result<(), CallError> {
        let info = &self.info;
        check_counts(&[
            ("input streams", batch.inputs.len(), info.inputs.len()),
            ("output elements", output.elements.len(), info.outputs.len()),
        ])?;
        for (index, (stream, format)) in batch.inputs.iter().zip(&info.inputs).enumerate() {
            if let Some(format) = format {
                let needed = end(0, stream.stride, batch.count, format.bytes());
                check_len(|| format!("input {index}"), needed, stream.bytes.len())?;
            }
        }
        for (index, (element, &components)) in output.elements.iter().zip(&info.outputs).enumerate() {
            if components > 0 {
                let needed = end(element.offset, element.stride, batch.count, stored_bytes(components));
                check_len(|| format!("output {index}"), needed, output.bytes.len())?;
            }
        }
        self.check_uniforms(batch.uniforms)?;
        self.check_memory(batch)
    }

    /// Checks that there are the uniforms that are read without a check.
    pub(super) fn check_uniforms(&self, uniforms: &[UniformRows]) -> Result<(), CallError> {
        let info = &self.info;
        check_counts(&[("uniform spaces", uniforms.len(), info.tables.len())])?;
        for (index, (rows, table)) in uniforms.iter().zip(&info.tables).enumerate() {
            if table.is_none() {
                self.check_rows(index, rows)?;
            }
        }
        Ok(())
    }

    /// Checks those of one space.
    pub(super) fn check_rows(&self, space: usize, rows: &UniformRows) -> Result<(), CallError> {
        let needed = self.info.uniform_rows[space] as usize * size_of::<Row>();
        check_len(|| format!("uniform space {space}"), Some(needed), rows.readable() * size_of::<Row>())
    }

    /// Checks how many invocations there are and which resources.
    pub(super) fn check_memory(&self, batch: &Batch<'_>) -> Result<(), CallError> {
        let info = &self.info;
        check_counts(&[("resources", batch.resources.len(), info.resources)])?;
        if let Some(threads) = info.threads {
            // Code relies on it: where waves divide a group, no lane is left.
            let (first, count) = (batch.first_vertex, batch.count);
            let end = u64::from(first) + u64::from(count);
            let is_whole = !threads.is_multiple_of(info.lanes) || (first | count).is_multiple_of(info.lanes);
            let is_all = info.waves_of_group == 1 || end == threads.into() && first == 0;
            if end > threads.into() || !is_whole || !is_all {
                return Err(CallError::Invalid(format!("threads {first} to {end} of {threads}")));
            }
        }
        for (index, memory) in info.memory.iter().enumerate() {
            if let Some(MemoryKind::Shared(bytes)) = memory {
                let bound = memory_args(batch.textures.words(Resource::from_u32(index as u32)));
                check_len(|| format!("shared memory {index}"), Some(*bytes as usize & !3), bound.bytes as usize)?;
            }
        }
        Ok(())
    }

    /// Writes the table of uniform spaces.
    pub(super) fn bind_uniforms(&self, uniforms: &[UniformRows], tables: &mut Tables) {
        tables.spaces.clear();
        let rows = (0..self.info.tables.len()).map(|space| self.rows_of(space, uniforms));
        tables.spaces.extend(rows.map(space_args));
    }

    /// Writes the table of resources.
    pub(super) fn bind_memory(&self, batch: &Batch<'_>, tables: &mut Tables) {
        tables.resources.clear();
        let resources = batch.resources.iter().zip(&self.info.memory).enumerate();
        tables.resources.extend(resources.map(|(number, (bytes, memory))| match memory {
            Some(_) => memory_args(batch.textures.words(Resource::from_u32(number as u32))),
            None => ResourceArgs { data: bytes.as_ptr(), bytes: bytes.len().min(RESOURCE_BYTES as usize) as u32 },
        }));
    }

    /// Up to which vertex native code stays inside the inputs, at most `end`: it reads some rows past their ends. The
    /// outputs have been checked.
    pub(super) fn readable(&self, batch: &Batch<'_>, end: usize) -> usize {
        let mut readable = end;
        for (stream, format) in batch.inputs.iter().zip(&self.info.inputs) {
            let Some(format) = format.filter(|_| stream.stride > 0) else { continue };
            let Some(last) = readable.checked_sub(1) else { break };
            match stream.bytes.len().checked_sub(abi::read_bytes(format)) {
                None => readable = 0,
                // The last vertex was checked to be a number of bytes.
                Some(room) if last * stream.stride <= room => {}
                Some(room) => readable = room / stream.stride + 1,
            }
        }
        readable
    }

    /// Points the streams to vertex `first` of the caller's buffers. Of a row that all elements share, what native code
    /// would read past the buffer's end is copied.
    pub(super) fn bind_buffers(
        &self,
        batch: &Batch<'_>,
        output: &mut OutputBuffer<'_>,
        first: usize,
        elements: Elements,
        scratch: &mut Scratch,
    ) {
        let Scratch { tail_inputs, tables, .. } = scratch;
        let stride = |stride: usize| if elements == Elements::Repeat { 0 } else { stride };
        let mut copies = &mut tail_inputs[..];
        tables.inputs.clear();
        tables.inputs.extend(batch.inputs.iter().zip(&self.info.inputs).map(|(stream, format)| {
            let copy = copies.split_off_mut(..self.lanes() as usize).expect("every input has rows");
            let (at, stride) = (first.wrapping_mul(stream.stride), stride(stream.stride));
            let data = match format {
                // What is read of a vertex lies inside its stream: `check`.
                Some(format) if stride == 0 && stream.bytes.len() - at < abi::read_bytes(*format) => {
                    copy[0] = Row::from_bytes(&stream.bytes[at..]);
                    copy.as_ptr().cast()
                }
                _ => stream.bytes.as_ptr().wrapping_add(at),
            };
            InputArgs { data, stride }
        }));
        let data = output.bytes.as_mut_ptr();
        tables.outputs.clear();
        tables.outputs.extend(output.elements.iter().map(|element| OutputArgs {
            // Inside the buffer for every element that is stored: `check`.
            data: data.wrapping_add(element.offset).wrapping_add(first.wrapping_mul(element.stride)),
            stride: stride(element.stride),
        }));
    }
}

/// Bytes that an output element of so many stored components takes.
pub(super) fn stored_bytes(components: u8) -> usize {
    usize::from(components) * 4
}

/// The end of the last of `count` elements; `None` if it is not a number of bytes at all. No elements need nothing.
fn end(offset: usize, stride: usize, count: u32, bytes: usize) -> Option<usize> {
    let Some(last) = count.checked_sub(1) else { return Some(0) };
    (last as usize).checked_mul(stride)?.checked_add(offset)?.checked_add(bytes)
}

/// Checks numbers of bindings: what, given, wanted.
fn check_counts(counts: &[(&str, usize, usize)]) -> Result<(), CallError> {
    match counts.iter().find(|(_, given, wanted)| given != wanted) {
        Some((what, given, wanted)) => {
            Err(CallError::Invalid(format!("{given} {what} are bound, the code has {wanted}")))
        }
        None => Ok(()),
    }
}

fn check_len(what: impl FnOnce() -> String, needed: Option<usize>, available: usize) -> Result<(), CallError> {
    match needed {
        Some(needed) if needed <= available => Ok(()),
        needed => Err(CallError::ShortBuffer { what: what(), needed: needed.unwrap_or(usize::MAX), available }),
    }
}
