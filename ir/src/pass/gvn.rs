//! Computes what is computed twice once.

use super::aliases::Aliases;
use crate::dom::DominatorTree;
use crate::entity::{Array, Block, Value};
use crate::function::{Function, Imm, InstData};
use crate::op::{Attribute, Effect, TypeRule};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

/// The last instruction found of those that compute the same.
struct Known {
    value: Value,
    block: Block,
    epoch: u32,
}

/// Replaces every pure instruction by an equal one that dominates it, and every array load by an equal one before it in
/// its block with no store to the array in between. Blocks the entry does not reach keep theirs.
///
/// Goes over the blocks in preorder of the dominator tree: behind all that a block dominates, nothing asks for its
/// instructions any more, and others may take their place in the table. Operands are replaced first, and are defined
/// in dominating blocks, so one walk finds all that depends on what it has merged itself. Ops that see other lanes are
/// left alone: under other control flow they have other results.
pub fn gvn(func: &mut Function) {
    let tree = DominatorTree::new(func);
    let table = HashTable::with_capacity(func.size());
    let hasher = RandomState::default();
    let mut numbering = Numbering { func, tree: &tree, table, hasher, replaced: Aliases::default(), epoch: 0 };
    let order = tree.preorder();
    order.iter().for_each(|&block| numbering.block(block));
    let replaced = numbering.replaced;
    if order.len() == func.layout.len() {
        replaced.apply_to_ends(func);
    } else {
        replaced.apply(func);
    }
}

struct Numbering<'f> {
    func: &'f mut Function,
    tree: &'f DominatorTree,
    /// By [`hash`].
    table: HashTable<Known>,
    hasher: RandomState,
    replaced: Aliases,
    /// Number of block starts and stores so far.
    epoch: u32,
}

impl Numbering<'_> {
    /// Numbers a block.
    fn block(&mut self, block: Block) {
        self.epoch += 1;
        let start = self.epoch;
        let mut written: HashMap<Array, u32> = HashMap::new();
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
            let new = Known { value: result, block, epoch };
            let (func, hasher) = (&*self.func, &self.hasher);
            let data = &func.insts[inst];
            let definition = |known: &Known| func.def_inst(known.value).expect("instructions are known");
            let is_equal = |known: &Known| known.epoch == epoch && are_equal(definition(known), data);
            let hash_of = |known: &Known| hash(hasher, definition(known), known.epoch);
            match self.table.entry(hash(hasher, data, epoch), is_equal, hash_of) {
                Entry::Occupied(mut slot) => {
                    let Known { value, block: from, .. } = *slot.get();
                    let dominates = from == block || self.tree.dominates(from, block);
                    if dominates {
                        self.replaced.replace(result, value);
                    } else {
                        *slot.get_mut() = new;
                    }
                    !dominates
                }
                Entry::Vacant(slot) => {
                    slot.insert(new);
                    true
                }
            }
        });
        self.func.blocks[block].insts = insts;
    }
}

/// Whether two instructions compute the same, if what they read is the same.
fn are_equal(a: &InstData, b: &InstData) -> bool {
    let is_swapped = || a.op.attribute() == Attribute::Commutes && [a.args[1], a.args[0]] == *b.args;
    a.op == b.op && a.ty == b.ty && a.imm == b.imm && (*a.args == *b.args || is_swapped())
}

/// The hash of an instruction, of which equal ones have the same, and of when what it depends on began: the memory that
/// a load reads was last written, the block of a row; 0 for other pure ops. Seeded: nobody can choose colliding ones.
fn hash(hasher: &RandomState, inst: &InstData, epoch: u32) -> u64 {
    let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let arg = |at: usize| inst.args.get(at).map_or(u32::MAX, |arg| arg.as_u32());
    let (mut first, mut second) = (arg(0), arg(1));
    if inst.op.attribute() == Attribute::Commutes && first > second {
        (first, second) = (second, first);
    }
    let mut hasher = hasher.build_hasher();
    hasher.write_u64(pair(inst.op as u32 | (inst.ty as u32) << 8, epoch));
    hasher.write_u64(pair(first, second));
    // By reference: a copy is written in pieces and read across them, for which the processor waits.
    match &inst.imm {
        Imm::None if inst.args.len() <= 2 => {}
        Imm::None => hasher.write_u64(pair(arg(2), arg(3))),
        Imm::Bits(bits) => hasher.write_u64(*bits),
        Imm::Element { element, component } => hasher.write_u64(pair(*element, (*component).into())),
        imm => (arg(2), arg(3), imm).hash(&mut hasher),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;
    use crate::op::Op;
    use crate::pass::testing::{assert_keeps_meaning, assert_makes};
    use crate::pass::{ExpandOptions, dce, expand};
    use crate::types::Type;

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
