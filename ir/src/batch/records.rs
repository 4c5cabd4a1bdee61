//! Colouring of live intervals over phases: the slots of what goes on from one [phase](super::phases) to another, and
//! of what blocks are given.

use super::BatchProgram;
use super::flow::{ELSEWHERE, Flow, Flowing};
use super::graph::{BlockSet, Graph};
use super::spill::Slots;
use crate::Function;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most bytes of a record. Where more goes on than that, memory is slower than what there is to wait for.
const RECORD_BYTES: usize = 4096;

/// A value's stay in a record, in phases.
struct Stay {
    /// Number of the value in the flow.
    value: usize,
    first: usize,
    last: usize,
    /// From this phase on it is used from there.
    from: usize,
}

/// Gives each value that goes on its place. `ends` are the phases' ends, as numbers of steps. `None` if the records
/// would be too large, or if a branch gives to one block what another block that it may take has no copy of.
pub(super) fn find(
    func: &Function,
    program: &BatchProgram,
    graph: &Graph,
    flow: &Flow,
    ends: &[usize],
) -> Option<Slots> {
    let live: Vec<BlockSet> = flow.values.iter().map(|value| live_into(graph, value)).collect();
    if !params_are_free(func, program, graph, flow, &live) {
        return None;
    }
    let mut stays: Vec<Stay> =
        (0..flow.values.len()).filter_map(|value| stay(graph, flow, ends, value, live[value])).collect();
    stays.sort_by_key(|stay| stay.first);
    let mut slots = Slots::default();
    // Places that are free from a phase on: no wave comes to a phase before all have left the one before it.
    let mut free: BinaryHeap<Reverse<(usize, u32)>> = BinaryHeap::new();
    for Stay { value, first, last, from } in stays {
        let freed = free.peek().is_some_and(|Reverse((from, _))| *from <= first).then(|| free.pop()).flatten();
        let place = freed.map_or_else(|| slots.new_place(program.vectors()), |Reverse((_, place))| place);
        slots.add(flow.values[value].value, from as u32, place);
        free.push(Reverse((last + 1, place)));
    }
    (slots.bytes() <= RECORD_BYTES).then_some(slots)
}

/// The blocks that need a value when they begin.
fn live_into(graph: &Graph, value: &Flowing) -> BlockSet {
    let own = 1 << value.block;
    if value.used_in == 0 { 0 } else { graph.before(value.used_in, own) & !own }
}

/// A value's stay; none if it goes nowhere.
fn stay(graph: &Graph, flow: &Flow, ends: &[usize], number: usize, live: BlockSet) -> Option<Stay> {
    let Flowing { block, made, last_use, .. } = flow.values[number];
    let phase_of = |step: usize| ends.partition_point(|&end| end <= step).min(ends.len() - 1);
    let own = &flow.blocks[block as usize];
    let is_param = made as usize == own.start && block > 0;
    let first = phase_of(made as usize);
    let leaves = last_use == ELSEWHERE;
    let mut stay = Stay { value: number, first, last: first, from: first + usize::from(!is_param) };
    let mut reach = |phase: usize| (stay.first, stay.last) = (stay.first.min(phase), stay.last.max(phase));
    reach(phase_of(if leaves { own.end - 1 } else { last_use as usize }));
    for block in graph.iter(live) {
        let steps = &flow.blocks[block];
        reach(phase_of(steps.start));
        reach(phase_of(steps.end - 1));
    }
    if is_param {
        // Edges set it.
        graph.iter(graph.predecessors[block as usize]).for_each(|from| reach(phase_of(flow.blocks[from].end - 1)));
    }
    (is_param || stay.first < stay.last).then_some(stay)
}

/// Whether each branch can set the parameters of all blocks that it may take: no other one needs what they were before.
fn params_are_free(func: &Function, program: &BatchProgram, graph: &Graph, flow: &Flow, live: &[BlockSet]) -> bool {
    program.order().iter().enumerate().all(|(from, &block)| {
        let mut targets: BlockSet = 0;
        func.blocks[block].terminator().calls().all(|call| {
            let target = graph.number(call.block);
            let mut params = flow.steps[flow.blocks[target].start].makes.clone();
            let is_again = targets >> target & 1 == 1;
            targets |= 1 << target;
            let others = graph.successors[from] & !(1 << target);
            params.all(|param| !is_again && live[param] & others == 0)
        })
    })
}
