//! K1.

use super::vector::{Matrix, columns, store};
use super::{Group, LANES};
use crate::plain::vertex::{Uniforms, Vertex};

/// Clip position, texture coordinate.
pub const STRIDE: usize = 24;

#[target_feature(enable = "avx2,fma")]
pub fn shade(u: &Uniforms, groups: &[Group], outputs: &mut [u8]) {
    let matrix = Matrix::new(&u.mvp);
    let outputs = outputs.as_chunks_mut::<{ LANES * STRIDE }>().0;
    for (group, outputs) in groups.iter().zip(outputs) {
        let [x, y, z, _] = columns(group, 0);
        let clip = matrix.transform([x, y, z]);
        for (lane, row) in clip.into_iter().enumerate() {
            let (from, to) = (lane * Vertex::BYTES + 24, lane * STRIDE);
            store(row, outputs, to);
            outputs[to + 16..to + 24].copy_from_slice(&group[from..from + 8]);
        }
    }
}
