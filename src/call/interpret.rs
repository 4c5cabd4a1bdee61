//! Waves on the IR's fast interpreter: the same as native code makes, so that both give the same results, running out
//! of fuel included. Of a block, as many waves run side by side as the interpreter has lanes for; where they write
//! memory, one after the other, for what writes happens wave by wave, and never twice.

use super::fetch::fetch;
use super::outputs::Place;
use super::uniforms::BoundSpaces;
use super::vertex_buffer::VertexBufferView;
use super::wave::{Block, Bound, Driver, Groups, Wave, WaveRunner};
use super::work::{Work, recycle};
use crate::error::CallError;
use crate::jit::Loops;
use shaderjit_ir::fuel::{Fuel, Meter};
use shaderjit_ir::vm::{LANES, Machine, PhaseEnd, Shared};
use shaderjit_ir::{Array, Function};
use std::sync::atomic::AtomicU64;
use std::{iter, mem};

/// Has the interpreter driven, in waves of as many lanes as the shader has.
pub(super) fn interpret<'a>(
    bound: Bound<'_, 'a>,
    driver: impl Driver<'a>,
    work: &mut Work<'a>,
) -> Result<(), CallError> {
    driver.drive(&mut Interpreted::new(bound), work)
}

/// The interpreter with everything bound but inputs and outputs.
pub(super) struct Interpreted<'c, 'a> {
    bound: Bound<'c, 'a>,
    function: &'c Function,
    machine: Machine<'c>,
    loops: Loops,
    /// Invocations of a wave.
    lanes: usize,
    /// The waves of a group behind the first, which is the machine's.
    others: Vec<Machine<'c>>,
    /// For the uniforms of a wave.
    uniforms: Vec<&'static [[u32; 4]]>,
}

impl<'c, 'a> Interpreted<'c, 'a> {
    pub fn new(bound: Bound<'c, 'a>) -> Interpreted<'c, 'a> {
        let prepared = bound.call.shader.prepared();
        let lanes = bound.call.shader.lanes().count() as usize;
        Interpreted {
            bound,
            function: prepared.exact_function(),
            machine: Machine::new(prepared.bytecode(), lanes),
            loops: Loops::detect(),
            lanes,
            others: Vec::new(),
            uniforms: Vec::new(),
        }
    }

    /// Runs waves with the inputs that are set. The first lane sees a vertex's number, and `count` of them have one of
    /// their own.
    fn run_waves(
        &mut self,
        spaces: &BoundSpaces,
        spaces_changed: bool,
        first: u32,
        count: usize,
    ) -> Result<(), CallError> {
        let Bound { call, resources, textures, fuel } = self.bound;
        self.machine.set_vertex_id(std::array::from_fn(|lane| first.wrapping_add(lane.min(count - 1) as u32)));
        let mut uniforms: Vec<&[[u32; 4]]> = mem::take(&mut self.uniforms);
        uniforms.extend(Shared::rows(self.function, spaces.rows()));
        let shared = Shared { uniforms: &uniforms, resources, textures };
        if spaces_changed {
            self.loops.bind(&mut self.machine, &shared, call.instance);
        }
        let result = self.loops.run(&mut self.machine, &shared, count.div_ceil(self.lanes), fuel);
        self.uniforms = recycle(uniforms);
        result.map_err(|stop| CallError::stopped(stop, &fuel))
    }

    /// Sets what sixteen vertices of a stream read; those behind the last one read what that does.
    fn fetch(&mut self, element: usize, stream: &VertexBufferView<'_>, vertices: [usize; LANES]) {
        for (component, words) in fetch(stream, vertices).into_iter().enumerate() {
            if let Some(lanes) = self.machine.input(element, component) {
                *lanes = words;
            }
        }
    }

    /// Stores what the first `count` lanes have of an output element.
    fn store(&self, element: usize, components: usize, place: Place, row: usize, count: usize, bytes: &mut [u8]) {
        let words: [&[u32; LANES]; 4] = std::array::from_fn(|component| self.machine.output(element, component));
        for lane in 0..count {
            let stored = bytes[place.offset + (row + lane) * place.stride..].as_chunks_mut().0;
            for (to, from) in stored.iter_mut().zip(words).take(components) {
                *to = from[lane].to_le_bytes();
            }
        }
    }
}

/// Most memory of a group's waves, all together.
const MAX_GROUP_BYTES: usize = 1 << 30;

/// How the waves of a group run: all of them up to a barrier, one after the other, before any goes on.
struct Phases<'p> {
    loops: Loops,
    shared: &'p Shared<'p>,
    fuel: Fuel<'p>,
    lanes: usize,
    /// Threads of the group.
    threads: usize,
}

