//! K1, a vertex a quarter: what is computed of it needs no columns.

use super::simd::Simd;
use super::vector::{rows, store_rows};
use crate::plain::vertex::{Uniforms, Vertex};

/// Clip position, texture coordinate.
pub const STRIDE: usize = 24;

#[inline(always)]
pub fn shade<S: Simd>(u: &Uniforms, vertices: &[u8], outputs: &mut [u8]) {
    // The matrix's columns in every quarter.
    let mut columns = [S::splat(0.0); 4];
    for (column, to) in columns.iter_mut().enumerate() {
        let bytes = u.mvp.map(|row| row[column].to_ne_bytes());
        let bytes = bytes.as_flattened().first_chunk().expect("four floats");
        *to = S::join([bytes; 4]);
    }
    let [x, y, z, w] = columns;
    let outputs = outputs.chunks_exact_mut(S::LANES * STRIDE);
    for (group, outputs) in vertices.chunks_exact(S::LANES * Vertex::BYTES).zip(outputs) {
        for first in 0..4 {
            let p = rows::<S>(group, first, 0);
            let (px, py, pz) = (S::lane_of_quarters(p, 0), S::lane_of_quarters(p, 1), S::lane_of_quarters(p, 2));
            let clip = S::fma(x, px, S::fma(y, py, S::fma(z, pz, w)));
            store_rows::<S>(clip, outputs, STRIDE, first, 0);
        }
        for vertex in 0..S::LANES {
            let (from, to) = (vertex * Vertex::BYTES + 24, vertex * STRIDE + 16);
            outputs[to..to + 8].copy_from_slice(&group[from..from + 8]);
        }
    }
}
