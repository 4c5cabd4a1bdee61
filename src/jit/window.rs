//! Windows of uniform rows: how a row at a computed index is found with one check for several.

use super::limits::WINDOW_ROWS;
use shaderjit_ir::bounds::last_row;
use shaderjit_ir::{Function, Space, Value};

/// How a row of a space at some row plus an index is found. The first row of its window, counted from the first
/// readable one, is checked against the first that is zero like all after it, so no row of the window is past what is
/// readable.
#[derive(Clone, Copy)]
pub struct Window {
    pub space: Space,
    /// What varies; nothing for a fixed row.
    pub index: Option<Value>,
    /// What to add to it.
    pub first: u32,
    /// Where the row is from there.
    pub byte: i32,
    pub is_checked: bool,
}

impl Window {
    pub fn of(func: &Function, space: Space, row: u32, index: Option<Value>) -> Window {
        if index.is_some_and(|index| last_row(func, row, index).is_some()) {
            return Window { space, index, first: 0, byte: row as i32 * 16, is_checked: false };
        }
        let within = row % WINDOW_ROWS;
        // The first row may be in front of row 0 while this one is not: indices wrap.
        let first = (row - within).wrapping_add(WINDOW_ROWS);
        Window { space, index, first, byte: (within as i32 - WINDOW_ROWS as i32) * 16, is_checked: true }
    }
}
