//! Directions to faces, and which texels lie beyond the edges of a face.

use super::lanes::{float, number, word};
use crate::simd::{Floats, Words};

/// Each face: which axis it is across, the sign of that axis, and the axes and signs of its columns and rows, +x -x +y
/// -y +z -z (Direct3D 11.3 functional specification, 5.3.8).
pub const FACES: [Face; 6] = [
    Face { across: (0, 1), columns: (2, -1), rows: (1, -1) },
    Face { across: (0, -1), columns: (2, 1), rows: (1, -1) },
    Face { across: (1, 1), columns: (0, 1), rows: (2, 1) },
    Face { across: (1, -1), columns: (0, 1), rows: (2, -1) },
    Face { across: (2, 1), columns: (0, 1), rows: (1, -1) },
    Face { across: (2, -1), columns: (0, -1), rows: (1, -1) },
];

/// Axes with signs.
pub struct Face {
    pub across: (usize, i32),
    pub columns: (usize, i32),
    pub rows: (usize, i32),
}

/// The number of the face across an axis.
pub fn face_across(axis: usize, is_negative: bool) -> usize {
    2 * axis + usize::from(is_negative)
}

/// Points of faces.
pub struct OnFaces<F: Floats> {
    pub face: F::Words,
    /// 0 to 1 from the left and from the top.
    pub position: [F; 2],
}

/// The axis of each lane's largest component; of equal ones, z before y before x.
struct Major<F: Floats> {
    is_z: F::Mask,
    is_y: F::Mask,
    /// The sign of that component: its highest bit.
    sign: F::Words,
    length: F,
}

impl<F: Floats> Major<F> {
    #[inline(always)]
    fn new([x, y, z]: [F; 3]) -> Major<F> {
        let [longer_x, longer_y, longer_z] = [x.abs(), y.abs(), z.abs()];
        let is_z = !longer_z.less(longer_x) & !longer_z.less(longer_y);
        let is_y = !is_z & !longer_y.less(longer_x);
        let component = z.or_where_not(is_z, y.or_where_not(is_y, x));
        Major { is_z, is_y, sign: component.bits() & word::<F>(1 << 31), length: component.abs() }
    }

    /// That axis's component of each lane.
    #[inline(always)]
    fn component(&self, [x, y, z]: [F; 3]) -> F {
        z.or_where_not(self.is_z, y.or_where_not(self.is_y, x))
    }

    /// With the sign turned where that axis is negative.
    #[inline(always)]
    fn signed(&self, value: F) -> F {
        (value.bits() ^ self.sign).as_floats()
    }

    /// What of a vector goes along the columns and the rows of each lane's face: [`FACES`] as choices between few
    /// values.
    #[inline(always)]
    fn along(&self, [x, y, z]: [F; 3]) -> [F; 2] {
        let signed_z = self.signed(z);
        let columns = self.signed(x).or_where_not(self.is_z, x.or_where_not(self.is_y, signed_z.negated()));
        [columns, signed_z.or_where_not(self.is_y, y.negated())]
    }
}

impl<F: Floats> Major<F> {
    /// Where on the face, 0 to 1, something along its columns or rows is.
    #[inline(always)]
    fn place(&self, along: F) -> F {
        let ratio = along / self.length;
        // Of the zero vector, and of infinities, the middle.
        float::<F>(0.5).or_where_not(ratio.is_nan(), ratio * float(0.5) + float(0.5))
    }

    /// How that moves.
    #[inline(always)]
    fn moved(&self, along: F, change: F, lengthening: F) -> F {
        float::<F>(0.5) * (self.length * change - along * lengthening) / (self.length * self.length)
    }
}

/// Where directions lead.
#[inline(always)]
pub fn project<F: Floats>(direction: [F; 3]) -> OnFaces<F> {
    let [x, y, z] = direction;
    let direction = [number(x), number(y), number(z)];
    let major = Major::new(direction);
    let axis = word::<F>(4).or_where_not(major.is_z, word::<F>(2).or_where_not(major.is_y, word::<F>(0)));
    let [columns, rows] = major.along(direction);
    OnFaces { face: axis + major.sign.shr(31), position: [major.place(columns), major.place(rows)] }
}

/// How changes of directions move the points on their faces, in units of the face's edge.
#[inline(always)]
pub fn project_derivatives<F: Floats>(direction: [F; 3], change: [F; 3]) -> [F; 2] {
    let [x, y, z] = direction;
    let direction = [number(x), number(y), number(z)];
    let major = Major::new(direction);
    let lengthening = major.signed(major.component(change));
    let ([columns, rows], [column_change, row_change]) = (major.along(direction), major.along(change));
    [major.moved(columns, column_change, lengthening), major.moved(rows, row_change, lengthening)]
}

/// A texel of a cube.
pub type FaceTexel = (u32, [u32; 2]);

