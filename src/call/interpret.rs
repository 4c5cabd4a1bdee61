//! Waves on the IR's interpreter: the same as native code makes, so that both give the same results, running out of
//! fuel included.

use super::wave::{Block, Bound, Driver, Wave, WaveRunner, run_in_waves};
use super::work::{Work, recycle};
use crate::error::CallError;
use crate::options;
use shaderjit_ir::Array;
use shaderjit_ir::eval::Lanes;
use shaderjit_ir::interp::{Bindings, InterpOptions, Interpreter};
use std::mem;

/// Has the interpreter driven: that for as many lanes as the shader has. Nothing else asks for their number.
pub(super) fn interpret<'a>(
    bound: Bound<'_, 'a>,
    driver: impl Driver<'a>,
    work: &mut Work<'a>,
) -> Result<(), CallError> {
    match bound.call.shader.lanes() {
        options::Lanes::Four => driver.drive(&mut Interpreted::<4>::new(bound), work),
        options::Lanes::Eight => driver.drive(&mut Interpreted::<8>::new(bound), work),
    }
}

/// The interpreter with everything bound but inputs and outputs.
struct Interpreted<'c, 'a, const L: usize> {
    bound: Bound<'c, 'a>,
    interpreter: Interpreter<'c, L>,
    inputs: Vec<[Lanes<L>; 4]>,
    /// For the uniforms of a wave.
    uniforms: Vec<&'static [[u32; 4]]>,
}

impl<'c, 'a, const L: usize> Interpreted<'c, 'a, L> {
    fn new(bound: Bound<'c, 'a>) -> Interpreted<'c, 'a, L> {
        let prepared = bound.call.shader.prepared();
        Interpreted {
            bound,
            interpreter: Interpreter::new(prepared.exact_function()),
            inputs: vec![[[0; L]; 4]; prepared.interface.inputs.len()],
            uniforms: Vec::new(),
        }
    }
}

impl<const L: usize> WaveRunner for Interpreted<'_, '_, L> {
    fn lanes(&self) -> usize {
        L
    }

    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]) {
        for (component, bits) in self.inputs[element].iter_mut().zip(bits) {
            component[lane] = bits;
        }
    }

    fn run(&mut self, wave: &Wave<'_>) -> Result<(), CallError> {
        let Wave { spaces, first, count, .. } = *wave;
        let Bound { call, resources, fuel } = self.bound;
        if count < L {
            for component in self.inputs.iter_mut().flatten() {
                let last = component[count - 1];
                component[count..].fill(last);
            }
        }
        let mut uniforms: Vec<&[[u32; 4]]> = mem::take(&mut self.uniforms);
        uniforms.extend(spaces.rows());
        let bindings = Bindings {
            inputs: &self.inputs,
            vertex_id: std::array::from_fn(|lane| first.wrapping_add(lane.min(count - 1) as u32)),
            instance_id: call.instance,
            uniforms: &uniforms,
            resources,
            textures: &call.textures,
        };
        let options = InterpOptions { fuel, fused: call.shader.prepared().fused };
        let result = self.interpreter.run(&bindings, &options).map(drop);
        self.uniforms = recycle(uniforms);
        result.map_err(|error| CallError::interpreted(error, &fuel))
    }

    fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        let components = &self.interpreter.outputs()[element];
        std::array::from_fn(|component| components[component][lane])
    }

    fn read_array(&self, array: Array, first: u32, count: u32, lane: usize, rows: &mut Vec<[u32; 4]>) {
        let elements = self.interpreter.array(array).as_chunks::<4>().0.iter();
        let elements = elements.skip(first as usize).take(count as usize);
        rows.extend(elements.map(|element| element.map(|component| component[lane])));
    }

    fn run_block(&mut self, block: &Block<'_>, bytes: &mut [u8]) -> Result<(), CallError> {
        let call = self.bound.call;
        run_in_waves(self, call, block, bytes)
    }
}
