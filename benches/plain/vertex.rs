//! The vertices and constants that K1 to K4 work on, as Rust structs, and the vector arithmetic they need.

use crate::draw::floats;

/// Three floats.
pub type Vec3 = [f32; 3];
/// Four floats.
pub type Vec4 = [f32; 4];

/// A vertex of `verts10k.bin`. In the file it takes [`Vertex::BYTES`].
#[derive(Clone, Copy, Debug)]
pub struct Vertex {
    pub position: Vec3,
    pub normal: Vec3,
    pub uv: [f32; 2],
    /// Bone weights, 255 is 1.
    pub weights: [u8; 4],
    pub bones: [u8; 4],
}

impl Vertex {
    /// Bytes of a vertex.
    pub const BYTES: usize = 40;

    /// Reads a file of vertices.
    pub fn read_all(bytes: &[u8]) -> Vec<Vertex> {
        let (vertices, rest) = bytes.as_chunks::<{ Vertex::BYTES }>();
        assert!(rest.is_empty(), "{} bytes are no whole number of vertices", bytes.len());
        vertices.iter().map(Vertex::read).collect()
    }

    fn read(bytes: &[u8; Vertex::BYTES]) -> Vertex {
        let (words, rest) = bytes.split_at(32);
        let words = floats(words);
        let (weights, bones) = rest.split_at(4);
        Vertex {
            position: array(&words[0..3]),
            normal: array(&words[3..6]),
            uv: array(&words[6..8]),
            weights: array(weights),
            bones: array(bones),
        }
    }
}

/// The constant buffer of K1 to K4.
#[derive(Clone, Debug)]
pub struct Uniforms {
    /// Rows of the model-view-projection matrix.
    pub mvp: [Vec4; 4],
    /// Direction to the light, specular exponent.
    pub light: Vec4,
    /// Light colour, specular strength.
    pub light_color: Vec4,
    pub eye: Vec4,
    /// Noise: base frequency, amplitude, lacunarity, gain.
    pub noise: Vec4,
    /// Waves: the time.
    pub time: Vec4,
    /// Each wave's direction x and z, frequency, speed.
    pub wave_shape: [Vec4; 8],
    /// Each wave's amplitude, steepness, falloff, falloff exponent.
    pub wave_height: [Vec4; 8],
    /// Bone matrices, three rows each.
    pub bones: [[Vec4; 3]; 64],
}

impl Uniforms {
    /// Reads `uniforms.bin`.
    pub fn read(bytes: &[u8]) -> Uniforms {
        let words = floats(bytes);
        let (rows, rest) = words.as_chunks::<4>();
        assert!(rest.is_empty(), "{} bytes are no whole number of rows", bytes.len());
        Uniforms {
            mvp: array(&rows[0..4]),
            light: rows[4],
            light_color: rows[5],
            eye: rows[6],
            noise: rows[7],
            time: rows[8],
            wave_shape: array(&rows[9..17]),
            wave_height: array(&rows[17..25]),
            bones: array(rows[25..].as_chunks().0),
        }
    }
}

fn array<T: Copy, const N: usize>(slice: &[T]) -> [T; N] {
    slice.try_into().expect("the files have a fixed layout")
}

/// A row of a matrix times a point: its fourth component counts as 1.
pub fn dot_point(row: Vec4, p: Vec3) -> f32 {
    row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3]
}

/// A row of a matrix times a direction: its fourth component counts as 0.
pub fn dot_direction(row: Vec4, d: Vec3) -> f32 {
    row[0] * d[0] + row[1] * d[1] + row[2] * d[2]
}

pub fn dot3(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn normalize(v: Vec3) -> Vec3 {
    let scale = 1.0 / dot3(v, v).sqrt();
    v.map(|x| x * scale)
}

/// A point in clip space.
pub fn transform(rows: &[Vec4; 4], p: Vec3) -> Vec4 {
    rows.map(|row| dot_point(row, p))
}
