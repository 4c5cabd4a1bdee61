//! Both engines, a group of lanes at a time.

use crate::call::uniforms::BoundSpaces;
use crate::compiled::Prepared;
use crate::error::CallError;
use crate::jit::{Batch, GroupRunner};
use shaderjit_ir::Array;
use shaderjit_ir::eval;
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};

/// One group of lanes after the other, on either engine.
pub(super) trait Groups {
    /// Invocations that can run side by side.
    fn lanes(&self) -> usize;
    /// Sets what a lane reads of an input element.
    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]);
    /// Runs `count` invocations, the first of which is number `first`.
    fn run(&mut self, spaces: &BoundSpaces, first: u32, count: usize) -> Result<(), CallError>;
    /// What a lane stored to an output element.
    fn output(&self, element: usize, lane: usize) -> [u32; 4];
    /// What a lane stored to an element of an array of four components.
    fn array_row(&self, array: Array, element: u32, lane: usize) -> [u32; 4];
}

/// Native code.
pub(super) struct Native<'a> {
    pub runner: GroupRunner<'a>,
    pub lanes: usize,
    pub instance: u32,
    pub fuel: u32,
}

impl Groups for Native<'_> {
    fn lanes(&self) -> usize {
        self.lanes
    }

    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]) {
        *self.runner.input(element, lane) = bits;
    }

    fn run(&mut self, spaces: &BoundSpaces, first: u32, count: usize) -> Result<(), CallError> {
        self.runner.run(&Batch {
            inputs: &[],
            uniforms: spaces.native(),
            resources: &[],
            count: count as u32,
            first_vertex: first,
            instance: self.instance,
            fuel: self.fuel,
        })
    }

    fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        self.runner.output(element, lane)
    }

    fn array_row(&self, array: Array, element: u32, lane: usize) -> [u32; 4] {
        self.runner.array_row(array, element, lane)
    }
}

/// The interpreter.
pub(super) struct Interpreted<'a, const L: usize> {
    interpreter: Interpreter<'a, L>,
    inputs: Vec<[eval::Lanes<L>; 4]>,
    instance: u32,
    options: InterpOptions,
}

impl<'a, const L: usize> Interpreted<'a, L> {
    pub fn new(prepared: &'a Prepared, instance: u32) -> Interpreted<'a, L> {
        Interpreted {
            interpreter: Interpreter::new(&prepared.function),
            inputs: vec![[[0; L]; 4]; prepared.interface.inputs.len()],
            instance,
            options: InterpOptions { fuel: prepared.fuel, fused: prepared.fused },
        }
    }
}

impl<const L: usize> Groups for Interpreted<'_, L> {
    fn lanes(&self) -> usize {
        L
    }

    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]) {
        for (component, bits) in self.inputs[element].iter_mut().zip(bits) {
            component[lane] = bits;
        }
    }

    fn run(&mut self, spaces: &BoundSpaces, first: u32, count: usize) -> Result<(), CallError> {
        for component in self.inputs.iter_mut().flatten() {
            let last = component[count - 1];
            component[count..].fill(last);
        }
        let bindings = Bindings {
            inputs: &self.inputs,
            vertex_id: std::array::from_fn(|lane| first.wrapping_add(lane.min(count - 1) as u32)),
            instance_id: self.instance,
            uniforms: &spaces.rows(),
            resources: &[],
        };
        match self.interpreter.run(&bindings, &self.options) {
            Ok(_) => Ok(()),
            Err(InterpError::OutOfFuel) => Err(CallError::OutOfFuel { fuel: self.options.fuel }),
            Err(error) => Err(CallError::Invalid(error.to_string())),
        }
    }

    fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        self.interpreter.outputs()[element].map(|component| component[lane])
    }

    fn array_row(&self, array: Array, element: u32, lane: usize) -> [u32; 4] {
        let row = self.interpreter.array(array).chunks_exact(4).nth(element as usize);
        row.map_or([0; 4], |row| [row[0][lane], row[1][lane], row[2][lane], row[3][lane]])
    }
}
