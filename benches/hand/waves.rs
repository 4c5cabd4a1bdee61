//! K4.

use super::math::{pow, sin_cos};
use super::simd::Simd;
use super::vector::{Matrix, columns, normalize, store_columns};
use crate::plain::vertex::{Uniforms, Vertex};

/// Clip position, normal and foam.
pub const STRIDE: usize = 32;

/// What a wave contributes, in products of uniforms.
struct Wave<S: Simd> {
    /// The phase's factors of x and z, and what the time adds.
    phase: [S::F; 3],
    height: S::F,
    falloff: S::F,
    /// Of the base of its power.
    exponent: S::F,
    /// Displacement along x and z by the cosine, each times the amplitude.
    reach: [S::F; 2],
    /// What the normal loses along x and z by the cosine, and along y by the sine, each times the amplitude.
    slope: [S::F; 3],
    frequency: S::F,
}

impl<S: Simd> Wave<S> {
    #[inline(always)]
    fn all(u: &Uniforms) -> [Wave<S>; 8] {
        std::array::from_fn(|n| {
            let [dx, dz, frequency, speed] = u.wave_shape[n];
            let [height, steepness, falloff, exponent] = u.wave_height[n];
            Wave {
                phase: [dx * frequency, dz * frequency, u.time[0] * speed].map(S::splat),
                height: S::splat(height),
                falloff: S::splat(falloff),
                exponent: S::splat(-exponent),
                reach: [steepness * dx, steepness * dz].map(S::splat),
                slope: [frequency * dx, steepness * frequency, frequency * dz].map(S::splat),
                frequency: S::splat(frequency),
            }
        })
    }
}

#[inline(always)]
pub fn shade<S: Simd>(u: &Uniforms, vertices: &[u8], outputs: &mut [u8]) {
    let matrix = Matrix::<S>::new(&u.mvp);
    let waves = Wave::<S>::all(u);
    let outputs = outputs.chunks_exact_mut(S::LANES * STRIDE);
    for (group, outputs) in vertices.chunks_exact(S::LANES * Vertex::BYTES).zip(outputs) {
        let [x, y, z, _] = columns::<S>(group, 0);
        let distance = S::fma(x, x, S::mul(z, z));
        let mut p = [x, y, z];
        let mut n = [S::splat(0.0), S::splat(1.0), S::splat(0.0)];
        let mut foam = S::splat(0.0);
        for wave in &waves {
            let phase = S::fma(x, wave.phase[0], S::fma(z, wave.phase[1], wave.phase[2]));
            let (sin, cos) = sin_cos::<S>(phase);
            let base = S::fma(distance, wave.falloff, S::splat(1.0));
            let amplitude = S::mul(wave.height, pow::<S>(base, wave.exponent));
            let (sin, cos) = (S::mul(amplitude, sin), S::mul(amplitude, cos));
            p[0] = S::fma(wave.reach[0], cos, p[0]);
            p[1] = S::add(p[1], sin);
            p[2] = S::fma(wave.reach[1], cos, p[2]);
            n[0] = S::fnma(wave.slope[0], cos, n[0]);
            n[1] = S::fnma(wave.slope[1], sin, n[1]);
            n[2] = S::fnma(wave.slope[2], cos, n[2]);
            foam = S::fma(wave.frequency, sin, foam);
        }
        store_columns::<S>(matrix.transform(p), outputs, STRIDE, 0);
        let n = normalize::<S>(n);
        store_columns::<S>([n[0], n[1], n[2], foam], outputs, STRIDE, 16);
    }
}
