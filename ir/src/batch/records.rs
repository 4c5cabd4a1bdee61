//! Colouring of live intervals: the slots of what goes on from one [region](super::regions) to another, and of what
//! the heads of regions are given.

use super::graph::Graph;
use super::regions::{Exit, Regions};
use crate::{Block, Function, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where a value is kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// The slot that edges to its block set, if it is a parameter.
    pub edge: Option<u32>,
    /// The slot it is in for other regions, or, if that is the same, for its own one as well.
    pub slot: Option<u32>,
}

/// The slots of a function that is cut.
pub struct Records {
    kept: SecondaryMap<Value, Kept>,
    /// How many there are.
    pub slots: u32,
}

/// A stay in a slot, by numbers of regions.
struct Stay {
    value: Value,
    first: usize,
    last: usize,
    holds: Holds,
}

/// What a slot holds of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// What edges set.
    Edge,
    /// What other regions use.
    Own,
    /// Both: no branch that sets it can lead to where the value it had is needed.
    Both,
}

/// The regions that use values.
#[derive(Default)]
struct Uses {
    /// For each value those that are not its own, one after the other.
    regions: SecondaryMap<Value, Vec<usize>>,
    /// Parameters that edges between regions set.
    params: EntitySet<Value>,
    /// Those, and the values that other regions than their own use.
    values: Vec<Value>,
    /// The region that makes each value.
    made: SecondaryMap<Value, usize>,
}

impl Records {
    /// Gives each value that goes on its slots, if it [is kept](is_kept) in any.
    pub fn find(
        func: &Function,
        order: &[Block],
        graph: &Graph,
        regions: &Regions,
        is_kept: impl Fn(Value) -> bool,
    ) -> Records {
        let next = successors(graph, regions);
        let mut before = vec![Vec::new(); next.len()];
        for (from, targets) in next.iter().enumerate() {
            targets.iter().for_each(|&to| before[to].push(from));
        }
        let uses = uses(func, order, regions, is_kept);
        let mut stays = Vec::new();
        let mut live = vec![usize::MAX; next.len()];
        for (number, &value) in uses.values.iter().enumerate() {
            let own = uses.made[value];
            let (mut first, mut last) = (own, own);
            let mut new = uses.regions[value].clone();
            while let Some(region) = new.pop() {
                if region != own && std::mem::replace(&mut live[region], number) != number {
                    (first, last) = (first.min(region), last.max(region));
                    new.extend(&before[region]);
                }
            }
            if !uses.params.contains(value) {
                stays.push(Stay { value, first, last, holds: Holds::Own });
                continue;
            }
            let edges = before[own].iter().copied();
            let (early, late) = edges.fold((own, own), |(early, late), from| (early.min(from), late.max(from)));
            let is_free = before[own].iter().all(|&from| next[from].iter().all(|&to| to == own || live[to] != number));
            if is_free {
                let (first, last) = (first.min(early), last.max(late));
                stays.push(Stay { value, first, last, holds: Holds::Both });
            } else {
                stays.push(Stay { value, first: early, last: late, holds: Holds::Edge });
                stays.push(Stay { value, first, last, holds: Holds::Own });
            }
        }
        stays.sort_by_key(|stay| stay.first);
        let mut records = Records { kept: SecondaryMap::new(), slots: 0 };
        // Slots that are free from a region on: no wave comes to a region before all have left the one before it.
        let mut free: [BinaryHeap<Reverse<(usize, u32)>>; 2] = Default::default();
        for Stay { value, first, last, holds } in stays {
            let words = func.ty(value).words();
            let free = &mut free[words as usize - 1];
            let freed = free.peek().is_some_and(|Reverse((from, _))| *from <= first).then(|| free.pop()).flatten();
            let slot = freed.map_or_else(|| records.new_slot(words), |Reverse((_, slot))| slot);
            free.push(Reverse((last + 1, slot)));
            let kept = &mut records.kept[value];
            if holds != Holds::Own {
                kept.edge = Some(slot);
            }
            if holds != Holds::Edge {
                kept.slot = Some(slot);
            }
        }
        records
    }

    fn new_slot(&mut self, words: u32) -> u32 {
        self.slots += words;
        self.slots - words
    }

    /// Where a value is kept, if it is.
    pub fn of(&self, value: Value) -> Kept {
        self.kept[value]
    }
}

/// The regions that each region may go on in.
fn successors(graph: &Graph, regions: &Regions) -> Vec<Vec<usize>> {
    let next = |exit: &Exit| match exit {
        Exit::Return => Vec::new(),
        Exit::To(head, _) => vec![regions.of[*head]],
        Exit::Branch(block) => graph.successors[*block].iter().map(|&head| regions.of[head]).collect(),
    };
    regions.regions.iter().map(|region| next(&region.exit)).collect()
}

fn uses(func: &Function, order: &[Block], regions: &Regions, is_kept: impl Fn(Value) -> bool) -> Uses {
    let mut uses = Uses::default();
    for (number, &block) in order.iter().enumerate() {
        let (data, region) = (&func.blocks[block], regions.of[number]);
        let results = data.insts.iter().filter_map(|&inst| func.insts[inst].result);
        data.params.iter().copied().chain(results).for_each(|value| uses.made[value] = region);
        if regions.regions[region].blocks[0] == number {
            for &param in data.params.iter().filter(|&&param| is_kept(param)) {
                uses.params.insert(param);
                uses.values.push(param);
            }
        }
    }
    for (number, &block) in order.iter().enumerate() {
        let (data, region) = (&func.blocks[block], regions.of[number]);
        let args = data.insts.iter().flat_map(|&inst| func.insts[inst].args.iter().copied());
        for value in args.chain(data.terminator().uses()) {
            if uses.made[value] != region && is_kept(value) && uses.regions[value].last() != Some(&region) {
                if uses.regions[value].is_empty() && !uses.params.contains(value) {
                    uses.values.push(value);
                }
                uses.regions[value].push(region);
            }
        }
    }
    uses
}
