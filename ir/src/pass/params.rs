//! Removes block parameters that always have the same value.

use crate::cfg::{self, Edge};
use crate::entity::Value;
use crate::function::{BlockCall, Function};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Replaces every parameter whose incoming values are all one value, or the parameter itself, by that value; then drops it.
///
/// Blocks the entry does not reach must be out of the layout.
pub fn simplify_params(func: &mut Function) {
    let predecessors = cfg::predecessors(func);
    let mut alias: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let mut changed = true;
    let mut any = false;
    while changed {
        changed = false;
        for &block in &func.layout {
            for (index, &param) in func.blocks[block].params.iter().enumerate() {
                if alias[param].is_some() {
                    continue;
                }
                let incoming =
                    predecessors[block].iter().map(|&edge| resolve(&alias, edge_call(func, edge).args[index]));
                if let Some(value) = only_value(param, incoming) {
                    alias[param] = value.into();
                    changed = true;
                    any = true;
                }
            }
        }
    }
    if !any {
        return;
    }
    let layout = std::mem::take(&mut func.layout);
    for &block in &layout {
        let keep: Vec<bool> = func.blocks[block].params.iter().map(|&param| alias[param].is_none()).collect();
        if keep.iter().all(|&keep| keep) {
            continue;
        }
        retain_by(&mut func.blocks[block].params, &keep);
        for &edge in &predecessors[block] {
            let terminator = func.blocks[edge.from].terminator.as_mut().expect("an edge comes from a terminator");
            let call = terminator.calls_mut().nth(edge.call).expect("an edge names one of its terminator's calls");
            retain_by(&mut call.args, &keep);
        }
    }
    func.layout = layout;
    func.replace_uses(|value| resolve(&alias, value));
}

fn edge_call(func: &Function, edge: Edge) -> &BlockCall {
    func.blocks[edge.from].terminator().calls().nth(edge.call).expect("an edge names one of its terminator's calls")
}

/// Follows replacements. They cannot form a cycle: a value is only replaced by one that is not replaced itself.
fn resolve(alias: &SecondaryMap<Value, PackedOption<Value>>, mut value: Value) -> Value {
    while let Some(next) = alias[value].expand() {
        value = next;
    }
    value
}

fn only_value(param: Value, incoming: impl Iterator<Item = Value>) -> Option<Value> {
    let mut only = None;
    for value in incoming.filter(|&value| value != param) {
        if *only.get_or_insert(value) != value {
            return None;
        }
    }
    only
}

fn retain_by<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    list.retain(|_| *keep.next().expect("one flag an item"));
}
