//! Edges and orders of the control-flow graph.

use crate::entity::Block;
use crate::function::Function;
use cranelift_entity::{EntitySet, SecondaryMap};

/// One edge, by its source: the block, and which of its terminator's calls it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// Source.
    pub from: Block,
    /// Position in [`Terminator::calls`](crate::function::Terminator::calls).
    pub call: usize,
}

/// The incoming edges of every block, in layout order of their sources. A source with two edges to one block is there
/// twice.
pub fn predecessors(func: &Function) -> SecondaryMap<Block, Vec<Edge>> {
    let mut predecessors: SecondaryMap<Block, Vec<Edge>> = SecondaryMap::new();
    for &from in &func.layout {
        if let Some(terminator) = &func.blocks[from].terminator {
            for (call, target) in terminator.calls().enumerate() {
                predecessors[target.block].push(Edge { from, call });
            }
        }
    }
    predecessors
}

/// The targets of a block's edges, in the order of its terminator's calls.
pub fn successors(func: &Function, block: Block) -> impl Iterator<Item = Block> {
    func.blocks[block].terminator.iter().flat_map(|terminator| terminator.calls()).map(|call| call.block)
}

/// Blocks the entry reaches.
pub fn reachable(func: &Function) -> EntitySet<Block> {
    let mut seen = EntitySet::with_capacity(func.blocks.len());
    let mut work = vec![func.entry()];
    seen.insert(func.entry());
    while let Some(block) = work.pop() {
        for target in successors(func, block) {
            if seen.insert(target) {
                work.push(target);
            }
        }
    }
    seen
}

/// Reverse postorder of the blocks the entry reaches: every block after its dominators.
pub fn reverse_postorder(func: &Function) -> Vec<Block> {
    let mut seen = EntitySet::with_capacity(func.blocks.len());
    let mut postorder = Vec::new();
    let entry = func.entry();
    seen.insert(entry);
    let mut stack = vec![(entry, successors(func, entry).collect::<Vec<_>>())];
    while let Some((block, targets)) = stack.last_mut() {
        // The last successor first, so that the first one comes right after its source in the reversed order.
        match targets.pop() {
            Some(target) => {
                if seen.insert(target) {
                    stack.push((target, successors(func, target).collect()));
                }
            }
            None => {
                postorder.push(*block);
                stack.pop();
            }
        }
    }
    postorder.reverse();
    postorder
}
