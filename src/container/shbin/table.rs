//! Where a part says that one of its tables is.

use crate::container::reader::Reader;
use crate::error::ContainerError;

/// A table of equally long records, or of bytes. It is not known to fit its part before one of the methods has looked.
#[derive(Clone, Copy)]
pub(super) struct Table {
    /// From the start of the part.
    pub position: u32,
    /// Number of records.
    pub count: u32,
    /// Bytes of a record, not 0.
    pub stride: u32,
    /// What it holds, for errors.
    pub what: &'static str,
}

impl Table {
    /// The whole table.
    pub fn range<'a>(&self, part: &Reader<'a>) -> Result<Reader<'a>, ContainerError> {
        part.range(self.position, u64::from(self.count) * u64::from(self.stride), self.what)
    }

    /// Its records.
    pub fn records<'a>(
        &self,
        part: &Reader<'a>,
    ) -> Result<impl ExactSizeIterator<Item = Reader<'a>> + use<'a>, ContainerError> {
        part.records(self.position, self.count, self.stride, self.what)
    }

    /// Absolute offset of its end; that of the part's start if it is empty.
    pub fn end(&self, part: &Reader<'_>) -> Result<usize, ContainerError> {
        let range = self.range(part)?;
        Ok(if range.len() == 0 { part.offset() } else { range.offset() + range.len() })
    }
}
