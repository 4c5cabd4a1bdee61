//! `scan`: the containers inside any files.

use crate::options::{PathArgs, Source};
use crate::progress::watched;
use crate::reflect::profile;
use crate::report::{Failure, Outcome, Report, message};
use serde::Serialize;
use shaderjit::Shader;
use shaderjit::container::Container;
use shaderjit::printable::Printable;
use shaderjit::scan::{Found, scan, truncated};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    files: PathArgs,
    /// Write each container to a new file of this directory, named by its offset, and by its file if there are several
    #[arg(long, value_name = "DIR")]
    carve: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing {
    files: usize,
    containers: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    /// The file that was searched.
    path: String,
    offset: usize,
    size: usize,
    format: &'static str,
    /// Profile, or the stages of its programs.
    program: String,
    /// What the digest is, for formats that have one.
    digest: Option<String>,
    /// Bytes that the file lacks of the container's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<usize>,
    /// Where it was written to.
    carved: Option<String>,
}

pub fn run(args: &Args) -> Outcome {
    watched(|progress| search_all(args, progress))
}

fn search_all(args: &Args, progress: &(dyn Fn(f32) + Sync)) -> Outcome {
    let mut sources = Vec::new();
    for source in &args.files.paths {
        collect(source, &mut sources)?;
    }
    if let Some(folder) = &args.carve {
        std::fs::create_dir_all(folder).map_err(|error| failure(folder, &error))?;
    }
    let several = sources.len() > 1;
    let mut listing = Listing { files: sources.len(), containers: Vec::new() };
    for (number, source) in sources.iter().enumerate() {
        progress(number as f32 / sources.len() as f32);
        let bytes = match source.read() {
            Ok(bytes) => bytes,
            // One of many that cannot be read is no reason to leave the others.
            Err(Failure::Input(what)) if several => {
                message(format_args!("warning: {what}"));
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let prefix = if several { format!("{number:04}-") } else { String::new() };
        search(source.name(), &bytes, args.carve.as_deref(), &prefix, &mut listing.containers)?;
    }
    Ok(if args.json { Report::json(&listing) } else { Report::text(text(&listing)) })
}

/// The file itself, or all files below a directory in the order of their names. Links are not followed.
fn collect(source: &Source, sources: &mut Vec<Source>) -> Result<(), Failure> {
    let path = Path::new(source.name());
    if source.name() == "-" || !path.is_dir() {
        sources.push(source.clone());
        return Ok(());
    }
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = entries.map_err(|error| failure(&folder, &error))?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        let mut below = Vec::new();
        for entry in entries {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => below.push(path),
                Ok(kind) if kind.is_file() => sources.push(Source::of_path(&path)),
                _ => {}
            }
        }
        // The first of them is next.
        folders.extend(below.into_iter().rev());
    }
    Ok(())
}

/// Adds what a file holds.
fn search(path: &str, bytes: &[u8], carve_to: Option<&Path>, prefix: &str, rows: &mut Vec<Row>) -> Result<(), Failure> {
    let first = rows.len();
    for found in scan(bytes) {
        let container = found.bytes(bytes);
        rows.push(Row {
            path: path.to_string(),
            offset: found.offset,
            size: found.length,
            format: found.format.name(),
            program: program(container),
            digest: digest(container),
            missing: None,
            carved: carve_to.map(|folder| carve(folder, prefix, &found, bytes)).transpose()?,
        });
    }
    let whole = rows.len();
    for cut in truncated(bytes) {
        // Whole ones come by ascending offset, and none lies in another.
        let before = rows[first..whole].partition_point(|row| row.offset <= cut.offset);
        let is_inside = |row: &Row| cut.offset < row.offset + row.size;
        if before > 0 && is_inside(&rows[first + before - 1]) {
            continue;
        }
        let there = bytes.len() - cut.offset;
        rows.push(Row {
            path: path.to_string(),
            offset: cut.offset,
            size: there,
            format: cut.format.name(),
            program: "truncated".to_string(),
            digest: None,
            missing: Some(cut.length - there),
            carved: None,
        });
    }
    rows[first..].sort_by_key(|row| row.offset);
    Ok(())
}

/// The profile of a container's program, or the stages of its programs.
fn program(container: &[u8]) -> String {
    let Ok(shader) = Shader::parse(container) else { return "-".to_string() };
    if let Some(Container::Dxbc(dxbc)) = shader.container() {
        return profile(&dxbc).unwrap_or_else(|| "-".to_string());
    }
    let entries = (0..shader.entry_count()).filter_map(|entry| shader.entry(entry).ok());
    let stages: Vec<String> = entries.map(|entry| entry.stage.to_string()).collect();
    if stages.is_empty() { "-".to_string() } else { stages.join("+") }
}

fn failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format_args!("{}: {error}", path.display()))
}

/// Writes a container to a file and returns its path. The directory may hold anything: what has the name already stays,
/// and a link is not followed.
fn carve(folder: &Path, prefix: &str, found: &Found, bytes: &[u8]) -> Result<String, Failure> {
    let extension = found.format.name().to_ascii_lowercase();
    let path = folder.join(format!("{prefix}{:08x}.{extension}", found.offset));
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
    let width = listing.containers.iter().map(|row| row.program.len()).max().unwrap_or(0).max("program".len());
    let mut out = format!("{:>10} {:>8}  {:<6} {:<width$} digest\n", "offset", "size", "format", "program");
    let mut path = "";
    for row in &listing.containers {
        let Row { offset, size, format, program, digest, missing, carved, .. } = row;
        if listing.files > 1 && path != row.path {
            path = &row.path;
            let _ = writeln!(out, "{}", Printable(path));
        }
        let digest = digest.as_deref().unwrap_or("-");
        let _ = write!(out, "{offset:>#10x} {size:>8}  {format:<6} {program:<width$} {digest}");
        if let Some(missing) = missing {
            let _ = write!(out, "  {missing} bytes are missing");
        }
        let _ = match carved {
            Some(file) => writeln!(out, "  {}", Printable(file)),
            None => writeln!(out),
        };
    }
    out
}
