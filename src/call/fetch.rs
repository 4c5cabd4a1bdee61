//! Attributes as interpreters read them: the words of several vertices at once, by what their formats mean.

use super::vertex_buffer::VertexBufferView;
use shaderjit_ir::vm::LANES;

/// The four components that vertices read of a stream. Where it has no bytes they read zeros.
pub(super) fn fetch(stream: &VertexBufferView<'_>, vertices: [usize; LANES]) -> [[u32; LANES]; 4] {
    let packing = stream.format.packing();
    let mut words = [[0; LANES]; 4];
    for (number, word) in words.iter_mut().enumerate().take(packing.bytes().div_ceil(4)) {
        let (first, size) = (4 * number, (packing.bytes() - 4 * number).min(4));
        for (lane, vertex) in word.iter_mut().zip(vertices) {
            let at = vertex * stream.stride + first;
            *lane = match (size, stream.bytes.get(at..at + size)) {
                (4, Some(&[a, b, c, d])) => u32::from_le_bytes([a, b, c, d]),
                (_, bytes) => bytes.unwrap_or_default().iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)),
            };
        }
    }
    std::array::from_fn(|component| packing.component(component, &words))
}
