//! Software prefetching: where a function is cut, its first phase fetches in a burst and a later one stores in another.
//! Between them the waves ask for the rows that the next tile begins with, and for those that this one will store, to
//! own them.
//!
//! A processor has room for a dozen or two lines on their way, and waits where more are asked for. So each phase asks
//! for as many rows as its part of the work is, all of whose waves ask for rows that follow each other: those share
//! lines.
//!
//! A loop that does all by rows has little to compute, and waits most for lines, even where the second-level cache has
//! them. It asks for those of some rounds later.

use super::Selector;
use super::code::Address;
use super::encode::{Condition, Size};
use super::table::Op as X;
use crate::jit::abi::offset;
use regalloc2::VReg;
use shaderjit_ir::Op;
use shaderjit_ir::batch::{BatchProgram, Phase, Stream};
use shaderjit_ir::fuel::block_weight;
use shaderjit_ir::function::{Imm, InstData};
use std::ops::Range;

/// By which part of the work of the phases that ask all rows have been asked for, so that they are there in time.
const PART: [usize; 2] = [2, 3];

/// Waves ask for so many rows at once, or for none: where no phase asks for one alone, fewer test whether to.
const AT_ONCE: usize = 2;

/// How far ahead a loop that does all by rows asks, in bytes: a few lines more than are on their way at once. Twice as
/// far ahead what is read from main memory takes a sixth longer.
const AHEAD: usize = 512;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// What is prefetched. Rows of one stream will do: buffers have the elements of a vertex side by side, or in streams
/// that the processor foresees.
pub struct Prefetching {
    input: Option<u32>,
    /// What is stored first, and the phase that does it.
    output: Option<(u32, usize)>,
    /// What the phases in front of each weigh, and all of them. The first asks for nothing: it fetches, and would wait.
    /// Nor do those with a worklist: it has some of the waves, which would not be worth what it costs.
    before: Vec<usize>,
}

impl Prefetching {
    /// Finds it.
    pub fn new(program: &BatchProgram) -> Prefetching {
        let phases = &program.cut.phases;
        let weight = |phase: &Phase| match phase.worklist {
            None => phase.blocks.iter().map(|&block| block_weight(program, block) as usize).sum::<usize>(),
            Some(_) => 0,
        };
        let (mut before, mut sum) = (vec![0, 0], 0);
        for phase in phases.iter().skip(1) {
            sum += weight(phase);
            before.push(sum);
        }
        let stored = |inst: &InstData| match (inst.op, inst.imm) {
            (Op::Output, Imm::Element { element, .. }) => Some(element).filter(|&element| program.is_stored(element)),
            (Op::OutputRow, Imm::Stream(element)) => Some(element),
            _ => None,
        };
        let output = (0..).zip(phases).find_map(|(number, phase)| {
            let mut insts = phase.blocks.iter().flat_map(|&block| program.insts_in(block));
            insts.find_map(stored).zip(Some(number))
        });
        let input = (0..).zip(&program.facts.wanted).find(|&(_, &words)| words > 0).map(|(element, _)| element);
        Prefetching { input, output, before }
    }

    /// Which of so many rows, those of a wave, each wave asks for in a phase, if the phases in front of another one
    /// share them.
    fn share(&self, rows: usize, phase: usize, end: usize) -> Range<usize> {
        let [part, of] = PART;
        let asked = |phase: usize| {
            let rows_asked = (of * rows * self.before[phase.min(end)]).checked_div(part * self.before[end]);
            rows_asked.unwrap_or(0).min(rows) / AT_ONCE * AT_ONCE
        };
        asked(phase)..asked(phase + 1)
    }
}

/// What a phase asks for.
pub struct Asked {
    /// The first rows of a wave, how many there are, and of which stream.
    fetched: Option<(Range<usize>, Stream)>,
    stored: Option<(Range<usize>, Stream)>,
    /// Whether it is to ask: a word, zero if not.
    asks: VReg,
}

