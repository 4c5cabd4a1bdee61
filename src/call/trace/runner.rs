//! The waves of a call, of which those with the traced invocation run on the reference interpreter, in the program's
//! own form; all others on the engine that is inside.

use super::tracer::{Invocation, Tracing};
use super::watch::Watch;
use crate::call::fetch::fetch;
use crate::call::uniforms::BoundSpaces;
use crate::call::vertex_buffer::VertexBufferView;
use crate::call::wave::{Block, Bound, Groups, Wave, WaveRunner};
use crate::error::CallError;
use crate::prepared::Prepared;
use crate::stage::Stage;
use crate::traced::TracedProgram;
use shaderjit_ir::Array;
use shaderjit_ir::fuel::Fuel;
use shaderjit_ir::interp::{Bindings, InterpOptions, Run};
use shaderjit_ir::trace::{End, Invocations, bytes_of_lane};
use shaderjit_ir::vm::Shared;
use std::sync::atomic::AtomicU64;

/// How much more a program may take that no pass has made smaller.
const UNOPTIMISED: u32 = 4;

/// Most memory of the threads of a group, all together.
const MAX_BYTES: usize = 1 << 30;

/// What a lane reads: an entry an input element.
type Inputs = Vec<[[u32; 1]; 4]>;

/// An engine, and who traces one of its invocations.
pub(in crate::call) struct Traced<'t, 'c, 'a> {
    inner: &'t mut dyn WaveRunner,
    bound: Bound<'c, 'a>,
    tracer: &'t dyn Tracing,
    /// The inputs of the wave's lanes.
    inputs: Vec<Inputs>,
    /// What the last wave left, if it was traced.
    last: Option<Invocations<'c>>,
}

