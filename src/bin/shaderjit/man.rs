//! `man`: manual pages, one for each verb, from the definition that the command line is parsed by.

use crate::Cli;
use crate::report::{Failure, Outcome, Report};
use clap::CommandFactory;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The folder that the pages are written to, shaderjit.1 and shaderjit-VERB.1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    let failure = |error| Failure::input(format_args!("{}: {error}", args.folder.display()));
    std::fs::create_dir_all(&args.folder).map_err(failure)?;
    clap_mangen::generate_to(Cli::command(), &args.folder).map_err(failure)?;
    Ok(Report::text(""))
}
