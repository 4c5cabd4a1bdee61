//! Coalesced accesses: one access of memory for the words of all lanes where they lie together, or one for each lane's
//! row, and code that sees whether they do where [that](crate::jit::coalesce) is only likely.

use super::value::Memo;
use super::{Emitter, fetch, result};
use crate::jit::abi::offset;
use crate::jit::coalesce::{ElementAccess, IN_ORDER, Loads, Place, Shape, Stores};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8X16, I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};
use cranelift_entity::packed_option::ReservedValue;
use shaderjit_ir::batch::Steps;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Inst, Value};

/// Where the words of all lanes lie together.
#[derive(Clone, Copy)]
struct Together {
    /// The address of lane 0's word, but for the offset of the place.
    first: clif::Value,
    /// Whether they do; none if that is certain.
    condition: Option<clif::Value>,
}

impl Emitter<'_, '_> {
    /// Finds out whether the words of all lanes lie together. None where they never do.
    fn compare_addresses(
        &mut self,
        (address, is_memory): (Value, bool),
        (resource, at): Place,
        shape: Shape,
    ) -> Option<Together> {
        let needed = i32::try_from(u64::from(at) + u64::from(shape.reach) + 4).ok()? as u32;
        let shared = match self.coalescing.last_shared((resource, at)) {
            Some(last) => Some(last.checked_sub(shape.reach)?),
            None => None,
        };
        let is_certain = self.coalescing.is_certain(address);
        let first = self.memoised(Memo::First(address, is_memory, shape.steps), |this| {
            let addresses = this.word_addresses(address, is_memory);
            let first = this.first_address(addresses, shape.steps, is_certain);
            this.simd.ins().uextend(I64, first)
        });
        let data = self.resource_data(resource);
        // What is loaded behind the word of the last lane.
        let more = shape.reach - shape.steps.of_lane(3);
        let is_inside = is_certain && self.coalescing.is_inside(address, (resource, at), more);
        let condition = (!is_inside).then(|| {
            let limit = match shared {
                Some(limit) => self.simd.ins().iconst(I64, i64::from(limit)),
                None => self.memoised(Memo::Limit(resource, needed), |this| {
                    let bytes = this.simd.load_word(this.resources, offset::resource(resource.as_u32()).1);
                    this.simd.ins().iadd_imm_s(bytes, -i64::from(needed))
                }),
            };
            self.simd.icmp(IntCC::SignedLessThanOrEqual, first, limit)
        });
        Some(Together { first: self.simd.ins().iadd(data, first), condition })
    }

    /// The address of lane 0 if the others have the steps behind it, as may be certain, else one that is out of every
    /// range.
    fn first_address(&mut self, addresses: clif::Value, steps: Steps, is_certain: bool) -> clif::Value {
        let first = self.simd.ins().extractlane(addresses, 0u8);
        if is_certain {
            return first;
        }
        let mut expected = self.simd.ins().splat(I32X4, first);
        if steps != Steps([0; 4]) {
            let steps = self.simd.words(I32X4, [0, 1, 2, 3].map(|lane| steps.of_lane(lane)));
            expected = self.simd.ins().iadd(expected, steps);
        }
        let differs = self.simd.icmp(IntCC::NotEqual, addresses, expected);
        let differs = self.simd.ins().vany_true(differs);
        let nowhere = self.simd.iconst(u32::MAX);
        self.simd.ins().select(differs, nowhere, first)
    }

    /// Each lane's word of a resource. Lanes that are outside get zero.
    pub(super) fn load_words(&mut self, address: (Value, bool), place: Place) -> clif::Value {
        let shape = self.coalescing.shape(address.0);
        let found = shape.and_then(|shape| Some((shape, self.compare_addresses(address, place, shape)?)));
        let Some((shape, together)) = found else { return self.load_apart(address, place) };
        let words = self.likely(
            together,
            1,
            |this, first| vec![this.load_together(first, place.1, shape.steps)],
            |this| vec![this.load_apart(address, place)],
        );
        words[0]
    }

    /// What lies together, all of it inside.
    fn load_together(&mut self, first: clif::Value, at: u32, steps: Steps) -> clif::Value {
        if steps == Steps([0; 4]) {
            let word = self.simd.load(I32, first, at as i32);
            return self.simd.ins().splat(I32X4, word);
        }
        if steps.0[..2] == IN_ORDER[..2] {
            return self.simd.load(I32X4, first, at as i32);
        }
        let words = self.simd.load(I8X16, first, at as i32);
        self.simd.shuffle_words(words, words, [0, 1, 2, 3].map(|lane| (steps.of_lane(lane) / 4) as u8))
    }

    /// So many vectors that are made in one way where words lie together, and seldom in another.
    fn likely(
        &mut self,
        Together { first, condition }: Together,
        count: usize,
        common: impl FnOnce(&mut Self, clif::Value) -> Vec<clif::Value>,
        seldom: impl FnOnce(&mut Self) -> Vec<clif::Value>,
    ) -> Vec<clif::Value> {
        let Some(condition) = condition else { return common(self, first) };
        let [then, otherwise, join] = [(); 3].map(|()| self.simd.builder.create_block());
        self.simd.builder.set_cold_block(otherwise);
        let made = (0..count).map(|_| self.simd.builder.append_block_param(join, I32X4)).collect();
        self.simd.ins().brif(condition, then, &[], otherwise, &[]);
        // What the one makes, the other does not have.
        self.here.is_aside = true;
        self.simd.builder.switch_to_block(then);
        let vectors = common(self, first);
        self.join(join, &vectors);
        self.simd.builder.switch_to_block(otherwise);
        let vectors = seldom(self);
        self.join(join, &vectors);
        self.here.is_aside = false;
        self.simd.builder.switch_to_block(join);
        made
    }

