//! Interleaving, as unroll and jam: where a wave has several vectors of lanes, what its lanes do is written once for
//! each.
//!
//! One vector goes ahead for a few instructions before the others follow. Instruction by instruction, they would hold
//! as many times more in registers; vector behind vector, the processor would wait for each.

use super::call::REACH;
use super::{run_length, words_behind};
use crate::function::{Imm, InstData};
use crate::op::Effect;
use crate::set::EntitySet;
use crate::{Block, Function, Inst, Op, Type, Value};
use cranelift_entity::SecondaryMap;

/// How many instructions one vector is ahead at most, loads of the call not counted. Fewer hold more in registers, more
/// overlap less in the processor.
const AHEAD: usize = 8;

/// Writes a function for so many vectors of lanes, of which the [uniform](crate::uniform) values are known.
pub fn interleave(func: &mut Function, order: &[Block], uniform: &EntitySet<Value>, vectors: u8) {
    let copies = vec![SecondaryMap::with_capacity(func.values.len()); usize::from(vectors) - 1];
    let (params, insts, behind) = (SecondaryMap::new(), Vec::new(), Vec::new());
    let mut interleaver = Interleaver { func, uniform, copies, params, insts, behind, ahead: 0 };
    order.iter().for_each(|&block| interleaver.params(block));
    order.iter().for_each(|&block| interleaver.block(block));
    order.iter().for_each(|&block| interleaver.edges(block));
}

struct Interleaver<'a> {
    func: &'a mut Function,
    uniform: &'a EntitySet<Value>,
    /// What stands for a value that differs among lanes, for each vector but the first.
    copies: Vec<SecondaryMap<Value, Option<Value>>>,
    /// The parameters that each block had.
    params: SecondaryMap<Block, Vec<Value>>,
    /// What the block at hand has so far.
    insts: Vec<Inst>,
    /// What the first vector has of it, and where; the others have yet to get that.
    behind: Vec<(usize, Inst)>,
    /// How many of those count.
    ahead: usize,
}

