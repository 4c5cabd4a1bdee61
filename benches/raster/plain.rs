//! The scalar twin of the lit shader: quad by quad, pixel by pixel, as one writes it without thinking of vectors.

use crate::sampler::Texture;
use shaderjit::{Plane, Quads, SamplerState};

/// Position, normal, tangent and texture coordinate.
pub const PLANES: usize = 11;

/// What the shader reads.
pub struct Bound<'a> {
    pub albedo: Texture<'a>,
    pub normals: Texture<'a>,
    pub sampler: SamplerState,
    /// Where the light comes from.
    pub light: [f32; 3],
    pub eye: [f32; 3],
}

type Vector = [f32; 3];

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn normalized(a: Vector) -> Vector {
    let length = dot(a, a).sqrt();
    a.map(|value| value / length)
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn add(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn scaled(a: Vector, by: f32) -> Vector {
    a.map(|value| value * by)
}

impl Bound<'_> {
    /// Shades all pixels of quads.
    pub fn shade(&self, quads: &Quads<'_>, colors: &mut [[f32; 4]]) {
        for (quad, colors) in quads.quads.iter().zip(colors.as_chunks_mut::<4>().0) {
            let primitive = &quads.primitives[quad.primitive as usize];
            let planes = &quads.planes[quad.primitive as usize * PLANES..][..PLANES];
            let attributes: [[f32; PLANES]; 4] = std::array::from_fn(|pixel| {
                let x = quad.x as f32 + (pixel & 1) as f32 + 0.5 - primitive.origin[0];
                let y = quad.y as f32 + (pixel >> 1) as f32 + 0.5 - primitive.origin[1];
                let at = |plane: &Plane| plane.value + plane.dx * x + plane.dy * y;
                let w = 1.0 / at(&primitive.reciprocal_w);
                std::array::from_fn(|number| at(&planes[number]) * w)
            });
            let place = |pixel: usize| [attributes[pixel][9], attributes[pixel][10]];
            let size = [self.albedo.width as f32, self.albedo.height as f32];
            let length = |to: [f32; 2]| {
                let [u, v] = [0, 1].map(|axis| (to[axis] - place(0)[axis]) * size[axis]);
                u * u + v * v
            };
            let lod = 0.5 * length(place(1)).max(length(place(2))).log2();
            for (color, attributes) in colors.iter_mut().zip(&attributes) {
                *color = self.pixel(attributes, lod);
            }
        }
    }

    fn pixel(&self, &[px, py, pz, nx, ny, nz, tx, ty, tz, u, v]: &[f32; PLANES], lod: f32) -> [f32; 4] {
        let [red, green, blue, _] = self.albedo.sample(&self.sampler, u, v, lod);
        let [x, y, z, _] = self.normals.sample(&self.sampler, u, v, lod).map(|value| value * 2.0 - 1.0);
        let (normal, tangent) = (normalized([nx, ny, nz]), normalized([tx, ty, tz]));
        let bitangent = cross(normal, tangent);
        let normal = normalized(add(add(scaled(tangent, x), scaled(bitangent, y)), scaled(normal, z)));
        let diffuse = dot(normal, self.light).clamp(0.0, 1.0) * 0.8 + 0.15;
        let to_eye = normalized(add(self.eye, [-px, -py, -pz]));
        let highlight = dot(normal, normalized(add(to_eye, self.light))).clamp(0.0, 1.0).powf(32.0);
        let [red, green, blue] = [red, green, blue].map(|color| color * diffuse + highlight);
        [red, green, blue, 1.0]
    }
}
