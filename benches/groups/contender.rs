//! Who runs the thread groups of a case.

use crate::aligned::Aligned;
use crate::case::{Case, Plain};
use crate::engines::{Engines, NATIVE_WAYS};
use crate::names::{OURS, contenders};
use shaderjit::{AtomicBuffer, Backend, CompileOptions, CompiledShader, Engine, Lanes};
use std::iter;
use std::sync::Arc;

/// What the contenders are called: the library's first.
pub const NAMES: [&str; OURS + 2] = contenders(["plain Rust", "plain Rust, another algorithm"]);

/// Everybody who can do it, in the order of [`NAMES`].
pub type Contenders<'a> = [Option<Box<dyn Contender + 'a>>; NAMES.len()];

/// Something that can run all groups of a case.
pub trait Contender {
    /// Runs them.
    fn run(&mut self);

    /// The words that they left in each view.
    fn words(&self) -> Vec<Vec<u32>>;
}

/// Everybody, ready to run.
pub fn all<'a>(case: &'a Case, engines: &Engines) -> Contenders<'a> {
    let ours = |engine, backend, lanes| Box::new(Ours::new(case, engine, backend, lanes)) as Box<dyn Contender>;
    let native = |(vectors, lanes)| Some(ours(engines.of(vectors)?, Backend::Jit, lanes));
    let plain = |run: &'a Plain| Box::new(InPlain { run, words: case.words() }) as Box<dyn Contender>;
    let interpreter = ours(engines.narrow(), Backend::Interpreter, Lanes::Four);
    let others = [Some(plain(&case.plain)), case.shorter.as_ref().map(plain)];
    let mut all = iter::once(Some(interpreter)).chain(NATIVE_WAYS.map(native)).chain(others);
    std::array::from_fn(|_| all.next().expect("there are as many names"))
}

/// Native code, or the interpreter's.
pub fn compile(case: &Case, engine: &Engine, backend: Backend, lanes: Option<Lanes>) -> Arc<CompiledShader> {
    let options = CompileOptions::default().backend(backend);
    let options = lanes.map_or(options.clone(), |lanes| options.lanes(lanes));
    let code = engine.compile(&case.shader, &options).expect("the program is supported");
    assert_eq!(code.is_native(), backend == Backend::Jit, "{}: {:?}", case.name, code.native_status());
    code
}

/// The library. A run is a call from its beginning: bind, and run the groups.
struct Ours<'a> {
    case: &'a Case,
    code: Arc<CompiledShader>,
    memory: Vec<AtomicBuffer>,
}

impl<'a> Ours<'a> {
    fn new(case: &'a Case, engine: &Engine, backend: Backend, lanes: Lanes) -> Ours<'a> {
        Ours { case, code: compile(case, engine, backend, Some(lanes)), memory: case.memory() }
    }
}

impl Contender for Ours<'_> {
    fn run(&mut self) {
        let call = self.case.call(&self.code, &self.memory).expect("the shader has what is bound");
        call.dispatch(self.case.grid).expect("everything is bound");
    }

    fn words(&self) -> Vec<Vec<u32>> {
        words(&self.memory)
    }
}

/// What is in the views.
pub fn words(memory: &[AtomicBuffer]) -> Vec<Vec<u32>> {
    let words = |buffer: &AtomicBuffer| (0..buffer.len() / 4).map_while(|word| buffer.word(word)).collect();
    memory.iter().map(words).collect()
}

/// Plain Rust.
struct InPlain<'a> {
    run: &'a Plain,
    words: Vec<Aligned<u32>>,
}

impl Contender for InPlain<'_> {
    fn run(&mut self) {
        (self.run)(&mut self.words);
    }

    fn words(&self) -> Vec<Vec<u32>> {
        self.words.iter().map(|words| words.to_vec()).collect()
    }
}
