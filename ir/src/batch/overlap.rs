//! Loop distribution over a tile of waves: a long function becomes several loops, its *phases*.
//!
//! A processor overlaps waves only as far as it looks ahead, some hundred instructions. Where a chain of dependent ones
//! is as long as that (a root, a quotient, a polynomial), it waits. So a function is cut at its branches and where few
//! values go on, and each part is a loop of its own over the waves of a *tile*: the rounds of a short loop overlap.
//! Here is decided where; [`cut`](super::cut) does it.

use super::cut::Cuts;
use super::flow::{ELSEWHERE, Flow, Flowing};
use super::plan::Planner;
use super::{Parts, is_of_run};
use crate::function::{Imm, InstData, Terminator};
use crate::graph::Graph;
use crate::op::Effect;
use crate::texture::is_access;
use crate::{Block, Function, Inst, Op, Type, Value};
use std::ops::Range;

/// A function of so few native instructions is not cut, if it has no loops.
const SHORT: usize = 96;

/// The estimated stall of a phase, in memory accesses, is the steps of the chain in front of each of its native
/// instructions, all added up, divided by this: so long they wait in the processor's scheduler, and the fewer rounds of
/// the phase have room there. Values of sixteen lanes take a cache line each, so accesses count for more beside stalls.
fn wait(lanes: u8) -> usize {
    if lanes > 8 { 6 } else { 4 }
}

/// A function is cut only if that saves so many tenths of an access for each of its native instructions, those of its
/// loops if it has any: what edges and phases cost besides is not counted. Fitted to the programs of
/// `docs/tuning.md`, timed cut and whole.
fn worth(lanes: u8) -> usize {
    match lanes {
        ..8 => 3,
        8 => 10,
        _ => 5,
    }
}

/// What another phase costs, in memory accesses: its loop, and that its end is not foreseen.
const PHASE: usize = 16;

/// What one costs besides in a loop that waves leave one after the other: it finds those that are left on a worklist.
const LISTED: usize = 16;

/// The most native instructions of a phase that is tried, and what it may stall at most: in two it would be cheaper.
const LONGEST: usize = 128;
const MOST_STALL: usize = 256;

/// More instructions than phases have on average: in generated programs those have 38 with eight lanes and 45 with
/// sixteen. So a function that is longer than as many blocks of this length has too many, which needs no trying.
const MANY: usize = 48;

/// Native instructions around a place where a phase may end, to either side, in which none has fewer values that go on:
/// of a long block so many parts, of any block within these bounds. The time to find phases grows with the length over
/// the square of that.
const PARTS: usize = 256;
const AROUND: (usize, usize) = (4, 12);

/// Where there is no such place for so many times as far, a phase may end where the fewest go on.
const STRETCH: usize = 2;

/// The most places to either side that are looked at for each native instruction: some instructions become none.
const PLACES: usize = 8;

