//! Interleaving: how many vectors of lanes a value of a function should have.
//!
//! Two vectors hide the latency of one behind the other, for two to three times the compile time and registers for half
//! as many values. The processor overlaps waves by itself only as far as its window reaches: not past a loop that
//! depends on data, nor past some hundred instructions, if the function is not [cut](super::overlap) into
//! shorter loops. Where a function is so large that its values live in memory, two vectors are slower than one.
//! Measured on K1 to K4 and on PICA200 programs: `docs/performance.md`.

use super::overlap::can_be_cut;
use crate::loops::Loops;
use crate::uniform::uniform_values;
use crate::{Block, Function, Op, cfg};
use std::ops::RangeInclusive;

/// The most values that a loop which depends on data may carry from round to round for each lane: half the vector
/// registers of x86-64.
const CARRIED: usize = 8;

/// Sizes at which two vectors pay without such a loop.
const SIZES: RangeInclusive<u64> = 256..=2048;

/// Up to this size one vector is as fast if the function is cut.
const CUT_SIZE: u64 = 512;

/// Loops with a block of so many instructions are cut there, if they can be.
const CUT_BLOCK: usize = 128;

/// How many vectors of four lanes suit a function, 1 or 2.
pub fn vectors(func: &Function) -> u8 {
    let size = size(func);
    if size > *SIZES.end() {
        return 1;
    }
    let order = cfg::reverse_postorder(func);
    let is_long = |block: &Block| func.blocks[*block].insts.len() >= CUT_BLOCK;
    let may_be_cut = size <= CUT_SIZE && can_be_cut(func, &order, |_| false);
    if may_be_cut && order.len() == 1 {
        return 1;
    }
    let is_any = |block: &Block| func.blocks[*block].insts.iter().any(|&inst| func.insts[inst].op == Op::Any);
    let uniform = uniform_values(func);
    let mut depends_on_data = false;
    for &(end, start) in Loops::find(func, &order).back_edges() {
        let params = &func.blocks[order[start]].params;
        let carried = params.iter().filter(|&&param| !uniform.contains(param)).count();
        if carried > CARRIED || may_be_cut && order[start..=end].iter().any(is_long) {
            return 1;
        }
        // In lockstep form a loop that lanes leave one by one asks whether any is left.
        depends_on_data |= order[start..=end].iter().any(is_any);
    }
    if depends_on_data || SIZES.contains(&size) { 2 } else { 1 }
}

/// Instructions, edges, block parameters and edge arguments: what compiling takes time in.
pub fn size(func: &Function) -> u64 {
    let blocks = func.layout.iter().map(|&block| &func.blocks[block]);
    let edges = blocks.clone().flat_map(|block| block.terminator().calls()).map(|call| 1 + call.args.len());
    (blocks.map(|block| block.insts.len() + block.params.len()).sum::<usize>() + edges.sum::<usize>()) as u64
}
