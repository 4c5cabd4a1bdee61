//! Removes what nothing observable depends on.

use crate::cfg;
use crate::entity::{Array, Block, Inst, Value};
use crate::function::{Function, Imm, ValueDef};
use crate::op::Effect;
use crate::set::EntitySet;
use cranelift_entity::SecondaryMap;
use std::cell::LazyCell;

/// Removes unused instructions, unused block parameters with what the edges give them, and stores to arrays that are
/// neither loaded nor kept.
///
/// Everything is dead until an output or a branch needs it. So parameters that only feed each other around a loop go,
/// and so do an array's stores if the loads of it are dead.
pub fn dce(func: &mut Function) {
    let live = Liveness::of(func);
    let layout = std::mem::take(&mut func.layout);
    for &block in &layout {
        if !live.dead.is_empty() {
            func.blocks[block].insts.retain(|&inst| !live.dead.contains(inst));
        }
        if let Some(mut terminator) = func.blocks[block].terminator.take() {
            for call in terminator.calls_mut() {
                // The parameters are dropped below, when every edge is done.
                let mut params = func.blocks[call.block].params.iter();
                call.args.retain(|_| params.next().is_some_and(|&param| live.values[param] == State::Needed));
            }
            func.blocks[block].terminator = Some(terminator);
        }
    }
    for &block in &layout {
        func.blocks[block].params.retain(|&param| live.values[param] == State::Needed);
    }
    func.layout = layout;
}

/// What is known of a value.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Nothing that has been looked at needs it.
    #[default]
    Unneeded,
    /// So it was when its definition was looked at.
    Passed,
    /// Something needs it.
    Needed,
}

/// What is needed, found by one look at each instruction, backwards: most definitions come after all their uses then.
/// Those that do not (what edges backwards give) are a worklist.
#[derive(Default)]
struct Liveness {
    values: SecondaryMap<Value, State>,
    /// Instructions that have been looked at and are not needed.
    dead: EntitySet<Inst>,
    /// Arrays with a live load, and those that are kept.
    arrays: EntitySet<Array>,
    /// The stores to other arrays.
    stores: SecondaryMap<Array, Vec<Inst>>,
    /// Needed values whose definitions have been passed.
    work: Vec<Value>,
}

impl Liveness {
    fn of(func: &Function) -> Liveness {
        let mut live = Liveness { values: func.value_map(), ..Liveness::default() };
        live.arrays.extend(func.arrays.iter().filter(|(_, data)| data.kept).map(|(array, _)| array));
        let predecessors = LazyCell::new(|| cfg::predecessors(func));
        let position = LazyCell::new(|| {
            let mut position: SecondaryMap<Value, u32> = SecondaryMap::new();
            for params in func.layout.iter().map(|&block| &func.blocks[block].params) {
                params.iter().zip(0..).for_each(|(&param, index)| position[param] = index);
            }
            position
        });
        let give = |live: &mut Liveness, block: Block, index: usize| {
            predecessors[block].iter().for_each(|&edge| live.need(func.edge(edge).args[index]));
        };
        for &block in func.layout.iter().rev() {
            let data = &func.blocks[block];
            data.terminator.iter().filter_map(|terminator| terminator.selector()).for_each(|value| live.need(value));
            data.insts.iter().rev().for_each(|&inst| live.look_at(func, inst));
            for (index, &param) in data.params.iter().enumerate() {
                match live.values[param] {
                    State::Needed => give(&mut live, block, index),
                    _ => live.values[param] = State::Passed,
                }
            }
        }
        while let Some(value) = live.work.pop() {
            match func.values[value].def {
                ValueDef::Inst(inst) => live.revive(func, inst),
                ValueDef::Param(block) => give(&mut live, block, position[value] as usize),
            }
        }
        live
    }

    /// Looks at an instruction, after all that comes behind it in the layout.
    fn look_at(&mut self, func: &Function, inst: Inst) {
        let data = &func.insts[inst];
        let is_needed = match (data.result, data.imm) {
            (Some(result), _) if data.op.is_removable() => {
                let is_needed = self.values[result] == State::Needed;
                if !is_needed {
                    self.values[result] = State::Passed;
                }
                is_needed
            }
            (None, Imm::Array { array, .. }) if !self.arrays.contains(array) => {
                self.stores[array].push(inst);
                false
            }
            _ => true,
        };
        if is_needed {
            self.revive(func, inst);
        } else {
            self.dead.insert(inst);
        }
    }

    /// Notes what an instruction needs that is needed itself.
    fn revive(&mut self, func: &Function, inst: Inst) {
        let data = &func.insts[inst];
        self.dead.remove(inst);
        data.args.iter().for_each(|&arg| self.need(arg));
        if let Imm::Array { array, .. } = data.imm
            && data.op.effect() != Effect::Write
            && self.arrays.insert(array)
        {
            for store in std::mem::take(&mut self.stores[array]) {
                self.revive(func, store);
            }
        }
    }

    fn need(&mut self, value: Value) {
        if std::mem::replace(&mut self.values[value], State::Needed) == State::Passed {
            self.work.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::testing::{assert_keeps_meaning, assert_makes};

    #[test]
    fn what_no_output_or_branch_needs_goes() {
        assert_makes(
            dce,
            r#"function "f" inputs 1 outputs 1 {
    array0 [4 x 1]
    array1 [4 x 1]
block0:
    v0 = input.i32 0.0
    v1 = iadd v0, v0
    v2 = input.f32 0.1
    v3 = fsqrt v2
    array_store.i32 array0.0, v1, v0
    array_store.i32 array1.0, v0, v0
    v4 = array_load.i32 array0.0, v1
    v5 = array_load.i32 array1.0, v0
    output.i32 0.0, v5
    return
}
"#,
            r#"function "f" inputs 1 outputs 1 {
    array0 [4 x 1]
    array1 [4 x 1]
block0:
    v0 = input.i32 0.0
    array_store.i32 array1.0, v0, v0
    v1 = array_load.i32 array1.0, v0
    output.i32 0.0, v1
    return
}
"#,
        );
    }

    #[test]
    fn parameters_that_only_feed_each_other_go_and_counters_stay() {
        assert_makes(
            dce,
            r#"function "f" inputs 1 outputs 1 {
block0:
    v0 = input.i32 0.0
    v1 = const.i32 0
    v2 = const.i32 1
    jump block1(v1, v0, v0)
block1(v3: i32, v4: i32, v5: i32):
    v6 = iadd v3, v2
    v7 = imul v4, v5
    v8 = ult v6, v0
    br_if v8, block1(v6, v5, v7), block2
block2:
    output.i32 0.0, v6
    return
}
"#,
            r#"function "f" inputs 1 outputs 1 {
block0:
    v0 = input.i32 0.0
    v1 = const.i32 0
    v2 = const.i32 1
    jump block1(v1)
block1(v3: i32):
    v4 = iadd v3, v2
    v5 = ult v4, v0
    br_if v5, block1(v4), block2
block2:
    output.i32 0.0, v4
    return
}
"#,
        );
    }

    #[test]
    fn random_functions_keep_their_meaning() {
        assert_keeps_meaning(dce);
    }
}
