//! The distinct vertices of a draw as blocks that an engine shades.

use super::distinct::DistinctVertices;
use crate::call::outputs::OutputLayout;
use crate::call::uniforms::BoundSpaces;
use crate::call::vertex_buffer::VertexBufferView;
use crate::call::wave::{Block, Driver, WaveRunner};
use crate::call::work::{Work, recycle};
use crate::error::CallError;
use std::mem;
use std::ops::Range;

/// Vertices in a row that are shaded where they lie; fewer are copied together with others, for a block of few vertices
/// takes long for what it is.
const LONG_RUN: usize = 64;

/// The most vertices copied together: their rows stay in the nearest cache. A multiple of any number of lanes.
const GATHERED: usize = 256;

/// Bytes behind copied rows: native code reads rows of 3, 6 and 12 bytes as 4, 8 and 16.
const PADDING: usize = 4;

/// A draw whose bindings are checked.
#[derive(Clone, Copy)]
pub(in crate::call) struct Draw<'d> {
    pub vertices: &'d DistinctVertices,
    /// The number the shader sees for index 0.
    pub first_number: u32,
    /// Whether it looks at it. Numbers of copied vertices do not follow one another.
    pub reads_numbers: bool,
    /// Where the rows of outputs are.
    pub layout: &'d OutputLayout,
    pub spaces: &'d BoundSpaces,
}

/// Rows of a draw that are shaded as one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::call) struct BlockRows {
    pub rows: Range<usize>,
    /// Whether their vertices follow one another, so that they are shaded where they lie. Then waves of them may be
    /// shaded by themselves.
    pub is_run: bool,
}

/// Some blocks of a draw and the buffer of their outputs.
pub(in crate::call) struct DrawInto<'d, B> {
    pub draw: Draw<'d>,
    pub blocks: B,
    /// Which row's place the layout says.
    pub first_row: usize,
    pub bytes: &'d mut [u8],
}

impl<'a, B: Iterator<Item = BlockRows>> Driver<'a> for DrawInto<'_, B> {
    fn drive(self, waves: &mut impl WaveRunner, work: &mut Work<'a>) -> Result<(), CallError> {
        let DrawInto { draw, blocks, first_row, bytes } = self;
        for BlockRows { rows, is_run } in blocks {
            match draw.vertices.indices() {
                Some(indices) if !is_run => draw.shade_gathered((rows, first_row), indices, waves, work, bytes)?,
                _ => draw.shade_run((rows, first_row), waves, work, bytes)?,
            }
        }
        Ok(())
    }
}

