//! `diff`: the same call on the interpreter and on every kind of native code, or of two shaders; whole draws, too.

mod drawn;
mod elements;
mod pair;

use crate::alone;
use crate::bindings::{Bindings, Missing};
use crate::compare::Comparison;
use crate::groups::Memory;
use crate::options::{ProgramArgs, Source};
use crate::pipeline::DrawOptions;
use crate::report::{Failure, Outcome, Report, with_hint};
use serde::Serialize;
use shaderjit::error::CallError;
use shaderjit::frontend::ResourceFile;
use shaderjit::pica::GeometryState;
use shaderjit::printable::Printable;
use shaderjit::{Backend, Call, CompileOptions, CompiledShader, Difference, Engine, Lanes, Outputs, Shader};
use std::ops::Range;

/// Vertices made up where no input is given.
const MADE_UP_VERTICES: u32 = 4096;

/// Primitives made up for a stage that reads them: several waves, and a tail.
const MADE_UP_PRIMITIVES: usize = 515;

/// Loops over made-up values may never end: less fuel than usual tells as much.
const FUEL: u32 = 1 << 16;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ProgramArgs,
    /// Another shader, to be compared with FILE instead of the engines with each other: outputs by semantic, on native
    /// code
    #[arg(value_name = "OTHER", conflicts_with = "raw")]
    other: Option<Source>,
    /// Which program of OTHER [default: as --entry]
    #[arg(long, value_name = "N", requires = "other")]
    other_entry: Option<usize>,
    /// Units of the last place that floats of two shaders may be apart
    #[arg(long, value_name = "N", default_value_t = 0)]
    ulp: u64,
    #[command(flatten)]
    draw: DrawOptions,
    /// What made-up values begin with; everything not bound is made up
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is printed of two engines.
#[derive(Serialize)]
struct Engines {
    /// `equal` or `different`.
    result: &'static str,
    /// Vertices, or invocations of a geometry shader.
    vertices: u64,
    out_of_fuel: u64,
    /// The first difference.
    difference: Option<String>,
}

/// What was compared.
#[derive(Default)]
struct Tally {
    vertices: u64,
    out_of_fuel: u64,
}

pub fn run(args: &Args) -> Outcome {
    match &args.other {
        Some(_) if args.draw.pipeline.is_asked() => Err(Failure::usage("a draw is compared with one other shader")),
        _ if args.draw.pipeline.is_asked() => drawn::run(args),
        Some(other) => shaders(args, other),
        None => engines(args),
    }
}

/// Both shaders on the same inputs, on native code.
fn shaders(args: &Args, other: &Source) -> Outcome {
    let engine = args.draw.compile.engine(Some(FUEL))?;
    let options = args.draw.compile.options(&args.shader)?;
    let first = args.shader.load()?;
    let first_code = engine.compile(&first, &options).map_err(|error| args.shader.failure(with_hint(&error)))?;
    let failure = |error: &shaderjit::Error| Failure::input(format_args!("{}: {}", other.name(), with_hint(error)));
    let second = Shader::parse(&other.read()?).map_err(|error| failure(&error))?;
    let options = options.entry(args.other_entry.unwrap_or(args.shader.entry()));
    let second_code = engine.compile(&second, &options).map_err(|error| failure(&error))?;
    if first_code.interface().is_geometry() || second_code.interface().is_geometry() {
        return Err(Failure::input("geometry shaders are compared by their engines only"));
    }

    let missing = Missing::Ordinary(MADE_UP_VERTICES, args.seed);
    let mut bindings = args.draw.bind.read(first.format(), &first_code, missing)?;
    bindings.complete(args.seed, first.format(), &second_code)?;
    if pair::is_for([&first_code, &second_code])? {
        return pair::run(args, &bindings, [&first_code, &second_code]);
    }
    let mut calls =
        [bindings.call(first.format(), &first_code)?, bindings.call_as((first.format(), &first_code), &second_code)?];
    let elements = [&first_code, &second_code].map(|code| code.interface().signature_outputs());
    let mut comparison = Comparison::new(alone::rows_of(&first_code), elements[0], elements[1]);
    for instance in 0..args.draw.instances {
        let [a, b] = calls.each_mut().map(|call| call.instance(instance).run(0..bindings.count));
        if !comparison.add(instance, [&a?, &b?], args.ulp) {
            break;
        }
    }
    if let Some(found) = &mut comparison.difference {
        found.inputs = bindings.inputs(first.format(), &first_code, found.vertex);
    }
    let report = if args.json { Report::json(&comparison) } else { Report::text(comparison.text()) };
    Ok(if comparison.difference.is_some() { report.difference() } else { report })
}

