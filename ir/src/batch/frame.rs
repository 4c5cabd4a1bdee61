//! The frame of a program: the memory that it has beside the caller's buffers, as named ranges one behind the other.
//! Each begins at a cache line if all of it does.

use super::{BatchProgram, TILE};
use std::ops::Range;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes of the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The slots of the call, 16 bytes each.
    pub call: Range<usize>,
    /// What a back end asks for, for itself.
    pub own: Range<usize>,
    /// The slots of waves, a vector each: one record for each wave of a tile if the
    /// function is cut, else one for the wave at hand.
    pub kept: Range<usize>,
    /// Bytes of a record.
    pub record: usize,
    /// The worklists, one behind the other, and behind them all waves of a tile: 8 bytes for each
    /// wave.
    pub worklists: Range<usize>,
}

impl Frame {
    /// The frame of a program, with so many bytes for the back end, a multiple of 16.
    pub fn new(program: &BatchProgram, own: usize) -> Frame {
        let record = 4 * usize::from(program.lanes) * program.slots as usize;
        let records = if program.is_cut() { program.tile().max(TILE) } else { 1 };
        // Behind them, if there are any, all waves of the tile.
        let worklists = if program.cut.worklists == 0 { 0 } else { program.cut.worklists as usize + 1 };
        let mut end = 0;
        let mut range = |bytes: usize| {
            let start = end;
            end = (start + bytes).next_multiple_of(LINE);
            start..start + bytes
        };
        Frame {
            call: range(16 * program.call_slots as usize),
            own: range(own),
            kept: range(record * records),
            record,
            worklists: range(worklists * TILE * 8),
        }
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.worklists.end
    }

    /// Where a worklist begins.
    pub fn worklist(&self, number: usize) -> usize {
        self.worklists.start + number * TILE * 8
    }
}
