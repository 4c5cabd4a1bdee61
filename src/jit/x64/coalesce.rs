//! Coalesced accesses: where the words of all lanes lie side by side, one access of memory has them all.
//!
//! The [steps](Steps) of an address say how they likely lie. Code sees whether they do, and gathers or scatters where
//! they do not. Of an address without steps it tries whether its words are in order, as threads like to have them.

use super::Selector;
use super::buffer::Window;
use super::code::{Address, Source};
use super::constants::Constant;
use super::encode::Condition;
use super::simd::integer;
use super::table::{Class, Op as X};
use super::value::Memo;
use regalloc2::VReg;
use shaderjit_ir::batch::Steps;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Resource, Value};

/// Words side by side.
const IN_ORDER: [u32; 4] = [4, 8, 16, 32];

/// How lanes' words lie behind that of lane 0.
#[derive(Clone, Copy)]
pub struct Shape {
    steps: Steps,
    /// Bytes from the first word to the last that an access takes.
    reach: u32,
}

/// How the words of a shape are loaded that are neither in order nor one word.
#[derive(Clone, Copy)]
struct Shuffle {
    /// The lanes that a shape takes of memory, if not all are loaded.
    taken: Option<VReg>,
    /// Which of them each lane gets.
    order: VReg,
}

/// A resource at a fixed offset.
#[derive(Clone, Copy)]
struct Place {
    base: VReg,
    displacement: i32,
    last: Last,
}

/// The largest address for which four bytes can be read there.
#[derive(Clone, Copy)]
enum Last {
    /// As a call has checked.
    Known(u32),
    Register(VReg),
}

/// The largest distance of two rows that is known to be worth two accesses.
const MAX_ROW: u32 = 1 << 16;

