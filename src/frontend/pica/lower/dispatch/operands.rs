//! Registers as cells of the array: what a row reads and writes.

use shaderjit_ir::{Type, Value};

use super::Dispatch;
use super::table::{self, DESTINATION, INDEX, MASK, cell_of};
use crate::frontend::pica::lower::Lowering;
use crate::frontend::pica::lower::source::{Operand, Place};
use crate::frontend::pica::opcode::Opcode;
use crate::frontend::pica::operand::{AddressRegister, Component, Destination};

impl Lowering<'_> {
    /// Puts the inputs that some word reads into their cells. All others are zero.
    pub(super) fn store_inputs(&mut self, dispatch: &Dispatch) {
        for (register, _) in (0..).zip(dispatch.table.inputs).filter(|(_, is_read)| *is_read) {
            for component in 0..4 {
                let value = self.b.input(Type::F32, register, component);
                let value = self.loaded(value);
                let cell = self.b.i32(4 * register + u32::from(component));
                self.b.array_store(dispatch.cells, 0, cell, value);
            }
        }
    }

    /// Sets the variables of the outputs that some word writes.
    pub(super) fn load_outputs(&mut self, dispatch: &Dispatch) {
        for (number, mask) in (0..).zip(dispatch.table.outputs) {
            let register = Destination::Output(number);
            for component in Component::ALL.into_iter().filter(|component| mask >> component.index() & 1 != 0) {
                let cell = self.b.i32(cell_of(register) + component.index() as u32);
                let value = self.b.array_load(Type::F32, dispatch.cells, 0, cell);
                let variable = self.registers.destination(&mut self.b, register, component);
                self.b.def_var(variable, value);
            }
        }
    }

    /// The sources of a row, swizzled and negated; what it has none of is anything.
    pub(super) fn operands(&mut self, dispatch: &Dispatch, row: &[Value; 4]) -> [Operand; 3] {
        let uniform = self.uniform_source(dispatch, row);
        let most = dispatch.table.opcodes.iter().map(|opcode: &Opcode| opcode.sources()).max().unwrap_or(0);
        [0, 1, 2].map(|number| {
            let source = self.zeros();
            if usize::from(number) < most {
                let is_present = self.is_set(row, table::is_present(number));
                self.when(is_present, |this| {
                    let is_uniform = this.is_set(row, table::is_uniform(number));
                    let is_negated = this.is_set(row, table::is_negated(number));
                    for (c, variable) in (0..).zip(source) {
                        let cell = this.field(row, table::cell(number, c));
                        let value = this.b.array_load(Type::F32, dispatch.cells, 0, cell);
                        let value = this.b.select([is_uniform, uniform[usize::from(c)], value]);
                        let negated = this.negate(value);
                        let value = this.b.select([is_negated, negated, value]);
                        this.b.def_var(variable, value);
                    }
                });
            }
            Operand::fetched(source.map(|variable| self.b.use_var(variable)))
        })
    }

    /// The one source that is a float uniform, swizzled; zero if there is none.
    fn uniform_source(&mut self, dispatch: &Dispatch, row: &[Value; 4]) -> [Value; 4] {
        let source = self.zeros();
        let is_uniform = [0, 1, 2].map(|number| self.is_set(row, table::is_uniform(number)));
        // Its word, in the place of the first.
        let word = self.b.select([is_uniform[1], row[2], row[3]]);
        let word = self.b.select([is_uniform[0], row[1], word]);
        let row = &[row[0], word, word, word];
        let any = self.is_set(row, table::is_uniform(0));
        self.when(any, |this| {
            let base = this.field(row, table::base(0));
            let place = if dispatch.table.is_relative {
                let offset = this.index(row);
                let offset = this.relative_offset(offset);
                let row = this.b.iadd([base, offset]);
                Place::Relative(0, this.wrapped(row))
            } else {
                Place::Relative(0, base)
            };
            let value = Component::ALL.map(|component| this.place(place, component));
            for (c, variable) in (0..).zip(source) {
                let selected = this.field(row, table::select(0, c));
                let [low, high] = [1, 2].map(|bit| {
                    let (bit, zero) = (this.b.i32(bit), this.b.i32(0));
                    let bit = this.b.and([selected, bit]);
                    this.b.ine([bit, zero])
                });
                let [even, odd] = [0, 1].map(|n| this.b.select([high, value[2 + n], value[n]]));
                let selected = this.b.select([low, odd, even]);
                this.b.def_var(variable, selected);
            }
        });
        source.map(|variable| self.b.use_var(variable))
    }

    /// What the row's index field adds: 0 or an address register.
    fn index(&mut self, row: &[Value; 4]) -> Value {
        let (field, mut value) = (self.field(row, INDEX), self.b.i32(0));
        for register in [AddressRegister::X, AddressRegister::Y, AddressRegister::Loop] {
            let number = self.b.i32(register.to_field());
            let is_this = self.b.ieq([field, number]);
            let offset = self.address_register(register);
            value = self.b.select([is_this, offset, value]);
        }
        value
    }

    /// Writes the components of the result that the row's mask has.
    pub(super) fn store_result(&mut self, dispatch: &Dispatch, row: &[Value; 4], result: [Value; 4]) {
        let (first, mask) = (self.field(row, DESTINATION), self.field(row, MASK));
        for (c, value) in (0..).zip(result) {
            let (bit, zero, offset) = (self.b.i32(1 << c), self.b.i32(0), self.b.i32(c));
            let bit = self.b.and([mask, bit]);
            let is_written = self.b.ine([bit, zero]);
            let cell = self.b.iadd([first, offset]);
            self.b.array_store_masked(dispatch.cells, 0, cell, value, is_written);
        }
    }
}
