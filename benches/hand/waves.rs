//! K4.

use super::math::{pow, sin_cos};
use super::vector::{Matrix, columns, normalize, splat, store, transpose};
use super::{Group, LANES};
use crate::plain::vertex::Uniforms;
use std::arch::x86_64::*;

/// Clip position, normal and foam.
pub const STRIDE: usize = 32;

/// What a wave contributes, in products of uniforms.
struct Wave {
    /// The phase's factors of x and z, and what the time adds.
    phase: [__m128; 3],
    height: __m128,
    falloff: __m128,
    /// Of the base of its power.
    exponent: __m128,
    /// Displacement along x and z by the cosine, each times the amplitude.
    reach: [__m128; 2],
    /// What the normal loses along x and z by the cosine, and along y by the sine, each times the amplitude.
    slope: [__m128; 3],
    frequency: __m128,
}

impl Wave {
    fn all(u: &Uniforms) -> [Wave; 8] {
        std::array::from_fn(|n| {
            let [dx, dz, frequency, speed] = u.wave_shape[n];
            let [height, steepness, falloff, exponent] = u.wave_height[n];
            Wave {
                phase: [dx * frequency, dz * frequency, u.time[0] * speed].map(splat),
                height: splat(height),
                falloff: splat(falloff),
                exponent: splat(-exponent),
                reach: [steepness * dx, steepness * dz].map(splat),
                slope: [frequency * dx, steepness * frequency, frequency * dz].map(splat),
                frequency: splat(frequency),
            }
        })
    }
}

#[target_feature(enable = "avx2,fma")]
pub fn shade(u: &Uniforms, groups: &[Group], outputs: &mut [u8]) {
    let matrix = Matrix::new(&u.mvp);
    let waves = Wave::all(u);
    let outputs = outputs.as_chunks_mut::<{ LANES * STRIDE }>().0;
    for (group, outputs) in groups.iter().zip(outputs) {
        let [x, y, z, _] = columns(group, 0);
        let distance = _mm_fmadd_ps(x, x, _mm_mul_ps(z, z));
        let mut p = [x, y, z];
        let mut n = [splat(0.0), splat(1.0), splat(0.0)];
        let mut foam = splat(0.0);
        for wave in &waves {
            let phase = _mm_fmadd_ps(x, wave.phase[0], _mm_fmadd_ps(z, wave.phase[1], wave.phase[2]));
            let (sin, cos) = sin_cos(phase);
            let base = _mm_fmadd_ps(distance, wave.falloff, splat(1.0));
            let amplitude = _mm_mul_ps(wave.height, pow(base, wave.exponent));
            let (sin, cos) = (_mm_mul_ps(amplitude, sin), _mm_mul_ps(amplitude, cos));
            p[0] = _mm_fmadd_ps(wave.reach[0], cos, p[0]);
            p[1] = _mm_add_ps(p[1], sin);
            p[2] = _mm_fmadd_ps(wave.reach[1], cos, p[2]);
            n[0] = _mm_fnmadd_ps(wave.slope[0], cos, n[0]);
            n[1] = _mm_fnmadd_ps(wave.slope[1], sin, n[1]);
            n[2] = _mm_fnmadd_ps(wave.slope[2], cos, n[2]);
            foam = _mm_fmadd_ps(wave.frequency, sin, foam);
        }
        let clip = matrix.transform(p);
        let n = normalize(n);
        let normals = transpose([n[0], n[1], n[2], foam]);
        for lane in 0..LANES {
            store(clip[lane], outputs, lane * STRIDE);
            store(normals[lane], outputs, lane * STRIDE + 16);
        }
    }
}
