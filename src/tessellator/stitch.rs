//! Triangles between two rows of domain points: one side of a ring and the next ring's, and what is left in the middle.

use super::division::{Division, Parity, appears_behind};
use super::factors::Divisions;
use super::points::across;

/// A ring of points that lie one behind the other, counted on beyond its end. Where it has no area it is a row, which
/// is gone back along.
#[derive(Clone, Copy)]
struct Ring {
    /// Number of its first point.
    first: u32,
    /// Whether it is a row.
    row: bool,
    /// Steps once around.
    steps: u32,
}

impl Ring {
    /// The point so many steps from the first.
    fn at(&self, step: u32) -> u32 {
        let step = step.checked_rem(self.steps).unwrap_or(0);
        self.first + if self.row { step.min(self.steps - step) } else { step }
    }
}

/// Points of a ring along each of its sides, both ends among them.
type Sides<const N: usize> = [u32; N];

/// Takes the triangles of a patch, each clockwise.
pub(super) trait Triangles: FnMut([u32; 3]) {}
impl<F: FnMut([u32; 3])> Triangles for F {}

/// The triangles of a triangular patch.
pub(super) fn triangle(divisions: &Divisions, mut emit: impl Triangles) {
    if divisions.undivided {
        return emit([0, 1, 2]);
    }
    let inside = &divisions.inside[0];
    let last = rings(
        divisions,
        divisions.edges.first_chunk().expect("there are four"),
        |ring| {
            let points = across(inside, ring);
            (points > 0).then_some(([points; 3], false))
        },
        &mut emit,
    );
    if inside.parity == Parity::Odd {
        emit([last.at(0), last.at(1), last.at(2)]);
    }
}

/// The triangles of a quad.
pub(super) fn quad(divisions: &Divisions, mut emit: impl Triangles) {
    if divisions.undivided {
        emit([0, 1, 3]);
        return emit([1, 2, 3]);
    }
    let [u, v] = &divisions.inside;
    let last = rings(
        divisions,
        &divisions.edges,
        |ring| {
            let [across_u, across_v] = [u, v].map(|axis| across(axis, ring));
            let narrow = across_u.min(across_v);
            (narrow > 0).then_some(([across_v, across_u, across_v, across_u], narrow == 1))
        },
        &mut emit,
    );
    // An odd axis leaves a row of quads along the other one. Its diagonals are what makes a square's a Z (11.7.6).
    let quads = |long: &Division, short: &Division| long.points - short.points + 2;
    if u.points > v.points && v.parity == Parity::Odd {
        let points = quads(u, v);
        regular(Diagonals::Forward, points, |i| last.at(2 * points - i), |i| last.at(1 + i), &mut emit);
    } else if v.points >= u.points && u.parity == Parity::Odd {
        let points = quads(v, u);
        let diagonals = if v.parity == Parity::Even { Diagonals::Forward } else { Diagonals::ForwardButForTheMiddle };
        regular(diagonals, points, |i| last.at(2 * points - 1 - i), |i| last.at(i), &mut emit);
    }
}

/// Stitches every ring to the one inside it, and gives the innermost. `sides` says the sides of a ring of the inside
/// and whether it is a row, or that there is no such ring.
fn rings<const N: usize>(
    divisions: &Divisions,
    edges: &[Division; N],
    sides: impl Fn(u32) -> Option<(Sides<N>, bool)>,
    emit: &mut impl Triangles,
) -> Ring {
    let mut outer_sides = edges.map(|edge| edge.points);
    let steps = |sides: Sides<N>| sides.iter().map(|points| points - 1).sum::<u32>();
    let mut outer = Ring { first: 0, row: false, steps: steps(outer_sides) };
    let mut ring = 1;
    while let Some((inner_sides, row)) = sides(ring) {
        let inner = Ring { first: outer.first + outer.steps, row, steps: steps(inner_sides) };
        let (mut inner_step, mut outer_step) = (0, 0);
        for side in 0..N {
            let inside = |i| inner.at(inner_step + i);
            let outside = |i| outer.at(outer_step + i);
            if ring == 1 {
                // The sides of a quad run along v, u, v and u.
                let axis = &divisions.inside[(side + 1) % 2];
                transition(axis, &edges[side], inside, outside, emit);
            } else {
                trapezoid(inner_sides[side], inside, outside, emit);
            }
            inner_step += inner_sides[side] - 1;
            outer_step += outer_sides[side] - 1;
        }
        (outer, outer_sides) = (inner, inner_sides);
        ring += 1;
    }
    outer
}

