//! Attribute evaluation: planes at pixels, and what else a pixel reads, as rows of 16 bytes.
//!
//! An attribute in perspective is a plane divided by the plane of 1/w (16.4 of the Direct3D 11.3 functional
//! specification). Sums and products are rounded one by one, on every machine.

use super::quad::{Plane, Primitive, Quad, Quads};
use crate::frontend::pixel::{HiddenInput, Interpolation, Location, PixelInput, PixelInterface, sample_positions};
use crate::simd::{Array, Floats, Machine, Task, Words};
use std::ops::Range;

/// Quads whose rows are made before any is shaded: few enough to stay in a cache, enough for a call to cost little.
pub(super) const QUADS_AT_ONCE: usize = 64;

/// Bytes of a row.
pub(super) const ROW_BYTES: usize = 16;

/// Points of four pixels, from the origin of their primitive, and w there: x of each, y of each, w of each. They are a
/// table that vectors look up.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Points([u32; 16]);

impl Points {
    /// Where in the table they begin.
    const X: u32 = 0;
    const Y: u32 = 4;
    const W: u32 = 8;

    pub const ZERO: Points = Points([0; 16]);

    fn new(x: [f32; 4], y: [f32; 4], reciprocal_w: &Plane) -> Points {
        let mut points = Points::ZERO;
        points.set(Points::X, x);
        points.set(Points::Y, y);
        points.set(Points::W, points.at(reciprocal_w).map(|reciprocal| 1.0 / reciprocal));
        points
    }

    fn set(&mut self, first: u32, values: [f32; 4]) {
        self.0.as_chunks_mut::<4>().0[first as usize / 4] = values.map(f32::to_bits);
    }

    fn get(&self, first: u32) -> [f32; 4] {
        self.0.as_chunks::<4>().0[first as usize / 4].map(f32::from_bits)
    }

    fn at(&self, plane: &Plane) -> [f32; 4] {
        let (x, y) = (self.get(Points::X), self.get(Points::Y));
        std::array::from_fn(|pixel| plane.value + plane.dx * x[pixel] + plane.dy * y[pixel])
    }
}

/// Some of a call's quads.
pub(super) struct Chunk<'c> {
    pixel: &'c PixelInterface,
    all: &'c Quads<'c>,
    quads: &'c [Quad],
    points: &'c PointsOfQuads,
}

/// By [`Location`], the points of the quads of a chunk.
pub(super) type PointsOfQuads = [[Points; QUADS_AT_ONCE]; 3];

const LOCATIONS: [Location; 3] = [Location::Centre, Location::Centroid, Location::Sample];

