//! Files that are no shaders, and where results go that are bytes.

use super::Source;
use crate::report::{Failure, Outcome, Report};
use std::path::PathBuf;

/// A file of any kind.
#[derive(clap::Args)]
pub struct FileArgs {
    /// File, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: Source,
}

impl FileArgs {
    pub fn read(&self) -> Result<Vec<u8>, Failure> {
        self.file.read()
    }

    /// An error with the file's name in front.
    pub fn failure(&self, error: impl std::fmt::Display) -> Failure {
        Failure::input(format_args!("{}: {error}", self.file.0))
    }
}

/// Files and directories.
#[derive(clap::Args)]
pub struct PathArgs {
    /// Files, or `-` for standard input; directories stand for every file below them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<Source>,
}

/// Where results go that are bytes.
#[derive(clap::Args)]
pub struct OutputArgs {
    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Where bytes go that may also be printed as JSON.
#[derive(clap::Args)]
pub struct BytesArgs {
    #[command(flatten)]
    output: OutputArgs,
    /// Print JSON: the number of bytes, and the bytes in hexadecimal unless they go to a file
    #[arg(long)]
    json: bool,
}

impl BytesArgs {
    /// Puts the bytes where they go.
    pub fn write(&self, bytes: Vec<u8>) -> Outcome {
        #[derive(serde::Serialize)]
        struct Bytes {
            size: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<String>,
        }
        if !self.json {
            return self.output.write(bytes);
        }
        let size = bytes.len();
        let data = match &self.output.output {
            None => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
            Some(_) => self.output.write(bytes).map(|_| None)?,
        };
        Ok(Report::json(&Bytes { size, data }))
    }
}

impl OutputArgs {
    /// The same file, whatever folder is gone to.
    pub fn absolute(&self) -> Result<OutputArgs, Failure> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).map_err(|error| Failure::input(format_args!("{}: {error}", path.display())))
        };
        Ok(OutputArgs { output: self.output.as_ref().map(absolute).transpose()? })
    }

    /// Puts the bytes where they go.
    pub fn write(&self, bytes: Vec<u8>) -> Outcome {
        match &self.output {
            None => Ok(Report::bytes(bytes)),
            Some(path) => {
                let written = std::fs::write(path, bytes);
                written.map_err(|error| Failure::input(format_args!("{}: {error}", path.display())))?;
                Ok(Report::text(""))
            }
        }
    }
}
