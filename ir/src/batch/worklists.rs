//! Worklists of waves, the active sets of a tile: which waves run a block.
//!
//! A tile takes each branch once. Where its waves may want to go different ways, which is where code asks whether any
//! lane ([`Op::Any`]) goes on, those with such a lane are *listed* and run what follows, while the others wait where
//! the waves meet again: behind the loop that they have left, or behind the branch that they do not take. So every
//! wave does what it would do by itself, and nothing else.

use super::BatchProgram;
use super::graph::{BlockSet, Graph};
use crate::function::Terminator;
use crate::{Function, Op, Value};
use cranelift_entity::SecondaryMap;

/// Blocks that only the waves of a worklist run.
#[derive(Clone, Debug)]
struct Worklist {
    blocks: BlockSet,
    outer: Option<usize>,
}

/// A branch that waves take by themselves.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// Groups with any such lane go on.
    pub mask: Value,
    /// What the branch asks for.
    pub any: Value,
    /// The worklist that they go on in.
    pub worklist: usize,
}

/// The worklists of a function.
#[derive(Clone, Debug, Default)]
pub struct Worklists {
    worklists: Vec<Worklist>,
    /// For each block its worklist. The others are run by all waves.
    of: Vec<Option<usize>>,
    /// For each block, what its branch does to waves.
    splits: Vec<Option<Split>>,
    /// For each block, the worklists of the loops that an edge of it enters.
    entered: Vec<Vec<usize>>,
}

impl Worklists {
    /// Finds them; `None` if waves part otherwise than said above.
    pub(super) fn find(func: &Function, program: &BatchProgram, graph: &Graph) -> Option<Worklists> {
        let count = program.order().len();
        let mut worklists = Worklists {
            worklists: Vec::new(),
            of: vec![None; count],
            splits: vec![None; count],
            entered: vec![Vec::new(); count],
        };
        for block in 0..count {
            if let Some((any, mask)) = question(func, program, block)? {
                let worklist = worklists.worklists.len();
                let blocks = going_on(func, program, graph, block)?;
                worklists.worklists.push(Worklist { blocks, outer: None });
                worklists.splits[block] = Some(Split { mask, any, worklist });
            }
        }
        for worklist in 0..worklists.worklists.len() {
            let blocks = worklists.worklists[worklist].blocks;
            worklists.worklists[worklist].outer =
                worklists.innermost(|other| other != blocks && other & blocks == blocks)?;
        }
        for block in 0..count {
            worklists.of[block] = worklists.innermost(|blocks| blocks >> block & 1 == 1)?;
        }
        for block in 0..count {
            let Some(Split { worklist, .. }) = worklists.splits[block] else { continue };
            let is_loop = worklists.worklists[worklist].blocks >> block & 1 == 1;
            // Who asks is who has come here.
            let asked = if is_loop { Some(worklist) } else { worklists.worklists[worklist].outer };
            if worklists.of[block] != asked {
                return None;
            }
            if is_loop {
                let head = worklists.worklists[worklist].blocks.trailing_zeros() as usize;
                for from in graph.iter(graph.predecessors[head] & !worklists.worklists[worklist].blocks) {
                    worklists.entered[from].push(worklist);
                }
            }
        }
        Some(worklists)
    }

    /// The smallest worklist of those whose blocks are fit; nothing if that is not one worklist.
    fn innermost(&self, is_fit: impl Fn(BlockSet) -> bool) -> Option<Option<usize>> {
        let size = |worklist: usize| self.worklists[worklist].blocks.count_ones();
        let fit = |&worklist: &usize| is_fit(self.worklists[worklist].blocks);
        let Some(least) = (0..self.worklists.len()).filter(fit).min_by_key(|&worklist| size(worklist)) else {
            return Some(None);
        };
        let is_one =
            (0..self.worklists.len()).filter(fit).filter(|&worklist| size(worklist) == size(least)).count() == 1;
        is_one.then_some(Some(least))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.worklists.len()
    }

    /// How many places they take: their own, and if there are any, that of all waves behind them.
    pub fn places(&self) -> usize {
        if self.worklists.is_empty() { 0 } else { self.worklists.len() + 1 }
    }

