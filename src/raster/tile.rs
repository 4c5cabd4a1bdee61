//! Painting a tile: shapes become quads, quads are tested and shaded, hundreds at once, and their samples written, all
//! in the order of the primitives. Nothing else touches the tile meanwhile.

use super::blend::{Source, Writer};
use super::coverage::{QuadMask, all, cover};
use super::depth::DepthStencil;
use super::geometry::{CLIPPED, Shapes, View};
use super::link::{Link, Program};
use super::shape::{Bounds, Shape};
use super::state::MAX_TARGETS;
use super::target::{SamplePosition, TILE, Tile};
use super::vertices::ShadedVertices;
use crate::call::{Plane, Primitive, Quad, Quads};
use crate::error::CallError;
use crate::frontend::pixel::Interpolation;
use std::time::{Duration, Instant};

/// Quads that are shaded at once.
pub(super) const QUADS: usize = 256;

/// When depth and stencil are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Before shading.
    Early,
    /// After it.
    Late,
    /// After it, but what fails before fails then, too, and is not shaded.
    Pruned,
}

/// What painting needs to know of a draw.
pub(super) struct Painting<'d, 'c, 'a> {
    pub vertices: ShadedVertices<'d>,
    pub link: &'d Link,
    pub program: Option<&'d Program<'c, 'a>>,
    pub views: &'d [View],
    pub samples: &'static [SamplePosition],
    pub sample_mask: u16,
    pub depth: Option<DepthStencil>,
    pub order: Order,
    pub stencil_reference: u8,
    pub writers: [Option<Writer>; MAX_TARGETS],
    /// Whether the second output is a source of blending, too.
    pub is_dual: bool,
    pub alpha_to_coverage: bool,
}

/// What a draw has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrawStatistics {
    /// Primitives that were assembled.
    pub primitives: u64,
    /// Pixels, or samples of shaders that run once a sample, that were shaded for themselves.
    pub pixels: u64,
    /// Samples that passed all tests (occlusion query).
    pub samples: u64,
    /// Time in calls of the pixel shader, of all threads together.
    pub shading: Duration,
}

impl DrawStatistics {
    /// The two together.
    pub fn and(self, other: DrawStatistics) -> DrawStatistics {
        DrawStatistics {
            primitives: self.primitives + other.primitives,
            pixels: self.pixels + other.pixels,
            samples: self.samples + other.samples,
            shading: self.shading + other.shading,
        }
    }
}

/// A quad that waits for its colours.
#[derive(Clone, Copy)]
struct Waiting {
    /// Samples that are to be written.
    alive: QuadMask,
    viewport: u8,
}

/// A thread's memory for painting.
#[derive(Default)]
pub(super) struct Batch {
    quads: Vec<Quad>,
    waiting: Vec<Waiting>,
    primitives: Vec<Primitive>,
    planes: Vec<Plane>,
    /// What the corners of one shape have for its planes, corner by corner.
    corners: Vec<f32>,
    outputs: Vec<u8>,
    pub statistics: DrawStatistics,
}

impl Batch {
    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.quads.clear();
        self.waiting.clear();
        self.primitives.clear();
        self.planes.clear();
    }
}

/// A shape in a tile.
struct Painted<'s> {
    shape: &'s Shape,
    primitive: Primitive,
    /// Its number in the batch, once it has a quad there.
    number: Option<u32>,
    depths: [f32; 2],
}

