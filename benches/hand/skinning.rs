//! K2.

use super::math::pow;
use super::simd::Simd;
use super::vector::{Columns3, Matrix, columns, dot_direction, dot_point, dot3, normalize, store_columns, words};
use crate::plain::vertex::{Uniforms, Vec4, Vertex};

/// Clip position, normal and u, colour and v.
pub const STRIDE: usize = 48;

/// Where weights and bones are in a vertex, four bytes each.
const WEIGHTS: usize = 32;
const BONES: usize = 36;

#[inline(always)]
pub fn shade<S: Simd>(u: &Uniforms, vertices: &[u8], outputs: &mut [u8]) {
    let matrix = Matrix::<S>::new(&u.mvp);
    let [lx, ly, lz, shininess] = u.light.map(S::splat);
    let [ex, ey, ez, _] = u.eye.map(S::splat);
    let [red, green, blue, strength] = u.light_color.map(S::splat);
    let outputs = outputs.chunks_exact_mut(S::LANES * STRIDE);
    for (group, outputs) in vertices.chunks_exact(S::LANES * Vertex::BYTES).zip(outputs) {
        let [x, y, z, nx] = columns::<S>(group, 0);
        let [ny, nz, s, t] = columns::<S>(group, 16);
        let (p, n) = skin::<S>(u, group, [x, y, z], [nx, ny, nz]);
        let n = normalize::<S>(n);

        let eye = normalize::<S>([S::sub(ex, p[0]), S::sub(ey, p[1]), S::sub(ez, p[2])]);
        let half = normalize::<S>([S::add(lx, eye[0]), S::add(ly, eye[1]), S::add(lz, eye[2])]);
        let diffuse = S::max(dot3::<S>(n, [lx, ly, lz]), S::splat(0.0));
        let specular = pow::<S>(S::max(dot3::<S>(n, half), S::splat(1e-4)), shininess);
        let specular = S::mul(strength, specular);
        let r = S::fma(red, diffuse, specular);
        let g = S::fma(green, diffuse, specular);
        let b = S::fma(blue, diffuse, specular);

        store_columns::<S>(matrix.transform(p), outputs, STRIDE, 0);
        store_columns::<S>([n[0], n[1], n[2], s], outputs, STRIDE, 16);
        store_columns::<S>([r, g, b, t], outputs, STRIDE, 32);
    }
}

/// Positions and normals by the weighted sum of four bones, which each vertex has for itself: the rows of their
/// matrices are summed as rows, a vertex a quarter, and become columns behind that.
#[inline(always)]
fn skin<S: Simd>(u: &Uniforms, group: &[u8], p: Columns3<S>, n: Columns3<S>) -> (Columns3<S>, Columns3<S>) {
    let packed = words::<S>(group, WEIGHTS);
    let mut sums = [[S::splat(0.0); 4]; 3];
    for bone in 0..4 {
        // 255 is 1.
        let byte = S::and(S::shr(packed, 8 * bone as i32), S::ints(255));
        let weights = S::mul(S::convert(byte), S::splat(1.0 / 255.0));
        for first in 0..4 {
            let weight = S::lane_of_quarters(weights, first);
            let bones = [
                matrix_of(u, group, first, bone),
                matrix_of(u, group, (4 + first) % S::LANES, bone),
                matrix_of(u, group, (8 + first) % S::LANES, bone),
                matrix_of(u, group, (12 + first) % S::LANES, bone),
            ];
            for (row, sums) in sums.iter_mut().enumerate() {
                let [a, b, c, d] = bones;
                let rows = S::join([bytes(&a[row]), bytes(&b[row]), bytes(&c[row]), bytes(&d[row])]);
                sums[first] = S::fma(weight, rows, sums[first]);
            }
        }
    }
    let (x, y, z) = (S::transpose(sums[0]), S::transpose(sums[1]), S::transpose(sums[2]));
    (
        [dot_point::<S>(&x, p), dot_point::<S>(&y, p), dot_point::<S>(&z, p)],
        [dot_direction::<S>(&x, n), dot_direction::<S>(&y, n), dot_direction::<S>(&z, n)],
    )
}

/// The matrix of one of a vertex's bones. A number past the last bone wraps.
#[inline(always)]
fn matrix_of<'a>(u: &'a Uniforms, group: &[u8], vertex: usize, bone: usize) -> &'a [Vec4; 3] {
    &u.bones[usize::from(group[vertex * Vertex::BYTES + BONES + bone]) % 64]
}

/// The bytes of a row.
#[inline(always)]
fn bytes(row: &Vec4) -> &[u8; 16] {
    // SAFETY: four floats are 16 bytes, and bytes need no alignment.
    unsafe { &*std::ptr::from_ref(row).cast() }
}