impl<'d> Draw<'d> {
    /// The blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = BlockRows> + use<'d> {
        let (indices, count, reads_numbers) =
            (self.vertices.indices(), self.vertices.count() as usize, self.reads_numbers);
        let mut row = 0;
        std::iter::from_fn(move || {
            let start = (row < count).then_some(row)?;
            let run = indices.map_or(count, |indices| run_length(&indices[start..]));
            row = start + run;
            match indices {
                Some(indices) if run < LONG_RUN && !reads_numbers => {
                    row = end_of_short_runs(indices, start, row);
                    Some(BlockRows { rows: start..row, is_run: false })
                }
                _ => Some(BlockRows { rows: start..row, is_run: true }),
            }
        })
    }

    /// The number the shader sees for the vertex of a row.
    fn number(&self, row: usize) -> u32 {
        self.first_number.wrapping_add(self.vertices.index(row as u32))
    }

    /// The vertices of some rows, which these attributes are for.
    fn block<'b>(
        &'b self,
        (rows, first_row): (Range<usize>, usize),
        attributes: &'b [VertexBufferView<'b>],
    ) -> Block<'b> {
        let (count, first_vertex) = (rows.len() as u32, self.number(rows.start));
        let (layout, spaces) = (self.layout, self.spaces);
        Block { attributes, count, first_vertex, layout, first_row: rows.start - first_row, spaces, quads: None }
    }

    /// Shades vertices that follow one another.
    fn shade_run(
        &self,
        (rows, first_row): (Range<usize>, usize),
        waves: &mut impl WaveRunner,
        work: &mut Work<'_>,
        bytes: &mut [u8],
    ) -> Result<(), CallError> {
        let offset = (self.vertices.index(rows.start as u32) - self.vertices.index(0)) as usize;
        let mut attributes: Vec<VertexBufferView<'_>> = mem::take(&mut work.block);
        attributes.extend(
            work.attributes.iter().map(|attribute| VertexBufferView {
                bytes: &attribute.bytes[offset * attribute.stride..],
                ..*attribute
            }),
        );
        let result = waves.run_block(&self.block((rows, first_row), &attributes), bytes);
        work.block = recycle(attributes);
        result
    }

    /// Shades vertices that do not follow one another: their inputs are copied.
    fn shade_gathered(
        &self,
        (rows, first_row): (Range<usize>, usize),
        indices: &[u32],
        waves: &mut impl WaveRunner,
        work: &mut Work<'_>,
        bytes: &mut [u8],
    ) -> Result<(), CallError> {
        let first = indices[0];
        let copied = &indices[rows.clone()];
        let room = |attribute: &VertexBufferView<'_>| match attribute.stride {
            0 => 0,
            _ => attribute.format.bytes() * copied.len() + PADDING,
        };
        let needed = work.attributes.iter().map(room).sum();
        if work.gathered.len() < needed {
            work.gathered.resize(needed, 0);
        }
        let mut rest = &mut work.gathered[..];
        let mut attributes: Vec<VertexBufferView<'_>> = mem::take(&mut work.block);
        for attribute in &work.attributes {
            let (copy, behind) = rest.split_at_mut(room(attribute));
            rest = behind;
            attributes.push(match (attribute.stride, attribute.format.bytes()) {
                (0, _) => *attribute,
                (_, 1) => gather::<1>(attribute, first, copied, copy),
                (_, 2) => gather::<2>(attribute, first, copied, copy),
                (_, 3) => gather::<3>(attribute, first, copied, copy),
                (_, 4) => gather::<4>(attribute, first, copied, copy),
                (_, 6) => gather::<6>(attribute, first, copied, copy),
                (_, 8) => gather::<8>(attribute, first, copied, copy),
                (_, 12) => gather::<12>(attribute, first, copied, copy),
                _ => gather::<16>(attribute, first, copied, copy),
            });
        }
        let result = waves.run_block(&self.block((rows, first_row), &attributes), bytes);
        work.block = recycle(attributes);
        result
    }
}

/// How many of the indices follow one another from the first on.
fn run_length(indices: &[u32]) -> usize {
    let breaks = indices.windows(2).position(|pair| pair[1] - pair[0] != 1);
    breaks.map_or(indices.len(), |at| at + 1)
}

/// Where a block of short runs ends that begins at `start`, its first run ending at `end`.
fn end_of_short_runs(indices: &[u32], start: usize, mut end: usize) -> usize {
    while end < indices.len() && end - start < GATHERED {
        let run = run_length(&indices[end..indices.len().min(end + LONG_RUN)]);
        if run == LONG_RUN {
            return end;
        }
        end += run;
    }
    end.min(start + GATHERED)
}

/// Copies rows of `N` bytes, which is the format's.
fn gather<'g, const N: usize>(
    attribute: &VertexBufferView<'_>,
    first: u32,
    indices: &[u32],
    copy: &'g mut [u8],
) -> VertexBufferView<'g> {
    for (row, &index) in copy.as_chunks_mut::<N>().0.iter_mut().zip(indices) {
        let start = (index - first) as usize * attribute.stride;
        row.copy_from_slice(&attribute.bytes[start..][..N]);
    }
    VertexBufferView { bytes: copy, stride: N, ..*attribute }
}
