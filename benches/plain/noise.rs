//! Gradient noise over a hashed lattice, for K3.

use super::vertex::{Vec3, dot3};

/// Hash of a lattice point.
fn hash(x: u32, y: u32, z: u32) -> u32 {
    let mut h = x.wrapping_mul(0x8da6_b343) ^ y.wrapping_mul(0xd816_3841) ^ z.wrapping_mul(0xcb1a_b31f);
    h ^= h >> 15;
    h = h.wrapping_mul(0x2c1b_3c6d);
    h ^= h >> 12;
    h = h.wrapping_mul(0x297a_2d39);
    h ^ (h >> 15)
}

/// The gradient that a hash stands for, times the way from its lattice point.
fn slope(hash: u32, d: Vec3) -> f32 {
    // As signed numbers: they fit, and the conversion is one instruction.
    let gradient = [hash, hash >> 10, hash >> 20].map(|bits| (bits & 1023) as i32 as f32 * (2.0 / 1023.0) - 1.0);
    dot3(gradient, d)
}

fn mix(a: f32, b: f32, t: f32) -> f32 {
    a + t * (b - a)
}

/// Rounds down. All x86-64 machines of the last fifteen years have an instruction for it, but a program built for any
/// of them calls the C library; this is a quarter faster.
fn floor(x: f32) -> i32 {
    if cfg!(all(target_arch = "x86_64", not(target_feature = "sse4.1"))) {
        let truncated = x as i32;
        truncated - i32::from(x < truncated as f32)
    } else {
        x.floor() as i32
    }
}

/// Noise at a point.
pub fn gradient_noise(p: Vec3) -> f32 {
    let cell = p.map(floor);
    let [x, y, z] = cell.map(|c| c as u32);
    let [tx, ty, tz] = [p[0] - cell[0] as f32, p[1] - cell[1] as f32, p[2] - cell[2] as f32];
    let [sx, sy, sz] = [tx, ty, tz].map(|t| t * t * t * (t * (t * 6.0 - 15.0) + 10.0));
    let (x1, y1, z1) = (x.wrapping_add(1), y.wrapping_add(1), z.wrapping_add(1));
    let edge = |y, z, ty, tz| {
        let near = slope(hash(x, y, z), [tx, ty, tz]);
        let far = slope(hash(x1, y, z), [tx - 1.0, ty, tz]);
        mix(near, far, sx)
    };
    let front = mix(edge(y, z, ty, tz), edge(y1, z, ty - 1.0, tz), sy);
    let back = mix(edge(y, z1, ty, tz - 1.0), edge(y1, z1, ty - 1.0, tz - 1.0), sy);
    mix(front, back, sz)
}
