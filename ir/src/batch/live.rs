//! Live ranges of a batch program's vectors, by the order of its blocks: how many registers it would need.

use super::{Parts, is_of_run};
use crate::{Op, Type, Value};
use cranelift_entity::SecondaryMap;

/// How many vectors are live behind each instruction and each end of a block, by the order. `outermost` is, for each
/// block, the first and one past the last of the outermost loop around it.
pub fn live(program: &Parts, outermost: &[Option<(usize, usize)>]) -> Vec<i32> {
    let mut starts = vec![0];
    for &block in &program.order {
        starts.push(starts[starts.len() - 1] + program.blocks[block].insts.len() + 1);
    }
    let end = starts[starts.len() - 1];
    // For each value its block, and where it is made and used last.
    let mut spans = SecondaryMap::<Value, (usize, usize, usize)>::with_capacity(program.values.len());
    for (number, &block) in program.order.iter().enumerate() {
        let data = &program.blocks[block];
        let mut at = starts[number];
        data.params.iter().for_each(|&param| spans[param] = (number, at, at));
        let uses = |value: Value, at: usize, spans: &mut SecondaryMap<Value, (usize, usize, usize)>| {
            let (made_by, _, last) = &mut spans[value];
            // What a loop uses that it has not made is live to its end.
            let use_at = match outermost[number] {
                Some((head, end)) if *made_by < head => starts[end] - 1,
                _ => at,
            };
            *last = use_at.max(*last);
        };
        for inst in program.insts_in(block) {
            inst.args.iter().for_each(|&arg| uses(arg, at, &mut spans));
            at += 1;
            inst.result.into_iter().for_each(|result| spans[result] = (number, at, at));
        }
        data.terminator().uses().for_each(|value| uses(value, at, &mut spans));
    }
    let mut live = vec![0; end + 1];
    for &block in &program.order {
        for value in program.defs_in(block) {
            let (vectors, (_, made, last)) = (held(program, value), spans[value]);
            live[made] += vectors;
            live[last] -= vectors;
        }
    }
    let mut now = 0;
    live.iter_mut().for_each(|change| {
        now += *change;
        *change = now;
    });
    live
}

/// Whether a value is held once for each lane.
pub fn differs(program: &Parts, value: Value) -> bool {
    !program.uniform.contains(value) && program.constant(value).is_none()
}

/// How many vector registers a value takes. Those of rows of runs are gone with their lane, and truth values of sixteen
/// lanes have registers of their own.
pub fn held(program: &Parts, value: Value) -> i32 {
    match program.ty(value) {
        _ if !differs(program, value) => 0,
        Type::F64 => 2,
        Type::Row if program.def_inst(value).is_some_and(|def| def.op == Op::RowJoin || is_of_run(def)) => 0,
        Type::Row => 4,
        Type::I1 if program.lanes == 16 => 0,
        _ => 1,
    }
}
