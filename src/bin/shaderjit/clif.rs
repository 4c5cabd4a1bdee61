//! `clif`: Cranelift's IR of the native code.

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
    args.shader.require_native(&code)?;
    Ok(Report::lines(&code.clif()?, args.json))
}
