//! Those who do the same work take turns: ours on every engine of this machine, and plain Rust, who is the last.

use crate::engines::{Engines, NATIVE_NAMES, NATIVE_WAYS};
use crate::measure::{measure, median};
use shaderjit::{Backend, CompileOptions, CompiledShader, Engine, Lanes, Shader};
use std::sync::Arc;

/// How often each has its turn.
const ROUNDS: usize = 7;

/// One who takes part, by name; a run is all of the work.
pub type Contender<'a> = (String, Box<dyn FnMut() + 'a>);

pub fn compile(engine: &Engine, shader: &Shader, lanes: Lanes, backend: Backend) -> Arc<CompiledShader> {
    let options = CompileOptions::default().lanes(lanes).backend(backend);
    engine.compile(shader, &options).expect("it compiles")
}

/// Ours on every engine.
pub fn ours<'a>(engines: &Engines, shader: &Shader, run: impl Fn(&CompiledShader) + Clone + 'a) -> Vec<Contender<'a>> {
    let mut all: Vec<Contender<'a>> = Vec::new();
    let mut add = |name: &str, code: Arc<CompiledShader>| {
        let run = run.clone();
        all.push((name.to_string(), Box::new(move || run(&code))));
    };
    add("interpreter", compile(engines.narrow(), shader, Lanes::Eight, Backend::Interpreter));
    for (name, (vectors, lanes)) in NATIVE_NAMES.into_iter().zip(NATIVE_WAYS) {
        if let Some(engine) = engines.of(vectors) {
            add(name, compile(engine, shader, lanes, Backend::Jit));
        }
    }
    all
}

/// Has everybody run in turns, `count` invocations a run; prints the medians, and how many times as long the last one
/// takes. Unless it `times`, everybody runs once.
pub fn race(title: &str, unit: &str, count: usize, contenders: &mut [Contender<'_>], times: bool) {
    if !times {
        contenders.iter_mut().for_each(|(_, run)| run());
        return;
    }
    let mut all = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for ((_, run), times) in contenders.iter_mut().zip(&mut all) {
            times.push(measure(count as u32, run));
        }
    }
    let medians: Vec<f64> = all.into_iter().map(median).collect();
    let plain = medians[medians.len() - 1];
    println!("{title}, ns/{unit}");
    for ((name, _), ns) in contenders.iter().zip(medians) {
        println!("  {name:<12} {ns:>8.2}  {:>6.2}x", plain / ns);
    }
}
