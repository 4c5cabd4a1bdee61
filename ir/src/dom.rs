//! Dominators, by the iterative algorithm of Cooper, Harvey and Kennedy (*A Simple, Fast Dominance Algorithm*, 2001).

use crate::cfg::{self, Blocks};
use crate::entity::Block;
use crate::function::Function;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use smallvec::smallvec;

/// The dominator tree of the blocks the entry reaches.
pub struct DominatorTree {
    rpo: Blocks,
    nodes: SecondaryMap<Block, Node>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// Position in the reverse postorder plus one; 0 if the entry does not reach the block.
    number: u32,
    idom: PackedOption<Block>,
    /// Visit times of a walk over the tree: `a` dominates `b` if b's interval lies in a's.
    enter: u32,
    leave: u32,
    /// How many blocks it dominates.
    size: u32,
    /// The number of the next one below it.
    next: u32,
}

impl DominatorTree {
    /// Computes it.
    pub fn new(func: &Function) -> DominatorTree {
        let mut nodes: SecondaryMap<Block, Node> = func.block_map();
        if cfg::successors(func, func.entry()).next().is_none() {
            // Straight code.
            nodes[func.entry()] = Node { number: 1, idom: None.into(), enter: 1, leave: 1, size: 1, next: 2 };
            return DominatorTree { rpo: smallvec![func.entry()], nodes };
        }
        let rpo = cfg::reverse_postorder(func);
        let predecessors = cfg::predecessors(func);
        for (index, &block) in rpo.iter().enumerate() {
            nodes[block].number = index as u32 + 1;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &rpo[1..] {
                let mut idom: Option<Block> = None;
                for edge in &predecessors[block] {
                    let from = edge.from;
                    if from == rpo[0] || nodes[from].idom.is_some() {
                        idom = Some(idom.map_or(from, |other| common(&nodes, from, other)));
                    }
                }
                if nodes[block].idom != idom.into() {
                    nodes[block].idom = idom.into();
                    changed = true;
                }
            }
        }
        let mut tree = DominatorTree { rpo, nodes };
        tree.number_intervals();
        tree
    }

    /// Numbers the blocks so that those below a block in the tree are an interval. In reverse postorder a block comes
    /// behind the one above it, so the sizes of subtrees are there from behind, and their first numbers from the front.
    fn number_intervals(&mut self) {
        let DominatorTree { rpo, nodes } = self;
        for &block in rpo.iter().rev() {
            let node = &mut nodes[block];
            node.size += 1;
            let (idom, size) = (node.idom, node.size);
            idom.expand().into_iter().for_each(|idom| nodes[idom].size += size);
        }
        for &block in rpo.iter() {
            let Node { idom, size, .. } = nodes[block];
            let enter = idom.expand().map_or(1, |idom| {
                let next = &mut nodes[idom].next;
                *next += size;
                *next - size
            });
            let node = &mut nodes[block];
            (node.enter, node.leave, node.next) = (enter, enter + size - 1, enter + 1);
        }
    }

    /// The reachable blocks in reverse postorder.
    pub fn reverse_postorder(&self) -> &[Block] {
        &self.rpo
    }

    /// The same in preorder: each block is followed by all that it dominates.
    pub fn preorder(&self) -> Blocks {
        let mut order = self.rpo.clone();
        for &block in &self.rpo {
            order[self.nodes[block].enter as usize - 1] = block;
        }
        order
    }

    /// Position in the reverse postorder, if the entry reaches the block.
    pub fn position(&self, block: Block) -> Option<u32> {
        self.nodes[block].number.checked_sub(1)
    }

    /// The immediate dominator; `None` for the entry and for unreachable blocks.
    pub fn idom(&self, block: Block) -> Option<Block> {
        self.nodes[block].idom.expand()
    }

    /// Whether every path from the entry to `b` goes through `a`. Both must be reachable.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let (a, b) = (&self.nodes[a], &self.nodes[b]);
        a.enter <= b.enter && b.leave <= a.leave
    }
}

fn common(nodes: &SecondaryMap<Block, Node>, mut a: Block, mut b: Block) -> Block {
    while a != b {
        while nodes[a].number > nodes[b].number {
            a = nodes[a].idom.expect("only the entry has none, and its number is the least");
        }
        while nodes[b].number > nodes[a].number {
            b = nodes[b].idom.expect("only the entry has none, and its number is the least");
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;

    #[test]
    fn a_join_is_dominated_by_the_branch_and_not_by_the_arms() {
        let mut b = FunctionBuilder::new("diamond", 0, 0);
        let [then_arm, else_arm, join] = [(); 3].map(|()| b.create_block());
        let entry = b.current_block();
        let condition = b.i1(true);
        b.br_if(condition, then_arm, else_arm);
        for arm in [then_arm, else_arm] {
            b.seal_block(arm);
            b.switch_to_block(arm);
            b.jump(join);
        }
        b.seal_block(join);
        b.switch_to_block(join);
        b.ret();
        let func = b.finish();
        let tree = DominatorTree::new(&func);
        assert_eq!(tree.idom(join), Some(entry));
        assert!(tree.dominates(entry, join) && tree.dominates(join, join));
        assert!(!tree.dominates(then_arm, join) && !tree.dominates(then_arm, else_arm));
        assert_eq!(tree.reverse_postorder(), [entry, then_arm, else_arm, join]);
    }
}
