//! Vertices in registers: a row has the components of a vertex in each quarter, a column one component of all vertices.

use super::simd::Simd;
use crate::plain::vertex::{Vec4, Vertex};
use std::arch::x86_64::{__m128, _mm_storeu_ps};

/// x, y and z of all vertices.
pub type Columns3<S> = [<S as Simd>::F; 3];

/// Bytes of a quarter `at` so many bytes into a vertex.
#[inline(always)]
fn quarter(group: &[u8], vertex: usize, at: usize) -> &[u8; 16] {
    group[vertex * Vertex::BYTES + at..].first_chunk().expect("rows end in their vertex")
}

/// The 16 bytes of every fourth vertex, from one of the first four on, that begin `at` so many bytes into it.
#[inline(always)]
pub fn rows<S: Simd>(group: &[u8], first: usize, at: usize) -> S::F {
    // Those that it does not have begin again.
    S::join([
        quarter(group, first, at),
        quarter(group, (4 + first) % S::LANES, at),
        quarter(group, (8 + first) % S::LANES, at),
        quarter(group, (12 + first) % S::LANES, at),
    ])
}

/// The 16 bytes of each vertex that begin `at` so many bytes into it, as columns.
#[inline(always)]
pub fn columns<S: Simd>(group: &[u8], at: usize) -> [S::F; 4] {
    S::transpose([rows::<S>(group, 0, at), rows::<S>(group, 1, at), rows::<S>(group, 2, at), rows::<S>(group, 3, at)])
}

/// Stores rows `at` so many bytes into the outputs of every fourth vertex, from one of the first four on.
#[inline(always)]
pub fn store_rows<S: Simd>(rows: S::F, outputs: &mut [u8], stride: usize, first: usize, at: usize) {
    let quarters = S::split(rows);
    for number in 0..S::LANES / 4 {
        store(quarters[number], &mut outputs[(4 * number + first) * stride + at..]);
    }
}

#[inline(always)]
fn store(row: __m128, bytes: &mut [u8]) {
    let bytes = bytes.first_chunk_mut::<16>().expect("outputs have room for their rows");
    // SAFETY: these are 16 bytes, and the instruction does not ask for alignment.
    unsafe { _mm_storeu_ps(bytes.as_mut_ptr().cast(), row) }
}

/// Stores columns as the rows of all vertices.
#[inline(always)]
pub fn store_columns<S: Simd>(columns: [S::F; 4], outputs: &mut [u8], stride: usize, at: usize) {
    for (first, rows) in S::transpose(columns).into_iter().enumerate() {
        store_rows::<S>(rows, outputs, stride, first, at);
    }
}

/// The words of each vertex that begin `at` so many bytes into it.
#[inline(always)]
pub fn words<S: Simd>(group: &[u8], at: usize) -> S::I {
    let mut words = [[0; 16]; 4];
    let all = words.as_flattened_mut().as_chunks_mut::<4>().0;
    for (vertex, to) in all.iter_mut().enumerate().take(S::LANES) {
        *to = *group[vertex * Vertex::BYTES + at..].first_chunk().expect("words end in their vertex");
    }
    S::bits(S::join([&words[0], &words[1], &words[2], &words[3]]))
}

/// Four rows, each number in a register of its own.
pub struct Matrix<S: Simd>([[S::F; 4]; 4]);

impl<S: Simd> Matrix<S> {
    #[inline(always)]
    pub fn new(rows: &[Vec4; 4]) -> Matrix<S> {
        Matrix(rows.map(|row| row.map(S::splat)))
    }

    /// The point in clip space, as columns.
    #[inline(always)]
    pub fn transform(&self, p: Columns3<S>) -> [S::F; 4] {
        let [x, y, z, w] = &self.0;
        [dot_point::<S>(x, p), dot_point::<S>(y, p), dot_point::<S>(z, p), dot_point::<S>(w, p)]
    }
}

/// A row of a matrix times points: its fourth component counts as 1.
#[inline(always)]
pub fn dot_point<S: Simd>(row: &[S::F; 4], [x, y, z]: Columns3<S>) -> S::F {
    S::fma(row[0], x, S::fma(row[1], y, S::fma(row[2], z, row[3])))
}

/// A row of a matrix times directions: their fourth component counts as 0.
#[inline(always)]
pub fn dot_direction<S: Simd>(row: &[S::F; 4], d: Columns3<S>) -> S::F {
    dot3::<S>([row[0], row[1], row[2]], d)
}

#[inline(always)]
pub fn dot3<S: Simd>(a: Columns3<S>, b: Columns3<S>) -> S::F {
    S::fma(a[0], b[0], S::fma(a[1], b[1], S::mul(a[2], b[2])))
}

/// With the machine's estimate of the root, and one step of Newton's.
#[inline(always)]
pub fn normalize<S: Simd>(v: Columns3<S>) -> Columns3<S> {
    let square = dot3::<S>(v, v);
    let y = S::reciprocal_sqrt(square);
    let half = S::mul(S::mul(square, y), S::splat(0.5));
    let scale = S::mul(y, S::fnma(half, y, S::splat(1.5)));
    [S::mul(v[0], scale), S::mul(v[1], scale), S::mul(v[2], scale)]
}
