//! PICA200 programs run as the hardware's rings say, on every engine.

mod generate;
mod geometry;
mod rings;

use super::fence::fenced;
use super::way::Way;
use crate::error::{CallError, Error, LowerError};
use crate::{
    Backend, CompileOptions, CompiledShader, Config, Engine, FloatPrecision, FlowForm, Outputs, PicaUniforms, Shader,
    Vectors, VertexBufferView,
};
use rings::{Ended, Unit};
use shaderjit_ir::fuel::EdgeCosts;
use std::sync::LazyLock;

/// More vertices than one group of the widest lanes, so that there are whole groups and a tail.
const VERTICES: usize = 19;

/// Instructions that the loops of a wave may take.
const FUEL: u32 = 500_000;

/// Words one vertex may execute by itself.
const STEPS: u32 = 3000;

/// Input registers `v0` to `v15` of one vertex, as bits.
type Registers = [[u32; 4]; 16];

/// One for each kind of vectors. Compilations are not kept: no two cases are the same.
static ENGINES: LazyLock<Vec<Engine>> = LazyLock::new(|| {
    let engine = |vectors| Engine::new(Config::default().vectors(vectors).fuel(FUEL).cache_bytes(0));
    let engines = Vectors::of_this_machine().into_iter().map(engine);
    engines.collect::<Result<_, _>>().expect("the machine that tests this has native code")
});

/// A program of any words, and what it runs on.
#[derive(Debug)]
pub struct PicaRunCase {
    /// Instruction words.
    pub words: Vec<u32>,
    /// Operand descriptors.
    pub descriptors: Vec<u32>,
    /// Where it starts.
    pub entry: u16,
    /// Uniforms.
    pub uniforms: PicaUniforms,
    /// What each vertex sees.
    pub vertices: Vec<[[u32; 4]; 16]>,
    /// How numbers are kept.
    pub numbers: FloatPrecision,
    /// Whether the program is made for these bool and integer uniforms.
    pub specialize: bool,
    /// How native code is made.
    pub way: Way,
}

impl PicaRunCase {
    fn engine(&self) -> &'static Engine {
        self.way.of(&ENGINES)
    }
}

/// Native code and the interpreter give the same bits in every form of control flow, and those are what
/// the rings of one vertex after the other give; or all run out of fuel. No program is refused but for what it names.
/// As a geometry shader it emits the same and leaves the same everywhere, too.
pub fn pica_run(case: &PicaRunCase) {
    geometry::check(case);
    let shader = Shader::from_pica_words(&case.words, &case.descriptors, case.entry.into());
    let options = CompileOptions::default().float_precision(case.numbers);
    let options = if case.specialize { options.specialize(&case.uniforms) } else { options };
    for flow in [FlowForm::Graph, FlowForm::Dispatch] {
        let options = options.clone().flow(flow).lanes(case.way.lanes);
        let code = match case.engine().compile(&shader, &options) {
            Ok(code) => code,
            // An opcode of geometry shaders; a descriptor or an entry point that is not there.
            Err(Error::Lower(LowerError::Unsupported { .. } | LowerError::Invalid { .. }) | Error::Decode(_)) => return,
            Err(error) => panic!("{error}\n{case:?}"),
        };
        check(case, &code, &options);
    }
}

/// The vertices in groups as the engines make them, so that each group can run out of fuel by itself.
fn check(case: &PicaRunCase, code: &CompiledShader, options: &CompileOptions) {
    let lanes = code.lanes().count() as usize;
    let words = case.vertices.iter().flatten().flatten();
    let bytes: Vec<u8> = fenced(|| words.flat_map(|word| word.to_le_bytes()).collect());
    let interpreted = case
        .engine()
        .compile(
            &Shader::from_pica_words(&case.words, &case.descriptors, case.entry.into()),
            &options.clone().backend(Backend::Interpreter),
        )
        .expect("what one engine takes, the other does");
    let run = |code: &CompiledShader, first: usize, end: usize| -> Result<Outputs, CallError> {
        let mut call = code.call();
        for register in 0..16 {
            call.input_element(register, VertexBufferView::f32x4(&bytes[16 * register..], 256))?;
        }
        call.pica_uniforms(&case.uniforms).run(first as u32..end as u32)
    };
    let unit = Unit::new(case, case.engine().is_fused());
    for first in (0..case.vertices.len()).step_by(lanes) {
        let end = (first + lanes).min(case.vertices.len());
        let alone: Vec<Ended> = case.vertices[first..end].iter().map(|vertex| unit.run(vertex, STEPS)).collect();
        let steps: u32 = alone.iter().map(|ended| ended.steps).sum();
        let native = fenced(|| run(code, first, end));
        let reference = run(&interpreted, first, end);
        match (&native, &reference) {
            (Ok(native), Ok(reference)) => {
                let difference = native.first_difference(reference);
                assert!(
                    difference.is_none(),
                    "native code is not the interpreter: {difference:?}\n{options:?}\n{case:?}"
                );
            }
            (Err(CallError::OutOfFuel { .. }), Err(CallError::OutOfFuel { .. })) => {
                // Each backward edge takes at least one lane one word further, over at most a dispatching block, and
                // costs no more than the whole program.
                let most = 2 * u64::from(steps) * EdgeCosts::new(&code.prepared().function).whole();
                let is_endless = alone.iter().any(|ended| ended.outputs.is_none());
                assert!(is_endless || most > FUEL.into(), "out of fuel after {steps} words\n{options:?}\n{case:?}");
                continue;
            }
            _ => panic!("native code ends in {native:?}, the interpreter in {reference:?}\n{options:?}\n{case:?}"),
        }
        let outputs = native.expect("it was just matched");
        let words: Vec<u32> = outputs.bytes().as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
        for (vertex, (ours, alone)) in words.chunks(64).zip(&alone).enumerate() {
            let Some(theirs) = &alone.outputs else { continue };
            let same = |(&a, &b): (&u32, &u32)| a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan();
            let is_same = ours.iter().zip(theirs.as_flattened()).all(same);
            assert!(is_same, "vertex {}: {ours:x?} is not {theirs:x?}\n{options:?}\n{case:?}", first + vertex);
        }
    }
}