/// The shader on the interpreter and on every kind of native code that this machine has, or what was asked for. The
/// report is that of the last, or of the first that differs. A kind that refuses the program is left out if there is
/// another.
fn engines(args: &Args) -> Outcome {
    let shader = args.shader.load()?;
    let options = args.draw.compile.options(&args.shader)?;
    let config = args.draw.compile.config(Some(FUEL));
    let mut codes = Vec::new();
    for (vectors, lanes) in args.draw.compile.ways() {
        let engine = Engine::new(config.clone().vectors(vectors))?;
        let code = engine.compile(&shader, &options.clone().lanes(lanes));
        let code = code.map_err(|error| args.shader.failure(with_hint(&error)))?;
        if code.is_native() {
            codes.push((vectors, code));
        }
    }
    let Some((last, others)) = codes.split_last() else {
        let code = args.draw.compile.engine(Some(FUEL))?.compile(&shader, &options);
        let code = code.map_err(|error| args.shader.failure(with_hint(&error)))?;
        args.shader.require_native(&code)?;
        return on_code(args, &shader, &code, "");
    };
    for (vectors, code) in others {
        let report = on_code(args, &shader, code, &format!("{}, {} lanes: ", vectors.name(), code.lanes().count()))?;
        if report.is_bad() {
            return Ok(report);
        }
    }
    let (vectors, code) = last;
    on_code(args, &shader, code, &format!("{}, {} lanes: ", vectors.name(), code.lanes().count()))
}

/// The shader on the interpreter and on native code, which a difference begins with the name of.
fn on_code(args: &Args, shader: &Shader, code: &CompiledShader, name: &str) -> Outcome {
    let bindings = args.draw.bind.read(shader.format(), code, Missing::Hostile(MADE_UP_VERTICES, args.seed))?;
    if code.interface().thread_group.is_some() {
        return groups(args, shader, &bindings, code, name);
    }
    if let Some(work) = alone::made_up(code, MADE_UP_PRIMITIVES, args.seed, true) {
        return stage(args, shader, &bindings, code, &work, name);
    }
    if code.interface().resources.iter().any(|decl| decl.file != ResourceFile::Resource) {
        return writing(args, shader, &bindings, code, name);
    }
    let mut call = bindings.call(shader.format(), code)?;

    if code.interface().is_geometry() {
        return geometry(&call, bindings.count, name, args.json);
    }
    let mut tally = Tally::default();
    for instance in 0..args.draw.instances {
        call.instance(instance);
        if let Some((first, difference)) = compare(&call, code, 0..bindings.count, &mut tally)? {
            let text = name.to_string() + &describe(code, instance, first, &difference);
            return Ok(engines_report(tally, Some(text), String::new(), args.json));
        }
    }
    let (&Tally { vertices, out_of_fuel }, [_, rows]) = (&tally, alone::rows_of(code));
    let mut text = format!("no difference in {vertices} {rows} of {} output elements", code.interface().outputs.len());
    if out_of_fuel > 0 {
        text += &format!("; {out_of_fuel} {rows} ran out of fuel on both engines");
    }
    Ok(engines_report(tally, None, text, args.json))
}

/// The first difference of two engines, or what to say if there is none.
fn engines_report(tally: Tally, difference: Option<String>, equal: String, json: bool) -> Report {
    let result = if difference.is_some() { "different" } else { "equal" };
    let text = difference.clone().unwrap_or(equal);
    let is_different = difference.is_some();
    let Tally { vertices, out_of_fuel } = tally;
    let report = if json {
        Report::json(&Engines { result, vertices, out_of_fuel, difference })
    } else {
        Report::text(text + "\n")
    };
    if is_different { report.difference() } else { report }
}

