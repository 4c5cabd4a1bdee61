//! Store-to-load forwarding through slots: the value that a load gives, where there is one store that it can be of.

use super::Parts;
use crate::dom::DominatorTree;
use crate::entity::{Block, Value};
use crate::function::Imm;
use crate::op::Op;
use cranelift_entity::SecondaryMap;
use std::collections::HashMap;

/// A store to a slot.
#[derive(Clone, Copy)]
struct Store {
    block: Block,
    /// Which instruction of the block it is.
    position: usize,
    value: Value,
}

/// For each load from a slot whose wave has been through the one store to it, the value stored there.
pub(super) fn stored_values(program: &Parts, tree: &DominatorTree) -> SecondaryMap<Value, Option<Value>> {
    // None where there are several.
    let mut stores: HashMap<(u32, u8), Option<Store>> = HashMap::new();
    let insts = |block: Block| program.insts_in(block).enumerate();
    for &block in &program.layout {
        for (position, inst) in insts(block) {
            if let (Op::SlotStore, Imm::Slot(slot)) = (inst.op, inst.imm) {
                let store = Store { block, position, value: inst.args[0] };
                stores.entry((slot, inst.vector)).and_modify(|store| *store = None).or_insert(Some(store));
            }
        }
    }
    let mut values = SecondaryMap::new();
    for &block in tree.reverse_postorder() {
        for (at, inst) in insts(block) {
            if let (Op::SlotLoad, Imm::Slot(slot), Some(result)) = (inst.op, inst.imm, inst.result)
                && let Some(&Some(Store { block: from, position, value })) = stores.get(&(slot, inst.vector))
                && tree.position(from).is_some()
                && (if from == block { position < at } else { tree.dominates(from, block) })
                && program.ty(value) == program.ty(result)
            {
                values[result] = Some(value);
            }
        }
    }
    values
}