/// Stitches two sides of different divisions: the outer edge and the inside's. Every point appears where the ruler
/// function puts it on half the side, and makes a triangle with the point that the other side has reached.
fn transition(
    inside_division: &Division,
    outside_division: &Division,
    inside: impl Fn(u32) -> u32,
    outside: impl Fn(u32) -> u32,
    emit: &mut impl Triangles,
) {
    let [inside_half, outside_half] =
        [inside_division, outside_division].map(|division| division.half - u32::from(division.parity == Parity::Odd));
    let (mut i, mut o) = (0, 0);
    let mut walk = Walk { i: &mut i, o: &mut o, inside: &inside, outside: &outside, emit };
    let places = || 1..=32u32;
    // The end is there always; the inside's belongs to the side before.
    if outside_half > 0 {
        walk.advance_outside();
    }
    for place in places() {
        let number = appears_behind(place);
        if number < inside_half {
            walk.advance_inside();
        }
        if number < outside_half {
            walk.advance_outside();
        }
    }
    match (inside_division.parity, outside_division.parity) {
        (Parity::Even, Parity::Even) => {}
        (Parity::Odd, Parity::Odd) => walk.advance_both(),
        (Parity::Even, Parity::Odd) => walk.advance_outside_from_inside(),
        (Parity::Odd, Parity::Even) => walk.advance_inside(),
    }
    for place in places().rev() {
        let number = appears_behind(place);
        if number < outside_half {
            walk.advance_outside();
        }
        if number < inside_half {
            walk.advance_inside();
        }
    }
    if outside_half > 0 {
        walk.advance_outside();
    }
}

/// Where two sides have been stitched up to.
struct Walk<'w, I, O, E> {
    i: &'w mut u32,
    o: &'w mut u32,
    inside: &'w I,
    outside: &'w O,
    emit: &'w mut E,
}

impl<I: Fn(u32) -> u32, O: Fn(u32) -> u32, E: Triangles> Walk<'_, I, O, E> {
    fn advance_outside(&mut self) {
        (self.emit)([(self.outside)(*self.o), (self.outside)(*self.o + 1), (self.inside)(*self.i)]);
        *self.o += 1;
    }

    fn advance_outside_from_inside(&mut self) {
        (self.emit)([(self.inside)(*self.i), (self.outside)(*self.o), (self.outside)(*self.o + 1)]);
        *self.o += 1;
    }

    fn advance_inside(&mut self) {
        (self.emit)([(self.inside)(*self.i), (self.outside)(*self.o), (self.inside)(*self.i + 1)]);
        *self.i += 1;
    }

    fn advance_both(&mut self) {
        self.advance_inside();
        (self.emit)([(self.inside)(*self.i), (self.outside)(*self.o), (self.outside)(*self.o + 1)]);
        *self.o += 1;
    }
}

/// Which way the diagonals of a row of quads go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Diagonals {
    /// From the inside forward to the outside.
    Forward,
    /// Forward, but for the diagonal of the quad in the middle.
    ForwardButForTheMiddle,
    /// Towards the nearer corner.
    Mirrored,
}

/// Stitches two sides of the same division: a row of quads with a triangle at each end.
fn trapezoid(points: u32, inside: impl Fn(u32) -> u32, outside: impl Fn(u32) -> u32, emit: &mut impl Triangles) {
    emit([outside(0), outside(1), inside(0)]);
    regular(Diagonals::Mirrored, points, &inside, |i| outside(i + 1), emit);
    emit([outside(points), outside(points + 1), inside(points - 1)]);
}

/// A row of quads between two rows of so many points.
fn regular(
    diagonals: Diagonals,
    points: u32,
    inside: impl Fn(u32) -> u32,
    outside: impl Fn(u32) -> u32,
    emit: &mut impl Triangles,
) {
    for i in 0..points - 1 {
        let (near, far) = ([inside(i), inside(i + 1)], [outside(i), outside(i + 1)]);
        let backward = match diagonals {
            Diagonals::Forward => false,
            Diagonals::ForwardButForTheMiddle => i == points / 2 - 1,
            Diagonals::Mirrored => i < points / 2,
        };
        if backward {
            emit([far[0], near[1], near[0]]);
            emit([far[0], far[1], near[1]]);
        } else if diagonals == Diagonals::ForwardButForTheMiddle {
            emit([far[0], far[1], near[0]]);
            emit([near[0], far[1], near[1]]);
        } else {
            emit([near[0], far[0], far[1]]);
            emit([near[0], far[1], near[1]]);
        }
    }
}
