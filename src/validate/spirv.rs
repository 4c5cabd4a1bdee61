//! A SPIR-V module: whether its instructions are whole, and whether each entry point lowers. What else makes a module
//! valid, `spirv-val` says.

use super::Findings;
use crate::container::SpirvFile;
use crate::error::LowerError;
use crate::frontend::spirv::{LowerOptions, Module, entry_points, lower};

/// Entry points that are lowered.
const MAX_LOWERED: usize = 8;

pub(super) fn check(file: &SpirvFile<'_>, findings: &mut Findings) {
    let module = match Module::decode(file.bytes(), 0) {
        Ok(module) => module,
        Err(error) => return findings.parse_error(error.offset(), &error),
    };
    let entries = match entry_points(&module) {
        Ok(entries) => entries,
        Err(error) => return report(&error, findings),
    };
    if entries.is_empty() {
        findings.warning(0, format_args!("the module has no entry point"));
    }
    // Each takes as long as a compilation may.
    for number in 0..entries.len().min(MAX_LOWERED) {
        if let Err(error) = lower(&module, number, &LowerOptions::default()) {
            report(&error, findings);
        }
    }
}

fn report(error: &LowerError, findings: &mut Findings) {
    match error {
        LowerError::Unsupported { what, offset } => findings.note(*offset, format_args!("{what} does not run here")),
        LowerError::Invalid { offset, .. } | LowerError::Limit { offset, .. } | LowerError::Unbound { offset, .. } => {
            findings.parse_error(*offset, error)
        }
    }
}
