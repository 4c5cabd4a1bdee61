//! Loops, as intervals of the reverse postorder: from the block that an edge comes back to, to the last block with such
//! an edge. Blocks of the interval that are not in the loop itself are on a way out of it.

use crate::cfg;
use crate::entity::Block;
use crate::function::Function;
use cranelift_entity::SecondaryMap;
use smallvec::{SmallVec, smallvec};

/// The loops of a function. Blocks are named by their number in reverse postorder.
#[derive(Clone, Debug)]
pub struct Loops {
    /// Edges that go back, or to their own block: source and target, by source.
    edges: SmallVec<[(usize, usize); 4]>,
    /// For each block, one more than the last block with an edge back to it; 0 for none.
    ends: SmallVec<[usize; 8]>,
}

impl Loops {
    /// Finds them. `order` is the function's [reverse postorder](cfg::reverse_postorder).
    pub fn find(func: &Function, order: &[Block]) -> Loops {
        let mut number = SecondaryMap::<Block, usize>::with_capacity(func.blocks.len());
        order.iter().enumerate().for_each(|(at, &block)| number[block] = at);
        let mut loops = Loops { edges: SmallVec::new(), ends: smallvec![0; order.len()] };
        for (from, &block) in order.iter().enumerate() {
            for head in cfg::successors(func, block).map(|target| number[target]).filter(|&head| head <= from) {
                loops.edges.push((from, head));
                loops.ends[head] = from + 1;
            }
        }
        loops
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// The edges that go back, or to their own block: source and target.
    pub fn back_edges(&self) -> &[(usize, usize)] {
        &self.edges
    }

    /// Whether an edge goes back to a block.
    pub fn is_head(&self, block: usize) -> bool {
        self.ends[block] > 0
    }

    /// One more than the last block of the loop that begins with a block; 0 for none.
    fn end(&self, head: usize) -> usize {
        let (mut end, mut at) = (self.ends[head], head);
        // Loops that begin in this one and end behind it belong to it.
        while at < end {
            end = end.max(self.ends[at]);
            at += 1;
        }
        end
    }

    /// The first and the last block of the innermost loop around a block.
    pub fn innermost(&self, block: usize) -> Option<(usize, usize)> {
        let mut loops = (0..=block).rev().map(|head| (head, self.end(head)));
        loops.find(|&(_, end)| end > block).map(|(head, end)| (head, end - 1))
    }

    /// For each block, the first and the last block of the outermost loop around it.
    pub fn outermost(&self) -> SmallVec<[Option<(usize, usize)>; 8]> {
        let mut loops: SmallVec<[Option<(usize, usize)>; 8]> = smallvec![None; self.ends.len()];
        let mut head = 0;
        while head < self.ends.len() {
            let end = self.end(head);
            loops[head..end.max(head)].fill(end.checked_sub(1).map(|end| (head, end)));
            head = end.max(head + 1);
        }
        loops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn loops_are_intervals() {
        // 1 to 3 around 2 alone; 3 goes back to 1, and 4 is behind.
        let text = "function \"f\" inputs 1 outputs 0 { block0: v0 = input.i32 0.0 v1 = ine v0, v0 jump block1
            block1: jump block2 block2: br_if v1, block2, block3 block3: br_if v1, block1, block4 block4: return }";
        let func = parse(text).unwrap();
        let order = cfg::reverse_postorder(&func);
        let loops = Loops::find(&func, &order);
        assert_eq!(loops.back_edges(), [(2, 2), (3, 1)]);
        assert_eq!([0, 1, 2, 3, 4].map(|block| loops.is_head(block)), [false, true, true, false, false]);
        assert_eq!(loops.outermost()[..], [None, Some((1, 3)), Some((1, 3)), Some((1, 3)), None]);
        let innermost = [0, 1, 2, 3, 4].map(|block| loops.innermost(block));
        assert_eq!(innermost, [None, Some((1, 3)), Some((2, 2)), Some((1, 3)), None]);
        assert!(!loops.is_empty());
    }
}
