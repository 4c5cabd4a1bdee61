//! Slots: those of the call, and what a wave keeps in its record, or, if the function is not cut, in the frame. What
//! has one user is read where it is used, as an operand in memory.

use super::arithmetic::takes_memory;
use super::code::Address;
use super::encode::Size;
use super::table::Op as X;
use super::{Selector, result};
use foldhash::HashSet;
use regalloc2::VReg;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Block, Inst, Op, Type, Value};

/// As many instructions behind a load it may be used as an operand in memory.
const NEAR: usize = 8;

/// As many machine instructions behind its last use a loaded slot of the call is used again: a register that it would
/// take for longer is worth more than a load.
const RECENT: usize = 12;

/// A slot of the call that has been loaded.
pub struct LoadedSlot {
    slot: u32,
    splat: VReg,
    /// In front of which machine instruction it was last.
    used: usize,
}

impl Selector<'_> {
    /// The loads of slots in a block that are operands of their users: each has one user, which comes soon and takes
    /// operands in memory, and nothing is stored to a slot in between.
    pub(super) fn near_loads(&self, block: Block) -> HashSet<Value> {
        let (program, insts) = (self.program, &self.func.blocks[block].insts);
        let mut near = HashSet::default();
        if program.slots == 0 {
            return near;
        }
        for (at, &inst) in insts.iter().enumerate() {
            let load = &self.func.insts[inst];
            let is_word = load.op == Op::SlotLoad && matches!(load.ty, Type::F32 | Type::I32);
            let Some(value) = load.result.filter(|_| is_word) else { continue };
            let Some(user) = program.uses[value].only().filter(|_| !self.is_uniform(value)) else { continue };
            let is_end = |&inst: &Inst| inst == user || self.func.insts[inst].op == Op::SlotStore;
            let end = insts[at + 1..].iter().copied().take(NEAR).find(is_end);
            let InstData { op, result, .. } = self.func.insts[user];
            let is_put_off = result.is_some_and(|result| self.here.patterns.is_covered(result));
            if end == Some(user) && takes_memory(op) && !is_put_off {
                near.insert(value);
            }
        }
        near
    }

    /// Loads or stores a slot of the wave: a vector for each word of a value.
    pub(super) fn slot(&mut self, inst: &InstData, slot: u32) {
        let (size, first) = (self.simd.size().bytes(), self.slot_address(slot));
        if inst.op == Op::SlotLoad {
            if self.here.near_loads.contains(&result(inst)) {
                self.slots[result(inst)] = Some(first);
                return;
            }
            if inst.ty == Type::I1 {
                let mask = self.simd.vector_to_mask(first);
                return self.define_vector(result(inst), mask);
            }
            let (mut words, count) = ([VReg::invalid(); 4], inst.ty.words() as usize);
            for (number, word) in (0..).zip(&mut words[..count]) {
                *word = self.simd.load(first.plus(size * number));
            }
            return self.define(result(inst), &words[..count]);
        }
        let value = inst.args[0];
        match self.func.ty(value) {
            Type::F64 | Type::Row => {
                for (number, vector) in (0..).zip(self.words(value, false)) {
                    self.simd.store(vector, first.plus(size * number));
                }
            }
            ty => {
                let lanes = self.lanes(value);
                let vector = if ty == Type::I1 { self.simd.mask_to_vector(lanes) } else { lanes };
                self.simd.store(vector, first);
            }
        }
    }

    /// Where a slot of the wave is.
    pub(super) fn slot_address(&self, slot: u32) -> Address {
        let at = self.simd.size().bytes() * slot as i32;
        match self.wave.record {
            Some(record) => Address::at(record, at),
            None => Address::at(self.frame, self.places.frame.kept.start as i32 + at),
        }
    }

    /// Loads or stores a slot of the call.
    pub(super) fn call_slot(&mut self, inst: &InstData, slot: u32) {
        let address = self.call_row(slot);
        match (inst.op, inst.ty) {
            (Op::CallLoad, Type::Row) => {
                let row = self.simd.load_row(address);
                self.values[result(inst)].0[0] = row;
            }
            (Op::CallLoad, _) if self.simd.has_masks() && self.dies(result(inst)) => {
                self.slots[result(inst)] = Some(address.in_all_lanes());
            }
            (Op::CallLoad, _) => {
                let splat = self.pins.slot(slot).unwrap_or_else(|| self.call_splat(slot, address));
                self.define_vector(result(inst), splat);
            }
            (_, Type::Row) => {
                let func = self.func;
                let join = func.def_inst(inst.args[0]).expect("rows of the call are made of words");
                for (word, &value) in (0..).zip(join.args.iter()) {
                    let scalar = self.scalar(value);
                    self.simd.store_word(scalar, address.plus(word * 4));
                }
            }
            _ => {
                let splat = self.vector(inst.args[0]);
                self.simd.effect(X::StoreVector, Size::X, &[splat], Some(address), 0);
            }
        }
    }

    /// A word of the call in all lanes: as it has just been loaded, or loaded.
    fn call_splat(&mut self, slot: u32, address: Address) -> VReg {
        let now = self.simd.code.insts.len();
        let loaded = &mut self.here.call_slots;
        loaded.retain(|loaded| now - loaded.used <= RECENT);
        if let Some(loaded) = loaded.iter_mut().find(|loaded| loaded.slot == slot) {
            loaded.used = now;
            return loaded.splat;
        }
        let splat = self.simd.load(address.in_all_lanes());
        self.here.call_slots.push(LoadedSlot { slot, splat, used: now });
        splat
    }

    /// Where a slot of the call is.
    pub(super) fn call_row(&self, slot: u32) -> Address {
        Address::at(self.frame, slot as i32 * 16)
    }

    /// The address of what the back end has for itself.
    pub(super) fn own(&self, offset: i32) -> Address {
        Address::at(self.frame, self.places.frame.own.start as i32 + offset)
    }
}
