//! How large the pieces of a batch are: every thread gets as many of a size as the others, and they become smaller
//! towards the end, so that no thread has much left when the others are done.

use std::ops::Range;

/// The most rows of a piece: more bytes do not stay in a core's cache.
const LARGEST: u32 = 4096;

/// The fewest rows of a piece that is followed by smaller ones: microseconds of work for most shaders, beside which
/// taking a piece counts for nothing.
const SMALLEST: u32 = 512;

/// Pieces are a multiple of any number of lanes, so that each vertex is in the wave in which a single piece has it.
pub(super) const LANES: u32 = 16;

/// The rows of the pieces, in order.
pub(super) struct Pieces {
    /// Rows that are left.
    rows: Range<u32>,
    threads: u32,
    /// How many more pieces have this size.
    equal: u32,
    size: u32,
}

impl Pieces {
    /// Those of so many rows for so many threads.
    pub fn new(count: u32, threads: usize) -> Pieces {
        let threads = u32::try_from(threads).unwrap_or(u32::MAX).max(1);
        Pieces { rows: 0..count, threads, equal: 0, size: 0 }
    }
}

impl Iterator for Pieces {
    type Item = Range<u32>;

    fn next(&mut self) -> Option<Range<u32>> {
        let Range { start, end } = self.rows;
        let left = end.checked_sub(start).filter(|&left| left > 0)?;
        if self.equal == 0 {
            // Half of what is left in pieces of this size, or all of it if the other half would be too little.
            let share = left.div_ceil(self.threads);
            let size = if share < 2 * SMALLEST { share } else { share.div_ceil(2).min(LARGEST) };
            (self.equal, self.size) = (self.threads, size.next_multiple_of(LANES));
        }
        self.equal -= 1;
        self.rows.start = start + self.size.min(left);
        Some(start..self.rows.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Lanes;

    fn sizes(count: u32, threads: usize) -> Vec<u32> {
        let pieces: Vec<Range<u32>> = Pieces::new(count, threads).collect();
        assert!(pieces.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].end % LANES == 0));
        assert_eq!(
            (pieces.first().map_or(0, |first| first.start), pieces.last().map_or(0, |last| last.end)),
            (0, count)
        );
        pieces.iter().map(|piece| piece.end - piece.start).collect()
    }

    #[test]
    fn threads_get_the_same_and_less_towards_the_end() {
        assert_eq!(sizes(10_000, 2), [2512, 2512, 1248, 1248, 624, 624, 624, 608]);
        assert_eq!(sizes(5000, 2), [1264, 1264, 624, 624, 624, 600]);
        assert_eq!(sizes(20, 4), [16, 4]);
        assert_eq!(sizes(0, 4), []);
        assert_eq!(sizes(4099, 1), [2064, 1024, 1011]);
    }

    #[test]
    fn waves_lie_in_one_piece() {
        assert!(Lanes::ALL.iter().all(|lanes| LANES.is_multiple_of(lanes.count())));
    }

    #[test]
    fn many_rows_are_in_pieces_that_fit_caches() {
        for threads in [1, 2, 3, 7, 64] {
            for count in [4096, 100_000, 1_000_001] {
                let sizes = sizes(count, threads);
                assert!(sizes.is_sorted_by(|one, next| one >= next) && sizes[0] <= LARGEST);
                // The first thread has the most to do.
                let most: u32 = sizes.iter().step_by(threads).sum();
                assert!(most <= count.div_ceil(threads as u32) + LANES, "{count} {threads}");
            }
        }
        assert_eq!(Pieces::new(u32::MAX, 2).last().map(|piece| piece.end), Some(u32::MAX));
    }
}
