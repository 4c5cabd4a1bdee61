//! `val`: everything that is wrong with a container.

use crate::options::FileArgs;
use crate::report::{Outcome, Report, container_hint};
use serde::Serialize;
use shaderjit::container::Container;
use shaderjit::validate::{Finding, Severity, validate};

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

impl From<&Finding> for Row {
    fn from(finding: &Finding) -> Row {
        Row { severity: finding.severity.name(), offset: finding.offset, message: finding.message.clone() }
    }
}

pub fn run(args: &Args) -> Outcome {
    let bytes = args.file.read()?;
    let findings = match Container::parse(&bytes) {
        Ok(container) => validate(&container),
        Err(error) if args.json => {
            let (severity, message) = (Severity::Error.name(), container_hint(&error));
            let finding = Row { severity, offset: error.offset().unwrap_or(0), message };
            return Ok(Report::json(&Listing { valid: false, findings: vec![finding] }).invalid());
        }
        Err(error) => return Err(args.file.failure(container_hint(&error))),
    };
    let valid = findings.iter().all(|finding| finding.severity != Severity::Error);
    let report = if args.json {
        Report::json(&Listing { valid, findings: findings.iter().map(Row::from).collect() })
    } else if findings.is_empty() {
        Report::text("ok\n")
    } else {
        Report::text(findings.iter().map(|finding| format!("{finding}\n")).collect::<String>())
    };
    Ok(if valid { report } else { report.invalid() })
}
