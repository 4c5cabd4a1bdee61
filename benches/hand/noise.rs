//! K3.

use super::simd::Simd;
use super::vector::{Columns3, Matrix, columns, dot3, store_columns};
use crate::plain::vertex::{Uniforms, Vertex};

/// Clip position, position and displacement.
pub const STRIDE: usize = 32;

#[inline(always)]
pub fn shade<S: Simd>(u: &Uniforms, vertices: &[u8], outputs: &mut [u8]) {
    let matrix = Matrix::<S>::new(&u.mvp);
    let [frequency, amplitude, lacunarity, gain] = u.noise.map(S::splat);
    let outputs = outputs.chunks_exact_mut(S::LANES * STRIDE);
    for (group, outputs) in vertices.chunks_exact(S::LANES * Vertex::BYTES).zip(outputs) {
        let [px, py, pz, nx] = columns::<S>(group, 0);
        let [ny, nz, s, _] = columns::<S>(group, 16);
        // Octaves beyond the first; it is below 0 in lanes that have finished.
        let mut left = S::truncate(S::mul(s, S::splat(4.999)));
        let mut q = [S::mul(px, frequency), S::mul(py, frequency), S::mul(pz, frequency)];
        let (mut amplitude, mut sum) = (amplitude, S::splat(0.0));
        loop {
            let finished = S::float(left);
            if S::all_negative(finished) {
                break;
            }
            // Whatever comes out in lanes that have finished is not added.
            let n = shape::<S>(gradient_noise::<S>(q));
            sum = S::where_negative(finished, sum, S::fma(amplitude, n, sum));
            amplitude = S::mul(amplitude, gain);
            q = [
                S::fma(q[0], lacunarity, S::splat(1.7)),
                S::fma(q[1], lacunarity, S::splat(9.2)),
                S::fma(q[2], lacunarity, S::splat(3.1)),
            ];
            left = S::isub(left, S::ints(1));
        }
        let p = [S::fma(nx, sum, px), S::fma(ny, sum, py), S::fma(nz, sum, pz)];
        store_columns::<S>(matrix.transform(p), outputs, STRIDE, 0);
        store_columns::<S>([p[0], p[1], p[2], sum], outputs, STRIDE, 16);
    }
}

/// Another curve below 0 than above. Both are short enough to compute.
#[inline(always)]
fn shape<S: Simd>(n: S::F) -> S::F {
    let below = S::mul(n, S::mul(n, S::fma(S::splat(2.0), n, S::splat(3.0))));
    let above = S::mul(n, S::fma(S::splat(0.5), n, S::splat(1.0)));
    S::where_negative(n, below, above)
}

/// The factors of a lattice point's coordinates in its hash.
const FACTORS: [i32; 3] = [0x8da6_b343_u32 as i32, 0xd816_3841_u32 as i32, 0xcb1a_b31f_u32 as i32];

/// What is left of a hash when the coordinates are mixed.
#[inline(always)]
fn finish<S: Simd>(h: S::I) -> S::I {
    let h = S::xor(h, S::shr(h, 15));
    let h = S::imul(h, S::ints(0x2c1b_3c6d));
    let h = S::xor(h, S::shr(h, 12));
    let h = S::imul(h, S::ints(0x297a_2d39));
    S::xor(h, S::shr(h, 15))
}

/// The gradient that ten bits of a hash stand for.
#[inline(always)]
fn gradient<S: Simd>(bits: S::I) -> S::F {
    let bits = S::convert(S::and(bits, S::ints(1023)));
    S::fma(bits, S::splat(2.0 / 1023.0), S::splat(-1.0))
}

/// The gradient at a lattice point times the way from there.
#[inline(always)]
fn slope<S: Simd>(mixed: S::I, d: Columns3<S>) -> S::F {
    let h = finish::<S>(mixed);
    dot3::<S>([gradient::<S>(h), gradient::<S>(S::shr(h, 10)), gradient::<S>(S::shr(h, 20))], d)
}

#[inline(always)]
fn mix<S: Simd>(a: S::F, b: S::F, t: S::F) -> S::F {
    S::fma(t, S::sub(b, a), a)
}

/// A coordinate: the hash's share of both its lattice points, the way from both, and how much the second counts.
struct Axis<S: Simd> {
    hashes: [S::I; 2],
    ways: [S::F; 2],
    share: S::F,
}

#[inline(always)]
fn axis<S: Simd>(q: S::F, factor: i32) -> Axis<S> {
    let cell = S::floor(q);
    let t = S::sub(q, cell);
    let factor = S::ints(factor);
    let hash = S::imul(S::truncate(cell), factor);
    let share = S::fma(t, S::fma(t, S::splat(6.0), S::splat(-15.0)), S::splat(10.0));
    let share = S::mul(S::mul(t, t), S::mul(t, share));
    Axis { hashes: [hash, S::iadd(hash, factor)], ways: [t, S::sub(t, S::splat(1.0))], share }
}

#[inline(always)]
fn gradient_noise<S: Simd>(q: Columns3<S>) -> S::F {
    let (x, y, z) = (axis::<S>(q[0], FACTORS[0]), axis::<S>(q[1], FACTORS[1]), axis::<S>(q[2], FACTORS[2]));
    let (front, back) = (face::<S>(&x, &y, &z, 0), face::<S>(&x, &y, &z, 1));
    mix::<S>(front, back, z.share)
}

/// The noise of the four lattice points with one of both z.
#[inline(always)]
fn face<S: Simd>(x: &Axis<S>, y: &Axis<S>, z: &Axis<S>, k: usize) -> S::F {
    mix::<S>(edge::<S>(x, y, z, 0, k), edge::<S>(x, y, z, 1, k), y.share)
}

/// Of the two with one of both y and z.
#[inline(always)]
fn edge<S: Simd>(x: &Axis<S>, y: &Axis<S>, z: &Axis<S>, j: usize, k: usize) -> S::F {
    let yz = S::xor(y.hashes[j], z.hashes[k]);
    let near = slope::<S>(S::xor(x.hashes[0], yz), [x.ways[0], y.ways[j], z.ways[k]]);
    let far = slope::<S>(S::xor(x.hashes[1], yz), [x.ways[1], y.ways[j], z.ways[k]]);
    mix::<S>(near, far, x.share)
}
