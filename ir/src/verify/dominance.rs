//! Static single assignment: a value has one definition, which dominates its uses.

use super::{Place, Rule, Verifier};
use crate::dom::DominatorTree;
use crate::entity::{Block, Value};
use crate::function::ValueDef;
use crate::op::Op;
use crate::print::Numbering;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Where a value is defined: parameters at position 0, instructions from 1.
#[derive(Clone, Copy, Default)]
pub(super) struct Definition {
    block: PackedOption<Block>,
    position: u32,
}

impl Verifier<'_> {
    /// Where each value is defined.
    pub(super) fn definitions(&mut self) -> SecondaryMap<Value, Definition> {
        let func = self.func;
        let mut definitions: SecondaryMap<Value, Definition> = func.value_map();
        for &block in &func.layout {
            let data = &func.blocks[block];
            let mut define = |value: Value, def, place, position| {
                let definition = &mut definitions[value];
                if func.values[value].def != def || definition.block.is_some() {
                    let message = "the value is defined twice, or elsewhere by its own data".to_string();
                    self.report(Rule::Definition, place, message);
                }
                *definition = Definition { block: block.into(), position };
                if position == 0 && func.ty(value) == Type::Row {
                    self.report(Rule::RowInBlock, place, "a parameter is a row".to_string());
                }
            };
            data.params.iter().for_each(|&param| define(param, ValueDef::Param(block), Place::Block(block), 0));
            for (position, &inst) in (1..).zip(&data.insts) {
                if let Some(result) = func.insts[inst].result {
                    define(result, ValueDef::Inst(inst), Place::Inst(block, inst), position);
                }
            }
        }
        definitions
    }

    pub(super) fn dominance(&mut self, definitions: &SecondaryMap<Value, Definition>) {
        let func = self.func;
        // In the entry block alone, the order of definitions says all.
        let tree = (func.layout.len() > 1).then(|| DominatorTree::new(func));
        let is_reachable = |block| tree.as_ref().is_some_and(|tree| tree.position(block).is_some());
        let is_defined = |value, block, position| {
            let definition = definitions[value];
            match definition.block.expand() {
                None => false,
                Some(from) if from == block => definition.position < position,
                Some(_) if !is_reachable(block) => true,
                Some(from) => is_reachable(from) && tree.as_ref().is_some_and(|tree| tree.dominates(from, block)),
            }
        };
        for &block in &func.layout {
            let data = &func.blocks[block];
            for (position, &inst) in (1..).zip(&data.insts) {
                // Most operands are made just before.
                let is_in_front = |arg: Value| {
                    let definition = definitions[arg];
                    definition.block == block.into() && definition.position < position
                };
                for &arg in func.insts[inst].args.iter().filter(|&&arg| !is_in_front(arg)) {
                    if !is_defined(arg, block, position) {
                        self.undominated(arg, Place::Inst(block, inst));
                    }
                    let is_of_call = |arg: Value| func.def_inst(arg).is_some_and(|def| def.op == Op::CallLoad);
                    let is_elsewhere = definitions[arg].block.expand().is_some_and(|from| from != block);
                    if func.ty(arg) == Type::Row && is_elsewhere && !is_of_call(arg) {
                        let message = format!("{} from another block", self.typed(arg));
                        self.report(Rule::RowInBlock, Place::Inst(block, inst), message);
                    }
                }
            }
            for arg in data.terminator().uses().filter(|&arg| !is_defined(arg, block, u32::MAX)) {
                self.undominated(arg, Place::Terminator(block));
            }
        }
    }

    #[cold]
    fn undominated(&mut self, value: Value, place: Place) {
        let func = self.func;
        let numbering = self.numbering.get_or_insert_with(|| Numbering::new(func));
        let message = format!("{} is used where its definition does not reach", numbering.value(value));
        self.report(Rule::Dominance, place, message);
    }
}
