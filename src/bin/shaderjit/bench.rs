//! `bench`: how fast a shader compiles and runs here.

use crate::alone;
use crate::bindings::{BindArgs, Missing};
use crate::groups::GroupArgs;
use crate::options::{CompileArgs, ProgramArgs};
use crate::progress::watched;
use crate::report::{Failure, Outcome, Report, with_hint};
use serde::Serialize;
use shaderjit::error::CallError;
use shaderjit::pica::GeometryState;
use shaderjit::{Backend, CompileOptions, CompiledShader, Engine, Lanes, NativeStatus, OutputLayout, Shader, Vectors};
use shaderjit_ir::batch::Pass;
use std::time::{Duration, Instant};

/// Vertices a run has where no input is given: as a large draw call; their bytes stay in the second-level cache or near
/// it.
const VERTICES: u32 = 10_000;

/// Primitives that a stage between vertices and pixels runs on.
const PRIMITIVES: usize = 4096;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ProgramArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    bind: BindArgs,
    #[command(flatten)]
    groups: GroupArgs,
    /// Time every kind of vectors that this machine has, one and two a value, beside what the cost model predicts
    #[arg(long)]
    all_lanes: bool,
    /// Milliseconds to spend on each engine and on compiling
    #[arg(long, value_name = "N", default_value_t = 300)]
    millis: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Figures {
    /// `vertex`; `pixel`, `thread`, `primitive`, `patch` or `domain point` of other stages: what figures are per,
    /// whatever their names.
    invocation: &'static str,
    vertices: u32,
    /// Vertices in lockstep in native code.
    lanes: u32,
    /// Whether there is native code.
    native: bool,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// Native code, medians of whole runs; none without it.
    jit_ns_per_vertex: Option<f64>,
    jit_mverts_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interp_ns_per_vertex: Option<f64>,
    /// Warm, from the container's bytes to native code.
    compile_us: f64,
    lower_us: f64,
    passes_us: f64,
    native_us: f64,
    code_bytes: usize,
}

