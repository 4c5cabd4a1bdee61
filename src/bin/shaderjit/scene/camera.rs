//! A camera that looks at a point, and the matrices that constants of a scene name.

use crate::values::Value;
use serde::Deserialize;

/// Where from, where to, and how wide. x is to the right, y up, and z away from the eye, as in Direct3D.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Camera {
    eye: [f32; 3],
    #[serde(default)]
    target: [f32; 3],
    /// Degrees from the lower to the upper edge of the picture.
    #[serde(default = "Camera::field")]
    field: f32,
    #[serde(default = "Camera::near")]
    near: f32,
    #[serde(default = "Camera::far")]
    far: f32,
}

/// Rows of a matrix that columns are multiplied by: `m * p`.
type Matrix = [[f32; 4]; 4];

/// Where an object stands: scaled, then turned about x, y and z, then moved.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Placement {
    scale: [f32; 3],
    /// Degrees.
    turn: [f32; 3],
    /// Degrees about y that a whole turn of the camera turns it by besides.
    spin: f32,
    at: [f32; 3],
}

impl Default for Placement {
    fn default() -> Placement {
        Placement { scale: [1.0; 3], turn: [0.0; 3], spin: 0.0, at: [0.0; 3] }
    }
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    a.map(|row| std::array::from_fn(|column| (0..4).map(|k| row[k] * b[k][column]).sum()))
}

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: [f32; 3]) -> [f32; 3] {
    let length = dot(a, a).sqrt();
    if length > 0.0 { a.map(|part| part / length) } else { [0.0, 0.0, 1.0] }
}

/// A turn about an axis, 0 for x.
fn rotation(axis: usize, degrees: f32) -> Matrix {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let mut matrix = Placement::default().scaled();
    let [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
    (matrix[a][a], matrix[a][b], matrix[b][a], matrix[b][b]) = (cos, -sin, sin, cos);
    matrix
}

impl Placement {
    fn scaled(&self) -> Matrix {
        let [x, y, z] = self.scale;
        [[x, 0.0, 0.0, 0.0], [0.0, y, 0.0, 0.0], [0.0, 0.0, z, 0.0], [0.0, 0.0, 0.0, 1.0]]
    }

    /// From the object to the scene, when the camera has made a part of its turn, 0 to 1.
    fn matrix(&self, turned: f32) -> Matrix {
        let mut matrix = self.scaled();
        for (axis, degrees) in self.turn.into_iter().enumerate() {
            matrix = product(&rotation(axis, degrees), &matrix);
        }
        matrix = product(&rotation(1, self.spin * turned), &matrix);
        matrix.iter_mut().zip(self.at).for_each(|(row, at)| row[3] += at);
        matrix
    }
}

impl Camera {
    fn field() -> f32 {
        45.0
    }

    fn near() -> f32 {
        0.1
    }

    fn far() -> f32 {
        100.0
    }

    /// The eye, when it has made a part of its turn about the target.
    fn eye(&self, turned: f32) -> [f32; 3] {
        let [x, y, z] = sub(self.eye, self.target);
        let (sin, cos) = (turned * std::f32::consts::TAU).sin_cos();
        let away = [x * cos - z * sin, y, x * sin + z * cos];
        std::array::from_fn(|n| self.target[n] + away[n])
    }

    fn view(&self, turned: f32) -> Matrix {
        let eye = self.eye(turned);
        let z = unit(sub(self.target, eye));
        let x = unit(cross([0.0, 1.0, 0.0], z));
        let row = |axis: [f32; 3]| [axis[0], axis[1], axis[2], -dot(axis, eye)];
        [row(x), row(cross(z, x)), row(z), [0.0, 0.0, 0.0, 1.0]]
    }

    /// To clip space: depths from 0 to w, or for a 3DS from -w to 0.
    fn projection(&self, aspect: f32, is_pica: bool) -> Matrix {
        let scale = 1.0 / (self.field.to_radians() / 2.0).tan();
        let depth = self.far / (self.far - self.near);
        let z = [0.0, 0.0, if is_pica { depth - 1.0 } else { depth }, -self.near * depth];
        [[scale / aspect, 0.0, 0.0, 0.0], [0.0, scale, 0.0, 0.0], z, [0.0, 0.0, 1.0, 0.0]]
    }
}

/// What names in the constants of a draw stand for.
pub struct Names<'s> {
    pub camera: &'s Camera,
    pub placement: &'s Placement,
    /// Width by height.
    pub aspect: f32,
    /// The part of its turn that the camera has made, 0 to 1.
    pub turned: f32,
    pub is_pica: bool,
}

