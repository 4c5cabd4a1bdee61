//! K2.

use super::math::pow;
use super::vector::{
    Columns3, Matrix, columns, dot_direction, dot_point, dot3, load_row, normalize, splat, store, transpose,
};
use super::{Group, LANES};
use crate::plain::vertex::{Uniforms, Vertex};
use std::arch::x86_64::*;

/// Clip position, normal and u, colour and v.
pub const STRIDE: usize = 48;

/// Where weights and bones are in a vertex, four bytes each.
const WEIGHTS: usize = 32;
const BONES: usize = 36;

#[target_feature(enable = "avx2,fma")]
pub fn shade(u: &Uniforms, groups: &[Group], outputs: &mut [u8]) {
    let matrix = Matrix::new(&u.mvp);
    let [lx, ly, lz, shininess] = u.light.map(splat);
    let [ex, ey, ez, _] = u.eye.map(splat);
    let [red, green, blue, strength] = u.light_color.map(splat);
    let outputs = outputs.as_chunks_mut::<{ LANES * STRIDE }>().0;
    for (group, outputs) in groups.iter().zip(outputs) {
        let [x, y, z, nx] = columns(group, 0);
        let [ny, nz, s, t] = columns(group, 16);
        let (p, n) = skin(u, group, [x, y, z], [nx, ny, nz]);
        let n = normalize(n);

        let eye = normalize([_mm_sub_ps(ex, p[0]), _mm_sub_ps(ey, p[1]), _mm_sub_ps(ez, p[2])]);
        let half = normalize([_mm_add_ps(lx, eye[0]), _mm_add_ps(ly, eye[1]), _mm_add_ps(lz, eye[2])]);
        let diffuse = _mm_max_ps(dot3(n, [lx, ly, lz]), splat(0.0));
        let specular = pow(_mm_max_ps(dot3(n, half), splat(1e-4)), shininess);
        let specular = _mm_mul_ps(strength, specular);
        let r = _mm_fmadd_ps(red, diffuse, specular);
        let g = _mm_fmadd_ps(green, diffuse, specular);
        let b = _mm_fmadd_ps(blue, diffuse, specular);

        let clip = matrix.transform(p);
        let normals = transpose([n[0], n[1], n[2], s]);
        let colours = transpose([r, g, b, t]);
        for lane in 0..LANES {
            store(clip[lane], outputs, lane * STRIDE);
            store(normals[lane], outputs, lane * STRIDE + 16);
            store(colours[lane], outputs, lane * STRIDE + 32);
        }
    }
}

/// Positions and normals by the weighted sum of four bones, which each vertex has for itself: their rows come as rows.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn skin(u: &Uniforms, group: &Group, p: Columns3, n: Columns3) -> (Columns3, Columns3) {
    let packed = _mm_setr_epi32(dword(group, 0), dword(group, 1), dword(group, 2), dword(group, 3));
    let byte = _mm_set1_epi32(255);
    let weights = [
        weight(_mm_and_si128(packed, byte)),
        weight(_mm_and_si128(_mm_srli_epi32::<8>(packed), byte)),
        weight(_mm_and_si128(_mm_srli_epi32::<16>(packed), byte)),
        weight(_mm_srli_epi32::<24>(packed)),
    ];
    let mut matrix = [[splat(0.0); 4]; 3];
    for (bone, &weight) in weights.iter().enumerate() {
        // A number past the last bone wraps.
        let bone = |lane: usize| &u.bones[usize::from(group[lane * Vertex::BYTES + BONES + bone]) % 64];
        let bones = [bone(0), bone(1), bone(2), bone(3)];
        for (row, sums) in matrix.iter_mut().enumerate() {
            let [a, b, c, d] = bones;
            let columns = transpose([load_row(&a[row]), load_row(&b[row]), load_row(&c[row]), load_row(&d[row])]);
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = _mm_fmadd_ps(weight, column, *sum);
            }
        }
    }
    let [x, y, z] = &matrix;
    (
        [dot_point(x, p), dot_point(y, p), dot_point(z, p)],
        [dot_direction(x, n), dot_direction(y, n), dot_direction(z, n)],
    )
}

/// The weights of a vertex.
#[inline]
fn dword(group: &Group, lane: usize) -> i32 {
    let bytes = group[lane * Vertex::BYTES + WEIGHTS..].first_chunk().expect("weights end in their vertex");
    i32::from_le_bytes(*bytes)
}

/// 255 is 1.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn weight(byte: __m128i) -> __m128 {
    _mm_mul_ps(_mm_cvtepi32_ps(byte), splat(1.0 / 255.0))
}
