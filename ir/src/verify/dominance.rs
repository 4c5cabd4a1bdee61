//! Static single assignment: a value has one definition, which dominates its uses.

use super::{Place, Rule, Verifier};
use crate::dom::DominatorTree;
use crate::entity::{Block, Inst, Value};
use crate::function::{ValueData, ValueDef};
use crate::op::Op;
use crate::print::Numbering;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

/// Where a value is defined: parameters at position 0, instructions from 1.
#[derive(Clone, Copy, Default)]
pub(super) struct Definition {
    block: PackedOption<Block>,
    position: u32,
}

impl Definition {
    pub fn new(block: Block, position: u32) -> Definition {
        Definition { block: block.into(), position }
    }

    /// Whether there is one, in this block.
    #[inline]
    pub fn is_in(self, block: Block) -> bool {
        self.block == block.into()
    }
}

/// An instruction of which some operand has no definition in front of it, in its block.
#[derive(Clone, Copy)]
pub(super) struct User {
    pub block: Block,
    pub position: u32,
    pub inst: Inst,
}

/// Those of a function: most are of the one block that a call runs in front of its loop.
pub(super) type Users = SmallVec<[User; 16]>;

impl Verifier<'_> {
    /// Notes where a value is defined, which nothing has defined so far.
    #[inline]
    pub(super) fn define(
        &mut self,
        (value, known): (Value, &mut Definition),
        def: ValueDef,
        place: impl Fn() -> Place,
        definition: Definition,
    ) {
        let ValueData { def: own, ty } = self.func.values[value];
        if own != def || known.block.is_some() {
            let message = "the value is defined twice, or elsewhere by its own data".to_string();
            self.report(Rule::Definition, place(), message);
        }
        if definition.position == 0 && ty == Type::Row {
            self.report(Rule::RowInBlock, place(), "a parameter is a row".to_string());
        }
        *known = definition;
    }

    pub(super) fn dominance(&mut self, definitions: &SecondaryMap<Value, Definition>, elsewhere: &[User]) {
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
        for &User { block, position, inst } in elsewhere {
            for &arg in func.insts[inst].args.iter() {
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
        for &block in &func.layout {
            let uses = func.blocks[block].terminator().uses();
            for arg in uses.filter(|&arg| !is_defined(arg, block, u32::MAX)) {
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
