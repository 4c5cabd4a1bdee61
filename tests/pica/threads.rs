//! Many threads, each with a shader unit of its own, one engine and a thousand programs.

use crate::assembler::{Destination, Program, Source};
use crate::random::Random;
use shaderjit::frontend::pica::opcode::Opcode;
use shaderjit::pica::{Draw, OutputMap, Unit, Vertices};
use shaderjit::{Config, Engine, VertexBufferView};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const THREADS: u64 = 64;
const PROGRAMS: u32 = 1000;
/// Says for how many seconds the threads go on; without it they stop when each program has been drawn a few times.
const SECONDS: &str = "SHADERJIT_THREAD_SECONDS";

/// `mul o0, c<a>, v0; add o0, c<b>, o0`, by way of r0.
fn program(number: u32) -> Program {
    let mut program = Program::default();
    let [a, b] = operands(number);
    program.op(Opcode::Mul, Destination::new(0x10), &[Source::new(0x20 + a), Source::new(0)]);
    program.op(Opcode::Add, Destination::new(0), &[Source::new(0x20 + b), Source::new(0x10)]);
    program.word(Opcode::End, &[]);
    program
}

fn operands(number: u32) -> [u32; 2] {
    [number % 32, 32 + number / 32]
}

fn uniform(number: u32) -> [f32; 4] {
    std::array::from_fn(|component| number as f32 + 0.25 * component as f32)
}

struct Worker<'a> {
    engine: &'a Engine,
    programs: &'a [Program],
    unit: Unit,
    vertices: Vec<u8>,
    random: Random,
}

impl Worker<'_> {
    fn new<'a>(engine: &'a Engine, programs: &'a [Program], thread: u64) -> Worker<'a> {
        let mut unit = Unit::new();
        unit.vertex_mut().set_output_mask(1);
        unit.set_output_map(OutputMap::from_registers(1, &[0x0302_0100]));
        for (number, row) in (0..).zip(&mut unit.vertex_mut().uniforms_mut().floats) {
            *row = uniform(number);
        }
        let vertices = (0..7 * 4).flat_map(|word| (word as f32 - 9.0).to_le_bytes()).collect();
        Worker { engine, programs, unit, vertices, random: Random(thread * 7919 + 1) }
    }

    /// Uploads a program and draws with it.
    fn draw(&mut self, number: u32) {
        let Program { words, descriptors } = &self.programs[number as usize];
        self.unit.vertex_mut().set_words(0, words);
        self.unit.vertex_mut().set_descriptors(0, descriptors);
        // What no program can get to is not looked at.
        self.unit.vertex_mut().set_words(64, &[self.random.below(u32::MAX)]);
        let attributes = [VertexBufferView::f32x4(&self.vertices, 16)];
        let draw = Draw { attributes: &attributes, vertices: Vertices::Range(0..7) };
        let triangles = self.unit.draw(self.engine, &draw).expect("the program runs");
        assert_eq!(triangles.indices, [[0, 1, 2], [3, 4, 5]]);
        let [a, b] = operands(number).map(uniform);
        for vertex in 0..7 {
            let given: [f32; 4] = std::array::from_fn(|component| (4 * vertex + component) as f32 - 9.0);
            let expected = std::array::from_fn(|c| b[c] + a[c] * given[c]);
            let position = triangles.vertex(vertex as u32).expect("there are seven").position();
            assert_eq!(position, expected, "program {number}, vertex {vertex}");
        }
    }
}

/// All threads draw with all programs; how many draws there were.
fn everybody(engine: &Engine, programs: &[Program]) -> usize {
    let draws = AtomicUsize::new(0);
    let seconds = std::env::var(SECONDS).ok().and_then(|seconds| seconds.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let draws = &draws;
            scope.spawn(move || {
                let mut worker = Worker::new(engine, programs, thread);
                // Every program once by somebody, then at random.
                let first = (0..PROGRAMS).filter(|number| u64::from(*number) % THREADS == thread);
                let mut count = first.map(|number| worker.draw(number)).count();
                while count < 60 || Instant::now() < end {
                    let number = worker.random.below(PROGRAMS);
                    worker.draw(number);
                    count += 1;
                    let stats = engine.cache_stats();
                    assert!(stats.bytes <= stats.budget, "{stats:?}");
                }
                draws.fetch_add(count, Ordering::Relaxed);
            });
        }
    });
    draws.into_inner()
}

#[test]
fn each_program_is_compiled_once_for_all_threads() {
    let engine = Engine::new(Config::default()).expect("this machine has native code");
    let programs: Vec<Program> = (0..PROGRAMS).map(program).collect();
    let draws = everybody(&engine, &programs);
    let stats = engine.cache_stats();
    println!("{draws} draws, {stats:?}");
    assert!(draws >= 60 * THREADS as usize);
    // IR and native code.
    assert_eq!(stats.compiles, 2 * u64::from(PROGRAMS));
    assert_eq!(stats.entries, 2 * PROGRAMS as usize);
}

#[test]
fn a_small_budget_holds_and_results_stay_the_same() {
    let budget = 1 << 20;
    let engine = Engine::new(Config::default().cache_bytes(budget)).expect("this machine has native code");
    let programs: Vec<Program> = (0..PROGRAMS).map(program).collect();
    everybody(&engine, &programs);
    let stats = engine.cache_stats();
    println!("{stats:?}");
    assert!(stats.bytes <= budget && stats.compiles > 2 * u64::from(PROGRAMS));
}
