//! Meshes: parametric surfaces by name, and Wavefront OBJ files.

use crate::report::Failure;
use shaderjit::Topology;
use std::f32::consts::{PI, TAU};

/// Vertices by attribute, four floats each, and numbers of them.
#[derive(Debug, Default)]
pub struct Mesh {
    pub positions: Vec<[f32; 4]>,
    pub normals: Vec<[f32; 4]>,
    /// Along growing u, for normal maps.
    pub tangents: Vec<[f32; 4]>,
    pub coordinates: Vec<[f32; 4]>,
    pub indices: Vec<u32>,
}

/// What shapes there are, for messages.
const SHAPES: &str = "grid:COLUMNSxROWS, sphere:AROUNDxDOWN, torus:AROUNDxACROSS, cube, or a file FILE.obj";

/// The most steps of a surface in one direction.
const MAX_STEPS: u32 = 1024;

/// A point of a surface.
struct Point {
    position: [f32; 3],
    normal: [f32; 3],
    tangent: [f32; 3],
}

impl Mesh {
    /// The mesh of that name for primitives of that topology: patches of four points are the cells of a shape, all
    /// others triangles that wind clockwise seen from outside.
    pub fn named(name: &str, topology: Topology) -> Result<Mesh, Failure> {
        if name.ends_with(".obj") {
            return Mesh::of_file(name);
        }
        let (shape, steps) = name.split_once(':').unwrap_or((name, ""));
        let steps = || {
            let numbers = steps.split('x').map(|text| text.parse().ok()).collect::<Option<Vec<u32>>>();
            match numbers.as_deref() {
                Some(&[u, v]) if (1..=MAX_STEPS).contains(&u) && (1..=MAX_STEPS).contains(&v) => Ok([u, v]),
                _ => Err(Failure::input(format_args!("mesh {name:?}: there are {SHAPES}; sizes are 1 to {MAX_STEPS}"))),
            }
        };
        let mut mesh = Mesh::default();
        match shape {
            "grid" => mesh.add(steps()?, topology, &|u, v| Point {
                position: [2.0 * u - 1.0, 0.0, 1.0 - 2.0 * v],
                normal: [0.0, 1.0, 0.0],
                tangent: [1.0, 0.0, 0.0],
            }),
            "sphere" => mesh.add(steps()?, topology, &|u, v| {
                let ((sin_u, cos_u), (sin_v, cos_v)) = ((u * TAU).sin_cos(), (v * PI).sin_cos());
                let normal = [sin_v * cos_u, cos_v, sin_v * sin_u];
                Point { position: normal, normal, tangent: [-sin_u, 0.0, cos_u] }
            }),
            "torus" => mesh.add(steps()?, topology, &|u, v| {
                let ((sin_u, cos_u), (sin_v, cos_v)) = ((u * TAU).sin_cos(), (v * TAU).sin_cos());
                let (normal, radius) = ([cos_u * cos_v, -sin_v, sin_u * cos_v], 0.7 + 0.3 * cos_v);
                let position = [radius * cos_u, -0.3 * sin_v, radius * sin_u];
                Point { position, normal, tangent: [-sin_u, 0.0, cos_u] }
            }),
            "cube" => {
                // Each face is the first, turned.
                let turns: [fn([f32; 3]) -> [f32; 3]; 6] = [
                    |[x, y, z]| [x, y, z],
                    |[x, y, z]| [x, -y, -z],
                    |[x, y, z]| [x, -z, y],
                    |[x, y, z]| [x, z, -y],
                    |[x, y, z]| [y, -x, z],
                    |[x, y, z]| [-y, x, z],
                ];
                for turn in turns {
                    mesh.add([1, 1], topology, &|u, v| Point {
                        position: turn([2.0 * u - 1.0, 1.0, 1.0 - 2.0 * v]),
                        normal: turn([0.0, 1.0, 0.0]),
                        tangent: turn([1.0, 0.0, 0.0]),
                    });
                }
            }
            _ => return Err(Failure::input(format_args!("mesh {name:?}: there are {SHAPES}"))),
        }
        Ok(mesh)
    }