impl Names<'_> {
    /// A matrix or a vector. `transposed` in front of a matrix's name is for shaders that have `mul(p, m)`, and for
    /// blocks of GLSL's columns.
    pub fn value(&self, name: &str) -> Option<Value> {
        let vector = |values: &[f32]| Value::List(values.iter().map(|&value| Value::Float(value.into())).collect());
        if let "eye" | "turned" = name {
            let [x, y, z] = self.camera.eye(self.turned);
            return Some(if name == "eye" { vector(&[x, y, z, 1.0]) } else { Value::Float(self.turned.into()) });
        }
        let (name, is_transposed) = match name.strip_prefix("transposed ") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (world, view) = (self.placement.matrix(self.turned), self.camera.view(self.turned));
        let projection = self.camera.projection(self.aspect, self.is_pica);
        let matrix = match name {
            "world" => world,
            "view" => view,
            "projection" => projection,
            "world_view" => product(&view, &world),
            "view_projection" => product(&projection, &view),
            "world_view_projection" => product(&projection, &product(&view, &world)),
            _ => return None,
        };
        let row = |row: usize| match is_transposed {
            true => vector(&matrix.map(|row_of| row_of[row])),
            false => vector(&matrix[row]),
        };
        Some(Value::List((0..4).map(row).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(matrix: &Matrix, p: [f32; 4]) -> [f32; 4] {
        matrix.map(|row| (0..4).map(|k| row[k] * p[k]).sum())
    }

    #[test]
    fn the_target_is_in_the_middle_and_depths_are_in_range() {
        let camera = Camera { eye: [1.0, 2.0, -3.0], target: [0.5, 0.0, 1.0], field: 40.0, near: 0.5, far: 20.0 };
        for turned in [0.0, 0.3] {
            let view = camera.view(turned);
            let p = times(&view, [0.5, 0.0, 1.0, 1.0]);
            assert!(p[0].abs() < 1e-5 && p[1].abs() < 1e-5 && p[2] > 4.0, "{p:?}");
            // What is above stays above, and the eye is at the origin.
            assert!(times(&view, [0.5, 1.0, 1.0, 1.0])[1] > 0.0);
            let [x, y, z] = camera.eye(turned);
            assert!(times(&view, [x, y, z, 1.0])[..3].iter().all(|part| part.abs() < 1e-5));
        }
        let ends = |is_pica: bool| {
            let projection = camera.projection(1.5, is_pica);
            [0.5, 20.0].map(|z| times(&projection, [0.0, 0.0, z, 1.0])).map(|p| p[2] / p[3])
        };
        let near = |[a, b]: [f32; 2], [c, d]: [f32; 2]| (a - c).abs() < 1e-5 && (b - d).abs() < 1e-5;
        assert!(near(ends(false), [0.0, 1.0]) && near(ends(true), [-1.0, 0.0]));
    }

    #[test]
    fn objects_are_scaled_turned_and_moved() {
        let placement = Placement { scale: [2.0, 1.0, 1.0], turn: [0.0, 0.0, 90.0], spin: 180.0, at: [0.0, 0.0, 5.0] };
        let close = |p: [f32; 4], q: [f32; 4]| p.iter().zip(q).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(close(times(&placement.matrix(0.0), [1.0, 0.0, 0.0, 1.0]), [0.0, 2.0, 5.0, 1.0]));
        assert!(close(times(&placement.matrix(1.0), [0.0, -1.0, 0.0, 1.0]), [-1.0, 0.0, 5.0, 1.0]));
    }

    #[test]
    fn names_have_values() {
        let camera = Camera { eye: [0.0, 0.0, -1.0], target: [0.0; 3], field: 90.0, near: 1.0, far: 2.0 };
        let placement = Placement { at: [7.0, 0.0, 0.0], ..Placement::default() };
        let names = Names { camera: &camera, placement: &placement, aspect: 1.0, turned: 0.0, is_pica: false };
        let mut numbers = Vec::new();
        let world = names.value("transposed world").unwrap();
        world.numbers(&mut numbers);
        assert_eq!(numbers[12..], [&Value::Float(7.0), &Value::Float(0.0), &Value::Float(0.0), &Value::Float(1.0)]);
        assert_eq!(names.value("turned"), Some(Value::Float(0.0)));
        assert_eq!(names.value("transposed eye"), None);
    }
}
