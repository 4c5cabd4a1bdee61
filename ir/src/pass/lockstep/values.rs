//! Where the old function's values are in the new one.

use super::Mask;
use crate::builder::FunctionBuilder;
use crate::entity::{Block, Value, Variable};
use crate::function::{Function, ValueDef};
use crate::op::Effect;
use crate::region::{Divergence, RegionTree};
use crate::set::EntitySet;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// How a use sees a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// Its definition dominates the use in the new function too.
    Direct,
    /// The use is after a loop that computes the value, and may be reached, with no lane active, on a way round it.
    Left,
    /// The same, and lanes left the loop after different iterations: each sees the value of its own.
    LeftApart,
}

/// Maps values. Most are seen directly; the others live in registers that the builder promotes:
///
/// * parameters of scope ends and loop headers, written by the edges;
/// * copies of values that are seen after a loop. Where lanes leave at different times, the copy is written under the
///   mask of each iteration, so that a lane's last write survives;
/// * *frozen* header parameters need no copy: they keep the value of lanes that do not continue.
pub(super) struct ValueMap {
    direct: SecondaryMap<Value, PackedOption<Value>>,
    params: SecondaryMap<Value, PackedOption<Variable>>,
    left: SecondaryMap<Value, PackedOption<Variable>>,
    left_apart: SecondaryMap<Value, PackedOption<Variable>>,
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
            direct: func.value_map(),
            params: func.value_map(),
            left: func.value_map(),
            left_apart: func.value_map(),
            frozen: EntitySet::with_capacity(func.values.len()),
        };
        let mut apart = Vec::new();
        for &block in &func.layout {
            let data = &func.blocks[block];
            if tree.scope(block).is_some() || tree.loop_of(block).is_some() {
                for &param in &data.params {
                    map.params[param] = b.declare_var(func.ty(param)).into();
                }
            }
            for value in func.uses_in(block) {
                match sight(func, tree, divergence, value, block) {
                    Sight::Direct => {}
                    Sight::Left if map.left[value].is_some() => {}
                    Sight::Left => map.left[value] = b.declare_var(func.ty(value)).into(),
                    Sight::LeftApart => apart.push((value, block)),
                }
            }
        }
        for &(value, block) in &apart {
            if map.left_apart[value].is_none() && !can_freeze(func, tree, divergence, value, block) {
                map.left_apart[value] = b.declare_var(func.ty(value)).into();
            }
        }
        for (value, _) in apart {
            if map.left_apart[value].is_none() {
                map.frozen.insert(value);
            }
        }
        map
    }

    /// How many registers the map needs.
    pub(super) fn registers(&self) -> usize {
        [&self.params, &self.left, &self.left_apart]
            .map(|map| map.values().filter(|register| register.is_some()).count())
            .iter()
            .sum()
    }

    /// The new value, as code that stands for `block` sees it.
    pub(super) fn get(
        &self,
        b: &mut FunctionBuilder,
        (func, tree, divergence): (&Function, &RegionTree, &Divergence),
        value: Value,
        block: Block,
    ) -> Value {
        let register = match sight(func, tree, divergence, value, block) {
            Sight::Direct => return self.direct[value].expect("definitions come before uses"),
            Sight::Left => self.left[value],
            Sight::LeftApart if self.frozen.contains(value) => self.params[value],
            Sight::LeftApart => self.left_apart[value],
        };
        b.use_var(register.expect("values seen after loops have a register"))
    }

    /// Says what a value is now, for the lanes of `mask`.
    pub(super) fn define(&mut self, b: &mut FunctionBuilder, value: Value, new: Value, mask: Mask) {
        self.direct[value] = new.into();
        if let Some(register) = self.left[value].expand() {
            b.def_var(register, new);
        }
        if let Some(register) = self.left_apart[value].expand() {
            let captured = match mask {
                None => new,
                Some(mask) => {
                    let old = b.use_var(register);
                    b.select([mask, new, old])
                }
            };
            b.def_var(register, captured);
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

fn sight(func: &Function, tree: &RegionTree, divergence: &Divergence, value: Value, block: Block) -> Sight {
    let from = tree.def_block(func, value);
    if from == block {
        return Sight::Direct;
    }
    let mut left = tree.loops_left(from, block).map(|frame| divergence.frames[frame as usize]);
    match left.next() {
        None => Sight::Direct,
        Some(first) if first || left.any(|is_divergent| is_divergent) => Sight::LeftApart,
        Some(_) => Sight::Left,
    }
}

/// The derivatives whose operand every lane has that comes by, under whatever mask: one that is uniform, or is computed
/// of inputs, uniforms and literals alone, by code that is not seen across the end of a loop. Direct3D allows the
/// derivatives of inputs anywhere (11.3 functional specification, 16.8.2); those of what is computed follow.
pub(super) fn seen_everywhere(func: &Function, tree: &RegionTree, divergence: &Divergence) -> EntitySet<Value> {
    let mut everywhere = EntitySet::with_capacity(func.values.len());
    if !func.layout.iter().any(|&block| func.insts_in(block).any(|inst| inst.op.is_derivative())) {
        return everywhere;
    }
    // Operands come first: the layout is in reverse postorder, and parameters are not looked through.
    for &block in &func.layout {
        for inst in func.insts_in(block) {
            let Some(result) = inst.result else { continue };
            let is_seen = |&arg: &Value| match sight(func, tree, divergence, arg, block) {
                Sight::Direct => divergence.uniform.contains(arg) || everywhere.contains(arg),
                Sight::Left => divergence.uniform.contains(arg),
                Sight::LeftApart => false,
            };
            let is_computed = inst.op.effect() == Effect::Pure || inst.op.is_derivative();
            if is_computed && inst.args.iter().all(is_seen) {
                everywhere.insert(result);
            }
        }
    }
    everywhere
}

/// Whether freezing a value instead of capturing it serves a use in `block`: it must be a divergent parameter of the
/// one loop left on the way. A loop further out would enter its loop anew for other lanes and overwrite it; and a
/// uniform parameter must stay uniform inside.
fn can_freeze(func: &Function, tree: &RegionTree, divergence: &Divergence, value: Value, block: Block) -> bool {
    let ValueDef::Param(header) = func.values[value].def else { return false };
    let mut left = tree.loops_left(header, block);
    tree.loop_of(header).is_some()
        && left.next() == tree.loop_of(header)
        && left.next().is_none()
        && !divergence.uniform.contains(value)
        && divergence.frames[tree.loop_of(header).expect("just tested") as usize]
}
