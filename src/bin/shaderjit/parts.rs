//! `parts`: what a container is made of.

use crate::options::ShaderArgs;
use crate::report::{Outcome, Report};
use serde::Serialize;
use shaderjit::container::PartInfo;
use std::fmt::Write;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ShaderArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing {
    format: &'static str,
    digest: Option<Digest>,
    parts: Vec<Part>,
    /// What is wrong with parts that do not parse.
    errors: Vec<String>,
}

#[derive(Serialize)]
struct Digest {
    value: String,
    class: String,
}

/// A part, as [`PartInfo`] has it.
#[derive(Serialize)]
pub struct Part {
    name: String,
    pub offset: usize,
    pub size: usize,
    meaning: &'static str,
}

impl From<PartInfo> for Part {
    fn from(PartInfo { name, offset, size, meaning, .. }: PartInfo) -> Part {
        Part { name, offset, size, meaning }
    }
}

pub fn run(args: &Args) -> Outcome {
    let shader = args.shader.load()?;
    let container = shader.container().expect("a file is a container");
    let listing = Listing {
        format: shader.format().name(),
        digest: shader.digest().map(|(digest, class)| Digest { value: digest.to_string(), class: class.to_string() }),
        parts: container.listing().into_iter().map(Part::from).collect(),
        errors: container.errors().iter().map(ToString::to_string).collect(),
    };
    let report = if args.json { Report::json(&listing) } else { Report::text(text(&listing)) };
    Ok(if listing.errors.is_empty() { report } else { report.invalid() })
}

fn text(listing: &Listing) -> String {
    let mut out = listing.format.to_string();
    if let Some(Digest { value, class }) = &listing.digest {
        let _ = write!(out, " {value} ({class})");
    }
    let _ = writeln!(out, "\n{:<8} {:>8} {:>8}  meaning", "part", "offset", "size");
    for Part { name, offset, size, meaning } in &listing.parts {
        let _ = writeln!(out, "{name:<8} {offset:>#8x} {size:>8}  {meaning}");
    }
    for error in &listing.errors {
        let _ = writeln!(out, "malformed: {error}");
    }
    out
}