/// One way to make native code.
#[derive(Serialize)]
struct Way {
    vectors: &'static str,
    /// Whether it is the one that is taken where nothing is asked for.
    chosen: bool,
    /// Cycles of a vertex that the cost model estimates. Those of two ways tell which is faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_cycles: Option<f64>,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Serialize)]
struct Ways {
    ways: Vec<Way>,
}

pub fn run(args: &Args) -> Outcome {
    let shader = args.shader.load()?;
    let options = args.compile.options(&args.shader)?;
    if args.all_lanes {
        return watched(|progress| {
            let ways = Ways { ways: all_ways(args, &shader, &options, progress)? };
            Ok(if args.json { Report::json(&ways) } else { Report::text(table(&ways.ways)) })
        });
    }
    let figures = measure(args, &shader, &args.compile.engine(None)?, &options, true)?;
    Ok(if args.json { Report::json(&figures) } else { Report::text(text(&figures)) })
}

/// Every way to make native code.
fn all_ways(
    args: &Args,
    shader: &Shader,
    options: &CompileOptions,
    progress: &dyn Fn(f32),
) -> Result<Vec<Way>, Failure> {
    let config = args.compile.config(None);
    let widest = Vectors::of_this_machine().last().copied();
    let mut ways = Vec::new();
    let all = args.compile.ways();
    for (number, &(vectors, lanes)) in all.iter().enumerate() {
        progress(number as f32 / all.len() as f32);
        let engine = Engine::new(config.clone().vectors(vectors))?;
        let chosen = engine.compile(shader, options).map_err(|error| args.shader.failure(with_hint(&error)))?.lanes();
        let options = options.clone().lanes(lanes);
        let figures = measure(args, shader, &engine, &options, false)?;
        let code = engine.compile(shader, &options)?;
        let predicted_cycles = code.batch_program(Pass::LAST).ok().map(|program| program.cycles());
        let chosen = Some(vectors) == widest && lanes == chosen;
        ways.push(Way { vectors: vectors.name(), chosen, predicted_cycles, figures });
    }
    Ok(ways)
}

/// Times compilations and runs.
fn measure(
    args: &Args,
    shader: &Shader,
    engine: &Engine,
    options: &CompileOptions,
    interprets: bool,
) -> Result<Figures, Failure> {
    let compile = || engine.compile(shader, options);
    let code = compile().map_err(|error| args.shader.failure(with_hint(&error)))?;
    let refused = match code.native_status() {
        NativeStatus::Refused(reason) => Some(reason.to_string()),
        _ => None,
    };
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
    let memory = args.groups.memory()?;
    let mut call = bindings.call(shader.format(), &code)?;
    memory.iter().try_for_each(|memory| memory.bind(&mut call))?;
    let threads = code.interface().thread_group;
    let work = alone::made_up(&code, PRIMITIVES, 0, false);
    // A part of the vertices is enough for the interpreter, whose time does not depend on their number.
    let interpreted = bindings.count.min(1024);
    let patience = if interprets { budget } else { Duration::ZERO };
    let (mut count, mut interpreted_count) = (bindings.count, interpreted);
    let (mut jit, mut interp) = if let Some(threads) = threads {
        let grid = args.groups.grid();
        let invocations = grid.iter().chain(&threads).map(|&count| u64::from(count)).fold(1, u64::saturating_mul);
        count = u32::try_from(invocations).map_err(|_| Failure::usage("--dispatch: fewer threads tell as much"))?;
        interpreted_count = count;
        let run = |code: &CompiledShader, budget| {
            let mut call = bindings.call(shader.format(), code)?;
            call.unbound_as_zero(true);
            memory.iter().try_for_each(|memory| memory.bind(&mut call))?;
            Ok::<_, Failure>(sample(budget, || call.dispatch(grid))?)
        };
        let lanes = Lanes::ALL.into_iter().find(|lanes| lanes.count() == code.lanes().count());
        let options = lanes.into_iter().fold(options.clone(), CompileOptions::lanes).backend(Backend::Interpreter);
        let jit = if code.is_native() { run(&code, budget)? } else { Vec::new() };
        (jit, run(&*engine.compile(shader, &options)?, patience)?)
    } else if let Some(work) = &work {
        count = work.invocations().1 as u32;
        interpreted_count = count;
        let run = |code: &CompiledShader, budget| {
            let mut call = bindings.call_of_stage(None, code)?;
            memory.iter().try_for_each(|memory| memory.bind_if_known(&mut call))?;
            Ok::<_, Failure>(sample(budget, || work.run(&call).map(drop))?)
        };
        let jit = if code.is_native() { run(&code, budget)? } else { Vec::new() };
        (jit, run(&*engine.compile(shader, &options.clone().backend(Backend::Interpreter))?, patience)?)
    } else if code.interface().is_geometry() {
        // Each invocation finds what the one before has left; those of a run begin with zeros.
        let state = GeometryState::default;
        let run = || call.run_geometry(0..bindings.count, &mut state()).map(drop);
        let jit = if code.is_native() { sample(budget, run)? } else { Vec::new() };
        (jit, sample(patience, || call.interpret_geometry(0..interpreted, &mut state()).map(drop))?)
    } else {
        let layout = OutputLayout::packed(&code);
        let interp = sample::<CallError>(patience, || call.interpret(0..interpreted).map(drop))?;
        let jit = if code.is_native() {
            let mut outputs = call.run(0..bindings.count)?.into_bytes();
            sample(budget, || call.run_into(0..bindings.count, &layout, &mut outputs))?
        } else {
            Vec::new()
        };
        (jit, interp)
    };

    let per_vertex = |median: Duration, count: u32| median.as_secs_f64() * 1e9 / f64::from(count.max(1));
    let jit_ns_per_vertex = (!jit.is_empty()).then(|| per_vertex(median(&mut jit), count));
    Ok(Figures {
        invocation: match &work {
            Some(work) => work.invocations().0,
            None if threads.is_some() => "thread",
            None => alone::rows_of(&code)[0],
        },
        vertices: count,
        lanes: code.lanes().count(),
        native: code.is_native(),
        refused,
        jit_ns_per_vertex,
        jit_mverts_per_s: jit_ns_per_vertex.map(|ns| 1e3 / ns),
        interp_ns_per_vertex: interprets.then(|| per_vertex(median(&mut interp), interpreted_count)),
        compile_us: micros(|times| times.total()),
        lower_us: micros(|times| times.lower),
        passes_us: micros(|times| times.passes),
        native_us: micros(|times| times.native),
        code_bytes: code.machine_code().map_or(0, <[u8]>::len),
    })
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

/// A line for each way; a star stands at the one that is chosen. Predicted times are relative: they are in
/// nanoseconds of which the one that is chosen, or else the last, takes as many as were measured.
fn table(ways: &[Way]) -> String {
    let invocation = ways.first().map_or("vertex", |way| way.figures.invocation);
    let head = format!("ns/{invocation}");
    let mut text = format!("  vectors    lanes  {head:>9}  predicted  compile us  code bytes\n");
    let known = ways.iter().find(|way| way.chosen).or(ways.last());
    let scale = known.and_then(|way| Some(way.figures.jit_ns_per_vertex? / way.predicted_cycles?));
    for Way { vectors, chosen, predicted_cycles, figures } in ways {
        let Figures { lanes, jit_ns_per_vertex, compile_us, code_bytes, refused, .. } = figures;
        let star = if *chosen { '*' } else { ' ' };
        let predicted_ns = predicted_cycles.and_then(|cycles| Some(scale? * cycles));
        let [time, predicted] =
            [*jit_ns_per_vertex, predicted_ns].map(|ns| ns.map_or_else(|| "-".to_string(), |ns| format!("{ns:.2}")));
        let reason = refused.as_ref().map_or_else(String::new, |reason| format!("  {reason}"));
        text += &format!(
            "{star} {vectors:<10} {lanes:>5}  {time:>9}  {predicted:>9}  {compile_us:>10.0}  {code_bytes:>10}{reason}\n"
        );
    }
    text
}

fn text(figures: &Figures) -> String {
    let Figures { invocation, vertices, lanes, .. } = figures;
    let all = match *invocation {
        "vertex" => "vertices".to_string(),
        "patch" => "patches ".to_string(),
        other => format!("{:<8}", format!("{other}s")),
    };
    let interp_ns_per_vertex = figures.interp_ns_per_vertex.unwrap_or_default();
    let Figures { compile_us, lower_us, passes_us, native_us, code_bytes, .. } = figures;
    let (jit, ratio) = match (figures.jit_ns_per_vertex, figures.jit_mverts_per_s) {
        (Some(ns), Some(mverts)) => (
            format!(
                "{ns:.2} ns/{invocation}, {mverts:.1} M{}/s",
                if *invocation == "vertex" { "verts" } else { all.trim_end() }
            ),
            format!(", {:.1} times as long", interp_ns_per_vertex / ns),
        ),
        _ => {
            let reason = figures.refused.as_deref().unwrap_or("not asked for");
            (format!("no native code, the interpreter runs it: {reason}"), String::new())
        }
    };
    format!(
        "{all}   {vertices}, {lanes} in lockstep\n\
         jit        {jit}\n\
         interp     {interp_ns_per_vertex:.1} ns/{invocation}{ratio}\n\
         compile    {compile_us:.0} us: lower {lower_us:.0}, passes {passes_us:.0}, native {native_us:.0}\n\
         code       {code_bytes} bytes\n"
    )
}
