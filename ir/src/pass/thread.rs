//! Takes edges past blocks that only ask what is known on the way there.
//!
//! A divergent loop that is left in its middle ends in such a block: lanes that left arrive with a mask that is
//! literally false, the others with one that was found true above.

use super::{remove_unreachable, simplify_params};
use crate::cfg::{self, Edge, Lists};
use crate::dom::DominatorTree;
use crate::entity::{Block, Value};
use crate::function::{BlockCall, Function, Terminator, ValueDef};
use crate::op::Op;
use crate::set::EntitySet;
use cranelift_entity::SecondaryMap;
use std::cell::LazyCell;

/// How often the whole function is gone over: what one block's going decides is for the next time.
const MAX_ROUNDS: u32 = 4;

/// How many edges upwards a condition is looked for.
const MAX_STEPS: u32 = 32;

/// A block that computes nothing but `any` of one of its parameters, and branches on that or on a parameter.
struct Crossroads {
    block: Block,
    /// Where it leads: if true, if false.
    ways: [BlockCall; 2],
    /// The way that takes over the parameters that others use.
    heir: usize,
    /// Those parameters, by number.
    inherited: Vec<usize>,
    /// What comes in, and which way it goes.
    incoming: Vec<(Edge, usize)>,
}

/// Removes blocks that only branch on what every edge to them decides.
pub fn thread(func: &mut Function) {
    for _ in 0..MAX_ROUNDS {
        let found = crossroads(func);
        if found.is_empty() {
            return;
        }
        for crossroads in &found {
            remove(func, crossroads);
        }
        remove_unreachable(func);
        simplify_params(func);
    }
}

/// Blocks that can be removed, no two of them neighbours.
fn crossroads(func: &Function) -> Vec<Crossroads> {
    if func.layout.len() == 1 {
        return Vec::new();
    }
    let predecessors = cfg::predecessors(func);
    let tree = LazyCell::new(|| DominatorTree::new(func));
    let mut found: Vec<Crossroads> =
        func.layout.iter().filter_map(|&block| candidate(func, &predecessors, &tree, block)).collect();
    if found.is_empty() {
        return found;
    }
    let users = outside_users(func, &found);
    let mut touched = EntitySet::with_capacity(func.blocks.len());
    found.retain_mut(|crossroads| {
        let neighbours: Vec<Block> = [crossroads.block]
            .into_iter()
            .chain(crossroads.ways.iter().map(|way| way.block))
            .chain(crossroads.incoming.iter().map(|(edge, _)| edge.from))
            .collect();
        let is_free = neighbours.iter().all(|&block| !touched.contains(block));
        let removed = is_free && find_heir(func, crossroads, &users[crossroads.block], &predecessors, &tree);
        if removed {
            neighbours.into_iter().for_each(|block| _ = touched.insert(block));
        }
        removed
    });
    found
}

fn candidate(
    func: &Function,
    predecessors: &Lists<Edge>,
    tree: &LazyCell<DominatorTree, impl FnOnce() -> DominatorTree>,
    block: Block,
) -> Option<Crossroads> {
    let data = &func.blocks[block];
    let Some(Terminator::BrIf { condition, then_call, else_call }) = &data.terminator else { return None };
    let decider = match data.insts[..] {
        [] => *condition,
        [inst] if func.insts[inst].op == Op::Any && func.insts[inst].result == Some(*condition) => {
            func.insts[inst].args[0]
        }
        _ => return None,
    };
    let decider = data.params.iter().position(|&param| param == decider)?;
    let ways = [then_call, else_call].map(BlockCall::clone);
    // The result of `any` may go nowhere else, for it goes away.
    let is_passed = |way: &BlockCall| way.args.contains(condition) && !data.params.contains(condition);
    if block == func.entry()
        || ways[0].block == ways[1].block
        || ways.iter().any(|way| way.block == block || is_passed(way))
    {
        return None;
    }
    let decided = |&edge: &Edge| Some((edge, usize::from(!decide(func, predecessors, tree, edge, decider)?)));
    let incoming = predecessors[block].iter().map(decided).collect::<Option<Vec<_>>>()?;
    Some(Crossroads { block, ways, heir: 0, inherited: Vec::new(), incoming })
}