impl Painting<'_, '_, '_> {
    /// Paints shapes of one stretch of primitives, by their numbers in it.
    pub fn shapes(
        &self,
        shapes: &Shapes,
        numbers: impl Iterator<Item = u32>,
        [left, top]: [i32; 2],
        tile: &mut Tile,
        batch: &mut Batch,
    ) -> Result<(), CallError> {
        let area = Bounds { left, top, right: left + TILE as i32, bottom: top + TILE as i32 };
        for number in numbers {
            let shape = &shapes.shapes[number as usize];
            let depths = self.views[usize::from(shape.viewport)].depths();
            let mut painted = Painted { shape, primitive: primitive(shape), number: None, depths };
            let mut result = Ok(());
            cover(shape, &area, self.samples, |x, y, mask| {
                if result.is_ok()
                    && let Err(error) = self.quad([x, y], mask, &mut painted, shapes, tile, batch)
                {
                    result = Err(error);
                }
            });
            result?;
        }
        // The next stretch has attributes of its own.
        self.flush(tile, batch)
    }

    fn quad(
        &self,
        [x, y]: [i32; 2],
        mask: QuadMask,
        painted: &mut Painted<'_>,
        shapes: &Shapes,
        tile: &mut Tile,
        batch: &mut Batch,
    ) -> Result<(), CallError> {
        let coverage = mask.map(|mask| mask & self.sample_mask);
        let mut alive = coverage;
        if let Some(depth) = &self.depth
            && self.order != Order::Late
        {
            self.test_quad(depth, [x, y], &mut alive, painted, tile);
        }
        if alive == [0; 4] {
            return Ok(());
        }
        let Some(program) = self.program else {
            batch.statistics.samples += alive.iter().map(|mask| u64::from(mask.count_ones())).sum::<u64>();
            return Ok(());
        };
        if batch.quads.len() >= QUADS {
            self.flush(tile, batch)?;
            painted.number = None;
        }
        let number = match painted.number {
            Some(number) => number,
            None => {
                let number = batch.primitives.len() as u32;
                batch.primitives.push(painted.primitive);
                self.push_planes(painted, shapes, batch);
                *painted.number.insert(number)
            }
        };
        let waiting = Waiting { alive, viewport: painted.shape.viewport };
        let quad = Quad { x: x as u32, y: y as u32, primitive: number, coverage, live: lanes(alive), sample: 0 };
        if !program.interface.per_sample {
            batch.quads.push(quad);
            batch.waiting.push(waiting);
            return Ok(());
        }
        for sample in 0..self.samples.len() as u8 {
            let alive = alive.map(|mask| mask & 1 << sample);
            if alive != [0; 4] {
                batch.quads.push(Quad { live: lanes(alive), sample, ..quad });
                batch.waiting.push(Waiting { alive, ..waiting });
            }
        }
        Ok(())
    }

    /// Tests the samples of a quad before shading. Those that fail are not alive.
    #[inline]
    fn test_quad(
        &self,
        depth: &DepthStencil,
        [x, y]: [i32; 2],
        alive: &mut QuadMask,
        painted: &Painted<'_>,
        tile: &mut Tile,
    ) {
        let Painted { shape, primitive, depths, .. } = painted;
        if let [_] = self.samples {
            let first = self.sample_of([x, y], 0);
            let Plane { value, dx, dy } = primitive.depth;
            // In the order of `depth_at`, to the bit.
            let z: [f32; 4] = std::array::from_fn(|lane| {
                let x = (x as f32 + 0.5) + (lane & 1) as f32 - primitive.origin[0];
                let y = (y as f32 + 0.5) + (lane >> 1) as f32 - primitive.origin[1];
                clamped(value + dx * x + dy * y, *depths)
            });
            if depth.is_plain() {
                return depth.test_pixels(tile, first, z, alive, self.order == Order::Early);
            }
            for (lane, alive) in alive.iter_mut().enumerate().filter(|(_, alive)| **alive != 0) {
                let place = first + lane % 2 + lane / 2 * TILE;
                let passes = match self.order {
                    Order::Early => depth.test(tile, place, z[lane], shape.is_front, self.stencil_reference),
                    _ => depth.would_pass(tile, place, z[lane]),
                };
                *alive *= u16::from(passes);
            }
            return;
        }
        for (lane, alive) in alive.iter_mut().enumerate().filter(|(_, alive)| **alive != 0) {
            let first = self.sample_of([x, y], lane);
            for (sample, &position) in self.samples.iter().enumerate() {
                if *alive >> sample & 1 == 0 {
                    continue;
                }
                let z = clamped(depth_at(primitive, [x, y], lane, position), *depths);
                let passes = match self.order {
                    Order::Early => depth.test(tile, first + sample, z, shape.is_front, self.stencil_reference),
                    _ => depth.would_pass(tile, first + sample, z),
                };
                if !passes {
                    *alive &= !(1 << sample);
                }
            }
        }
    }

    /// The number in the tile of a pixel's first sample.
    fn sample_of(&self, [x, y]: [i32; 2], lane: usize) -> usize {
        let [x, y] = [x as usize % TILE + lane % 2, y as usize % TILE + lane / 2];
        (y * TILE + x) * self.samples.len()
    }

    /// The planes of a shape's attributes.
    fn push_planes(&self, painted: &Painted<'_>, shapes: &Shapes, Batch { planes, corners, .. }: &mut Batch) {
        let (shape, count) = (painted.shape, self.link.planes.len());
        if count == 0 {
            return;
        }
        corners.resize(3 * count, 0.0);
        for (values, &corner) in corners.chunks_exact_mut(count).zip(&shape.corners) {
            if corner & CLIPPED == 0 {
                self.vertices.gather(corner, &self.link.offsets, values);
            } else {
                let first = (corner & !CLIPPED) as usize * count;
                let clipped = shapes.clipped[first..first + count].iter();
                values.iter_mut().zip(clipped).for_each(|(value, &bits)| *value = f32::from_bits(bits));
            }
        }
        let (first, others) = corners.split_at(count);
        let (second, third) = others.split_at(count);
        for (number, source) in self.link.planes.iter().enumerate() {
            let values = [first[number], second[number], third[number]];
            planes.push(match source.interpolation {
                Interpolation::Constant => {
                    Plane::constant(source.offset.map_or(0, |offset| self.vertices.word(shape.leading, offset)))
                }
                Interpolation::NoPerspective => through(values, shape.second, shape.third),
                Interpolation::Perspective => {
                    let divided = std::array::from_fn(|n| values[n] * shape.inverse_w[n]);
                    through(divided, shape.second, shape.third)
                }
            });
        }
    }

    /// Shades the quads that wait, and writes their samples.
    pub fn flush(&self, tile: &mut Tile, batch: &mut Batch) -> Result<(), CallError> {
        let Some(program) = self.program.filter(|_| !batch.quads.is_empty()) else { return Ok(()) };
        if batch.outputs.len() < program.bytes {
            batch.outputs.resize(program.bytes, 0);
        }
        let Batch { quads, waiting, primitives, planes, outputs, statistics, .. } = batch;
        let samples = self.samples.len() as u32;
        let begin = Instant::now();
        program.call.pixels_into(&Quads { quads, primitives, planes, samples }, &program.layout, outputs)?;
        statistics.shading += begin.elapsed();
        statistics.pixels += quads.iter().map(|quad| u64::from(quad.live.count_ones())).sum::<u64>();
        if self.is_plain() {
            statistics.samples += self.write_plainly(program, quads, outputs, tile);
            batch.clear();
            return Ok(());
        }
        for (number, (quad, waiting)) in quads.iter().zip(&*waiting).enumerate() {
            let primitive = &primitives[quad.primitive as usize];
            for lane in (0..4).filter(|lane| quad.live >> lane & 1 != 0) {
                let pixel = Pixel { quad, primitive, waiting, lane, row: 4 * number + lane };
                statistics.samples += u64::from(self.write_pixel(program, &pixel, outputs, tile));
            }
        }
        batch.clear();
        Ok(())
    }

    /// Whether every pixel that is shaded is written, and has one sample.
    fn is_plain(&self) -> bool {
        let decides = |program: &Program<'_, '_>| program.discarded.is_some() || program.coverage.is_some();
        self.samples.len() == 1
            && !self.alpha_to_coverage
            && !self.program.is_some_and(decides)
            && (self.depth.is_none() || self.order == Order::Early)
    }

    /// Writes quads of such pixels; says how many samples that were.
    fn write_plainly(&self, program: &Program<'_, '_>, quads: &[Quad], outputs: &[u8], tile: &mut Tile) -> u64 {
        for (target, writer) in self.writers.iter().enumerate() {
            let (Some(writer), Some(words)) = (writer, &program.targets[target]) else { continue };
            let second = program.targets[1].filter(|_| self.is_dual);
            let (bytes, colors) = (writer.bytes(), &mut tile.colors[target]);
            for (number, quad) in quads.iter().enumerate() {
                let first = self.sample_of([quad.x as i32, quad.y as i32], 0);
                let live = (0..4).filter(|lane| quad.live >> lane & 1 != 0);
                let rows = std::array::from_fn(|lane| words.row(outputs, 4 * number + lane));
                if let Some(elements) = writer.bytes_of(rows) {
                    let places = colors.as_chunks_mut::<4>().0;
                    live.for_each(|lane| places[first + lane % 2 + lane / 2 * TILE] = elements[lane]);
                    continue;
                }
                for lane in live {
                    let (row, place) = (4 * number + lane, first + lane % 2 + lane / 2 * TILE);
                    let second = second.map_or([0; 4], |second| second.row(outputs, row));
                    let source = Source { color: rows[lane], second };
                    writer.write(&mut colors[place * bytes..(place + 1) * bytes], &source);
                }
            }
        }
        quads.iter().map(|quad| u64::from(quad.live.count_ones())).sum()
    }

    /// Writes the samples of a pixel; says how many passed all tests.
    fn write_pixel(&self, program: &Program<'_, '_>, pixel: &Pixel<'_>, outputs: &[u8], tile: &mut Tile) -> u32 {
        let &Pixel { quad, lane, row, .. } = pixel;
        if program.discarded.is_some_and(|discarded| discarded.word(outputs, row) != 0) {
            return 0;
        }
        let at = [quad.x as i32, quad.y as i32];
        let mut alive = pixel.waiting.alive[lane];
        if let Some(coverage) = program.coverage {
            alive &= coverage.word(outputs, row) as u16;
        } else if self.alpha_to_coverage {
            alive &= self.alpha_mask(program, outputs, row);
        }
        let first = self.sample_of(at, lane);
        if let Some(depth) = &self.depth
            && self.order != Order::Early
        {
            alive = self.test_late(program, depth, pixel, alive, outputs, tile);
        }
        if alive == 0 {
            return 0;
        }
        for (target, writer) in self.writers.iter().enumerate() {
            let (Some(writer), Some(words)) = (writer, &program.targets[target]) else { continue };
            let color = words.row(outputs, row);
            let second = match program.targets[1] {
                Some(second) if self.is_dual => second.row(outputs, row),
                _ => [0; 4],
            };
            let (source, bytes) = (Source { color, second }, writer.bytes());
            for sample in (0..self.samples.len()).filter(|sample| alive >> sample & 1 != 0) {
                let start = (first + sample) * bytes;
                writer.write(&mut tile.colors[target][start..start + bytes], &source);
            }
        }
        alive.count_ones()
    }

    /// Tests the samples of a pixel after shading; gives those that pass.
    fn test_late(
        &self,
        program: &Program<'_, '_>,
        depth: &DepthStencil,
        pixel: &Pixel<'_>,
        mut alive: u16,
        outputs: &[u8],
        tile: &mut Tile,
    ) -> u16 {
        let &Pixel { quad, primitive, waiting, lane, row } = pixel;
        let at = [quad.x as i32, quad.y as i32];
        let depths = self.views[usize::from(waiting.viewport)].depths();
        let written = program.depth.map(|words| f32::from_bits(words.word(outputs, row)));
        let reference = program.stencil.map_or(self.stencil_reference, |words| words.word(outputs, row) as u8);
        let first = self.sample_of(at, lane);
        for (sample, &position) in self.samples.iter().enumerate() {
            if alive >> sample & 1 == 0 {
                continue;
            }
            let z = written.unwrap_or_else(|| depth_at(primitive, at, lane, position));
            if !depth.test(tile, first + sample, clamped(z, depths), primitive.front_face, reference) {
                alive &= !(1 << sample);
            }
        }
        alive
    }

    /// So many of the first samples as alpha is of 1, rounded; none if it is no number (17.18).
    fn alpha_mask(&self, program: &Program<'_, '_>, outputs: &[u8], row: usize) -> u16 {
        let alpha = program.targets[0].map_or(1.0, |words| f32::from_bits(words.row(outputs, row)[3]));
        let covered = (alpha.clamp(0.0, 1.0) * self.samples.len() as f32 + 0.5) as u32;
        if alpha.is_nan() { 0 } else { ((1u32 << covered) - 1) as u16 & all(self.samples) }
    }
}

