//! Where the old function's values are in the new one.

use super::Mask;
use crate::builder::FunctionBuilder;
use crate::entity::{Block, Value, Variable};
use crate::function::Function;
use crate::region::{Divergence, RegionTree};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Maps values. Most are defined once and used where that definition dominates in the new function too; the others live in
/// registers that the builder promotes:
///
/// * parameters of scope ends and loop headers, written by the edges;
/// * *captures*: copies of values that are used after a divergent loop that computes them, written under the mask of each
///   iteration, so that a lane's last write survives;
/// * *frozen* header parameters need no capture: they keep the value of lanes that do not continue.
pub(super) struct ValueMap {
    direct: SecondaryMap<Value, PackedOption<Value>>,
    params: SecondaryMap<Value, PackedOption<Variable>>,
    captures: SecondaryMap<Value, PackedOption<Variable>>,
    frozen: EntitySet<Value>,
}

impl ValueMap {
    pub(super) fn new(
        func: &Function,
        tree: &RegionTree,
        divergence: &Divergence,
        b: &mut FunctionBuilder,
    ) -> ValueMap {
        let mut map = ValueMap {
            direct: SecondaryMap::new(),
            params: SecondaryMap::new(),
            captures: SecondaryMap::new(),
            frozen: EntitySet::with_capacity(func.values.len()),
        };
        for &block in &func.layout {
            if tree.scope(block).is_some() || tree.loop_of(block).is_some() {
                for &param in &func.blocks[block].params {
                    map.params[param] = b.declare_var(func.ty(param)).into();
                }
            }
        }
        let mut leaving: Vec<(Value, Block)> = Vec::new();
        for &block in &func.layout {
            let data = &func.blocks[block];
            let operands = data.insts.iter().flat_map(|&inst| func.insts[inst].args.to_vec());
            leaving.extend(operands.chain(data.terminator().uses()).map(|value| (value, block)));
        }
        leaving.retain(|&(value, block)| divergence.is_divergent_use(func, tree, value, block));
        let mut unfreezable = EntitySet::with_capacity(func.values.len());
        for &(value, block) in &leaving {
            if !can_freeze(func, tree, divergence, value, block) {
                unfreezable.insert(value);
            }
        }
        for (value, _) in leaving {
            if !unfreezable.contains(value) {
                map.frozen.insert(value);
            } else if map.captures[value].is_none() {
                map.captures[value] = b.declare_var(func.ty(value)).into();
            }
        }
        map
    }

    /// The new value. `is_captured` says that lanes see the value of an iteration of their own.
    pub(super) fn get(&self, b: &mut FunctionBuilder, value: Value, is_captured: bool) -> Value {
        if is_captured {
            let variable = if self.frozen.contains(value) { self.params[value] } else { self.captures[value] };
            return b.use_var(variable.expect("values that leave divergent loops have a register"));
        }
        self.direct[value].expect("definitions come before uses")
    }

    /// Says what a value is now, for the lanes of `mask`.
    pub(super) fn define(&mut self, b: &mut FunctionBuilder, value: Value, new: Value, mask: Mask) {
        self.direct[value] = new.into();
        if let Some(capture) = self.captures[value].expand() {
            let captured = match mask {
                None => new,
                Some(mask) => {
                    let old = b.use_var(capture);
                    b.select([mask, new, old])
                }
            };
            b.def_var(capture, captured);
        }
    }

    /// What the register of a parameter holds.
    pub(super) fn read_param(&self, b: &mut FunctionBuilder, param: Value) -> Value {
        b.use_var(self.params[param].expect("parameters of scope ends and headers have a register"))
    }

    /// Writes the register of a parameter.
    pub(super) fn write_param(&self, b: &mut FunctionBuilder, param: Value, value: Value) {
        b.def_var(self.params[param].expect("parameters of scope ends and headers have a register"), value);
    }

    /// Whether a header parameter keeps its value in lanes that have left.
    pub(super) fn is_frozen(&self, param: Value) -> bool {
        self.frozen.contains(param)
    }
}

/// Whether freezing a value instead of capturing it serves a use in `block`: it must be a divergent parameter of the one
/// loop left on the way. A loop further out would enter its loop anew for other lanes and overwrite it; and a uniform
/// parameter must stay uniform inside.
fn can_freeze(func: &Function, tree: &RegionTree, divergence: &Divergence, value: Value, block: Block) -> bool {
    let crate::function::ValueDef::Param(header) = func.values[value].def else { return false };
    let mut left = tree.loops_left(header, block);
    tree.loop_of(header).is_some()
        && left.next() == tree.loop_of(header)
        && left.next().is_none()
        && !divergence.uniform.contains(value)
        && divergence.frames[tree.loop_of(header).expect("just tested") as usize]
}
