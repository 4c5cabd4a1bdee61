//! `sign`: the container with the digest it should have.

use crate::options::{BytesArgs, FileArgs};
use crate::report::Outcome;
use shaderjit::container::Container;
use shaderjit::container::digest::Signing;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    file: FileArgs,
    /// The digest of the compilers' debug builds instead of the retail one
    #[arg(long)]
    debug: bool,
    #[command(flatten)]
    output: BytesArgs,
}

pub fn run(args: &Args) -> Outcome {
    let mut bytes = args.file.read()?;
    let size = match Container::parse(&bytes).map_err(|error| args.file.failure(error))? {
        Container::Dxbc(dxbc) => dxbc.file_size(),
        _ => return Err(args.file.failure("only DXBC containers have a digest")),
    };
    let signing = if args.debug { Signing::Debug } else { Signing::Retail };
    signing.sign(&mut bytes[..size]);
    args.output.write(bytes)
}
