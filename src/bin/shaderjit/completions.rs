//! `completions`: a script that completes the command line.

use crate::Cli;
use crate::report::{Outcome, Report};
use clap::CommandFactory;
use clap_complete::Shell;

#[derive(clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "shaderjit", &mut script);
    Ok(Report::bytes(script))
}
