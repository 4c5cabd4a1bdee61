//! Instructions put in front of uses and behind definitions.

use super::run_length;
use crate::function::Imm;
use crate::{Function, Inst, Op, Value};

impl AsMut<Function> for Function {
    fn as_mut(&mut self) -> &mut Function {
        self
    }
}

/// The instructions of a block, where each uses what `used` gives for a value, and `done` comes behind each. Both may
/// append instructions; nothing parts those of a run.
pub fn rewrite<C: AsMut<Function>>(
    context: &mut C,
    insts: &[Inst],
    new: &mut Vec<Inst>,
    mut used: impl FnMut(&mut C, &mut Vec<Inst>, Value) -> Value,
    mut done: impl FnMut(&mut C, &mut Vec<Inst>, Inst),
) {
    let mut inside = 0;
    for (at, &inst) in insts.iter().enumerate() {
        let func = context.as_mut();
        func.origin = func.insts[inst].origin;
        if at >= inside {
            inside = at + run_length(func, &insts[at..]).max(1);
            for &user in &insts[at..inside] {
                let args = context.as_mut().insts[user].args;
                for (number, &arg) in args.iter().enumerate() {
                    let by = used(context, new, arg);
                    if by != arg {
                        context.as_mut().insts[user].args[number] = by;
                    }
                }
            }
        }
        new.push(inst);
        done(context, new, inst);
    }
}

/// Stores a value in a slot.
pub fn store(func: &mut Function, insts: &mut Vec<Inst>, slot: u32, value: Value) {
    insts.push(func.make_inst(Op::SlotStore, func.ty(value), &[value], Imm::Slot(slot)));
}

/// Loads a value from a slot that it has been stored in.
pub fn load(func: &mut Function, insts: &mut Vec<Inst>, slot: u32, value: Value) -> Value {
    let inst = func.make_inst(Op::SlotLoad, func.ty(value), &[], Imm::Slot(slot));
    insts.push(inst);
    func.insts[inst].result.expect("a load has a result")
}
