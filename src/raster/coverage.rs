//! Scan conversion of what has edges: which samples of which quads it covers. Half-space tests (Pineda) of many pixels
//! at once.

use super::depth::PlainDepth;
use super::shape::{Bounds, Edge, Outline, STEPS, Shape};
use super::target::{SamplePosition, TILE};
use crate::simd::{Array, Floats, Machine, Mask, Task, Words};

/// Samples of the four pixels of a quad, in the order (0, 0) (1, 0) (0, 1) (1, 1); sample n is bit n.
pub(super) type QuadMask = [u16; 4];

/// A quad of which a shape covers samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Position of the first pixel.
    pub at: [i32; 2],
    pub coverage: QuadMask,
    /// What is left of the coverage.
    pub alive: QuadMask,
}

/// The quads of a shape in a tile.
pub(super) struct FoundQuads {
    /// As many as a tile has: there is always a place, so code that adds some calls nothing.
    quads: Box<[Found]>,
    count: usize,
}

impl Default for FoundQuads {
    fn default() -> FoundQuads {
        FoundQuads { quads: vec![Found::default(); TILE * TILE / 4].into(), count: 0 }
    }
}

impl FoundQuads {
    pub fn clear(&mut self) {
        self.count = 0;
    }

    pub fn all(&mut self) -> &mut [Found] {
        &mut self.quads[..self.count]
    }

    /// Adds a quad if some of it is alive, without a branch that depends on it.
    #[inline(always)]
    pub fn add(&mut self, quad: Found) {
        if let Some(place) = self.quads.get_mut(self.count) {
            *place = quad;
            self.count += usize::from(quad.alive != [0; 4]);
        }
    }
}

/// Every sample of a pixel.
pub(super) fn all(samples: &[SamplePosition]) -> u16 {
    ((1u32 << samples.len()) - 1) as u16
}

/// Finds the quads that a shape with edges covers, some columns of two rows at once.
pub(super) struct Cover<'c> {
    pub shape: &'c Shape,
    /// Pixels of one tile that may be covered; there are some.
    pub area: Bounds,
    pub samples: &'static [SamplePosition],
    /// Those of the samples that count.
    pub sample_mask: u16,
    /// The depth test of pixels with one sample, if it is to be made here.
    pub depth: Option<PlainDepth<'c>>,
    /// Gets the quads with samples that are alive, from the top to the bottom.
    pub found: &'c mut FoundQuads,
}

impl Cover<'_> {
    /// With the vectors of this machine.
    pub fn run(self, machine: Machine) {
        match (self.shape.outline, self.samples) {
            (Outline::Triangle, [_]) => machine.run(CoverBy::<3, false>(self)),
            (Outline::Triangle, _) => machine.run(CoverBy::<3, true>(self)),
            (_, [_]) => machine.run(CoverBy::<4, false>(self)),
            _ => machine.run(CoverBy::<4, true>(self)),
        }
    }
}

/// By so many edges.
struct CoverBy<'c, const EDGES: usize, const HAS_MANY_SAMPLES: bool>(Cover<'c>);

/// Edge functions among the pixels of a tile, divided by [`STEPS`] and rounded down, which leaves their signs. One that
/// is below 0 somewhere and not everywhere is in the range of 32 bits on all of the tile, for its coefficients are at
/// most 2^24.
struct EdgesInTile<const EDGES: usize> {
    /// At the first sample of the first pixel.
    first: [i32; EDGES],
    /// How much more they are at each sample.
    more: [[i32; EDGES]; 16],
    /// Their changes to the right and downwards.
    right: [i32; EDGES],
    down: [i32; EDGES],
}

