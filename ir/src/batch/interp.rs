//! The reference for batch programs: the [interpreter](crate::interp) of functions, and what a call does beside it.

use super::{BatchProgram, Copy};
use crate::eval::Lanes;
use crate::interp::{Bindings, InterpError, InterpOptions, Interpreter};

/// Runs one program, a wave of L lanes at a time; keeps its memory from run to run.
pub struct BatchInterpreter<'p, const L: usize> {
    program: &'p BatchProgram,
    interpreter: Interpreter<'p, L>,
    outputs: Vec<[Lanes<L>; 4]>,
}

impl<'p, const L: usize> BatchInterpreter<'p, L> {
    /// Prepares to run a program.
    pub fn new(program: &'p BatchProgram) -> BatchInterpreter<'p, L> {
        let interpreter = Interpreter::with_costs(program.func(), program.costs().clone());
        BatchInterpreter { program, interpreter, outputs: Vec::new() }
    }

    /// Runs a wave and returns the output elements. Those that the layout leaves out are zero.
    ///
    /// # Errors
    /// As [`Interpreter::run`].
    ///
    /// # Panics
    /// As [`Interpreter::run`].
    pub fn run(
        &mut self,
        bindings: &Bindings<'_, L>,
        options: &InterpOptions<'_>,
    ) -> Result<&[[Lanes<L>; 4]], InterpError> {
        self.outputs.clear();
        self.outputs.extend_from_slice(self.interpreter.run(bindings, options)?);
        for &Copy { output, input } in self.program.copies() {
            self.outputs[output as usize] = bindings.inputs[input as usize];
        }
        Ok(&self.outputs)
    }

    /// Whether no guard has failed in the last run.
    pub fn guards_hold(&self) -> bool {
        self.interpreter.guards_hold()
    }
}
