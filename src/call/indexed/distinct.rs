//! Which vertices the indices of a draw name, and which row of the outputs each of them has.

use super::Indices;
use crate::error::CallError;
use std::ops::Range;

/// Vertices are found by marking those of the range that the indices span if it is at most so many times the number of indices,
/// and by sorting the indices otherwise. Memory depends on how many indices there are, not on what they are.
const MARKS_PER_INDEX: usize = 8;
/// A range of so many is marked however few indices there are.
const FEW_MARKS: usize = 4096;

/// The distinct vertices of an indexed draw. Each has a row, in the order of their numbers. Memory is used again when other
/// indices are [set](Self::set), and does not depend on what numbers they are.
///
/// ```
/// use shaderjit::{DistinctVertices, Indices};
///
/// // A corner of a mesh that lies at vertex 1000 of its streams.
/// let vertices = DistinctVertices::new(Indices::U16(&[7, 9, 8, 8, 9, 12]), 1000)?;
/// assert!(vertices.iter().eq([1007, 1008, 1009, 1012]));
/// assert!([7, 8, 9, 10, 11, 12].map(|index| vertices.row(index)) == [Some(0), Some(1), Some(2), None, None, Some(3)]);
/// # Ok::<(), shaderjit::error::CallError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct DistinctVertices {
    base_vertex: i32,
    /// The lowest index.
    first: u32,
    /// Number of rows.
    count: u32,
    /// The index of each row, rising. Empty if there are no gaps: then it is the lowest index and the row together.
    indices: Vec<u32>,
    /// For each 2^`shift` possible indices, counted from the lowest, the first row that is not in front of them; one entry more
    /// than that, for the end. Empty if there are no gaps.
    directory: Vec<u32>,
    shift: u32,
    /// For each possible index whether there is one.
    marks: Vec<u8>,
}

impl DistinctVertices {
    /// Those of a draw.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn new(indices: Indices<'_>, base_vertex: i32) -> Result<DistinctVertices, CallError> {
        let mut vertices = DistinctVertices::default();
        vertices.set(indices, base_vertex)?;
        Ok(vertices)
    }

    /// Makes it those of another draw.
    ///
    /// # Errors
    /// [`NoVertex`](CallError::NoVertex) if an index and the base vertex together are no number of a vertex, which are those from
    /// 0 to 2^32 - 2. There are no vertices then.
    pub fn set(&mut self, indices: Indices<'_>, base_vertex: i32) -> Result<(), CallError> {
        (self.base_vertex, self.first, self.count, self.shift) = (base_vertex, 0, 0, 0);
        self.indices.clear();
        self.directory.clear();
        match indices {
            Indices::U16(indices) => self.find(indices),
            Indices::U32(indices) => self.find(indices),
        }
    }

    fn find<T: Copy + Ord + Into<u32>>(&mut self, drawn: &[T]) -> Result<(), CallError> {
        let Some((first, last)) = bounds(drawn) else { return Ok(()) };
        let base_vertex = self.base_vertex;
        for index in [first, last] {
            if !(0..i64::from(u32::MAX)).contains(&(i64::from(index) + i64::from(base_vertex))) {
                return Err(CallError::NoVertex { index, base_vertex });
            }
        }
        self.first = first;
        let span = last as usize - first as usize + 1;
        if span > drawn.len().saturating_mul(MARKS_PER_INDEX).max(FEW_MARKS) {
            self.indices.extend(drawn.iter().map(|&index| index.into()));
            self.indices.sort_unstable();
            self.indices.dedup();
        } else {
            self.marks.clear();
            self.marks.resize(span, 0);
            let marks = &mut self.marks[..];
            drawn.iter().for_each(|&index| marks[(index.into() - first) as usize] = 1);
            let count: usize = marks.iter().map(|&mark| usize::from(mark)).sum();
            if count == span {
                self.count = rows(count)?;
                return Ok(());
            }
            self.list_marked(count);
        }
        self.count = rows(self.indices.len())?;
        self.build_directory(last);
        Ok(())
    }

    /// Lists the `count` indices that are marked.
    fn list_marked(&mut self, count: usize) {
        // One entry more, for a write that does not count.
        self.indices.resize(count + 1, 0);
        let mut row = 0;
        for (number, marks) in self.marks.chunks(8).enumerate() {
            if marks == [0; 8] {
                continue;
            }
            for (offset, &mark) in (8 * number..).zip(marks) {
                self.indices[row] = self.first + offset as u32;
                row += usize::from(mark);
            }
        }
        self.indices.truncate(count);
    }

    /// Makes the directory so fine that it has about an entry a row.
    fn build_directory(&mut self, last: u32) {
        let span = last - self.first;
        while (span >> self.shift) as usize >= 2 * self.indices.len() {
            self.shift += 1;
        }
        let entries = (span >> self.shift) as usize + 1;
        self.directory.reserve(entries + 1);
        for (row, &index) in (0..self.count).zip(&self.indices) {
            let entry = ((index - self.first) >> self.shift) as usize;
            // Nothing for all but the first row of an entry.
            self.directory.resize(self.directory.len().max(entry + 1), row);
        }
        self.directory.resize(entries + 1, self.count);
    }

    /// How many there are, which is how many rows.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The row of the vertex that an index names, if it was among those of the draw.
    #[inline]
    pub fn row(&self, index: u32) -> Option<u32> {
        let offset = index.checked_sub(self.first)?;
        if self.directory.is_empty() {
            return (offset < self.count).then_some(offset);
        }
        let entry = (offset >> self.shift) as usize;
        let [first, end] = *self.directory.get(entry..)?.first_chunk()?;
        let row = match end - first {
            0 => return None,
            1 => first,
            _ => first + self.indices[first as usize..end as usize].partition_point(|&other| other < index) as u32,
        };
        (self.indices.get(row as usize) == Some(&index)).then_some(row)
    }

    /// The lowest index, if no vertex between the lowest and the highest is missing: the row of an index is what it is more.
    pub fn contiguous_from(&self) -> Option<u32> {
        self.indices.is_empty().then_some(self.first)
    }

    /// The vertices' numbers in the streams, by row.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.count).map(|row| self.vertex(self.index(row)))
    }

    /// The index that has a row.
    pub(super) fn index(&self, row: u32) -> u32 {
        match self.indices.get(row as usize) {
            Some(&index) => index,
            None => self.first + row,
        }
    }

    /// The indices by row, unless there are no gaps.
    pub(super) fn indices(&self) -> Option<&[u32]> {
        (!self.indices.is_empty()).then_some(&self.indices)
    }

    /// The vertices of the streams from the first to the last.
    pub(super) fn range(&self) -> Range<u32> {
        match self.count.checked_sub(1) {
            Some(last) => self.vertex(self.first)..self.vertex(self.index(last)) + 1,
            None => 0..0,
        }
    }

    /// The vertex that an index names: it is below 2^32 - 1, as has been checked for the lowest and the highest.
    fn vertex(&self, index: u32) -> u32 {
        index.wrapping_add_signed(self.base_vertex)
    }
}

/// The lowest and the highest.
fn bounds<T: Copy + Ord + Into<u32>>(indices: &[T]) -> Option<(u32, u32)> {
    let &first = indices.first()?;
    let extend = |(low, high): (T, T), &index: &T| (low.min(index), high.max(index));
    let (low, high) = indices.iter().fold((first, first), extend);
    Some((low.into(), high.into()))
}

/// A number of rows: all 2^32 indices are no draw.
fn rows(count: usize) -> Result<u32, CallError> {
    u32::try_from(count).map_err(|_| CallError::Invalid(format!("{count} vertices")))
}
