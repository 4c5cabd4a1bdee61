//! K1 to K4, a vertex at a time. The HLSL is in `tests/data/perf`; outputs are packed as in the references there.

use super::noise::gradient_noise;
use super::vertex::{Uniforms, Vec4, Vertex, dot_direction, dot_point, dot3, normalize, transform};

/// Transform: clip position, texture coordinate.
pub fn k1(u: &Uniforms, v: &Vertex) -> [f32; 6] {
    let [x, y, z, w] = transform(&u.mvp, v.position);
    [x, y, z, w, v.uv[0], v.uv[1]]
}

/// Skinning by four bones and two lights: clip position, normal and u, colour and v.
pub fn k2(u: &Uniforms, v: &Vertex) -> [f32; 12] {
    let mut matrix = [[0.0; 4]; 3];
    for (&weight, &bone) in v.weights.iter().zip(&v.bones) {
        let weight = f32::from(weight) * (1.0 / 255.0);
        for (sum, row) in matrix.iter_mut().zip(&u.bones[usize::from(bone)]) {
            for (sum, &x) in sum.iter_mut().zip(row) {
                *sum += weight * x;
            }
        }
    }
    let position = matrix.map(|row| dot_point(row, v.position));
    let normal = normalize(matrix.map(|row| dot_direction(row, v.normal)));

    let [lx, ly, lz, shininess] = u.light;
    let eye = normalize([u.eye[0] - position[0], u.eye[1] - position[1], u.eye[2] - position[2]]);
    let half = normalize([lx + eye[0], ly + eye[1], lz + eye[2]]);
    let diffuse = dot3(normal, [lx, ly, lz]).max(0.0);
    let specular = dot3(normal, half).max(1e-4).powf(shininess);
    let [red, green, blue, strength] = u.light_color;
    let [r, g, b] = [red, green, blue].map(|color| color * diffuse + strength * specular);

    let [x, y, z, w] = transform(&u.mvp, position);
    let [nx, ny, nz] = normal;
    [x, y, z, w, nx, ny, nz, v.uv[0], r, g, b, v.uv[1]]
}

/// Displacement by one to five octaves of noise: clip position, position and displacement.
pub fn k3(u: &Uniforms, v: &Vertex) -> [f32; 8] {
    let [frequency, mut amplitude, lacunarity, gain] = u.noise;
    let octaves = 1 + (v.uv[0] * 4.999) as i32;
    let mut q = v.position.map(|x| x * frequency);
    let mut sum = 0.0;
    for _ in 0..octaves {
        let n = gradient_noise(q);
        let n = if n < 0.0 { n * n * (3.0 + 2.0 * n) } else { n * (1.0 + 0.5 * n) };
        sum += amplitude * n;
        amplitude *= gain;
        q = [q[0] * lacunarity + 1.7, q[1] * lacunarity + 9.2, q[2] * lacunarity + 3.1];
    }
    let ([px, py, pz], [nx, ny, nz]) = (v.position, v.normal);
    let p = [px + nx * sum, py + ny * sum, pz + nz * sum];
    let [x, y, z, w] = transform(&u.mvp, p);
    [x, y, z, w, p[0], p[1], p[2], sum]
}

/// Eight Gerstner waves: clip position, normal and foam.
pub fn k4(u: &Uniforms, v: &Vertex) -> [f32; 8] {
    let [x0, _, z0] = v.position;
    let distance = x0 * x0 + z0 * z0;
    let mut p = v.position;
    let mut n = [0.0, 1.0, 0.0];
    let mut foam = 0.0;
    let waves = u.wave_shape.iter().zip(&u.wave_height);
    for (&[dx, dz, frequency, speed], &[height, steepness, falloff, exponent]) in waves {
        let phase = (dx * x0 + dz * z0) * frequency + u.time[0] * speed;
        let (sin, cos) = phase.sin_cos();
        let amplitude = height * (1.0 + distance * falloff).powf(-exponent);
        let reach = steepness * amplitude;
        p[0] += reach * dx * cos;
        p[1] += amplitude * sin;
        p[2] += reach * dz * cos;
        let slope = frequency * amplitude;
        n[0] -= dx * slope * cos;
        n[1] -= steepness * slope * sin;
        n[2] -= dz * slope * cos;
        foam += slope * sin;
    }
    let clip: Vec4 = transform(&u.mvp, p);
    let [nx, ny, nz] = normalize(n);
    [clip[0], clip[1], clip[2], clip[3], nx, ny, nz, foam]
}