/// Where to cut a function for speed; `None` if it had better stay whole, or would have more blocks than that.
pub(super) fn find(planner: &Planner, most_blocks: usize) -> Option<Cuts> {
    let Parts { func, order, uniform, by_rows, lanes, .. } = &planner.program;
    if *by_rows || func.size() > MANY * most_blocks || !can_be_cut(func, order, |value| uniform.contains(value)) {
        return None;
    }
    let loops = Graph::new(func)?.in_loops();
    let flow = Flow::find(func, planner);
    let weight = |steps: &Range<usize>| flow.steps[steps.clone()].iter().map(|step| step.weight).sum::<usize>();
    let insts: usize = flow.blocks.iter().map(weight).sum();
    if loops.is_empty() && insts <= SHORT {
        return None;
    }
    let untried = |&flowing: &Flowing| Tried { flowing, chain: 0, loaded_by: u32::MAX };
    let values = flow.values.iter().map(untried).collect();
    let mut tries = Tries { flow: &flow, wait: wait(*lanes), phase: PHASE, values, costs: Vec::new() };
    // Where there are loops, what runs once counts for little.
    let counts = |block: Block| loops.is_empty() || loops.has(block);
    let blocks = || std::iter::zip(order, &flow.blocks).map(|(&block, steps)| (block, steps));
    let (mut whole, mut counted) = (0, 0);
    for (_, steps) in blocks().filter(|&(block, _)| counts(block)) {
        tries.try_phases(steps.start, &[steps.end]);
        whole += tries.costs[0].0;
        counted += weight(steps);
    }
    // The least that a whole function takes longer if it is to be cut.
    let worth = worth(*lanes) * counted / 10;
    if whole < worth {
        return None;
    }
    let asks = |block: Block| func.insts_in(block).any(|inst| inst.op == Op::Any && !uniform.contains(inst.args[0]));
    let is_left_one_by_one = order.iter().any(|&block| loops.has(block) && asks(block));
    let (mut cuts, mut phases, mut cut) = (Cuts { inside: Vec::new(), around_blocks: true }, 0, 0);
    for (block, steps) in blocks() {
        let data = &func.blocks[block];
        if weight(steps) == 0 && !asks(block) && *data.terminator() != Terminator::Return {
            continue;
        }
        tries.phase = PHASE + if is_left_one_by_one && loops.has(block) { LISTED } else { 0 };
        let (ends, cost) = tries.cheapest(steps.start + 1, &candidates(&flow, func, &data.insts, steps));
        if counts(block) {
            // What edges give goes through memory.
            cut += cost + 2 * flow.steps[steps.end - 1].weight;
        }
        phases += ends.len();
        let points: Vec<usize> = ends[..ends.len() - 1].iter().map(|end| end - steps.start - 1).collect();
        if !points.is_empty() {
            cuts.inside.push((block, points));
        }
    }
    let count = order.len() + cuts.inside.iter().map(|(_, points)| points.len()).sum::<usize>();
    (phases >= 2 && count <= most_blocks && whole >= cut + worth).then_some(cuts)
}

/// Whether a function can be cut: all that its blocks make can be stored, and nothing they do is seen before the end.
/// Rows of runs are in no loop but their own, rows that are uniform are the call's.
pub fn can_be_cut(func: &Function, order: &[Block], is_uniform: impl Fn(Value) -> bool) -> bool {
    let is_made_there = |value: Value| func.def_inst(value).is_some_and(is_of_run);
    let is_word = |value: Value| match func.ty(value) {
        Type::F64 => false,
        Type::Row => is_made_there(value) || is_uniform(value),
        _ => true,
    };
    order.iter().all(|&block| {
        let is_seen_late = |op| matches!(op, Op::Any | Op::Output | Op::OutputRow | Op::GuardOrdered);
        let is_pure = |op: Op| op.effect() == Effect::Pure && !is_access(op);
        func.defs_in(block).all(is_word) && func.insts_in(block).all(|inst| is_pure(inst.op) || is_seen_late(inst.op))
    })
}

/// Where a phase of a block may end, as numbers of steps: where fewer of its values go on than around it. The last one
/// is the block's end.
fn candidates(flow: &Flow, func: &Function, insts: &[Inst], steps: &Range<usize>) -> Vec<usize> {
    let mut change = vec![0isize; steps.len() + 1];
    for Flowing { made, last_use, .. } in flow.steps[steps.clone()].iter().flat_map(|step| &flow.values[step.makes()]) {
        change[*made as usize + 1 - steps.start] += 1;
        if *last_use != ELSEWHERE {
            change[*last_use as usize + 1 - steps.start] -= 1;
        }
    }
    let (mut places, mut live, mut weight) = (Vec::with_capacity(insts.len()), change[0] + change[1], 0);
    for at in 1..insts.len() {
        live += change[at + 1];
        weight += flow.steps[steps.start + at].weight;
        let [before, behind] = [at - 1, at].map(|at| &func.insts[insts[at]]);
        if !is_one_element(before, behind) && !is_one_run(before, behind) {
            places.push(Candidate { step: steps.start + 1 + at, weight, live });
        }
    }
    let around = (weight / PARTS).clamp(AROUND.0, AROUND.1);
    let (mut candidates, mut begin, mut best) = (Vec::new(), 0, None::<Candidate>);
    for (number, &place) in places.iter().enumerate() {
        let before = places[..number].iter().rev().take(PLACES * around);
        let before = before.take_while(|other| other.weight + around > place.weight);
        let behind = places[number + 1..].iter().take(PLACES * around);
        let behind = behind.take_while(|other| other.weight < place.weight + around);
        // Of those with as few the last one.
        let is_least = before.map(|other| other.live).all(|live| live >= place.live)
            && behind.map(|other| other.live).all(|live| live > place.live);
        best = best.filter(|best| best.live < place.live && !is_least).or(Some(place));
        if is_least || place.weight >= begin + STRETCH * around {
            candidates.extend(best.take().map(|best| best.step));
            begin = place.weight;
        }
    }
    candidates.push(steps.end);
    candidates
}

