//! Addresses that differ among lanes: gather and scatter.
//!
//! Some machines have quick instructions for both. Elsewhere lanes' offsets go through memory: a vector is stored, and
//! each lane's offset loaded where its address is used. That is one instruction a lane; taken out of the vector they
//! would be two.

use super::Selector;
use super::code::{Address, Source};
use super::encode::Size;
use super::table::Op as X;
use crate::jit::offsets::KeptOffsets;
use regalloc2::VReg;
use std::ops::Range;

impl Selector<'_> {
    /// Keeps a vector's unsigned 32-bit offsets.
    pub(super) fn keep_offsets(&mut self, offsets: VReg) -> KeptOffsets {
        let kept = self.here.offsets.take();
        self.simd.store_for_words(offsets, self.kept_at(kept));
        kept
    }

    fn kept_at(&self, offsets: KeptOffsets) -> Address {
        self.own(self.own.offsets + self.simd.size().bytes() * offsets.slot() as i32)
    }

    /// One lane's offset.
    pub(super) fn lane_offset(&mut self, offsets: KeptOffsets, lane: u8) -> VReg {
        let address = self.kept_at(offsets).plus(4 * i32::from(lane));
        self.simd.load_word(address)
    }

    /// The word of each lane at an address and its offset where a mask holds, else zero. Offsets are below 2^31 there;
    /// the word at the address itself may be read.
    pub(super) fn gather_lanes(&mut self, inside: VReg, address: Address, offsets: VReg) -> VReg {
        if self.simd.gathers() {
            return self.simd.gather(inside, address.with_index(offsets));
        }
        let offsets = self.simd.keep(inside, offsets.into());
        let words = self.words_one_by_one(offsets, |_| address);
        self.simd.keep(inside, words.into())
    }

    /// The word of each lane at what `address` gives for it, and its offset.
    pub(super) fn words_one_by_one(&mut self, offsets: VReg, address: impl Fn(u8) -> Address) -> VReg {
        let offsets = self.keep_offsets(offsets);
        self.words_of_lanes(|this, lane| {
            let offset = this.lane_offset(offsets, lane);
            address(lane).with_index(offset)
        })
    }

    /// A vector of the words at an address for each lane.
    pub(super) fn words_of_lanes(&mut self, mut at: impl FnMut(&mut Self, u8) -> Address) -> VReg {
        self.rows_of_lanes(|this, first| {
            let address = at(this, first);
            let mut row = this.simd.row_op(X::Movd, &[], address, 0);
            for lane in 1..4 {
                let address = at(this, first + lane);
                row = this.simd.row_op(X::Pinsrd, &[row], address, u32::from(lane));
            }
            row.into()
        })
    }

    /// A vector joined of rows of 128 bits: what `row` gives for the first lane of each.
    pub(super) fn rows_of_lanes(&mut self, mut row: impl FnMut(&mut Self, u8) -> Source) -> VReg {
        if !self.simd.level.has_halves() {
            return self.join_rows(&mut row, 0..self.simd.lanes() / 4, self.simd.size());
        }
        // Only the last step takes both halves of a unit.
        let [low, high] = [0..2, 2..4].map(|rows| self.join_rows(&mut row, rows, Size::Y));
        self.simd.op_imm(X::InsertHalf, &[low], high, 1)
    }

    /// The same of some of the rows.
    fn join_rows(&mut self, row: &mut impl FnMut(&mut Self, u8) -> Source, mut rows: Range<u8>, size: Size) -> VReg {
        let first = rows.next().map(|first| row(self, 4 * first)).expect("a vector has rows");
        let mut vector = match first {
            Source::Register(register) => register,
            Source::Memory(address) => self.simd.row_op(X::Movups, &[], address, 0),
        };
        for (place, number) in (1..).zip(rows) {
            let next = row(self, 4 * number);
            vector = self.simd.sized(X::InsertRow, size, &[vector], next, place);
        }
        vector
    }

    /// Stores each lane's word to an address of its own.
    pub(super) fn scatter_lanes(&mut self, vector: VReg, mut at: impl FnMut(&mut Self, u8) -> Address) {
        for number in 0..self.simd.lanes() / 4 {
            let row = self.simd.row(vector, u32::from(number));
            for lane in 0..4 {
                let address = at(self, 4 * number + lane);
                match lane {
                    0 => self.simd.effect(X::MovdOut, Size::X, &[row], Some(address), 0),
                    _ => self.simd.effect(X::Pextrd, Size::X, &[row], Some(address), u32::from(lane)),
                }
            }
        }
    }
}
