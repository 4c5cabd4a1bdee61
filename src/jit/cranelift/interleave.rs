//! Interleaving, a few instructions at a time: what is done vector by vector.
//!
//! Where values are two vectors of lanes, one goes ahead for a while before the other follows: op by op they would
//! hold twice as much in registers as one alone.

use super::{Emitter, result};
use crate::error::JitError;
use cranelift_codegen::ir::types::{F32X4, I32X4};
use cranelift_codegen::ir::{InstBuilder, Value as Vector};
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::op::Effect;
use shaderjit_ir::{Op, Type, Value};

/// How many ops one vector is ahead at most. Fewer hold more in registers, more overlap less in the processor.
const AHEAD: usize = 8;

impl<'a> Emitter<'a, '_> {
    /// Whether an instruction can be done for one vector at a time.
    pub(super) fn is_by_vector(&self, inst: &InstData) -> bool {
        let is_word = |value: Value| matches!(self.func.ty(value), Type::F32 | Type::I32 | Type::I1);
        let differs = |value: Value| is_word(value) && !self.is_uniform(value);
        match inst.result {
            _ if matches!(inst.op, Op::SlotLoad | Op::SlotStore) => inst.ty != Type::F64,
            Some(result) => {
                let is_pure = inst.imm == Imm::None && inst.op.effect() == Effect::Pure;
                is_pure && differs(result) && inst.args.iter().all(|&arg| is_word(arg))
            }
            None => inst.op == Op::GuardOrdered && differs(inst.args[0]),
        }
    }

    /// Whether an instruction that is not done by vectors looks at what differs among lanes.
    pub(super) fn needs_all_vectors(&self, inst: &InstData) -> bool {
        let passes = matches!(inst.op, Op::Output | Op::Const | Op::Input | Op::InputWord);
        !passes && inst.args.iter().any(|&arg| !self.is_uniform(arg))
    }

    /// Does an instruction of a block: for one vector at once, for the others when they follow.
    pub(super) fn go_ahead(&mut self, inst: &'a InstData) -> Result<(), JitError> {
        self.inst_in_vector(inst, 0)?;
        if self.places.vectors > 1 {
            self.behind.push(inst);
            if self.behind.len() >= AHEAD {
                self.catch_up()?;
            }
        }
        Ok(())
    }

    /// Does what the other vectors have yet to do.
    pub(super) fn catch_up(&mut self) -> Result<(), JitError> {
        let behind = std::mem::take(&mut self.behind);
        for which in 1..self.places.vectors {
            for inst in &behind {
                self.inst_in_vector(inst, which)?;
            }
        }
        self.behind = behind;
        self.behind.clear();
        Ok(())
    }

    /// Does an instruction for one vector.
    fn inst_in_vector(&mut self, inst: &InstData, which: usize) -> Result<(), JitError> {
        self.set_origin(inst.origin);
        let vector = match inst.op {
            Op::GuardOrdered => {
                self.guard(inst.args[0], which);
                return Ok(());
            }
            Op::SlotLoad | Op::SlotStore => {
                let Imm::Slot(slot) = inst.imm else { unreachable!("the op names a slot") };
                match self.slot_in_vector(inst, slot, which) {
                    Some(vector) => vector,
                    None => return Ok(()),
                }
            }
            Op::Select => self.select_in_vector(inst, which),
            // A shift of all lanes by one amount is one instruction.
            Op::Ishl | Op::Ushr | Op::Sshr if self.is_uniform(inst.args[1]) => {
                let (value, amount) = (self.vector(inst.args[0], which), self.scalar(inst.args[1]));
                match inst.op {
                    Op::Ishl => self.simd.ins().ishl(value, amount),
                    Op::Ushr => self.simd.ins().ushr(value, amount),
                    _ => self.simd.ins().sshr(value, amount),
                }
            }
            op => {
                // Cranelift overwrites the first factor with the result: a literal can go, if it is made for this
                // alone. So can what nothing else uses, and a literal that is held need not.
                let factor = if op == Op::Fma { self.func.constant(inst.args[1]) } else { None };
                let factor = factor.filter(|&bits| {
                    let uses = self.program.uses()[inst.args[0]];
                    uses.others + uses.guards > 1 || self.held_literal(F32X4, bits as u32).is_none()
                });
                let mut args = [self.args; 3];
                for (number, (arg, &value)) in args.iter_mut().zip(inst.args.iter()).enumerate() {
                    *arg = match factor {
                        Some(bits) if number == 1 => self.simd.word(F32X4, bits as u32),
                        _ => self.vector(value, which),
                    };
                }
                if factor.is_some() {
                    args.swap(0, 1);
                }
                self.vector_op(op, |arg| args[arg])?
            }
        };
        self.define_vector(result(inst), which, vector);
        Ok(())
    }

    /// One of two values in each lane. Where one is all ones or zero the mask does for it, which saves that literal,
    /// and on some processors two of a blend's three steps.
    fn select_in_vector(&mut self, inst: &InstData, which: usize) -> Vector {
        let [condition, yes, no] = [0, 1, 2].map(|arg| inst.args[arg]);
        let bits = |value| self.func.constant(value).map(|bits| bits as u32);
        let all = if inst.ty == Type::I1 { 1 } else { u32::MAX };
        let (yes_bits, no_bits) = (bits(yes), bits(no));
        let mask = self.vector(condition, which);
        let lanes = |this: &mut Self, value| {
            let vector = this.vector(value, which);
            this.simd.cast(I32X4, vector)
        };
        match (yes_bits, no_bits) {
            (Some(yes), Some(0)) if yes == all => mask,
            (_, Some(0)) => {
                let yes = lanes(self, yes);
                self.simd.ins().band(mask, yes)
            }
            (Some(yes), _) if yes == all => {
                let no = lanes(self, no);
                self.simd.ins().bor(mask, no)
            }
            (Some(0), _) => {
                let no = lanes(self, no);
                self.simd.ins().band_not(no, mask)
            }
            _ => {
                let (yes, no) = (self.vector(yes, which), self.vector(no, which));
                self.simd.blend(mask, yes, no)
            }
        }
    }
}