/// A place where a phase may end: the first step behind it, the native instructions in front of it in its block, and
/// how many of the block's values go on.
#[derive(Clone, Copy)]
struct Candidate {
    step: usize,
    weight: usize,
    live: isize,
}

/// Whether two instructions are about one element of an input or an output, which comes or goes as a whole.
fn is_one_element(a: &InstData, b: &InstData) -> bool {
    let element = |inst: &InstData| match (inst.op, inst.imm) {
        (Op::Input | Op::InputWord | Op::Output, Imm::Element { element, .. }) => Some((inst.op, element)),
        _ => None,
    };
    element(a).is_some() && element(a) == element(b)
}

/// Whether two instructions are of one run, or take words of its rows.
fn is_one_run(a: &InstData, b: &InstData) -> bool {
    b.op == Op::RowWord || is_of_run(b) && is_of_run(a) && a.op != Op::OutputRow
}

/// Tries phases.
struct Tries<'a> {
    flow: &'a Flow,
    /// As [`wait`] has it.
    wait: usize,
    /// What each phase costs.
    phase: usize,
    values: Vec<Tried>,
    /// Stalls and memory accesses of what was tried last.
    costs: Vec<(usize, usize)>,
}

/// A value, and what trying notes of it.
struct Tried {
    flowing: Flowing,
    /// The steps of the chain that ends with it, in the last phase that was tried with what makes it.
    chain: u32,
    /// The first step of the last phase that has loaded it.
    loaded_by: u32,
}

impl Tries<'_> {
    /// Finds stalls and memory accesses of the phases from a step to each of some ends, up to one that is too long.
    fn try_phases(&mut self, first: usize, ends: &[usize]) {
        let Tries { flow, wait, phase, values, costs } = self;
        costs.clear();
        let (mut begin, mut weight, mut waits, mut accesses) = (first, 0, 0, *phase);
        // Numbers of steps have 32 bits where they are noted.
        let first = first as u32;
        for &end in ends {
            for (at, step) in (begin as u32..).zip(&flow.steps[begin..end]) {
                let mut chain = 0;
                for value in flow.uses(step) {
                    let Tried { flowing, chain: made, loaded_by } = &mut values[value];
                    if flowing.made >= first {
                        // It need not be stored, after all.
                        accesses -= usize::from(flowing.last_use == at);
                        chain = chain.max(*made);
                    } else if std::mem::replace(loaded_by, first) != first {
                        accesses += flowing.fetching as usize;
                    }
                }
                chain += step.latency as u32;
                for value in &mut values[step.makes()] {
                    value.chain = chain;
                    accesses += usize::from(value.flowing.last_use > at);
                }
                weight += step.weight;
                waits += step.weight * chain as usize;
            }
            let stall = waits / *wait;
            costs.push((stall, accesses));
            if weight > LONGEST || stall > MOST_STALL {
                break;
            }
            begin = end;
        }
    }

    /// The cheapest choice of candidates for the steps from `start` on, and what it costs.
    fn cheapest(&mut self, start: usize, candidates: &[usize]) -> (Vec<usize>, usize) {
        // For each number of candidates the least cost up to there, and where the last phase begins.
        let mut best = vec![(usize::MAX, 0); candidates.len() + 1];
        best[0].0 = 0;
        for begin in 0..candidates.len() {
            let (before, behind) = best.split_at_mut(begin + 1);
            let first = if begin == 0 { start } else { candidates[begin - 1] };
            self.try_phases(first, &candidates[begin..]);
            for (best, (stall, accesses)) in behind.iter_mut().zip(&self.costs) {
                let cost = before[begin].0 + stall + accesses;
                // Of ways that cost the same, that with the shorter last phase.
                if cost <= best.0 {
                    *best = (cost, begin);
                }
            }
        }
        let (mut ends, mut end) = (Vec::new(), candidates.len());
        while end > 0 {
            ends.push(candidates[end - 1]);
            end = best[end].1;
        }
        ends.reverse();
        (ends, best[candidates.len()].0)
    }
}
