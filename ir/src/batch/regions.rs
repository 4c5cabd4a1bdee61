//! Single-entry regions of the control-flow graph: what lies between the cuts of a function.
//!
//! Each region begins with its *head*, the only block of it that edges from outside lead to. Edges that leave a region
//! lead to heads, all to one, or else they are the edges of one block that ends the region. So the loops and branches
//! that have no cut inside stay in a region, where each wave takes them by itself, and those that have one lie between
//! regions, where all waves of a tile take them together.

use super::cut::CutError;
use super::graph::{BlockSet, Graph};
use crate::fuel::EdgeCosts;
use crate::function::Terminator;
use crate::{Block, Function};

/// How a region ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The function returns.
    Return,
    /// All edges that leave it lead to the head of this number. They come from these blocks.
    To(usize, Vec<usize>),
    /// The branch of a block decides where the tile goes on.
    Branch(usize),
}

/// A region. Blocks are named by their number in reverse postorder.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its blocks, ascending; the first one is its head.
    pub blocks: Vec<usize>,
    pub exit: Exit,
}

/// The regions of a function, by ascending heads.
pub struct Regions {
    pub regions: Vec<Region>,
    /// The region of each block.
    pub of: Vec<usize>,
}

/// Where edges that leave a region lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Head(usize),
    Return,
}

/// Looks for regions.
struct Finder<'a> {
    func: &'a Function,
    order: &'a [Block],
    graph: &'a Graph,
    costs: &'a EdgeCosts,
    heads: BlockSet,
    /// For each block the head of its region.
    head_of: Vec<usize>,
}

impl Regions {
    /// Finds the largest regions of which these blocks are heads.
    ///
    /// # Errors
    /// [`CutError::Endless`] if waves cannot leave one of them.
    pub fn find(
        func: &Function,
        order: &[Block],
        graph: &Graph,
        costs: &EdgeCosts,
        mut heads: BlockSet,
    ) -> Result<Regions, CutError> {
        heads.insert(0);
        let mut finder = Finder { func, order, graph, costs, heads, head_of: Vec::new() };
        loop {
            finder.assign();
            let mut members: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
            finder.head_of.iter().enumerate().for_each(|(block, &head)| members[head].push(block));
            let members: Vec<Vec<usize>> = members.into_iter().filter(|blocks| !blocks.is_empty()).collect();
            let exits = members.iter().map(|blocks| finder.exit(blocks)).collect::<Result<Option<Vec<Exit>>, _>>()?;
            let Some(exits) = exits else { continue };
            let mut of = vec![0; order.len()];
            for (number, blocks) in members.iter().enumerate() {
                blocks.iter().for_each(|&block| of[block] = number);
            }
            let regions = members.into_iter().zip(exits).map(|(blocks, exit)| Region { blocks, exit }).collect();
            return Ok(Regions { regions, of });
        }
    }
}

impl Finder<'_> {
    /// Gives each block to the region that all its predecessors are of. Where they are of several, it is a head.
    fn assign(&mut self) {
        const NONE: usize = usize::MAX;
        let mut is_new = true;
        while is_new {
            is_new = false;
            self.head_of = vec![NONE; self.order.len()];
            let mut changed = true;
            while changed && !is_new {
                changed = false;
                for block in 0..self.order.len() {
                    let head = if self.heads.contains(block) {
                        block
                    } else {
                        let mut known = self.graph.predecessors[block].iter().map(|&from| self.head_of[from]);
                        let mut known = known.by_ref().filter(|&head| head != NONE);
                        let first = known.next().unwrap_or(NONE);
                        if known.any(|head| head != first) {
                            is_new |= self.heads.insert(block);
                            block
                        } else {
                            first
                        }
                    };
                    changed |= std::mem::replace(&mut self.head_of[block], head) != head;
                    if is_new {
                        // What was found of others is not so any more.
                        break;
                    }
                }
            }
        }
    }

    /// How a region ends; `None` if it has to be smaller, for which it has more heads now.
    fn exit(&mut self, blocks: &[usize]) -> Result<Option<Exit>, CutError> {
        let is_inside = |this: &Self, to: usize| !this.heads.contains(to);
        let returns =
            |this: &Self, block: usize| *this.func.blocks[this.order[block]].terminator() == Terminator::Return;
        let mut targets: Vec<Target> = Vec::new();
        let mut leaving = Vec::new();
        for &block in blocks {
            let left = self.graph.successors[block].iter().copied().filter(|&to| !is_inside(self, to));
            let left: Vec<Target> =
                left.map(Target::Head).chain(returns(self, block).then_some(Target::Return)).collect();
            if !left.is_empty() {
                leaving.push(block);
            }
            for target in left {
                if !targets.contains(&target) {
                    targets.push(target);
                }
            }
        }
        let ends_it = |this: &Self, block: usize| this.graph.successors[block].iter().all(|&to| !is_inside(this, to));
        match (&targets[..], &leaving[..]) {
            ([], _) => return Err(CutError::Endless(self.order[blocks[0]])),
            ([Target::Return], _) => return Ok(Some(Exit::Return)),
            (&[Target::Head(to)], from) => {
                let costs = |&from: &usize| self.costs.edge(self.order[from], self.order[to]) > 0;
                if from.len() == 1 || !from.iter().any(costs) {
                    return Ok(Some(Exit::To(to, leaving)));
                }
            }
            (_, &[block]) if ends_it(self, block) => return Ok(Some(Exit::Branch(block))),
            _ => {}
        }
        self.open(blocks, &leaving, &targets);
        Ok(None)
    }

    /// Makes heads in a region with several ends: what a branch leads to that decides for some of them. If no branch
    /// does, which is where a loop has several ends, what those lead to that leave it.
    fn open(&mut self, blocks: &[usize], leaving: &[usize], targets: &[Target]) {
        let inside = |this: &Self, block: usize| -> Vec<usize> {
            this.graph.successors[block].iter().copied().filter(|&to| !this.heads.contains(to)).collect()
        };
        // For each block the ends that waves may come to from there.
        let mut ends = vec![BlockSet::default(); self.order.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for &block in blocks.iter().rev() {
                let mut new: Vec<usize> = inside(self, block).iter().flat_map(|&to| ends[to].iter()).collect();
                let is_end = |target: &Target| match target {
                    Target::Head(to) => self.graph.successors[block].contains(to),
                    Target::Return => self.graph.successors[block].is_empty(),
                };
                new.extend((0..targets.len()).filter(|&number| is_end(&targets[number])));
                for end in new {
                    changed |= ends[block].insert(end);
                }
            }
        }
        let mut new: Vec<usize> = Vec::new();
        for &block in blocks {
            new.extend(inside(self, block).into_iter().filter(|&to| ends[to] != ends[block]));
        }
        if new.is_empty() {
            new.extend(leaving.iter().flat_map(|&block| inside(self, block)));
        }
        if new.is_empty() {
            // Several blocks lead back to one, each for a price of its own.
            new.extend(leaving.iter().copied().filter(|&block| !self.heads.contains(block)));
        }
        new.into_iter().for_each(|block| _ = self.heads.insert(block));
    }
}
