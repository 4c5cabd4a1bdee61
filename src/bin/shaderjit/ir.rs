//! `ir`: the IR after a pass.

use crate::options::ShaderArgs;
use crate::report::{Outcome, Report};
use clap::builder::{PossibleValue, PossibleValuesParser};
use shaderjit::pipeline::{self, PASSES, PassOptions};

/// What `--pass` calls the IR before any pass.
const NO_PASS: &str = "lower";

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ShaderArgs,
    /// Stop after this pass [default: the last]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(names()))]
    pass: Option<String>,
    /// `mad` and `dp` round twice where the program leaves it open
    #[arg(long)]
    separate_mad: bool,
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
    let mut function = shader.lower(args.shader.entry).map_err(|error| args.shader.failure(error))?.function;
    pipeline::run_passes(&mut function, &PASSES[..count], &PassOptions { fused: !args.separate_mad, guards: true })
        .map_err(|error| args.shader.failure(error))?;
    Ok(Report::text(function.to_string()))
}
