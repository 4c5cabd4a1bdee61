//! `batch`: the batch program, which is what a back end selects instructions for.

use crate::options::{CompileArgs, ProgramArgs};
use crate::report::{Outcome, Report};
use shaderjit::Backend;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ProgramArgs,
    #[command(flatten)]
    compile: CompileArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let (_, code) = args.compile.compile(&args.shader, Backend::Jit)?;
    let program = code.batch_program().map_err(|error| args.shader.failure(error))?;
    Ok(Report::lines(&program.to_string(), args.json))
}
