//! A program in the form in which it is traced: lowered with its names, through no pass, and its listing.

use crate::disassemble::ListingOptions;
use crate::frontend::{DebugInfo, Lowered};
use crate::options::CompileOptions;
use crate::shader::Shader;
use shaderjit_ir::Function;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program to be traced.
pub(crate) struct TracedProgram {
    pub function: Function,
    pub debug: Box<DebugInfo>,
    /// The text of each instruction, by its byte offset.
    listing: BTreeMap<u32, Arc<str>>,
}

impl TracedProgram {
    /// Lowers a program that has been lowered for these options before.
    pub fn new(shader: &Shader, options: &CompileOptions) -> TracedProgram {
        let lowered = shader.lower_to_trace(options);
        let Lowered { function, debug, .. } = lowered.expect("it has been lowered before, to the same instructions");
        let debug = debug.expect("it was asked for");
        // A program that runs can be listed; if it cannot, it is traced without texts.
        let listing = shader.disassemble(options.entry, ListingOptions::default().offsets(true)).unwrap_or_default();
        let instructions = listing.lines().filter_map(ListingOptions::instruction);
        TracedProgram { function, debug, listing: instructions.map(|(at, text)| (at, text.trim().into())).collect() }
    }

    /// The text of the instruction at a byte offset; empty if there is none.
    pub fn text(&self, offset: u32) -> Arc<str> {
        self.listing.get(&offset).cloned().unwrap_or_default()
    }
}
