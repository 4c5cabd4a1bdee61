//! Both engines, a group of lanes at a time.

use crate::call::uniforms::BoundSpaces;
use crate::compiled::{CompiledShader, Prepared};
use crate::error::CallError;
use crate::jit::{Batch, Code, Progress, Scratch};
use crate::texture::BoundTextures;
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
    shader: &'a CompiledShader,
    scratch: &'a mut Scratch,
    textures: &'a BoundTextures<'a>,
    instance: u32,
    /// What ran last, or will run: both forms have the same inputs and outputs.
    code: &'a Code,
}

impl<'a> Native<'a> {
    pub fn new(
        shader: &'a CompiledShader,
        scratch: &'a mut Scratch,
        (spaces, textures): (&BoundSpaces, &'a BoundTextures<'a>),
        instance: u32,
    ) -> Result<Native<'a>, CallError> {
        let code = shader.native_code().expect("the backend is native code");
        let native = Native { shader, scratch, textures, instance, code };
        native.code.begin_groups(&native.batch(spaces, 0, 0), native.scratch)?;
        Ok(native)
    }

    fn batch<'b>(&self, spaces: &'b BoundSpaces, first: u32, count: usize) -> Batch<'b>
    where
        'a: 'b,
    {
        Batch {
            inputs: &[],
            uniforms: spaces.native(),
            resources: &[],
            textures: self.textures,
            count: count as u32,
            first_vertex: first,
            instance: self.instance,
            fuel: self.shader.prepared().fuel,
        }
    }
}

impl Groups for Native<'_> {
    fn lanes(&self) -> usize {
        self.code.lanes() as usize
    }

    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]) {
        self.code.set_group_input(self.scratch, element, lane, bits);
    }

    fn run(&mut self, spaces: &BoundSpaces, first: u32, count: usize) -> Result<(), CallError> {
        let batch = self.batch(spaces, first, count);
        self.code = self.shader.native_code().expect("the backend is native code");
        if let Progress::GuardFailed { .. } = self.code.run_group(&batch, self.scratch)? {
            self.code = self.shader.exact_code()?;
            let Progress::Done = self.code.run_group(&batch, self.scratch)? else {
                unreachable!("the exact form has no guards")
            };
        }
        Ok(())
    }

    fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        self.code.group_output(self.scratch, element, lane)
    }

    fn array_row(&self, array: Array, element: u32, lane: usize) -> [u32; 4] {
        self.code.group_array_row(self.scratch, array, element, lane)
    }
}

/// The interpreter.
pub(super) struct Interpreted<'a, const L: usize> {
    interpreter: Interpreter<'a, L>,
    inputs: Vec<[eval::Lanes<L>; 4]>,
    textures: &'a BoundTextures<'a>,
    instance: u32,
    options: InterpOptions,
}

impl<'a, const L: usize> Interpreted<'a, L> {
    pub fn new(prepared: &'a Prepared, textures: &'a BoundTextures<'a>, instance: u32) -> Interpreted<'a, L> {
        Interpreted {
            interpreter: Interpreter::new(prepared.exact_function()),
            inputs: vec![[[0; L]; 4]; prepared.interface.inputs.len()],
            textures,
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
            textures: self.textures,
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
