//! Directions to faces, one at a time.

use super::address::{snap, whole};
use crate::texture::Precision;
use crate::texture::cube::{FACES, face_across};

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

/// The columns or rows next to a position, and the weight of the second. They may be one beyond an edge.
pub fn linear(position: f32, size: u32, precision: Precision) -> ([i32; 2], f32) {
    let (first, weight) = whole(snap(position * size as f32 - 0.5, precision));
    ([first, first + 1], weight)
}

/// The column or row of a position.
pub fn nearest(position: f32, size: u32, precision: Precision) -> u32 {
    whole(snap(position * size as f32, precision)).0.clamp(0, size as i32 - 1) as u32
}
