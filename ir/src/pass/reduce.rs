//! Makes every cycle of the control-flow graph have one entry.
//!
//! A cycle with several entries gets a *dispatch header*: a block that all edges to the entries go through, which
//! switches on a number that each edge gives. No code is copied. Edges from outside and edges from inside the cycle go
//! to the header by blocks of their own; sharing one would give the new cycle a second entry.

use super::{MAX_BLOCKS, PassError, limit, remove_unreachable};
use crate::cfg::{self, Edge};
use crate::entity::{Block, Value};
use crate::function::{BlockCall, Function, Imm, Terminator};
use crate::op::Op;
use crate::set::EntitySet;
use crate::types::Type;
use cranelift_entity::SecondaryMap;

/// Adds dispatch headers until the graph is reducible.
pub fn make_reducible(func: &mut Function) -> Result<(), PassError> {
    remove_unreachable(func);
    if func.layout.len() == 1 {
        return Ok(());
    }
    // Regions still to look at, each with the blocks (headers already found) whose incoming edges no longer count.
    let mut work = vec![(func.layout.clone(), Vec::<Block>::new())];
    while let Some((region, cut)) = work.pop() {
        for component in cyclic_components(func, &region, &cut) {
            limit("block count", func.blocks.len(), MAX_BLOCKS)?;
            let (header, inside) = single_entry(func, component);
            let mut cut: Vec<Block> = cut.iter().copied().filter(|block| inside.contains(block)).collect();
            cut.push(header);
            work.push((inside, cut));
        }
    }
    Ok(())
}

/// The header of a strongly connected component, added if the component has several entries, and its blocks with what
/// was added.
fn single_entry(func: &mut Function, mut component: Vec<Block>) -> (Block, Vec<Block>) {
    let members = set_of(func, &component);
    let predecessors = cfg::predecessors(func);
    let is_entry = |&block: &Block| predecessors[block].iter().any(|edge| !members.contains(edge.from));
    let entries: Vec<Block> = component.iter().copied().filter(is_entry).collect();
    if let [header] = entries[..] {
        return (header, component);
    }
    // The header's parameters: which entry, then every entry's parameters. An edge gives zeros for the other entries'.
    let dispatch = func.add_block();
    let which = func.add_param(dispatch, Type::I32);
    let mut calls = Vec::new();
    for &entry in &entries {
        let types: Vec<Type> = func.blocks[entry].params.iter().map(|&param| func.ty(param)).collect();
        let args = types.into_iter().map(|ty| func.add_param(dispatch, ty)).collect();
        calls.push(BlockCall { block: entry, args });
    }
    let slots: Vec<(usize, usize)> = calls
        .iter()
        .scan(1, |next, call| {
            let first = *next;
            *next += call.args.len();
            Some((first, *next))
        })
        .collect();
    let default = calls[0].clone();
    let cases = calls.into_iter().enumerate().skip(1).map(|(number, call)| (number as u32, call)).collect();
    func.blocks[dispatch].terminator = Some(Terminator::Switch { value: which, cases, default });
    component.push(dispatch);
    for (number, &entry) in entries.iter().enumerate() {
        for &edge in &predecessors[entry] {
            let through = route(func, edge, dispatch, number as u32, slots[number]);
            if members.contains(edge.from) {
                component.push(through);
            }
        }
    }
    (dispatch, component)
}

/// Sends one edge through a new block that jumps to the dispatch header and says which entry is meant.
fn route(func: &mut Function, edge: Edge, dispatch: Block, number: u32, slots: (usize, usize)) -> Block {
    let through = func.add_block();
    let call = func.edge_mut(edge);
    call.block = through;
    let given = std::mem::take(&mut call.args);
    let params: Vec<Value> = func.blocks[dispatch].params.clone();
    let mut args = Vec::with_capacity(params.len());
    for (index, param) in params.into_iter().enumerate() {
        args.push(if (slots.0..slots.1).contains(&index) {
            given[index - slots.0]
        } else {
            let bits = if index == 0 { u64::from(number) } else { 0 };
            let inst = func.make_inst(Op::Const, func.ty(param), &[], Imm::Bits(bits));
            func.blocks[through].insts.push(inst);
            func.insts[inst].result.expect("a constant has a result")
        });
    }
    func.blocks[through].terminator = Some(Terminator::Jump(BlockCall { block: dispatch, args }));
    through
}

