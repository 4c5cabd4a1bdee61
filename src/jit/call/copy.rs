//! Outputs that are an input passed on. Native code has nothing to do with them.

use super::{Batch, OutputBuffer, OutputElement, Scratch};
use crate::jit::Code;
use shaderjit_ir::batch::Copy;
use std::ops::Range;
use std::ptr;

impl Code {
    /// Copies the outputs that are an input passed on.
    pub(super) fn copy_outputs(&self, batch: &Batch<'_>, output: &mut OutputBuffer<'_>, vertices: Range<usize>) {
        for &Copy { output: to, input: from } in &self.info.copies {
            let (to, components) = (output.elements[to as usize], self.info.outputs[to as usize]);
            let from = batch.inputs[from as usize];
            let rows = (from.bytes, from.stride, &mut *output.bytes, to);
            match components {
                1 => copy_rows::<4>(rows, vertices.clone()),
                2 => copy_rows::<8>(rows, vertices.clone()),
                3 => copy_rows::<12>(rows, vertices.clone()),
                _ => copy_rows::<16>(rows, vertices.clone()),
            }
        }
    }

    /// The same for rows in scratch memory.
    pub(super) fn copy_scratch_outputs(&self, scratch: &mut Scratch) {
        let lanes = self.lanes() as usize;
        for &Copy { output: to, input: from } in &self.info.copies {
            let from = &scratch.tail_inputs[from as usize * lanes..][..lanes];
            scratch.tail_outputs[to as usize * lanes..][..lanes].copy_from_slice(from);
        }
    }
}

/// Copies `N` bytes of each vertex from rows of a stride to those of an output element. Both were checked to hold them.
fn copy_rows<const N: usize>(
    (from, from_stride, to, element): (&[u8], usize, &mut [u8], OutputElement),
    vertices: Range<usize>,
) {
    let Some(last) = vertices.end.checked_sub(1).filter(|&last| last >= vertices.start) else { return };
    assert!(last * from_stride + N <= from.len() && element.offset + last * element.stride + N <= to.len());
    for vertex in vertices {
        // SAFETY: the assertion holds for the last vertex, and those before it start no later.
        unsafe {
            let from = from.as_ptr().add(vertex * from_stride);
            let to = to.as_mut_ptr().add(element.offset + vertex * element.stride);
            ptr::copy_nonoverlapping(from, to, N);
        }
    }
}