impl Interleaver<'_> {
    fn differs(&self, value: Value) -> bool {
        !self.uniform.contains(value)
    }

    /// What stands for a value in a vector.
    fn of_vector(&self, value: Value, vector: u8) -> Value {
        let copies = usize::from(vector).checked_sub(1).map(|number| &self.copies[number]);
        copies.and_then(|copies| copies[value]).unwrap_or(value)
    }

    fn vectors(&self) -> u8 {
        self.copies.len() as u8 + 1
    }

    fn params(&mut self, block: Block) {
        let params = std::mem::take(&mut self.func.blocks[block].params);
        for &param in &params {
            self.func.blocks[block].params.push(param);
            if self.differs(param) {
                let ty = self.func.ty(param);
                self.copies.iter_mut().for_each(|copies| copies[param] = Some(self.func.add_param(block, ty)));
            }
        }
        self.params[block] = params;
    }

    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.func.blocks[block].insts);
        self.insts.reserve(insts.len() * usize::from(self.vectors()));
        let mut rest = &insts[..];
        while let Some((&inst, behind)) = rest.split_first() {
            let run = run_length(self.func, rest);
            if run > 0 {
                self.catch_up();
                let (run, behind) = rest.split_at(run + words_behind(self.func, &rest[run..]));
                self.each_vector(run);
                rest = behind;
            } else {
                self.inst(inst);
                rest = behind;
            }
        }
        self.catch_up();
        self.func.blocks[block].insts = std::mem::take(&mut self.insts);
    }

    fn inst(&mut self, inst: Inst) {
        let InstData { op, ty, args, imm, result, .. } = self.func.insts[inst];
        let is_word = |value: Value| !matches!(self.func.ty(value), Type::F64 | Type::Row);
        let (is_for_all, goes_ahead) = match op {
            Op::SlotStore | Op::SlotLoad => (false, ty != Type::F64),
            Op::CallLoad => (ty == Type::Row, ty != Type::Row),
            Op::GuardOrdered => (!self.differs(args[0]), true),
            Op::Output | Op::ArrayStore | Op::ArrayStoreMasked => (false, false),
            // One vector after the other: by lane.
            op if op.writes_buffers() => (false, false),
            _ => {
                let is_pure = imm == Imm::None && op.effect() == Effect::Pure && args.iter().all(|&arg| is_word(arg));
                (result.is_none_or(|result| !self.differs(result)), is_pure && result.is_some_and(is_word))
            }
        };
        if let Imm::Slot(slot) = imm
            && matches!(op, Op::SlotStore | Op::SlotLoad)
        {
            self.func.insts[inst].imm = Imm::Slot(slot * u32::from(self.vectors()));
        }
        if goes_ahead && !is_for_all {
            self.behind.push((self.insts.len(), inst));
            self.insts.push(inst);
            self.ahead += usize::from(op != Op::CallLoad);
            if self.ahead >= AHEAD {
                self.catch_up();
            }
            return;
        }
        if args.iter().any(|&arg| self.differs(arg)) {
            self.catch_up();
        }
        if !is_for_all {
            return self.each_vector(&[inst]);
        }
        // What asks about all lanes asks about the lanes of all vectors.
        for (number, &arg) in args.iter().enumerate() {
            let mut any = arg;
            for vector in 1..if self.differs(arg) { self.vectors() } else { 1 } {
                let join = self.func.make_inst(Op::Or, Type::I1, &[any, self.of_vector(arg, vector)], Imm::None);
                self.insts.push(join);
                any = self.func.insts[join].result.expect("the op has a result");
            }
            self.func.insts[inst].args[number] = any;
        }
        self.insts.push(inst);
    }

    /// Writes instructions for the first vector, then for each other one.
    fn each_vector(&mut self, insts: &[Inst]) {
        self.insts.extend(insts);
        (1..self.vectors()).for_each(|vector| insts.iter().for_each(|&inst| self.copy(inst, vector)));
    }

    /// Writes what the vectors behind have yet to get; what is the call's they load again if they are far.
    fn catch_up(&mut self) {
        let behind = std::mem::take(&mut self.behind);
        self.ahead = 0;
        for vector in 1..self.vectors() {
            for &(at, inst) in &behind {
                let is_near = || self.insts.len() - at < REACH * usize::from(self.vectors());
                if self.func.insts[inst].op != Op::CallLoad || !is_near() {
                    self.copy(inst, vector);
                }
            }
        }
    }

    /// Writes an instruction for a vector.
    fn copy(&mut self, inst: Inst, vector: u8) {
        let InstData { op, ty, args, mut imm, result, origin, .. } = self.func.insts[inst];
        if let (Imm::Slot(slot), Op::SlotStore | Op::SlotLoad) = (&mut imm, op) {
            *slot += u32::from(vector) * ty.words();
        }
        let args: Vec<Value> = args.iter().map(|&arg| self.of_vector(arg, vector)).collect();
        self.func.origin = origin;
        let copy = self.func.make_inst(op, ty, &args, imm);
        self.func.insts[copy].vector = vector;
        if let Some(result) = result {
            self.copies[usize::from(vector) - 1][result] = self.func.insts[copy].result;
        }
        self.insts.push(copy);
    }

    fn edges(&mut self, block: Block) {
        let mut terminator = self.func.blocks[block].terminator.take();
        for call in terminator.iter_mut().flat_map(|terminator| terminator.calls_mut()) {
            let args = std::mem::take(&mut call.args);
            for (&param, arg) in self.params[call.block].iter().zip(args) {
                let vectors = if self.differs(param) { self.vectors() } else { 1 };
                call.args.extend((0..vectors).map(|vector| self.of_vector(arg, vector)));
            }
        }
        self.func.blocks[block].terminator = terminator;
    }
}
