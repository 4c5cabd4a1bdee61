//! What the variables and arrays of a lowered program are called in it, for traces.

use foldhash::{HashMap, HashMapExt};
use shaderjit_ir::records::Records;

use super::elements::{Indexed, Register};
use super::registers::Registers;
use crate::frontend::sm4::operand::Component;
use crate::frontend::{ArrayName, DebugInfo, RegisterName};

impl Registers {
    /// The names, and the records that go with them.
    pub fn debug_info(&self, records: Box<Records>) -> DebugInfo {
        let (mut registers, mut arrays) = (HashMap::new(), HashMap::new());
        for (number, component, variable) in self.temps() {
            registers.insert(variable, RegisterName::numbered("r", number, component));
        }
        for (register, component, variable) in self.outputs.variables_of_registers() {
            registers.insert(variable, output_name(register, component));
        }
        let flags = [("discarded", self.discarded), ("aborted", self.aborted)];
        registers
            .extend(flags.into_iter().filter_map(|(name, flag)| Some((flag?.variable, RegisterName::alone(name)))));
        if let Some(emitter) = &self.emitter {
            let counts = emitter.emitter.counts();
            registers.extend(counts.map(|(stream, count)| (count, RegisterName::alone(format!("m{stream}.vertices")))));
        }
        for (&(_, number), temp) in &self.arrays {
            arrays.insert(temp.array, ArrayName::Indexed(format!("x{number}")));
        }
        if let Some(Indexed { array, first, .. }) = self.outputs.indexed {
            arrays.insert(array, ArrayName::Registers("o", first));
        }
        if let Some(hull) = &self.hull {
            registers.insert(hull.instance, RegisterName::alone("instance"));
            if let Some(array) = hull.interface.array {
                arrays.insert(array, ArrayName::Points(hull.interface.registers()));
            }
        }
        DebugInfo { records, registers, arrays }
    }
}

fn output_name(register: Register, component: Component) -> RegisterName {
    match register {
        Register::Numbered(number) => RegisterName::numbered("o", number, component.index() as u8),
        Register::Named(file) => RegisterName::alone(file.letters()),
    }
}
