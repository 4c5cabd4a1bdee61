//! Control flow that no assembler writes.

use crate::assembler::{Destination, Program, Source};
use crate::{VERTEX, engine, run_everywhere};
use shaderjit::frontend::pica::opcode::{Field, Opcode};
use shaderjit::{CompileOptions, FloatPrecision, FlowForm, Shader};
use std::time::{Duration, Instant};

const R0: u32 = 0x10;

/// Ten vertices, of which `v0.x` is the number.
fn vertices() -> Vec<u8> {
    let mut bytes = vec![0; 10 * VERTEX];
    for (number, vertex) in bytes.chunks_mut(VERTEX).enumerate() {
        vertex[..4].copy_from_slice(&(number as f32).to_le_bytes());
    }
    bytes
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(bound)) as u32
    }
}

/// What a program of 4096 words costs to compile in either mode, and that it runs.
fn check(name: &str, shader: &Shader) {
    for numbers in [FloatPrecision::Fast, FloatPrecision::Float24] {
        let start = Instant::now();
        let options = CompileOptions::default().float_precision(numbers);
        let engine = engine();
        let outputs = run_everywhere(&engine, shader, &options, &vertices());
        assert_eq!(outputs.bytes().len(), vertices().len());
        let code = engine.compile(shader, &options).expect("it is in the cache");
        // The same code for any of them, a few thousand instructions.
        assert!(code.is_dispatched(), "{name}");
        assert!(code.machine_code().is_some_and(|code| code.len() < 128 << 10), "{name}");
        let took = start.elapsed();
        // With every check on, next to other tests, on a busy machine: no measurement, but far from a hang.
        assert!(took < Duration::from_secs(120), "{name}: {took:?}");
    }
}

#[test]
fn program_memory_full_of_arithmetic_runs() {
    let mut program = Program::default();
    let source = |register| Source { swizzle: [3, 0, 1, 2], ..Source::new(register) };
    while program.words.len() < 4095 {
        let at = program.words.len() as u32;
        let to = Destination::new(R0 + at % 16);
        program.op(Opcode::Mad, to, &[source(R0 + at % 7), source(0x20 + at % 96), source(R0 + at % 5)]);
        program.op(Opcode::Ex2, Destination::component(at % 16, 2), &[Source::component(R0 + at % 16, 1)]);
    }
    program.words.truncate(4095);
    check("arithmetic", &program.finish());
}

#[test]
fn program_memory_full_of_calls_runs() {
    // Every word calls some other one over a range that never ends: all orders of four entries are states.
    let mut random = Random(7);
    let mut program = Program::default();
    program.op(Opcode::Add, Destination::new(1), &[Source::new(0x20), Source::new(0)]);
    while program.words.len() < 4090 {
        let target = (program.words.len() as u32 + random.below(40)).min(4095);
        let fields = [(Field::Bool, random.below(16)), (Field::Target, target), (Field::Count, 255)];
        program.word(Opcode::Callu, &fields);
        program.op(Opcode::Add, Destination::new(random.below(16)), &[Source::new(0x21), Source::new(0)]);
    }
    check("calls", &program.finish());
}

#[test]
fn branches_on_everything_run() {
    // Bodies of IF that overlap, on flags that every vertex has otherwise.
    let mut random = Random(11);
    let mut program = Program::default();
    for at in (0..4080u32).step_by(4) {
        let fields = [
            (Field::CompareX, 2),
            (Field::CompareY, 4),
            (Field::Source1, 0),
            (Field::Source2, R0 + random.below(4)),
            (Field::Descriptor, 0),
        ];
        program.word(Opcode::Cmp, &fields);
        let fields = [
            (Field::ReferenceX, random.below(2)),
            (Field::Combine, 2),
            (Field::Target, (at + 2 + random.below(20)).min(4095)),
            (Field::Count, random.below(9)),
        ];
        program.word(Opcode::Ifc, &fields);
        program.op(Opcode::Add, Destination::new(R0 + random.below(4)), &[Source::new(R0), Source::new(0)]);
        program.op(Opcode::Mov, Destination::new(random.below(16)), &[Source::new(R0 + 1)]);
    }
    check("branches", &program.finish());
}

/// A recursive sum: each call adds 1 and calls itself while the sum is below the number of the vertex.
#[test]
fn recursion_is_the_same_in_every_form() {
    let mut program = Program::default();
    // 0: call 3..9 · 1: mov o0, r0 · 2: end · 3: cmp r0.x < v0.x · 4: add r0 · 5: callc 3..9 · 6, 7, 8: add r1
    program.word(Opcode::Call, &[(Field::Target, 3), (Field::Count, 6)]);
    program.op(Opcode::Mov, Destination::new(0), &[Source::new(R0)]);
    program.word(Opcode::End, &[]);
    program
        .word(Opcode::Cmp, &[(Field::CompareX, 2), (Field::Source1, R0), (Field::Source2, 0), (Field::Descriptor, 0)]);
    program.op(Opcode::Add, Destination::new(R0), &[Source::new(R0), Source::component(1, 0)]);
    program.word(Opcode::Callc, &[(Field::ReferenceX, 1), (Field::Combine, 2), (Field::Target, 3), (Field::Count, 6)]);
    for _ in 0..3 {
        program.op(Opcode::Add, Destination::new(1), &[Source::new(R0), Source::new(0)]);
    }
    let mut vertices = vertices();
    for vertex in vertices.chunks_mut(VERTEX) {
        vertex[16..20].copy_from_slice(&1f32.to_le_bytes());
    }
    let shader = program.finish();
    let [graph, dispatch] = [FlowForm::Graph, FlowForm::Dispatch]
        .map(|flow| run_everywhere(&engine(), &shader, &CompileOptions::default().flow(flow), &vertices));
    assert_eq!(graph.first_difference(&dispatch), None);
    let o0 = graph.output("o0", 0).expect("there is one");
    for vertex in 0..10 {
        let [x, ..]: [f32; 4] = o0.vec4(vertex).expect("there are ten");
        // r0 is compared before each sum. The fifth call makes the ring forget the first, and nothing returns to word
        // 1.
        let expected = if vertex < 4 { vertex as f32 + 1.0 } else { 0.0 };
        assert_eq!(x, expected, "vertex {vertex}");
    }
}

#[test]
fn undefined_words_and_the_end_of_memory_are_harmless() {
    let words: Vec<u32> = (0..4096u32).map(|at| [0x14 << 26, 0x1c << 26 | at, 0x10 << 26][at as usize % 3]).collect();
    for flow in [FlowForm::Graph, FlowForm::Dispatch] {
        let shader = Shader::from_pica_words(&words, &[], 0);
        let outputs = run_everywhere(&engine(), &shader, &CompileOptions::default().flow(flow), &vertices());
        assert!(outputs.bytes().iter().all(|&byte| byte == 0));
    }
}