impl<'t, 'c, 'a> Traced<'t, 'c, 'a> {
    pub fn new(inner: &'t mut dyn WaveRunner, bound: Bound<'c, 'a>, tracer: &'t dyn Tracing) -> Traced<'t, 'c, 'a> {
        let elements = bound.call.shader.interface().inputs.len();
        let inputs = vec![vec![[[0]; 4]; elements]; inner.lanes()];
        Traced { inner, bound, tracer, inputs, last: None }
    }

    fn prepared(&self) -> &'c Prepared {
        self.bound.call.shader.prepared()
    }

    /// The first row of a block, from one on, that is of the traced invocation.
    fn find(&self, block: &Block<'_>, from: usize) -> Option<usize> {
        let count = block.count as usize;
        let among = |number: u32, first: usize| {
            let row = (number as usize).checked_sub(first)?;
            (from..count).contains(&row).then_some(row)
        };
        match (self.tracer.invocation(), self.prepared().stage, block.quads) {
            (Invocation::Pixel { x, y }, _, Some(quads)) => (from..count).find(|row| {
                let (quad, pixel) = (&quads[row / 4], (row % 4) as u32);
                let is_here = x.checked_sub(quad.x) == Some(pixel & 1) && y.checked_sub(quad.y) == Some(pixel >> 1);
                is_here && quad.live >> pixel & 1 != 0
            }),
            (Invocation::Vertex { number, instance }, Stage::Vertex | Stage::Pixel, None)
                if instance == self.bound.call.instance =>
            {
                let row = number.wrapping_sub(block.first_vertex) as usize;
                (from..count).contains(&row).then_some(row)
            }
            (Invocation::Primitive(number), Stage::Geometry, _) => among(number, block.first_vertex as usize),
            (Invocation::Point(number), Stage::Domain, _) => among(number, block.first_row),
            _ => None,
        }
    }

    /// Runs rows of a block as one wave, with the one that is traced, and stores their outputs.
    fn run_rows(
        &mut self,
        block: &Block<'_>,
        rows: std::ops::Range<usize>,
        watched: usize,
        bytes: &mut [u8],
    ) -> Result<(), CallError> {
        let prepared = self.prepared();
        let (own, last) = (rows.len(), rows.end - 1);
        let lanes = if prepared.stage == Stage::Pixel { own.next_multiple_of(4) } else { own };
        let row = |lane: usize| (rows.start + lane).min(last);
        let mut inputs: Vec<Inputs> = vec![vec![[[0]; 4]; block.attributes.len()]; lanes];
        for (element, stream) in block.attributes.iter().enumerate() {
            if prepared.facts.reads_input[element] {
                let words = fetch(stream, std::array::from_fn(row));
                for (lane, inputs) in inputs.iter_mut().enumerate() {
                    inputs[element] = words.map(|lanes| [lanes[lane]]);
                }
            }
        }
        let first = block.first_vertex.wrapping_add(rows.start as u32);
        let ran = self.run_wave(block.spaces, first, (&inputs, own), watched - rows.start)?;
        for (element, (declared, place)) in prepared.interface.outputs.iter().zip(block.layout.places()).enumerate() {
            let Some(place) = place else { continue };
            for lane in 0..own {
                let row = block.first_row + rows.start + lane;
                let stored = bytes[place.offset + row * place.stride..].as_chunks_mut().0;
                let words = ran.outputs(lane)[element];
                for (to, [from]) in stored.iter_mut().zip(words).take(declared.components() as usize) {
                    *to = from.to_le_bytes();
                }
            }
        }
        Ok(())
    }

    /// Runs a wave of which `own` lanes have invocations of their own, the first with number `first`.
    fn run_wave(
        &self,
        spaces: &BoundSpaces,
        first: u32,
        (inputs, own): (&[Inputs], usize),
        watched: usize,
    ) -> Result<Invocations<'c>, CallError> {
        let program = self.prepared().traced();
        let mut waves = [of_program(program, inputs.len(), own)];
        let fuel = self.fuel();
        self.run_to_end(&mut waves, spaces, inputs, (first, own), fuel, watched)?;
        let [wave] = waves;
        Ok(wave)
    }

    /// Runs waves that each have some of the lanes, all of them up to a barrier before any goes on, and tells what one
    /// lane does.
    fn run_to_end(
        &self,
        waves: &mut [Invocations<'c>],
        spaces: &BoundSpaces,
        inputs: &[Inputs],
        (first, own): (u32, usize),
        fuel: Fuel<'_>,
        watched: usize,
    ) -> Result<(), CallError> {
        let Bound { call, resources, textures, .. } = self.bound;
        #[cfg(feature = "fuzzing")]
        waves.iter_mut().for_each(|wave| wave.canonical_nans = self.prepared().canonical_nans);
        let program = self.prepared().traced();
        let uniforms: Vec<&[[u32; 4]]> = Shared::rows(&program.function, spaces.rows()).collect();
        let bindings = |lane: usize| Bindings {
            inputs: &inputs[lane],
            vertex_id: [first.wrapping_add(lane.min(own - 1) as u32)],
            instance_id: call.instance,
            uniforms: &uniforms,
            resources,
            textures,
        };
        let bindings: Vec<Bindings<'_, 1>> = (0..inputs.len()).map(bindings).collect();
        let options = InterpOptions { fuel, fused: self.prepared().fused };
        let stopped = |stop| CallError::stopped(stop, &self.bound.fuel);
        let lanes = if waves.len() == 1 { inputs.len() } else { self.lanes() };
        let mut result = Ok(());
        self.tracer.trace(&mut |tell| {
            let mut watch = Watch::new(program, tell);
            result = (|| {
                let begin = |wave: &mut Invocations<'c>| wave.begin(&options).map_err(stopped);
                let mut runs: Vec<Run<'_>> = waves.iter_mut().map(begin).collect::<Result<_, _>>()?;
                loop {
                    let mut ends = Vec::new();
                    for (number, ((wave, run), bindings)) in
                        waves.iter_mut().zip(&mut runs).zip(bindings.chunks(lanes)).enumerate()
                    {
                        let lane = watched.checked_sub(number * lanes).filter(|&lane| lane < lanes);
                        let watched = lane.map(|lane| (lane, &mut watch as &mut dyn shaderjit_ir::trace::Observer));
                        ends.push(wave.run_until_barrier(run, bindings, &options, watched).map_err(stopped)?);
                    }
                    // All waves come to the same barrier, or all have ended.
                    match ends[0] {
                        End::Return if ends.iter().all(|end| *end == End::Return) => break,
                        End::Barrier(_) if ends.iter().all(|end| *end == ends[0]) => {}
                        _ => {
                            let barrier = ends.iter().find_map(|end| match end {
                                End::Barrier(barrier) | End::Parted(barrier) => Some(*barrier),
                                End::Return => None,
                            });
                            let offset = barrier.and_then(|barrier| program.function.insts[barrier].origin.offset());
                            return Err(CallError::PartedAtBarrier { offset });
                        }
                    }
                }
                Ok(())
            })();
            watch.end();
        });
        result
    }

    /// What the traced form may take.
    fn fuel(&self) -> Fuel<'c> {
        let fuel = self.bound.fuel;
        Fuel { wave: fuel.wave.saturating_mul(UNOPTIMISED), ..fuel }
    }

    /// Runs one thread group.
    fn run_group(&mut self, threads: u32, number: [u32; 3], groups: &mut dyn Groups) -> Result<(), CallError> {
        let interface = self.bound.call.shader.interface();
        let [width, height, depth] = interface.thread_group.unwrap_or([1; 3]);
        let inside = match self.tracer.invocation() {
            Invocation::Thread([x, y, z]) if [x / width, y / height, z / depth] == number => {
                [x % width, y % height, z % depth]
            }
            _ => return self.inner.run_groups(threads, &mut Alone { number: Some(number), groups }),
        };
        let watched = inside[0] + width * (inside[1] + height * inside[2]);
        let (threads, lanes) = (threads as usize, self.lanes());
        let program = self.prepared().traced();
        let bytes = bytes_of_lane(&program.function).saturating_mul(threads);
        if bytes > MAX_BYTES {
            return Err(CallError::Invalid(format!("the traced group keeps {bytes} bytes")));
        }
        let in_wave = |first: usize| lanes.min(threads - first);
        let wave = |first| of_program(program, in_wave(first), in_wave(first));
        let mut waves: Vec<Invocations<'_>> = (0..threads).step_by(lanes).map(wave).collect();
        let inputs = vec![vec![[[0]; 4]; interface.inputs.len()]; threads];
        let left = AtomicU64::new(0);
        let fuel = self.fuel().of_group(waves.len() as u32, &left);
        groups.clear();
        self.run_to_end(&mut waves, groups.spaces(number), &inputs, (0, threads), fuel, watched as usize)
    }
}

