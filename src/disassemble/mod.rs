//! Whole containers as text: what programmers of each format know as its disassembly.
//!
//! Instructions print in [`frontend`](crate::frontend); here they get what only the container knows around them: tables
//! of signatures and bindings, names, offsets.

pub(crate) mod dxbc;
pub(crate) mod pica;
mod spirv;

pub(crate) use spirv::spirv;

/// What a listing shows besides the instructions. Default: nothing.
///
/// ```
/// use shaderjit::{ListingOptions, Shader};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/t01_transform.shbin"));
/// let listing = Shader::parse(bytes)?.disassemble(0, ListingOptions::default().offsets(true))?;
/// assert!(listing.contains("0x00000034:     000  dp4"));
/// # Ok::<(), shaderjit::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListingOptions {
    pub(crate) offsets: bool,
    pub(crate) raw: bool,
}

impl ListingOptions {
    /// The instruction that a line of a listing with [offsets](Self::offsets) shows: its byte offset in the file, and
    /// its text with the indentation. None for headers and comments.
    pub fn instruction(line: &str) -> Option<(u32, &str)> {
        let (offset, text) = line.strip_prefix("0x")?.split_once(": ")?;
        Some((u32::from_str_radix(offset, 16).ok()?, text))
    }

    /// Whether each instruction has its absolute byte offset in front.
    pub fn offsets(self, offsets: bool) -> ListingOptions {
        ListingOptions { offsets, ..self }
    }

    /// Whether each instruction has the words it is made of below.
    pub fn raw(self, raw: bool) -> ListingOptions {
        ListingOptions { raw, ..self }
    }
}
