//! The one way container bytes are read: bounds-checked, little-endian, unaligned, and with every error knowing the
//! absolute byte offset of its cause.

use std::ffi::CStr;

use super::limits;
use super::name::Name;
use crate::error::ContainerError;

/// A cursor over a range of a container. Positions given to its methods are relative to the start of that range.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    data: &'a [u8],
    /// Absolute offset of `data[0]`.
    base: usize,
    /// Next byte to read; at most `data.len()`.
    position: usize,
}

impl<'a> Reader<'a> {
    /// A reader of `data`, which lies at absolute offset `base`.
    pub(crate) fn new(data: &'a [u8], base: usize) -> Self {
        Self { data, base, position: 0 }
    }

    /// Bytes in the range, read or not.
    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether every byte is read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.position == self.data.len()
    }

    /// Bytes that are not read yet.
    pub(crate) fn left(&self) -> usize {
        self.unread().len()
    }

    /// Absolute offset of the next byte.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.position
    }

    /// Absolute offset of `position`, which may lie outside the range.
    pub(crate) fn offset_of(&self, position: u32) -> usize {
        self.base.saturating_add(usize::try_from(position).unwrap_or(usize::MAX))
    }

    /// The bytes that are not read yet. They count as read from now on.
    pub(crate) fn rest(&self) -> &'a [u8] {
        let rest = self.unread();
        #[cfg(test)]
        coverage::mark(self.offset(), rest.len());
        rest
    }

    fn unread(&self) -> &'a [u8] {
        &self.data[self.position..]
    }

    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], ContainerError> {
        let rest = self.unread();
        let Some(bytes) = rest.get(..count) else {
            return Err(truncated(what, self.offset(), count, rest.len()));
        };
        #[cfg(test)]
        coverage::mark(self.offset(), count);
        self.position += count;
        Ok(bytes)
    }

    /// The next `N` bytes by value.
    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], ContainerError> {
        let bytes = self.bytes(N, what)?;
        Ok(*bytes.first_chunk().expect("`bytes` returned N bytes"))
    }

    /// The next byte.
    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, ContainerError> {
        self.array(what).map(|[byte]| byte)
    }

    /// The next 16 bits.
    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, ContainerError> {
        self.array(what).map(u16::from_le_bytes)
    }

    /// The next 32 bits.
    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, ContainerError> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// The next 32 bits, a count that must not exceed `limit`.
    pub(crate) fn count(&mut self, what: &'static str, limit: u32) -> Result<u32, ContainerError> {
        let offset = self.offset();
        let value = self.u32(what)?;
        if value > limit {
            return Err(over_limit(what, value.into(), limit.into(), offset));
        }
        Ok(value)
    }

    /// A reader of the `length` bytes at `position`, wherever this one stands.
    pub(crate) fn range(&self, position: u32, length: u64, what: &'static str) -> Result<Reader<'a>, ContainerError> {
        let (rest, offset) = self.rest_at(position);
        // A length that does not fit is longer than any slice, so saturating keeps the answer.
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        match rest.get(..length) {
            // An empty range may lie anywhere: writers leave the offset of an empty table unset.
            Some(data) => Ok(Reader::new(data, offset)),
            None => Err(truncated(what, offset, length, rest.len())),
        }
    }

    /// What follows `position` (nothing if it lies outside), and its absolute offset.
    fn rest_at(&self, position: u32) -> (&'a [u8], usize) {
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        (self.data.get(start..).unwrap_or_default(), self.offset_of(position))
    }

    /// Readers of the `count` records of the table at `position`, each of `stride` bytes. `stride` is not 0.
    pub(crate) fn records(
        &self,
        position: u32,
        count: u32,
        stride: u32,
        what: &'static str,
    ) -> Result<impl ExactSizeIterator<Item = Reader<'a>> + use<'a>, ContainerError> {
        debug_assert_ne!(stride, 0);
        let table = self.range(position, u64::from(count) * u64::from(stride), what)?;
        let stride = stride as usize;
        let record = move |(i, data)| Reader::new(data, table.base + i * stride);
        Ok(table.data.chunks_exact(stride).enumerate().map(record))
    }

    /// The NUL-terminated name at `position`.
    pub(crate) fn name(&self, position: u32, what: &'static str) -> Result<Name<'a>, ContainerError> {
        let (rest, offset) = self.rest_at(position);
        // One byte more than a name may have: the terminator of the longest.
        let window = &rest[..rest.len().min(limits::NAME_BYTES + 1)];
        match CStr::from_bytes_until_nul(window) {
            Ok(name) => {
                #[cfg(test)]
                coverage::mark(offset, name.to_bytes_with_nul().len());
                Ok(Name::new(name.to_bytes()))
            }
            Err(_) if window.len() > limits::NAME_BYTES => {
                Err(over_limit(what, window.len() as u64, limits::NAME_BYTES as u64, offset))
            }
            Err(_) => Err(truncated(what, offset, window.len() + 1, window.len())),
        }
    }
}

/// Which bytes the parsers of this thread have looked at: how tests know that a format is read whole.
#[cfg(test)]
pub(crate) mod coverage {
    use std::cell::RefCell;
    use std::ops::Range;

    thread_local! {
        static READ: RefCell<Option<Vec<bool>>> = const { RefCell::new(None) };
    }

    /// Runs `parse` and returns those ranges of `bytes`, absolute offsets, that it did not read.
    pub(crate) fn unread(bytes: Range<usize>, parse: impl FnOnce()) -> Vec<Range<usize>> {
        READ.set(Some(vec![false; bytes.end]));
        parse();
        let read = READ.take().expect("set above");
        let mut gaps: Vec<Range<usize>> = Vec::new();
        for at in bytes.filter(|&at| !read[at]) {
            match gaps.last_mut() {
                Some(gap) if gap.end == at => gap.end += 1,
                _ => gaps.push(at..at + 1),
            }
        }
        gaps
    }

    pub(super) fn mark(offset: usize, count: usize) {
        READ.with_borrow_mut(|read| {
            if let Some(read) = read {
                let end = offset.saturating_add(count).min(read.len());
                read[offset.min(end)..end].fill(true);
            }
        });
    }
}

/// The bytes begin with no known magic.
#[cold]
pub(crate) fn unknown_magic(bytes: &[u8]) -> ContainerError {
    ContainerError::UnknownMagic { found: bytes[..bytes.len().min(4)].to_vec() }
}

/// `what` at absolute `offset` needs more bytes than are there.
#[cold]
pub(crate) fn truncated(what: &'static str, offset: usize, needed: usize, available: usize) -> ContainerError {
    ContainerError::Truncated { what, offset, needed, available }
}

/// The field `what` at absolute `offset` holds a value the format does not allow.
#[cold]
pub(crate) fn invalid(what: &'static str, value: u64, offset: usize) -> ContainerError {
    ContainerError::Invalid { what, value, offset }
}

/// The count `what` at absolute `offset` is over its limit.
#[cold]
pub(crate) fn over_limit(what: &'static str, value: u64, limit: u64, offset: usize) -> ContainerError {
    ContainerError::Limit { what, value, limit, offset }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_little_endian_and_advance() {
        let mut reader = Reader::new(&[1, 2, 3, 4, 5, 6, 7, 8], 100);
        assert_eq!(reader.u8("a"), Ok(1));
        assert_eq!(reader.u16("b"), Ok(0x0302));
        assert_eq!(reader.offset(), 103);
        assert_eq!(reader.u32("c"), Ok(0x0706_0504));
        assert_eq!(reader.u16("d"), Err(truncated("d", 107, 2, 1)));
        assert_eq!(reader.u8("e"), Ok(8), "a failed read consumes nothing");
    }

    #[test]
    fn ranges_keep_absolute_offsets() {
        let data = [0u8; 16];
        let outer = Reader::new(&data, 0x40);
        let mut inner = outer.range(4, 8, "inner").unwrap();
        assert_eq!((inner.offset(), inner.len()), (0x44, 8));
        assert_eq!(inner.bytes(9, "x"), Err(truncated("x", 0x44, 9, 8)));
        assert_eq!(outer.range(12, 5, "y").unwrap_err(), truncated("y", 0x4c, 5, 4));
        assert_eq!(outer.range(u32::MAX, 1, "z").unwrap_err(), truncated("z", 0x40 + u32::MAX as usize, 1, 0));
    }

    #[test]
    fn records_know_where_they_lie() {
        let data: Vec<u8> = (0..16).collect();
        let records = Reader::new(&data, 0x100).records(2, 3, 4, "t").unwrap();
        let found: Vec<_> =
            records.map(|mut record| (record.offset(), record.u8("x").unwrap(), record.len())).collect();
        assert_eq!(found, [(0x102, 2, 4), (0x106, 6, 4), (0x10a, 10, 4)]);
    }

    #[test]
    fn a_table_size_cannot_overflow() {
        let data = [0u8; 16];
        let reader = Reader::new(&data, 0);
        let needed = usize::try_from(u64::from(u32::MAX) * u64::from(u32::MAX)).unwrap_or(usize::MAX);
        assert_eq!(reader.records(8, u32::MAX, u32::MAX, "t").err().unwrap(), truncated("t", 8, needed, 8));
        assert_eq!(reader.records(u32::MAX, 0, 24, "t").unwrap().len(), 0, "an empty table may be anywhere");
    }

    #[test]
    fn names_end_at_nul_and_nowhere_else() {
        let reader = Reader::new(b"ab\0cd", 8);
        assert_eq!(reader.name(0, "n").unwrap(), "ab");
        assert_eq!(reader.name(2, "n").unwrap(), "");
        assert_eq!(reader.name(3, "n"), Err(truncated("n", 11, 3, 2)));
        assert_eq!(reader.name(9, "n"), Err(truncated("n", 17, 1, 0)));
        let mut long = vec![b'x'; limits::NAME_BYTES + 1];
        let limit = limits::NAME_BYTES as u64;
        assert_eq!(Reader::new(&long, 0).name(0, "n"), Err(over_limit("n", limit + 1, limit, 0)));
        long[limits::NAME_BYTES] = 0;
        assert_eq!(Reader::new(&long, 0).name(0, "n").unwrap().as_bytes().len(), limits::NAME_BYTES);
    }
}
