//! Checks that a program keeps the rules of phases.

use super::BatchProgram;
use crate::function::Terminator;
use crate::op::Memory;
use crate::print::Numbering;
use crate::verify::{Rule, VerifyError, VerifyErrors};
use crate::{Block, Op, Value, cfg};
use cranelift_entity::SecondaryMap;

/// Checks [`Rule::Phase`].
pub fn phases(program: &BatchProgram) -> Result<(), VerifyErrors> {
    let numbering = Numbering::new(program.func());
    let mut errors = Vec::new();
    let mut report = |block: Block, message: String| {
        if errors.len() < VerifyErrors::MAX {
            errors.push(VerifyError { rule: Rule::Phase, at: numbering.block(block).to_string(), message });
        }
    };
    if program.phases().is_empty() {
        for &block in &program.layout {
            let mut insts = program.blocks[block].insts.iter().map(|&inst| &program.insts[inst]);
            if let Some(inst) = insts.find(|inst| inst.op.memory() == Some(Memory::Worklist)) {
                report(block, format!("{} is for a tile, and there are no phases", inst.op));
            }
        }
        return if errors.is_empty() { Ok(()) } else { Err(VerifyErrors(errors)) };
    }
    let mut made = SecondaryMap::<Value, Option<usize>>::new();
    for &block in &program.layout {
        let data = &program.blocks[block];
        let results = data.insts.iter().filter_map(|&inst| program.insts[inst].result);
        data.params.iter().copied().chain(results).for_each(|value| made[value] = program.phase_of(block));
    }
    for &block in &program.layout {
        let (data, phase) = (&program.blocks[block], program.phase_of(block));
        let insts = data.insts.iter().map(|&inst| &program.insts[inst]);
        let is_lacking = |value: Value| made[value].is_some_and(|other| Some(other) != phase);
        for value in insts.clone().flat_map(|inst| inst.args.iter().copied()).chain(data.terminator().uses()) {
            if is_lacking(value) {
                report(block, format!("{} is of another phase", numbering.value(value)));
            }
        }
        let Some(number) = phase else {
            let is_of_wave = |value: &Value| !program.uniform().contains(*value);
            let values = data.params.iter().copied().chain(insts.clone().filter_map(|inst| inst.result));
            values.filter(is_of_wave).for_each(|value| {
                report(block, format!("{} differs among lanes, and the block is of no phase", numbering.value(value)));
            });
            let is_wrong = |op: Op| {
                matches!(op, Op::Output | Op::OutputRow | Op::SlotStore | Op::WorklistPush | Op::GuardOrdered)
                    || matches!(op, Op::ArrayStore | Op::ArrayStoreMasked)
            };
            insts.filter(|inst| is_wrong(inst.op)).for_each(|inst| {
                report(block, format!("{} is for a wave, and the block is of no phase", inst.op));
            });
            for target in cfg::successors(program, block).filter(|&target| is_inside(program, target)) {
                report(block, format!("it leads into a phase by way of {}", numbering.block(target)));
            }
            continue;
        };
        let phase = &program.phases()[number];
        if phase.blocks[0] == block && !data.params.is_empty() {
            report(block, "a phase begins with it, and it has parameters".to_string());
        }
        if *data.terminator() == Terminator::Return {
            report(block, "a phase returns".to_string());
        }
        for inst in insts.filter(|inst| matches!(inst.op, Op::WorklistAny | Op::WorklistEnter)) {
            report(block, format!("{} is for a tile, and the block is of a phase", inst.op));
        }
        for target in cfg::successors(program, block).filter(|&target| program.phase_of(target) != Some(number)) {
            if target != phase.next || !program.blocks[target].params.is_empty() {
                report(block, format!("it leaves the phase for {}", numbering.block(target)));
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(VerifyErrors(errors)) }
}

/// Whether a block is of a phase that does not begin with it.
fn is_inside(program: &BatchProgram, block: Block) -> bool {
    program.phase_of(block).is_some_and(|number| program.phases()[number].blocks[0] != block)
}
