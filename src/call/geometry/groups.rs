//! Both engines, a group of lanes at a time.

use crate::call::uniforms::BoundSpaces;
use crate::compiled::{CompiledShader, Prepared};
use crate::error::CallError;
use crate::jit::{Batch, Code, GroupRunner, Progress, Scratch};
use crate::texture::BoundTextures;
use shaderjit_ir::Array;
use shaderjit_ir::eval;
use shaderjit_ir::fuel::Fuel;
use shaderjit_ir::interp::{Bindings, InterpOptions, Interpreter};

/// One group of lanes after the other, on either engine.
pub(super) trait Groups {
    /// Invocations that can run side by side.
    fn lanes(&self) -> usize;
    /// Sets what a lane reads of an input element.
    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]);
    /// Runs `count` invocations, the first of which is number `first`. Uniforms are those of the run before unless they
    /// changed.
    fn run(&mut self, spaces: &BoundSpaces, changed: bool, first: u32, count: usize) -> Result<(), CallError>;
    /// What a lane stored to an output element.
    fn output(&self, element: usize, lane: usize) -> [u32; 4];
    /// Appends what a lane stored to `count` elements of an array of four components.
    fn read_array(&self, array: Array, first: u32, count: u32, lane: usize, rows: &mut Vec<[u32; 4]>);
}

/// Native code.
pub(super) struct Native<'a> {
    shader: &'a CompiledShader,
    textures: &'a BoundTextures<'a>,
    instance: u32,
    fuel: Fuel<'a>,
    runner: GroupRunner<'a>,
}

impl<'a> Native<'a> {
    pub fn new(
        shader: &'a CompiledShader,
        scratch: &'a mut Scratch,
        textures: &'a BoundTextures<'a>,
        instance: u32,
        fuel: Fuel<'a>,
    ) -> Native<'a> {
        Native { shader, textures, instance, fuel, runner: GroupRunner::new(guarded(shader), scratch) }
    }
}

/// The form that runs unless a guard fails.
fn guarded(shader: &CompiledShader) -> &Code {
    shader.native_code().expect("the backend is native code")
}

impl Groups for Native<'_> {
    fn lanes(&self) -> usize {
        self.runner.lanes()
    }

    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]) {
        self.runner.set_input(element, lane, bits);
    }

    fn run(&mut self, spaces: &BoundSpaces, changed: bool, first: u32, count: usize) -> Result<(), CallError> {
        let batch = Batch {
            inputs: &[],
            uniforms: spaces.native(),
            resources: &[],
            textures: self.textures,
            count: count as u32,
            first_vertex: first,
            instance: self.instance,
            fuel: self.fuel,
        };
        self.runner.switch(guarded(self.shader));
        if let Progress::GuardFailed { .. } = self.runner.run(&batch, changed)? {
            self.runner.switch(self.shader.exact_code()?);
            let Progress::Done = self.runner.run(&batch, true)? else { unreachable!("the exact form has no guards") };
        }
        Ok(())
    }

    fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        self.runner.output(element, lane)
    }

    fn read_array(&self, array: Array, first: u32, count: u32, lane: usize, rows: &mut Vec<[u32; 4]>) {
        self.runner.read_array(array, first, count, lane, rows);
    }
}

/// The interpreter.
pub(super) struct Interpreted<'a, const L: usize> {
    interpreter: Interpreter<'a, L>,
    inputs: Vec<[eval::Lanes<L>; 4]>,
    textures: &'a BoundTextures<'a>,
    instance: u32,
    options: InterpOptions<'a>,
}

impl<'a, const L: usize> Interpreted<'a, L> {
    pub fn new(
        prepared: &'a Prepared,
        textures: &'a BoundTextures<'a>,
        instance: u32,
        fuel: Fuel<'a>,
    ) -> Interpreted<'a, L> {
        Interpreted {
            interpreter: Interpreter::new(prepared.exact_function()),
            inputs: vec![[[0; L]; 4]; prepared.interface.inputs.len()],
            textures,
            instance,
            options: InterpOptions { fuel, fused: prepared.fused },
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

    fn run(&mut self, spaces: &BoundSpaces, _: bool, first: u32, count: usize) -> Result<(), CallError> {
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
            textures: self.textures,
        };
        let outputs = self.interpreter.run(&bindings, &self.options).map(drop);
        outputs.map_err(|error| CallError::interpreted(error, &self.options.fuel))
    }

    fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        self.interpreter.outputs()[element].map(|component| component[lane])
    }

    fn read_array(&self, array: Array, first: u32, count: u32, lane: usize, rows: &mut Vec<[u32; 4]>) {
        let elements = self.interpreter.array(array).as_chunks::<4>().0.iter();
        let elements = elements.skip(first as usize).take(count as usize);
        rows.extend(elements.map(|element| element.map(|component| component[lane])));
    }
}
