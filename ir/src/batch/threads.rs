//! Constant folding of what is known of a whole group: where waves divide it, each of their lanes is a thread.

use crate::function::Imm;
use crate::op::{Op, SysVal};
use crate::pass::{dce, fold};
use crate::{Function, Type};

/// Whether waves of so many lanes have no lane without a thread. Calls run whole waves of such a group.
pub fn fill_waves(func: &Function, lanes: usize) -> bool {
    func.threads.is_some_and(|threads| (threads as usize).is_multiple_of(lanes))
}

/// Makes [`SysVal::Active`] of a group of whole waves what it is, and whatever follows from that; whether it is asked
/// for. Blocks that nothing leads to then are gone.
pub fn fold_active(func: &mut Function, lanes: usize) -> bool {
    if !fill_waves(func, lanes) {
        return false;
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
    is_any
}

#[cfg(test)]
mod tests {
    use crate::batch::{BatchProgram, Layout, Machine, Pass};
    use crate::parse::parse;
    use crate::verify::Verified;

    #[test]
    fn what_runs_only_for_lanes_without_a_thread_is_no_block_of_the_program() {
        let text = |threads: u32| {
            format!(
                "function \"f\" inputs 0 outputs 1 threads {threads} lockstep {{
                block0:
                    v0 = sysval active v1 = const.i32 0 v2 = ieq v0, v1 v3 = any v2
                    br_if v3, block1, block2(v1)
                block1: v4 = sysval vertex_id v5 = imul v4, v4 jump block2(v5)
                block2(v6: i32): output.i32 0.0, v6 return
                }}"
            )
        };
        let machine = Machine { lanes: 8, vectors: 2, registers: 16, has_powers: false };
        for (threads, blocks) in [(16, 2), (8, 3)] {
            let func = Verified::new(parse(&text(threads)).unwrap()).unwrap();
            let layout = Layout { inputs: Vec::new(), outputs: vec![1].into() };
            let program = BatchProgram::plan(&func, layout, machine, Pass::LAST).unwrap();
            assert_eq!((program.order.len(), program.layout.len()), (blocks, blocks), "{threads} threads");
        }
    }
}