impl Selector<'_> {
    fn steps_in_vector(&self, address: Value) -> Steps {
        let steps = self.steps[address].map_or(IN_ORDER, |steps| steps.0);
        Steps(std::array::from_fn(|bit| if 1 << bit < self.simd.lanes() { steps[bit] } else { 0 }))
    }

    /// How the words at an address likely lie, if one access can have them.
    fn shape(&self, address: Value) -> Option<Shape> {
        let (lanes, steps) = (self.simd.lanes(), self.steps_in_vector(address));
        let bytes = 4 * u32::from(lanes);
        let is_small = steps.0.iter().all(|&step| step < bytes && step % 4 == 0);
        let reach = steps.0.iter().copied().fold(0, u32::saturating_add);
        // Without registers of masks, part of a vector cannot be loaded.
        let takes_all = !self.simd.has_masks() && reach > 0;
        let fits = is_small && reach < bytes;
        fits.then_some(Shape { steps, reach: if takes_all { bytes - 4 } else { reach } })
    }

    fn is_in_order(&self, shape: Shape) -> bool {
        (0..self.simd.lanes()).all(|lane| shape.steps.of_lane(lane) == 4 * u32::from(lane))
    }

    /// How the words at an address likely lie, if the lower and the upper half of the lanes each have theirs in order.
    fn two_rows(&self, address: Value) -> Option<Shape> {
        let steps = self.steps_in_vector(address);
        let [_, _, row, next] = steps.0;
        let are_rows = self.simd.has_masks() && steps.0[..3] == IN_ORDER[..3] && next % 4 == 0 && next < MAX_ROW;
        (are_rows && self.simd.lanes() == 16).then_some(Shape { steps, reach: row + 12 + next })
    }

    fn place(&mut self, resource: Resource, at: u32) -> Place {
        if let Some(last) = self.last_shared(resource, at) {
            let base = self.resource_data(resource);
            return Place { base, displacement: at as i32, last: Last::Known(last) };
        }
        let Window { base, last } = self.window(resource, at);
        Place { base, displacement: 0, last: Last::Register(last) }
    }

    /// Where words begin that are loaded one by one, and the last operand that is in range, in all lanes.
    fn window_of(&mut self, place: Place) -> (Address, Source) {
        let last = match place.last {
            Last::Known(last) => self.simd.word_source(last),
            Last::Register(last) => self.simd.splat(last).into(),
        };
        (Address::at(place.base, place.displacement), last)
    }

    /// Compares the address of lane 0 with the last one from which a shape is inside, and gives it with the place.
    /// `LessEqual` holds then if all lanes have the shape's addresses and all of it is inside. Nothing where it never
    /// is.
    fn compare_first(
        &mut self,
        (address, is_memory): (Value, bool),
        (resource, at): (Resource, u32),
        shape: Option<Shape>,
    ) -> Option<(Place, Shape, VReg)> {
        let (shape, place) = (shape?, self.place(resource, at));
        if let Last::Known(last) = place.last
            && last < shape.reach
        {
            return None;
        }
        let first = self.memoised(Memo::First(address, is_memory, shape.steps), |this| {
            let addresses = this.vector(address);
            let addresses = this.word_aligned(is_memory, addresses);
            this.first_in_shape(addresses, shape)
        });
        match place.last {
            Last::Known(last) => self.simd.compare_imm(X::CmpImmediate64, first, last - shape.reach),
            Last::Register(last) => {
                let key = Memo::LastInReach(resource, at, shape.reach);
                // Below zero where it never is.
                let limit = self.memoised(key, |this| this.simd.general_imm(X::SubImmediate64, last, shape.reach));
                self.simd.compare(X::Cmp64, first, limit);
            }
        }
        Some((place, shape, first))
    }

    /// The address of lane 0 if the others have the shape's, else one that is out of every range.
    fn first_in_shape(&mut self, addresses: VReg, shape: Shape) -> VReg {
        let lanes = self.simd.lanes();
        let mut expected = self.simd.op(X::Broadcastss, &[], addresses);
        if shape.steps != Steps([0; 4]) {
            let steps = self.simd.code.constant(Constant::Steps(shape.steps, 0, lanes));
            expected = self.simd.op(X::Paddd, &[expected], steps);
        }
        let (first, nowhere) = (self.simd.first_word(addresses), self.simd.literal(u32::MAX));
        if self.simd.has_masks() {
            let differs = self.simd.op_imm(X::PcmpdMask, &[addresses], expected, integer::NOT_EQUAL);
            self.simd.test_mask(differs);
        } else {
            let equal = self.lanes_equal(addresses, expected);
            self.compare_with_all(equal);
        }
        self.simd.choose(Condition::Equal, first, nowhere)
    }

    /// `Equal` says whether a mask, a vector, holds in all lanes.
    fn compare_with_all(&mut self, mask: VReg) {
        let bits = self.simd.mask_bits(mask);
        self.simd.compare_imm(X::CmpImmediate, bits, (1 << self.simd.lanes()) - 1);
    }

    /// Each lane's word of a resource. Lanes that are outside get zero.
    pub(super) fn load_words(&mut self, inst: &InstData, resource: Resource, at: u32) -> VReg {
        let (address, is_memory) = (inst.args[0], inst.op != Op::ResourceLoad);
        let shape = self.shape(address);
        // What loads of a block share is made in front of branches.
        let shuffle = shape.and_then(|shape| self.shuffle(shape));
        let Some((place, shape, first)) = self.compare_first((address, is_memory), (resource, at), shape) else {
            let window = self.window(resource, at);
            let last = self.memoised(Memo::LastInWindow(resource, at), |this| this.simd.splat(window.last));
            let addresses = self.vector(address);
            let addresses = self.word_aligned(is_memory, addresses);
            return self.gather_words(Address::at(window.base, 0), is_memory, last.into(), addresses);
        };
        let [together, join] = [(); 2].map(|()| self.simd.code.block());
        let apart = self.simd.code.cold_block();
        let loaded = self.simd.code.param(join, Class::V);
        let addresses = self.vector(address);
        self.simd.code.branch_only(Condition::LessEqual, together, apart);

        self.simd.code.switch_to(together);
        let words = self.load_shape(Address::indexed(place.base, first, 0, place.displacement), shape, shuffle);
        self.simd.code.jump(join, &[words]);

        self.simd.code.switch_to(apart);
        let addresses = self.word_aligned(is_memory, addresses);
        let (base, last) = self.window_of(place);
        let words = self.gather_words(base, is_memory, last, addresses);
        self.simd.code.jump(join, &[words]);

        self.simd.code.switch_to(join);
        loaded
    }

    /// How a shape is loaded, unless it is one word or in order. With registers of masks, of which there are enough
    /// others beside, that stays in registers.
    fn shuffle(&mut self, shape: Shape) -> Option<Shuffle> {
        if shape.steps == Steps([0; 4]) || self.is_in_order(shape) {
            return None;
        }
        let lanes = self.simd.lanes();
        let make = |this: &mut Self| {
            let order = this.simd.code.constant(Constant::Steps(shape.steps, 2, lanes));
            this.simd.load(order)
        };
        if !self.simd.has_masks() {
            return Some(Shuffle { taken: None, order: make(self) });
        }
        let order = self.memoised(Memo::Order(shape.steps), make);
        Some(Shuffle { taken: Some(self.some_lanes((2 << (shape.reach / 4)) - 1)), order })
    }

    /// What lies in a shape, all of which is inside.
    fn load_shape(&mut self, address: Address, shape: Shape, shuffle: Option<Shuffle>) -> VReg {
        let Some(Shuffle { taken, order }) = shuffle else {
            let is_one = shape.steps == Steps([0; 4]);
            return self.simd.load(if is_one { address.in_all_lanes() } else { address });
        };
        let words = match taken {
            Some(taken) => self.simd.keep(taken, address.into()),
            None => self.simd.load(address),
        };
        self.simd.op(X::Permps, &[order], words)
    }

    /// A mask, in a register for masks, of the lanes whose bits are set.
    fn some_lanes(&mut self, lanes: u32) -> VReg {
        self.memoised(Memo::Lanes(lanes), |this| {
            let bits = this.simd.literal(lanes);
            this.simd.row_op(X::KmovIn, &[], bits, 0)
        })
    }

    /// Stores a word of each lane where the mask holds, where they lie in order or in two rows; `apart` stores them
    /// else.
    pub(super) fn store_words(
        &mut self,
        inst: &InstData,
        (resource, at): (Resource, u32),
        [value, mask]: [VReg; 2],
        apart: impl FnOnce(&mut Self),
    ) {
        let address = inst.args[0];
        let shape = self.shape(address).filter(|&shape| self.is_in_order(shape)).or_else(|| self.two_rows(address));
        let halves = shape.filter(|&shape| self.simd.has_masks() && !self.is_in_order(shape)).map(|_| {
            [0xff, 0xff00].map(|lanes| {
                let lanes = self.some_lanes(lanes);
                self.simd.row_op(X::Kand, &[lanes], mask, 0)
            })
        });
        let Some((place, shape, first)) = self.compare_first((address, true), (resource, at), shape) else {
            return apart(self);
        };
        let [together, join] = [(); 2].map(|()| self.simd.code.block());
        let one_by_one = self.simd.code.cold_block();
        let address = Address::indexed(place.base, first, 0, place.displacement);
        if self.simd.has_masks() {
            self.simd.code.branch_only(Condition::LessEqual, together, one_by_one);
            self.simd.code.switch_to(together);
            match halves {
                None => self.store_some(value, address, mask),
                Some([first, second]) => {
                    self.store_some(value, address, first);
                    // From where the vector would begin.
                    self.store_some(value, address.plus(shape.steps.0[3] as i32 - 32), second);
                }
            }
        } else {
            let inside = self.simd.code.block();
            self.simd.code.branch(Condition::LessEqual, (inside, &[]), (one_by_one, &[]));
            self.simd.code.switch_to(inside);
            self.compare_with_all(mask);
            self.simd.code.branch(Condition::Equal, (together, &[]), (one_by_one, &[]));
            self.simd.code.switch_to(together);
            self.simd.store(value, address);
        }
        self.simd.code.jump(join, &[]);

        self.simd.code.switch_to(one_by_one);
        apart(self);
        self.simd.code.jump(join, &[]);
        self.simd.code.switch_to(join);
    }

    fn store_some(&mut self, value: VReg, address: Address, mask: VReg) {
        self.simd.code.inst(X::StoreVector, self.simd.size(), &[value], Some(address), Some(mask), 0);
    }
}
