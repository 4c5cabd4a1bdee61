//! Bytes → typed parts of the containers. Knows nothing of instructions: a program leaves here as bounds-checked tokens
//! or words with the absolute offset at which they begin.
//!
//! [`Container::parse`] reads the header and the part index and no more, so it costs the same for a large file as for a
//! small one. Each part is parsed when an accessor asks for it; a malformed part is an error of that accessor alone,
//! and the rest of the container stays readable. All input is hostile: every read goes through `reader.rs`, every count
//! is held against [`limits`], and every [`ContainerError`] carries the absolute byte offset of its cause.

#[macro_use]
mod code;
pub mod digest;
pub mod dxbc;
pub mod limits;
mod listing;
mod name;
mod reader;
pub mod shbin;
mod spirv;
pub mod vbc;
mod writer;

#[cfg(test)]
mod tests;

use crate::error::ContainerError;
pub use dxbc::Dxbc;
pub use listing::PartInfo;
pub use name::Name;
pub use shbin::{Dvoj, Shbin};
pub use spirv::SpirvFile;
pub use vbc::Vbc;

/// A container of any kind this crate reads, told apart by its first bytes.
///
/// ```
/// use shaderjit::container::Container;
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"),
/// "/tests/data/dxbc/vs_transform/VS.vs_4_0.fxc101.dxbc")); let Container::Dxbc(dxbc) = Container::parse(bytes)? else {
/// unreachable!("the file begins with DXBC") }; let inputs = dxbc.input_signature()?.expect("a vertex shader has one");
/// assert_eq!(inputs.elements[0].semantic.to_string(), "POSITION");
/// # Ok::<(), shaderjit::error::ContainerError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Container<'a> {
    /// Direct3D's `DXBC` (DXContainer).
    Dxbc(Dxbc<'a>),
    /// Nintendo 3DS `SHBIN` (`DVLB`).
    Shbin(Shbin<'a>),
    /// Nintendo 3DS unlinked shader object (`DVOJ`). Its layout is known from documentation alone, not from real files.
    Dvoj(Dvoj<'a>),
    /// The Vega engine's `VBC`: SPIR-V with reflection.
    Vbc(Vbc<'a>),
    /// A bare SPIR-V module.
    Spirv(SpirvFile<'a>),
}

impl<'a> Container<'a> {
    /// Reads the header and the part index of `bytes`, which must hold the container from its first byte; bytes behind
    /// its end are tolerated, except by a `VBC`, which is read from both ends, and by a SPIR-V module, which has no
    /// other end than the file's.
    ///
    /// # Errors
    /// [`UnknownMagic`](ContainerError::UnknownMagic) if it is none of them; otherwise what is wrong with the header or
    /// index.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ContainerError> {
        match bytes.first_chunk() {
            Some(&dxbc::MAGIC) => Dxbc::parse(bytes).map(Self::Dxbc),
            Some(&shbin::MAGIC) => Shbin::parse(bytes).map(Self::Shbin),
            Some(&shbin::DVOJ_MAGIC) => Dvoj::parse(bytes).map(Self::Dvoj),
            _ if bytes.starts_with(&vbc::MAGIC) => Vbc::parse(bytes).map(Self::Vbc),
            _ => SpirvFile::parse(bytes).map(Self::Spirv),
        }
    }

    /// One row a part, in index order: what a listing of the container shows.
    pub fn listing(&self) -> Vec<PartInfo> {
        match self {
            Self::Dxbc(dxbc) => dxbc.listing(),
            Self::Shbin(shbin) => shbin.listing(),
            Self::Dvoj(dvoj) => dvoj.listing(),
            Self::Vbc(vbc) => vbc.listing(),
            Self::Spirv(module) => module.listing(),
        }
    }

    /// The data of the part in row `index` of the [`listing`](Self::listing), `DXBC` part headers apart.
    pub fn part_data(&self, index: usize) -> Option<&'a [u8]> {
        match self {
            Self::Dxbc(dxbc) => dxbc.parts().get(index).map(|part| part.data),
            Self::Shbin(shbin) => listed(shbin.bytes(), shbin.listing(), index),
            Self::Dvoj(dvoj) => listed(dvoj.bytes(), dvoj.listing(), index),
            Self::Vbc(vbc) => listed(vbc.bytes(), vbc.listing(), index),
            Self::Spirv(module) => listed(module.bytes(), module.listing(), index),
        }
    }

    /// Parses every part that has a typed view and returns the error of each malformed one, in index order.
    pub fn errors(&self) -> Vec<ContainerError> {
        match self {
            Self::Dxbc(dxbc) => dxbc.errors(),
            Self::Shbin(shbin) => shbin.errors(),
            Self::Dvoj(dvoj) => dvoj.errors(),
            Self::Vbc(vbc) => vbc.errors(),
            // Its instructions are the front end's to read.
            Self::Spirv(_) => Vec::new(),
        }
    }
}

/// The bytes of a row of a listing. A part that is said to lie behind the end has none.
fn listed(bytes: &[u8], listing: Vec<PartInfo>, index: usize) -> Option<&[u8]> {
    let part = listing.into_iter().nth(index)?;
    Some(bytes.get(part.offset..part.offset + part.size).unwrap_or_default())
}