impl<F: Floats, const EDGES: usize, const HAS_MANY_SAMPLES: bool> Task<F> for CoverBy<'_, EDGES, HAS_MANY_SAMPLES> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let across = F::LANES as i32 / 2;
        let Bounds { left, top, right, bottom } = self.0.area;
        let [first_x, first_y] = [left & !(across - 1), top & !1];
        let Some(edges) = self.edges_in_tile([first_x, first_y]) else { return };
        let word = |value: i32| F::Words::all(value as u32);
        let [x, y] = places::<F>();
        let is_second_row = word(0) - y;
        let [mut at_row, mut right_step, mut down_step] = [[x; EDGES]; 3];
        for n in 0..EDGES {
            at_row[n] = word(edges.first[n]) + x * word(edges.right[n]) + (is_second_row & word(edges.down[n]));
            right_step[n] = word(edges.right[n].wrapping_mul(across));
            down_step[n] = word(edges.down[n].wrapping_mul(2));
        }
        let [x, y] = [x + word(first_x), y + word(first_y)];
        let mut rows = y;
        for row in (first_y..bottom).step_by(2) {
            // The area's own edges: a lane is outside if the sign of any is set.
            let in_row = (rows - word(top)) | (word(bottom - 1) - rows);
            let (mut at, mut columns) = (at_row, x);
            for column in (first_x..right).step_by(F::LANES / 2) {
                let in_area = in_row | (columns - word(left)) | (word(right - 1) - columns);
                if HAS_MANY_SAMPLES {
                    let mut covered = [0; 16];
                    for (number, covered) in covered.iter_mut().enumerate().take(self.0.samples.len()) {
                        if self.0.sample_mask >> number & 1 != 0 {
                            let mut signs = in_area;
                            for (&at, &more) in at.iter().zip(&edges.more[number]) {
                                signs = signs | (at + word(more));
                            }
                            *covered = word(-1).less(signs).bits();
                        }
                    }
                    if covered != [0; 16] {
                        add_multiple::<F>([column, row], &covered[..self.0.samples.len()], self.0.found);
                    }
                } else {
                    let covered = word(-1).less(at.iter().fold(in_area, |signs, &at| signs | at));
                    if covered.any() {
                        let alive = match &mut self.0.depth {
                            Some(depth) => depth.passing::<F>([column, row], [columns, rows], covered),
                            None => covered,
                        };
                        add_single::<F>([column, row], [covered.bits(), alive.bits()], self.0.found);
                    }
                }
                for n in 0..EDGES {
                    at[n] = at[n] + right_step[n];
                }
                columns = columns + word(across);
            }
            for n in 0..EDGES {
                at_row[n] = at_row[n] + down_step[n];
            }
            rows = rows + word(2);
        }
    }
}

impl<const EDGES: usize, const HAS_MANY_SAMPLES: bool> CoverBy<'_, EDGES, HAS_MANY_SAMPLES> {
    /// The edge functions from a pixel on, at or before the area's first; `None` if all of it is outside of one.
    #[inline(always)]
    fn edges_in_tile(&self, [x, y]: [i32; 2]) -> Option<EdgesInTile<EDGES>> {
        let Bounds { right, bottom, .. } = self.0.area;
        let (width, height) = ((right - x) * STEPS - 1, (bottom - y) * STEPS - 1);
        let mut prepared =
            EdgesInTile { first: [0; EDGES], more: [[0; EDGES]; 16], right: [0; EDGES], down: [0; EDGES] };
        let mut points = [[0; 2]; EDGES];
        for (point, &[point_x, point_y]) in points.iter_mut().zip(&self.0.shape.points) {
            *point = [point_x - x * STEPS, point_y - y * STEPS];
        }
        // Edges between points that are all this near are in the range of 32 bits, too, and hardly ever outside or
        // inside of all of the area. Neither sign nor higher bits are set in any sum.
        const NEAR: i32 = TILE as i32 * STEPS;
        let are_near = points.as_flattened().iter().fold(0, |all, &at| all | (at + NEAR)) & !(2 * NEAR - 1) == 0;
        for n in 0..EDGES {
            let edge = Edge::between(points[n], points[(n + 1) % EDGES]);
            let at = edge.c;
            if !are_near {
                let [least, most] = edge.range(at, [width, height]);
                if most < 0 {
                    return None;
                }
                // Nothing of the area is outside: 0 everywhere says so, too, whatever the edge's size.
                if least >= 0 {
                    continue;
                }
            }
            [prepared.right[n], prepared.down[n]] = [edge.a, edge.b];
            let at_sample = |position: &SamplePosition| {
                let [right, down] = position.map(|sixteenths| STEPS / 2 + i32::from(sixteenths) * (STEPS / 16));
                let moved = i64::from(edge.a) * i64::from(right) + i64::from(edge.b) * i64::from(down);
                ((at + moved) >> STEPS.ilog2()) as i32
            };
            let first = at_sample(&self.0.samples[0]);
            prepared.first[n] = first;
            if HAS_MANY_SAMPLES {
                for (more, position) in prepared.more.iter_mut().zip(self.0.samples) {
                    more[n] = at_sample(position).wrapping_sub(first);
                }
            }
        }
        Some(prepared)
    }
}

/// Column and row of each lane, from those of the first: the pixels of a quad, then those of the next.
#[inline(always)]
fn places<F: Floats>() -> [F::Words; 2] {
    let (mut x, mut y): (Array, Array) = ([0; _], [0; _]);
    for lane in 0..F::LANES {
        x[lane] = (lane / 4 * 2 + lane % 2) as u32;
        y[lane] = (lane / 2 % 2) as u32;
    }
    [F::Words::from_array(&x), F::Words::from_array(&y)]
}

