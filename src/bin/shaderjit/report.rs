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
#[derive(Debug)]
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

    /// Text for people, or with `json` a document with its lines.
    pub fn lines(text: &str, json: bool) -> Report {
        #[derive(Serialize)]
        struct Lines<'a> {
            lines: Vec<&'a str>,
        }
        if json { Report::json(&Lines { lines: text.lines().collect() }) } else { Report::text(text) }
    }

    /// One JSON document and a newline.
    pub fn json(value: &impl Serialize) -> Report {
        Report::bytes(json::pretty(value))
    }

    /// The report of a comparison that failed: exit code 1.
    pub fn difference(self) -> Report {
        Report { bad: true, ..self }
    }

    /// Whether the exit code is 1.
    pub fn is_bad(&self) -> bool {
        self.bad
    }

    /// The report of an input that is invalid: exit code 1.
    pub fn invalid(self) -> Report {
        Report { bad: true, ..self }
    }
}

/// An error with what to do about it, where a verb or an option helps.
pub fn with_hint(error: &shaderjit::Error) -> String {
    match error {
        shaderjit::Error::Container(error) => container_hint(error),
        shaderjit::Error::Lower(LowerError::Unbound { slot, candidates, .. }) => {
            let name = candidates.first().map_or("NAME", String::as_str);
            let name = name.split_once('[').map_or(name.to_string(), |(array, _)| format!("{array}[0]"));
            format!("{error}; bind one with --class {slot}={name}")
        }
        shaderjit::Error::Lower(LowerError::Unsupported { what, .. }) if what.starts_with("DXIL") => {
            format!("{error}; parts, extract, reflect, val, sign and scan work on it")
        }
        error => error.to_string(),
    }
}

/// The same for an error of a container.
pub fn container_hint(error: &ContainerError) -> String {
    let ContainerError::UnknownMagic { found } = error else { return error.to_string() };
    /// The first bytes of files that may hold shaders.
    const OTHERS: [(&[u8], &str); 8] = [
        (b"\x7fELF", "an ELF executable"),
        (b"MZ", "a Windows executable"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"NCCH", "a 3DS title"),
        (b"NCSD", "a 3DS card image"),
        (b"3DSX", "a 3DS homebrew executable"),
        (b"CGFX", "a 3DS scene"),
    ];
    if found.is_empty() {
        return "the file is empty (at offset 0x0)".to_string();
    }
    let kind = OTHERS.iter().find(|(magic, _)| found.starts_with(magic));
    let kind = kind.map_or(String::new(), |(_, kind)| format!(", but {kind}"));
    format!("{error}{kind}; `shaderjit scan FILE` finds containers inside other files")
}

impl Failure {
    pub fn input(what: impl Display) -> Failure {
        Failure::Input(what.to_string())
    }

    pub fn usage(what: impl Display) -> Failure {
        Failure::Usage(what.to_string())
    }

    /// This failure with the name of what failed in front.
    pub fn of(self, what: &str) -> Failure {
        match self {
            Failure::Input(why) => Failure::Input(format!("{what}: {why}")),
            Failure::Usage(why) => Failure::Usage(format!("{what}: {why}")),
        }
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
input_errors!(DecodeError, LowerError, JitError, CallError);

impl From<ContainerError> for Failure {
    fn from(error: ContainerError) -> Failure {
        Failure::input(container_hint(&error))
    }
}

impl From<shaderjit::Error> for Failure {
    fn from(error: shaderjit::Error) -> Failure {
        Failure::input(with_hint(&error))
    }
}

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
