//! Indexed draws on many threads. A piece is some of the blocks in which one thread shades the draw; vertices that
//! follow one another may be divided between waves, those that are copied together stay together.

use super::divided::{self, Divided};
use super::pieces::{LANES, Pieces};
use crate::call::bindings::Call;
use crate::call::indexed::{BlockRows, Draw, DrawInto, IndexedOutputs};
use crate::call::outputs::OutputLayout;
use crate::call::vertices::Choice;
use crate::error::CallError;
use crate::{DistinctVertices, Indices};
use std::ops::Range;

impl Call<'_> {
    /// Shades the vertices of an indexed draw on this thread and those of the current [rayon] pool: the same results as
    /// [`run_indexed`](Self::run_indexed). Needs the feature `rayon`.
    ///
    /// Draws of few vertices are not divided.
    ///
    /// # Errors
    /// As [`run_indexed`](Self::run_indexed); the one that comes first in the order of the rows.
    pub fn run_indexed_parallel(&self, indices: Indices<'_>, base_vertex: i32) -> Result<IndexedOutputs, CallError> {
        let vertices = DistinctVertices::new(indices, base_vertex)?;
        let shade = |layout: &OutputLayout, bytes: &mut [u8]| self.run_distinct_parallel_into(&vertices, layout, bytes);
        let outputs = self.collect(vertices.count(), shade)?;
        Ok(IndexedOutputs { outputs, vertices })
    }

    /// Shades vertices that an earlier draw found on many threads, into the caller's buffer:
    /// [`run_distinct_into`](Self::run_distinct_into) in parallel. What is written in place is as
    /// [`run_parallel_into`](Self::run_parallel_into) says.
    ///
    /// # Errors
    /// As [`run_distinct_into`](Self::run_distinct_into); the one that comes first in the order of the rows.
    pub fn run_distinct_parallel_into(
        &self,
        vertices: &DistinctVertices,
        layout: &OutputLayout,
        bytes: &mut [u8],
    ) -> Result<(), CallError> {
        divided::shade(&Distinct { call: self, draw: self.draw(vertices, layout) }, layout, bytes)
    }
}

/// The vertices of a draw.
struct Distinct<'c, 'a> {
    call: &'c Call<'a>,
    draw: Draw<'c>,
}

impl<'a> Divided<'a> for Distinct<'_, 'a> {
    type Piece = Vec<BlockRows>;

    fn call(&self) -> &Call<'a> {
        self.call
    }

    fn vertices(&self) -> Range<u32> {
        self.draw.vertices.range()
    }

    fn count(&self) -> u32 {
        self.draw.vertices.count()
    }

    fn pieces(&self, threads: usize) -> impl Iterator<Item = Vec<BlockRows>> + Send {
        let sizes = Pieces::new(self.count(), threads);
        BlockPieces { blocks: self.draw.blocks(), sizes, cut: None }
    }

    fn rows(piece: &Vec<BlockRows>) -> Range<usize> {
        match &piece[..] {
            [first, .., last] => first.rows.start..last.rows.end,
            [block] => block.rows.clone(),
            [] => 0..0,
        }
    }

    fn shade(
        &self,
        piece: Vec<BlockRows>,
        layout: &OutputLayout,
        bytes: &mut [u8],
        choice: Choice<'_>,
    ) -> Result<(), CallError> {
        let (rows, available) = (Self::rows(&piece), bytes.len());
        let draw = Draw { layout, ..self.draw };
        let blocks = DrawInto { draw, blocks: piece.into_iter(), first_row: rows.start, bytes };
        self.call.shade(&self.vertices(), rows.len() as u32, (layout, available), choice, blocks)
    }

    fn shade_all(&self, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError> {
        self.call.run_distinct_into(self.draw.vertices, layout, bytes)
    }
}

/// The blocks of a draw in pieces of about those sizes.
struct BlockPieces<B> {
    blocks: B,
    sizes: Pieces,
    /// What is left of a block that was cut.
    cut: Option<BlockRows>,
}

impl<B: Iterator<Item = BlockRows>> Iterator for BlockPieces<B> {
    type Item = Vec<BlockRows>;

    fn next(&mut self) -> Option<Vec<BlockRows>> {
        let mut block = self.cut.take().or_else(|| self.blocks.next())?;
        let start = block.rows.start;
        // A piece of copied vertices may have been longer than its size by all of the next one.
        let end = self.sizes.find(|rows| rows.end as usize > start).expect("the sizes are of all rows").end as usize;
        let mut piece = Vec::new();
        loop {
            let rows = block.rows.clone();
            let whole = end.saturating_sub(rows.start).next_multiple_of(LANES as usize);
            if block.is_run && whole < rows.len() {
                let at = rows.start + whole;
                self.cut = Some(BlockRows { rows: at..rows.end, is_run: true });
                block.rows.end = at;
            }
            let is_last = block.rows.end >= end;
            piece.push(block);
            if is_last {
                return Some(piece);
            }
            match self.blocks.next() {
                Some(next) => block = next,
                None => return Some(piece),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_cut_between_waves_and_others_nowhere() {
        let block = |rows: Range<usize>, is_run| BlockRows { rows, is_run };
        let blocks =
            [block(0..1003, true), block(1003..1250, false), block(1250..9000, true), block(9000..9100, false)];
        let pieces: Vec<_> =
            BlockPieces { blocks: blocks.iter().cloned(), sizes: Pieces::new(9100, 2), cut: None }.collect();
        let all: Vec<&BlockRows> = pieces.iter().flatten().collect();
        assert!(all.windows(2).all(|pair| pair[0].rows.end == pair[1].rows.start));
        assert_eq!((all[0].rows.start, all[all.len() - 1].rows.end), (0, 9100));
        assert!(pieces.len() > 4 && pieces.iter().all(|piece| !piece.is_empty()));
        for BlockRows { rows, is_run } in all {
            let of = blocks.iter().find(|block| block.rows.contains(&rows.start)).unwrap();
            assert_eq!(of.is_run, *is_run);
            assert!((rows.start - of.rows.start) % LANES as usize == 0 && rows.end <= of.rows.end);
            assert!(*is_run || rows == &of.rows);
        }
    }
}