impl<'c> Chunk<'c> {
    /// At most [`QUADS_AT_ONCE`] quads. Points that some input is evaluated at are computed, in `memory`.
    pub fn new(
        pixel: &'c PixelInterface,
        all: &'c Quads<'c>,
        quads: &'c [Quad],
        memory: &'c mut PointsOfQuads,
    ) -> Chunk<'c> {
        for location in LOCATIONS {
            let is_used = pixel.inputs.iter().any(|input| match *input {
                PixelInput::Attribute { location: at, .. } | PixelInput::Position(at) => at == location,
                _ => false,
            });
            if is_used || location == Location::Centre && !pixel.hidden.is_empty() {
                for (points, quad) in memory[location as usize].iter_mut().zip(quads) {
                    let offsets = offsets(location, quad, all.samples);
                    *points = place(quad, &all.primitives[quad.primitive as usize], offsets);
                }
            }
        }
        Chunk { pixel, all, quads, points: memory }
    }

    /// Number of pixels.
    pub fn rows(&self) -> u32 {
        4 * self.quads.len() as u32
    }

    fn primitive(&self, quad: &Quad) -> &'c Primitive {
        &self.all.primitives[quad.primitive as usize]
    }

    /// Writes what the pixels read of an element, a row each.
    pub fn evaluate(&self, machine: Machine, element: usize, rows: &mut [[u8; ROW_BYTES]]) {
        let pixel = self.pixel;
        match pixel.inputs.get(element) {
            Some(&PixelInput::Attribute { interpolation, location, plane }) => {
                let planes = self.planes_of(element, plane);
                machine.run(Attribute { chunk: self, planes, interpolation, location, rows });
            }
            Some(&PixelInput::Position(location)) => self.position(location, rows),
            Some(PixelInput::FrontFace) => {
                self.constant(rows, |quad, _| if self.primitive(quad).front_face { u32::MAX } else { 0 });
            }
            Some(PixelInput::PrimitiveId) => self.constant(rows, |quad, _| self.primitive(quad).id),
            Some(PixelInput::SampleIndex) => self.constant(rows, |quad, _| quad.sample.into()),
            Some(PixelInput::Coverage) => self.constant(rows, |quad, pixel| quad.coverage[pixel].into()),
            Some(PixelInput::InnerCoverage) => self.constant(rows, |_, _| 0),
            None => self.hidden(pixel.hidden[element - pixel.inputs.len()], rows),
        }
    }

    /// The numbers of an element's planes among those of a primitive.
    fn planes_of(&self, element: usize, first: u32) -> Range<usize> {
        let behind = self.pixel.inputs[element + 1..].iter().find_map(|input| match *input {
            PixelInput::Attribute { plane, .. } => Some(plane),
            _ => None,
        });
        first as usize..behind.unwrap_or(self.pixel.planes) as usize
    }

    fn planes(&self, quad: &Quad, numbers: &Range<usize>) -> &'c [Plane] {
        let first = quad.primitive as usize * self.pixel.planes as usize;
        &self.all.planes[first + numbers.start..first + numbers.end]
    }

    /// Each pixel's word, the first of its row.
    fn constant(&self, rows: &mut [[u8; ROW_BYTES]], word: impl Fn(&Quad, usize) -> u32) {
        for (rows, quad) in rows.as_chunks_mut::<4>().0.iter_mut().zip(self.quads) {
            for (pixel, row) in rows.iter_mut().enumerate() {
                set(row, 0, word(quad, pixel));
            }
        }
    }

    fn position(&self, location: Location, rows: &mut [[u8; ROW_BYTES]]) {
        let points = &self.points[location as usize];
        for ((rows, quad), points) in rows.as_chunks_mut::<4>().0.iter_mut().zip(self.quads).zip(points) {
            // From the target's corner: offsets from the primitive's origin are rounded.
            let [x, y] = in_target(quad, offsets(location, quad, self.all.samples));
            set_all(rows, 0, x);
            set_all(rows, 1, y);
            set_all(rows, 2, points.at(&self.primitive(quad).depth));
            set_all(rows, 3, points.get(Points::W));
        }
    }

    fn hidden(&self, hidden: HiddenInput, rows: &mut [[u8; ROW_BYTES]]) {
        match hidden {
            HiddenInput::Live => self.constant(rows, |quad, pixel| (quad.live >> pixel & 1).into()),
            HiddenInput::Value(element) => self.pulled(element, rows, |points, plane| points.at(plane)),
            HiddenInput::ChangeX(element) => self.pulled(element, rows, |_, plane| [plane.dx; 4]),
            HiddenInput::ChangeY(element) => self.pulled(element, rows, |_, plane| [plane.dy; 4]),
            HiddenInput::ReciprocalW => {
                let points = &self.points[Location::Centre as usize];
                for ((rows, quad), points) in rows.as_chunks_mut::<4>().0.iter_mut().zip(self.quads).zip(points) {
                    let plane = &self.primitive(quad).reciprocal_w;
                    set_all(rows, 0, points.at(plane));
                    set_all(rows, 1, [plane.dx; 4]);
                    set_all(rows, 2, [plane.dy; 4]);
                }
            }
            HiddenInput::Centroid => {
                for (rows, quad) in rows.as_chunks_mut::<4>().0.iter_mut().zip(self.quads) {
                    let [x, y] = offsets(Location::Centroid, quad, self.all.samples);
                    set_all(rows, 0, x);
                    set_all(rows, 1, y);
                }
            }
        }
    }

    /// What is to be known of the planes of an attribute.
    fn pulled(&self, element: u32, rows: &mut [[u8; ROW_BYTES]], of: impl Fn(&Points, &Plane) -> [f32; 4]) {
        let Some(&PixelInput::Attribute { plane, .. }) = self.pixel.inputs.get(element as usize) else { return };
        let numbers = self.planes_of(element as usize, plane);
        let points = &self.points[Location::Centre as usize];
        for ((rows, quad), points) in rows.as_chunks_mut::<4>().0.iter_mut().zip(self.quads).zip(points) {
            for (component, plane) in self.planes(quad, &numbers).iter().enumerate() {
                set_all(rows, component, of(points, plane));
            }
        }
    }
}

/// Evaluates an attribute at pixels: a row of each is four lanes of a vector.
struct Attribute<'c, 'r> {
    chunk: &'r Chunk<'c>,
    /// The numbers of its planes among those of a primitive.
    planes: Range<usize>,
    interpolation: Interpolation,
    location: Location,
    rows: &'r mut [[u8; ROW_BYTES]],
}