/// Whether what an edge gives a parameter holds in any lane, if that is known.
fn decide(func: &Function, predecessors: &Lists<Edge>, tree: &DominatorTree, edge: Edge, param: usize) -> Option<bool> {
    let value = func.edge(edge).args[param];
    if let Some(literal) = func.constant(value) {
        return Some(literal != 0);
    }
    let mut edge = edge;
    for _ in 0..MAX_STEPS {
        if let Terminator::BrIf { condition, then_call, else_call } = func.blocks[edge.from].terminator()
            && then_call.block != else_call.block
        {
            let tests = func.def_inst(*condition).is_some_and(|inst| inst.op == Op::Any && inst.args[0] == value);
            if tests || *condition == value {
                return Some(edge.call == 0);
            }
        }
        // Up to the nearest edge that all ways here take.
        let mut block = edge.from;
        edge = loop {
            match predecessors[block][..] {
                [above] => break above,
                _ => block = tree.idom(block)?,
            }
        };
    }
    None
}

/// Of each candidate, the parameters and `any` that other blocks use, and where.
fn outside_users(func: &Function, candidates: &[Crossroads]) -> SecondaryMap<Block, Vec<(Value, Block)>> {
    let mut is_candidate = EntitySet::with_capacity(func.blocks.len());
    candidates.iter().for_each(|crossroads| _ = is_candidate.insert(crossroads.block));
    let mut block_of_any: SecondaryMap<Value, Option<Block>> = SecondaryMap::new();
    for crossroads in candidates {
        for &inst in &func.blocks[crossroads.block].insts {
            block_of_any[func.insts[inst].result.expect("`any` has a result")] = Some(crossroads.block);
        }
    }
    let mut users: SecondaryMap<Block, Vec<(Value, Block)>> = SecondaryMap::new();
    for &user in &func.layout {
        for value in func.uses_in(user) {
            let from = match func.values[value].def {
                ValueDef::Param(block) if is_candidate.contains(block) => Some(block),
                _ => block_of_any[value],
            };
            if let Some(from) = from.filter(|&from| from != user) {
                users[from].push((value, user));
            }
        }
    }
    users
}

/// Finds which way can take over the parameters that others use: none but it may lead to them.
fn find_heir(
    func: &Function,
    crossroads: &mut Crossroads,
    users: &[(Value, Block)],
    predecessors: &Lists<Edge>,
    tree: &DominatorTree,
) -> bool {
    let params = &func.blocks[crossroads.block].params;
    if !users.iter().all(|(value, _)| params.contains(value)) {
        return false;
    }
    let is_heir = |way: &BlockCall| {
        predecessors[way.block].len() == 1 && users.iter().all(|&(_, user)| tree.dominates(way.block, user))
    };
    crossroads.inherited =
        (0..params.len()).filter(|&at| users.iter().any(|&(value, _)| value == params[at])).collect();
    match crossroads.ways.iter().position(is_heir) {
        Some(heir) => crossroads.heir = heir,
        None => return users.is_empty(),
    }
    true
}

