//! Basic blocks split where they are cut: each part becomes a block, and what may not go from block to block is made
//! where it is used.

use super::cut::{CutError, Cuts};
use super::rewrite::rewrite;
use crate::fuel::EdgeCosts;
use crate::function::{BlockCall, BlockData, Imm, Terminator};
use crate::{Block, Function, Inst, Op, Type, Value};
use cranelift_entity::EntitySet;
use foldhash::{HashMap, HashMapExt};

/// Splits blocks where they are cut, and gives edges that lead from one block to the same other one blocks of their
/// own. Barriers are gone then. Gives the blocks that begin behind a cut.
pub fn split(func: &mut Function, costs: &mut EdgeCosts, cuts: &Cuts) -> Result<EntitySet<Block>, CutError> {
    let mut heads = EntitySet::new();
    for (block, points) in &cuts.inside {
        let whole = *block;
        let points = keep_together(func, whole, points);
        let mut from = whole;
        let terminator = func.blocks[whole].terminator.take();
        let insts = std::mem::take(&mut func.blocks[whole].insts);
        let mut begin = 0;
        for (number, &end) in points.iter().chain([&insts.len()]).enumerate() {
            let part = insts[begin..end].iter().copied();
            let part = part.filter(|&inst| func.insts[inst].op != Op::Barrier).collect();
            func.blocks[from].insts = part;
            begin = end;
            if number < points.len() {
                let next = add_block_behind(func, from);
                heads.insert(next);
                func.blocks[from].terminator = Some(Terminator::Jump(BlockCall { block: next, args: Vec::new() }));
                from = next;
            }
        }
        func.blocks[from].terminator = terminator;
        costs.move_edges(whole, from);
    }
    bring_rows_home(func)?;
    for block in func.layout.clone() {
        let terminator = func.blocks[block].terminator();
        let mut seen: Vec<Block> = Vec::new();
        let is_again = |call: &BlockCall| {
            let is_again = seen.contains(&call.block) && !call.args.is_empty();
            seen.push(call.block);
            is_again
        };
        let again: Vec<bool> = terminator.calls().map(is_again).collect();
        for at in (0..again.len()).filter(|&at| again[at]) {
            let between = add_block_behind(func, block);
            let terminator = func.blocks[block].terminator.as_mut().expect("the block is finished");
            let call = terminator.calls_mut().nth(at).expect("there are as many edges");
            let call = std::mem::replace(call, BlockCall { block: between, args: Vec::new() });
            costs.set(between, call.block, costs.edge(block, call.block));
            func.blocks[between].terminator = Some(Terminator::Jump(call));
        }
    }
    Ok(heads)
}

fn add_block_behind(func: &mut Function, block: Block) -> Block {
    let new = func.blocks.push(BlockData::default());
    let at = func.layout.iter().position(|&other| other == block).expect("the block is in the layout");
    func.layout.insert(at + 1, new);
    new
}

/// Moves what a cut may not part: what takes words of a row goes to where the row is made, and the components of an
/// output to where the last of them is set. Gives the places of the cuts then.
fn keep_together(func: &mut Function, block: Block, points: &[usize]) -> Vec<usize> {
    let insts = std::mem::take(&mut func.blocks[block].insts);
    let output = |inst: Inst| match (func.insts[inst].op, func.insts[inst].imm) {
        (Op::Output, Imm::Element { element, .. }) => Some(element),
        _ => None,
    };
    let part_of = |at: usize| points.partition_point(|&point| point <= at);
    let set: HashMap<u32, usize> =
        insts.iter().enumerate().filter_map(|(at, &inst)| Some((output(inst)?, part_of(at)))).collect();
    // The part in which each row is made, if not by joining words.
    let mut made = HashMap::new();
    let mut parts = vec![Vec::new(); points.len() + 1];
    for (at, &inst) in insts.iter().enumerate() {
        let (data, number) = (&func.insts[inst], part_of(at));
        let with_row = if data.op == Op::RowWord { made.get(&data.args[0]) } else { None };
        let with_output = output(inst).and_then(|element| set.get(&element));
        parts[with_row.or(with_output).copied().unwrap_or(number)].push(inst);
        if let Some(result) = data.result.filter(|&result| func.ty(result) == Type::Row && data.op != Op::RowJoin) {
            made.insert(result, number);
        }
    }
    let mut end = 0;
    let ends = parts[..points.len()].iter().map(|part| {
        end += part.len();
        end
    });
    let ends = ends.collect();
    func.blocks[block].insts = parts.concat();
    ends
}

/// Makes rows of words again in each block that uses them: rows do not go from block to block.
fn bring_rows_home(func: &mut Function) -> Result<(), CutError> {
    if func.values.values().all(|value| value.ty != Type::Row) {
        return Ok(());
    }
    let mut stranger = None;
    for block in func.layout.clone() {
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let mut here = EntitySet::<Value>::new();
        here.extend(insts.iter().filter_map(|&inst| func.insts[inst].result));
        let (mut new, mut again) = (Vec::with_capacity(insts.len()), HashMap::<Value, Value>::new());
        let home = |func: &mut Function, new: &mut Vec<Inst>, row: Value| {
            if func.ty(row) != Type::Row || here.contains(row) {
                return row;
            }
            *again.entry(row).or_insert_with(|| {
                let Some(&join) = func.def_inst(row).filter(|def| def.op == Op::RowJoin) else {
                    stranger = Some(row);
                    return row;
                };
                let copy = func.make_inst(join.op, join.ty, &join.args, join.imm);
                new.push(copy);
                func.insts[copy].result.expect("a join has a result")
            })
        };
        rewrite(func, &insts, &mut new, home, |_, _, _| {});
        func.blocks[block].insts = new;
    }
    stranger.map_or(Ok(()), |row| Err(CutError::Row(row)))
}
