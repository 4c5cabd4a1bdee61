//! `ir`: the IR after a pass.

use crate::options::{LowerArgs, MadArgs, ProgramArgs};
use crate::report::{Outcome, Report, with_hint};
use crate::source::Source;
use clap::builder::{PossibleValue, PossibleValuesParser};
use shaderjit::pipeline::{self, PASSES, PassOptions};
use shaderjit_ir::print::WithOrigins;

/// What `--pass` calls the IR before any pass.
const NO_PASS: &str = "lower";

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ProgramArgs,
    /// Stop after this pass [default: the last]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(names()))]
    pass: Option<String>,
    #[command(flatten)]
    mad: MadArgs,
    /// Print above instructions what they were made for: the source instruction and its byte offset
    #[arg(long)]
    source: bool,
    #[command(flatten)]
    lower: LowerArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn names() -> impl Iterator<Item = PossibleValue> {
    let before = PossibleValue::new(NO_PASS).help("what the front end makes");
    [before].into_iter().chain(PASSES.iter().map(|pass| PossibleValue::new(pass.name).help(pass.summary)))
}

pub fn run(args: &Args) -> Outcome {
    let last = args.pass.as_deref().map(|name| PASSES.iter().position(|pass| pass.name == name));
    let count = match last {
        None => PASSES.len(),
        Some(Some(index)) => index + 1,
        // The parser knows no other names, so it is the one without a pass.
        Some(None) => 0,
    };
    let shader = args.shader.load()?;
    let options = args.lower.options(&args.shader)?;
    let mut function = shader.lower(&options).map_err(|error| args.shader.failure(with_hint(&error)))?.function;
    pipeline::run_passes(
        &mut function,
        &PASSES[..count],
        &PassOptions { fused: args.mad.fused().unwrap_or(true), guards: true },
    )
    .map_err(|error| args.shader.failure(error))?;
    if !args.source {
        return Ok(Report::lines(&function.to_string(), args.json));
    }
    let source = Source::read(&shader, &args.shader)?;
    let text = |origin: Option<u32>| origin.map(|offset| source.comment(offset));
    Ok(Report::lines(&WithOrigins { function: &function, text }.to_string(), args.json))
}
