//! `dis`: a program's instructions as text.

use crate::options::ShaderArgs;
use crate::report::{Outcome, Report, with_hint};
use shaderjit::ListingOptions;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ShaderArgs,
    /// Begin each instruction with its byte offset in the file
    #[arg(long)]
    offsets: bool,
    /// Show under each instruction the words it is made of
    #[arg(long)]
    raw: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let shader = args.shader.load()?;
    let options = ListingOptions::default().offsets(args.offsets).raw(args.raw);
    let text =
        shader.disassemble(args.shader.entry, options).map_err(|error| args.shader.failure(with_hint(&error)))?;
    Ok(Report::lines(&text, args.json))
}
