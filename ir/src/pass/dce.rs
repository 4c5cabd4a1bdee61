//! Removes what nothing observable depends on.

use crate::cfg;
use crate::entity::{Array, Inst, Value};
use crate::function::{Function, Imm, InstData, ValueDef};
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
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        insts.retain(|&inst| live.is_needed(&func.insts[inst]));
        func.blocks[block].insts = insts;
        if let Some(mut terminator) = func.blocks[block].terminator.take() {
            for call in terminator.calls_mut() {
                // The parameters are dropped below, when every edge is done.
                let mut params = func.blocks[call.block].params.iter();
                call.args.retain(|_| params.next().is_some_and(|&param| live.values[param]));
            }
            func.blocks[block].terminator = Some(terminator);
        }
    }
    for &block in &layout {
        func.blocks[block].params.retain(|&param| live.values[param]);
    }
    func.layout = layout;
}

#[derive(Default)]
struct Liveness {
    values: SecondaryMap<Value, bool>,
    /// Arrays with a live load.
    arrays: EntitySet<Array>,
    work: Vec<Value>,
}

impl Liveness {
    fn of(func: &Function) -> Liveness {
        let mut live = Liveness { values: func.value_map(), ..Liveness::default() };
        let predecessors = LazyCell::new(|| cfg::predecessors(func));
        let mut stores: SecondaryMap<Array, Vec<Inst>> = SecondaryMap::new();
        for (array, _) in func.arrays.iter().filter(|(_, data)| data.kept) {
            live.arrays.insert(array);
        }
        let mut position: SecondaryMap<Value, u32> = SecondaryMap::new();
        for &block in &func.layout {
            let data = &func.blocks[block];
            for (index, &param) in data.params.iter().enumerate() {
                position[param] = index as u32;
            }
            for &inst in &data.insts {
                let InstData { op, args, imm, .. } = &func.insts[inst];
                match *imm {
                    Imm::Array { array, .. } if op.effect() == Effect::Write && !func.arrays[array].kept => {
                        stores[array].push(inst);
                    }
                    _ if op.effect() == Effect::Write => args.iter().for_each(|&arg| live.mark(arg)),
                    _ => {}
                }
            }
            data.terminator.iter().filter_map(|terminator| terminator.selector()).for_each(|value| live.mark(value));
        }
        while let Some(value) = live.work.pop() {
            match func.values[value].def {
                ValueDef::Inst(inst) => {
                    let InstData { args, imm, .. } = &func.insts[inst];
                    args.iter().for_each(|&arg| live.mark(arg));
                    if let &Imm::Array { array, .. } = imm
                        && live.arrays.insert(array)
                    {
                        for &store in &stores[array] {
                            func.insts[store].args.iter().for_each(|&arg| live.mark(arg));
                        }
                    }
                }
                ValueDef::Param(block) => {
                    let index = position[value] as usize;
                    predecessors[block].iter().for_each(|&edge| live.mark(func.edge(edge).args[index]));
                }
            }
        }
        live
    }

    fn mark(&mut self, value: Value) {
        if !std::mem::replace(&mut self.values[value], true) {
            self.work.push(value);
        }
    }

    fn is_needed(&self, inst: &InstData) -> bool {
        match (inst.result, inst.imm) {
            (Some(result), _) if inst.op.is_removable() => self.values[result],
            (None, Imm::Array { array, .. }) => self.arrays.contains(array),
            _ => true,
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