/// The same thread groups on native code and on the interpreter, on memory that begins as the options say.
fn groups(args: &Args, shader: &Shader, bindings: &Bindings, code: &CompiledShader, name: &str) -> Outcome {
    let lanes = Lanes::ALL.into_iter().find(|lanes| lanes.count() == code.lanes().count());
    let options = args.draw.compile.options(&args.shader)?.backend(Backend::Interpreter);
    let options = lanes.into_iter().fold(options, CompileOptions::lanes);
    let interpreted = args.draw.compile.engine(Some(FUEL))?.compile(shader, &options);
    let interpreted = interpreted.map_err(|error| args.shader.failure(with_hint(&error)))?;
    let grid = args.draw.groups.grid();
    let run = |code: &CompiledShader| {
        let memory = args.draw.groups.memory()?;
        let mut call = bindings.call(shader.format(), code)?;
        call.unbound_as_zero(true);
        memory.iter().try_for_each(|memory| memory.bind(&mut call))?;
        let ended = call.dispatch(grid).map_err(|error| error.to_string());
        Ok::<_, Failure>((ended, memory.iter().map(Memory::text).collect::<String>()))
    };
    let ((jit, jit_memory), (interp, interp_memory)) = (run(code)?, run(&interpreted)?);
    let ends = |ended: &Result<(), String>| ended.as_ref().err().cloned().unwrap_or("done".to_string());
    if jit != interp {
        let (jit, interp) = (ends(&jit), ends(&interp));
        return Err(Failure::input(format_args!("groups end differently: jit: {jit}; interp: {interp}")));
    }
    let threads = code.interface().thread_group.unwrap_or_default();
    let count = grid.iter().chain(&threads).map(|&count| u64::from(count)).fold(1, u64::saturating_mul);
    let tally = Tally { vertices: count, out_of_fuel: 0 };
    let mut lines = jit_memory.lines().zip(interp_memory.lines());
    let difference = lines.find(|(jit, interp)| jit != interp);
    let difference = difference.map(|(jit, interp)| format!("{name}jit {jit}\ninterp {interp}"));
    let equal = format!("no difference in memory behind {count} threads, which end: {}", ends(&jit));
    Ok(engines_report(tally, difference, equal, args.json))
}

/// A stage between vertices and pixels on native code and on the interpreter, on the same made-up primitives.
fn stage(
    args: &Args,
    shader: &Shader,
    bindings: &Bindings,
    code: &CompiledShader,
    work: &alone::Work,
    name: &str,
) -> Outcome {
    let lanes = Lanes::ALL.into_iter().find(|lanes| lanes.count() == code.lanes().count());
    let options = args.draw.compile.options(&args.shader)?.backend(Backend::Interpreter);
    let options = lanes.into_iter().fold(options, CompileOptions::lanes);
    let interpreted = args.draw.compile.engine(Some(FUEL))?.compile(shader, &options);
    let interpreted = interpreted.map_err(|error| args.shader.failure(with_hint(&error)))?;
    let calls = [bindings.call_of_stage(None, code)?, bindings.call_of_stage(None, &interpreted)?];
    let difference = work.difference(calls.each_ref())?.map(|difference| name.to_string() + &difference);
    let (kind, count) = work.invocations();
    let equal = format!("no difference in what {count} invocations, each a {kind}, leave");
    Ok(engines_report(Tally { vertices: count as u64, out_of_fuel: 0 }, difference, equal, args.json))
}

/// The same vertices or pixels, which write, on native code and on the interpreter: outputs, and memory that begins as
/// the options say for each of both.
fn writing(args: &Args, shader: &Shader, bindings: &Bindings, code: &CompiledShader, name: &str) -> Outcome {
    let mut tally = Tally::default();
    for instance in 0..args.draw.instances {
        let run = |run: fn(&Call<'_>, Range<u32>) -> Result<Outputs, CallError>| {
            let memory = args.draw.groups.memory()?;
            let mut call = bindings.call(shader.format(), code)?;
            call.unbound_as_zero(true).instance(instance);
            memory.iter().try_for_each(|memory| memory.bind(&mut call))?;
            let ended = run(&call, 0..bindings.count);
            Ok::<_, Failure>((ended, memory.iter().map(Memory::text).collect::<String>()))
        };
        let ((jit, jit_memory), (interp, interp_memory)) =
            (run(|call, range| call.run(range))?, run(|call, range| call.interpret(range))?);
        let difference = match (jit, interp) {
            (Ok(jit), Ok(interp)) => {
                tally.vertices += u64::from(bindings.count);
                jit.first_difference(&interp).map(|difference| describe(code, instance, 0, &difference))
            }
            (Err(jit), Err(interp)) if jit == interp => {
                tally.out_of_fuel += u64::from(bindings.count);
                None
            }
            (jit, interp) => {
                let ends = |ended: Result<Outputs, CallError>| ended.err().map_or("done".into(), |e| e.to_string());
                let (jit, interp, [_, rows]) = (ends(jit), ends(interp), alone::rows_of(code));
                return Err(Failure::input(format_args!("{rows} end differently: jit: {jit}; interp: {interp}")));
            }
        };
        let mut lines = jit_memory.lines().zip(interp_memory.lines());
        let in_memory =
            || lines.find(|(jit, interp)| jit != interp).map(|(jit, interp)| format!("jit {jit}\ninterp {interp}"));
        if let Some(difference) = difference.or_else(in_memory) {
            return Ok(engines_report(tally, Some(name.to_string() + &difference), String::new(), args.json));
        }
    }
    let (&Tally { vertices, out_of_fuel }, [_, rows]) = (&tally, alone::rows_of(code));
    let mut text = format!("no difference in {vertices} {rows} and the memory that they write");
    if out_of_fuel > 0 {
        text += &format!("; {out_of_fuel} {rows} ended in the same error on both engines");
    }
    Ok(engines_report(tally, None, text, args.json))
}

