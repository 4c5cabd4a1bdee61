//! Computes what is computed twice once.

use super::aliases::Aliases;
use crate::dom::DominatorTree;
use crate::entity::{Array, Block, Value};
use crate::function::{Function, Imm, InstData, Operands};
use crate::op::{Attribute, Effect, Op, TypeRule};
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use foldhash::fast::FixedState;
use foldhash::{HashMap, HashMapExt};
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

/// What makes two pure instructions compute the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    ty: Type,
    args: Operands,
    imm: Imm,
    /// For a load, when the memory it reads was last written; for a row, when its block began; 0 for other pure ops.
    epoch: u32,
}

/// The first instruction found that has a key of some hash. Tables hold no keys: those of a long program would not fit
/// into any cache, and the instruction says the same.
struct Known {
    value: Value,
    epoch: u32,
}

/// A step of the walk.
enum Step {
    Enter(Block),
    /// Takes back what a block has added, after all it dominates: their hashes.
    Leave(Vec<u64>),
}

/// Replaces every pure instruction by an equal one that dominates it, and every array load by an equal one before it in
/// its block with no store to the array in between. Blocks the entry does not reach keep theirs.
///
/// Walks the dominator tree; a block's instructions are in the table only while the blocks it dominates are visited.
/// Operands are replaced first, and are defined in dominating blocks, so one walk finds all that depends on what it has
/// merged itself. Ops that see other lanes are left alone: under other control flow they have other results.
pub fn gvn(func: &mut Function) {
    let tree = DominatorTree::new(func);
    let mut children: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for &block in tree.reverse_postorder().iter().rev() {
        if let Some(idom) = tree.idom(block) {
            children[idom].push(block);
        }
    }
    let table = HashMap::with_capacity(func.insts.len());
    let mut numbering = Numbering { func, table, replaced: Aliases::default(), epoch: 0 };
    let mut work = vec![Step::Enter(numbering.func.entry())];
    while let Some(step) = work.pop() {
        match step {
            Step::Enter(block) => {
                let added = numbering.block(block);
                work.push(Step::Leave(added));
                work.extend(children[block].drain(..).map(Step::Enter));
            }
            // What is in the table now is for blocks that are still to come.
            Step::Leave(_) if work.is_empty() => {}
            Step::Leave(added) => added.iter().for_each(|hash| {
                numbering.table.remove(hash);
            }),
        }
    }
    let replaced = numbering.replaced;
    replaced.apply(func);
}

struct Numbering<'f> {
    func: &'f mut Function,
    /// By the hash of the key.
    table: HashMap<u64, Known>,
    replaced: Aliases,
    /// Number of block starts and stores so far.
    epoch: u32,
}

impl Numbering<'_> {
    /// Numbers a block; returns the hashes that it has added to the table.
    fn block(&mut self, block: Block) -> Vec<u64> {
        self.epoch += 1;
        let start = self.epoch;
        let mut written: HashMap<Array, u32> = HashMap::new();
        let mut added = Vec::new();
        let mut insts = std::mem::take(&mut self.func.blocks[block].insts);
        insts.retain(|&inst| {
            let data = &mut self.func.insts[inst];
            data.args.iter_mut().for_each(|arg| *arg = self.replaced.find(*arg));
            let epoch = match (data.op.effect(), data.imm) {
                // A row is for its block alone.
                (Effect::Pure, _) if data.op.result() == TypeRule::Row => start,
                (Effect::Pure, _) => 0,
                // Other blocks have other epochs, so their loads are not found.
                (Effect::Read, Imm::Array { array, .. }) => written.get(&array).copied().unwrap_or(start),
                (Effect::Write, Imm::Array { array, .. }) => {
                    self.epoch += 1;
                    written.insert(array, self.epoch);
                    return true;
                }
                _ => return true,
            };
            let Some(result) = data.result else { return true };
            let key = key(data, epoch);
            let hash = FixedState::default().hash_one(key);
            match self.table.entry(hash) {
                Entry::Occupied(known) => {
                    let &Known { value, epoch } = known.get();
                    // Two keys of one hash hardly ever meet; the second stays unknown then.
                    let is_equal = self.func.def_inst(value).is_some_and(|known| self::key(known, epoch) == key);
                    if is_equal {
                        self.replaced.replace(result, value);
                    }
                    !is_equal
                }
                Entry::Vacant(slot) => {
                    slot.insert(Known { value: result, epoch });
                    added.push(hash);
                    true
                }
            }
        });
        self.func.blocks[block].insts = insts;
        added
    }
}

