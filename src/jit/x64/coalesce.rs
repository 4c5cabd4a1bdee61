//! Coalesced accesses: one access of memory for the words of all lanes where they lie together, and code that sees
//! whether they do where [that](crate::jit::coalesce) is only likely.

use super::Selector;
use super::bounded::Number;
use super::code::Address;
use super::constants::Constant;
use super::encode::{Condition, Size};
use super::simd::{integer, wanted_words};
use super::table::{Class, Op as X};
use super::value::Memo;
use crate::jit::coalesce::{IN_ORDER, Place, Shape};
use regalloc2::VReg;
use shaderjit_ir::batch::Steps;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Resource, Value};

/// How the words of a shape are loaded.
#[derive(Clone, Copy)]
enum Way {
    /// One word for all lanes.
    Word,
    InOrder,
    /// In order for half of the lanes, and the same for the others.
    Half,
    /// A word for half of the lanes, and one for the others, which a mask has, so many bytes behind it.
    TwoWords {
        upper: VReg,
        distance: i32,
    },
    /// Some lanes of memory, all without registers of masks, and which of them each lane gets.
    Shuffled {
        taken: Option<VReg>,
        order: VReg,
    },
}

/// The largest address from which all that an access takes is inside a resource.
#[derive(Clone, Copy)]
enum Limit {
    /// Of what the lanes of a group share, which is as long as declared.
    Known(u32),
    /// 64-bit, below zero where nothing is inside.
    Register(VReg),
}

/// Where the words of all lanes lie together.
#[derive(Clone, Copy)]
pub enum Together {
    /// In one shape that begins there.
    Shape(Address),
    /// In order, those of the lower and of the upper half of the lanes.
    Rows([Address; 2]),
}

/// How it is known that words lie together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    Certain,
    /// `LessEqual` says whether they do.
    Compared,
}

/// The lanes of the upper half of a vector of sixteen.
pub const UPPER_HALF: u32 = 0xff00;

/// Bytes from the first word of half the lanes to the last.
const ROW_REACH: u32 = 28;

