//! Takes blocks that the entry does not reach out of the layout.

use crate::cfg;
use crate::function::Function;

/// Keeps only the reachable blocks, in their order.
pub fn remove_unreachable(func: &mut Function) {
    // The entry is.
    if func.layout.len() == 1 {
        return;
    }
    let reachable = cfg::reachable(func);
    func.layout.retain(|&block| reachable.contains(block));
}
