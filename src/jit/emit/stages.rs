//! Stages: a long function of one block is several loops, one after the other.
//!
//! A processor overlaps groups of vertices only as far as it looks ahead, some hundred instructions. Where a chain of dependent ones
//! is as long as that (a root, a quotient, a polynomial), it waits. So a function is cut where few values go on, and each part, a
//! *stage*, is a loop of its own over the groups of a *tile*: the rounds of a short loop overlap. What goes on lies in memory
//! meanwhile, in a *record* for each group. The loops are in [`tile`](super::tile).

use super::flow::{Flow, Flowing};
use super::homes::Homes;
use super::plan::Plan;
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::op::Effect;
use shaderjit_ir::{Block, Function, Inst, Op, Type};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Groups of a tile: enough that beginning a loop costs little, few enough that their records stay close.
pub const TILE: usize = 16;

/// The most bytes of a record. Where more goes on than that, memory is slower than what there is to wait for.
const RECORD_BYTES: usize = 4096;

/// A function of so few native instructions is not cut.
const SHORT: usize = 96;

/// A stage waits for its longest chain, and fewer of its rounds overlap the longer it is: so many native instructions times steps
/// of the chain cost as much as a memory access.
const WAIT: usize = 12;

/// What another stage costs, in memory accesses: its loop, and that its end is not foreseen.
const STAGE: usize = 16;

/// The most native instructions of a stage that is tried.
const LONGEST: usize = 128;

/// Native instructions from one place where a stage may end to the next.
const SPACING: usize = 8;

/// Cuts a function into stages, and gives what goes on from one to another its place in the record. Returns where each stage ends,
/// as a number of instructions of the one block; `None` if there is one stage.
pub fn find(func: &Function, block: Block, plan: &Plan) -> Option<(Vec<usize>, Homes)> {
    let insts = &func.blocks[block].insts;
    if plan.by_rows || !can_be_cut(func, block) {
        return None;
    }
    let flow = Flow::find(func, insts, plan);
    if flow.steps.iter().map(|step| step.weight).sum::<usize>() <= SHORT {
        return None;
    }
    let ends = cheapest(&flow, &candidates(&flow, func, insts));
    if ends.len() < 2 {
        return None;
    }
    let mut homes = Homes::default();
    // Places that are free from a stage on: no group comes to a stage before all have left the one before it.
    let mut free: BinaryHeap<Reverse<(usize, u32)>> = BinaryHeap::new();
    let stage_of = |at: u32| ends.partition_point(|&end| end <= at as usize);
    for &Flowing { value, made, last_use, .. } in &flow.values {
        let (stage, last) = (stage_of(made), stage_of(last_use));
        if stage < last {
            let freed = free.peek().is_some_and(|Reverse((from, _))| *from <= stage).then(|| free.pop()).flatten();
            let place = freed.map_or_else(|| homes.new_place(plan.groups), |Reverse((_, place))| place);
            homes.add(value, stage as u32 + 1, place);
            free.push(Reverse((last + 1, place)));
        }
    }
    (homes.bytes() <= RECORD_BYTES).then_some((ends, homes))
}

/// Whether a block can be cut: all that it makes can be stored, and nothing it does is seen before the end.
pub fn can_be_cut(func: &Function, block: Block) -> bool {
    let is_word = |ty| !matches!(ty, Type::F64 | Type::Row);
    func.blocks[block].insts.iter().map(|&inst| &func.insts[inst]).all(|inst| {
        (inst.op.effect() == Effect::Pure || matches!(inst.op, Op::Output | Op::GuardOrdered))
            && inst.result.is_none_or(|result| is_word(func.ty(result)))
            && inst.args.iter().all(|&arg| is_word(func.ty(arg)))
    })
}

/// Where a stage may end: of each few places that where the fewest values go on. The last one is the function's end.
fn candidates(flow: &Flow, func: &Function, insts: &[Inst]) -> Vec<usize> {
    let mut change = vec![0isize; insts.len() + 1];
    for &Flowing { made, last_use, .. } in &flow.values {
        change[made as usize + 1] += 1;
        change[last_use as usize + 1] -= 1;
    }
    let (mut candidates, mut best, mut live, mut weight) = (Vec::new(), None, change[0], 0);
    for at in 1..insts.len() {
        live += change[at];
        weight += flow.steps[at - 1].weight;
        if !is_one_element(&func.insts[insts[at - 1]], &func.insts[insts[at]])
            && best.is_none_or(|(least, _)| live <= least)
        {
            best = Some((live, at));
        }
        if weight >= SPACING
            && let Some((_, at)) = best.take()
        {
            candidates.push(at);
            weight = 0;
        }
    }
    candidates.push(insts.len());
    candidates
}

/// Whether two instructions are about one element of an input or an output, which comes or goes as a whole.
fn is_one_element(a: &InstData, b: &InstData) -> bool {
    let element = |inst: &InstData| match (inst.op, inst.imm) {
        (Op::Input | Op::Output, Imm::Element { element, .. }) => Some((inst.op, element)),
        _ => None,
    };
    element(a).is_some() && element(a) == element(b)
}

/// The cheapest choice of candidates.
fn cheapest(flow: &Flow, candidates: &[usize]) -> Vec<usize> {
    // For each number of candidates the least cost up to there, and where the last stage begins.
    let mut best = vec![(usize::MAX, 0); candidates.len() + 1];
    best[0].0 = 0;
    // Of each value the steps of the chain that ends with it, and whether the stage at hand has loaded it.
    let (mut chains, mut loaded_by) = (vec![0; flow.values.len()], vec![0; flow.values.len()]);
    for begin in 0..candidates.len() {
        let first = if begin == 0 { 0 } else { candidates[begin - 1] };
        let (mut at, mut weight, mut longest, mut accesses) = (first, 0, 0, STAGE);
        for (number, &end) in candidates.iter().enumerate().skip(begin) {
            for step in &flow.steps[at..end] {
                weight += step.weight;
                let mut chain = 0;
                for value in flow.uses(step) {
                    let Flowing { made, last_use, fetching, .. } = flow.values[value];
                    if made as usize >= first {
                        // It need not be stored, after all.
                        accesses -= usize::from(last_use as usize == at);
                        chain = chains[value].max(chain);
                    } else if loaded_by[value] != begin + 1 {
                        loaded_by[value] = begin + 1;
                        accesses += fetching;
                    }
                }
                chain += step.latency;
                longest = chain.max(longest);
                for value in step.makes.clone() {
                    chains[value] = chain;
                    accesses += usize::from(flow.values[value].last_use as usize > at);
                }
                at += 1;
            }
            let cost = best[begin].0 + weight * longest / WAIT + accesses;
            if cost < best[number + 1].0 {
                best[number + 1] = (cost, begin);
            }
            if weight > LONGEST {
                break;
            }
        }
    }
    let (mut ends, mut end) = (Vec::new(), candidates.len());
    while end > 0 {
        ends.push(candidates[end - 1]);
        end = best[end].1;
    }
    ends.reverse();
    ends
}

/// How many stages a function has, if lanes are rows of four words.
#[cfg(test)]
pub fn count(func: &Function, groups: u8) -> usize {
    use crate::attribute::AttributeFormat;
    use crate::jit::{CompileOptions, Layout};
    let (inputs, outputs) = (vec![AttributeFormat::U32x4; func.inputs as usize], vec![4; func.outputs as usize]);
    let plan = Plan::new(func, &Layout { inputs, outputs }, &CompileOptions { groups });
    plan.expect("the function compiles").stages.len()
}
