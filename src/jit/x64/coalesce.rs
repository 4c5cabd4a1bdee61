//! Coalesced accesses: where the words of all lanes lie side by side, one access of memory has them all.
//!
//! The [steps](Steps) of an address say how they likely lie. Code sees whether they do, and goes word by word where
//! they do not. Of an address without steps it tries whether its words are in order, as threads like to have them.

use super::Selector;
use super::buffer::Window;
use super::code::Address;
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

/// How lanes' words lie behind that of lane 0, all within one vector.
#[derive(Clone, Copy)]
pub struct Shape {
    steps: Steps,
    /// Bytes from the first word to the last that an access takes.
    reach: u32,
}

impl Selector<'_> {
    /// How the words at an address likely lie, if one access can have them.
    fn shape(&self, address: Value) -> Option<Shape> {
        let lanes = self.simd.lanes();
        let steps = self.steps[address].map_or(IN_ORDER, |steps| steps.0);
        let steps = Steps(std::array::from_fn(|bit| if 1 << bit < lanes { steps[bit] } else { 0 }));
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

    /// Compares the address of lane 0 with the last one from which a shape is inside, and gives it. `LessEqual` holds
    /// then if all lanes have the shape's addresses and all of it is inside. Nothing where it never is.
    fn compare_first(
        &mut self,
        address: Value,
        (is_aligned, addresses): (bool, VReg),
        (resource, at): (Resource, u32),
        shape: Shape,
    ) -> Option<VReg> {
        let known = self.last_shared(resource, at).map(|last| last.checked_sub(shape.reach));
        if known == Some(None) {
            return None;
        }
        let last = self.window(resource, at).last;
        let first = self.memoised(Memo::First(address, is_aligned), |this| this.first_in_shape(addresses, shape));
        if let Some(limit) = known.flatten() {
            self.simd.compare_imm(X::CmpImmediate64, first, limit);
        } else {
            let key = Memo::LastInReach(resource, at, shape.reach);
            // Below zero where it never is.
            let limit = self.memoised(key, |this| this.simd.general_imm(X::SubImmediate64, last, shape.reach));
            self.simd.compare(X::Cmp64, first, limit);
        }
        Some(first)
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
        let (window, address) = (self.window(resource, at), inst.args[0]);
        let addresses = self.vector(address);
        let addresses = (inst.op != Op::ResourceLoad, self.word_aligned(inst, addresses));
        let shape = self.shape(address);
        let first = shape.and_then(|shape| self.compare_first(address, addresses, (resource, at), shape));
        let ((_, addresses), Some((shape, first))) = (addresses, shape.zip(first)) else {
            let last = self.memoised(Memo::LastInWindow(resource, at), |this| this.simd.splat(window.last));
            return self.gather_words(window, last, addresses.1);
        };
        let [together, join] = [(); 2].map(|()| self.simd.code.block());
        let apart = self.simd.code.cold_block();
        let loaded = self.simd.code.param(join, Class::V);
        self.simd.code.branch_only(Condition::LessEqual, together, apart);

        self.simd.code.switch_to(together);
        let words = self.load_shape(window, first, shape);
        self.simd.code.jump(join, &[words]);

        self.simd.code.switch_to(apart);
        let last = self.simd.splat(window.last);
        let words = self.gather_words(window, last, addresses);
        self.simd.code.jump(join, &[words]);

        self.simd.code.switch_to(join);
        loaded
    }

    /// What lies in a shape, all of which is inside.
    fn load_shape(&mut self, window: Window, first: VReg, shape: Shape) -> VReg {
        let address = Address::indexed(window.base, first, 0, 0);
        if shape.steps == Steps([0; 4]) {
            return self.simd.load(address.in_all_lanes());
        }
        if self.is_in_order(shape) {
            return self.simd.load(address);
        }
        let (lanes, size) = (self.simd.lanes(), self.simd.size());
        let mut words = None;
        if self.simd.has_masks() {
            let bits = self.simd.literal((2 << (shape.reach / 4)) - 1);
            let mask = self.simd.row_op(X::KmovIn, &[], bits, 0);
            words = self.simd.code.inst(X::Movups, size, &[], Some(address), Some(mask), 0);
        }
        let words = words.unwrap_or_else(|| self.simd.load(address));
        let order = self.simd.code.constant(Constant::Steps(shape.steps, 2, lanes));
        let order = self.simd.load(order);
        self.simd.op(X::Permps, &[order], words)
    }

    /// Stores a word of each lane where the mask holds, where they lie in order; `apart` stores them else.
    pub(super) fn store_words(
        &mut self,
        inst: &InstData,
        (resource, at): (Resource, u32),
        [addresses, value, mask]: [VReg; 3],
        apart: impl FnOnce(&mut Self),
    ) {
        let (window, address) = (self.window(resource, at), inst.args[0]);
        let shape = self.shape(address).filter(|&shape| self.is_in_order(shape));
        let first = shape.and_then(|shape| self.compare_first(address, (true, addresses), (resource, at), shape));
        let Some(first) = first else { return apart(self) };
        let [together, join] = [(); 2].map(|()| self.simd.code.block());
        let one_by_one = self.simd.code.cold_block();
        let address = Address::indexed(window.base, first, 0, 0);
        if self.simd.has_masks() {
            self.simd.code.branch_only(Condition::LessEqual, together, one_by_one);
            self.simd.code.switch_to(together);
            self.simd.code.inst(X::StoreVector, self.simd.size(), &[value], Some(address), Some(mask), 0);
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
}
