//! Worklists of waves, the active sets of a tile: which waves run a region.
//!
//! A tile takes each branch between regions once. Where its waves may want to go different ways, which is where code
//! asks whether any lane ([`Op::Any`]) goes on, those with such a lane are *listed* and run what follows, while the
//! others wait where the waves meet again: behind the loop that they have left, or behind the branch that they do not
//! take. So every wave does what it would do by itself, and nothing else.

use super::cut::CutError;
use super::graph::{BlockSet, Graph};
use crate::fuel::EdgeCosts;
use crate::function::Terminator;
use crate::{Block, Function, Inst, Op, Value};

/// A branch that waves take by themselves.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// The instruction that asks whether any lane goes on.
    pub any: Inst,
    /// The lanes that go on.
    pub mask: Value,
    /// The worklist that their waves go on in.
    pub worklist: usize,
}

/// Blocks that only the waves of a worklist run.
#[derive(Clone, Debug)]
struct Worklist {
    blocks: BlockSet,
    outer: Option<usize>,
}

/// The worklists of a function.
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
    /// Finds those of the branches of these blocks.
    ///
    /// # Errors
    /// [`CutError::Branch`] if waves part otherwise than said above.
    pub fn find(
        func: &Function,
        order: &[Block],
        graph: &Graph,
        costs: &EdgeCosts,
        branches: &[usize],
    ) -> Result<Worklists, CutError> {
        let count = order.len();
        let mut worklists = Worklists {
            worklists: Vec::new(),
            of: vec![None; count],
            splits: vec![None; count],
            entered: vec![Vec::new(); count],
        };
        for &block in branches {
            let refused = CutError::Branch(order[block]);
            let (any, mask) = question(func, order[block]).ok_or(refused)?;
            let blocks = going_on(func, order, graph, costs, block).ok_or(refused)?;
            worklists.splits[block] = Some(Split { any, mask, worklist: worklists.worklists.len() });
            worklists.worklists.push(Worklist { blocks, outer: None });
        }
        let Some(&first) = branches.first() else { return Ok(worklists) };
        let refused = CutError::Branch(order[first]);
        for worklist in 0..worklists.worklists.len() {
            let blocks = &worklists.worklists[worklist].blocks;
            let outer = worklists.innermost(|other| other != blocks && other.contains_all(blocks));
            worklists.worklists[worklist].outer = outer.ok_or(refused)?;
        }
        for block in 0..count {
            worklists.of[block] = worklists.innermost(|blocks| blocks.contains(block)).ok_or(refused)?;
        }
        for &block in branches {
            let Some(Split { worklist, .. }) = worklists.splits[block] else { continue };
            let Worklist { blocks, outer } = &worklists.worklists[worklist];
            let is_loop = blocks.contains(block);
            // Who asks is who has come here.
            let asked = if is_loop { Some(worklist) } else { *outer };
            if worklists.of[block] != asked {
                return Err(CutError::Branch(order[block]));
            }
            if is_loop {
                let head = blocks.iter().next().expect("it has the block that asks");
                let outside: Vec<usize> =
                    graph.predecessors[head].iter().copied().filter(|&from| !blocks.contains(from)).collect();
                outside.into_iter().for_each(|from| worklists.entered[from].push(worklist));
            }
        }
        Ok(worklists)
    }

    /// The smallest worklist of those whose blocks are fit; nothing if that is not one worklist.
    fn innermost(&self, is_fit: impl Fn(&BlockSet) -> bool) -> Option<Option<usize>> {
        let size = |worklist: usize| self.worklists[worklist].blocks.len();
        let fit = |&worklist: &usize| is_fit(&self.worklists[worklist].blocks);
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

    /// The worklist that a block is run by.
    pub fn of(&self, block: usize) -> Option<usize> {
        self.of[block]
    }

    /// The worklist that a worklist's waves come from.
    pub fn outer(&self, worklist: usize) -> Option<usize> {
        self.worklists[worklist].outer
    }

    /// What the branch of a block does to waves.
    pub fn split(&self, block: usize) -> Option<Split> {
        self.splits[block]
    }

    /// The worklists of the loops that an edge of a block enters.
    pub fn entered(&self, block: usize) -> &[usize] {
        &self.entered[block]
    }

    /// The values that waves have different ones of because they part, though their lanes have the same: parameters of
    /// the blocks where waves meet again, and what the rounds of a loop make and blocks behind it use. `is_same` are
    /// those that a tile would have once.
    pub fn parted(
        &self,
        func: &Function,
        order: &[Block],
        branches: &[usize],
        is_same: impl Fn(Value) -> bool,
    ) -> Vec<Value> {
        let mut parted = Vec::new();
        for &block in branches {
            let (Terminator::BrIf { else_call, .. }, Some(split)) =
                (func.blocks[order[block]].terminator(), self.splits[block])
            else {
                continue;
            };
            parted.extend(func.blocks[else_call.block].params.iter().copied().filter(|&param| is_same(param)));
            let Worklist { blocks, .. } = &self.worklists[split.worklist];
            if blocks.contains(block) {
                parted.extend(escaping(func, order, blocks).into_iter().filter(|&value| is_same(value)));
            }
        }
        parted
    }
}

