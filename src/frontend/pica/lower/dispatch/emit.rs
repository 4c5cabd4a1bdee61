//! Geometry shaders: the state is in the cells of registers while the loop runs, and EMIT finds outputs there.

use shaderjit_ir::{Type, Value};

use super::Dispatch;
use super::table::{BUFFER, ENDS, INVERTED, cell_of};
use crate::frontend::pica::lower::Lowering;
use crate::frontend::pica::operand::Destination;

impl Lowering<'_> {
    /// Puts the registers that outlive invocations into their cells.
    pub(super) fn store_state(&mut self, dispatch: &Dispatch) {
        let Some(geometry) = &self.geometry else { return };
        let temporaries = geometry.temporaries().map(|(n, c, variable)| (Destination::Temporary(n), c, variable));
        let outputs = geometry.bank().map(|(n, c, variable)| (Destination::Output(n), c, variable));
        for (register, component, variable) in temporaries.chain(outputs) {
            let value = self.b.use_var(variable);
            let cell = self.b.i32(cell_of(register) + component as u32);
            self.b.array_store(dispatch.cells, 0, cell, value);
        }
    }

    /// Takes them from their cells. All count as written, which says that they are what they were where nobody wrote
    /// them.
    pub(super) fn load_state(&mut self, dispatch: &Dispatch) {
        let Some(geometry) = &self.geometry else { return };
        let temporaries = geometry.temporaries().map(|(n, c, variable)| (Destination::Temporary(n), c, variable));
        let outputs = geometry.bank().map(|(n, c, variable)| (Destination::Output(n), c, variable));
        for (register, component, variable) in temporaries.chain(outputs) {
            let cell = self.b.i32(cell_of(register) + component as u32);
            let value = self.b.array_load(Type::F32, dispatch.cells, 0, cell);
            self.b.def_var(variable, value);
        }
        geometry.write_all(&mut self.b);
    }

    /// SETEMIT.
    pub(super) fn set_emit_word(&mut self, row: &[Value; 4]) {
        let values = [self.field(row, BUFFER), self.is_set(row, ENDS), self.is_set(row, INVERTED)];
        if let Some(geometry) = &self.geometry {
            geometry.set_latch(&mut self.b, values);
        }
    }

    /// EMIT.
    pub(super) fn emit_word(&mut self, dispatch: &Dispatch) {
        let Some(geometry) = &mut self.geometry else { return };
        for (number, component, variable) in geometry.bank() {
            let cell = self.b.i32(cell_of(Destination::Output(number)) + component as u32);
            let value = self.b.array_load(Type::F32, dispatch.cells, 0, cell);
            self.b.def_var(variable, value);
        }
        geometry.emit(&mut self.b);
        // The banks have changed places.
        for (number, component, variable) in geometry.bank() {
            let value = self.b.use_var(variable);
            let cell = self.b.i32(cell_of(Destination::Output(number)) + component as u32);
            self.b.array_store(dispatch.cells, 0, cell, value);
        }
    }
}
