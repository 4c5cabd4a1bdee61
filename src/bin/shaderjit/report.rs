//! How a subcommand ends: what it prints, where, and with which exit code.

use crate::json;
use serde::Serialize;
use shaderjit::error::{CallError, ContainerError, DecodeError, JitError, LowerError};
use shaderjit::printable::Printable;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// What a subcommand prints to stdout.
pub struct Report {
    stdout: Vec<u8>,
    /// What was looked for is wrong with the input, and that is what is printed. Exit code 1.
    bad: bool,
}

/// Why there is nothing to print.
pub enum Failure {
    /// The input is invalid, unsupported, or cannot be read. Exit code 1.
    Input(String),
    /// The command line makes no sense for this input. Exit code 2.
    Usage(String),
}

pub type Outcome = Result<Report, Failure>;

impl Report {
    pub fn text(text: impl Into<String>) -> Report {
        Report::bytes(text.into().into_bytes())
    }

    pub fn bytes(stdout: Vec<u8>) -> Report {
        Report { stdout, bad: false }
    }

    /// One JSON document and a newline.
    pub fn json(value: &impl Serialize) -> Report {
        Report::bytes(json::pretty(value))
    }

    /// The report of a comparison that failed: exit code 1.
    pub fn difference(self) -> Report {
        Report { bad: true, ..self }
    }

    /// The report of an input that is invalid: exit code 1.
    pub fn invalid(self) -> Report {
        Report { bad: true, ..self }
    }
}

impl Failure {
    pub fn input(what: impl Display) -> Failure {
        Failure::Input(what.to_string())
    }

    pub fn usage(what: impl Display) -> Failure {
        Failure::Usage(what.to_string())
    }
}

macro_rules! input_errors {
    ($($error:ty),*) => {
        $( impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::input(error)
            }
        } )*
    };
}
input_errors!(shaderjit::Error, ContainerError, DecodeError, LowerError, JitError, CallError);

/// Prints the outcome and gives the exit code. A reader that has gone away is no error.
pub fn finish(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(report) => {
            let mut stdout = io::stdout().lock();
            match stdout.write_all(&report.stdout).and_then(|()| stdout.flush()) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    message(format_args!("cannot write: {error}"));
                    ExitCode::from(1)
                }
                _ => ExitCode::from(u8::from(report.bad)),
            }
        }
        Err(Failure::Input(what)) => {
            message(format_args!("error: {what}"));
            ExitCode::from(1)
        }
        Err(Failure::Usage(what)) => {
            message(format_args!("error: {what}"));
            ExitCode::from(2)
        }
    }
}

/// A line to stderr, whatever the file or the command line it speaks of is called. That nobody reads it is no error
/// either.
pub fn message(what: impl Display) {
    let _ = writeln!(io::stderr(), "shaderjit: {}", Printable(what.to_string()));
}
