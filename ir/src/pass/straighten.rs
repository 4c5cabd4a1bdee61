//! Joins blocks that always run one after the other.

use crate::cfg;
use crate::entity::Value;
use crate::function::{Function, Terminator};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Appends every block that is reached only by one jump to the block that jumps.
pub fn straighten(func: &mut Function) {
    let predecessors = cfg::predecessors(func);
    let mut alias: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let layout = func.layout.clone();
    let mut gone = cranelift_entity::EntitySet::with_capacity(func.blocks.len());
    for &block in &layout {
        if gone.contains(block) {
            continue;
        }
        while let Some(Terminator::Jump(call)) = &func.blocks[block].terminator {
            let target = call.block;
            // A block that jumps to itself has itself as its predecessor, and the entry has none.
            if predecessors[target].len() != 1 || target == block || gone.contains(target) {
                break;
            }
            let args = call.args.clone();
            let joined = std::mem::take(&mut func.blocks[target]);
            for (&param, arg) in joined.params.iter().zip(args) {
                alias[param] = arg.into();
            }
            let data = &mut func.blocks[block];
            data.insts.extend(joined.insts);
            data.terminator = joined.terminator;
            gone.insert(target);
        }
    }
    func.layout.retain(|&block| !gone.contains(block));
    func.replace_uses(|mut value| {
        while let Some(next) = alias[value].expand() {
            value = next;
        }
        value
    });
}