impl Selector<'_> {
    /// What a phase asks for, if anything, in front of its loop.
    pub(super) fn asked(&mut self, phase: usize) -> Option<Asked> {
        let phases = self.program.cut.phases.len();
        let Prefetching { input, output, .. } = self.tile().prefetching;
        let share = |end| self.tile().prefetching.share(self.step, phase, end);
        let fetched = input.map(|element| (share(phases), Stream::Input(element)));
        let stored = output.map(|(element, end)| (share(end), Stream::Output(element)));
        let [fetched, stored] = [fetched, stored].map(|asked| asked.filter(|(share, _)| !share.is_empty()));
        if fetched.is_none() && stored.is_none() {
            return None;
        }
        let asks = self.simd.load_word(Address::at(self.args, offset::PREFETCHES));
        Some(Asked { fetched, stored, asks })
    }

    /// Asks for it, if the caller says that no cache has it. A prefetch beyond the end of a buffer does nothing.
    pub(super) fn prefetch(&mut self, Asked { fetched, stored, asks }: Asked) {
        let [begin, behind] = [(); 2].map(|()| self.simd.code.block());
        self.simd.compare_imm(X::CmpImmediate, asks, 0);
        self.simd.code.branch(Condition::NotEqual, (begin, &[]), (behind, &[]));
        self.simd.code.switch_to(begin);
        if let Some((share, stream)) = fetched {
            self.prefetch_rows(X::Prefetch, stream, share, self.program.tile() * self.step);
        }
        if let Some((share, stream)) = stored {
            self.prefetch_rows(X::PrefetchOwned, stream, share, 0);
        }
        self.simd.code.jump(behind, &[]);
        self.simd.code.switch_to(behind);
    }

    /// Asks for what later rounds of a loop that does all by rows will read, and to own what they will store.
    pub(super) fn ask_ahead(&mut self) {
        let (program, layout) = (self.program, self.layout);
        if !program.by_rows {
            return;
        }
        let read = (0..).zip(&layout.inputs).filter(|&(element, _)| program.facts.reads[element as usize]);
        self.ask_lines_ahead(X::Prefetch, read.map(|(element, format)| (Stream::Input(element), format.bytes())));
        let stored = (0..program.outputs).map(|element| (Stream::Output(element), 4 * layout.stored(element) as usize));
        self.ask_lines_ahead(X::PrefetchOwned, stored);
    }

    /// Asks for as many lines as a round accesses bytes, the last of them whole, by streams and bytes of a row: where
    /// the elements of a vertex lie side by side, so do the lines.
    fn ask_lines_ahead(&mut self, op: X, streams: impl Iterator<Item = (Stream, usize)>) {
        let (mut in_front, mut asked) = (0, 0);
        for (stream, bytes) in streams {
            let lines = (self.step * (in_front + bytes)).div_ceil(LINE);
            for line in asked..lines {
                let (row, _) = self.first_row(stream);
                let ahead = Address::at(row, (AHEAD + line * LINE - in_front) as i32);
                self.simd.effect(op, Size::X, &[], Some(ahead), 0);
            }
            (in_front, asked) = (in_front + bytes, lines);
        }
    }

    /// Asks for a wave's share of the rows from some way ahead of the tile's first on: as many as the waves in front of
    /// it in the tile ask for lie between.
    fn prefetch_rows(&mut self, op: X, stream: Stream, share: Range<usize>, ahead: usize) {
        let (tile, rows) = (self.program.tile() * self.step, share.len());
        let [data, one] = self.load_stream(stream);
        // Tiles begin at multiples of their lengths.
        debug_assert!(tile.is_power_of_two() && self.step.is_power_of_two());
        let in_tile = self.simd.general_imm(X::AndImmediate, self.wave.element, tile as u32 - 1);
        let left_out = self.simd.general_imm(X::ImulImmediate64, in_tile, (self.step - rows) as u32);
        let left_out = self.simd.general_imm(X::Shr64, left_out, self.step.ilog2());
        let place = self.simd.general(X::Sub64, &[self.wave.element], left_out);
        let begin = ahead + share.start * self.program.tile();
        let element = self.simd.address(Address::at(place, begin as i32));
        let mut row = self.row_address(data, one, element);
        for number in 0..rows {
            if number > 0 {
                row = self.simd.address(Address::indexed(row, one, 0, 0));
            }
            self.simd.effect(op, Size::X, &[], Some(Address::at(row, 0)), 0);
        }
    }
}
