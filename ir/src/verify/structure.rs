//! Well-formedness: all that is named exists, and the layout is a control-flow graph. What looks further relies on it.

use super::{Place, Rule, Verifier, VerifyError, VerifyErrors};
use crate::entity::{Inst, Value};
use crate::set::EntitySet;
use cranelift_entity::{EntityRef, PrimaryMap};
use std::fmt;

impl Verifier<'_> {
    // ---- indices

    pub(super) fn indices(&mut self) {
        let func = self.func;
        for &block in &func.layout {
            if !exists(&func.blocks, block) {
                self.missing(&"the layout", &block);
                continue;
            }
            let data = &func.blocks[block];
            self.values_exist(&block, data.params.iter().copied());
            for &inst in &data.insts {
                if exists(&func.insts, inst) {
                    let data = &func.insts[inst];
                    let is_missing = |value: &Value| !exists(&func.values, *value);
                    if data.args.iter().any(is_missing) || data.result.as_ref().is_some_and(is_missing) {
                        self.values_exist(&inst, data.args.iter().copied().chain(data.result));
                    }
                } else {
                    self.missing(&block, &inst);
                }
            }
            if let Some(terminator) = &data.terminator {
                self.values_exist(&block, terminator.uses());
                for call in terminator.calls().filter(|call| !exists(&func.blocks, call.block)) {
                    self.missing(&block, &call.block);
                }
            }
        }
    }

    fn values_exist(&mut self, by: &dyn fmt::Display, values: impl Iterator<Item = Value>) {
        for value in values.filter(|&value| !exists(&self.func.values, value)) {
            self.missing(by, &value);
        }
    }

    /// Unlike [`report`](Self::report), shows bare indices: printing would follow them.
    #[cold]
    fn missing(&mut self, by: &dyn fmt::Display, what: &dyn fmt::Display) {
        if self.errors.len() < VerifyErrors::MAX {
            let message = format!("{what} does not exist");
            self.errors.push(VerifyError { rule: Rule::Index, at: by.to_string(), message });
        }
    }

    // ---- structure

    pub(super) fn structure(&mut self) {
        let func = self.func;
        for (array, data) in &func.arrays {
            if data.elements == 0 || !(1..=4).contains(&data.components) {
                let message = format!("{} elements of {} components", data.elements, data.components);
                self.report(Rule::Array, Place::Array(array), message);
            }
        }
        let Some(&entry) = func.layout.first() else {
            return self.report(Rule::Entry, Place::Function, "there is no entry block".to_string());
        };
        if !func.blocks[entry].params.is_empty() {
            self.report(Rule::Entry, Place::Block(entry), "the entry block has parameters".to_string());
        }
        let mut laid_out = EntitySet::with_capacity(func.blocks.len());
        for &block in &func.layout {
            if !laid_out.insert(block) {
                self.report(Rule::Once, Place::Block(block), "the block is in the layout twice".to_string());
            }
        }
        let mut placed = EntitySet::<Inst>::with_capacity(func.insts.len());
        for &block in &func.layout {
            let data = &func.blocks[block];
            for &inst in &data.insts {
                if !placed.insert(inst) {
                    self.report(Rule::Once, Place::Inst(block, inst), "the instruction is placed twice".to_string());
                }
            }
            let Some(terminator) = &data.terminator else {
                self.report(Rule::Terminator, Place::Block(block), "the block has no terminator".to_string());
                continue;
            };
            for call in terminator.calls() {
                if call.block == entry {
                    self.report(Rule::Entry, Place::Terminator(block), "an edge leads to the entry block".to_string());
                }
                if !laid_out.contains(call.block) {
                    let message = "an edge leads to a block that is not in the layout".to_string();
                    self.report(Rule::Target, Place::Terminator(block), message);
                }
            }
        }
    }
}

fn exists<K: EntityRef, V>(map: &PrimaryMap<K, V>, key: K) -> bool {
    key.index() < map.len()
}
