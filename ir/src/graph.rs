//! The control-flow graph of a function in reverse postorder, with dominators and natural loops.

use crate::cfg::{self, Lists};
use crate::dom::DominatorTree;
use crate::set::EntitySet;
use crate::{Block, Function};
use cranelift_entity::{EntityRef, SecondaryMap};
use std::ops::Deref;

/// A set of blocks, which are kept in the order in which they are added.
#[derive(Clone, Default)]
pub struct BlockSet {
    list: Vec<Block>,
    members: EntitySet<Block>,
}

impl BlockSet {
    /// Adds a block, and says whether it was missing.
    pub fn insert(&mut self, block: Block) -> bool {
        let was_missing = self.members.insert(block);
        self.list.extend(was_missing.then_some(block));
        was_missing
    }

    pub fn has(&self, block: Block) -> bool {
        self.members.contains(block)
    }

    /// Whether all blocks of another set are in this one.
    pub fn has_all(&self, other: &BlockSet) -> bool {
        other.iter().all(|&block| self.has(block))
    }
}

impl Deref for BlockSet {
    type Target = [Block];

    fn deref(&self) -> &[Block] {
        &self.list
    }
}

impl FromIterator<Block> for BlockSet {
    fn from_iter<T: IntoIterator<Item = Block>>(blocks: T) -> BlockSet {
        let mut set = BlockSet::default();
        blocks.into_iter().for_each(|block| _ = set.insert(block));
        set
    }
}

/// The graph of the blocks that the entry reaches.
pub struct Graph<'f> {
    pub func: &'f Function,
    tree: DominatorTree,
    pub predecessors: Lists<Block>,
    pub successors: Lists<Block>,
    /// The blocks of each loop, its head first. A loop comes behind those around it.
    loops: Vec<BlockSet>,
}

impl<'f> Graph<'f> {
    /// The graph of a function; `None` if a loop has several entries.
    pub fn new(func: &'f Function) -> Option<Graph<'f>> {
        let tree = DominatorTree::new(func);
        let mut pairs = Vec::new();
        // For each block the last one that an edge has been seen from.
        let mut seen = SecondaryMap::<Block, Option<Block>>::new();
        for &from in tree.reverse_postorder() {
            let targets = cfg::successors(func, from).filter(|&to| seen[to].replace(from) != Some(from));
            pairs.extend(targets.map(|to| (from, to)));
        }
        let blocks = func.blocks.len();
        let predecessors = Lists::new(blocks, pairs.iter().map(|&(from, to)| (to.index(), from)));
        let successors = Lists::new(blocks, pairs.iter().map(|&(from, to)| (from.index(), to)));
        let mut graph = Graph { func, tree, predecessors, successors, loops: Vec::new() };
        let mut loops = Vec::new();
        for &head in graph.order() {
            let is_back = |from: &Block| graph.tree.position(*from) >= graph.tree.position(head);
            let back: Vec<Block> = graph.predecessors[head].iter().copied().filter(is_back).collect();
            if back.iter().any(|&from| !graph.tree.dominates(head, from)) {
                return None;
            }
            if !back.is_empty() {
                loops.push(graph.before(back, head));
            }
        }
        graph.loops = loops;
        Some(graph)
    }

    /// Some blocks and all that come before them, up to another, which is the first.
    pub fn before(&self, mut blocks: Vec<Block>, up_to: Block) -> BlockSet {
        let mut all = BlockSet::from_iter([up_to]);
        while let Some(block) = blocks.pop() {
            if all.insert(block) {
                blocks.extend(&self.predecessors[block]);
            }
        }
        all
    }

    /// The blocks in reverse postorder.
    pub fn order(&self) -> &[Block] {
        self.tree.reverse_postorder()
    }

    /// The last block but itself that every way from the entry to a block leads through.
    pub fn idom(&self, block: Block) -> Option<Block> {
        self.tree.idom(block)
    }

    /// The blocks that every way from the entry to leads through a block.
    pub fn dominated_by(&self, block: Block) -> BlockSet {
        self.order().iter().copied().filter(|&other| self.tree.dominates(block, other)).collect()
    }

    /// The blocks that are in some loop.
    pub fn in_loops(&self) -> BlockSet {
        self.loops.iter().flat_map(|body| body.iter().copied()).collect()
    }

    /// The blocks of each loop, its head first. A loop comes behind those around it.
    pub fn loops(&self) -> &[BlockSet] {
        &self.loops
    }

    /// The innermost loop around a block.
    pub fn innermost_loop(&self, block: Block) -> Option<&BlockSet> {
        self.loops.iter().rfind(|body| body.has(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;

    /// A function with these edges among so many blocks, the first of which is the entry, and the blocks.
    fn function(blocks: usize, edges: &[(usize, usize)]) -> (Function, Vec<Block>) {
        let mut b = FunctionBuilder::new("graph", 1, 0);
        let condition = b.i1(true);
        let mut all = vec![b.current_block()];
        all.extend((1..blocks).map(|_| b.create_block()));
        for (from, &block) in all.iter().enumerate() {
            b.switch_to_block(block);
            let targets: Vec<Block> = edges.iter().filter(|edge| edge.0 == from).map(|edge| all[edge.1]).collect();
            match targets[..] {
                [] => b.ret(),
                [target] => b.jump(target),
                [one, other] => b.br_if(condition, one, other),
                _ => unreachable!("two edges at most"),
            }
        }
        all[1..].iter().for_each(|&block| b.seal_block(block));
        (b.finish(), all)
    }

    #[test]
    fn loops_and_dominators_are_found() {
        // A loop of 1 to 5 with a branch in it, 2 or 3, and in front of its end a loop of 4 alone.
        let edges = [(0, 1), (1, 2), (1, 6), (2, 3), (2, 4), (3, 4), (4, 4), (4, 5), (5, 1)];
        let (func, all) = function(7, &edges);
        let graph = Graph::new(&func).unwrap();
        let is_set = |blocks: &[Block], expected: &[usize]| {
            let (blocks, expected) = (BlockSet::from_iter(blocks.iter().copied()), expected.iter().map(|&at| all[at]));
            let expected = BlockSet::from_iter(expected);
            blocks.has_all(&expected) && expected.has_all(&blocks)
        };
        assert!(is_set(&graph.predecessors[all[4]], &[2, 3, 4]));
        assert!(is_set(&graph.successors[all[1]], &[2, 6]));
        assert!(is_set(&graph.dominated_by(all[2]), &[2, 3, 4, 5]));
        assert!(is_set(graph.innermost_loop(all[4]).unwrap(), &[4]));
        assert!(is_set(graph.innermost_loop(all[5]).unwrap(), &[1, 2, 3, 4, 5]));
        assert!(graph.innermost_loop(all[6]).is_none());
        assert!(is_set(&graph.in_loops(), &[1, 2, 3, 4, 5]));
    }

    #[test]
    fn loops_with_several_entries_are_refused() {
        let is_refused = |blocks, edges: &[(usize, usize)]| Graph::new(&function(blocks, edges).0).is_none();
        assert!(is_refused(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]));
        let chain: Vec<(usize, usize)> = (0..200).map(|block| (block, block + 1)).collect();
        assert!(!is_refused(200, &chain[..199]));
    }
}
