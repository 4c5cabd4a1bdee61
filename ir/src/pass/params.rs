//! Removes block parameters that always have the same value.

use super::aliases::Aliases;
use crate::cfg;
use crate::entity::{Block, Value};
use crate::function::Function;
use cranelift_entity::SecondaryMap;

/// Replaces every parameter whose incoming values are all one value, or the parameter itself, by that value; then drops
/// it.
///
/// Blocks the entry does not reach must be out of the layout.
pub fn simplify_params(func: &mut Function) {
    replace_params(func);
}

/// As [`simplify_params`], and says what stands for the parameters that are gone.
pub(crate) fn replace_params(func: &mut Function) -> Aliases {
    let mut alias = Aliases::default();
    if func.layout.iter().all(|&block| func.blocks[block].params.is_empty()) {
        return alias;
    }
    // In reverse postorder the values of forward edges are known before the parameters they go to, so that rounds are
    // few.
    let order = cfg::reverse_postorder(func);
    let incoming = cfg::predecessors(func);
    let mut changed = true;
    let mut any = false;
    while changed {
        changed = false;
        for &block in &order {
            for (index, &param) in func.blocks[block].params.iter().enumerate() {
                if alias.is_replaced(param) {
                    continue;
                }
                if let Some(value) =
                    only_value(param, incoming[block].iter().map(|&edge| func.edge(edge).args[index]), &mut alias)
                {
                    alias.replace(param, value);
                    changed = true;
                    any = true;
                }
            }
        }
    }
    if any {
        drop_params(func, &alias);
        alias.apply(func);
    }
    alias
}

fn only_value(param: Value, incoming: impl Iterator<Item = Value>, alias: &mut Aliases) -> Option<Value> {
    let mut only = None;
    for value in incoming {
        let value = alias.find_and_shorten(value);
        if value != param && *only.get_or_insert(value) != value {
            return None;
        }
    }
    only
}

/// Takes the replaced parameters out of their blocks, and their values off the edges.
fn drop_params(func: &mut Function, alias: &Aliases) {
    let mut keep: SecondaryMap<Block, Vec<bool>> = func.block_map();
    for &block in &func.layout {
        keep[block] = func.blocks[block].params.iter().map(|&param| !alias.is_replaced(param)).collect();
    }
    for index in 0..func.layout.len() {
        let data = &mut func.blocks[func.layout[index]];
        retain_by(&mut data.params, &keep[func.layout[index]]);
        for call in data.terminator.iter_mut().flat_map(|terminator| terminator.calls_mut()) {
            retain_by(&mut call.args, &keep[call.block]);
        }
    }
}

fn retain_by(list: &mut Vec<Value>, keep: &[bool]) {
    let mut keep = keep.iter();
    list.retain(|_| *keep.next().expect("one flag an item"));
}
