//! Scan conversion of thin lines: the diamond rule (functional specification, 3.4.3).

use super::coverage::{Found, FoundQuads};
use super::shape::{Bounds, STEPS};

/// A line covers the pixels whose diamond it leaves on its way from one end to the other. The lower edges and the lower
/// corner belong to the diamond; of lines that go rather up or down, the right corner, too. Along a line that goes
/// rather sideways that is one pixel in each column at most, the one whose diamond has the line above the column's
/// centre.
pub(super) fn cover_line([from, to]: [[i32; 2]; 2], area: &Bounds, samples: u16, found: &mut FoundQuads) {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let (along, across) = if dx.abs() >= dy.abs() { (0, 1) } else { (1, 0) };
    let (first, end) = if along == 0 { (area.left, area.right) } else { (area.top, area.bottom) };
    for pair in (first & !1..end).step_by(2) {
        let places = [pair, pair + 1].map(|column| pixel_of_line(from, to, (along, across), column));
        let bit = |column: usize, place: i32| {
            let (x, y) = if along == 0 { (column, (place & 1) as usize) } else { ((place & 1) as usize, column) };
            2 * y + x
        };
        let mut quads = [None; 2];
        for (column, place) in places.into_iter().enumerate() {
            let Some(place) = place else { continue };
            let quad = match &mut quads[0] {
                Some((other, _)) if *other != place & !1 => &mut quads[1],
                quad => quad,
            };
            quad.get_or_insert((place & !1, [0; 4])).1[bit(column, place)] = samples;
        }
        for (place, mask) in quads.into_iter().flatten() {
            let at = if along == 0 { [pair, place] } else { [place, pair] };
            let mask = std::array::from_fn(|pixel| {
                let [x, y] = [at[0] + (pixel & 1) as i32, at[1] + (pixel >> 1) as i32];
                let is_inside = x >= area.left && x < area.right && y >= area.top && y < area.bottom;
                if is_inside { mask[pixel] } else { 0 }
            });
            found.add(Found { at, coverage: mask, alive: mask });
        }
    }
}

/// The pixel in a column, or in a row of a line that goes rather up or down, that the line covers.
fn pixel_of_line(from: [i32; 2], to: [i32; 2], (along, across): (usize, usize), column: i32) -> Option<i32> {
    let centre = column * STEPS + STEPS / 2;
    let (start, end) = (from[along], to[along]);
    let (way, rise) = (i64::from(end) - i64::from(start), i64::from(to[across]) - i64::from(from[across]));
    if way == 0 {
        return None;
    }
    let (least, most) = (start.min(end), start.max(end));
    if (least..=most).contains(&centre) {
        // Where the line is at the centre, in pixels, rounded up: a corner belongs to the pixel above or to the left.
        let scaled = (i64::from(from[across]) * way + i64::from(centre - start) * rise) * way.signum();
        let pixel = -(-scaled).div_euclid(way.abs() * i64::from(STEPS)) - 1;
        let pixel = pixel as i32;
        let is_left = !is_in_diamond(to, (along, across), (column, pixel));
        return is_left.then_some(pixel);
    }
    // The line begins behind the centre. It leaves the diamond if it begins in it and does not end in it.
    let pixel = from[across].div_euclid(STEPS);
    let is_begin = |place| is_in_diamond(from, (along, across), (column, place));
    let pixel = [pixel, pixel - 1].into_iter().find(|&place| is_begin(place))?;
    (!is_in_diamond(to, (along, across), (column, pixel))).then_some(pixel)
}

/// Whether a point is in the diamond of the pixel in that column and place across.
fn is_in_diamond(point: [i32; 2], (along, across): (usize, usize), (column, place): (i32, i32)) -> bool {
    let offset = |axis: usize, pixel: i32| i64::from(point[axis]) - i64::from(pixel * STEPS + STEPS / 2);
    let (a, b) = (offset(along, column), offset(across, place));
    let (x, y) = if along == 0 { (a, b) } else { (b, a) };
    let distance = x.abs() + y.abs();
    let half = i64::from(STEPS / 2);
    distance < half || (distance == half && (y > 0 || (along == 1 && x > 0 && y == 0)))
}