impl Selector<'_> {
    /// Finds out whether the words of all lanes lie together: `LessEqual` says so where code compares. Nothing where
    /// they never do.
    pub(super) fn compare_addresses(
        &mut self,
        (address, is_memory): (Value, bool),
        place: Place,
        shape: Option<Shape>,
    ) -> Option<(Together, Certainty)> {
        if shape.is_none() && !self.coalescing.is_in_rows(address) {
            return None;
        }
        let number = self.here.bounded.number(address);
        let shift = number.map_or(0, Number::shift);
        let reach = shape.map_or(ROW_REACH, |shape| shape.reach);
        let limit = self.limit(place, reach, shift)?;
        let is_certain = number.is_some() || self.coalescing.is_certain(address);
        let key = Memo::First(address, is_memory, shape.map(|shape| shape.steps));
        let [first, second, last, _] = self.memoised_all(key, |this| {
            let leader = number.map_or(address, |number| number.value);
            let is_whole = number.is_some() || !is_memory || this.coalescing.is_aligned(address);
            let mut found = if is_certain && is_whole && this.here.leaders.has(leader) {
                let first = this.lane_word(leader, 0);
                let second = if shape.is_none() { this.lane_word(leader, 8) } else { first };
                [first, second, first, second]
            } else {
                let addresses = match number {
                    Some(number) => this.vector(number.value),
                    None => this.word_addresses(address, is_memory),
                };
                match shape {
                    None => this.first_in_rows(addresses, is_certain),
                    Some(shape) => [this.first_in_shape(addresses, shape, is_certain); 4],
                }
            };
            if let Some(number) = number.filter(|_| shape.is_some() && shift == 0) {
                found = [this.simd.general_imm(X::ImulImmediate64, found[0], number.factor); 4];
            }
            found
        });
        let rows = [first, second];
        // What is loaded behind the word of the last lane.
        let more = shape.map_or(0, |shape| shape.reach - shape.steps.of_lane(self.simd.lanes() - 1));
        let certainty = if is_certain && self.coalescing.is_inside(address, place, more) {
            Certainty::Certain
        } else {
            let last = match shape {
                None if is_certain => {
                    self.memoised(Memo::Last(address, is_memory), |this| this.simd.umax(first, second))
                }
                _ => last,
            };
            match limit {
                Limit::Known(limit) => self.simd.compare_imm(X::CmpImmediate64, last, limit),
                Limit::Register(limit) => self.simd.compare(X::Cmp64, last, limit),
            }
            Certainty::Compared
        };
        let data = self.resource_data(place.0);
        let [first, second] = rows.map(|first| Address::indexed(data, first, shift, place.1 as i32));
        let together = match shape {
            Some(_) => Together::Shape(first),
            None => Together::Rows([first, second]),
        };
        Some((together, certainty))
    }

    /// The last address from which so many bytes more can be read than a word, unless none is, shifted to the right.
    fn limit(&mut self, (resource, at): Place, reach: u32, shift: u8) -> Option<Limit> {
        let needed = i32::try_from(u64::from(at) + u64::from(reach) + 4).ok()? as u32;
        if let Some(last) = self.coalescing.last_shared((resource, at)) {
            return last.checked_sub(reach).map(|limit| Limit::Known(limit >> shift));
        }
        let bytes = self.resource_length(resource);
        let limit = self.memoised(Memo::Limit(resource, needed, shift), |this| {
            let limit = this.simd.address(Address::at(bytes, -(needed as i32)));
            if shift == 0 { limit } else { this.simd.general_imm(X::Sar64, limit, shift.into()) }
        });
        Some(Limit::Register(limit))
    }

    /// The address of lane 0 if the others have the shape's, as may be certain, else one that is out of every range.
    fn first_in_shape(&mut self, addresses: VReg, shape: Shape, is_certain: bool) -> VReg {
        if is_certain {
            return self.simd.first_word(addresses);
        }
        let mut expected = self.simd.op(X::Broadcastss, &[], addresses);
        if shape.steps != Steps([0; 4]) {
            let steps = self.simd.code.constant(Constant::Steps(shape.steps, 0, self.simd.lanes()));
            expected = self.simd.op(X::Paddd, &[expected], steps);
        }
        let (first, nowhere) = (self.simd.first_word(addresses), self.simd.literal(u32::MAX));
        self.compare_all(addresses, expected);
        self.simd.choose(Condition::Equal, first, nowhere)
    }

    /// The addresses of the first lanes of both halves, and, unless it is certain that the others have theirs in order
    /// behind those, the larger one if they do, else one that is out of every range.
    fn first_in_rows(&mut self, addresses: VReg, is_certain: bool) -> [VReg; 4] {
        let upper = self.simd.row(addresses, 2);
        let [first, second] = [addresses, upper].map(|row| self.simd.first_word(row));
        if is_certain {
            return [first, second, first, second];
        }
        let last = self.simd.umax(first, second);
        let [firsts, columns] = [[0, 0, 0, 8], [4, 8, 16, 0]].map(|steps| Constant::Steps(Steps(steps), 0, 16));
        let [firsts, columns] = [firsts, columns].map(|constant| self.simd.code.constant(constant));
        let firsts = self.simd.load(firsts);
        let expected = self.simd.op(X::Permps, &[firsts], addresses);
        let expected = self.simd.op(X::Paddd, &[expected], columns);
        let nowhere = self.simd.literal(u32::MAX);
        self.compare_all(addresses, expected);
        let last = self.simd.choose(Condition::Equal, last, nowhere);
        [first, second, last, last]
    }

    /// Compares two vectors: `Equal` says whether all lanes are.
    fn compare_all(&mut self, a: VReg, b: VReg) {
        if self.simd.has_masks() {
            let differs = self.simd.op_imm(X::PcmpdMask, &[a], b, integer::NOT_EQUAL);
            self.simd.test_mask(differs);
        } else {
            let equal = self.lanes_equal(a, b);
            self.compare_with_all(equal);
        }
    }

    /// `Equal` says whether a mask, a vector, holds in all lanes.
    fn compare_with_all(&mut self, mask: VReg) {
        let bits = self.simd.mask_bits(mask);
        self.simd.compare_imm(X::CmpImmediate, bits, (1 << self.simd.lanes()) - 1);
    }

    /// Each lane's word of a resource. Lanes that are outside get zero.
    pub(super) fn load_words(&mut self, inst: &InstData, resource: Resource, at: u32) -> VReg {
        let (address, is_memory) = (inst.args[0], inst.op != Op::ResourceLoad);
        let shape = self.coalescing.shape(address);
        // What loads of a block share is made in front of branches.
        let way = shape.map_or(Way::InOrder, |shape| self.way(shape));
        let Some((words, certainty)) = self.compare_addresses((address, is_memory), (resource, at), shape) else {
            return self.load_apart((address, is_memory), (resource, at), true);
        };
        if certainty == Certainty::Certain {
            return self.load_together(words, way);
        }
        let together = |this: &mut Self| this.load_together(words, way);
        self.likely(Condition::LessEqual, together, |this| this.load_apart((address, is_memory), (resource, at), false))
    }

    /// Words that are not in a shape. Loads behind this one have its window again if that is kept.
    pub(super) fn load_apart(&mut self, (address, is_memory): (Value, bool), place: Place, is_kept: bool) -> VReg {
        let (base, last) = self.window(place.0, place.1, is_kept);
        let addresses = self.word_addresses(address, is_memory);
        self.load_near(place, addresses, |this| this.gather_words(base, is_memory, last, addresses))
    }

    /// A vector that is made in one way where a condition holds of what was compared, and seldom in another.
    pub(super) fn likely(
        &mut self,
        condition: Condition,
        common: impl FnOnce(&mut Self) -> VReg,
        seldom: impl FnOnce(&mut Self) -> VReg,
    ) -> VReg {
        self.likely_words(condition, 1, |this| [common(this); 4], |this| [seldom(this); 4])[0]
    }

    /// Up to four vectors that are: those that are wanted, bit 0 for the first.
    pub(super) fn likely_words(
        &mut self,
        condition: Condition,
        wanted: u8,
        common: impl FnOnce(&mut Self) -> [VReg; 4],
        seldom: impl FnOnce(&mut Self) -> [VReg; 4],
    ) -> [VReg; 4] {
        let [then, join] = [(); 2].map(|()| self.simd.code.block());
        let otherwise = self.simd.code.cold_block();
        let made = wanted_words(wanted, |_| self.simd.code.param(join, Class::V));
        let of = |vectors: [VReg; 4]| {
            let all = (0..).zip(vectors).filter(|(word, _)| wanted >> word & 1 == 1);
            all.map(|(_, vector)| vector).collect::<Vec<_>>()
        };
        self.simd.code.branch_only(condition, then, otherwise);

        self.simd.code.switch_to(then);
        let vectors = common(self);
        self.simd.code.jump(join, &of(vectors));

        self.simd.code.switch_to(otherwise);
        let vectors = seldom(self);
        self.simd.code.jump(join, &of(vectors));

        self.simd.code.switch_to(join);
        made
    }

    /// How a shape is loaded. With registers of masks, of which there are enough others beside, what that takes stays
    /// in registers.
    fn way(&mut self, shape: Shape) -> Way {
        let (lanes, Steps(steps)) = (self.simd.lanes(), shape.steps);
        if steps == [0; 4] {
            return Way::Word;
        }
        if self.coalescing.is_in_order(shape) {
            return Way::InOrder;
        }
        if self.coalescing.is_two_words(shape.steps) {
            return Way::TwoWords { upper: self.some_lanes(UPPER_HALF), distance: steps[3] as i32 };
        }
        let make = |this: &mut Self| {
            let order = this.simd.code.constant(Constant::Steps(shape.steps, 2, lanes));
            this.simd.load(order)
        };
        if !self.simd.has_masks() {
            return Way::Shuffled { taken: None, order: make(self) };
        }
        if steps[..3] == IN_ORDER[..3] && steps[3] == 0 {
            return Way::Half;
        }
        let order = self.memoised(Memo::Order(shape.steps), make);
        Way::Shuffled { taken: Some(self.some_lanes((2 << (shape.reach / 4)) - 1)), order }
    }

    /// What lies together, all of it inside.
    fn load_together(&mut self, words: Together, way: Way) -> VReg {
        let address = match words {
            Together::Rows([first, second]) => {
                let low = self.simd.sized(X::Movups, Size::Y, &[], first.into(), 0);
                return self.simd.op_imm(X::InsertHalf, &[low], second, 1);
            }
            Together::Shape(address) => address,
        };
        match way {
            Way::Word => self.simd.load(address.in_all_lanes()),
            Way::InOrder => self.simd.load(address),
            Way::Half => self.simd.op(X::BroadcastHalf, &[], address),
            Way::TwoWords { upper, distance } => {
                let lower = self.simd.load(address.in_all_lanes());
                self.simd.blend(upper, address.plus(distance).in_all_lanes(), lower)
            }
            Way::Shuffled { taken, order } => {
                let words = match taken {
                    Some(taken) => self.simd.keep(taken, address.into()),
                    None => self.simd.load(address),
                };
                self.simd.op(X::Permps, &[order], words)
            }
        }
    }

    /// A mask of the lanes whose bits are set, made once.
    pub(super) fn some_lanes(&mut self, lanes: u32) -> VReg {
        self.memoised(Memo::Lanes(lanes), |this| this.simd.lanes_mask(lanes))
    }

    /// Stores a word of each lane where the mask holds, everywhere if there is none, where they lie in order or in two
    /// rows; `apart` stores them else.
    pub(super) fn store_words(
        &mut self,
        inst: &InstData,
        (resource, at): (Resource, u32),
        (value, mask): (VReg, Option<VReg>),
        apart: impl FnOnce(&mut Self),
    ) {
        let address = inst.args[0];
        let shape = self.coalescing.shape(address).filter(|&shape| self.coalescing.is_in_order(shape));
        let Some((words, certainty)) = self.compare_addresses((address, true), (resource, at), shape) else {
            return apart(self);
        };
        let is_asked = mask.filter(|_| !self.simd.has_masks());
        self.store_if_together(certainty, is_asked, |this| this.store_together(words, value, mask), apart);
    }

    /// Stores in one way where words lie together, unless it is certain as `LessEqual` says, and a mask, if there is
    /// one, holds everywhere, and in another way else.
    pub(super) fn store_if_together(
        &mut self,
        certainty: Certainty,
        mask: Option<VReg>,
        in_common: impl FnOnce(&mut Self),
        apart: impl FnOnce(&mut Self),
    ) {
        if certainty == Certainty::Certain && mask.is_none() {
            return in_common(self);
        }
        let [together, join] = [(); 2].map(|()| self.simd.code.block());
        let one_by_one = self.simd.code.cold_block();
        if let Some(mask) = mask {
            if certainty == Certainty::Compared {
                let inside = self.simd.code.block();
                self.simd.code.branch(Condition::LessEqual, (inside, &[]), (one_by_one, &[]));
                self.simd.code.switch_to(inside);
            }
            self.compare_with_all(mask);
            self.simd.code.branch(Condition::Equal, (together, &[]), (one_by_one, &[]));
        } else {
            self.simd.code.branch_only(Condition::LessEqual, together, one_by_one);
        }
        self.simd.code.switch_to(together);
        in_common(self);
        self.simd.code.jump(join, &[]);

        self.simd.code.switch_to(one_by_one);
        apart(self);
        self.simd.code.jump(join, &[]);
        self.simd.code.switch_to(join);
    }

    /// Stores what lies together, all of it inside. Without registers of masks the mask holds everywhere.
    fn store_together(&mut self, words: Together, value: VReg, mask: Option<VReg>) {
        let mask = mask.filter(|_| self.simd.has_masks());
        match words {
            Together::Rows([first, second]) => {
                let of_upper = mask.map(|mask| self.simd.row_op(X::Kshiftr, &[], mask, 8));
                self.store_where(mask, Size::Y, value, first);
                self.simd.code.inst(X::StoreHalf, Size::Z, &[value], Some(second), of_upper, 1);
            }
            Together::Shape(address) => self.store_where(mask, self.simd.size(), value, address),
        }
    }

    /// Stores the words of a vector, or of its lower lanes, where a mask in a register for masks holds if there is one.
    pub(super) fn store_where(&mut self, mask: Option<VReg>, size: Size, value: VReg, address: Address) {
        self.simd.code.inst(X::StoreVector, size, &[value], Some(address), mask, 0);
    }
}
