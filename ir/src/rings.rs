//! Phis that rotate: a loop takes its operands in turn from several parameters, the first of which it uses while it
//! hands on the others.
//!
//! That is how PICA200 programs blend the matrices of bones: `a0 = index.x`, `index = index.yzwx`, round after round.

use crate::cfg::Edge;
use crate::entity::{Block, Value};
use crate::function::{Function, ValueDef};
use crate::uses::Uses;
use cranelift_entity::SecondaryMap;
use foldhash::HashMap;

/// The most parameters that rotate together: what is done for one of them once a round is done so often before the
/// loop.
const MOST_PARAMS: usize = 8;

/// The most rings of a loop: all that it computes is looked at for each.
const MOST_RINGS: usize = 16;

/// Parameters of a block, which edges back to it set to each other, and other edges to something else.
pub(crate) struct Ring {
    pub head: Block,
    /// Where they stand among the block's parameters.
    pub members: Vec<usize>,
    /// How many edges go back.
    pub rounds: u32,
}

impl Ring {
    /// Which of the members is the only one that something else uses than the edges back.
    pub fn front(&self, func: &Function, uses: &SecondaryMap<Value, Uses>) -> Option<usize> {
        let is_used = |&at: &usize| {
            let param = func.blocks[self.head].params[self.members[at]];
            uses[param].guards + uses[param].others > self.rounds
        };
        let mut used = (0..self.members.len()).filter(is_used);
        used.next().filter(|_| used.next().is_none())
    }
}

/// The rings of a block.
pub(crate) fn rings(func: &Function, head: Block, incoming: &[Edge]) -> Vec<Ring> {
    let params = &func.blocks[head].params;
    let is_param = |value: Value| func.values[value].def == ValueDef::Param(head);
    let given = |at: usize| incoming.iter().map(move |&edge| func.edge(edge).args[at]);
    if !(0..params.len()).any(|at| given(at).any(is_param)) {
        return Vec::new();
    }
    let positions: HashMap<Value, usize> = params.iter().enumerate().map(|(at, &param)| (param, at)).collect();
    // Which other parameter each becomes.
    let next = |at: usize| positions.get(&given(at).find(|&arg| is_param(arg))?).copied();
    let mut seen = vec![false; params.len()];
    let mut rings = Vec::new();
    for start in 0..params.len() {
        let mut members = Vec::new();
        let mut at = Some(start);
        while let Some(member) = at.filter(|&member| !seen[member]) {
            seen[member] = true;
            members.push(member);
            at = next(member);
        }
        // What leads to a ring is no part of it.
        let first = members.iter().position(|&member| Some(member) == at).unwrap_or(members.len());
        members.drain(..first);
        let goes_back = |edge: &&Edge| {
            let args = &func.edge(**edge).args;
            members.iter().any(|&member| is_param(args[member]))
        };
        let goes_around = |edge: &Edge| {
            let args = &func.edge(*edge).args;
            let after = members.iter().cycle().skip(1);
            members.iter().zip(after).all(|(&member, &after)| args[member] == params[after])
        };
        let rounds = incoming.iter().filter(goes_back);
        if (2..=MOST_PARAMS).contains(&members.len()) && rounds.clone().all(goes_around) {
            rings.push(Ring { head, rounds: rounds.count() as u32, members });
            if rings.len() == MOST_RINGS {
                break;
            }
        }
    }
    rings
}
