//! Attribute set-up: the plane equations of a shape's attributes, those of many attributes at once.

use super::link::Link;
use super::shape::Shape;
use crate::call::Plane;
use crate::simd::{Array, Floats, Task, Words};
use std::ops::{Add, Mul, Sub};

/// Words of the corners of a shape, attribute by attribute, each corner's padded to whole vectors.
#[derive(Debug, Default)]
pub(super) struct Corners {
    words: Vec<u32>,
    padded: usize,
}

impl Corners {
    /// For so many attributes.
    pub fn resize(&mut self, count: usize) {
        self.padded = padded(count);
        self.words.resize((Corners::LEADING + 1) * self.padded, 0);
    }

    /// The leading vertex, whose attributes those are that are not interpolated; before it are the three corners.
    pub const LEADING: usize = 3;

    pub fn of(&mut self, corner: usize) -> &mut [u32] {
        &mut self.words[corner * self.padded..(corner + 1) * self.padded]
    }
}

/// Rounded up to whole vectors of any machine.
pub(super) fn padded(count: usize) -> usize {
    count.next_multiple_of(Array::default().len())
}

/// Value at the first corner, and changes to the right and downwards, of the plane with these values at the corners:
/// of one attribute, or of one in each lane.
#[inline(always)]
fn through<N: Copy + Add<Output = N> + Sub<Output = N> + Mul<Output = N>>(
    [first, second, third]: [N; 3],
    [right, down]: [[N; 2]; 2],
) -> [N; 3] {
    let (to_second, to_third) = (second - first, third - first);
    [first, to_second * right[0] + to_third * right[1], to_second * down[0] + to_third * down[1]]
}

/// The plane of 1 / w.
pub(super) fn reciprocal_w(shape: &Shape) -> Plane {
    let [value, dx, dy] = through(shape.inverse_w, [0, 1].map(|axis| [shape.second[axis], shape.third[axis]]));
    Plane { value, dx, dy }
}

/// Adds the planes of a shape's attributes.
pub(super) struct AddPlanes<'p> {
    pub link: &'p Link,
    pub shape: &'p Shape,
    pub corners: &'p Corners,
    pub planes: &'p mut Vec<Plane>,
}

impl<F: Floats> Task<F> for AddPlanes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddPlanes { link, shape, corners: Corners { words, padded }, planes } = self;
        let all = F::Words::all(u32::MAX);
        let mut rises = [[F::all(0.0); 2]; 2];
        for (axis, rises) in rises.iter_mut().enumerate() {
            *rises = [F::all(shape.second[axis]), F::all(shape.third[axis])];
        }
        for start in (0..link.planes.len()).step_by(F::LANES) {
            let divides = load::<F>(&link.in_perspective, start).equals(all);
            let is_constant = load::<F>(&link.is_constant, start).equals(all);
            let mut values = [F::all(0.0); 3];
            for (corner, value) in values.iter_mut().enumerate() {
                let whole = load::<F>(words, corner * padded + start).as_floats();
                *value = (whole * F::all(shape.inverse_w[corner])).or_where_not(divides, whole);
            }
            let [value, dx, dy] = through(values, rises);
            // Words that are taken as they are may be no floats.
            let leading = load::<F>(words, Corners::LEADING * padded + start);
            let value = leading.or_where_not(is_constant, value.bits()).to_array();
            let flat = F::all(0.0);
            let [dx, dy] = [flat.or_where_not(is_constant, dx), flat.or_where_not(is_constant, dy)];
            let [dx, dy] = [dx.bits().to_array(), dy.bits().to_array()];
            let count = (link.planes.len() - start).min(F::LANES);
            planes.extend(value.iter().zip(&dx).zip(&dy).take(count).map(|((&value, &dx), &dy)| Plane {
                value: f32::from_bits(value),
                dx: f32::from_bits(dx),
                dy: f32::from_bits(dy),
            }));
        }
    }
}

/// As many words from a place on as a vector has.
#[inline(always)]
fn load<F: Floats>(words: &[u32], start: usize) -> F::Words {
    let mut array: Array = [0; _];
    array[..F::LANES].copy_from_slice(&words[start..start + F::LANES]);
    F::Words::from_array(&array)
}