/// The same invocations of a geometry shader on both engines, one after the other with what each leaves to the next.
fn geometry(call: &Call<'_>, count: u32, name: &str, json: bool) -> Outcome {
    let [mut jit, mut interpreter] = [GeometryState::default(), GeometryState::default()];
    let (mut triangles, mut errors) = (0, 0);
    for invocation in 0..count {
        let range = invocation..invocation + 1;
        match (call.run_geometry(range.clone(), &mut jit), call.interpret_geometry(range, &mut interpreter)) {
            (Ok(one), Ok(other)) => {
                if let Some(triangle) = one.first_difference(&other) {
                    let text = format!("{name}invocation {invocation}: triangle {triangle} differs");
                    let tally = Tally { vertices: invocation.into(), out_of_fuel: 0 };
                    return Ok(engines_report(tally, Some(text), String::new(), json));
                }
                triangles += one.len();
            }
            (Err(one), Err(other)) if one == other => errors += 1,
            (one, other) => {
                let ends = |result: Result<_, CallError>| result.err().map_or("done".to_string(), |e| e.to_string());
                let (one, other) = (ends(one.map(drop)), ends(other.map(drop)));
                return Err(Failure::input(format_args!(
                    "invocation {invocation} ends differently: jit: {one}; interp: {other}"
                )));
            }
        }
    }
    let mut text = format!("no difference in {triangles} triangles of {count} invocations");
    if errors > 0 {
        text += &format!("; {errors} invocations ended in the same error on both engines");
    }
    Ok(engines_report(Tally { vertices: count.into(), out_of_fuel: 0 }, None, text, json))
}

/// The first difference in a range of vertices, and the vertex it is counted from. Where both engines run out of fuel,
/// the groups before and after the one that does are compared as well.
fn compare(
    call: &Call<'_>,
    code: &CompiledShader,
    vertices: Range<u32>,
    tally: &mut Tally,
) -> Result<Option<(u32, Difference)>, Failure> {
    let lanes = code.lanes().count();
    let count = vertices.end - vertices.start;
    let results = (call.run(vertices.clone()), call.interpret(vertices.clone()));
    match results {
        (Ok(jit), Ok(interpreter)) => {
            tally.vertices += u64::from(count);
            Ok(jit.first_difference(&interpreter).map(|difference| (vertices.start, difference)))
        }
        (Err(CallError::OutOfFuel { .. }), Err(CallError::OutOfFuel { .. })) if count <= lanes => {
            tally.out_of_fuel += u64::from(count);
            Ok(None)
        }
        (Err(CallError::OutOfFuel { .. }), Err(CallError::OutOfFuel { .. })) => {
            // Halves of whole groups, so that every vertex stays in its group.
            let middle = vertices.start + (count / 2).next_multiple_of(lanes);
            let first = compare(call, code, vertices.start..middle, tally)?;
            if first.is_some() { Ok(first) } else { compare(call, code, middle..vertices.end, tally) }
        }
        (jit, interpreter) => {
            let what = |result: Result<Outputs, CallError>| result.err().map(|error| error.to_string());
            match (what(jit), what(interpreter)) {
                (Some(jit), Some(interpreter)) if jit == interpreter => Err(Failure::input(jit)),
                (jit, interpreter) => {
                    let ends = |error: Option<String>| error.unwrap_or_else(|| "done".to_string());
                    let (jit, interpreter, [_, rows]) = (ends(jit), ends(interpreter), alone::rows_of(code));
                    Err(Failure::input(format_args!(
                        "{rows} {vertices:?} end differently: jit: {jit}; interp: {interpreter}"
                    )))
                }
            }
        }
    }
}

fn describe(code: &CompiledShader, instance: u32, first: u32, difference: &Difference) -> String {
    let Difference { vertex, element, component, bits: [jit, interpreter], .. } = *difference;
    let element = &code.interface().outputs[element];
    let name = element.name();
    let name = Printable(&name);
    let component = ["x", "y", "z", "w"][component];
    let value = |bits| format!("{} [{bits:08x}]", element.ty.text(bits));
    let (vertex, [row, _]) = (first as usize + vertex, alone::rows_of(code));
    format!("instance {instance} {row} {vertex} {name}.{component}: jit {} interp {}", value(jit), value(interpreter))
}
