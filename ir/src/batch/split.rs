//! Basic blocks split where they are cut: each part becomes a block, and what may not go from block to block is made
//! where it is used.

use super::cut::{CutError, Cuts};
use super::rewrite::rewrite;
use crate::fuel::EdgeCosts;
use crate::function::{BlockCall, Imm, Terminator};
use crate::set::EntitySet;
use crate::{Block, Function, Inst, Op, Type, Value};
use cranelift_entity::SecondaryMap;
use foldhash::{HashMap, HashMapExt};

/// Splits blocks where they are cut, and gives edges that lead from one block to the same other one blocks of their
/// own. Barriers are gone then. Gives the blocks that begin behind a cut.
pub fn split(func: &mut Function, costs: &mut EdgeCosts, cuts: &Cuts) -> Result<EntitySet<Block>, CutError> {
    let mut heads = EntitySet::new();
    for (block, points) in &cuts.inside {
        let terminator = func.blocks[*block].terminator.take();
        let mut last = *block;
        for (number, part) in parts(func, *block, points).into_iter().enumerate() {
            if number > 0 {
                let next = func.add_block();
                func.blocks[last].terminator = Some(Terminator::Jump(BlockCall { block: next, args: Vec::new() }));
                heads.insert(next);
                last = next;
            }
            func.blocks[last].insts = part;
        }
        func.blocks[last].terminator = terminator;
        costs.move_edges(*block, last);
    }
    bring_rows_home(func)?;
    // For each block the last one that an edge has been seen from.
    let mut seen = SecondaryMap::<Block, Option<Block>>::new();
    for from in func.layout.clone() {
        let mut terminator = func.blocks[from].terminator.take();
        for call in terminator.iter_mut().flat_map(Terminator::calls_mut) {
            if seen[call.block].replace(from) == Some(from) && !call.args.is_empty() {
                let between = func.add_block();
                costs.set(between, call.block, costs.edge(from, call.block));
                let call = std::mem::replace(call, BlockCall { block: between, args: Vec::new() });
                func.blocks[between].terminator = Some(Terminator::Jump(call));
            }
        }
        func.blocks[from].terminator = terminator;
    }
    Ok(heads)
}

/// The instructions of a block that is cut, but with what a cut may not part: what takes words of a row is where the
/// row is made, and the components of an output are where the last of them is set.
fn parts(func: &mut Function, block: Block, points: &[usize]) -> Vec<Vec<Inst>> {
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
    let part = || Vec::with_capacity(2 * insts.len() / (points.len() + 1));
    let mut parts: Vec<Vec<Inst>> = std::iter::repeat_with(part).take(points.len() + 1).collect();
    for (at, &inst) in insts.iter().enumerate().filter(|&(_, &inst)| func.insts[inst].op != Op::Barrier) {
        let (data, number) = (&func.insts[inst], part_of(at));
        let with_row = if data.op == Op::RowWord { made.get(&data.args[0]) } else { None };
        let with_output = output(inst).and_then(|element| set.get(&element));
        parts[with_row.or(with_output).copied().unwrap_or(number)].push(inst);
        if let Some(result) = data.result.filter(|&result| func.ty(result) == Type::Row && data.op != Op::RowJoin) {
            made.insert(result, number);
        }
    }
    parts
}

/// Makes rows of words again in each block that uses them: rows do not go from block to block.
fn bring_rows_home(func: &mut Function) -> Result<(), CutError> {
    if func.values.values().all(|value| value.ty != Type::Row) {
        return Ok(());
    }
    let mut stranger = None;
    let mut homes = func.value_map::<Option<Block>>();
    for block in func.layout.clone() {
        func.insts_in(block).filter_map(|inst| inst.result).for_each(|value| homes[value] = Some(block));
        let insts = std::mem::take(&mut func.blocks[block].insts);
        let (mut new, mut again) = (Vec::with_capacity(insts.len()), HashMap::<Value, Value>::new());
        let home = |func: &mut Function, new: &mut Vec<Inst>, row: Value| {
            if func.ty(row) != Type::Row || homes[row] == Some(block) {
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
