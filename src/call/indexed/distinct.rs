//! Which vertices the indices of a draw name, and which row of the outputs each of them has.

use super::indices::Indices;
use crate::error::CallError;
use std::ops::{BitOr, BitXor, Range};

/// Vertices are found by marking those of the range that the indices span if it is at most so many times the number of
/// indices, and by sorting the indices otherwise. Memory depends on how many indices there are, not on what they are.
const MARKS_PER_INDEX: usize = 8;
/// A range of so many is marked however few indices there are.
const FEW_MARKS: usize = 4096;

/// The distinct vertices of an indexed draw. Each has a row, in the order of their numbers. Memory is used again when
/// other indices are [set](Self::set), and does not depend on what numbers they are.
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
    /// For each 2^`shift` possible indices, counted from the lowest, the first row that is not in front of them; one
    /// entry more than that, for the end. Empty if there are no gaps.
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
    /// [`NoVertex`](CallError::NoVertex) if an index and the base vertex together are no number of a vertex, which are
    /// those from 0 to 2^32 - 2. There are no vertices then.
    pub fn set(&mut self, indices: Indices<'_>, base_vertex: i32) -> Result<(), CallError> {
        (self.base_vertex, self.first, self.count, self.shift) = (base_vertex, 0, 0, 0);
        self.indices.clear();
        self.directory.clear();
        match indices {
            Indices::U16(indices) => self.find(indices),
            Indices::U32(indices) => self.find(indices),
        }
    }

    fn find<T: Index>(&mut self, drawn: &[T]) -> Result<(), CallError> {
        let Some(&any) = drawn.first() else { return Ok(()) };
        let most = drawn.len().saturating_mul(MARKS_PER_INDEX).max(FEW_MARKS);
        // All indices have the bits above this mask in common. It takes less time than their bounds.
        let mask = mask_of(drawn.iter().fold(T::default(), |differ, &index| differ | (index ^ any)).into());
        self.marks.clear();
        if (mask as usize) < most {
            self.marks.resize(mask as usize + 1, 0);
            let marks = &mut self.marks[..mask as usize + 1];
            drawn.iter().for_each(|&index| marks[(index.into() & mask) as usize] = 1);
            return self.collect_marked(any.into() & !mask);
        }
        let (low, high) = bounds(drawn);
        let span = (high - low) as usize;
        if span < most {
            self.marks.resize(span + 1, 0);
            drawn.iter().for_each(|&index| self.marks[(index.into() - low) as usize] = 1);
            return self.collect_marked(low);
        }
        self.set_bounds(low, high)?;
        self.indices.extend(drawn.iter().map(|&index| index.into()));
        self.indices.sort_unstable();
        self.indices.dedup();
        self.count = rows(self.indices.len())?;
        self.build_directory();
        Ok(())
    }

    /// Finds the vertices by their marks, the first of which is of index `low`.
    fn collect_marked(&mut self, low: u32) -> Result<(), CallError> {
        let marked = marked_range(&self.marks);
        self.set_bounds(low + marked.start as u32, low + (marked.end - 1) as u32)?;
        let marks = &self.marks[marked];
        // Sums of bytes, each of which fits one.
        let count = marks.chunks(128).map(|marks| usize::from(marks.iter().sum::<u8>())).sum();
        self.count = rows(count)?;
        if count == marks.len() {
            return Ok(());
        }
        // One entry more, for a write that does not count.
        self.indices.resize(count + 1, 0);
        let mut row = 0;
        for (number, marks) in marks.chunks(8).enumerate() {
            if marks == [0; 8] {
                continue;
            }
            for (offset, &mark) in (8 * number..).zip(marks) {
                self.indices[row] = self.first + offset as u32;
                row += usize::from(mark);
            }
        }
        self.indices.truncate(count);
        self.build_directory();
        Ok(())
    }

    /// Checks the lowest and the highest index, and so all.
    fn set_bounds(&mut self, low: u32, high: u32) -> Result<(), CallError> {
        let base_vertex = self.base_vertex;
        let numbers = 0..i64::from(u32::MAX);
        match [low, high].into_iter().find(|&index| !numbers.contains(&(i64::from(index) + i64::from(base_vertex)))) {
            Some(index) => Err(CallError::NoVertex { index, base_vertex }),
            None => {
                self.first = low;
                Ok(())
            }
        }
    }

    /// Makes the directory so fine that it has about an entry a row.
    fn build_directory(&mut self) {
        let span = self.indices.last().expect("there are gaps between at least two") - self.first;
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
        // Of an index below the lowest this is more than of the highest.
        let offset = index.wrapping_sub(self.first);
        if self.directory.is_empty() {
            return (offset < self.count).then_some(offset);
        }
        let &[first, end] = self.directory.get((offset >> self.shift) as usize..)?.first_chunk()?;
        if self.shift == 0 { (first < end).then_some(first) } else { self.search(index, first..end) }
    }

    /// The row of an index, looked for among some.
    fn search(&self, index: u32, rows: Range<u32>) -> Option<u32> {
        let indices = &self.indices[rows.start as usize..rows.end as usize];
        let at = match indices {
            [_] => 0,
            _ => indices.partition_point(|&other| other < index),
        };
        (indices.get(at) == Some(&index)).then_some(rows.start + at as u32)
    }

    /// The lowest index, if no vertex between the lowest and the highest is missing: the row of an index is what it is
    /// more.
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
    pub(in crate::call) fn range(&self) -> Range<u32> {
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

/// A type of indices.
trait Index: Copy + Default + Ord + Into<u32> + BitXor<Output = Self> + BitOr<Output = Self> {}

impl Index for u16 {}

impl Index for u32 {}

/// All bits up to the highest of these.
fn mask_of(bits: u32) -> u32 {
    u32::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0)
}

