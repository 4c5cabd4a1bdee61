//! Uniform spaces in the form native code reads.

use crate::jit::limits::{self, WINDOW_ROWS};
use shaderjit_ir::bounds::STATIC_ROWS;

/// A row as native code reads it.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::jit) struct Row(pub [u32; 4]);

impl Row {
    /// The first 16 of `bytes`; what is missing is zero.
    pub fn from_bytes(bytes: &[u8]) -> Row {
        let padded = bytes.first_chunk().copied().unwrap_or_else(|| {
            let mut padded = [0; 16];
            padded[..bytes.len()].copy_from_slice(bytes);
            padded
        });
        let (words, _) = padded.as_chunks::<4>();
        Row(std::array::from_fn(|word| u32::from_ne_bytes(words[word])))
    }
}

/// Rows of zeros on either side of what is bound, in each of which a load at a computed row may end.
const MARGIN: usize = WINDOW_ROWS as usize;

/// The contents of a uniform space in the form native code reads: the bound rows, with rows of zeros in front of them
/// and after them.
#[derive(Debug, PartialEq, Eq)]
pub struct UniformRows {
    /// The margins included.
    rows: Vec<Row>,
    bound: u32,
}

impl UniformRows {
    /// Copies a buffer, little-endian; a partial last row is filled with zeros. Code reads some rows without a check:
    /// `readable` says how many there must be, and [`Code::uniform_rows`](crate::jit::Code::uniform_rows) how many that
    /// is. Rows past the buffer are zero.
    pub fn from_bytes(bytes: &[u8], readable: u32) -> UniformRows {
        let mut rows = UniformRows::empty();
        rows.assign(bytes.chunks(16).take(limits::UNIFORM_ROWS).map(Row::from_bytes), readable);
        rows
    }

    /// The same from rows of four components.
    pub fn from_rows(rows: &[[u32; 4]], readable: u32) -> UniformRows {
        let mut bound = UniformRows::empty();
        bound.bind(rows.iter().copied(), readable);
        bound
    }

    /// Without memory: not even zeros can be read before something is bound.
    pub fn empty() -> UniformRows {
        UniformRows { rows: Vec::new(), bound: 0 }
    }

    /// What [`from_rows`](Self::from_rows) makes, in the memory that is here.
    pub fn bind(&mut self, rows: impl Iterator<Item = [u32; 4]>, readable: u32) {
        self.assign(rows.take(limits::UNIFORM_ROWS).map(Row), readable);
    }

    fn assign(&mut self, bound: impl Iterator<Item = Row>, readable: u32) {
        let readable = readable.min(STATIC_ROWS) as usize;
        self.rows.clear();
        // With room for as many as are read: what is bound first is mostly nothing.
        self.rows.reserve(2 * MARGIN + readable.max(bound.size_hint().0));
        self.rows.resize(MARGIN, Row::default());
        self.rows.extend(bound);
        let bound = self.rows.len() - MARGIN;
        self.bound = bound as u32;
        self.rows.resize(MARGIN + readable.max(bound + MARGIN), Row::default());
    }

    /// Sets some rows, which are bound afterwards, as are all in front of them.
    pub fn set_rows(&mut self, first: usize, rows: &[[u32; 4]]) {
        let end = first.saturating_add(rows.len()).min(limits::UNIFORM_ROWS);
        if end > self.bound() as usize {
            self.bound = end as u32;
            self.rows.resize(self.rows.len().max(end + 2 * MARGIN), Row::default());
        }
        for (row, new) in self.rows[MARGIN..][..end].iter_mut().skip(first).zip(rows) {
            *row = Row(*new);
        }
    }

    /// The bound rows.
    pub fn rows(&self) -> &[[u32; 4]] {
        let bound = self.rows.get(MARGIN..).unwrap_or_default();
        let bound = &bound[..self.bound as usize];
        // SAFETY: a `Row` has the layout of its only field, four words, which are as many bytes as it is aligned to.
        unsafe { std::slice::from_raw_parts(bound.as_ptr().cast(), bound.len()) }
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.rows[..])
    }

    /// Number of bound rows.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// How many rows can be read from row 0 on.
    pub(super) fn readable(&self) -> usize {
        self.rows.len() - MARGIN
    }

    /// Row 0.
    pub(super) fn as_ptr(&self) -> *const Row {
        self.rows.as_ptr().wrapping_add(MARGIN)
    }

    /// Row 0, to be written.
    pub(super) fn as_mut_ptr(&mut self) -> *mut Row {
        self.rows.as_mut_ptr().wrapping_add(MARGIN)
    }

    /// A readable row.
    pub(super) fn row(&self, row: u32) -> Row {
        self.rows[MARGIN + row as usize]
    }

    /// Words of readable rows, by their numbers from row 0 on.
    pub(super) fn words(&self, numbers: [u32; 4]) -> Row {
        let rows = &self.rows[MARGIN..];
        Row(numbers.map(|number| rows[number as usize / 4].0[number as usize % 4]))
    }

    /// A component of a readable row.
    pub(super) fn word(&self, row: u32, component: u8) -> u32 {
        self.rows[MARGIN + row as usize].0[usize::from(component)]
    }
}

impl Clone for UniformRows {
    /// With room for as much, so that what was made for rows that are yet to be bound takes them.
    fn clone(&self) -> UniformRows {
        let mut rows = Vec::with_capacity(self.rows.capacity());
        rows.extend_from_slice(&self.rows);
        UniformRows { rows, bound: self.bound }
    }
}

impl Default for UniformRows {
    /// Nothing bound: every row is zero, for code that needs none readable.
    fn default() -> UniformRows {
        UniformRows::from_rows(&[], 0)
    }
}
