//! Worklists of waves, the active sets of a tile: which waves run a region.
//!
//! A tile takes each branch between regions once. Where its waves may want to go different ways, which is where code
//! asks whether any lane ([`Op::Any`]) goes on, those with such a lane are *listed* and run what follows, while the
//! others wait where the waves meet again: behind the loop that they have left, or behind the branch that they do not
//! take. So every wave does what it would do by itself, and nothing else.

use super::cut::CutError;
use crate::fuel::EdgeCosts;
use crate::function::{Terminator, ValueDef};
use crate::graph::{BlockSet, Graph};
use crate::set::EntitySet;
use crate::uses::Uses;
use crate::{Block, Inst, Op, Value};
use cranelift_entity::SecondaryMap;

/// The waves that go on at a branch which waves take by themselves.
struct Worklist {
    /// The block of the branch.
    branch: Block,
    /// Where the others wait.
    behind: Block,
    /// The blocks that only these waves run.
    blocks: BlockSet,
    outer: Option<u32>,
}

/// What a branch that waves take by themselves does to them.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// The instruction that asks whether any lane goes on.
    pub any: Inst,
    /// The lanes that go on.
    pub mask: Value,
    /// The worklist that their waves go on in.
    pub worklist: u32,
}

/// The worklists of a function.
#[derive(Default)]
pub struct Worklists {
    worklists: Vec<Worklist>,
    /// For each block the worklist of the waves that run it; none if that is all.
    pub of: SecondaryMap<Block, Option<u32>>,
    /// For each block, what its branch does to waves.
    pub splits: SecondaryMap<Block, Option<Split>>,
    /// For each block, the worklists of the loops that an edge of it enters.
    pub entered: SecondaryMap<Block, Vec<u32>>,
}

impl Worklists {
    /// Finds those of the branches of these blocks.
    ///
    /// # Errors
    /// [`CutError::Branch`] if waves part otherwise than said above.
    pub fn find(graph: &Graph<'_>, costs: &EdgeCosts, branches: &[Block]) -> Result<Worklists, CutError> {
        let mut worklists = Worklists::default();
        let Some(&first) = branches.first() else { return Ok(worklists) };
        let uses = Uses::count(graph.func, graph.order());
        for (number, &branch) in (0..).zip(branches) {
            let refused = CutError::Branch(branch);
            let (any, mask) = question(graph, &uses, branch).ok_or(refused)?;
            let (blocks, behind) = going_on(graph, costs, branch).ok_or(refused)?;
            worklists.splits[branch] = Some(Split { any, mask, worklist: number });
            worklists.worklists.push(Worklist { branch, behind, blocks, outer: None });
        }
        let refused = CutError::Branch(first);
        for number in 0..branches.len() {
            let blocks = &worklists.worklists[number].blocks;
            let outer = worklists.innermost(|other| other.len() > blocks.len() && other.has_all(blocks));
            worklists.worklists[number].outer = outer.ok_or(refused)?;
        }
        for &block in graph.order() {
            worklists.of[block] = worklists.innermost(|blocks| blocks.has(block)).ok_or(refused)?;
        }
        for (number, &Worklist { branch, ref blocks, outer, .. }) in (0..).zip(&worklists.worklists) {
            let is_loop = blocks.has(branch);
            // Who asks is who has come here.
            if worklists.of[branch] != if is_loop { Some(number) } else { outer } {
                return Err(CutError::Branch(branch));
            }
            if is_loop {
                let outside = graph.predecessors[blocks[0]].iter().filter(|&&from| !blocks.has(from));
                outside.for_each(|&from| worklists.entered[from].push(number));
            }
        }
        Ok(worklists)
    }

    /// The smallest worklist of those whose blocks are fit; nothing if that is not one worklist.
    fn innermost(&self, is_fit: impl Fn(&BlockSet) -> bool) -> Option<Option<u32>> {
        let fit: Vec<(usize, u32)> = (0..)
            .zip(&self.worklists)
            .filter(|(_, worklist)| is_fit(&worklist.blocks))
            .map(|(number, worklist)| (worklist.blocks.len(), number))
            .collect();
        let Some(&(least, number)) = fit.iter().min() else { return Some(None) };
        let is_one = fit.iter().filter(|&&(size, _)| size == least).count() == 1;
        is_one.then_some(Some(number))
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.worklists.len() as u32
    }

    /// The worklist that a worklist's waves come from; none if that is all.
    pub fn outer(&self, worklist: u32) -> Option<u32> {
        self.worklists[worklist as usize].outer
    }

    /// The values that waves have different ones of because they part, though their lanes have the same: parameters of
    /// the blocks where waves meet again, and what the rounds of a loop make and blocks behind it use.
    pub fn parted(&self, graph: &Graph<'_>) -> Vec<Value> {
        let mut parted = Vec::new();
        for Worklist { branch, behind, blocks, .. } in &self.worklists {
            parted.extend(&graph.func.blocks[*behind].params);
            if blocks.has(*branch) {
                let mut made = EntitySet::<Value>::with_capacity(graph.func.values.len());
                made.extend(blocks.iter().flat_map(|&block| graph.func.defs_in(block)));
                let outside = graph.order().iter().filter(|&&block| !blocks.has(block));
                let used = outside.flat_map(|&block| graph.func.uses_in(block));
                parted.extend(used.filter(|&value| made.contains(value)));
            }
        }
        parted
    }
}

/// The instruction by which a block asks lanes at its end, and the lanes it asks.
fn question(graph: &Graph<'_>, uses: &SecondaryMap<Value, Uses>, block: Block) -> Option<(Inst, Value)> {
    let condition = graph.func.blocks[block].terminator().selector()?;
    let ValueDef::Inst(any) = graph.func.values[condition].def else { return None };
    let is_here = uses[condition].others == 1 && graph.func.blocks[block].insts.contains(&any);
    (is_here && graph.func.insts[any].op == Op::Any).then(|| (any, graph.func.insts[any].args[0]))
}

/// The blocks that waves run which go on at a block's branch, and where the others wait.
fn going_on(graph: &Graph<'_>, costs: &EdgeCosts, block: Block) -> Option<(BlockSet, Block)> {
    let Terminator::BrIf { then_call, else_call, .. } = graph.func.blocks[block].terminator() else { return None };
    let (inside, behind) = (then_call.block, else_call.block);
    // Waves that do not go on would pay for that edge, the tile does not.
    if costs.edge(block, behind) > 0 || inside == behind {
        return None;
    }
    let exits = |blocks: &BlockSet| -> Vec<(Block, Block)> {
        let edges = blocks.iter().flat_map(|&from| graph.successors[from].iter().map(move |&to| (from, to)));
        edges.filter(|&(_, to)| !blocks.has(to)).collect()
    };
    if let Some(body) = graph.innermost_loop(block).filter(|body| !body.has(behind)) {
        let is_left_here = body.has(inside) && exits(body) == [(block, behind)];
        return is_left_here.then(|| (body.clone(), behind));
    }
    let blocks = graph.dominated_by(inside);
    let returns = |&block: &Block| *graph.func.blocks[block].terminator() == Terminator::Return;
    let is_branch = graph.predecessors[inside] == [block]
        && exits(&blocks).iter().all(|&(_, to)| to == behind)
        && !blocks.iter().any(returns);
    is_branch.then_some((blocks, behind))
}
