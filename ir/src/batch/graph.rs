//! The control-flow graph of a function with few blocks, as sets of them.

use crate::dom::DominatorTree;
use crate::{Block, Function, cfg};

/// Blocks by their number in reverse postorder, bit 0 the entry.
pub type BlockSet = u64;

/// The graph.
pub struct Graph {
    tree: DominatorTree,
    pub predecessors: Vec<BlockSet>,
    pub successors: Vec<BlockSet>,
    /// The blocks of each loop.
    loops: Vec<BlockSet>,
}

impl Graph {
    /// The graph of the blocks in reverse postorder; `None` if they are too many, or if a loop has several entries.
    pub fn new(func: &Function, order: &[Block]) -> Option<Graph> {
        let count = order.len();
        if count > BlockSet::BITS as usize {
            return None;
        }
        let mut graph = Graph {
            tree: DominatorTree::new(func),
            predecessors: vec![0; count],
            successors: vec![0; count],
            loops: Vec::new(),
        };
        for (from, &block) in order.iter().enumerate() {
            for target in cfg::successors(func, block) {
                let to = graph.number(target);
                graph.successors[from] |= 1 << to;
                graph.predecessors[to] |= 1 << from;
            }
        }
        graph.find_loops()?;
        Some(graph)
    }

    fn find_loops(&mut self) -> Option<()> {
        for head in 0..self.successors.len() {
            let back =
                self.iter(self.predecessors[head]).filter(|&from| from >= head).fold(0, |set, from| set | 1 << from);
            if back & !self.dominated_by(head) != 0 {
                return None;
            }
            if back != 0 {
                self.loops.push(self.before(back, 1 << head));
            }
        }
        Some(())
    }

    /// Some blocks and all that come before them, up to others, which count.
    pub fn before(&self, blocks: BlockSet, up_to: BlockSet) -> BlockSet {
        let (mut all, mut new) = (blocks | up_to, blocks & !up_to);
        while new != 0 {
            new = self.iter(new).fold(0, |set, block| set | self.predecessors[block]) & !all;
            all |= new;
        }
        all
    }

    /// A block's number.
    pub fn number(&self, block: Block) -> usize {
        self.tree.position(block).expect("the entry reaches it") as usize
    }

    /// The numbers of some blocks.
    pub fn iter(&self, blocks: BlockSet) -> impl Iterator<Item = usize> + use<> {
        let mut rest = blocks;
        std::iter::from_fn(move || {
            let next = (rest != 0).then(|| rest.trailing_zeros() as usize);
            rest &= rest.wrapping_sub(1);
            next
        })
    }

    /// The blocks that a block dominates.
    pub fn dominated_by(&self, block: usize) -> BlockSet {
        let order = self.tree.reverse_postorder();
        let is_dominated = |&other: &usize| self.tree.dominates(order[block], order[other]);
        (0..order.len()).filter(is_dominated).fold(0, |set, other| set | 1 << other)
    }

    /// The blocks that are in some loop.
    pub fn in_loops(&self) -> BlockSet {
        self.loops.iter().fold(0, |set, body| set | body)
    }

    /// The innermost loop around a block.
    pub fn innermost_loop(&self, block: usize) -> Option<BlockSet> {
        self.loops.iter().copied().filter(|body| body >> block & 1 == 1).min_by_key(|body| body.count_ones())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;
    use crate::cfg::reverse_postorder;

    /// The graph with these edges among so many blocks, the first of which is the entry.
    fn graph(blocks: usize, edges: &[(usize, usize)]) -> (Vec<usize>, Option<Graph>) {
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
        let func = b.finish();
        let order = reverse_postorder(&func);
        let numbers = all.iter().map(|block| order.iter().position(|other| other == block).unwrap()).collect();
        (numbers, Graph::new(&func, &order))
    }

    #[test]
    fn loops_and_dominators_are_found() {
        // A loop of 1 to 5 with a branch in it, 2 or 3, and in front of its end a loop of 4 alone.
        let edges = [(0, 1), (1, 2), (1, 6), (2, 3), (2, 4), (3, 4), (4, 4), (4, 5), (5, 1)];
        let (numbers, graph) = graph(7, &edges);
        let graph = graph.unwrap();
        let set = |blocks: &[usize]| blocks.iter().fold(0, |set, &block| set | 1 << numbers[block]);
        assert_eq!(graph.predecessors[numbers[4]], set(&[2, 3, 4]));
        assert_eq!(graph.successors[numbers[1]], set(&[2, 6]));
        assert_eq!(graph.dominated_by(numbers[2]), set(&[2, 3, 4, 5]));
        assert_eq!(graph.innermost_loop(numbers[4]), Some(set(&[4])));
        assert_eq!(graph.innermost_loop(numbers[5]), Some(set(&[1, 2, 3, 4, 5])));
        assert_eq!(graph.innermost_loop(numbers[6]), None);
        assert_eq!(graph.in_loops(), set(&[1, 2, 3, 4, 5]));
        assert_eq!(graph.before(set(&[4]), set(&[2])), set(&[2, 3, 4]));
        assert!(graph.iter(set(&[0, 6])).eq([numbers[0], numbers[6]]));
    }

    #[test]
    fn other_graphs_are_refused() {
        assert!(graph(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]).1.is_none(), "a loop of two entries");
        let chain: Vec<(usize, usize)> = (0..64).map(|block| (block, block + 1)).collect();
        assert!(graph(64, &chain[..63]).1.is_some());
        assert!(graph(65, &chain).1.is_none());
    }
}
