//! Elimination of bounds checks: which rows of uniform spaces are read without one.

use crate::function::{Imm, InstData};
use crate::{Function, Op, Space, Value};
use smallvec::{SmallVec, smallvec};

/// Rows of a uniform space that loads with a fixed row may read without a check, because a call is given at least that
/// many readable rows. Fixed rows past it are checked like computed ones.
pub const STATIC_ROWS: u32 = 4096;

/// Numbers of rows, one for each uniform space. Most programs have few.
pub type RowCounts = SmallVec<[u32; 4]>;

/// For each uniform space, how many rows code of a function may read without a check.
pub fn static_rows(func: &Function) -> RowCounts {
    let mut rows: RowCounts = smallvec![0; func.spaces.len()];
    for InstData { op, imm, args, .. } in func.layout.iter().flat_map(|&block| func.insts_in(block)) {
        let last = match *imm {
            Imm::Row { space, row, .. } if *op == Op::UniformLoad => Some((space, row)),
            Imm::Row { space, row, .. } | Imm::SpaceRow { space, row } => {
                last_row(func, row, args[0]).map(|last| (space, last))
            }
            _ => None,
        };
        if let Some((space, last)) = last
            && last < STATIC_ROWS
        {
            let rows = &mut rows[Space::as_u32(space) as usize];
            *rows = (last + 1).max(*rows);
        }
    }
    rows
}

/// The last row that `row` plus an index can be, if all of them may be read without a check.
pub fn last_row(func: &Function, row: u32, index: Value) -> Option<u32> {
    let inst = func.def_inst(index).filter(|inst| inst.op == Op::And)?;
    let most = inst.args.iter().filter_map(|&arg| func.constant(arg)).min()?;
    let last = u64::from(row) + most;
    (last < u64::from(STATIC_ROWS)).then_some(last as u32)
}