fn set_of(func: &Function, blocks: &[Block]) -> EntitySet<Block> {
    let mut set = EntitySet::with_capacity(func.blocks.len());
    blocks.iter().for_each(|&block| {
        set.insert(block);
    });
    set
}

/// The strongly connected components of a region that contain a cycle, ignoring edges to the `cut` blocks and out of
/// the region (Kosaraju's algorithm).
fn cyclic_components(func: &Function, region: &[Block], cut: &[Block]) -> Vec<Vec<Block>> {
    let mut targets = set_of(func, region);
    cut.iter().for_each(|&block| {
        targets.remove(block);
    });
    let next =
        |block: Block| cfg::successors(func, block).filter(|&target| targets.contains(target)).collect::<Vec<_>>();
    let mut seen = EntitySet::with_capacity(func.blocks.len());
    let mut postorder = Vec::new();
    for &root in region {
        if !seen.insert(root) {
            continue;
        }
        let mut stack = vec![(root, next(root))];
        while let Some((block, successors)) = stack.last_mut() {
            match successors.pop() {
                Some(target) if seen.insert(target) => stack.push((target, next(target))),
                Some(_) => {}
                None => {
                    postorder.push(*block);
                    stack.pop();
                }
            }
        }
    }
    let mut sources: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for &block in region {
        for target in next(block) {
            sources[target].push(block);
        }
    }
    let mut components = Vec::new();
    let mut done = EntitySet::with_capacity(func.blocks.len());
    for &root in postorder.iter().rev() {
        if !done.insert(root) {
            continue;
        }
        let (mut component, mut stack) = (Vec::new(), vec![root]);
        while let Some(block) = stack.pop() {
            component.push(block);
            stack.extend(sources[block].iter().copied().filter(|&source| done.insert(source)));
        }
        if component.len() > 1 || next(root).contains(&root) {
            components.push(component);
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;
    use crate::dom::DominatorTree;
    use crate::interp::{Bindings, InterpOptions, Interpreter};
    use crate::texture::NoTextures;

    /// Two blocks that jump to each other, either of which may come first; each counts its own visits up to three.
    fn two_entries() -> Function {
        let mut b = FunctionBuilder::new("two entries", 1, 1);
        let counters = [(); 2].map(|()| b.declare_var(Type::I32));
        let [first, second, exit] = [(); 3].map(|()| b.create_block());
        let (selector, zero) = (b.input(Type::I32, 0, 0), b.i32(0));
        let starts_second = b.ine([selector, zero]);
        b.br_if(starts_second, second, first);
        for (counter, block, other) in [(counters[0], first, second), (counters[1], second, first)] {
            b.switch_to_block(block);
            let (count, one, three) = (b.use_var(counter), b.i32(1), b.i32(3));
            let count = b.iadd([count, one]);
            b.def_var(counter, count);
            let more = b.ult([count, three]);
            b.br_if(more, other, exit);
        }
        b.switch_to_block(exit);
        for (component, counter) in counters.into_iter().enumerate() {
            let count = b.use_var(counter);
            b.output(0, component as u8, count);
        }
        b.ret();
        for block in [first, second, exit] {
            b.seal_block(block);
        }
        b.finish()
    }

    /// Whether every edge that goes back in reverse postorder goes to a dominator.
    fn is_reducible(func: &Function) -> bool {
        let dom = DominatorTree::new(func);
        func.layout.iter().all(|&block| {
            cfg::successors(func, block)
                .all(|target| dom.position(target) > dom.position(block) || dom.dominates(target, block))
        })
    }

    #[test]
    fn a_cycle_with_two_entries_gets_a_dispatch_header_and_computes_the_same() {
        let mut func = two_entries();
        assert!(!is_reducible(&func));
        make_reducible(&mut func).unwrap();
        assert!(is_reducible(&func), "{func}");
        for (selector, expected) in [(0, [3, 2]), (1, [2, 3])] {
            let inputs = [[[selector], [0], [0], [0]]];
            let bindings = Bindings {
                inputs: &inputs,
                vertex_id: [0],
                instance_id: 0,
                uniforms: &[],
                resources: &[],
                textures: &NoTextures,
            };
            let mut interpreter = Interpreter::new(&func);
            let outputs = interpreter.run(&bindings, &InterpOptions { fuel: 1_000.into(), fused: true }).unwrap();
            assert_eq!([outputs[0][0][0], outputs[0][1][0]], expected);
        }
    }
}
