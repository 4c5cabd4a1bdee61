//! The control-flow graph of a function by the numbers that its blocks have in reverse postorder, with dominators and
//! natural loops.

use crate::dom::DominatorTree;
use crate::{Block, Function, cfg};

/// A set of blocks: a bit for each number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSet(Vec<u64>);

impl BlockSet {
    /// Adds a block, and says whether it was missing.
    pub fn insert(&mut self, block: usize) -> bool {
        let (word, bit) = (block / 64, 1 << (block % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let was_missing = self.0[word] & bit == 0;
        self.0[word] |= bit;
        was_missing
    }

    pub fn contains(&self, block: usize) -> bool {
        self.0.get(block / 64).is_some_and(|word| word >> (block % 64) & 1 == 1)
    }

    /// Their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        let bits = |word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1);
        self.0
            .iter()
            .enumerate()
            .filter(|&(_, &word)| word != 0)
            .flat_map(move |(at, &word)| bits(word).map(move |bit| at * 64 + bit))
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether all blocks of another set are in this one.
    pub fn contains_all(&self, other: &BlockSet) -> bool {
        other.iter().all(|block| self.contains(block))
    }
}

impl FromIterator<usize> for BlockSet {
    fn from_iter<T: IntoIterator<Item = usize>>(blocks: T) -> BlockSet {
        let mut set = BlockSet::default();
        blocks.into_iter().for_each(|block| _ = set.insert(block));
        set
    }
}

/// The graph.
pub struct Graph {
    tree: DominatorTree,
    pub predecessors: Vec<Vec<usize>>,
    pub successors: Vec<Vec<usize>>,
    /// The blocks of each loop.
    loops: Vec<BlockSet>,
}

impl Graph {
    /// The graph of the blocks in reverse postorder; `None` if a loop has several entries.
    pub fn new(func: &Function, order: &[Block]) -> Option<Graph> {
        let count = order.len();
        let mut graph = Graph {
            tree: DominatorTree::new(func),
            predecessors: vec![Vec::new(); count],
            successors: vec![Vec::new(); count],
            loops: Vec::new(),
        };
        for (from, &block) in order.iter().enumerate() {
            for target in cfg::successors(func, block) {
                let to = graph.number(target);
                if !graph.successors[from].contains(&to) {
                    graph.successors[from].push(to);
                    graph.predecessors[to].push(from);
                }
            }
        }
        graph.find_loops()?;
        Some(graph)
    }

    fn find_loops(&mut self) -> Option<()> {
        for head in 0..self.successors.len() {
            let back: Vec<usize> = self.predecessors[head].iter().copied().filter(|&from| from >= head).collect();
            if back.iter().any(|&from| !self.dominates(head, from)) {
                return None;
            }
            if !back.is_empty() {
                self.loops.push(self.before(back, head));
            }
        }
        Some(())
    }

    /// Some blocks and all that come before them, up to another, which counts.
    fn before(&self, blocks: Vec<usize>, up_to: usize) -> BlockSet {
        let mut all = BlockSet::from_iter([up_to]);
        let mut new = blocks;
        while let Some(block) = new.pop() {
            if all.insert(block) {
                new.extend(&self.predecessors[block]);
            }
        }
        all
    }

    /// A block's number.
    pub fn number(&self, block: Block) -> usize {
        self.tree.position(block).expect("the entry reaches it") as usize
    }

    /// Whether every way from the entry to a block leads through another.
    pub fn dominates(&self, block: usize, other: usize) -> bool {
        let order = self.tree.reverse_postorder();
        self.tree.dominates(order[block], order[other])
    }

    /// The blocks that a block dominates.
    pub fn dominated_by(&self, block: usize) -> BlockSet {
        (block..self.successors.len()).filter(|&other| self.dominates(block, other)).collect()
    }

    /// The blocks that are in some loop.
    pub fn in_loops(&self) -> BlockSet {
        self.loops.iter().flat_map(BlockSet::iter).collect()
    }

    /// The innermost loop around a block.
    pub fn innermost_loop(&self, block: usize) -> Option<&BlockSet> {
        self.loops.iter().filter(|body| body.contains(block)).min_by_key(|body| body.len())
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
        let set = |blocks: &[usize]| blocks.iter().map(|&block| numbers[block]).collect::<BlockSet>();
        let targets = |blocks: &[usize]| blocks.iter().copied().collect::<BlockSet>();
        assert_eq!(targets(&graph.predecessors[numbers[4]]), set(&[2, 3, 4]));
        assert_eq!(targets(&graph.successors[numbers[1]]), set(&[2, 6]));
        assert_eq!(graph.dominated_by(numbers[2]), set(&[2, 3, 4, 5]));
        assert_eq!(graph.innermost_loop(numbers[4]), Some(&set(&[4])));
        assert_eq!(graph.innermost_loop(numbers[5]), Some(&set(&[1, 2, 3, 4, 5])));
        assert_eq!(graph.innermost_loop(numbers[6]), None);
        assert_eq!(graph.in_loops(), set(&[1, 2, 3, 4, 5]));
        assert!(set(&[1, 2, 3]).contains_all(&set(&[1, 3])) && !set(&[1, 3]).contains_all(&set(&[1, 2])));
    }

    #[test]
    fn loops_with_several_entries_are_refused() {
        assert!(graph(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]).1.is_none());
        let chain: Vec<(usize, usize)> = (0..200).map(|block| (block, block + 1)).collect();
        assert!(graph(200, &chain[..199]).1.is_some());
    }
}