fn remove(func: &mut Function, crossroads: &Crossroads) {
    let params = std::mem::take(&mut func.blocks[crossroads.block].params);
    let heir = crossroads.ways[crossroads.heir].block;
    for &(edge, way) in &crossroads.incoming {
        let given = func.edge(edge).args.clone();
        let here = |&value: &Value| params.iter().position(|&param| param == value).map_or(value, |at| given[at]);
        let mut args: Vec<Value> = crossroads.ways[way].args.iter().map(here).collect();
        if way == crossroads.heir {
            args.extend(crossroads.inherited.iter().map(|&at| given[at]));
        }
        *func.edge_mut(edge) = BlockCall { block: crossroads.ways[way].block, args };
    }
    for &at in &crossroads.inherited {
        func.values[params[at]].def = ValueDef::Param(heir);
        func.blocks[heir].params.push(params[at]);
    }
    func.layout.retain(|&block| block != crossroads.block);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::testing::{assert_keeps_meaning, assert_makes};

    #[test]
    fn a_loop_that_is_left_in_the_middle_has_one_test() {
        assert_makes(
            thread,
            r#"function "f" inputs 1 outputs 1 lockstep {
block0:
    v0 = input.i32 0.0
    v1 = const.i32 0
    v2 = const.i32 1
    v3 = const.i1 true
    jump block1(v3, v1)
block1(v4: i1, v5: i32):
    v6 = const.i1 false
    v7 = ult v5, v0
    v8 = and.i1 v4, v7
    v9 = any v8
    br_if v9, block2, block3(v6, v5)
block2:
    v10 = iadd v5, v2
    v11 = select.i32 v8, v10, v5
    jump block3(v8, v11)
block3(v12: i1, v13: i32):
    v14 = any v12
    br_if v14, block1(v12, v13), block4
block4:
    output.i32 0.0, v13
    return
}
"#,
            r#"function "f" inputs 1 outputs 1 lockstep {
block0:
    v0 = input.i32 0.0
    v1 = const.i32 0
    v2 = const.i32 1
    v3 = const.i1 true
    jump block1(v3, v1)
block1(v4: i1, v5: i32):
    v6 = const.i1 false
    v7 = ult v5, v0
    v8 = and.i1 v4, v7
    v9 = any v8
    br_if v9, block2, block4
block2:
    v10 = iadd v5, v2
    v11 = select.i32 v8, v10, v5
    jump block1(v8, v11)
block4:
    output.i32 0.0, v5
    return
}
"#,
        );
    }

    /// All ways to the latch come from where the mask was found true.
    #[test]
    fn a_branch_in_the_loop_hides_nothing() {
        assert_makes(
            thread,
            r#"function "f" inputs 1 outputs 1 lockstep {
    space0 "c"
block0:
    v0 = input.i32 0.0
    v1 = const.i32 0
    v2 = const.i32 1
    v3 = const.i1 true
    v4 = uniform_load.i32 space0[0].0
    v5 = ieq v4, v1
    jump block1(v3, v1)
block1(v6: i1, v7: i32):
    v8 = const.i1 false
    v9 = ult v7, v0
    v10 = and.i1 v6, v9
    v11 = any v10
    br_if v11, block2, block5(v8, v7)
block2:
    br_if v5, block3, block4(v2)
block3:
    v12 = iadd v7, v2
    jump block4(v12)
block4(v13: i32):
    v14 = iadd v7, v13
    v15 = select.i32 v10, v14, v7
    jump block5(v10, v15)
block5(v16: i1, v17: i32):
    v18 = any v16
    br_if v18, block1(v16, v17), block6
block6:
    output.i32 0.0, v17
    return
}
"#,
            r#"function "f" inputs 1 outputs 1 lockstep {
    space0 "c"
block0:
    v0 = input.i32 0.0
    v1 = const.i32 0
    v2 = const.i32 1
    v3 = const.i1 true
    v4 = uniform_load.i32 space0[0].0
    v5 = ieq v4, v1
    jump block1(v3, v1)
block1(v6: i1, v7: i32):
    v8 = const.i1 false
    v9 = ult v7, v0
    v10 = and.i1 v6, v9
    v11 = any v10
    br_if v11, block2, block6
block2:
    br_if v5, block3, block4(v2)
block3:
    v12 = iadd v7, v2
    jump block4(v12)
block4(v13: i32):
    v14 = iadd v7, v13
    v15 = select.i32 v10, v14, v7
    jump block1(v10, v15)
block6:
    output.i32 0.0, v7
    return
}
"#,
        );
    }

    /// The join is used behind both ways, and one edge to it says nothing.
    #[test]
    fn what_both_ways_use_and_what_is_not_known_stays() {
        let join = |known: &str, used: &str| {
            format!(
                r#"function "f" inputs 1 outputs 1 lockstep {{
    space0 "c"
    array0 [1 x 1] kept
block0:
    v0 = input.i32 0.0
    v1 = uniform_load.i32 space0[0].0
    v2 = ine v1, v0
    v3 = any v2
    v4 = const.i1 false
    v5 = ieq v1, v0
    br_if v3, block1, block2({known}, v0)
block1:
    jump block2(v2, v1)
block2(v6: i1, v7: i32):
    v8 = any v6
    br_if v8, block3, block4
block3:
    array_store.i32 array0.0, v0, v7
    jump block4
block4:
    output.i32 0.0, {used}
    return
}}
"#
            )
        };
        for text in [join("v4", "v7"), join("v5", "v0")] {
            assert_makes(thread, &text, &text);
        }
        let mut threaded = crate::parse::parse(&join("v4", "v0")).unwrap();
        thread(&mut threaded);
        assert_eq!(threaded.layout.len(), 4);
    }

    #[test]
    fn random_functions_keep_their_meaning() {
        assert_keeps_meaning(thread);
    }
}