fn key(inst: &InstData, epoch: u32) -> Key {
    let mut args = inst.args;
    if inst.op.attribute() == Attribute::Commutes {
        args.sort_unstable();
    }
    Key { op: inst.op, ty: inst.ty, args, imm: inst.imm, epoch }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;
    use crate::pass::testing::{assert_keeps_meaning, assert_makes};
    use crate::pass::{ExpandOptions, dce, expand};

    #[test]
    fn equal_instructions_that_dominate_are_used_and_others_stay() {
        assert_makes(
            gvn,
            r#"function "f" inputs 1 outputs 1 {
block0:
    v0 = input.i32 0.0
    v1 = const.i32 7
    v2 = iadd v0, v1
    v3 = const.i32 7
    v4 = iadd v3, v0
    v5 = isub v0, v1
    v6 = isub v3, v0
    v7 = ieq v2, v4
    br_if v7, block1, block2
block1:
    v8 = iadd v0, v3
    v9 = imul v5, v6
    output.i32 0.0, v8
    jump block3(v9)
block2:
    v10 = imul v6, v5
    jump block3(v10)
block3(v11: i32):
    v12 = imul v5, v6
    v13 = iadd v11, v12
    output.i32 0.1, v13
    return
}
"#,
            r#"function "f" inputs 1 outputs 1 {
block0:
    v0 = input.i32 0.0
    v1 = const.i32 7
    v2 = iadd v0, v1
    v3 = isub v0, v1
    v4 = isub v1, v0
    v5 = ieq v2, v2
    br_if v5, block1, block2
block1:
    v6 = imul v3, v4
    output.i32 0.0, v2
    jump block3(v6)
block2:
    v7 = imul v4, v3
    jump block3(v7)
block3(v8: i32):
    v9 = imul v3, v4
    v10 = iadd v8, v9
    output.i32 0.1, v10
    return
}
"#,
        );
    }

    #[test]
    fn loads_are_equal_between_stores_of_one_block() {
        assert_makes(
            gvn,
            r#"function "f" inputs 1 outputs 1 {
    array0 [4 x 1]
    array1 [4 x 1]
block0:
    v0 = input.i32 0.0
    v1 = array_load.i32 array0.0, v0
    array_store.i32 array1.0, v0, v0
    v2 = array_load.i32 array0.0, v0
    array_store.i32 array0.0, v0, v2
    v3 = array_load.i32 array0.0, v0
    output.i32 0.0, v3
    jump block1
block1:
    v4 = array_load.i32 array0.0, v0
    output.i32 0.1, v4
    return
}
"#,
            r#"function "f" inputs 1 outputs 1 {
    array0 [4 x 1]
    array1 [4 x 1]
block0:
    v0 = input.i32 0.0
    v1 = array_load.i32 array0.0, v0
    array_store.i32 array1.0, v0, v0
    array_store.i32 array0.0, v0, v1
    v2 = array_load.i32 array0.0, v0
    output.i32 0.0, v2
    jump block1
block1:
    v3 = array_load.i32 array0.0, v0
    output.i32 0.1, v3
    return
}
"#,
        );
    }

    #[test]
    fn sine_and_cosine_of_one_angle_share_all_but_their_ends() {
        let size = |ops: &[Op]| {
            let mut b = FunctionBuilder::new("f", 1, 1);
            let angle = b.input(Type::F32, 0, 0);
            for (component, &op) in (0..).zip(ops) {
                let value = b.op(op, &[angle]);
                b.output(0, component, value);
            }
            b.ret();
            let mut func = b.finish();
            expand(&mut func, &ExpandOptions { fused: true });
            gvn(&mut func);
            dce(&mut func);
            func.size()
        };
        // A select, the next quadrant and its constant; the sign's shift, mask and application; two bitcasts; the
        // output.
        assert!(size(&[Op::Fsin, Op::Fcos]) <= size(&[Op::Fsin]) + 8);
    }

    #[test]
    fn random_functions_keep_their_meaning() {
        assert_keeps_meaning(gvn);
    }
}
