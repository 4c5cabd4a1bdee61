//! Lockstep execution: what lanes that run together ask of branches, writes and returns, and the form of such functions
//! that back ends take.

use super::{Place, Rule, Verifier};
use crate::entity::{Block, Value};
use crate::function::{InstData, Terminator};
use crate::memory::active_values;
use crate::op::{Attribute, Op};
use crate::print::Numbering;
use crate::uniform::uniform_values;

impl Verifier<'_> {
    // ---- lockstep form

    pub(super) fn lockstep(&mut self) {
        let func = self.func;
        let has_branches = || func.layout.iter().any(|&block| func.blocks[block].terminator().selector().is_some());
        self.uniform = (func.lockstep && has_branches()).then(|| uniform_values(func));
        if func.lockstep && self.has_ops_to_look_at {
            self.active_writes();
        }
        let is_return = |block: Block| matches!(func.blocks[block].terminator(), Terminator::Return);
        let mut returns = 0;
        for &block in &func.layout {
            let data = &func.blocks[block];
            let insts = if self.has_ops_to_look_at { data.insts.as_slice() } else { &[] };
            for &inst in insts {
                match func.insts[inst].op {
                    op if op.is_of_lockstep() && !func.lockstep => {
                        let message = "the function is not in lockstep form".to_string();
                        self.report(Rule::OpOfLockstep, Place::Inst(block, inst), message);
                    }
                    Op::Output if func.lockstep && !self.is_batch && !is_return(block) => {
                        let message = "the block does not return".to_string();
                        self.report(Rule::OutputAtReturn, Place::Inst(block, inst), message);
                    }
                    _ => {}
                }
            }
            if !func.lockstep {
                continue;
            }
            let is_divergent =
                |&selector: &Value| self.uniform.as_ref().is_none_or(|uniform| !uniform.contains(selector));
            if let Some(selector) = data.terminator().selector().filter(is_divergent) {
                let numbering = self.numbering.get_or_insert_with(|| Numbering::new(func));
                let message = format!("{} may differ between lanes", numbering.value(selector));
                self.report(Rule::UniformBranch, Place::Terminator(block), message);
            }
            returns += u32::from(is_return(block));
            if is_return(block) && returns > 1 {
                self.report(Rule::OneReturn, Place::Terminator(block), "another block returns too".to_string());
            }
        }
    }

    fn active_writes(&mut self) {
        let func = self.func;
        if !func.writes_memory() {
            return;
        }
        let active = if self.fills_waves { None } else { Some(active_values(func)) };
        let is_active = |mask: &Value| active.as_ref().is_none_or(|active| active.contains(*mask));
        for &block in &func.layout {
            for &inst in &func.blocks[block].insts {
                let InstData { op, args, .. } = &func.insts[inst];
                let message = match op {
                    Op::GuardOrdered => "what writes memory cannot run again",
                    op if !op.writes_buffers() => continue,
                    op if !op.is_masked() => "the lanes that write are not said",
                    _ if !args.last().is_some_and(is_active) => "lanes of the tail may write",
                    _ => continue,
                };
                self.report(Rule::ActiveWrites, Place::Inst(block, inst), message.to_string());
            }
        }
    }

    // ---- the form that back ends take

    pub(super) fn back_end_form(&mut self) {
        let func = self.func;
        if !func.lockstep {
            self.report(Rule::BackEndForm, Place::Function, "it is not in lockstep form".to_string());
        }
        let blocks = if self.has_ops_to_look_at { func.layout.as_slice() } else { &[] };
        for &block in blocks {
            for &inst in &func.blocks[block].insts {
                let InstData { op, ty, vector, .. } = func.insts[inst];
                if op.attribute() == Attribute::Composite {
                    self.report(Rule::BackEndForm, Place::Inst(block, inst), format!("{op} is not expanded"));
                }
                if !self.is_batch && (op.is_of_batch(ty) || vector > 0) {
                    let message = "only batch programs have words and rows of streams, slots, worklists and vectors";
                    let message = message.to_string();
                    self.report(Rule::BackEndForm, Place::Inst(block, inst), message);
                }
            }
        }
    }
}
