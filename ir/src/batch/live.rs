//! Live ranges of a batch program's vectors, by the order of its blocks: how many registers it would need.

use super::{Parts, is_of_run};
use crate::pressure::Interval;
use crate::{Op, Type, Value};
use cranelift_entity::SecondaryMap;

/// How many vectors are live behind each instruction and each end of a block, by the order, of which the
/// [intervals](crate::pressure::intervals) are known.
pub fn live(program: &Parts, intervals: &SecondaryMap<Value, Interval>) -> Vec<i32> {
    let end: usize = program.order.iter().map(|&block| program.blocks[block].insts.len() + 1).sum();
    let mut live = vec![0; end + 1];
    for value in program.order.iter().flat_map(|&block| program.defs_in(block)) {
        let (vectors, interval) = (held(program, value), intervals[value]);
        live[interval.start as usize] += vectors;
        live[interval.end as usize] -= vectors;
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