    /// Adds a surface over 0 to 1 in both directions.
    fn add(&mut self, [columns, rows]: [u32; 2], topology: Topology, point: &dyn Fn(f32, f32) -> Point) {
        let first = self.positions.len() as u32;
        let places = (0..=rows).flat_map(|row| (0..=columns).map(move |column| (column, row)));
        for (u, v) in places.map(|(column, row)| (column as f32 / columns as f32, row as f32 / rows as f32)) {
            let Point { position: [x, y, z], normal: [a, b, c], tangent: [d, e, f] } = point(u, v);
            self.positions.push([x, y, z, 1.0]);
            self.normals.push([a, b, c, 0.0]);
            self.tangents.push([d, e, f, 0.0]);
            self.coordinates.push([u, v, 0.0, 0.0]);
        }
        let corner = |column: u32, row: u32| first + row * (columns + 1) + column;
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let [a, b] = [corner(column, row), corner(column + 1, row)];
            let [c, d] = [corner(column, row + 1), corner(column + 1, row + 1)];
            match topology {
                Topology::PatchList(4) => self.indices.extend([a, b, c, d]),
                _ => self.indices.extend([a, b, c, c, b, d]),
            }
        }
    }

    /// The triangles of a file, all of its groups together. Its z axis is turned, for it comes out of the screen.
    fn of_file(path: &str) -> Result<Mesh, Failure> {
        let failure = |error: String| Failure::input(format_args!("{path}: {error}"));
        let (models, _) = tobj::load_obj(path, &tobj::GPU_LOAD_OPTIONS).map_err(|error| failure(error.to_string()))?;
        let mut mesh = Mesh::default();
        for model in models {
            let (first, file) = (mesh.positions.len() as u32, model.mesh);
            let count = file.positions.len() / 3;
            let of_three = |values: &[f32], last: f32| -> Vec<[f32; 4]> {
                let mut rows: Vec<_> = values.as_chunks().0.iter().map(|&[x, y, z]| [x, y, -z, last]).collect();
                rows.resize(count, [0.0; 4]);
                rows
            };
            mesh.positions.extend(of_three(&file.positions, 1.0));
            mesh.normals.extend(of_three(&file.normals, 0.0));
            // Pictures begin at the top, texture coordinates of these files at the bottom.
            let mut rows: Vec<_> = file.texcoords.as_chunks().0.iter().map(|&[u, v]| [u, 1.0 - v, 0.0, 0.0]).collect();
            rows.resize(count, [0.0; 4]);
            mesh.coordinates.extend(rows);
            mesh.indices.extend(file.indices.iter().map(|index| first + index));
        }
        mesh.tangents = mesh.tangents();
        Ok(mesh)
    }

    /// The direction of growing u at each vertex: of the triangles around it, by their area.
    fn tangents(&self) -> Vec<[f32; 4]> {
        let mut sums = vec![[0.0; 4]; self.positions.len()];
        for &triangle in self.indices.as_chunks::<3>().0 {
            let corner = triangle.map(|index| (self.positions[index as usize], self.coordinates[index as usize]));
            let edge = |n: usize| {
                let (p, t) = corner[n];
                let (q, s) = corner[0];
                ([p[0] - q[0], p[1] - q[1], p[2] - q[2]], [t[0] - s[0], t[1] - s[1]])
            };
            let ((p, s), (q, t)) = (edge(1), edge(2));
            // Towards growing u, whichever way the picture lies on the triangle.
            let sign = (s[0] * t[1] - t[0] * s[1]).signum();
            let along = [0, 1, 2].map(|n| sign * (p[n] * t[1] - q[n] * s[1]));
            for index in triangle {
                let sum: &mut [f32; 4] = &mut sums[index as usize];
                sum.iter_mut().zip(along).for_each(|(sum, part)| *sum += part);
            }
        }
        for sum in &mut sums {
            let length = sum.iter().map(|part| part * part).sum::<f32>().sqrt();
            *sum = if length > 0.0 { sum.map(|part| part / length) } else { [1.0, 0.0, 0.0, 0.0] };
        }
        sums
    }

    /// The attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&[[f32; 4]]> {
        Some(match name {
            "position" => &self.positions,
            "normal" => &self.normals,
            "tangent" => &self.tangents,
            "uv" => &self.coordinates,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sub(a: [f32; 4], b: [f32; 4]) -> [f32; 3] {
        [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
    }

    fn dot(a: [f32; 3], b: [f32; 4]) -> f32 {
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    }

    #[test]
    fn triangles_wind_clockwise_seen_from_outside() {
        for name in ["grid:3x2", "sphere:8x6", "torus:9x5", "cube"] {
            let mesh = Mesh::named(name, Topology::TriangleList).unwrap();
            for &[a, b, c] in mesh.indices.as_chunks().0 {
                let [p, q, r] = [a, b, c].map(|index| mesh.positions[index as usize]);
                let ([ax, ay, az], [bx, by, bz]) = (sub(q, p), sub(r, p));
                // In a left-handed space this is where a clockwise triangle looks.
                let cross = [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx];
                let normals = [a, b, c].map(|index| dot(cross, mesh.normals[index as usize]));
                assert!(normals.iter().sum::<f32>() >= -1e-6, "{name}: {a} {b} {c}");
            }
            for (tangent, normal) in mesh.tangents.iter().zip(&mesh.normals) {
                assert!(dot(sub(*tangent, [0.0; 4]), *normal).abs() < 1e-6, "{name}");
            }
        }
    }

    #[test]
    fn a_cube_has_six_faces() {
        let mesh = Mesh::named("cube", Topology::TriangleList).unwrap();
        let mut normals = mesh.normals.clone();
        normals.dedup();
        let faces = [[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0]];
        assert_eq!(normals, faces.map(|[x, y, z]| [x as f32, y as f32, z as f32, 0.0]));
    }

    #[test]
    fn cells_are_patches() {
        let mesh = Mesh::named("grid:2x1", Topology::PatchList(4)).unwrap();
        assert_eq!(mesh.indices, [0, 1, 3, 4, 1, 2, 4, 5]);
        assert!(Mesh::named("grid:0x1", Topology::TriangleList).is_err());
        assert!(Mesh::named("teapot", Topology::TriangleList).is_err());
    }
}
