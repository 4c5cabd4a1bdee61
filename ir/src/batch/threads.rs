//! Constant folding of what is known of a whole group: where waves divide it, each of their lanes is a thread.

use crate::function::Imm;
use crate::op::{Op, SysVal};
use crate::pass::{dce, fold};
use crate::{Function, Type};

/// Whether waves of so many lanes have no lane without a thread. Calls run whole waves of such a group.
pub fn fill_waves(func: &Function, lanes: usize) -> bool {
    func.threads.is_some_and(|threads| (threads as usize).is_multiple_of(lanes))
}

/// Makes [`SysVal::Active`] of a group of whole waves what it is, and whatever follows from that.
pub fn fold_active(func: &mut Function, lanes: usize) {
    if !fill_waves(func, lanes) {
        return;
    }
    let mut is_any = false;
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let inst = &mut func.insts[inst];
            if (inst.op, inst.imm) == (Op::Sysval, Imm::SysVal(SysVal::Active)) {
                debug_assert_eq!(inst.ty, Type::I32);
                (inst.op, inst.imm, is_any) = (Op::Const, Imm::Bits(1), true);
            }
        }
    }
    if is_any {
        fold(func);
        dce(func);
    }
}
