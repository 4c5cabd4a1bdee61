//! Geometry and domain shaders written in plain Rust, one invocation after the other.

use shaderjit::tessellator::{Factors, Tessellation, Tessellator};

/// `view` by rows, then `size`.
pub const QUAD_CONSTANTS: [f32; 20] =
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.8, 0.6, 0.0, 0.0, -0.6, 0.8, 0.0, 0.1, 0.2, 0.3, 1.0, 0.25, 0.125, 0.0, 0.0];

/// The vertices of each point's quad: position, texture coordinate, kind.
pub fn quads(points: &[f32], constants: &[f32; 20], out: &mut Vec<f32>) {
    out.clear();
    let [row0, row1, row2, row3] = [0, 4, 8, 12].map(|row| &constants[row..row + 4]);
    let size = [constants[16], constants[17]];
    for (id, point) in points.as_chunks::<4>().0.iter().enumerate() {
        let centre: [f32; 3] =
            std::array::from_fn(|n| point[0] * row0[n] + point[1] * row1[n] + point[2] * row2[n] + row3[n]);
        let (sin, cos) = (point[3] * 3.0).sin_cos();
        for corner in 0..4u32 {
            let q = [if corner & 1 != 0 { 1.0 } else { -1.0 }, if corner & 2 != 0 { 1.0 } else { -1.0 }];
            let offset = [q[0] * cos - q[1] * sin, q[0] * sin + q[1] * cos];
            out.extend([
                centre[0] + offset[0] * size[0],
                centre[1] + offset[1] * size[1],
                centre[2],
                1.0,
                q[0] * 0.5 + 0.5,
                q[1] * 0.5 + 0.5,
                f32::from_bits(id as u32 * 4 + corner),
            ]);
        }
    }
}

/// A matrix, column by column.
pub const GRASS_COLUMNS: [[f32; 4]; 4] =
    [[1.2, 0.0, 0.1, 0.1], [0.0, 1.9, 0.3, 0.3], [-0.1, -0.2, 1.0, 0.96], [0.2, 0.4, 2.6, 2.9]];
/// Direction over the ground, strength, time.
pub const GRASS_WIND: [f32; 4] = [0.8, 0.6, 0.25, 1.7];

type Vec3 = [f32; 3];

fn sum(terms: &[(f32, Vec3)]) -> Vec3 {
    std::array::from_fn(|n| terms.iter().map(|(weight, vector)| weight * vector[n]).sum())
}

fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - b[1] * a[2], a[2] * b[0] - b[2] * a[0], a[0] * b[1] - b[0] * a[1]]
}

/// The vertices of each point's blade of grass: position, normal, texture coordinate.
pub fn grass(roots: &[f32], out: &mut Vec<f32>) {
    out.clear();
    let [wind_x, wind_z, strength, time] = GRASS_WIND;
    for &[x, y, z, own] in roots.as_chunks::<4>().0 {
        let (sin, cos) = (own * std::f32::consts::TAU).sin_cos();
        let fraction = |value: f32| value - value.floor();
        let height = 0.6 + 0.4 * fraction(own * 7.0);
        let gust = (x * wind_x + z * wind_z + time).sin() + 0.5 * (2.3 * time + own * 11.0).sin();
        let sway = strength * gust;
        let bend = [cos * (0.3 * height) + wind_x * sway, sin * (0.3 * height) + wind_z * sway];
        let first = [x, y, z];
        let second = [x, y + 0.7 * height, z];
        let rise = height / (1.0 + bend[0] * bend[0] + bend[1] * bend[1]).sqrt();
        let third = [x + bend[0], y + rise, z + bend[1]];
        let side = [-sin, 0.0, cos];
        let width = 0.03 + 0.02 * fraction(own * 3.0);
        let phase = 3.1 * time - own * 5.0;
        let wave = [0.3 * strength * wind_x, 0.3 * strength * wind_z];
        let places = [(0.0, -1.0), (0.0, 1.0), (0.33, -1.0), (0.33, 1.0), (0.67, -1.0), (0.67, 1.0), (1.0, 0.0f32)];
        for (t, across) in places {
            let s = 1.0 - t;
            let mut at = sum(&[(s * s, first), (2.0 * s * t, second), (t * t, third), (width * s * across, side)]);
            let mut along = sum(&[(-2.0 * s, first), (2.0 * s - 2.0 * t, second), (2.0 * t, third)]);
            let (sin, cos) = (phase + 4.0 * t).sin_cos();
            for (n, wave) in [0, 2].into_iter().zip(wave) {
                at[n] += wave * (t * t * sin);
                along[n] += wave * (2.0 * t * sin + 4.0 * t * t * cos);
            }
            let normal = sum(&[(1.0, cross(along, side)), (0.4 * across, side)]);
            let length = 1.0 / dot(normal, normal).sqrt();
            let [c0, c1, c2, c3] = &GRASS_COLUMNS;
            out.extend::<[f32; 4]>(std::array::from_fn(|n| at[0] * c0[n] + at[1] * c1[n] + at[2] * c2[n] + c3[n]));
            out.extend(normal.map(|part| part * length));
            out.extend([0.5 + 0.5 * across, t]);
        }
    }
}