impl<F: Floats> Task<F> for Attribute<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Attribute { chunk, planes, interpolation, location, rows } = self;
        let at_once = F::LANES / 4;
        let mut primitive = None;
        let [mut value, mut dx, mut dy] = [F::all(0.0); 3];
        let (quads, points) = (chunk.quads, &chunk.points[location as usize]);
        for ((rows, quad), points) in rows.as_chunks_mut::<4>().0.iter_mut().zip(quads).zip(points) {
            if primitive != Some(quad.primitive) {
                primitive = Some(quad.primitive);
                let mut components = [[0; 4]; 3];
                for (component, plane) in chunk.planes(quad, &planes).iter().enumerate().take(4) {
                    let parts = [plane.value, plane.dx, plane.dy].map(f32::to_bits);
                    components.iter_mut().zip(parts).for_each(|(components, part)| components[component] = part);
                }
                [value, dx, dy] = [repeated(components[0]), repeated(components[1]), repeated(components[2])];
            }
            for (first, rows) in (0..4).step_by(at_once).zip(rows.chunks_exact_mut(at_once)) {
                let of_pixels = |from: u32| of_each::<F>(from + first).entries_of(&points.0).as_floats();
                // As `Points::at`, to the bit.
                let at = || value + dx * of_pixels(Points::X) + dy * of_pixels(Points::Y);
                let values = match interpolation {
                    Interpolation::Constant => value,
                    Interpolation::NoPerspective => at(),
                    Interpolation::Perspective => at() * of_pixels(Points::W),
                };
                let words = values.bits().to_array();
                for (row, words) in rows.iter_mut().zip(words.as_chunks::<4>().0) {
                    *row = bytes_of(*words);
                }
            }
        }
    }
}

/// Four components, again and again.
#[inline(always)]
fn repeated<F: Floats>(components: [u32; 4]) -> F {
    let mut words: Array = [0; _];
    words.as_chunks_mut::<4>().0.fill(components);
    F::Words::from_array(&words).as_floats()
}

/// A number in the lanes of the first row, and one more in those of each row behind.
#[inline(always)]
fn of_each<F: Floats>(first: u32) -> F::Words {
    const ROWS: Array = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3];
    F::Words::from_array(&ROWS) + F::Words::all(first)
}

/// Where in each pixel of a quad a location is, from the pixel's centre: x and y.
fn offsets(location: Location, quad: &Quad, samples: u32) -> [[f32; 4]; 2] {
    if location == Location::Centre {
        return [[0.0; 4]; 2];
    }
    let of_sample = |sample: usize| {
        let position = sample_positions(samples).get(sample).copied().unwrap_or_default();
        position.map(|sixteenths| f32::from(sixteenths) / 16.0)
    };
    let of_pixel = |coverage: u16| match location {
        Location::Centre => [0.0; 2],
        Location::Sample => of_sample(quad.sample.into()),
        Location::Centroid => {
            let all = (1u32 << samples) - 1;
            let covered = u32::from(coverage) & all;
            if covered == 0 || covered == all { [0.0; 2] } else { of_sample(covered.trailing_zeros() as usize) }
        }
    };
    let pixels = quad.coverage.map(of_pixel);
    [pixels.map(|[x, _]| x), pixels.map(|[_, y]| y)]
}

/// Those places in the target.
fn in_target(quad: &Quad, [x, y]: [[f32; 4]; 2]) -> [[f32; 4]; 2] {
    let (left, upper) = (quad.x as f32 + 0.5, quad.y as f32 + 0.5);
    [
        std::array::from_fn(|pixel| left + (pixel & 1) as f32 + x[pixel]),
        std::array::from_fn(|pixel| upper + (pixel >> 1) as f32 + y[pixel]),
    ]
}

/// Those places from the origin of the primitive, with w.
fn place(quad: &Quad, primitive: &Primitive, offsets: [[f32; 4]; 2]) -> Points {
    let [x, y] = in_target(quad, offsets);
    let [left, upper] = primitive.origin;
    Points::new(x.map(|x| x - left), y.map(|y| y - upper), &primitive.reciprocal_w)
}

#[inline(always)]
fn bytes_of(words: [u32; 4]) -> [u8; ROW_BYTES] {
    let mut bytes = [0; ROW_BYTES];
    for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

fn set(row: &mut [u8; ROW_BYTES], component: usize, word: u32) {
    row.as_chunks_mut::<4>().0[component] = word.to_le_bytes();
}

fn set_all(rows: &mut [[u8; ROW_BYTES]; 4], component: usize, values: [f32; 4]) {
    for (row, value) in rows.iter_mut().zip(values) {
        set(row, component, value.to_bits());
    }
}
