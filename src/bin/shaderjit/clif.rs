//! `clif`: Cranelift's IR of the native code that it makes.

use crate::options::{CompileArgs, ProgramArgs};
use crate::report::{Outcome, Report};
use shaderjit::{Backend, Engine, Vectors};

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
    // Whoever makes the code that would run.
    let engine = Engine::new(args.compile.config(None).vectors(Vectors::Cranelift))?;
    let (_, code) = args.compile.compile_on(&engine, &args.shader, Backend::Jit)?;
    args.shader.require_native(&code)?;
    Ok(Report::lines(&code.clif()?, args.json))
}