/// A pixel that has been shaded.
struct Pixel<'b> {
    quad: &'b Quad,
    primitive: &'b Primitive,
    waiting: &'b Waiting,
    lane: usize,
    /// Its row of the outputs.
    row: usize,
}

fn lanes(alive: QuadMask) -> u8 {
    (0..4).map(|lane| u8::from(alive[lane] != 0) << lane).sum()
}

/// Clamped to a viewport's depths; what is no number is the least (17.10).
fn clamped(depth: f32, [least, most]: [f32; 2]) -> f32 {
    depth.max(least).min(most)
}

/// Depth at a sample of a pixel.
fn depth_at(primitive: &Primitive, [x, y]: [i32; 2], lane: usize, position: SamplePosition) -> f32 {
    let place = |pixel: i32, beside: usize, sixteenths: i8, origin: f32| {
        (pixel as f32 + 0.5) + beside as f32 + f32::from(sixteenths) / 16.0 - origin
    };
    let x = place(x, lane & 1, position[0], primitive.origin[0]);
    let y = place(y, lane >> 1, position[1], primitive.origin[1]);
    primitive.depth.value + primitive.depth.dx * x + primitive.depth.dy * y
}

fn primitive(shape: &Shape) -> Primitive {
    let [dx, dy] = shape.slope;
    Primitive {
        origin: shape.origin,
        depth: Plane { value: shape.depth, dx, dy },
        reciprocal_w: through(shape.inverse_w, shape.second, shape.third),
        front_face: shape.is_front,
        id: shape.primitive,
    }
}

/// The plane with these values at the corners.
fn through([value, second_value, third_value]: [f32; 3], second: [f32; 2], third: [f32; 2]) -> Plane {
    let [to_second, to_third] = [second_value - value, third_value - value];
    let change = |axis: usize| to_second * second[axis] + to_third * third[axis];
    Plane { value, dx: change(0), dy: change(1) }
}
