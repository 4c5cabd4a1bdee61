//! `val`: everything that is wrong with a container.

use crate::options::FileArgs;
use crate::report::{Outcome, Report};
use serde::Serialize;
use shaderjit::container::Container;
use shaderjit::validate::{Severity, validate};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    file: FileArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing {
    /// Whether there is no error among the findings.
    valid: bool,
    findings: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    severity: &'static str,
    offset: usize,
    message: String,
}

pub fn run(args: &Args) -> Outcome {
    let bytes = args.file.read()?;
    let container = Container::parse(&bytes).map_err(|error| args.file.failure(error))?;
    let findings = validate(&container);
    let valid = findings.iter().all(|finding| finding.severity != Severity::Error);
    let report = if args.json {
        let row = |finding: shaderjit::validate::Finding| Row {
            severity: finding.severity.name(),
            offset: finding.offset,
            message: finding.message,
        };
        Report::json(&Listing { valid, findings: findings.into_iter().map(row).collect() })
    } else {
        Report::text(findings.iter().map(|finding| format!("{finding}\n")).collect::<String>())
    };
    Ok(if valid { report } else { report.invalid() })
}
