//! `batch`: the batch program, which is what a back end selects instructions for.

use crate::options::{CompileArgs, ProgramArgs};
use crate::report::{Outcome, Report};
use shaderjit::Backend;
use shaderjit_ir::batch::Pass;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ProgramArgs,
    #[command(flatten)]
    compile: CompileArgs,
    #[arg(long, value_name = "NAME", value_parser = pass, help = format!("Plan up to this pass: {}", names()))]
    pass: Option<Pass>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let (_, code) = args.compile.compile(&args.shader, Backend::Jit)?;
    let program = code.batch_program(args.pass.unwrap_or(Pass::LAST)).map_err(|error| args.shader.failure(error))?;
    Ok(Report::lines(&program.to_string(), args.json))
}

fn pass(name: &str) -> Result<Pass, String> {
    Pass::from_name(name).ok_or_else(|| format!("the passes are {}", names()))
}

fn names() -> String {
    Pass::ALL.iter().map(|pass| pass.name()).collect::<Vec<_>>().join(", ")
}
