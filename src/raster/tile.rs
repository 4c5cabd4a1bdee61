//! Painting a tile: shapes become quads, quads are tested and shaded, hundreds at once, and their samples written, all
//! in the order of the primitives. Nothing else touches the tile meanwhile.

use super::blend::{Source, Writer};
use super::bytes::Quantize;
use super::coverage::{Cover, Found, FoundQuads, QuadMask, all};
use super::depth::{DepthStencil, DepthTest, PlainDepth, clamped};
use super::geometry::{CLIPPED, Shapes, View};
use super::lines::cover_line;
use super::link::{Link, Program};
use super::planes::{AddPlanes, Corners, reciprocal_w};
use super::shape::{Bounds, Outline, Shape};
use super::state::MAX_TARGETS;
use super::target::{SamplePosition, TILE, Tile};
use super::vertices::ShadedVertices;
use crate::call::{Plane, Primitive, Quad, Quads};
use crate::error::CallError;
use crate::simd::Machine;
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
    pub machine: Machine,
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

/// A thread's memory for painting: the quads of one shape, and those of all that wait.
pub(super) type Memory = (FoundQuads, Batch);

/// Quads that wait for their colours, and memory for these.
#[derive(Default)]
pub(super) struct Batch {
    quads: Vec<Quad>,
    waiting: Vec<Waiting>,
    primitives: Vec<Primitive>,
    planes: Vec<Plane>,
    /// Those of one shape.
    corners: Corners,
    outputs: Vec<u8>,
    /// What the quads of a target become, where that is four bytes a pixel.
    elements: Vec<[u8; 16]>,
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

impl Painting<'_, '_, '_> {
    /// Paints shapes of one stretch of primitives, by their numbers in it.
    pub fn shapes(
        &self,
        shapes: &Shapes,
        numbers: impl Iterator<Item = u32>,
        [left, top]: [i32; 2],
        tile: &mut Tile,
        (found, batch): &mut Memory,
    ) -> Result<(), CallError> {
        let whole = Bounds { left, top, right: left + TILE as i32, bottom: top + TILE as i32 };
        for number in numbers {
            let shape = &shapes.shapes[number as usize];
            let area = whole.intersect(&shape.bounds);
            if !area.is_empty() {
                found.clear();
                self.find(shape, area, tile, found);
                self.add(found.all(), shape, shapes, tile, batch)?;
            }
        }
        // The next stretch has attributes of its own.
        self.flush(tile, batch)
    }

    /// Finds the quads of a shape that are to be shaded.
    fn find(&self, shape: &Shape, area: Bounds, tile: &mut Tile, found: &mut FoundQuads) {
        let &Painting { samples, sample_mask, machine, .. } = self;
        let early = self.depth.filter(|_| self.order != Order::Late);
        let range = self.views[usize::from(shape.viewport)].depths();
        if shape.outline == Outline::Line {
            let [from, to, ..] = shape.points;
            cover_line([from, to], &area, all(samples) & sample_mask, found);
        } else {
            let plain = early.filter(|_| samples.len() == 1).and_then(|depth| depth.plain());
            let depth = plain.map(|test| {
                let test = DepthTest { writes: test.writes && self.order == Order::Early, ..test };
                PlainDepth { test, shape, range, depths: &mut tile.depths }
            });
            let is_tested = depth.is_some();
            Cover { shape, area, samples, sample_mask, depth, found }.run(machine);
            if is_tested {
                return;
            }
        }
        if let Some(depth) = &early {
            let primitive = primitive(shape);
            found.all().iter_mut().for_each(|found| self.test_quad(depth, found, &primitive, range, tile));
        }
    }

    /// Has quads of a shape wait for their colours.
    fn add(
        &self,
        found: &[Found],
        shape: &Shape,
        shapes: &Shapes,
        tile: &mut Tile,
        batch: &mut Batch,
    ) -> Result<(), CallError> {
        // The primitive's number in the batch, once it has a quad there.
        let mut known = None;
        for &Found { at: [x, y], coverage, alive } in found.iter().filter(|found| found.alive != [0; 4]) {
            let Some(program) = self.program else {
                batch.statistics.samples += alive.iter().map(|mask| u64::from(mask.count_ones())).sum::<u64>();
                continue;
            };
            if batch.quads.len() >= QUADS {
                self.flush(tile, batch)?;
                known = None;
            }
            let number = *known.get_or_insert_with(|| {
                batch.primitives.push(primitive(shape));
                self.add_planes(shape, shapes, batch);
                batch.primitives.len() as u32 - 1
            });
            let waiting = Waiting { alive, viewport: shape.viewport };
            let quad = Quad { x: x as u32, y: y as u32, primitive: number, coverage, live: lanes(alive), sample: 0 };
            if !program.interface.per_sample {
                batch.quads.push(quad);
                batch.waiting.push(waiting);
                continue;
            }
            for sample in 0..self.samples.len() as u8 {
                let alive = alive.map(|mask| mask & 1 << sample);
                if alive != [0; 4] {
                    batch.quads.push(Quad { live: lanes(alive), sample, ..quad });
                    batch.waiting.push(Waiting { alive, ..waiting });
                }
            }
        }
        Ok(())
    }

