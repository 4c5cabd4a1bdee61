//! Colouring of live intervals: the slots of what goes on from one [region](super::regions) to another, and of what
//! the heads of regions are given. Where an edge gives a head what goes on to other regions, too, both [may have one
//! slot](super::coalesce), and nothing is moved.

use super::coalesce::{Coalescer, Live};
use super::regions::Regions;
use crate::Value;
use crate::cfg::Lists;
use crate::graph::Graph;
use cranelift_entity::SecondaryMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where a value is kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// The slot that edges to its block set, if it is a parameter.
    pub edge: Option<u32>,
    /// The slot it is in for other regions, or, if that is the same, for its own one as well.
    pub slot: Option<u32>,
    /// The region that makes it.
    made: usize,
}

/// The slots of a function that is cut.
pub struct Records {
    kept: SecondaryMap<Value, Kept>,
    /// How many there are.
    pub slots: u32,
}

/// A value that goes on.
struct Going {
    value: Value,
    /// Whether edges between regions set it.
    is_param: bool,
    /// The last region that has been seen to use it and does not make it; none at first.
    user: usize,
}

/// A stay in a slot, by numbers of regions.
struct Stay {
    value: Value,
    first: usize,
    last: usize,
    /// Whether edges set it there, and whether other regions have it from there. Both, if no branch that sets it can
    /// lead to where the value it had is needed.
    is_set: bool,
    is_used: bool,
}

impl Records {
    /// Gives each value that goes on its slots, if it [is kept](is_kept) in any.
    pub fn find(graph: &Graph<'_>, regions: &Regions, is_kept: impl Fn(Value) -> bool) -> Records {
        let count = regions.exits.len();
        let next = |region| regions.next(graph.func, region).map(move |head| (region, regions.of[head]));
        let edges: Vec<(usize, usize)> = (0..count).flat_map(next).collect();
        let next = Lists::new(count, edges.iter().copied());
        let before = Lists::new(count, edges.iter().map(|&(from, to)| (to, from)));
        let mut records = Records { kept: graph.func.value_map(), slots: 0 };
        let mut coalescer = Coalescer::new(graph, regions, &next);
        let (mut stays, mut shared) = (Vec::new(), Vec::new());
        let mut live = vec![usize::MAX; count];
        let (going, users) = records.going(graph, regions, is_kept);
        let (mut new, mut others) = (Vec::new(), Vec::new());
        for (number, Going { value, is_param, .. }) in going.into_iter().enumerate() {
            let own = records.kept[value].made;
            let (mut first, mut last) = (own, own);
            others.clear();
            new.extend(&users[number]);
            while let Some(region) = new.pop() {
                if region != own && std::mem::replace(&mut live[region], number) != number {
                    (first, last) = (first.min(region), last.max(region));
                    new.extend(&before[region]);
                    others.push(region);
                }
            }
            let here = Live { own, regions: &others };
            if let Some((param, stay)) = coalescer.param_for(value, here, |region| live[region] == number) {
                let stay: &mut Stay = &mut stays[stay];
                (stay.first, stay.last) = (stay.first.min(first), stay.last.max(last));
                shared.push((value, param));
                continue;
            }
            if !is_param {
                stays.push(Stay { value, first, last, is_set: false, is_used: true });
                continue;
            }
            let edges = before[own].iter().copied();
            let (early, late) = edges.fold((own, own), |(early, late), from| (early.min(from), late.max(from)));
            let is_free = before[own].iter().all(|&from| next[from].iter().all(|&to| to == own || live[to] != number));
            if is_free {
                let (first, last) = (first.min(early), last.max(late));
                coalescer.add(value, here, stays.len());
                stays.push(Stay { value, first, last, is_set: true, is_used: true });
            } else {
                stays.push(Stay { value, first: early, last: late, is_set: true, is_used: false });
                stays.push(Stay { value, first, last, is_set: false, is_used: true });
            }
        }
        stays.sort_by_key(|stay| stay.first);
        // Slots that are free from a region on: no wave comes to a region before all have left the one before it.
        let mut free: [BinaryHeap<Reverse<(usize, u32)>>; 2] = Default::default();
        for Stay { value, first, last, is_set, is_used } in stays {
            let words = graph.func.ty(value).words();
            let free = &mut free[words as usize - 1];
            let freed = free.peek().is_some_and(|Reverse((from, _))| *from <= first).then(|| free.pop()).flatten();
            let slot = freed.map_or_else(|| records.new_slot(words), |Reverse((_, slot))| slot);
            free.push(Reverse((last + 1, slot)));
            let kept = &mut records.kept[value];
            kept.edge = is_set.then_some(slot).or(kept.edge);
            kept.slot = is_used.then_some(slot).or(kept.slot);
        }
        for (value, param) in shared {
            records.kept[value].slot = records.kept[param].slot;
        }
        records
    }

    /// Notes which region makes each value, and gives those that go on, first what edges set, and the regions that use
    /// each of them and do not make it.
    fn going(
        &mut self,
        graph: &Graph<'_>,
        regions: &Regions,
        is_kept: impl Fn(Value) -> bool,
    ) -> (Vec<Going>, Lists<usize>) {
        let (mut going, mut users) = (Vec::<Going>::new(), Vec::new());
        // Where each value is in there, plus 1.
        let mut places = graph.func.value_map::<usize>();
        for (number, blocks) in regions.blocks.iter().enumerate() {
            for value in blocks.iter().flat_map(|&block| graph.func.defs_in(block)) {
                self.kept[value].made = number;
            }
            let params = graph.func.blocks[blocks[0]].params.iter().copied();
            for value in params.filter(|&param| is_kept(param)) {
                going.push(Going { value, is_param: true, user: usize::MAX });
                places[value] = going.len();
            }
        }
        for &block in graph.order() {
            let region = regions.of[block];
            let strange = graph.func.uses_in(block).filter(|&value| self.kept[value].made != region && is_kept(value));
            for value in strange {
                if places[value] == 0 {
                    going.push(Going { value, is_param: false, user: usize::MAX });
                    places[value] = going.len();
                }
                let number = places[value] - 1;
                if std::mem::replace(&mut going[number].user, region) != region {
                    users.push((number, region));
                }
            }
        }
        let users = Lists::new(going.len(), users.iter().copied());
        (going, users)
    }

    fn new_slot(&mut self, words: u32) -> u32 {
        self.slots += words;
        self.slots - words
    }

    /// Where a value is kept, if it is.
    pub fn of(&self, value: Value) -> Kept {
        self.kept[value]
    }

    /// The slot that a region loads a value from; none if it has the value itself.
    pub fn source(&self, value: Value, region: usize) -> Option<u32> {
        let Kept { edge, slot, made } = self.kept[value];
        slot.filter(|_| edge.is_some() || made != region)
    }
}
