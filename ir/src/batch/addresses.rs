//! What is known of the addresses of a program's accesses to resources: between which bounds they lie, and how they
//! grow from lane to lane. Both follow values through slots.

use super::forward::stored_values;
use super::steps::lane_steps;
use super::{LaneSteps, Parts};
use crate::dom::DominatorTree;
use crate::entity::Value;
use crate::function::{Imm, ResourceData};
use crate::op::Op;
use crate::ranges::{Range, Ranges};
use cranelift_entity::SecondaryMap;

/// What is known of addresses. Only a back end that makes use of it finds it out.
#[derive(Default)]
pub struct Addresses {
    /// Those in memory that the threads of a group share.
    pub ranges: SecondaryMap<Value, Option<Range>>,
    /// Where lanes have addresses of their own in resources.
    pub steps: SecondaryMap<Value, Option<LaneSteps>>,
}

impl Addresses {
    /// Finds it.
    pub fn of(program: &Parts) -> Addresses {
        let has_shared = program.resources.values().any(ResourceData::is_shared);
        let has_steps = program.facts.scattered && program.facts.uses_resources;
        let mut addresses = Addresses::default();
        if has_shared || has_steps {
            let tree = DominatorTree::new(program);
            let same = stored_values(program, &tree);
            if has_shared {
                addresses.ranges = shared(program, &tree, &same);
            }
            if has_steps {
                addresses.steps = lane_steps(program, &same);
            }
        }
        addresses
    }
}

/// The ranges of addresses in shared memory.
fn shared(
    program: &Parts,
    tree: &DominatorTree,
    same: &SecondaryMap<Value, Option<Value>>,
) -> SecondaryMap<Value, Option<Range>> {
    let known = Ranges::of(program, tree, same);
    let mut ranges: SecondaryMap<Value, Option<Range>> = SecondaryMap::new();
    for &block in tree.reverse_postorder() {
        for inst in program.insts_in(block) {
            if let (Op::MemoryLoad | Op::MemoryStoreMasked, Imm::ResourceByte { resource, .. }) = (inst.op, inst.imm)
                && program.resources[resource].is_shared()
                && let (address, Some(here)) = (inst.args[0], known.within(block, inst.args[0]))
            {
                ranges[address] = Some(ranges[address].map_or(here, |range| range.or(here)));
            }
        }
    }
    ranges
}