/// The texel at a column and row of a face, each of which may be one beyond an edge: then it is its neighbour's on the
/// other face. At a corner there is none.
pub fn texel(face: u32, size: u32, place: [i32; 2]) -> Option<FaceTexel> {
    let edge = size as i32;
    let is_inside = |at: i32| (0..edge).contains(&at);
    let (face_number, face) = (face, &FACES[face as usize]);
    let beyond = match place.map(is_inside) {
        [true, true] => return Some((face_number, place.map(|at| at as u32))),
        [false, false] => return None,
        [column_inside, _] => usize::from(column_inside),
    };
    // In units of half a texel from the middle: an edge is `edge` away, and centres of texels at odd or even numbers.
    let centred = |at: i32| 2 * at + 1 - edge;
    let axes = [face.columns, face.rows];
    let mut point = [0; 3];
    let side = if place[beyond] < 0 { -1 } else { 1 };
    // Across the edge, what was the way out of the face is the way along its last row.
    point[face.across.0] = face.across.1 * (edge - 1);
    point[axes[beyond].0] = axes[beyond].1 * side * edge;
    point[axes[1 - beyond].0] = axes[1 - beyond].1 * centred(place[1 - beyond]);
    let neighbour = face_across(axes[beyond].0, point[axes[beyond].0] < 0);
    let along = |(axis, sign): (usize, i32)| ((point[axis] * sign + edge - 1) / 2) as u32;
    Some((neighbour as u32, [along(FACES[neighbour].columns), along(FACES[neighbour].rows)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::array::Floats8;

    /// A point of a face.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct OnFace {
        face: u32,
        position: [f32; 2],
    }

    fn of(value: Floats8) -> f32 {
        f32::from_bits(value.bits().to_array()[0])
    }

    fn project(direction: [f32; 3]) -> OnFace {
        let OnFaces { face, position } = super::project(direction.map(Floats8::all));
        OnFace { face: face.to_array()[0], position: position.map(of) }
    }

    fn project_derivative(direction: [f32; 3], change: [f32; 3]) -> [f32; 2] {
        project_derivatives(direction.map(Floats8::all), change.map(Floats8::all)).map(of)
    }

    #[test]
    fn the_largest_component_chooses_the_face() {
        let face = |direction| project(direction).face;
        let axes =
            [[1.0, 0.0, 0.0], [-1.0, 0.5, 0.5], [0.1, 3.0, -2.0], [0.0, -1.0, 0.0], [0.0, 0.0, 9.0], [1.0, 1.0, -2.0]];
        assert_eq!(axes.map(face), [0, 1, 2, 3, 4, 5]);
        // Of equal ones z, then y.
        assert_eq!([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 0.0], [-1.0, 1.0, 0.5]].map(face), [4, 5, 3, 2]);
        // Zero leads somewhere, too.
        assert_eq!(project([0.0; 3]), OnFace { face: 4, position: [0.5; 2] });
        assert_eq!(project([f32::NAN; 3]), OnFace { face: 4, position: [0.5; 2] });
        assert_eq!(project([f32::INFINITY, 1.0, f32::INFINITY]), OnFace { face: 4, position: [0.5; 2] });
    }

    #[test]
    fn faces_are_seen_from_inside_with_their_columns_and_rows() {
        // A little to the +x, +y and +z of each axis.
        let place = |axis: usize, sign: f32| {
            let mut direction = [0.5, 0.25, 0.125];
            direction[axis] = sign;
            project(direction).position
        };
        assert_eq!(place(0, 1.0), [0.5 - 0.0625, 0.5 - 0.125]);
        assert_eq!(place(0, -1.0), [0.5 + 0.0625, 0.5 - 0.125]);
        assert_eq!(place(1, 1.0), [0.75, 0.5 + 0.0625]);
        assert_eq!(place(1, -1.0), [0.75, 0.5 - 0.0625]);
        assert_eq!(place(2, 1.0), [0.75, 0.5 - 0.125]);
        assert_eq!(place(2, -1.0), [0.25, 0.5 - 0.125]);
    }

    #[test]
    fn beyond_an_edge_lies_the_face_that_the_direction_leads_to() {
        for size in [1, 2, 5, 8] {
            for (number, face) in FACES.iter().enumerate() {
                for at in 0..size {
                    for place in [[-1, at], [size, at], [at, -1], [at, size]] {
                        // The middle of the texel as if the face went on.
                        let along = |at: i32| (2 * at + 1 - size) as f32 / size as f32;
                        let mut direction = [0.0; 3];
                        direction[face.across.0] = face.across.1 as f32;
                        direction[face.columns.0] = along(place[0]) * face.columns.1 as f32;
                        direction[face.rows.0] = along(place[1]) * face.rows.1 as f32;
                        let expected = project(direction);
                        let texels =
                            expected.position.map(|position| ((position * size as f32) as u32).min(size as u32 - 1));
                        let found = texel(number as u32, size as u32, place);
                        assert_eq!(found, Some((expected.face, texels)), "face {number} of {size} at {place:?}");
                    }
                }
            }
        }
        assert_eq!(texel(3, 4, [-1, 4]), None);
        assert_eq!(texel(3, 4, [0, 3]), Some((3, [0, 3])));
    }

    #[test]
    fn derivatives_are_those_of_the_projection() {
        for direction in [[0.3, -0.2, 1.0], [0.4, -2.0, 0.5], [-1.0, 0.7, 0.1]] {
            for change in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
                const STEP: f32 = 1.0 / 1024.0;
                let moved = std::array::from_fn(|axis| direction[axis] + STEP * change[axis]);
                let (before, after) = (project(direction).position, project(moved).position);
                let derivative = project_derivative(direction, change);
                for axis in 0..2 {
                    let difference = (after[axis] - before[axis]) / STEP;
                    assert!((difference - derivative[axis]).abs() < 2e-3, "{direction:?} {change:?}");
                }
            }
        }
    }
}