    fn join(&mut self, join: clif::Block, vectors: &[clif::Value]) {
        let args: Vec<BlockArg> = vectors.iter().map(|&vector| self.simd.cast(I32X4, vector).into()).collect();
        self.simd.ins().jump(join, &args);
    }

    /// Stores a word of each lane where the mask holds.
    pub(super) fn store_words(&mut self, inst: &InstData, place: Place) {
        let [address, value, mask] = [0, 1, 2].map(|arg| inst.args[arg]);
        let value = self.vector(value);
        let shape = self.coalescing.shape(address).filter(|&shape| self.coalescing.is_in_order(shape));
        let together = shape.and_then(|shape| self.compare_addresses((address, true), place, shape));
        self.store_if_together(
            together,
            mask,
            |this, first| this.simd.store(value, first, place.1 as i32),
            |this, mask| this.store_apart(address, place, value, mask),
        );
    }

    /// Stores in one way where words lie together and a mask holds everywhere, and in another way else.
    fn store_if_together(
        &mut self,
        together: Option<Together>,
        mask: Value,
        in_common: impl FnOnce(&mut Self, clif::Value),
        apart: impl FnOnce(&mut Self, clif::Value),
    ) {
        let holds = self.func.constant(mask).is_some_and(|bits| bits != 0);
        let mask = self.vector(mask);
        let Some(Together { first, mut condition }) = together else { return apart(self, mask) };
        if !holds {
            let everywhere = self.simd.ins().vall_true(mask);
            condition = Some(match condition {
                Some(condition) => self.simd.ins().band(condition, everywhere),
                None => everywhere,
            });
        }
        let store = |this: &mut Self, first| {
            in_common(this, first);
            Vec::new()
        };
        let apart = |this: &mut Self| {
            apart(this, mask);
            Vec::new()
        };
        self.likely(Together { first, condition }, 0, store, apart);
    }

    // ---- elements

    /// Emits an access to elements; false if it is none.
    pub(super) fn element_access(&mut self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        let Some(access) = self.here.elements.access(inst, data.imm) else { return false };
        self.set_origin(data.origin);
        match access {
            ElementAccess::Load { number, loads, word } => {
                let words = self.memoised_all(Memo::Elements(number), |this| this.load_elements(&loads));
                self.define_vector(result(data), words[word]);
            }
            ElementAccess::Store(stores) => self.store_elements(&stores),
            ElementAccess::Put => {}
        }
        true
    }

    /// The words of all lanes, in order of a row, those that are wanted.
    fn load_elements(&mut self, loads: &Loads) -> [clif::Value; 4] {
        let &Loads { address, lie, is_memory, resource, at, wanted } = loads;
        let (skipped, bytes) = loads.part();
        let at = at + 4 * skipped;
        let numbers: Vec<u32> = (0..4).filter(|word| wanted >> skipped >> word & 1 == 1).collect();
        let apart = |this: &mut Self| {
            numbers.iter().map(|word| this.load_apart((address, is_memory), (resource, at + 4 * word))).collect()
        };
        let shape = self.coalescing.shape_of_elements(address, lie, bytes);
        let found: Vec<clif::Value> = match self.compare_addresses((address, is_memory), (resource, at), shape) {
            None => apart(self),
            Some(together) => {
                let fetch = |this: &mut Self, first| {
                    let rows = this.element_rows(first, shape.steps, at);
                    let words = fetch::fetch(&mut this.simd, bytes as usize, rows);
                    numbers.iter().map(|&word| words[word as usize]).collect()
                };
                self.likely(together, numbers.len(), fetch, apart)
            }
        };
        let mut words = [clif::Value::reserved_value(); 4];
        for (number, word) in numbers.iter().zip(found) {
            words[(skipped + number) as usize] = word;
        }
        words
    }

    /// The addresses of all lanes' rows.
    fn element_rows(&mut self, first: clif::Value, steps: Steps, at: u32) -> [clif::Value; 4] {
        [0, 1, 2, 3].map(|lane| self.simd.ins().iadd_imm_s(first, i64::from(steps.of_lane(lane)) + i64::from(at)))
    }

    /// Stores words side by side.
    fn store_elements(&mut self, stores: &Stores) {
        let &Stores { resource, at, .. } = stores;
        let insts = stores.insts.iter().map(|&inst| &self.func.insts[inst]);
        let [address, _, mask] = [0, 1, 2].map(|arg| self.func.insts[stores.insts[0]].args[arg]);
        let words: Vec<Value> = insts.map(|inst| inst.args[1]).collect();
        let words: Vec<clif::Value> = words.into_iter().map(|word| self.vector(word)).collect();
        let shape = self.coalescing.shape_of_elements(address, stores.lie(), 4 * words.len() as u32);
        let together = self.compare_addresses((address, true), (resource, at), shape);
        self.store_if_together(
            together,
            mask,
            |this, first| {
                let rows = this.element_rows(first, shape.steps, at);
                fetch::store(&mut this.simd, &words, rows);
            },
            |this, mask| {
                for (at, &word) in (at..).step_by(4).zip(&words) {
                    this.store_apart(address, (resource, at), word, mask);
                }
            },
        );
    }
}
