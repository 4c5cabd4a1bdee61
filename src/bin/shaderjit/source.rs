//! The source program's instructions as text, for what is listed below them.

use crate::options::ProgramArgs;
use crate::report::Failure;
use shaderjit::{ListingOptions, Shader};
use std::collections::BTreeMap;

/// Each instruction's text, by its byte offset.
pub struct Source(BTreeMap<u32, String>);

impl Source {
    /// The instructions of the program that the arguments name.
    pub fn read(shader: &Shader, args: &ProgramArgs) -> Result<Source, Failure> {
        let listing = shader.disassemble(args.entry(), ListingOptions::default().offsets(true));
        let listing = listing.map_err(|error| args.failure(error))?;
        let instruction = |line: &str| {
            let (offset, text) = line.strip_prefix("0x")?.split_once(": ")?;
            Some((u32::from_str_radix(offset, 16).ok()?, text.trim().to_string()))
        };
        Ok(Source(listing.lines().filter_map(instruction).collect()))
    }

    /// The text of the instruction at a byte offset.
    pub fn text(&self, offset: u32) -> Option<&str> {
        self.0.get(&offset).map(String::as_str)
    }
}
