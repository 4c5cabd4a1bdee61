//! Domain points: rings about the middle of the patch, the outermost first.

use super::division::{Division, Fixed, ONE, Parity};
use super::factors::{Divisions, Lines};

/// A point in fixed point: u, v.
pub(super) type Point = [Fixed; 2];

/// Two thirds: what the distance of a ring from an edge is in barycentric coordinates, where the middle is at 1/3.
const TWO_THIRDS: u32 = 2 * ONE / 3;
const THIRD: Fixed = ONE / 3;
const MIDDLE: Fixed = ONE / 2;

/// Points of a ring of the inside along one axis, both ends among them.
pub(super) fn across(division: &Division, ring: u32) -> u32 {
    division.points.saturating_sub(2 * ring)
}

/// Where all points of an edge lie; there are at most 65.
fn places(division: &Division) -> [Fixed; 66] {
    std::array::from_fn(|number| if (number as u32) < division.points { division.place(number as u32) } else { 0 })
}

/// The points of a triangle: its edges are `u = 0`, `v = 0` and `w = 0`.
pub(super) fn triangle(divisions: &Divisions, mut point: impl FnMut(Point)) {
    for (edge, division) in divisions.edges[..3].iter().enumerate() {
        let last = division.points - 1;
        for number in 0..last {
            let place = division.place(if edge == 1 { number } else { last - number });
            point(match edge {
                0 => [0, place],
                1 => [place, 0],
                _ => [place, ONE - place],
            });
        }
    }
    if divisions.undivided {
        return;
    }
    let inside = &divisions.inside[0];
    let at = places(inside);
    for ring in 1..inside.points / 2 {
        let (first, last) = (ring, inside.points - 1 - ring);
        let distance = (at[ring as usize] * TWO_THIRDS + ONE / 2) >> 16;
        for edge in 0..3 {
            for number in first..last {
                let place = at[(if edge == 1 { number } else { first + last - number }) as usize];
                let place = place - distance.div_ceil(2);
                point(match edge {
                    0 => [distance, place],
                    1 => [place, distance],
                    _ => [place, ONE - place - distance],
                });
            }
        }
    }
    if inside.parity == Parity::Even {
        point([THIRD, THIRD]);
    }
}

/// The points of a quad: its edges are `u = 0`, `v = 0`, `u = 1` and `v = 1`.
pub(super) fn quad(divisions: &Divisions, mut point: impl FnMut(Point)) {
    if divisions.undivided {
        return [[0, 0], [ONE, 0], [ONE, ONE], [0, ONE]].into_iter().for_each(point);
    }
    for (edge, division) in divisions.edges.iter().enumerate() {
        let last = division.points - 1;
        for number in 0..last {
            let place = division.place(if matches!(edge, 1 | 2) { number } else { last - number });
            point(match edge {
                0 => [0, place],
                1 => [place, 0],
                2 => [ONE, place],
                _ => [place, ONE],
            });
        }
    }
    let [u, v] = &divisions.inside;
    let [at_u, at_v] = [u, v].map(places);
    let (at_u, at_v) = (|number: u32| at_u[number as usize], |number: u32| at_v[number as usize]);
    let rings = u.points.min(v.points) / 2;
    for ring in 1..rings {
        let last = [u.points - 1 - ring, v.points - 1 - ring];
        let (left, right, top, bottom) = (at_u(ring), at_u(last[0]), at_v(ring), at_v(last[1]));
        (ring..last[1]).rev().for_each(|number| point([left, at_v(number + 1)]));
        (ring..last[0]).for_each(|number| point([at_u(number), top]));
        (ring..last[1]).for_each(|number| point([right, at_v(number)]));
        (ring..last[0]).rev().for_each(|number| point([at_u(number + 1), bottom]));
    }
    // The innermost ring of an axis with a point in its middle is a row, or one point.
    if u.points > v.points && v.parity == Parity::Even {
        (rings..u.points - rings).for_each(|number| point([at_u(number), MIDDLE]));
    } else if v.points >= u.points && u.parity == Parity::Even {
        (rings..v.points - rings).rev().for_each(|number| point([MIDDLE, at_v(number)]));
    }
}

/// The points of an isoline patch, line by line. There is none at `v = 1`.
pub(super) fn lines(lines: &Lines, mut point: impl FnMut(Point)) {
    let details = places(&lines.detail);
    for line in 0..lines.density.points - 1 {
        let v = lines.density.place(line);
        details[..lines.detail.points as usize].iter().for_each(|&u| point([u, v]));
    }
}
