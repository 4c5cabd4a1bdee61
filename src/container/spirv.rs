//! A bare SPIR-V module: a header of five words, and instructions up to the end of the file. Either order of bytes.

use super::listing::PartInfo;
use super::reader::{truncated, unknown_magic};
use crate::error::ContainerError;

/// The first word, little-endian. That of modules in the other order of bytes is its mirror image.
pub const MAGIC: [u8; 4] = [0x03, 0x02, 0x23, 0x07];

/// Bytes of the header.
const HEADER: usize = 20;

/// A module: its header is there.
///
/// ```
/// use shaderjit::container::SpirvFile;
///
/// let words = [0x0723_0203, 0x0001_0300, 0, 1, 0];
/// let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
/// assert!(SpirvFile::parse(&bytes)?.is_big_endian());
/// # Ok::<(), shaderjit::error::ContainerError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SpirvFile<'a> {
    bytes: &'a [u8],
}

impl<'a> SpirvFile<'a> {
    /// Takes `bytes`, which must be the whole module and nothing else.
    ///
    /// # Errors
    /// They do not begin with the magic number, or end in the header.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ContainerError> {
        if !is_spirv(bytes) {
            return Err(unknown_magic(bytes));
        }
        if bytes.len() < HEADER {
            return Err(truncated("SPIR-V header", 0, HEADER, bytes.len()));
        }
        Ok(Self { bytes })
    }

    /// The module's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the first byte of a word is its highest.
    pub fn is_big_endian(&self) -> bool {
        !self.bytes.starts_with(&MAGIC)
    }

    pub(super) fn listing(&self) -> Vec<PartInfo> {
        let code = PartInfo {
            name: "code".to_string(),
            offset: HEADER,
            size: self.bytes.len() - HEADER,
            meaning: "SPIR-V instructions",
        };
        let meaning = if self.is_big_endian() { "SPIR-V header, big-endian" } else { "SPIR-V header" };
        vec![PartInfo { name: "header".to_string(), offset: 0, size: HEADER, meaning }, code]
    }
}

/// Whether bytes begin as a module does.
fn is_spirv(bytes: &[u8]) -> bool {
    let mut mirrored = MAGIC;
    mirrored.reverse();
    bytes.starts_with(&MAGIC) || bytes.starts_with(&mirrored)
}
