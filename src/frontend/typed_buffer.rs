//! Typed buffers that are read: rows of words, one an element, of as many components as the program reads.
//!
//! Out of range the last component may be one, so programs that read all four find one more row behind the elements,
//! which reads out of range give. The others read zero there, as behind the end of any resource: elements of one or two
//! words can then be the caller's bytes themselves.

use shaderjit_ir::{FunctionBuilder, Resource, Value};

/// Components of an element.
pub(crate) const ALL: u8 = 4;

/// Words of the rows of buffers of which the first so many components are read.
pub(crate) const fn words(components: u8) -> u8 {
    components.next_power_of_two()
}

/// A buffer, and how many components are read.
#[derive(Clone, Copy)]
pub(crate) struct TypedBuffer {
    pub resource: Resource,
    pub components: u8,
}

impl TypedBuffer {
    /// Bytes of a row, as a power of two.
    fn row_bytes_log2(self) -> u32 {
        2 + u32::from(words(self.components)).trailing_zeros()
    }

    /// How many elements there are.
    pub fn element_count(self, b: &mut FunctionBuilder) -> Value {
        let rows = self.rows(b);
        if self.components < ALL {
            return rows;
        }
        // Unbound it does not even have the row for what is out of range.
        let one = b.i32(1);
        let rows = b.umax([rows, one]);
        b.isub([rows, one])
    }

    /// Where an element's row begins. Elements out of range have the last row, which the binding adds, or none; where
    /// nothing is bound, nothing is in range.
    pub fn row_of_element(self, b: &mut FunctionBuilder, index: Value) -> Value {
        let shift = b.i32(self.row_bytes_log2());
        if self.components < ALL {
            // A shift must not bring an index back that is past any resource's end.
            let most = b.i32(u32::MAX >> self.row_bytes_log2());
            let exists = b.ule([index, most]);
            let (byte, outside) = (b.ishl([index, shift]), b.i32(u32::MAX));
            return b.select([exists, byte, outside]);
        }
        let rows = self.rows(b);
        let one = b.i32(1);
        let last = b.isub([rows, one]);
        let row = b.umin([index, last]);
        b.ishl([row, shift])
    }

    fn rows(self, b: &mut FunctionBuilder) -> Value {
        let bytes = b.resource_bytes(self.resource);
        let shift = b.i32(self.row_bytes_log2());
        b.ushr([bytes, shift])
    }
}
