//! Scalarisation of addresses: where words lie by certain steps behind that of one lane, general registers compute
//! where that lane has its own. What vectors of addresses alone are made of is made only where words lie apart.
//!
//! Rows of uniform spaces lie apart for each lane, so all lanes' addresses are needed in general registers. Where their
//! numbers are in memory, they are read from there.

use super::Selector;
use super::code::{Address, Source};
use super::scalar::binary;
use super::table::Op as X;
use super::value::Memo;
use crate::jit::abi::offset;
use crate::jit::window::Window;
use foldhash::{HashMap, HashSet};
use regalloc2::VReg;
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::{Array, Block, Inst, Op, SysVal, Value};

/// The most instructions that compute a lane's word.
const MOST_OPS: u32 = 6;

/// The most instructions that compute a lane's row: all lanes need them.
const MOST_OPS_OF_ROWS: u32 = 1;

/// Instructions that compute the number of a lane's thread.
const OPS_OF_NUMBER: u32 = 2;

/// The values of a block that general registers have of single lanes.
#[derive(Default)]
pub struct Leaders {
    values: HashSet<Value>,
    /// What no vector has, but where words are apart.
    put_off: HashSet<Value>,
}

impl Leaders {
    pub fn has(&self, value: Value) -> bool {
        self.values.contains(&value)
    }

    pub fn is_put_off(&self, value: Value) -> bool {
        self.put_off.contains(&value)
    }
}

/// What a block makes, and to which slots and arrays it stores.
struct Made {
    values: HashSet<Value>,
    slots: HashSet<u32>,
    arrays: HashSet<Array>,
}

/// The array of an instruction.
fn array(inst: &InstData) -> Option<Array> {
    match inst.imm {
        Imm::Array { array, .. } => Some(array),
        _ => None,
    }
}

