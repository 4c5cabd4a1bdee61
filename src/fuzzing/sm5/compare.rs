//! What programs leave in memory: the same on every engine, and what the [oracle](crate::fuzzing::waves) of thread
//! groups leaves. Threads race as they like, because effects happen by phase, wave and lane.

use super::Sm5Case;
use super::check::{FUEL, OutOfFuel, Results, difference, has_branches, may_part_quads, results};
use super::data::{Buffers, Data};
use crate::call::{Invocation, Tracer};
use crate::error::{CallError, Error};
use crate::frontend::{Interface, Lowered, UniformKind};
use crate::fuzzing::fenced;
use crate::fuzzing::waves::{Halt, run_waves};
use crate::memory::GroupMemory;
use crate::{Backend, Engine, Lanes};
use shaderjit_ir::Function;
use shaderjit_ir::fuel::Fuel;
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions};
use shaderjit_ir::pass::PassError;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicU64;

/// How a run ended.
#[derive(Debug)]
enum Outcome {
    /// With outputs and with memory.
    Done(Vec<Vec<[u32; 4]>>, Vec<Vec<u8>>),
    OutOfFuel,
    /// Threads of a group did not come to a barrier together.
    Parted,
}

impl Outcome {
    fn of(outputs: Results, buffers: &Buffers) -> Outcome {
        match outputs {
            Ok(outputs) => Outcome::Done(outputs, buffers.to_bytes()),
            Err(OutOfFuel) => Outcome::OutOfFuel,
        }
    }
}

/// Runs both engines, and the oracle. What differs is the error.
pub fn compare_effects(case: &Sm5Case, engine: &Engine, lowered: &Lowered, data: &Data) -> Result<(), String> {
    let shader = case.shader();
    let compile = |backend| match engine.compile(&shader, &case.options().backend(backend)) {
        Ok(code) => Some(code),
        Err(Error::Pass(PassError::DivergentBarrier { .. })) => None,
        Err(error) => panic!("{error}\n{case:?}\nlowered to\n{}", lowered.function),
    };
    let Some(code) = compile(Backend::Jit) else { return Ok(()) };
    let passed = code.prepared().exact_function();
    let wave = |function| match case.way.lanes {
        Lanes::Four => run::<4>(function, lowered, data, engine),
        Lanes::Eight => run::<8>(function, lowered, data, engine),
        Lanes::Sixteen => run::<16>(function, lowered, data, engine),
    };
    let want = wave(passed);
    // Of groups, one invocation of which is traced, too.
    let thread = Invocation::Thread([case.seed as u32 % 3, 0, 0]);
    let vertex = Invocation::Vertex { number: data.first.wrapping_add(data.range().start), instance: data.instance };
    let invocation = if lowered.interface.thread_group.is_some() { thread } else { vertex };
    for (backend, is_traced) in [(Backend::Jit, false), (Backend::Interpreter, false), (Backend::Jit, true)] {
        // Which arm of a branch comes first, where lanes race through both, is open.
        let may_race = has_branches(&lowered.function) && !case.own;
        if is_traced && (may_race || may_part_quads(&lowered.function)) {
            continue;
        }
        let tracer = Tracer::new(invocation, |_| ControlFlow::Continue(()));
        let code = compile(backend).expect("it has just been compiled");
        let (streams, buffers) = fenced(|| (data.streams(&lowered.interface), data.buffers()));
        let mut call = code.call();
        fenced(|| data.bind(&mut call, &lowered.interface, &streams, &buffers));
        if is_traced {
            call.trace(&tracer);
        }
        let got = if lowered.interface.thread_group.is_some() {
            match fenced(|| call.dispatch(data.grid)) {
                Ok(()) => Outcome::of(Ok(Vec::new()), &buffers),
                Err(CallError::OutOfFuel { .. }) => Outcome::OutOfFuel,
                Err(CallError::PartedAtBarrier { .. }) => Outcome::Parted,
                Err(error) => panic!("{error}\n{case:?}"),
            }
        } else {
            Outcome::of(results(case, fenced(|| call.run(data.range()))), &buffers)
        };
        if let Some(difference) = differs(&got, &want) {
            // What no pass has shortened may take other fuel.
            if is_traced && !matches!((&got, &want), (Outcome::Done(..), Outcome::Done(..))) {
                continue;
            }
            return Err(format!("{backend:?} (traced: {is_traced}) and waves, {:?}: {difference}", case.way));
        }
    }
    // Before and after the passes, without lockstep; each loop may cost something else.
    let [alone, passed] = [&lowered.function, passed].map(|function| run::<1>(function, lowered, data, engine));
    if let Some(difference) = differs_if_done(&alone, &passed) {
        return Err(format!("passes: {difference}"));
    }
    let has_derivatives = lowered.function.insts.values().any(|inst| inst.op.is_derivative());
    match differs_if_done(&alone, &want).filter(|_| case.own && !has_derivatives) {
        Some(difference) => Err(format!("one thread and {:?} lanes: {difference}", case.way.lanes)),
        None => Ok(()),
    }
}