/// Of a bit of each lane, those of a quad: bit n is pixel n.
#[inline(always)]
fn of_quad(lanes: u32, quad: usize) -> u32 {
    lanes >> (4 * quad) & 0b1111
}

/// Adds quads of which pixels with one sample are covered and alive, a bit of each lane.
#[inline(always)]
fn add_single<F: Floats>([x, y]: [i32; 2], [covered, alive]: [u32; 2], found: &mut FoundQuads) {
    for quad in 0..F::LANES / 4 {
        let [coverage, alive] = [covered, alive].map(|lanes| MASKS[of_quad(lanes, quad) as usize]);
        found.add(Found { at: [x + 2 * quad as i32, y], coverage, alive });
    }
}

/// Masks of pixels with one sample, by a bit of each pixel.
const MASKS: [QuadMask; 16] = {
    let mut masks = [[0; 4]; 16];
    let mut bits = 0;
    while bits < 16 {
        masks[bits] = [bits as u16 & 1, bits as u16 >> 1 & 1, bits as u16 >> 2 & 1, bits as u16 >> 3];
        bits += 1;
    }
    masks
};

/// Adds quads of which samples are covered, of each sample a bit of each lane.
#[inline(always)]
fn add_multiple<F: Floats>([x, y]: [i32; 2], covered: &[u32], found: &mut FoundQuads) {
    for quad in 0..F::LANES / 4 {
        let mut coverage = [0; 4];
        for (sample, &lanes) in covered.iter().enumerate() {
            let pixels = of_quad(lanes, quad);
            for (pixel, mask) in coverage.iter_mut().enumerate() {
                *mask |= (pixels as u16 >> pixel & 1) << sample;
            }
        }
        found.add(Found { at: [x + 2 * quad as i32, y], coverage, alive: coverage });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::pixel::sample_positions;
    use crate::raster::depth::{DepthTest, clamped};
    use crate::raster::shape::{ScreenVertex, area};
    use crate::texture::Comparison;

    /// What each edge says of each sample of each pixel.
    fn one_by_one(shape: &Shape, area: &Bounds, samples: &[SamplePosition]) -> Vec<([i32; 2], u16)> {
        let covered = |[x, y]: [i32; 2]| {
            let is_inside = |position: SamplePosition| {
                let [right, down] = position.map(|sixteenths| STEPS / 2 + i32::from(sixteenths) * (STEPS / 16));
                shape.edges().iter().all(|edge| edge.at(x * STEPS + right, y * STEPS + down) >= 0)
            };
            samples.iter().enumerate().fold(0, |mask, (n, &position)| mask | u16::from(is_inside(position)) << n)
        };
        let pixels = (area.top..area.bottom).flat_map(|y| (area.left..area.right).map(move |x| [x, y]));
        pixels.map(|at| (at, covered(at))).filter(|&(_, mask)| mask != 0).collect()
    }

    #[test]
    fn every_machine_finds_what_edges_say_one_by_one() {
        let tile = TILE as i32;
        arbtest::arbtest(|u| {
            // Within a few pixels, within some tiles, or as far away as clipping leaves corners.
            let reach = *u.choose(&[5, 80, 32768])? * STEPS;
            let [left, top] = [0; 2].map(|_| u.int_in_range(0..=3).map(|at| at * tile));
            let [left, top] = [left?, top?];
            let mut corners = [[0; 2]; 3];
            for corner in corners.as_flattened_mut() {
                let near =
                    u.int_in_range(-reach..=reach)? + if reach < 32768 * STEPS { (left + 32) * STEPS } else { 0 };
                *corner = near;
            }
            match area(corners) {
                0 => return Ok(()),
                turned if turned < 0 => corners.swap(1, 2),
                _ => {}
            }
            let vertex = |at: [i32; 2]| ScreenVertex { at, inverse_w: 1.0, ..ScreenVertex::default() };
            let mut shape = Shape::default();
            match u.arbitrary()? {
                true => {
                    shape.set_triangle(corners.map(vertex));
                    shape.bounds = Bounds::of(&corners);
                }
                false => shape.set_point(vertex(corners[0])),
            }
            let whole = Bounds { left, top, right: left + tile, bottom: top + tile };
            let cut = |u: &mut arbitrary::Unstructured<'_>, at: i32| u.int_in_range(at..=at + tile - 1);
            let [x, y] = [cut(u, left)?, cut(u, top)?];
            let clip = match u.int_in_range(0..=2)? {
                0 => Bounds { left: x, top: y, ..whole },
                1 => Bounds { right: x + 1, bottom: y + 1, ..whole },
                _ => whole,
            };
            let area = clip.intersect(&shape.bounds);
            let samples = sample_positions(*u.choose(&[1, 2, 4, 8, 16])?);
            if area.is_empty() {
                return Ok(());
            }
            let expected = one_by_one(&shape, &area, samples);
            let mut found = FoundQuads::default();
            for machine in Machine::available() {
                found.clear();
                let (shape, sample_mask, depth) = (&shape, u16::MAX, None);
                Cover { shape, area, samples, sample_mask, depth, found: &mut found }.run(machine);
                let mut pixels = Vec::new();
                for &mut Found { at: [x, y], coverage, alive } in found.all() {
                    assert_eq!(coverage, alive);
                    let at = |pixel: usize| [x + (pixel & 1) as i32, y + (pixel >> 1) as i32];
                    pixels.extend((0..4).map(|pixel| (at(pixel), coverage[pixel])).filter(|&(_, mask)| mask != 0));
                }
                pixels.sort_by_key(|&([x, y], _)| (y, x));
                assert!(pixels == expected, "{shape:?} in {area:?}, {} samples on {machine:?}", samples.len());
            }
            Ok(())
        });
    }

    #[test]
    fn every_machine_tests_the_depths_of_what_it_covers() {
        use Comparison::*;
        let comparisons = [Never, Less, Equal, LessEqual, Greater, NotEqual, GreaterEqual, Always];
        let bounds = Bounds { left: 0, top: 0, right: TILE as i32, bottom: TILE as i32 };
        arbtest::arbtest(|u| {
            let mut corners = [ScreenVertex::default(); 3];
            for corner in &mut corners {
                corner.at = [u.int_in_range(-10..=74 * STEPS)?, u.int_in_range(-10..=74 * STEPS)?];
                corner.plane_at = corner.at.map(|steps| steps as f32 / STEPS as f32);
                corner.z = f32::from(u.int_in_range(0..=32u8)?) / 16.0 - 0.5;
            }
            if area(corners.map(|corner| corner.at)) <= 0 {
                return Ok(());
            }
            let mut shape = Shape::default();
            shape.set_triangle(corners);
            shape.bounds = Bounds::of_centres(&corners.map(|corner| corner.at));
            let test = DepthTest { comparison: *u.choose(&comparisons)?, writes: u.arbitrary()? };
            let stored = [0.0, 0.25, 1.0, f32::NAN];
            let before: Vec<f32> = (0..TILE * TILE).map(|n| stored[n / 3 % 4]).collect();
            let (area, range) = (bounds.intersect(&shape.bounds), [0.0, 1.0]);
            if area.is_empty() {
                return Ok(());
            }
            let samples = sample_positions(1);
            let (mut after, mut expected) = (before.clone(), Vec::new());
            for (at, _) in one_by_one(&shape, &area, samples) {
                let place = at[1] as usize * TILE + at[0] as usize;
                let [x, y] = [0, 1].map(|axis| at[axis] as f32 + 0.5 - shape.origin[axis]);
                let z = clamped(shape.depth + shape.slope[0] * x + shape.slope[1] * y, range);
                if test.comparison.holds(z, before[place]) {
                    expected.push(at);
                    after[place] = if test.writes { z } else { before[place] };
                }
            }
            for machine in Machine::available() {
                let (mut found, mut depths) = (FoundQuads::default(), before.clone());
                let depth = Some(PlainDepth { test, shape: &shape, range, depths: &mut depths });
                let cover = Cover { shape: &shape, area, samples, sample_mask: 1, depth, found: &mut found };
                cover.run(machine);
                let mut alive = Vec::new();
                for &mut Found { at: [x, y], alive: mask, .. } in found.all() {
                    let pixels = (0..4).filter(|&pixel| mask[pixel] != 0);
                    alive.extend(pixels.map(|pixel| [x + (pixel & 1) as i32, y + (pixel >> 1) as i32]));
                }
                alive.sort_by_key(|&[x, y]| (y, x));
                assert_eq!(alive, expected, "{test:?} of {shape:?} on {machine:?}");
                let bits = |depths: &[f32]| depths.iter().map(|depth| depth.to_bits()).collect::<Vec<_>>();
                assert!(bits(&depths) == bits(&after), "{test:?} of {shape:?} on {machine:?}");
            }
            Ok(())
        });
    }
}