/// The lowest and the highest.
fn bounds<T: Index>(indices: &[T]) -> (u32, u32) {
    let any = indices.first().copied().unwrap_or_default();
    let extend = |(low, high): (T, T), &index: &T| (low.min(index), high.max(index));
    let (low, high) = indices.iter().fold((any, any), extend);
    (low.into(), high.into())
}

/// From the first to the last of some bytes that is not zero, of which there must be one.
fn marked_range(marks: &[u8]) -> Range<usize> {
    let is_marked = |marks: &[u8]| marks.iter().any(|&mark| mark != 0);
    let skipped = marks.chunks(64).take_while(|marks| !is_marked(marks)).count() * 64;
    let left = marks.rchunks(64).take_while(|marks| !is_marked(marks)).count() * 64;
    let (marks, is_set) = (&marks[skipped..marks.len() - left], |&mark: &u8| mark != 0);
    let first = marks.iter().position(is_set).expect("one is marked");
    let last = marks.iter().rposition(is_set).expect("one is marked");
    skipped + first..skipped + last + 1
}

/// A number of rows: all 2^32 indices are no draw.
fn rows(count: usize) -> Result<u32, CallError> {
    u32::try_from(count).map_err(|_| CallError::Invalid(format!("{count} vertices")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes held for each index, besides what few indices may take.
    const BYTES_PER_INDEX: usize = 32;

    fn bytes(vertices: &DistinctVertices) -> usize {
        4 * vertices.indices.capacity() + 4 * vertices.directory.capacity() + vertices.marks.capacity()
    }

    fn check(drawn: &[u32]) -> DistinctVertices {
        let vertices = DistinctVertices::new(Indices::U32(drawn), 0).unwrap();
        let mut distinct = drawn.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(vertices.iter().eq(distinct.iter().copied()));
        for (row, &index) in (0..).zip(&distinct) {
            assert_eq!(vertices.row(index), Some(row));
            for near in [index.wrapping_sub(1), index.wrapping_add(1), !index] {
                assert_eq!(vertices.row(near).is_some(), distinct.binary_search(&near).is_ok(), "{near}");
            }
        }
        assert!(bytes(&vertices) <= drawn.len() * BYTES_PER_INDEX + 4 * FEW_MARKS, "{} indices", drawn.len());
        vertices
    }

    #[test]
    fn memory_depends_on_how_many_indices_there_are() {
        for count in [1, 2, 3, 1000, 20_000] {
            for step in [0, 1, 2, 3, 5, 8, 9, 63, 200_000] {
                for first in [0, 1, 65_535, 0x7fff_fff0] {
                    check(
                        &(0..count)
                            .map(|n: u32| n.wrapping_mul(step).saturating_add(first) % u32::MAX)
                            .collect::<Vec<_>>(),
                    );
                }
            }
            // Crowds at both ends of what there is.
            check(&(0..count).map(|n| if n % 2 == 0 { n } else { u32::MAX - 1 - n }).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_mesh_without_gaps_needs_no_lists() {
        // It lies across a power of two, which no common bits span.
        for first in [0, 5, 65_530, u32::MAX - 21] {
            let vertices = check(&(0..20).rev().map(|n| first + n).collect::<Vec<_>>());
            assert_eq!((vertices.contiguous_from(), vertices.count()), (Some(first), 20));
            assert_eq!(vertices.indices.capacity() + vertices.directory.capacity(), 0);
        }
        assert_eq!(check(&[7, 9]).contiguous_from(), None);
        assert_eq!(check(&[]).count(), 0);
    }

    #[test]
    fn after_an_error_there_are_no_vertices() {
        let mut vertices = check(&[3, 5, 9]);
        let result = vertices.set(Indices::U16(&[3, 5, 9]), -4);
        assert_eq!(result, Err(CallError::NoVertex { index: 3, base_vertex: -4 }));
        assert_eq!((vertices.count(), vertices.row(3), vertices.range()), (0, None, 0..0));
    }
}
