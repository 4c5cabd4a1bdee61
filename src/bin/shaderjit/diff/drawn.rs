//! Pipelines compared: the same draw on native code of every kind and on the interpreter, or with another shader in the
//! place of the one of its stage.

use super::elements::Listings;
use super::{Args, FUEL, Tally, engines_report};
use crate::options::Source;
use crate::pipeline::{DrawArgs, PipelineArgs};
use crate::report::{Failure, Outcome, Report, with_hint};
use shaderjit::{Backend, Engine, Shader, Vectors};

/// What a draw leaves, as text.
fn text(
    args: &Args,
    pipeline: &PipelineArgs,
    geometry: Option<&Source>,
    engine: &Engine,
    backend: Backend,
) -> Result<String, Failure> {
    let (compile, bind, groups, instances) =
        (&args.draw.compile, &args.draw.bind, &args.draw.groups, args.draw.instances);
    DrawArgs { pipeline, compile, bind, groups, geometry, instances, engine, backend, tracer: None }.text()
}

pub fn run(args: &Args) -> Outcome {
    match args.shader.file() {
        Some(other) => shaders(args, other),
        None => engines(args),
    }
}

fn engines(args: &Args) -> Outcome {
    let run = |config: shaderjit::Config, backend: Backend| {
        text(args, &args.draw.pipeline, args.draw.gs.as_ref(), &Engine::new(config)?, backend)
    };
    let config = args.draw.compile.config(Some(FUEL));
    let interpreted = run(config.clone(), Backend::Interpreter)?;
    let mut elements = 0;
    for vectors in Vectors::of_this_machine() {
        let found = Listings::new([&run(config.clone().vectors(vectors), Backend::Jit)?, &interpreted], 0);
        elements = found.elements;
        if found.difference.is_some() || found.only_first + found.only_second > 0 {
            let text = format!("{}, first native, then interpreted: {}", vectors.name(), found.text().trim_end());
            return Ok(engines_report(tally(elements), Some(text), String::new(), args.json));
        }
    }
    let equal = format!("no difference in {elements} elements that the draw leaves");
    Ok(engines_report(tally(elements), None, equal, args.json))
}

fn tally(elements: usize) -> Tally {
    Tally { vertices: elements as u64, out_of_fuel: 0 }
}

/// The draw, and the draw with the other shader.
fn shaders(args: &Args, other: &Source) -> Outcome {
    let failure = |error| Failure::input(format_args!("{}: {}", other.name(), with_hint(&error)));
    let shader = Shader::parse(&other.read()?).map_err(failure)?;
    let stage = shader.entry(0).map_err(failure)?.stage;
    let mut pipeline = args.draw.pipeline.clone();
    let mut geometry = args.draw.gs.clone();
    let place = if stage == shaderjit::Stage::Geometry { Some(&mut geometry) } else { pipeline.place_mut(stage) };
    match place {
        Some(place @ Some(_)) => *place = Some(other.clone()),
        _ => return Err(Failure::usage(format_args!("{}: the draw has no shader of its stage", other.name()))),
    }
    let engine = args.draw.compile.engine(Some(FUEL))?;
    let first = text(args, &args.draw.pipeline, args.draw.gs.as_ref(), &engine, Backend::Jit)?;
    let second = text(args, &pipeline, geometry.as_ref(), &engine, Backend::Jit)?;
    Ok(report(&Listings::new([&first, &second], args.ulp), args.json))
}

/// What two shaders leave.
pub fn report(found: &Listings, json: bool) -> Report {
    let report = if json { Report::json(found) } else { Report::text(found.text()) };
    if found.result == "different" { report.difference() } else { report }
}
