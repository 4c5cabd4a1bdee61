//! Loop-invariant code motion for what lanes see behind a loop that they leave at different times.
//!
//! Each lane sees there the value of its own last iteration, which is therefore taken to differ. What depends on
//! nothing but literals and what the caller sets for all is the same in every iteration; it moves to the entry block,
//! so that what follows the loop may depend on it and still be uniform.

use crate::entity::Value;
use crate::function::{Function, Imm, InstData};
use crate::op::{Effect, Varies};
use crate::region::{Divergence, RegionTree};
use crate::set::EntitySet;
use crate::types::Type;

/// Moves such values to the end of the entry block. Whether there were any. The layout must be in reverse postorder:
/// definitions come before uses then.
pub(super) fn hoist_invariants(func: &mut Function, tree: &RegionTree, divergence: &Divergence) -> bool {
    let invariant = invariant_values(func);
    let (mut wanted, entry) = (EntitySet::with_capacity(func.values.len()), func.entry());
    for &block in &func.layout {
        let is_apart =
            |&value: &Value| invariant.contains(value) && divergence.is_divergent_use(func, tree, value, block);
        wanted.extend(func.uses_in(block).filter(is_apart));
    }
    if wanted.is_empty() {
        return false;
    }
    let is_wanted = |wanted: &EntitySet<Value>, inst: &InstData| inst.result.is_some_and(|it| wanted.contains(it));
    for &block in func.layout.iter().rev() {
        for &inst in func.blocks[block].insts.iter().rev() {
            if is_wanted(&wanted, &func.insts[inst]) {
                wanted.extend(func.insts[inst].args.iter().copied());
            }
        }
    }
    let mut moved = Vec::new();
    for &block in func.layout.iter().filter(|&&block| block != entry) {
        let insts = &mut func.blocks[block].insts;
        moved.extend(insts.extract_if(.., |inst| is_wanted(&wanted, &func.insts[*inst])));
    }
    func.blocks[entry].insts.extend(moved);
    true
}

/// The values that depend on nothing but literals and what the caller sets for all lanes.
fn invariant_values(func: &Function) -> EntitySet<Value> {
    let mut invariant = EntitySet::with_capacity(func.values.len());
    for &block in &func.layout {
        for inst in func.insts_in(block) {
            let is_same = match inst.op.varies() {
                Varies::Follows => inst.args.iter().all(|&arg| invariant.contains(arg)),
                Varies::ByImmediate => matches!(inst.imm, Imm::SysVal(sysval) if sysval.is_uniform()),
                Varies::Same | Varies::Differs => false,
            };
            // Rows stay in the block that makes them.
            if is_same && inst.op.effect() == Effect::Pure && inst.ty != Type::Row {
                invariant.extend(inst.result);
            }
        }
    }
    invariant
}