impl Selector<'_> {
    /// Finds those of a block, whose elements and bounded addresses have been found.
    pub(super) fn leaders(&self, block: Block) -> Leaders {
        let mut leaders = Leaders::default();
        if !self.coalescing.has_scattered_resources() && self.program.slots == 0 && self.func.arrays.is_empty() {
            return leaders;
        }
        let insts = &self.func.blocks[block].insts;
        let accesses: HashMap<Inst, Value> =
            insts.iter().filter_map(|&inst| Some((inst, self.leader(inst)?))).collect();
        if accesses.is_empty() {
            return leaders;
        }
        let stored = |inst: &InstData| match (inst.op, inst.imm) {
            (Op::SlotStore, Imm::Slot(slot)) => slot..slot + inst.ty.words(),
            _ => 0..0,
        };
        let is_stored = |inst: &&InstData| matches!(inst.op, Op::ArrayStore | Op::ArrayStoreMasked);
        let made = Made {
            values: self.func.insts_in(block).filter_map(|inst| inst.result).collect(),
            slots: self.func.insts_in(block).flat_map(stored).collect(),
            arrays: self.func.insts_in(block).filter(is_stored).filter_map(array).collect(),
        };
        let ops: HashMap<Value, u32> = accesses
            .iter()
            .filter_map(|(&inst, &value)| {
                let is_of_row = self.func.insts[inst].op == Op::UniformLoadAt;
                let most = if is_of_row { MOST_OPS_OF_ROWS } else { MOST_OPS };
                Some((value, self.lane_ops(value, &made, most)?))
            })
            .collect();
        // How many uses need no vector.
        let mut needless: HashMap<Value, u32> = HashMap::default();
        for inst in insts.iter().rev() {
            let data = &self.func.insts[*inst];
            let is_needless = |value: &Value| {
                let uses = self.program.uses[*value];
                needless.get(value) == Some(&(uses.guards + uses.others))
            };
            if let Some(value) = data.result.filter(is_needless)
                && !self.is_uniform(value)
                && self.lane_ops(value, &made, MOST_OPS).is_some()
            {
                leaders.put_off.insert(value);
            }
            let is_put_off = |value| leaders.is_put_off(value) || self.here.bounded.is_put_off(value);
            let is_of_lane = |leader: &&Value| **leader == data.args[0] && ops.contains_key(*leader);
            if data.result.is_some_and(is_put_off) {
                data.args.iter().for_each(|&arg| *needless.entry(arg).or_default() += 1);
            } else if let Some(&leader) = accesses.get(inst).filter(is_of_lane) {
                *needless.entry(leader).or_default() += 1;
            }
        }
        let is_quick = |&(value, ops): &(Value, u32)| ops == 0 || leaders.is_put_off(value);
        leaders.values = ops.into_iter().filter(is_quick).map(|(value, _)| value).collect();
        leaders
    }

    /// The value whose first lane says where an access has its words, if their steps are certain.
    fn leader(&self, inst: Inst) -> Option<Value> {
        let access = &self.func.insts[inst];
        let is_memory = match access.op {
            Op::UniformLoadAt => {
                let index = access.args[0];
                let Imm::Row { space, row, .. } = access.imm else { return None };
                let is_read = self.keeps_rows() && !self.is_uniform(index);
                return (is_read && !Window::of(self.func, space, row, Some(index)).is_checked).then_some(index);
            }
            Op::ResourceLoad => false,
            Op::MemoryLoad | Op::MemoryStoreMasked => true,
            _ => return None,
        };
        let address = access.args[0];
        let is_tried = self.here.elements.has(inst) || self.coalescing.may_lie_together(access);
        if self.is_uniform(address) || !is_tried {
            return None;
        }
        match self.here.bounded.number(address) {
            Some(number) => Some(number.value),
            None if is_memory && !self.coalescing.is_aligned(address) => None,
            None => self.coalescing.is_certain(address).then_some(address),
        }
    }

    /// How many instructions compute a lane's word of a value of slots, numbers of threads and what is uniform, if no
    /// more than so many.
    fn lane_ops(&self, value: Value, made: &Made, most: u32) -> Option<u32> {
        if self.is_uniform(value) {
            return Some(0);
        }
        let inst = self.func.def_inst(value).filter(|_| made.values.contains(&value))?;
        match (inst.op, inst.imm) {
            (Op::SlotLoad, Imm::Slot(slot)) => (!made.slots.contains(&slot)).then_some(0),
            (Op::ArrayLoad, Imm::Array { array, .. }) => {
                (self.is_uniform(inst.args[0]) && !made.arrays.contains(&array)).then_some(0)
            }
            (Op::Sysval, Imm::SysVal(SysVal::VertexId)) => (most >= OPS_OF_NUMBER).then_some(OPS_OF_NUMBER),
            (Op::Ishl | Op::Ushr, _) if self.literal(inst.args[1]).is_none() => None,
            (Op::Iadd | Op::Isub | Op::Imul | Op::And | Op::Or | Op::Ishl | Op::Ushr, _) => {
                let first = 1 + self.lane_ops(inst.args[0], made, most.checked_sub(1)?)?;
                let second = self.lane_ops(inst.args[1], made, most.checked_sub(first)?)?;
                Some(first + second)
            }
            _ => None,
        }
    }

    /// A lane's word of a value in a general register.
    pub(super) fn lane_word(&mut self, value: Value, lane: u8) -> VReg {
        match self.lane_source(value, lane) {
            Source::Register(word) => word,
            Source::Memory(address) => self.memoised(Memo::Lane(value, lane), |this| this.simd.load_word(address)),
        }
    }

    /// The same to be read where it is used.
    fn lane_source(&mut self, value: Value, lane: u8) -> Source {
        if self.is_uniform(value) {
            return self.scalar(value).into();
        }
        let inst = self.func.def_inst(value).expect("lanes' words are made by instructions");
        match (inst.op, inst.imm) {
            (Op::SlotLoad, Imm::Slot(slot)) => self.slot_address(slot).plus(4 * i32::from(lane)).into(),
            (Op::ArrayLoad, Imm::Array { array, component }) => {
                self.element(inst, array, component).plus(4 * i32::from(lane)).into()
            }
            (Op::Sysval, _) => {
                self.memoised(Memo::Lane(value, lane), |this| this.lane_number(inst.vector, lane)).into()
            }
            _ => self.memoised(Memo::Lane(value, lane), |this| this.lane_op(inst, lane)).into(),
        }
    }

    /// The number of a lane's thread.
    fn lane_number(&mut self, vector: u8, lane: u8) -> VReg {
        let behind = i32::from(vector * self.simd.lanes() + lane);
        let element = self.simd.address(Address::at(self.wave.element, behind));
        self.simd.general(X::Add, &[element], Address::at(self.args, offset::FIRST_VERTEX))
    }

    fn lane_op(&mut self, inst: &InstData, lane: u8) -> VReg {
        if let Some((op, value, literal)) = self.by_literal(inst) {
            let word = self.lane_word(value, lane);
            return self.simd.general_imm(op, word, literal);
        }
        let op = binary(inst.op).expect("shifts are by literals");
        let [mut first, mut second] = [inst.args[0], inst.args[1]];
        if inst.op != Op::Isub && matches!(self.lane_source(first, lane), Source::Memory(_)) {
            std::mem::swap(&mut first, &mut second);
        }
        let (first, second) = (self.lane_word(first, lane), self.lane_source(second, lane));
        self.simd.general(op, &[first], second)
    }

    /// A vector of what may have been put off, made anew: no other code may use what it makes.
    pub(super) fn late_vector(&mut self, value: Value) -> VReg {
        let source = self.late_source(value);
        self.simd.in_register(source)
    }

    fn late_source(&mut self, value: Value) -> Source {
        if let Some(bits) = self.literal(value) {
            return self.simd.word_source(bits);
        }
        if self.is_uniform(value) {
            let word = self.scalar(value);
            return self.simd.splat(word).into();
        }
        if !self.here.leaders.is_put_off(value) {
            return self.source(value);
        }
        let inst = self.func.def_inst(value).expect("only results are put off");
        let amount = inst.args.get(1).and_then(|&amount| self.literal(amount));
        match (inst.op, inst.imm, amount) {
            (Op::SlotLoad, Imm::Slot(slot), _) => self.slot_address(slot).into(),
            (Op::ArrayLoad, Imm::Array { array, component }, _) => self.element(inst, array, component).into(),
            (Op::Sysval, ..) => self.thread_numbers(inst.vector).into(),
            (op @ (Op::Ishl | Op::Ushr), _, Some(amount)) => {
                let vector = self.late_vector(inst.args[0]);
                self.shift(op, vector, amount & 31).into()
            }
            (op, ..) => {
                let made = self.vector_op(op, &mut |this, arg| this.late_source(inst.args[arg]));
                made.expect("vectors have the op").into()
            }
        }
    }
}
