//! What the variables and arrays of a lowered program are called in it, for traces.

use foldhash::{HashMap, HashMapExt};
use shaderjit_ir::Variable;
use shaderjit_ir::records::Records;

use super::dispatch::Dispatch;
use super::registers::Registers;
use crate::frontend::{ArrayName, DebugInfo, RegisterName};

impl Registers {
    /// The names, and the records that go with them.
    pub fn debug_info(&self, dispatch: Option<&Dispatch>, records: Box<Records>) -> DebugInfo {
        let mut registers = HashMap::new();
        let mut add = |variable: Option<Variable>, name: RegisterName| {
            if let Some(variable) = variable {
                registers.insert(variable, name);
            }
        };
        for (letter, file) in [("r", &self.temporaries), ("o", &self.outputs)] {
            for (number, row) in (0..).zip(file) {
                for (component, variable) in (0..).zip(row) {
                    add(*variable, RegisterName::numbered(letter, number, component));
                }
            }
        }
        for (register, name) in self.address.iter().zip(["a0.x", "a0.y", "aL"]) {
            add(*register, RegisterName::alone(name));
        }
        for (flag, name) in self.flags.iter().zip(["cmp.x", "cmp.y"]) {
            add(*flag, RegisterName::alone(name));
        }
        for (depth, counter) in self.counters.iter().enumerate() {
            add(*counter, RegisterName::alone(format!("loop{depth}.left")));
        }
        let arrays = dispatch.map(|dispatch| (dispatch.cells(), ArrayName::Cells(dispatch.cell_names())));
        DebugInfo { records, registers, arrays: arrays.into_iter().collect() }
    }
}
