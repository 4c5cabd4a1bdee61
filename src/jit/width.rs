//! How many groups of four lanes a function should have.
//!
//! Two groups hide the latency of one behind the other, for two to three times the compile time and registers for half as many
//! values. In straight-line code the processor finds independent work by itself in the next round of the loop over groups; in a
//! loop that goes on as long as a lane wants to, it finds none. Measured on K1 to K4 and on PICA200 programs: `README.md`.

use super::emit::size;
use shaderjit_ir::uniform::uniform_values;
use shaderjit_ir::{Block, Function, Op, cfg};

/// The most values that such a loop may carry from round to round for each lane: half the vector registers of x86-64.
const CARRIED: usize = 8;

/// Above this size two groups take too long to compile, and too many values live at once.
const SIZE: u64 = 1 << 11;

/// 2 for a small function with a loop that depends on data and carries few values, else 1.
pub(crate) fn groups(func: &Function) -> u8 {
    if size(func) > SIZE {
        return 1;
    }
    let order = cfg::reverse_postorder(func);
    let is_any = |block: &Block| func.blocks[*block].insts.iter().any(|&inst| func.insts[inst].op == Op::Any);
    let uniform = uniform_values(func);
    let mut found = false;
    for (end, &block) in order.iter().enumerate() {
        for target in cfg::successors(func, block) {
            let Some(start) = order[..=end].iter().position(|&header| header == target) else { continue };
            let carried = func.blocks[target].params.iter().filter(|&&param| !uniform.contains(param)).count();
            if carried > CARRIED {
                return 1;
            }
            // In lockstep form a loop that lanes leave one by one asks whether any is left.
            found |= order[start..=end].iter().any(is_any);
        }
    }
    if found { 2 } else { 1 }
}