    /// Tests the samples of a quad before shading. Those that fail are not alive.
    fn test_quad(
        &self,
        depth: &DepthStencil,
        Found { at, alive, .. }: &mut Found,
        primitive: &Primitive,
        range: [f32; 2],
        tile: &mut Tile,
    ) {
        for (lane, alive) in alive.iter_mut().enumerate().filter(|(_, alive)| **alive != 0) {
            let first = self.sample_of(*at, lane);
            for (sample, &position) in self.samples.iter().enumerate() {
                if *alive >> sample & 1 == 0 {
                    continue;
                }
                let z = clamped(depth_at(primitive, *at, lane, position), range);
                let passes = match self.order {
                    Order::Early => depth.test(tile, first + sample, z, primitive.front_face, self.stencil_reference),
                    _ => depth.would_pass(tile, first + sample, z),
                };
                *alive &= !(u16::from(!passes) << sample);
            }
        }
    }

    /// The number in the tile of a pixel's first sample.
    fn sample_of(&self, [x, y]: [i32; 2], lane: usize) -> usize {
        let [x, y] = [x as usize % TILE + lane % 2, y as usize % TILE + lane / 2];
        (y * TILE + x) * self.samples.len()
    }

    /// The planes of a shape's attributes.
    fn add_planes(&self, shape: &Shape, shapes: &Shapes, Batch { planes, corners, .. }: &mut Batch) {
        let (link, count) = (self.link, self.link.planes.len());
        if count == 0 {
            return;
        }
        corners.resize(count);
        for (number, &corner) in shape.corners.iter().enumerate() {
            let words = corners.of(number);
            if corner & CLIPPED == 0 {
                self.vertices.gather(corner, &link.offsets, words);
            } else {
                let first = (corner & !CLIPPED) as usize * count;
                words[..count].copy_from_slice(&shapes.clipped[first..first + count]);
            }
        }
        if link.is_constant.contains(&u32::MAX) {
            self.vertices.gather(shape.leading, &link.offsets, corners.of(Corners::LEADING));
        }
        self.machine.run(AddPlanes { link, shape, corners, planes });
    }

    /// Shades the quads that wait, and writes their samples.
    pub fn flush(&self, tile: &mut Tile, batch: &mut Batch) -> Result<(), CallError> {
        let Some(program) = self.program.filter(|_| !batch.quads.is_empty()) else { return Ok(()) };
        if batch.outputs.len() < program.bytes {
            batch.outputs.resize(program.bytes, 0);
        }
        let Batch { quads, waiting, primitives, planes, outputs, elements, statistics, .. } = batch;
        let samples = self.samples.len() as u32;
        let begin = Instant::now();
        program.call.pixels_into(&Quads { quads, primitives, planes, samples }, &program.layout, outputs)?;
        statistics.shading += begin.elapsed();
        let pixels = quads.iter().map(|quad| u64::from(quad.live.count_ones())).sum::<u64>();
        statistics.pixels += pixels;
        if self.is_plain() {
            statistics.samples += pixels;
            self.write_plainly(program, quads, outputs, elements, tile);
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

    /// Writes quads of such pixels.
    fn write_plainly(
        &self,
        program: &Program<'_, '_>,
        quads: &[Quad],
        outputs: &[u8],
        elements: &mut Vec<[u8; 16]>,
        tile: &mut Tile,
    ) {
        for (target, writer) in self.writers.iter().enumerate() {
            let (Some(writer), Some(words)) = (writer, &program.targets[target]) else { continue };
            let (bytes, colors) = (writer.bytes(), &mut tile.colors[target]);
            if writer.replaces_bytes()
                && let Some(components) = words.quads(outputs)
            {
                elements.resize(quads.len(), [0; 16]);
                self.machine.run(Quantize { components, elements });
                for (quad, elements) in quads.iter().zip(&*elements) {
                    let first = 4 * self.sample_of([quad.x as i32, quad.y as i32], 0);
                    replace_quad(&mut colors[first..first + 4 * TILE + 8], elements, quad.live);
                }
                continue;
            }
            let second = program.targets[1].filter(|_| self.is_dual);
            for (number, quad) in quads.iter().enumerate() {
                let first = self.sample_of([quad.x as i32, quad.y as i32], 0);
                for lane in (0..4).filter(|lane| quad.live >> lane & 1 != 0) {
                    let (row, place) = (4 * number + lane, first + lane % 2 + lane / 2 * TILE);
                    let second = second.map_or([0; 4], |second| second.row(outputs, row));
                    let source = Source { color: words.row(outputs, row), second };
                    writer.write(&mut colors[place * bytes..(place + 1) * bytes], &source);
                }
            }
        }
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

/// Replaces those pixels of a quad, four bytes each, that are live. `colors` begins with the first one.
fn replace_quad(colors: &mut [u8], elements: &[u8; 16], live: u8) {
    /// All ones where a pixel of a row is live.
    const MASKS: [u64; 4] = [0, 0xffff_ffff, 0xffff_ffff << 32, u64::MAX];
    for (row, elements) in elements.as_chunks::<8>().0.iter().enumerate() {
        let mask = MASKS[usize::from(live >> (2 * row) & 0b11)];
        if let Some(colors) = colors.get_mut(4 * TILE * row..).and_then(<[u8]>::first_chunk_mut) {
            let [old, new] = [*colors, *elements].map(u64::from_le_bytes);
            *colors = (old & !mask | new & mask).to_le_bytes();
        }
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
        reciprocal_w: reciprocal_w(shape),
        front_face: shape.is_front,
        id: shape.primitive,
    }
}
