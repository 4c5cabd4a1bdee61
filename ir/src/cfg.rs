//! Edges and orders of the control-flow graph.

use crate::entity::Block;
use crate::function::Function;
use crate::set::EntitySet;
use cranelift_entity::EntityRef;
use smallvec::{SmallVec, smallvec};
use std::ops::Index;

/// One edge, by its source: the block, and which of its terminator's calls it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// Source.
    pub from: Block,
    /// Position in [`Terminator::calls`](crate::function::Terminator::calls).
    pub call: usize,
}

/// A list of things for each block, or each of other things that have numbers, side by side. Most functions have few
/// blocks, whose lists need no memory of their own.
#[derive(Clone, Debug)]
pub struct Lists<T> {
    /// Where the list of each number begins, and behind the last one where that ends.
    starts: SmallVec<[u32; 8]>,
    items: SmallVec<[T; 4]>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { starts: SmallVec::new(), items: SmallVec::new() }
    }
}

impl<T: Copy> Lists<T> {
    /// So many lists of what is given with the numbers of lists, in the order in which it is given: a counting sort.
    pub fn new(count: usize, given: impl Iterator<Item = (usize, T)> + Clone) -> Lists<T> {
        let Some((_, any)) = given.clone().next() else {
            return Lists { starts: smallvec![0; count + 1], items: SmallVec::new() };
        };
        // While items are put in their places, the start of each list stands one further on and goes along with them:
        // it ends as the start of the list behind.
        let mut starts: SmallVec<[u32; 8]> = smallvec![0; count + 2];
        given.clone().for_each(|(list, _)| starts[list + 2] += 1);
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut items: SmallVec<[T; 4]> = smallvec![any; starts[starts.len() - 1] as usize];
        for (list, item) in given {
            let end = &mut starts[list + 1];
            items[*end as usize] = item;
            *end += 1;
        }
        starts.pop();
        Lists { starts, items }
    }
}

impl<T> Lists<T> {
    /// The lists, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        self.starts.windows(2).map(|ends| &self.items[ends[0] as usize..ends[1] as usize])
    }
}

impl<T> Index<usize> for Lists<T> {
    type Output = [T];

    fn index(&self, list: usize) -> &[T] {
        // What is newer than the lists has an empty one.
        let Some(&[start, end]) = self.starts.get(list..list + 2) else { return &[] };
        &self.items[start as usize..end as usize]
    }
}

impl<T> Index<Block> for Lists<T> {
    type Output = [T];

    fn index(&self, block: Block) -> &[T] {
        &self[block.index()]
    }
}

/// The incoming edges of every block, in layout order of their sources. A source with two edges to one block is there
/// twice.
pub fn predecessors(func: &Function) -> Lists<Edge> {
    if let [only] = func.layout[..]
        && successors(func, only).next().is_none()
    {
        return Lists::default();
    }
    let edges = func
        .layout
        .iter()
        .flat_map(|&from| successors(func, from).enumerate().map(move |(call, to)| (to.index(), Edge { from, call })));
    Lists::new(func.blocks.len(), edges)
}

/// The targets of a block's edges, in the order of its terminator's calls.
pub fn successors(func: &Function, block: Block) -> impl Iterator<Item = Block> + Clone {
    func.blocks[block].terminator.iter().flat_map(|terminator| terminator.calls()).map(|call| call.block)
}

/// Blocks the entry reaches.
pub fn reachable(func: &Function) -> EntitySet<Block> {
    let mut seen = EntitySet::with_capacity(func.blocks.len());
    let mut work: SmallVec<[Block; 16]> = smallvec![func.entry()];
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

/// Some blocks, in some order: most functions have few.
pub type Blocks = SmallVec<[Block; 4]>;

/// Reverse postorder of the blocks the entry reaches: every block after its dominators.
pub fn reverse_postorder(func: &Function) -> Blocks {
    if func.layout.len() == 1 {
        return Blocks::from_slice(&func.layout);
    }
    let mut seen = EntitySet::with_capacity(func.blocks.len());
    let mut postorder = Blocks::with_capacity(func.layout.len());
    let entry = func.entry();
    seen.insert(entry);
    // What is left to visit of the successors of each block on the stack, whose own begin at a number of them.
    let mut targets: SmallVec<[Block; 16]> = successors(func, entry).collect();
    let mut stack: SmallVec<[(Block, usize); 8]> = smallvec![(entry, 0)];
    while let Some(&(block, first)) = stack.last() {
        // The last successor first, so that the first one comes right after its source in the reversed order.
        if targets.len() == first {
            postorder.push(block);
            stack.pop();
        } else if let Some(target) = targets.pop()
            && seen.insert(target)
        {
            stack.push((target, targets.len()));
            targets.extend(successors(func, target));
        }
    }
    postorder.reverse();
    postorder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_many_as_asked_for_and_in_the_order_given() {
        let lists = Lists::new(4, [(2, 'a'), (0, 'b'), (2, 'c')].into_iter());
        assert_eq!(lists.iter().collect::<Vec<_>>(), [&['b'][..], &[], &['a', 'c'], &[]]);
        assert!(lists[3].is_empty() && lists[4].is_empty());
        let empty = Lists::<char>::new(3, std::iter::empty());
        assert_eq!(empty.iter().collect::<Vec<_>>(), [[]; 3]);
    }
}
