//! Garbage collection in the tables of a function: blocks, instructions and values that passes have left behind go, and
//! those that stay are numbered anew.
//!
//! Whatever comes later has tables with an entry for each value, and copies of the function. Of a long shader half the
//! values are what passes have replaced.

use crate::entity::{Block, Value};
use crate::function::{Function, ValueData, ValueDef};
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

/// Numbers blocks, instructions and values in the order of the layout, without what is in no block of it. The text
/// stays what it was.
pub fn compact(func: &mut Function) {
    let size = func.size();
    let (mut insts, mut values) = (PrimaryMap::with_capacity(size), PrimaryMap::with_capacity(size));
    let mut new_value: SecondaryMap<Value, Option<Value>> = func.value_map();
    let mut new_block: SecondaryMap<Block, Option<Block>> = SecondaryMap::with_capacity(func.blocks.len());
    let mut blocks = PrimaryMap::with_capacity(func.layout.len());
    for &old in &func.layout {
        let mut data = std::mem::take(&mut func.blocks[old]);
        let block = Block::new(blocks.len());
        new_block[old] = Some(block);
        for param in &mut data.params {
            let new = values.push(ValueData { ty: func.values[*param].ty, def: ValueDef::Param(block) });
            new_value[std::mem::replace(param, new)] = Some(new);
        }
        for inst in &mut data.insts {
            *inst = insts.push(func.insts[*inst]);
            if let Some(result) = &mut insts[*inst].result {
                let new = values.push(ValueData { ty: func.values[*result].ty, def: ValueDef::Inst(*inst) });
                new_value[std::mem::replace(result, new)] = Some(new);
            }
        }
        blocks.push(data);
    }
    // Uses may stand in front of definitions: what edges backwards give.
    let renamed = |value: &mut Value| *value = new_value[*value].expect("what is used is defined in the layout");
    insts.values_mut().for_each(|inst| inst.args.iter_mut().for_each(renamed));
    for terminator in blocks.values_mut().filter_map(|block| block.terminator.as_mut()) {
        terminator.for_each_use_mut(renamed);
        for call in terminator.calls_mut() {
            call.block = new_block[call.block].expect("edges lead to blocks of the layout");
        }
    }
    func.layout = blocks.keys().collect();
    (func.blocks, func.insts, func.values) = (blocks, insts, values);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::testing::assert_keeps_meaning;
    use crate::pass::{dce, fold, gvn, straighten};

    #[test]
    fn what_passes_left_behind_is_gone_and_the_text_is_the_same() {
        let passes = |func: &mut Function| {
            [fold, gvn, dce, straighten].iter().for_each(|pass| pass(func));
        };
        assert_keeps_meaning(|func| {
            passes(func);
            let before = func.to_string();
            compact(func);
            assert_eq!(func.to_string(), before);
            let in_use: usize = func.layout.iter().map(|&block| func.defs_in(block).count()).sum();
            assert_eq!((func.values.len(), func.blocks.len()), (in_use, func.layout.len()));
        });
    }
}
