//! `dis`: a program's instructions as text.

use crate::options::ShaderArgs;
use crate::report::{Outcome, Report};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ShaderArgs,
}

pub fn run(args: &Args) -> Outcome {
    let shader = args.shader.load()?;
    let text = shader.disassemble(args.shader.entry).map_err(|error| args.shader.failure(error))?;
    Ok(Report::text(text))
}
