//! K3.

use super::vector::{Columns3, Matrix, columns, dot3, splat, store, transpose};
use super::{Group, LANES};
use crate::plain::vertex::Uniforms;
use std::arch::x86_64::*;

/// Clip position, position and displacement.
pub const STRIDE: usize = 32;

#[target_feature(enable = "avx2,fma")]
pub fn shade(u: &Uniforms, groups: &[Group], outputs: &mut [u8]) {
    let matrix = Matrix::new(&u.mvp);
    let [frequency, amplitude, lacunarity, gain] = u.noise.map(splat);
    let outputs = outputs.as_chunks_mut::<{ LANES * STRIDE }>().0;
    for (group, outputs) in groups.iter().zip(outputs) {
        let [px, py, pz, nx] = columns(group, 0);
        let [ny, nz, s, _] = columns(group, 16);
        // Octaves beyond the first; it is below 0 in lanes that have finished.
        let mut left = _mm_cvttps_epi32(_mm_mul_ps(s, splat(4.999)));
        let mut q = [_mm_mul_ps(px, frequency), _mm_mul_ps(py, frequency), _mm_mul_ps(pz, frequency)];
        let (mut amplitude, mut sum) = (amplitude, splat(0.0));
        loop {
            let finished = _mm_castsi128_ps(left);
            if _mm_movemask_ps(finished) == 0b1111 {
                break;
            }
            // Whatever comes out in lanes that have finished is not added.
            let n = shape(gradient_noise(q));
            sum = _mm_blendv_ps(_mm_fmadd_ps(amplitude, n, sum), sum, finished);
            amplitude = _mm_mul_ps(amplitude, gain);
            q = [
                _mm_fmadd_ps(q[0], lacunarity, splat(1.7)),
                _mm_fmadd_ps(q[1], lacunarity, splat(9.2)),
                _mm_fmadd_ps(q[2], lacunarity, splat(3.1)),
            ];
            left = _mm_sub_epi32(left, _mm_set1_epi32(1));
        }
        let p = [_mm_fmadd_ps(nx, sum, px), _mm_fmadd_ps(ny, sum, py), _mm_fmadd_ps(nz, sum, pz)];
        let clip = matrix.transform(p);
        let displaced = transpose([p[0], p[1], p[2], sum]);
        for lane in 0..LANES {
            store(clip[lane], outputs, lane * STRIDE);
            store(displaced[lane], outputs, lane * STRIDE + 16);
        }
    }
}

/// Another curve below 0 than above. Both are short enough to compute.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn shape(n: __m128) -> __m128 {
    let below = _mm_mul_ps(n, _mm_mul_ps(n, _mm_fmadd_ps(splat(2.0), n, splat(3.0))));
    let above = _mm_mul_ps(n, _mm_fmadd_ps(splat(0.5), n, splat(1.0)));
    _mm_blendv_ps(above, below, n)
}

/// The factors of a lattice point's coordinates in its hash.
const FACTORS: [i32; 3] = [0x8da6_b343_u32 as i32, 0xd816_3841_u32 as i32, 0xcb1a_b31f_u32 as i32];

/// What is left of a hash when the coordinates are mixed.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn finish(h: __m128i) -> __m128i {
    let h = _mm_xor_si128(h, _mm_srli_epi32::<15>(h));
    let h = _mm_mullo_epi32(h, _mm_set1_epi32(0x2c1b_3c6d));
    let h = _mm_xor_si128(h, _mm_srli_epi32::<12>(h));
    let h = _mm_mullo_epi32(h, _mm_set1_epi32(0x297a_2d39));
    _mm_xor_si128(h, _mm_srli_epi32::<15>(h))
}

/// The gradient that ten bits of a hash stand for.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn gradient(bits: __m128i) -> __m128 {
    let bits = _mm_cvtepi32_ps(_mm_and_si128(bits, _mm_set1_epi32(1023)));
    _mm_fmadd_ps(bits, splat(2.0 / 1023.0), splat(-1.0))
}

/// The gradient at a lattice point times the way from there.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn slope(mixed: __m128i, d: Columns3) -> __m128 {
    let h = finish(mixed);
    dot3([gradient(h), gradient(_mm_srli_epi32::<10>(h)), gradient(_mm_srli_epi32::<20>(h))], d)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn mix(a: __m128, b: __m128, t: __m128) -> __m128 {
    _mm_fmadd_ps(t, _mm_sub_ps(b, a), a)
}

/// A coordinate: the hash's share of both its lattice points, the way from both, and how much the second counts.
struct Axis {
    hashes: [__m128i; 2],
    ways: [__m128; 2],
    share: __m128,
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn axis(q: __m128, factor: i32) -> Axis {
    let cell = _mm_floor_ps(q);
    let t = _mm_sub_ps(q, cell);
    let factor = _mm_set1_epi32(factor);
    let hash = _mm_mullo_epi32(_mm_cvttps_epi32(cell), factor);
    let share = _mm_fmadd_ps(t, _mm_fmadd_ps(t, splat(6.0), splat(-15.0)), splat(10.0));
    let share = _mm_mul_ps(_mm_mul_ps(t, t), _mm_mul_ps(t, share));
    Axis { hashes: [hash, _mm_add_epi32(hash, factor)], ways: [t, _mm_sub_ps(t, splat(1.0))], share }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn gradient_noise(q: Columns3) -> __m128 {
    let (x, y, z) = (axis(q[0], FACTORS[0]), axis(q[1], FACTORS[1]), axis(q[2], FACTORS[2]));
    let (front, back) = (face(&x, &y, &z, 0), face(&x, &y, &z, 1));
    mix(front, back, z.share)
}

/// The noise of the four lattice points with one of both z.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn face(x: &Axis, y: &Axis, z: &Axis, k: usize) -> __m128 {
    mix(edge(x, y, z, 0, k), edge(x, y, z, 1, k), y.share)
}

/// Of the two with one of both y and z.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn edge(x: &Axis, y: &Axis, z: &Axis, j: usize, k: usize) -> __m128 {
    let yz = _mm_xor_si128(y.hashes[j], z.hashes[k]);
    let near = slope(_mm_xor_si128(x.hashes[0], yz), [x.ways[0], y.ways[j], z.ways[k]]);
    let far = slope(_mm_xor_si128(x.hashes[1], yz), [x.ways[1], y.ways[j], z.ways[k]]);
    mix(near, far, x.share)
}
