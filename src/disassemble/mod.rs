//! Whole containers as text: what programmers of each format know as its disassembly.
//!
//! Instructions print in [`frontend`](crate::frontend); here they get what only the container knows around them: tables
//! of signatures and bindings, names, offsets.

pub(crate) mod dxbc;
pub(crate) mod pica;

/// What a listing shows besides the instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListingOptions {
    /// In front of each instruction its absolute byte offset.
    pub offsets: bool,
    /// Under each instruction the words it is made of.
    pub raw: bool,
}
