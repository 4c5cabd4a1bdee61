//! Runs of vertices, indexed vertices and thread groups, and what they give.

use super::call::shaderjit_call;
use super::give;
use super::pointers;
use super::status::{Failure, ended, shaderjit_status};
use crate::{DistinctVertices, Indices, OutputLayout, Outputs, Place};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

/// What a run gave: rows of outputs, one a vertex or pixel.
pub struct shaderjit_outputs {
    outputs: Outputs,
    /// Which row each index has.
    vertices: Option<DistinctVertices>,
}

/// One output of all rows: of row `i`, `stride * i` bytes from the first, its components in order, 4 bytes each.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct shaderjit_output {
    /// Valid as long as the outputs.
    pub first: *const u8,
    pub stride: usize,
    pub components: u32,
}

/// Where an output element goes in the caller's memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct shaderjit_place {
    /// Number of the element among the outputs of the signature.
    pub element: usize,
    /// Byte offset of the first vertex's.
    pub offset: usize,
    /// Bytes from one vertex to the next.
    pub stride: usize,
}

fn of(call: Option<&shaderjit_call>) -> Result<&shaderjit_call, Failure> {
    call.ok_or(Failure::null("the call"))
}

impl shaderjit_outputs {
    pub(super) fn of_rows(outputs: Outputs) -> shaderjit_outputs {
        shaderjit_outputs { outputs, vertices: None }
    }
}

/// Shades vertices: `count` of them, from `first` on. The outputs are freed by `shaderjit_outputs_free`.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_run(
    call: Option<&shaderjit_call>,
    first: u32,
    count: u32,
    outputs: Option<&mut MaybeUninit<Option<Box<shaderjit_outputs>>>>,
) -> shaderjit_status {
    ended(|| {
        let vertices = first..end_of(first, count)?;
        give(outputs, shaderjit_outputs::of_rows(of(call)?.call.run(vertices)?))
    })
}

fn end_of(first: u32, count: u32) -> Result<u32, Failure> {
    first.checked_add(count).ok_or_else(|| Failure::argument("vertices have numbers of 32 bits"))
}

/// Shades vertices into the caller's memory: elements without a place are not stored. Allocates nothing if an earlier
/// run of the thread was as large.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_run_into(
    call: Option<&shaderjit_call>,
    first: u32,
    count: u32,
    places: *const shaderjit_place,
    place_count: usize,
    bytes: *mut c_void,
    length: usize,
) -> shaderjit_status {
    ended(|| {
        let call = &of(call)?.call;
        // SAFETY: the header's rules.
        let (places, bytes) = unsafe { (pointers::many(places, place_count)?, pointers::bytes_mut(bytes, length)?) };
        let mut layout = OutputLayout::none(call.shader());
        for &shaderjit_place { element, offset, stride } in places {
            layout = layout.with(element, Place { offset, stride });
        }
        call.run_into(first..end_of(first, count)?, &layout, bytes)?;
        Ok(())
    })
}

/// Shades the vertices that indices name, each once: vertex `index + base_vertex` of the inputs. Indices have 2 or 4
/// bytes. Which row an index has is what `shaderjit_outputs_row` says.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_run_indexed(
    call: Option<&shaderjit_call>,
    indices: *const c_void,
    index_bytes: u32,
    count: usize,
    base_vertex: i32,
    outputs: Option<&mut MaybeUninit<Option<Box<shaderjit_outputs>>>>,
) -> shaderjit_status {
    ended(|| {
        // SAFETY: the header's rules.
        let indices = unsafe {
            match index_bytes {
                2 => Indices::U16(pointers::many(indices.cast(), count)?),
                4 => Indices::U32(pointers::many(indices.cast(), count)?),
                other => return Err(Failure::argument(format!("indices of {other} bytes; 2 and 4 are possible"))),
            }
        };
        let drawn = of(call)?.call.run_indexed(indices, base_vertex)?;
        give(outputs, shaderjit_outputs { outputs: drawn.outputs, vertices: Some(drawn.vertices) })
    })
}

/// Runs so many thread groups of a compute shader, whose results are in the memory that is bound.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_call_dispatch(call: Option<&shaderjit_call>, x: u32, y: u32, z: u32) -> shaderjit_status {
    ended(|| Ok(of(call)?.call.dispatch([x, y, z])?))
}

/// Frees outputs.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_outputs_free(outputs: Option<Box<shaderjit_outputs>>) {
    drop(outputs);
}

/// How many rows there are; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_outputs_count(outputs: Option<&shaderjit_outputs>) -> usize {
    outputs.map_or(0, |outputs| outputs.outputs.count())
}

/// The row of the vertex that an index names; -1 if the index was not drawn, or nothing was drawn by indices.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_outputs_row(outputs: Option<&shaderjit_outputs>, index: u32) -> i64 {
    let row = outputs.and_then(|outputs| outputs.vertices.as_ref()?.row(index));
    row.map_or(-1, i64::from)
}

/// Says of each row whether the pixel shader discarded its pixel, whose outputs mean nothing then: 1 or 0, for as many
/// rows as there are, or as there is room for.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_outputs_discarded(
    outputs: Option<&shaderjit_outputs>,
    flags: *mut u8,
    length: usize,
) -> shaderjit_status {
    ended(|| {
        let outputs = &outputs.ok_or(Failure::null("the outputs"))?.outputs;
        // SAFETY: the header's rules.
        let flags = unsafe { pointers::many_mut(flags, length) }?;
        flags.iter_mut().zip(outputs.discarded()).for_each(|(flag, discarded)| *flag = discarded.into());
        Ok(())
    })
}

/// An output by its semantic.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_outputs_find(
    outputs: Option<&shaderjit_outputs>,
    semantic: *const c_char,
    index: u32,
    output: Option<&mut MaybeUninit<shaderjit_output>>,
) -> shaderjit_status {
    ended(|| {
        let outputs = &outputs.ok_or(Failure::null("the outputs"))?.outputs;
        // SAFETY: the header's rules.
        let semantic = unsafe { pointers::text(semantic) }?;
        let missing = || Failure::argument(format!("there is no output {semantic}[{index}]"));
        let view = outputs.output(semantic, index).ok_or_else(missing)?;
        let (bytes, stride) = view.bytes();
        let components = view.element().components();
        let first = bytes.as_ptr();
        output.ok_or(Failure::null("the place of the result"))?.write(shaderjit_output { first, stride, components });
        Ok(())
    })
}
