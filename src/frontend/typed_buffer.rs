//! Typed buffers that are read: rows of 16 bytes, one an element, and behind them one that reads out of range give.

use shaderjit_ir::{FunctionBuilder, Resource, Value};

/// Bytes of an element, as a power of two.
const ROW_BYTES_LOG2: u32 = 4;

/// How many elements there are.
pub(crate) fn element_count(b: &mut FunctionBuilder, resource: Resource) -> Value {
    // Unbound it does not even have the row for what is out of range.
    let rows = rows(b, resource);
    let one = b.i32(1);
    let rows = b.umax([rows, one]);
    b.isub([rows, one])
}

/// Where an element's row begins. Elements out of range have the last row, which the binding adds; where nothing is
/// bound, nothing is in range.
pub(crate) fn row_of_element(b: &mut FunctionBuilder, resource: Resource, index: Value) -> Value {
    let rows = rows(b, resource);
    let one = b.i32(1);
    let last = b.isub([rows, one]);
    let row = b.umin([index, last]);
    let shift = b.i32(ROW_BYTES_LOG2);
    b.ishl([row, shift])
}

fn rows(b: &mut FunctionBuilder, resource: Resource) -> Value {
    let bytes = b.resource_bytes(resource);
    let shift = b.i32(ROW_BYTES_LOG2);
    b.ushr([bytes, shift])
}
