//! Directions to faces, and which texels lie beyond the edges of a face.

use super::address::whole;

/// Each face: which axis it is across, the sign of that axis, and the axes and signs of its columns and rows, +x -x +y
/// -y +z -z (Direct3D 11.3 functional specification, 5.3.8).
const FACES: [Face; 6] = [
    Face { across: (0, 1), columns: (2, -1), rows: (1, -1) },
    Face { across: (0, -1), columns: (2, 1), rows: (1, -1) },
    Face { across: (1, 1), columns: (0, 1), rows: (2, 1) },
    Face { across: (1, -1), columns: (0, 1), rows: (2, -1) },
    Face { across: (2, 1), columns: (0, 1), rows: (1, -1) },
    Face { across: (2, -1), columns: (0, -1), rows: (1, -1) },
];

/// Axes with signs.
struct Face {
    across: (usize, i32),
    columns: (usize, i32),
    rows: (usize, i32),
}

/// The number of the face across an axis.
fn face_across(axis: usize, is_negative: bool) -> usize {
    2 * axis + usize::from(is_negative)
}

/// A point of a face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnFace {
    pub face: u32,
    /// 0 to 1 from the left and from the top.
    pub position: [f32; 2],
}

/// The axis of the largest component; of equal ones, z before y before x.
fn major_axis(direction: [f32; 3]) -> usize {
    let [x, y, z] = direction.map(f32::abs);
    if z >= x && z >= y {
        2
    } else if y >= x {
        1
    } else {
        0
    }
}

/// Components that are no numbers are 0.
fn numbers(direction: [f32; 3]) -> [f32; 3] {
    direction.map(|component| if component.is_nan() { 0.0 } else { component })
}

/// Where a direction leads.
pub fn project(direction: [f32; 3]) -> OnFace {
    let direction = numbers(direction);
    let axis = major_axis(direction);
    let (number, length) = (face_across(axis, direction[axis].is_sign_negative()), direction[axis].abs());
    let face = &FACES[number];
    let along = |(axis, sign): (usize, i32)| {
        let ratio = direction[axis] * sign as f32 / length;
        // Of the zero vector, and of infinities, the middle.
        if ratio.is_nan() { 0.5 } else { ratio * 0.5 + 0.5 }
    };
    OnFace { face: number as u32, position: [along(face.columns), along(face.rows)] }
}

/// How a change of direction moves the point on its face, in units of the face's edge.
pub fn project_derivative(direction: [f32; 3], change: [f32; 3]) -> [f32; 2] {
    let direction = numbers(direction);
    let axis = major_axis(direction);
    let (length, is_negative) = (direction[axis].abs(), direction[axis].is_sign_negative());
    let face = &FACES[face_across(axis, is_negative)];
    let lengthening = if is_negative { -change[axis] } else { change[axis] };
    [face.columns, face.rows].map(|(axis, sign)| {
        let sign = sign as f32;
        0.5 * (length * (change[axis] * sign) - direction[axis] * sign * lengthening) / (length * length)
    })
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

/// The columns or rows next to a position, and the weight of the second. They may be one beyond an edge.
pub fn linear(position: f32, size: u32) -> ([i32; 2], f32) {
    let (first, weight) = whole(position * size as f32 - 0.5);
    ([first, first + 1], weight)
}

/// The column or row of a position.
pub fn nearest(position: f32, size: u32) -> u32 {
    whole(position * size as f32).0.clamp(0, size as i32 - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

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
                        let texels = expected.position.map(|position| nearest(position, size as u32));
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