/// One group by itself.
struct Alone<'g> {
    number: Option<[u32; 3]>,
    groups: &'g mut dyn Groups,
}

impl Groups for Alone<'_> {
    fn next(&mut self) -> Option<[u32; 3]> {
        self.number.take()
    }

    fn clear(&self) {
        self.groups.clear();
    }

    fn number_space(&self) -> Option<usize> {
        self.groups.number_space()
    }

    fn spaces(&mut self, number: [u32; 3]) -> &BoundSpaces {
        self.groups.spaces(number)
    }
}

fn of_program(program: &TracedProgram, lanes: usize, own: usize) -> Invocations<'_> {
    Invocations::new(&program.function, &program.debug.records, lanes, own)
}

/// Rows of a block that are a block of their own.
fn part<'b>(
    block: &Block<'b>,
    rows: std::ops::Range<usize>,
    attributes: &'b mut Vec<VertexBufferView<'b>>,
) -> Block<'b> {
    let from = |stream: &VertexBufferView<'b>| VertexBufferView {
        bytes: stream.bytes.get(rows.start * stream.stride..).unwrap_or_default(),
        ..*stream
    };
    attributes.extend(block.attributes.iter().map(from));
    Block {
        attributes,
        count: rows.len() as u32,
        first_vertex: block.first_vertex.wrapping_add(rows.start as u32),
        first_row: block.first_row + rows.start,
        quads: block.quads.map(|quads| &quads[rows.start / 4..]),
        ..*block
    }
}

impl WaveRunner for Traced<'_, '_, '_> {
    fn lanes(&self) -> usize {
        self.inner.lanes()
    }

    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]) {
        self.inputs[lane][element] = bits.map(|bits| [bits]);
        self.inner.set_input(element, lane, bits);
    }

    fn run(&mut self, wave: &Wave<'_>) -> Result<(), CallError> {
        let number = match (self.tracer.invocation(), self.prepared().stage) {
            (Invocation::Primitive(number), Stage::Geometry) | (Invocation::Patch(number), Stage::Hull) => number,
            _ => {
                self.last = None;
                return self.inner.run(wave);
            }
        };
        let lane = number.checked_sub(wave.first).map(|lane| lane as usize).filter(|&lane| lane < wave.count);
        let Some(lane) = lane else {
            self.last = None;
            return self.inner.run(wave);
        };
        let inputs = &self.inputs[..wave.count];
        self.last = Some(self.run_wave(wave.spaces, wave.first, (inputs, wave.count), lane)?);
        Ok(())
    }

    fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        match &self.last {
            None => self.inner.output(element, lane),
            Some(ran) => ran.outputs(lane)[element].map(|[bits]| bits),
        }
    }

    fn read_array(&self, array: Array, first: u32, count: u32, lane: usize, rows: &mut Vec<[u32; 4]>) {
        let Some(ran) = &self.last else { return self.inner.read_array(array, first, count, lane, rows) };
        let elements = ran.array(lane, array).as_flattened().as_chunks().0.iter();
        rows.extend(elements.skip(first as usize).take(count as usize));
    }

    fn run_groups(&mut self, threads: u32, groups: &mut dyn Groups) -> Result<(), CallError> {
        while let Some(number) = groups.next() {
            self.run_group(threads, number, groups)?;
        }
        Ok(())
    }

    fn run_block(&mut self, block: &Block<'_>, bytes: &mut [u8]) -> Result<(), CallError> {
        let prepared = self.prepared();
        // Waves that write memory stay as they are, for each does what it does before the next. Of the others, what
        // is traced is as little as knows nothing of its neighbours.
        let unit = match prepared.stage {
            _ if prepared.exact_function().writes_memory() => self.lanes(),
            Stage::Pixel => 4,
            _ => 1,
        };
        let count = block.count as usize;
        let mut done = 0;
        while let Some(row) = self.find(block, done) {
            let start = row / unit * unit;
            let rows = start..(start + unit).min(count);
            if done < start {
                self.inner.run_block(&part(block, done..start, &mut Vec::new()), bytes)?;
            }
            done = rows.end;
            self.run_rows(block, rows, row, bytes)?;
        }
        match done {
            0 => self.inner.run_block(block, bytes),
            _ if done < count => self.inner.run_block(&part(block, done..count, &mut Vec::new()), bytes),
            _ => Ok(()),
        }
    }
}
