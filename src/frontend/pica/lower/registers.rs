//! The registers of an invocation as SSA variables, made when first named.

use shaderjit_ir::{FunctionBuilder, Type, Value, Variable};

use super::Lowering;
use crate::frontend::pica::flow::LOOP_RING;
use crate::frontend::pica::operand::{AddressRegister, Component, Destination};

/// The variables made so far.
#[derive(Default)]
pub(super) struct Registers {
    pub(super) temporaries: [[Option<Variable>; 4]; 16],
    pub(super) outputs: [[Option<Variable>; 4]; 16],
    /// `a0.x`, `a0.y`, `aL`.
    pub(super) address: [Option<Variable>; 3],
    /// `cmp.x`, `cmp.y`.
    pub(super) flags: [Option<Variable>; 2],
    /// Iterations left in each entry of the LOOP ring.
    pub(super) counters: [Option<Variable>; LOOP_RING],
    /// `aL` from before each entry of the LOOP ring.
    saved: [Option<Variable>; LOOP_RING],
}

impl Registers {
    /// One component of `r<number>`.
    pub fn temporary(&mut self, b: &mut FunctionBuilder, number: u8, component: Component) -> Variable {
        *self.temporaries[usize::from(number)][component.index()].get_or_insert_with(|| b.declare_var(Type::F32))
    }

    /// One component of a destination.
    pub fn destination(&mut self, b: &mut FunctionBuilder, register: Destination, component: Component) -> Variable {
        let (file, number) = match register {
            Destination::Output(number) => (&mut self.outputs, number),
            Destination::Temporary(number) => (&mut self.temporaries, number),
        };
        *file[usize::from(number)][component.index()].get_or_insert_with(|| b.declare_var(Type::F32))
    }

    /// An address register.
    pub fn address(&mut self, b: &mut FunctionBuilder, register: AddressRegister) -> Variable {
        *self.address[register as usize].get_or_insert_with(|| b.declare_var(Type::I32))
    }

    /// `cmp.x` (0) or `cmp.y` (1).
    pub fn flag(&mut self, b: &mut FunctionBuilder, number: usize) -> Variable {
        *self.flags[number].get_or_insert_with(|| b.declare_var(Type::I1))
    }

    /// The counter of an entry of the LOOP ring.
    pub fn counter(&mut self, b: &mut FunctionBuilder, depth: usize) -> Variable {
        *self.counters[depth].get_or_insert_with(|| b.declare_var(Type::I32))
    }

    /// `aL` from before an entry of the LOOP ring.
    pub fn saved(&mut self, b: &mut FunctionBuilder, depth: usize) -> Variable {
        *self.saved[depth].get_or_insert_with(|| b.declare_var(Type::I32))
    }

    /// The variable of an output component, if anything names it.
    pub fn output(&self, register: usize, component: usize) -> Option<Variable> {
        self.outputs[register][component]
    }

    /// Sets the output elements from the output registers.
    pub fn store_outputs(&self, b: &mut FunctionBuilder) {
        for (element, register) in (0..).zip(&self.outputs) {
            for (component, variable) in (0..).zip(register) {
                if let Some(variable) = *variable {
                    let value = b.use_var(variable);
                    b.output(element, component, value);
                }
            }
        }
    }
}

impl Lowering<'_> {
    pub(super) fn address_register(&mut self, register: AddressRegister) -> Value {
        let variable = self.registers.address(&mut self.b, register);
        self.b.use_var(variable)
    }

    pub(super) fn set_address_register(&mut self, register: AddressRegister, value: Value) {
        let variable = self.registers.address(&mut self.b, register);
        self.define(variable, value);
    }
}
