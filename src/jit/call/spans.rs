//! The whole waves of some vertices, in the pieces of which native code shades one a call.
//!
//! A piece has as many waves as the code takes at once. Where code does all by rows, and less than a wave in a round of
//! its loop, rounds are what this calls waves. In code that is cut into phases the waves of a tile pay with the same
//! fuel, and look at guards phase by phase: where one of them stops it is not known what each of the others took. The
//! tile then runs once more, each wave of it alone.

use std::ops::Range;

/// Vertices that one call of native code shades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub vertices: Range<usize>,
    /// Whether each of its waves pays for itself: where it stops, the wave that stops would stop by itself, too.
    pub alone: bool,
}

impl Span {
    /// The one wave that begins with a vertex.
    pub fn wave(start: usize, lanes: usize) -> Span {
        Span { vertices: start..start + lanes, alone: true }
    }
}

/// The pieces, in order.
pub struct Spans {
    lanes: usize,
    /// The most vertices of a piece.
    at_once: usize,
    /// How many vertices pay together.
    together: usize,
    /// Where the next piece begins.
    next: usize,
    end: usize,
    /// Pieces that begin before this vertex are one wave each.
    alone_before: usize,
}

impl Spans {
    /// Those of a number of vertices that is a multiple of those of a wave, `lanes`, as `at_once` and `together` are.
    pub fn new(vertices: Range<usize>, lanes: usize, at_once: usize, together: usize) -> Spans {
        Spans { lanes, at_once, together, next: vertices.start, end: vertices.end, alone_before: 0 }
    }

    /// Goes back, for a piece that is not [alone](Span::alone) has stopped at `vertex`: each wave of the tile that has
    /// this vertex comes next by itself. Gives the first vertex of that tile; those before it are shaded.
    pub fn split(&mut self, span: &Span, vertex: usize) -> usize {
        let start = span.vertices.start;
        let tile = start + (vertex - start) / self.together * self.together;
        (self.next, self.alone_before) = (tile, tile + self.together);
        tile
    }
}

impl Iterator for Spans {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let start = self.next;
        let left = self.end.checked_sub(start).filter(|&left| left > 0)?;
        let vertices = if start < self.alone_before { self.lanes } else { self.at_once.min(left) };
        self.next = start + vertices;
        Some(Span { vertices: start..self.next, alone: vertices <= self.lanes || self.together <= self.lanes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(vertices: Range<usize>, alone: bool) -> Span {
        Span { vertices, alone }
    }

    #[test]
    fn pieces_are_as_large_as_the_code_takes() {
        let spans: Vec<Span> = Spans::new(3..43, 4, 16, 4).collect();
        assert_eq!(spans, [span(3..19, true), span(19..35, true), span(35..43, true)]);
        assert_eq!(Spans::new(3..3, 4, 16, 4).next(), None);
    }

    #[test]
    fn waves_of_a_tile_are_not_alone_but_where_there_is_one() {
        let spans: Vec<Span> = Spans::new(0..36, 4, 16, 16).collect();
        assert_eq!(spans, [span(0..16, false), span(16..32, false), span(32..36, true)]);
    }

    #[test]
    fn a_tile_that_stops_runs_wave_by_wave() {
        // Two tiles of four waves a piece, and the second stops in its third wave.
        let mut spans = Spans::new(8..80, 4, 32, 16);
        let first = spans.next().unwrap();
        assert_eq!(first, span(8..40, false));
        assert_eq!(spans.split(&first, 32), 24);
        let waves = [24..28, 28..32, 32..36, 36..40].map(|vertices| span(vertices, true));
        assert_eq!(spans.by_ref().take(4).collect::<Vec<_>>(), waves);
        // Behind it pieces are whole again, and another may stop at once.
        let next = spans.next().unwrap();
        assert_eq!(next, span(40..72, false));
        assert_eq!(spans.split(&next, 40), 40);
        assert_eq!(spans.next(), Some(span(40..44, true)));
    }

    #[test]
    fn a_tile_that_stops_may_be_the_last_and_not_whole() {
        let mut spans = Spans::new(0..24, 4, 64, 16);
        let all = spans.next().unwrap();
        assert_eq!(all, span(0..24, false));
        assert_eq!(spans.split(&all, 20), 16);
        assert_eq!(spans.collect::<Vec<_>>(), [span(16..20, true), span(20..24, true)]);
    }
}
