//! Addresses that differ among lanes: gather and scatter.
//!
//! Some machines have quick instructions for both. Elsewhere lanes' offsets go through memory: a vector is stored, and
//! each lane's offset loaded where its address is used. That is one instruction a lane; taken out of the vector they
//! would be two.

use super::Selector;
use super::code::{Address, Source};
use super::encode::Size;
use super::table::Op as X;
use regalloc2::VReg;
use shaderjit_ir::{Space, Value};

/// How many vectors of offsets are kept at a time.
pub const SLOTS: usize = 16;

/// Offsets in memory: the slot they are in. They stay there until [`SLOTS`] others are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeptOffsets(usize);

/// Whose offsets they are: a space, what is added to the index, and the index.
type Key = (Space, u32, Value);

/// What the slots hold.
#[derive(Default)]
pub struct OffsetSlots {
    keys: [Option<Key>; SLOTS],
    next: usize,
}

impl OffsetSlots {
    /// The slot that holds these offsets.
    pub fn find(&self, key: Key) -> Option<KeptOffsets> {
        self.keys.iter().position(|&kept| kept == Some(key)).map(KeptOffsets)
    }

    /// Says whose offsets those are that were kept last.
    pub fn name(&mut self, kept: KeptOffsets, key: Key) {
        self.keys[kept.0] = Some(key);
    }
}

impl Selector<'_> {
    /// Keeps a vector's unsigned 32-bit offsets.
    pub(super) fn keep_offsets(&mut self, offsets: VReg) -> KeptOffsets {
        let slot = self.here.offsets.next;
        self.here.offsets.next = (slot + 1) % SLOTS;
        self.here.offsets.keys[slot] = None;
        self.simd.store_for_words(offsets, self.kept_at(KeptOffsets(slot)));
        KeptOffsets(slot)
    }

    fn kept_at(&self, offsets: KeptOffsets) -> Address {
        self.own(self.own.offsets + self.simd.size().bytes() * offsets.0 as i32)
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
        let first = row(self, 0);
        let mut vector = match first {
            Source::Register(register) => register,
            Source::Memory(address) => self.simd.row_op(X::Movups, &[], address, 0),
        };
        for number in 1..self.simd.lanes() / 4 {
            let next = row(self, 4 * number);
            vector = self.simd.op_imm(X::InsertRow, &[vector], next, u32::from(number));
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