/// The instruction by which a block asks lanes at its end, and the lanes it asks.
fn question(func: &Function, block: Block) -> Option<(Inst, Value)> {
    let Terminator::BrIf { condition, .. } = *func.blocks[block].terminator() else { return None };
    let insts = func.blocks[block].insts.iter().copied();
    let any = insts.into_iter().find(|&inst| func.insts[inst].result == Some(condition))?;
    (func.insts[any].op == Op::Any && uses(func, condition) == 1).then_some((any, func.insts[any].args[0]))
}

/// How often a value is used.
fn uses(func: &Function, value: Value) -> usize {
    let blocks = func.layout.iter().map(|&block| &func.blocks[block]);
    let uses = blocks.flat_map(|data| {
        let args = data.insts.iter().flat_map(|&inst| func.insts[inst].args.iter().copied());
        args.chain(data.terminator().uses())
    });
    uses.filter(|&used| used == value).count()
}

/// The blocks that waves run which go on at a block's branch.
fn going_on(func: &Function, order: &[Block], graph: &Graph, costs: &EdgeCosts, block: usize) -> Option<BlockSet> {
    let Terminator::BrIf { then_call, else_call, .. } = func.blocks[order[block]].terminator() else {
        return None;
    };
    // Waves that do not go on would pay for that edge, the tile does not.
    if costs.edge(order[block], else_call.block) > 0 {
        return None;
    }
    let [inside, behind] = [then_call, else_call].map(|call| graph.number(call.block));
    if inside == behind {
        return None;
    }
    let exits = |blocks: &BlockSet| {
        let left = blocks.iter().flat_map(|from| graph.successors[from].iter().map(move |&to| (from, to)));
        left.filter(|&(_, to)| !blocks.contains(to)).collect::<Vec<(usize, usize)>>()
    };
    if let Some(body) = graph.innermost_loop(block).filter(|body| !body.contains(behind)) {
        let is_left_here = body.contains(inside) && exits(body) == [(block, behind)];
        return is_left_here.then(|| body.clone());
    }
    let blocks = graph.dominated_by(inside);
    let returns = |block: usize| *func.blocks[order[block]].terminator() == Terminator::Return;
    let is_branch = graph.predecessors[inside] == [block]
        && exits(&blocks).iter().all(|&(_, to)| to == behind)
        && !blocks.iter().any(returns);
    is_branch.then_some(blocks)
}

/// What some blocks make and others use.
fn escaping(func: &Function, order: &[Block], blocks: &BlockSet) -> Vec<Value> {
    let mut made = cranelift_entity::EntitySet::<Value>::with_capacity(func.values.len());
    for block in blocks.iter() {
        let data = &func.blocks[order[block]];
        let results = data.insts.iter().filter_map(|&inst| func.insts[inst].result);
        data.params.iter().copied().chain(results).for_each(|value| _ = made.insert(value));
    }
    let outside = (0..order.len()).filter(|&block| !blocks.contains(block)).map(|block| &func.blocks[order[block]]);
    let used = outside.flat_map(|data| {
        let args = data.insts.iter().flat_map(|&inst| func.insts[inst].args.iter().copied());
        args.chain(data.terminator().uses())
    });
    used.filter(|&value| made.contains(value)).collect()
}
