//! Words near each other: each lane's is one of the thirty-two words of two vectors in memory, as threads of a
//! butterfly have theirs. With registers of masks two loads and a permutation get what else is gathered, and two stores
//! put what else is scattered, where later lanes have later words.
//!
//! That is tried in memory that a group shares, which is known to have all of both vectors, wherever they begin.

use super::Selector;
use super::code::Address;
use super::constants::Constant;
use super::encode::Condition;
use super::simd::integer;
use super::table::Op as X;
use crate::jit::coalesce::Place;
use regalloc2::VReg;

/// Words of two vectors.
const WORDS: u32 = 32;

/// Bytes from the first of them to the last.
const REACH: u32 = 4 * (WORDS - 1);

/// Bytes from one vector to the other.
const HALF: i32 = 64;

/// Both vectors: where the first begins, and which of their words are those of the lanes, if they are near.
struct Window {
    first: Address,
    numbers: VReg,
}

impl Selector<'_> {
    /// Two vectors of a group's memory, from the word of lane 0 on, or ahead of it where they would go beyond the end.
    fn two_vectors(&mut self, place: Place, addresses: VReg) -> Option<Window> {
        let limit = self.coalescing.last_shared(place).and_then(|last| last.checked_sub(REACH));
        let limit = limit.filter(|_| self.simd.has_masks())?;
        let (first, limit) = (self.simd.first_word(addresses), self.simd.literal(limit));
        let first = self.simd.umin(first, limit);
        let start = self.simd.splat(first);
        let bytes = self.simd.op(X::Psubd, &[addresses], start);
        let numbers = self.simd.op_imm(X::Psrld, &[], bytes, 2);
        let data = self.resource_data(place.0);
        Some(Window { first: Address::indexed(data, first, 0, place.1 as i32), numbers })
    }

    /// The words at addresses in a group's memory, by `far` where they are not near each other.
    pub(super) fn load_near(&mut self, place: Place, addresses: VReg, far: impl FnOnce(&mut Self) -> VReg) -> VReg {
        let Some(Window { first, numbers }) = self.two_vectors(place, addresses) else { return far(self) };
        let last = self.simd.word_source(WORDS - 1);
        let is_beyond = self.simd.op_imm(X::PcmpudMask, &[numbers], last, integer::GREATER);
        self.simd.test_mask(is_beyond);
        let near = |this: &mut Self| {
            let low = this.simd.load(first);
            this.simd.op(X::Permt2d, &[low, numbers], first.plus(HALF))
        };
        self.likely(Condition::Equal, near, far)
    }

    /// Stores words to addresses in a group's memory where the mask holds, by `far` where it does not everywhere, they
    /// are not near each other, or a later lane has an earlier word.
    pub(super) fn store_near(
        &mut self,
        place: Place,
        [addresses, value]: [VReg; 2],
        mask: Option<VReg>,
        far: impl FnOnce(&mut Self),
    ) {
        let Some(Window { first, numbers }) = self.two_vectors(place, addresses) else { return far(self) };
        let [rising, together, join] = [(); 3].map(|()| self.simd.code.block());
        let apart = self.simd.code.cold_block();
        // The last lane is not below the first, if the others are each below the next.
        let next = self.simd.op_imm(X::Alignd, &[numbers], numbers, 1);
        let is_below = self.simd.op_imm(X::PcmpudMask, &[numbers], next, integer::LESS);
        let is_below = self.simd.mask_bits(is_below);
        self.simd.compare_imm(X::CmpImmediate, is_below, 0x7fff);
        self.simd.code.branch(Condition::Equal, (rising, &[]), (apart, &[]));

        // Which of the words are stored: sixteen, if all are in the two vectors.
        self.simd.code.switch_to(rising);
        let one = self.simd.word_source(1);
        let one = match mask {
            Some(mask) => self.simd.keep(mask, one),
            None => self.simd.in_register(one),
        };
        let bits = self.simd.op(X::Psllvd, &[one], numbers);
        let stored = self.any_bits(bits);
        let count = self.simd.general(X::Popcnt, &[], stored);
        self.simd.compare_imm(X::CmpImmediate, count, 16);
        self.simd.code.branch(Condition::Equal, (together, &[]), (apart, &[]));

        self.simd.code.switch_to(together);
        let upper = self.simd.general_imm(X::Shr, stored, 16);
        let low = self.simd.general(X::Movzx16, &[], stored);
        let low = self.simd.general(X::Popcnt, &[], low);
        // The lanes behind those that the first vector has.
        let (low, lanes) = (self.simd.splat(low), self.simd.code.constant(Constant::Count(0, 1, 16)));
        let behind = self.simd.op(X::Paddd, &[low], lanes);
        let rest = self.simd.op(X::Permps, &[behind], value);
        for (words, stored, at) in [(value, stored, first), (rest, upper, first.plus(HALF))] {
            let stored = self.simd.row_op(X::KmovIn, &[], stored, 0);
            let size = self.simd.size();
            let words = self.simd.code.inst(X::Expandd, size, &[words], None, Some(stored), 0);
            self.store_where(Some(stored), size, words.expect("it has a result"), at);
        }
        self.simd.code.jump(join, &[]);

        self.simd.code.switch_to(apart);
        far(self);
        self.simd.code.jump(join, &[]);
        self.simd.code.switch_to(join);
    }

    /// The bits that any lane has.
    fn any_bits(&mut self, vector: VReg) -> VReg {
        let half = self.simd.op_imm(X::ExtractHalf, &[], vector, 1);
        let half = self.simd.op(X::Por, &[half], vector);
        let row = self.simd.row(half, 1);
        let mut row = self.simd.row_op(X::Por, &[row], half, 0);
        for lanes in [[2, 3, 0, 1], [1, 0, 3, 2]] {
            let other = self.simd.permute(row, lanes);
            row = self.simd.row_op(X::Por, &[other], row, 0);
        }
        self.simd.first_word(row)
    }
}
