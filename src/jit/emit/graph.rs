//! The control-flow graph of a function with few blocks, as sets of them.

use cranelift_codegen::entity::SecondaryMap;
use shaderjit_ir::{Block, Function, cfg};

/// Blocks by their number in reverse postorder, bit 0 the entry.
pub type BlockSet = u64;

/// The graph.
pub struct Graph {
    numbers: SecondaryMap<Block, u32>,
    pub predecessors: Vec<BlockSet>,
    pub successors: Vec<BlockSet>,
    /// Of each block.
    dominators: Vec<BlockSet>,
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
            numbers: SecondaryMap::new(),
            predecessors: vec![0; count],
            successors: vec![0; count],
            dominators: vec![BlockSet::MAX; count],
            loops: Vec::new(),
        };
        (0..).zip(order).for_each(|(number, &block)| graph.numbers[block] = number);
        for (from, &block) in order.iter().enumerate() {
            for target in cfg::successors(func, block) {
                let to = graph.number(target);
                graph.successors[from] |= 1 << to;
                graph.predecessors[to] |= 1 << from;
            }
        }
        graph.find_dominators();
        graph.find_loops()?;
        Some(graph)
    }

    fn find_dominators(&mut self) {
        self.dominators[0] = 1;
        let mut changed = true;
        while changed {
            changed = false;
            for block in 1..self.dominators.len() {
                let meet = |set, from: usize| set & self.dominators[from];
                let set = self.iter(self.predecessors[block]).fold(BlockSet::MAX, meet) | 1 << block;
                changed |= std::mem::replace(&mut self.dominators[block], set) != set;
            }
        }
    }

    fn find_loops(&mut self) -> Option<()> {
        for head in 0..self.successors.len() {
            let back =
                self.iter(self.predecessors[head]).filter(|&from| from >= head).fold(0, |set, from| set | 1 << from);
            if self.iter(back).any(|from| self.dominators[from] >> head & 1 == 0) {
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
        self.numbers[block] as usize
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
        let is_dominated = |&other: &usize| self.dominators[other] >> block & 1 == 1;
        (0..self.dominators.len()).filter(is_dominated).fold(0, |set, other| set | 1 << other)
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
