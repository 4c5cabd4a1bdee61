//! Scan conversion: which samples of which quads a shape covers. Half-space tests over blocks of 8 × 8 pixels, then
//! over quads (Pineda); for thin lines, the diamond rule.

use super::shape::{Bounds, Edge, Outline, STEPS, Shape};
use super::target::SamplePosition;
use std::ops::{Add, BitOr};

/// Samples of the four pixels of a quad, in the order (0, 0) (1, 0) (0, 1) (1, 1); sample n is bit n.
pub(super) type QuadMask = [u16; 4];

/// Pixels of a block's edge.
const BLOCK: i32 = 8;

/// The largest coefficient of edges whose functions fit 32 bits within 66 pixels of their corners: those of shapes of
/// up to 64 pixels.
const SMALL: u32 = 64 * STEPS as u32;

/// Every sample of a pixel.
pub(super) fn all(samples: &[SamplePosition]) -> u16 {
    ((1u32 << samples.len()) - 1) as u16
}

/// Calls `emit` with the position of each quad of which the shape covers samples inside `area`, and with their mask.
pub(super) fn cover(
    shape: &Shape,
    area: &Bounds,
    samples: &[SamplePosition],
    mut emit: impl FnMut(i32, i32, QuadMask),
) {
    let area = area.intersect(&shape.bounds);
    if area.is_empty() {
        return;
    }
    let mut emit_inside = |x: i32, y: i32, mut mask: QuadMask| {
        if x < area.left || y < area.top || x + 2 > area.right || y + 2 > area.bottom {
            for (lane, mask) in mask.iter_mut().enumerate() {
                let (x, y) = (x + lane as i32 % 2, y + lane as i32 / 2);
                if x < area.left || x >= area.right || y < area.top || y >= area.bottom {
                    *mask = 0;
                }
            }
        }
        if mask != [0; 4] {
            emit(x, y, mask);
        }
    };
    match shape.outline {
        Outline::Edges(4) => cover_edges::<4>(&shape.edges, &area, samples, &mut emit_inside),
        Outline::Edges(_) => {
            let [a, b, c, _] = shape.edges;
            cover_edges::<3>(&[a, b, c], &area, samples, &mut emit_inside);
        }
        Outline::Line(from, to) => cover_line(from, to, &area, all(samples), &mut emit_inside),
    }
}

fn cover_edges<const N: usize>(
    edges: &[Edge; N],
    area: &Bounds,
    samples: &[SamplePosition],
    emit: &mut impl FnMut(i32, i32, QuadMask),
) {
    let (width, height) = (area.right - area.left, area.bottom - area.top);
    let is_small = edges.iter().all(|edge| edge.a.unsigned_abs() <= SMALL && edge.b.unsigned_abs() <= SMALL);
    if is_small && width <= 64 && height <= 64 {
        return cover_quads::<N, i32>(edges, area, samples, emit);
    }
    let full = [all(samples); 4];
    for top in (area.top.div_euclid(BLOCK) * BLOCK..area.bottom).step_by(BLOCK as usize) {
        for left in (area.left.div_euclid(BLOCK) * BLOCK..area.right).step_by(BLOCK as usize) {
            let block = Bounds { left, top, right: left + BLOCK, bottom: top + BLOCK };
            // The least and the most of each edge function in the block.
            let ranges = edges.map(|edge| {
                let at = edge.at(left * STEPS, top * STEPS);
                let [a, b] = [edge.a, edge.b].map(|rise| i64::from(rise) * i64::from(BLOCK * STEPS));
                [at + a.min(0) + b.min(0), at + a.max(0) + b.max(0)]
            });
            if ranges.iter().any(|&[_, most]| most < 0) {
                continue;
            }
            if ranges.iter().all(|&[least, _]| least >= 0) {
                for quad in 0..BLOCK * BLOCK / 4 {
                    emit(left + quad % (BLOCK / 2) * 2, top + quad / (BLOCK / 2) * 2, full);
                }
                continue;
            }
            cover_quads::<N, i64>(edges, &block.intersect(area), samples, emit);
        }
    }
}

/// The integers that edge functions are computed in.
trait Integer: Copy + Default + PartialOrd + Add<Output = Self> + BitOr<Output = Self> {
    fn of(value: i64) -> Self;
}

impl Integer for i32 {
    #[inline(always)]
    fn of(value: i64) -> i32 {
        value as i32
    }
}

impl Integer for i64 {
    #[inline(always)]
    fn of(value: i64) -> i64 {
        value
    }
}

/// Tests every quad of an area.
#[inline(always)]
fn cover_quads<const N: usize, I: Integer>(
    edges: &[Edge; N],
    area: &Bounds,
    samples: &[SamplePosition],
    emit: &mut impl FnMut(i32, i32, QuadMask),
) {
    let (left, top) = (area.left & !1, area.top & !1);
    let zero = I::default();
    // A value is below 0 if its highest bit is set, so of several, if that of their union is.
    let lanes: [[I; 4]; N] = std::array::from_fn(|n| {
        let [right, down] = [edges[n].a, edges[n].b].map(|rise| i64::from(rise) * i64::from(STEPS));
        [0, right, down, right + down].map(I::of)
    });
    let right: [I; N] = std::array::from_fn(|n| I::of(i64::from(edges[n].a) * i64::from(2 * STEPS)));
    for y in (top..area.bottom).step_by(2) {
        let centre = [left * STEPS + STEPS / 2, y * STEPS + STEPS / 2];
        let mut at: [I; N] = std::array::from_fn(|n| I::of(edges[n].at(centre[0], centre[1])));
        for x in (left..area.right).step_by(2) {
            let mask: QuadMask = if let [_] = samples {
                std::array::from_fn(|lane| {
                    let signs = (0..N).fold(zero, |signs, n| signs | (at[n] + lanes[n][lane]));
                    u16::from(signs >= zero)
                })
            } else {
                let mut mask = [0; 4];
                for (number, position) in samples.iter().enumerate() {
                    let offset: [I; N] = std::array::from_fn(|n| {
                        let [right, down] = position.map(|sixteenths| i64::from(sixteenths) * i64::from(STEPS / 16));
                        at[n] + I::of(i64::from(edges[n].a) * right + i64::from(edges[n].b) * down)
                    });
                    for (lane, mask) in mask.iter_mut().enumerate() {
                        let signs = (0..N).fold(zero, |signs, n| signs | (offset[n] + lanes[n][lane]));
                        *mask |= u16::from(signs >= zero) << number;
                    }
                }
                mask
            };
            if mask != [0; 4] {
                emit(x, y, mask);
            }
            at = std::array::from_fn(|n| at[n] + right[n]);
        }
    }
}

/// A line covers the pixels whose diamond it leaves on its way from one end to the other. The lower edges and the lower
/// corner belong to the diamond; of lines that go rather up or down, the right corner, too. Along a line that goes
/// rather sideways that is one pixel in each column at most, the one whose diamond has the line above the column's
/// centre.
fn cover_line(from: [i32; 2], to: [i32; 2], area: &Bounds, samples: u16, emit: &mut impl FnMut(i32, i32, QuadMask)) {
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
            let (x, y) = if along == 0 { (pair, place) } else { (place, pair) };
            emit(x, y, mask);
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
