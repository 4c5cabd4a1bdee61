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
        let instructions = listing.lines().filter_map(ListingOptions::instruction);
        Ok(Source(instructions.map(|(offset, text)| (offset, text.trim().to_string())).collect()))
    }

    /// The comment above what was made for the instruction at a byte offset.
    pub fn comment(&self, offset: u32) -> String {
        format!("{offset:#010x}: {}", self.0.get(&offset).map_or("?", String::as_str))
    }
}