impl Phases<'_> {
    /// Runs waves that each have a machine; thread `first` is the first one's.
    fn run(&self, machines: &mut [&mut Machine<'_>], first: usize) -> Result<(), CallError> {
        let stopped = |stop| CallError::stopped(stop, &self.fuel);
        let mut waves = Vec::with_capacity(machines.len());
        for (number, machine) in machines.iter_mut().enumerate() {
            let first = first + number * self.lanes;
            let last = (first + self.lanes).min(self.threads) - 1;
            machine.set_vertex_id(std::array::from_fn(|lane| (first + lane).min(last) as u32));
            machine.begin_wave();
            waves.push((Meter::new(self.fuel).map_err(stopped)?, 0));
        }
        loop {
            let mut ends = Vec::with_capacity(waves.len());
            for (machine, (meter, place)) in machines.iter_mut().zip(&mut waves) {
                let end = self.loops.run_phase(machine, self.shared, *place, meter).map_err(stopped)?;
                if let PhaseEnd::Barrier { place: next, .. } = end {
                    *place = next;
                }
                ends.push(end);
            }
            // A barrier that the passes have written twice is one and the same.
            let barrier = |end: &PhaseEnd| match *end {
                PhaseEnd::Barrier { offset, .. } => Some(offset),
                PhaseEnd::Return => None,
            };
            let arrived = ends.iter().find_map(barrier);
            match arrived {
                None => break,
                Some(offset) if ends.iter().any(|end| barrier(end) != Some(offset)) => {
                    return Err(CallError::PartedAtBarrier { offset });
                }
                Some(_) => {}
            }
        }
        waves.iter_mut().try_for_each(|(meter, _)| meter.end()).map_err(stopped)
    }
}

impl<'c> WaveRunner for Interpreted<'c, '_> {
    fn lanes(&self) -> usize {
        self.lanes
    }

    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]) {
        for (component, bits) in bits.into_iter().enumerate() {
            if let Some(lanes) = self.machine.input(element, component) {
                lanes[lane] = bits;
            }
        }
    }

    fn run(&mut self, wave: &Wave<'_>) -> Result<(), CallError> {
        for element in 0..self.function.inputs as usize {
            for component in 0..4 {
                if let Some(lanes) = self.machine.input(element, component) {
                    let last = lanes[wave.count - 1];
                    lanes[wave.count..].fill(last);
                }
            }
        }
        self.run_waves(wave.spaces, wave.spaces_changed, wave.first, wave.count)
    }

    fn run_groups(&mut self, threads: u32, groups: &mut dyn Groups) -> Result<(), CallError> {
        let Bound { call, resources, textures, fuel } = self.bound;
        let (loops, lanes, threads) = (self.loops, self.lanes, threads as usize);
        let (code, waves) = (call.shader.prepared().bytecode(), threads.div_ceil(lanes));
        let memories = if code.has_barriers() { waves } else { 1 };
        if self.others.len() + 1 < memories {
            let bytes = code.bytes_of_wave().saturating_mul(memories);
            if bytes > MAX_GROUP_BYTES {
                return Err(CallError::Invalid(format!("the waves of a group keep {bytes} bytes")));
            }
            self.others.resize_with(memories - 1, || Machine::new(code, lanes));
        }
        let mut machines: Vec<&mut Machine<'c>> = iter::once(&mut self.machine).chain(&mut self.others).collect();
        let mut is_bound = false;
        while let Some(number) = groups.next() {
            groups.clear();
            let is_numbered = groups.number_space().is_some();
            let mut uniforms: Vec<&[[u32; 4]]> = mem::take(&mut self.uniforms);
            uniforms.extend(Shared::rows(self.function, groups.spaces(number).rows()));
            let shared = Shared { uniforms: &uniforms, resources, textures };
            if is_numbered || !is_bound {
                machines.iter_mut().for_each(|machine| loops.bind(machine, &shared, call.instance));
                is_bound = true;
            }
            let left = AtomicU64::new(0);
            let fuel = fuel.of_group(waves as u32, &left);
            let phases = Phases { loops, shared: &shared, fuel, lanes, threads };
            let result = (0..waves).step_by(memories).try_for_each(|first| phases.run(&mut machines, first * lanes));
            self.uniforms = recycle(uniforms);
            result?;
        }
        Ok(())
    }

    fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        std::array::from_fn(|component| self.machine.output(element, component)[lane])
    }

    fn read_array(&self, array: Array, first: u32, count: u32, lane: usize, rows: &mut Vec<[u32; 4]>) {
        let elements = self.machine.array(array).as_chunks::<4>().0.iter();
        let elements = elements.skip(first as usize).take(count as usize);
        rows.extend(elements.map(|element| element.map(|component| component.0[lane])));
    }

    fn run_block(&mut self, block: &Block<'_>, bytes: &mut [u8]) -> Result<(), CallError> {
        let call = self.bound.call;
        let (prepared, all) = (call.shader.prepared(), block.count as usize);
        // Waves that run side by side run again if one of them stops.
        let at_once = if self.function.writes_memory() { self.lanes } else { LANES };
        for start in (0..all).step_by(at_once) {
            let count = at_once.min(all - start);
            let vertices: [usize; LANES] = std::array::from_fn(|lane| start + lane.min(count - 1));
            for (element, stream) in block.attributes.iter().enumerate() {
                if prepared.facts.reads_input[element] {
                    self.fetch(element, stream, vertices);
                }
            }
            self.run_waves(block.spaces, start == 0, block.first_vertex.wrapping_add(start as u32), count)?;
            let outputs = prepared.interface.outputs.iter().zip(block.layout.places()).enumerate();
            for (element, (declared, place)) in outputs {
                let Some(place) = place else { continue };
                let components = declared.components() as usize;
                self.store(element, components, *place, block.first_row + start, count, bytes);
            }
        }
        Ok(())
    }
}
