//! Single-entry regions of the control-flow graph: what lies between the cuts of a function.
//!
//! Each region begins with its *head*, the only block of it that edges from outside lead to. Edges that leave a region
//! lead to heads, all to one, or else they are the edges of one block that ends the region. So the loops and branches
//! that have no cut inside stay in a region, where each wave takes them by itself, and those that have one lie between
//! regions, where all waves of a tile take them together.

use super::cut::CutError;
use crate::cfg::{self, Lists};
use crate::fuel::EdgeCosts;
use crate::function::Terminator;
use crate::graph::Graph;
use crate::set::EntitySet;
use crate::{Block, Function};
use cranelift_entity::SecondaryMap;

/// How a region ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The function returns.
    Return,
    /// All edges that leave it lead to this head.
    To(Block),
    /// The branch of a block decides where the tile goes on.
    Branch(Block),
}

/// The regions of a function, by their heads in reverse postorder.
pub struct Regions {
    /// The blocks of each in reverse postorder; the first one is its head.
    pub blocks: Lists<Block>,
    /// How each ends.
    pub exits: Vec<Exit>,
    /// The region of each block.
    pub of: SecondaryMap<Block, usize>,
}

/// Looks for regions.
struct Finder<'a> {
    graph: &'a Graph<'a>,
    costs: &'a EdgeCosts,
    heads: EntitySet<Block>,
}

impl Regions {
    /// Finds the largest regions of which these blocks are heads.
    ///
    /// # Errors
    /// [`CutError::Endless`] if waves cannot leave one of them.
    pub fn find(graph: &Graph<'_>, costs: &EdgeCosts, heads: EntitySet<Block>) -> Result<Regions, CutError> {
        let mut finder = Finder { graph, costs, heads };
        loop {
            let (of, blocks) = finder.assign();
            let exits = blocks.iter().map(|blocks| finder.exit(blocks)).collect::<Result<Vec<_>, _>>()?;
            // Whoever ends in several ways is smaller now.
            if let Some(exits) = exits.into_iter().collect::<Option<Vec<Exit>>>() {
                return Ok(Regions { blocks, exits, of });
            }
        }
    }

    /// The block that a region begins with.
    pub fn head(&self, region: usize) -> Block {
        self.blocks[region][0]
    }

    /// The heads that a region may go on at.
    pub fn next(&self, func: &Function, region: usize) -> impl Iterator<Item = Block> {
        let (head, branch) = match self.exits[region] {
            Exit::Return => (None, None),
            Exit::To(head) => (Some(head), None),
            Exit::Branch(block) => (None, Some(block)),
        };
        head.into_iter().chain(branch.into_iter().flat_map(|block| cfg::successors(func, block)))
    }

    /// The blocks of a region that edges to a head come from.
    pub fn leading_to<'r>(&'r self, func: &'r Function, region: usize, head: Block) -> impl Iterator<Item = Block> {
        let leads = move |block: &Block| func.blocks[*block].terminator().calls().any(|call| call.block == head);
        self.blocks[region].iter().copied().filter(leads)
    }
}

impl Finder<'_> {
    /// Gives each block to the region of the block that dominates it immediately. Where edges come from another one, it
    /// is a head: those are the iterated dominance frontier of the heads.
    fn assign(&mut self) -> (SecondaryMap<Block, usize>, Lists<Block>) {
        loop {
            let (mut of, mut count) = (self.graph.func.block_map::<usize>(), 0);
            for &block in self.graph.order() {
                let region = self.graph.idom(block).map(|idom| of[idom]).filter(|_| !self.heads.contains(block));
                of[block] = region.unwrap_or(count);
                count += usize::from(region.is_none());
            }
            let mut is_closed = true;
            for &block in self.graph.order() {
                if self.graph.predecessors[block].iter().any(|&from| of[from] != of[block]) {
                    is_closed &= !self.heads.insert(block);
                }
            }
            if is_closed {
                let blocks = Lists::new(count, self.graph.order().iter().map(|&block| (of[block], block)));
                return (of, blocks);
            }
        }
    }

    /// Where edges of a block lead that do not leave its region.
    fn inside(&self, block: Block) -> impl Iterator<Item = Block> {
        self.graph.successors[block].iter().copied().filter(|&to| !self.heads.contains(to))
    }

    /// Where edges of a block lead that leave its region; nowhere if it returns.
    fn ends(&self, block: Block) -> impl Iterator<Item = Option<Block>> {
        let returns = *self.graph.func.blocks[block].terminator() == Terminator::Return;
        let left = self.graph.successors[block].iter().copied().filter(|&to| self.heads.contains(to));
        left.map(Some).chain(returns.then_some(None))
    }

    /// How a region ends; `None` if it has to be smaller, for which it has more heads now.
    fn exit(&mut self, blocks: &[Block]) -> Result<Option<Exit>, CutError> {
        let leaving: Vec<Block> = blocks.iter().copied().filter(|&block| self.ends(block).next().is_some()).collect();
        let mut targets: Vec<Option<Block>> = leaving.iter().flat_map(|&block| self.ends(block)).collect();
        targets.sort_unstable();
        targets.dedup();
        match (&targets[..], &leaving[..]) {
            ([], _) => return Err(CutError::Endless(blocks[0])),
            ([None], _) => return Ok(Some(Exit::Return)),
            (&[Some(to)], from) if from.len() == 1 || from.iter().all(|&from| self.costs.edge(from, to) == 0) => {
                return Ok(Some(Exit::To(to)));
            }
            (_, &[block]) if self.inside(block).next().is_none() => return Ok(Some(Exit::Branch(block))),
            _ => {}
        }
        self.open(blocks, &leaving, &targets);
        Ok(None)
    }

    /// Makes heads in a region with several ends: what a branch leads to that decides for some of them. If no branch
    /// does, which is where a loop has several ends, what those lead to that leave it.
    fn open(&mut self, blocks: &[Block], leaving: &[Block], targets: &[Option<Block>]) {
        let mut new: Vec<Block> = Vec::new();
        for target in targets {
            let last = leaving.iter().copied().filter(|&block| self.ends(block).any(|end| end == *target)).collect();
            let before = self.graph.before(last, blocks[0]);
            new.extend(before.iter().flat_map(|&block| self.inside(block)).filter(|&to| !before.has(to)));
        }
        if new.is_empty() {
            new.extend(leaving.iter().flat_map(|&block| self.inside(block)));
        }
        if new.is_empty() {
            // Several blocks lead back to one, each for a price of its own.
            new.extend(leaving.iter().copied().filter(|&block| !self.heads.contains(block)));
        }
        self.heads.extend(new);
    }
}