/// Position, normal and location of each point of bicubic patches of 16 control points of four floats.
pub fn bezier(control_points: &[f32], tessellator: &Tessellator, factors: &Factors, out: &mut Vec<f32>) {
    out.clear();
    // All patches are divided alike.
    let mut tessellation = Tessellation::default();
    tessellator.tessellate(factors, &mut tessellation);
    for patch in control_points.as_chunks::<64>().0 {
        for &[u, v, _] in &tessellation.points {
            let basis = |t: f32| {
                let m = 1.0 - t;
                [m * m * m, 3.0 * m * m * t, 3.0 * m * t * t, t * t * t]
            };
            let derivative = |t: f32| {
                let m = 1.0 - t;
                [-3.0 * m * m, 3.0 * m * (m - 2.0 * t), 3.0 * t * (2.0 * m - t), 3.0 * t * t]
            };
            let (bu, bv, du, dv) = (basis(u), basis(v), derivative(u), derivative(v));
            let (mut p, mut tu, mut tv) = ([0.0f32; 3], [0.0f32; 3], [0.0f32; 3]);
            for y in 0..4 {
                for x in 0..4 {
                    let q = &patch[4 * (4 * y + x)..];
                    for n in 0..3 {
                        p[n] += q[n] * bu[x] * bv[y];
                        tu[n] += q[n] * du[x] * bv[y];
                        tv[n] += q[n] * bu[x] * dv[y];
                    }
                }
            }
            let normal = [tu[1] * tv[2] - tu[2] * tv[1], tu[2] * tv[0] - tu[0] * tv[2], tu[0] * tv[1] - tu[1] * tv[0]];
            out.extend([p[0], p[1], p[2], 1.0, normal[0], normal[1], normal[2], u, v]);
        }
    }
}

/// Where point `number` of an edge lies, by the specification's formula (11.7.5): between the coarser and the finer
/// division, in fixed point with 16 bits of fraction.
fn place(factor: f32, odd: bool, number: u32, points: u32) -> f32 {
    let fixed = (factor * 65536.0).round_ties_even() as u32;
    let half = fixed.div_ceil(2) + if odd { 0x8000 } else { 0 };
    let (floor, ceil) = (half >> 16, half.div_ceil(0x10000));
    let mirrored = points - 1 - number;
    if !odd && number == mirrored {
        return 0.5;
    }
    let near = number.min(mirrored);
    let without_highest = |n: u32| n - (1 << n.ilog2());
    let split = match floor {
        _ if floor == ceil => ceil + 1,
        1 if odd => 0,
        _ => 2 * without_highest(floor - u32::from(odd)) + 1,
    };
    let reciprocal = |segments: u32| (0x10000 + segments / 2) / segments;
    let coarse = (near - u32::from(near > split)) * reciprocal(2 * floor - u32::from(odd));
    let fine = near * reciprocal(2 * ceil - u32::from(odd));
    let fraction = half & 0xffff;
    let place = (coarse * (0x10000 - fraction) + fine * fraction + 0x8000) >> 16;
    (if near == number { place } else { 0x10000 - place }) as f32 / 65536.0
}

/// The points of a quad with one factor everywhere, row by row.
pub fn quad_points(factor: f32, odd: bool, out: &mut Vec<[f32; 2]>) {
    out.clear();
    let segments = if odd { 2 * ((factor - 1.0) / 2.0).ceil() as u32 + 1 } else { factor.ceil() as u32 };
    let points = segments + 1;
    for v in 0..points {
        for u in 0..points {
            out.push([place(factor, odd, u, points), place(factor, odd, v, points)]);
        }
    }
}
