//! `scan`: the containers inside any file.

use crate::options::FileArgs;
use crate::report::{Failure, Outcome, Report};
use serde::Serialize;
use shaderjit::container::Container;
use shaderjit::printable::Printable;
use shaderjit::scan::{Found, scan};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    file: FileArgs,
    /// Write each container to a new file of this directory, named by its offset
    #[arg(long, value_name = "DIR")]
    carve: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing {
    containers: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    offset: usize,
    size: usize,
    format: &'static str,
    /// What the digest is, for formats that have one.
    digest: Option<String>,
    /// Where it was written to.
    file: Option<String>,
}

pub fn run(args: &Args) -> Outcome {
    let bytes = args.file.read()?;
    if let Some(folder) = &args.carve {
        std::fs::create_dir_all(folder).map_err(|error| failure(folder, &error))?;
    }
    let mut containers = Vec::new();
    for found in scan(&bytes) {
        let file = args.carve.as_deref().map(|folder| carve(folder, &found, &bytes)).transpose()?;
        containers.push(Row {
            offset: found.offset,
            size: found.length,
            format: found.format.name(),
            digest: digest(found.bytes(&bytes)),
            file,
        });
    }
    let listing = Listing { containers };
    Ok(if args.json { Report::json(&listing) } else { Report::text(text(&listing)) })
}

fn failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format_args!("{}: {error}", path.display()))
}

/// Writes a container to a file and returns its path. The directory may hold anything: what has the name already stays,
/// and a link is not followed.
fn carve(folder: &Path, found: &Found, bytes: &[u8]) -> Result<String, Failure> {
    let extension = found.format.name().to_ascii_lowercase();
    let path = folder.join(format!("{:08x}.{extension}", found.offset));
    let written = File::create_new(&path).and_then(|mut file| file.write_all(found.bytes(bytes)));
    written.map_err(|error| failure(&path, &error))?;
    Ok(path.display().to_string())
}

fn digest(container: &[u8]) -> Option<String> {
    match Container::parse(container) {
        Ok(Container::Dxbc(dxbc)) => Some(dxbc.digest_class().to_string()),
        _ => None,
    }
}

fn text(listing: &Listing) -> String {
    let mut out = format!("{:>10} {:>8}  {:<6} digest\n", "offset", "size", "format");
    for Row { offset, size, format, digest, file } in &listing.containers {
        let digest = digest.as_deref().unwrap_or("-");
        let _ = write!(out, "{offset:>#10x} {size:>8}  {format:<6} {digest}");
        let _ = match file {
            Some(file) => writeln!(out, "  {}", Printable(file)),
            None => writeln!(out),
        };
    }
    out
}