/// Where two outcomes differ first.
fn differs(a: &Outcome, b: &Outcome) -> Option<String> {
    match (a, b) {
        (Outcome::Done(a, a_memory), Outcome::Done(b, b_memory)) => {
            let number = a_memory.iter().zip(b_memory).position(|(a, b)| a != b);
            let memory =
                |number: usize| format!("memory {number}: {:02x?} and {:02x?}", a_memory[number], b_memory[number]);
            number.map(memory).or_else(|| difference(&Ok(a.clone()), &Ok(b.clone())))
        }
        (Outcome::OutOfFuel, Outcome::OutOfFuel) | (Outcome::Parted, Outcome::Parted) => None,
        _ => Some(format!("{a:x?} and {b:x?}")),
    }
}

fn differs_if_done(a: &Outcome, b: &Outcome) -> Option<String> {
    let out_of_fuel = |outcome: &Outcome| matches!(outcome, Outcome::OutOfFuel);
    if out_of_fuel(a) || out_of_fuel(b) { None } else { differs(a, b) }
}

/// The oracle on waves of L.
fn run<const L: usize>(function: &Function, lowered: &Lowered, data: &Data, engine: &Engine) -> Outcome {
    let (interface, buffers) = (&lowered.interface, data.buffers());
    let (textures, views, resources) =
        (data.textures(), data.views(interface, &buffers), data.resource_bytes(interface));
    let memory = GroupMemory::new(&textures, &views, &interface.resources);
    let mut oracle = Oracle::<L> {
        function,
        interface,
        data,
        memory: &memory,
        resources: resources.iter().map(Vec::as_slice).collect(),
        rows: data.rows(),
        fused: engine.is_fused(),
        outputs: vec![Vec::new(); interface.outputs.len()],
    };
    match oracle.run() {
        // Of a group, nobody asks for the outputs, whether it was aborted say.
        Ok(()) if interface.thread_group.is_some() => Outcome::Done(Vec::new(), buffers.to_bytes()),
        Ok(()) => Outcome::Done(oracle.outputs, buffers.to_bytes()),
        Err(outcome) => outcome,
    }
}

struct Oracle<'o, const L: usize> {
    function: &'o Function,
    interface: &'o Interface,
    data: &'o Data,
    memory: &'o GroupMemory<'o, 'o>,
    resources: Vec<&'o [u8]>,
    /// Of each uniform space.
    rows: Vec<Vec<[u32; 4]>>,
    fused: bool,
    outputs: Vec<Vec<[u32; 4]>>,
}

impl<const L: usize> Oracle<'_, L> {
    fn run(&mut self) -> Result<(), Outcome> {
        let Some(threads) = self.interface.thread_group else {
            let range = self.data.range();
            return range
                .clone()
                .step_by(L)
                .try_for_each(|first| self.group(first..range.end.min(first + L as u32), Fuel::from(FUEL)));
        };
        let threads: u32 = threads.iter().product();
        let space = self.interface.uniforms.iter().position(|decl| decl.kind == UniformKind::Group);
        let [width, height, depth] = self.data.grid;
        for number in 0..width * height * depth {
            if let Some(space) = space {
                self.rows[space] = vec![[number % width, number / width % height, number / width / height, 0]];
            }
            self.memory.clear_shared();
            let left = AtomicU64::new(0);
            self.group(0..threads, Fuel::from(FUEL).of_group(threads.div_ceil(L as u32), &left))?;
        }
        Ok(())
    }

    /// Runs waves that wait for each other.
    fn group(&mut self, invocations: Range<u32>, fuel: Fuel<'_>) -> Result<(), Outcome> {
        let options = InterpOptions { fuel, fused: self.fused };
        let uniforms: Vec<&[[u32; 4]]> = self.rows.iter().map(Vec::as_slice).collect();
        // Lanes of the tail repeat the last.
        let lanes = |first: u32| std::array::from_fn(|lane| (first + lane as u32).min(invocations.end - 1));
        let waves: Vec<[u32; L]> = invocations.clone().step_by(L).map(lanes).collect();
        let inputs: Vec<_> = waves.iter().map(|&lanes| self.data.lanes(self.interface, lanes)).collect();
        let first = if self.interface.thread_group.is_some() { 0 } else { self.data.first };
        let bindings = waves.iter().zip(&inputs).map(|(lanes, inputs)| Bindings {
            inputs,
            vertex_id: lanes.map(|invocation| first.wrapping_add(invocation)),
            instance_id: self.data.instance,
            uniforms: &uniforms,
            resources: &self.resources,
            textures: self.memory,
        });
        let bindings: Vec<Bindings<'_, L>> = bindings.collect();
        let interpreters = run_waves(self.function, &bindings, &options).map_err(|halt| match halt {
            Halt::Parted => Outcome::Parted,
            Halt::Stopped(InterpError::Stopped(_)) => Outcome::OutOfFuel,
            Halt::Stopped(error) => panic!("{error}\n{}", self.function),
        })?;
        for (interpreter, lanes) in interpreters.iter().zip(&waves) {
            let own = lanes.windows(2).take_while(|pair| pair[0] != pair[1]).count() + 1;
            for ((rows, output), element) in
                self.outputs.iter_mut().zip(interpreter.outputs()).zip(&self.interface.outputs)
            {
                rows.extend((0..own).map(|lane| {
                    let mut row = output.map(|component| component[lane]);
                    row[element.components() as usize..].fill(0);
                    row
                }));
            }
        }
        Ok(())
    }
}
