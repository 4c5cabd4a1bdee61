//! Gives a function one returning block.

use crate::function::{BlockCall, Function, Terminator};

/// Makes every return a jump to one new block that only returns. A function that never returns stays as it is.
pub fn merge_returns(func: &mut Function) {
    let returning: Vec<_> =
        func.layout.iter().copied().filter(|&block| *func.blocks[block].terminator() == Terminator::Return).collect();
    if returning.is_empty() {
        return;
    }
    let exit = func.add_block();
    func.blocks[exit].terminator = Some(Terminator::Return);
    for block in returning {
        func.blocks[block].terminator = Some(Terminator::Jump(BlockCall { block: exit, args: Vec::new() }));
    }
}
