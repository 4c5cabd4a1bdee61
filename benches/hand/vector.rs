//! Registers of four floats: a row has the components of one vertex, a column one component of four vertices.

use super::{Group, LANES};
use crate::plain::vertex::{Vec4, Vertex};
use std::arch::x86_64::*;

/// Four components of a vertex, or the other way round.
pub type Rows = [__m128; LANES];
/// x, y and z of four vertices.
pub type Columns3 = [__m128; 3];

/// Loads a row.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn load(bytes: &[u8; 16]) -> __m128 {
    // SAFETY: these are 16 bytes, and the instruction does not ask for alignment.
    unsafe { _mm_loadu_ps(bytes.as_ptr().cast()) }
}

/// Loads a row of a matrix.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn load_row(row: &Vec4) -> __m128 {
    // SAFETY: these are four floats, and the instruction does not ask for alignment.
    unsafe { _mm_loadu_ps(row.as_ptr()) }
}

/// Stores a row `at` so many bytes into the outputs of a group.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn store(row: __m128, outputs: &mut [u8], at: usize) {
    let bytes = outputs[at..].first_chunk_mut::<16>().expect("outputs have room for their rows");
    // SAFETY: these are 16 bytes, and the instruction does not ask for alignment.
    unsafe { _mm_storeu_ps(bytes.as_mut_ptr().cast(), row) }
}

/// Rows to columns, and back.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn transpose([a, b, c, d]: Rows) -> Rows {
    let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
    let (high_ab, high_cd) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
    [_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab), _mm_movelh_ps(high_ab, high_cd), _mm_movehl_ps(high_cd, high_ab)]
}

/// The 16 bytes of each vertex that begin `at` so many bytes into it, as columns.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn columns(group: &Group, at: usize) -> Rows {
    transpose([row(group, 0, at), row(group, 1, at), row(group, 2, at), row(group, 3, at)])
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn row(group: &Group, lane: usize, at: usize) -> __m128 {
    load(group[lane * Vertex::BYTES + at..].first_chunk().expect("rows end in their vertex"))
}

/// The same number for all vertices.
#[inline]
pub fn splat(x: f32) -> __m128 {
    // SAFETY: every x86-64 machine has SSE.
    unsafe { _mm_set1_ps(x) }
}

/// Four rows, each number in a register of its own.
pub struct Matrix([[__m128; 4]; 4]);

impl Matrix {
    pub fn new(rows: &[Vec4; 4]) -> Matrix {
        Matrix(rows.map(|row| row.map(splat)))
    }

    /// The point in clip space, as rows.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub fn transform(&self, p: Columns3) -> Rows {
        let [x, y, z, w] = &self.0;
        transpose([dot_point(x, p), dot_point(y, p), dot_point(z, p), dot_point(w, p)])
    }
}

/// A row of a matrix times points: its fourth component counts as 1.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn dot_point(row: &[__m128; 4], [x, y, z]: Columns3) -> __m128 {
    _mm_fmadd_ps(row[0], x, _mm_fmadd_ps(row[1], y, _mm_fmadd_ps(row[2], z, row[3])))
}

/// A row of a matrix times directions: their fourth component counts as 0.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn dot_direction(row: &[__m128; 4], d: Columns3) -> __m128 {
    dot3([row[0], row[1], row[2]], d)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn dot3(a: Columns3, b: Columns3) -> __m128 {
    _mm_fmadd_ps(a[0], b[0], _mm_fmadd_ps(a[1], b[1], _mm_mul_ps(a[2], b[2])))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn normalize(v: Columns3) -> Columns3 {
    let scale = reciprocal_sqrt(dot3(v, v));
    [_mm_mul_ps(v[0], scale), _mm_mul_ps(v[1], scale), _mm_mul_ps(v[2], scale)]
}

/// The machine's estimate, and one step of Newton's.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn reciprocal_sqrt(x: __m128) -> __m128 {
    let y = _mm_rsqrt_ps(x);
    let half = _mm_mul_ps(_mm_mul_ps(x, y), splat(0.5));
    _mm_mul_ps(y, _mm_fnmadd_ps(half, y, splat(1.5)))
}
