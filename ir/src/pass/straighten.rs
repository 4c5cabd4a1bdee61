//! Joins blocks that always run one after the other.

use super::aliases::Aliases;
use crate::cfg;
use crate::entity::Block;
use crate::function::{Function, Terminator};
use crate::set::EntitySet;

/// Appends every block that is reached only by one jump to the block that jumps.
pub fn straighten(func: &mut Function) {
    join_blocks(func, |_, _| true);
}

/// Does so where a block that jumps and the one it jumps to may be joined. Gives each block that has grown, and the one
/// that is part of it now.
pub(crate) fn join_blocks(func: &mut Function, may_be_joined: impl Fn(Block, Block) -> bool) -> Vec<(Block, Block)> {
    if func.layout.len() == 1 {
        return Vec::new();
    }
    let predecessors = cfg::predecessors(func);
    let mut alias = Aliases::default();
    let layout = func.layout.clone();
    let (mut gone, mut joins) = (EntitySet::with_capacity(func.blocks.len()), Vec::new());
    for &block in &layout {
        if gone.contains(block) {
            continue;
        }
        while let Some(Terminator::Jump(call)) = &func.blocks[block].terminator {
            let target = call.block;
            // A block that jumps to itself has itself as its predecessor, and the entry has none.
            let is_alone = predecessors[target].len() == 1 && target != block && !gone.contains(target);
            if !is_alone || !may_be_joined(block, target) {
                break;
            }
            let args = call.args.clone();
            let joined = std::mem::take(&mut func.blocks[target]);
            for (&param, arg) in joined.params.iter().zip(args) {
                alias.replace(param, arg);
            }
            let data = &mut func.blocks[block];
            data.insts.extend(joined.insts);
            data.terminator = joined.terminator;
            gone.insert(target);
            joins.push((block, target));
        }
    }
    func.layout.retain(|&block| !gone.contains(block));
    alias.apply(func);
    joins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;

    #[test]
    fn a_chain_of_jumps_becomes_one_block_and_a_loop_stays() {
        let mut b = FunctionBuilder::new("chain", 0, 0);
        let [first, second, head, exit] = [(); 4].map(|()| b.create_block());
        b.jump(first);
        b.switch_to_block(first);
        b.jump(second);
        b.switch_to_block(second);
        b.jump(head);
        b.switch_to_block(head);
        let again = b.i1(false);
        b.br_if(again, head, exit);
        b.switch_to_block(exit);
        b.ret();
        for block in [first, second, head, exit] {
            b.seal_block(block);
        }
        let mut func = b.finish();
        straighten(&mut func);
        let expected = r#"function "chain" inputs 0 outputs 0 {
block0:
    jump block1
block1:
    v0 = const.i1 false
    br_if v0, block1, block2
block2:
    return
}
"#;
        assert_eq!(func.to_string(), expected);
    }
}
