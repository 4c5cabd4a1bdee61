//! The three pools that records refer to: strings, arrays of numbers, raw bytes.

use crate::container::dxbc::dwords::Dwords;
use crate::container::name::Name;
use crate::container::reader::{Reader, truncated};
use crate::error::ContainerError;

/// The reference to nothing.
pub(super) const NULL: u32 = u32::MAX;

/// Strings, arrays of numbers and raw bytes that records refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pools<'a> {
    pub(super) strings: &'a [u8],
    pub(super) indices: Dwords<'a>,
    pub(super) raw: &'a [u8],
    /// Absolute offsets of the three.
    offsets: [usize; 3],
}

impl<'a> Pools<'a> {
    /// Pools of these sub-parts; what is not there is empty and lies at absolute offset `start`, where the part begins.
    pub(super) fn new(sub_parts: [Option<Reader<'a>>; 3], start: usize) -> Self {
        let sub_parts = sub_parts.map(|sub_part| sub_part.unwrap_or_else(|| Reader::new(&[], start)));
        let offsets = [sub_parts[0].offset(), sub_parts[1].offset(), sub_parts[2].offset()];
        let [strings, indices, raw] = sub_parts.map(|sub_part| sub_part.rest());
        Self { strings, indices: Dwords::new(indices), raw, offsets }
    }

    pub(super) fn name(&self, offset: u32, what: &'static str) -> Result<Name<'a>, ContainerError> {
        Reader::new(self.strings, self.offsets[0]).name(offset, what)
    }

    /// A string of any length.
    pub(super) fn text(&self, offset: u32, what: &'static str) -> Result<&'a [u8], ContainerError> {
        let rest = self.strings.get(offset as usize..).unwrap_or_default();
        match rest.iter().position(|&byte| byte == 0) {
            Some(end) => Ok(&rest[..end]),
            None => {
                let at = self.offsets[0].saturating_add(offset as usize);
                Err(truncated(what, at, rest.len() + 1, rest.len()))
            }
        }
    }

    /// The array that begins at `start`, and its absolute offset.
    pub(super) fn array(&self, start: u32, what: &'static str) -> Result<(Dwords<'a>, usize), ContainerError> {
        if start == NULL {
            return Ok((Dwords::default(), 0));
        }
        let start = start as usize;
        let offset = self.offsets[1].saturating_add(start.saturating_mul(4));
        let Some(count) = self.indices.get(start) else { return Err(truncated(what, offset, 4, 0)) };
        let (first, values_offset) = (start + 1, offset + 4);
        let count = count as usize;
        let values = self.indices.range(first, count);
        let left = 4 * (self.indices.len() - first);
        Ok((values.ok_or_else(|| truncated(what, values_offset, count.saturating_mul(4), left))?, values_offset))
    }

    /// Raw bytes.
    pub(super) fn bytes(&self, offset: u32, size: u32, what: &'static str) -> Result<Reader<'a>, ContainerError> {
        Reader::new(self.raw, self.offsets[2]).range(offset, size.into(), what)
    }
}