    /// The worklist that a block is run by.
    pub fn of(&self, block: usize) -> Option<usize> {
        self.of.get(block).copied().flatten()
    }

    /// The worklist that a worklist's waves come from.
    pub fn outer(&self, worklist: usize) -> Option<usize> {
        self.worklists[worklist].outer
    }

    /// What the branch of a block does to waves.
    pub fn split(&self, block: usize) -> Option<Split> {
        self.splits.get(block).copied().flatten()
    }

    /// The worklists of the loops that an edge of a block enters.
    pub fn entered(&self, block: usize) -> &[usize] {
        self.entered.get(block).map_or(&[], Vec::as_slice)
    }
}

/// What a block asks of lanes and the lanes it asks; the inner `None` if nothing, the outer one if anything but its
/// branch uses the answer.
fn question(func: &Function, program: &BatchProgram, block: usize) -> Option<Option<(Value, Value)>> {
    let data = &func.blocks[program.order()[block]];
    let insts = data.insts.iter().map(|&inst| &func.insts[inst]);
    let mut asked = insts.clone().filter(|inst| inst.op == Op::Any && !program.uniform().contains(inst.args[0]));
    let Some(inst) = asked.next() else { return Some(None) };
    let any = inst.result?;
    let is_branch = matches!(*data.terminator(), Terminator::BrIf { condition, .. } if condition == any);
    (asked.next().is_none() && is_branch && program.uses()[any].others == 1).then_some(Some((any, inst.args[0])))
}

/// The blocks that waves run which go on at a block's branch.
fn going_on(func: &Function, program: &BatchProgram, graph: &Graph, block: usize) -> Option<BlockSet> {
    let Terminator::BrIf { then_call, else_call, .. } = func.blocks[program.order()[block]].terminator() else {
        return None;
    };
    // Groups that do not go on would pay for that edge, the tile does not.
    if program.costs().edge(program.order()[block], else_call.block) > 0 {
        return None;
    }
    let [inside, behind] = [then_call, else_call].map(|call| graph.number(call.block));
    // What is the same in all lanes would be that of the waves that come last.
    let is_uniform = |&param: &Value| program.uniform().contains(param);
    if inside == behind || func.blocks[program.order()[behind]].params.iter().any(is_uniform) {
        return None;
    }
    let exits = |blocks: BlockSet| {
        let edges =
            graph.iter(blocks).flat_map(|from| graph.iter(graph.successors[from] & !blocks).map(move |to| (from, to)));
        edges.collect::<Vec<(usize, usize)>>()
    };
    if let Some(body) = graph.innermost_loop(block).filter(|body| body >> behind & 1 == 0) {
        let is_left_here = body >> inside & 1 == 1 && exits(body) == [(block, behind)];
        return (is_left_here && !uniforms_escape(func, program, graph, body)).then_some(body);
    }
    let blocks = graph.dominated_by(inside);
    let returns = |block: usize| *func.blocks[program.order()[block]].terminator() == Terminator::Return;
    let is_branch = graph.predecessors[inside] == 1 << block
        && exits(blocks).iter().all(|&(_, to)| to == behind)
        && !graph.iter(blocks).any(returns);
    is_branch.then_some(blocks)
}

/// Whether anything behind a loop uses what is the same in all lanes in it.
fn uniforms_escape(func: &Function, program: &BatchProgram, graph: &Graph, body: BlockSet) -> bool {
    let mut made = SecondaryMap::<Value, bool>::with_capacity(func.values.len());
    for block in graph.iter(body) {
        let data = &func.blocks[program.order()[block]];
        let results = data.insts.iter().filter_map(|&inst| func.insts[inst].result);
        data.params.iter().copied().chain(results).for_each(|value| made[value] = true);
    }
    let escapes = |value: Value| {
        let is_same = program.uniform().contains(value)
            && func.constant(value).is_none()
            && !program.call_values().contains(value);
        made[value] && is_same
    };
    (0..program.order().len()).filter(|block| body >> block & 1 == 0).any(|block| {
        let data = &func.blocks[program.order()[block]];
        let mut args = data.insts.iter().flat_map(|&inst| func.insts[inst].args.iter().copied());
        args.any(escapes) || data.terminator().uses().any(escapes)
    })
}
