//! What a listing of a container's parts shows.

/// One part of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartInfo {
    /// The part's name: its four-CC, or for the executables of a SHBIN `DVLE` and their number,
    /// for the stages of a VBC their short name.
    pub name: String,
    /// Absolute byte offset of the part, at its own header.
    pub offset: usize,
    /// Bytes of its data: without the eight-byte part header for `DXBC`; up to the next part for SHBIN, which stores no
    /// sizes.
    pub size: usize,
    /// What the part holds, in one line.
    pub meaning: &'static str,
}
