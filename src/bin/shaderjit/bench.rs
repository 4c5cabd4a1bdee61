//! `bench`: how fast a shader compiles and runs here.

use crate::bindings::{BindArgs, Missing};
use crate::options::{CompileArgs, ProgramArgs};
use crate::report::{Outcome, Report};
use serde::Serialize;
use shaderjit::error::CallError;
use shaderjit::{GeometryState, OutputLayout};
use std::time::{Duration, Instant};

/// Vertices a run has where no input is given: as a large draw call; their bytes stay in the second-level cache or near it.
const VERTICES: u32 = 10_000;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ProgramArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    bind: BindArgs,
    /// Milliseconds to spend on each engine and on compiling
    #[arg(long, value_name = "N", default_value_t = 300)]
    millis: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Figures {
    vertices: u32,
    lanes: u32,
    /// Native code, medians of whole runs.
    jit_ns_per_vertex: f64,
    jit_mverts_per_s: f64,
    interp_ns_per_vertex: f64,
    /// Warm, from the container's bytes to native code.
    compile_us: f64,
    lower_us: f64,
    passes_us: f64,
    native_us: f64,
    code_bytes: usize,
}

pub fn run(args: &Args) -> Outcome {
    let shader = args.shader.load()?;
    let engine = args.compile.engine(None)?;
    let options = args.compile.options(&args.shader)?;
    let compile = || engine.compile(&shader, &options);
    let code = compile().map_err(|error| args.shader.failure(error))?;
    args.shader.require_native(&code)?;
    let budget = Duration::from_millis(args.millis);

    let mut times = Vec::new();
    sample(budget, || {
        engine.clear_cache();
        times.push(compile()?.times());
        Ok::<_, shaderjit::Error>(())
    })?;
    let micros = |of: fn(&shaderjit::CompileTimes) -> Duration| {
        let mut durations: Vec<Duration> = times.iter().map(of).collect();
        median(&mut durations).as_secs_f64() * 1e6
    };

    let bindings = args.bind.read(shader.format(), &code, Missing::Ordinary(VERTICES, 0))?;
    let call = bindings.call(shader.format(), &code)?;
    // A part of the vertices is enough for the interpreter, whose time does not depend on their number.
    let interpreted = bindings.count.min(1024);
    let (mut jit, mut interp) = if code.interface().geometry.is_some() {
        // Each invocation finds what the one before has left; those of a run begin with zeros.
        let state = GeometryState::default;
        (
            sample(budget, || call.run_geometry(0..bindings.count, &mut state()).map(drop))?,
            sample(budget, || call.interpret_geometry(0..interpreted, &mut state()).map(drop))?,
        )
    } else {
        let layout = OutputLayout::packed(&code);
        let mut outputs = call.run(0..bindings.count)?.into_bytes();
        (
            sample(budget, || call.run_into(0..bindings.count, &layout, &mut outputs))?,
            sample::<CallError>(budget, || call.interpret(0..interpreted).map(drop))?,
        )
    };

    let per_vertex = |median: Duration, count: u32| median.as_secs_f64() * 1e9 / f64::from(count.max(1));
    let jit_ns_per_vertex = per_vertex(median(&mut jit), bindings.count);
    let figures = Figures {
        vertices: bindings.count,
        lanes: code.lanes().count(),
        jit_ns_per_vertex,
        jit_mverts_per_s: 1e3 / jit_ns_per_vertex,
        interp_ns_per_vertex: per_vertex(median(&mut interp), interpreted),
        compile_us: micros(|times| times.total()),
        lower_us: micros(|times| times.lower),
        passes_us: micros(|times| times.passes),
        native_us: micros(|times| times.native),
        code_bytes: code.code().map_or(0, <[u8]>::len),
    };
    Ok(if args.json { Report::json(&figures) } else { Report::text(text(&figures)) })
}

/// Times `f` until the budget is spent, but at least three times.
fn sample<E>(budget: Duration, mut f: impl FnMut() -> Result<(), E>) -> Result<Vec<Duration>, E> {
    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.len() < 3 || start.elapsed() < budget {
        let before = Instant::now();
        f()?;
        samples.push(before.elapsed());
    }
    Ok(samples)
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

fn text(figures: &Figures) -> String {
    let Figures { vertices, lanes, jit_ns_per_vertex, jit_mverts_per_s, interp_ns_per_vertex, .. } = figures;
    let Figures { compile_us, lower_us, passes_us, native_us, code_bytes, .. } = figures;
    let ratio = interp_ns_per_vertex / jit_ns_per_vertex;
    format!(
        "vertices   {vertices}, {lanes} in lockstep\n\
         jit        {jit_ns_per_vertex:.2} ns/vertex, {jit_mverts_per_s:.1} Mverts/s\n\
         interp     {interp_ns_per_vertex:.1} ns/vertex, {ratio:.1} times as long\n\
         compile    {compile_us:.0} us: lower {lower_us:.0}, passes {passes_us:.0}, native {native_us:.0}\n\
         code       {code_bytes} bytes\n"
    )
}
