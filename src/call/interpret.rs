//! A call on the IR's interpreter: the same groups of vertices as native code makes, so that both give the same
//! results, running out of fuel included.

use super::shade::{Block, Shade};
use super::{Call, OutputLayout, VertexBufferView};
use crate::compiled::Prepared;
use crate::error::CallError;
use crate::texture::BoundTextures;
use shaderjit_ir::eval::Lanes;
use shaderjit_ir::fuel::Fuel;
use shaderjit_ir::interp::{Bindings, InterpOptions, Interpreter};

/// The interpreter with everything bound but the inputs.
pub(super) struct Interpreted<'c, const L: usize> {
    interpreter: Interpreter<'c, L>,
    prepared: &'c Prepared,
    inputs: Vec<[Lanes<L>; 4]>,
    uniforms: Vec<&'c [[u32; 4]]>,
    /// One entry a resource.
    resources: &'c [&'c [u8]],
    textures: &'c BoundTextures<'c>,
    layout: &'c OutputLayout,
    instance: u32,
    options: InterpOptions<'c>,
}

impl<'c, const L: usize> Interpreted<'c, L> {
    /// For a call whose bindings are checked.
    pub fn new(
        call: &'c Call<'_>,
        layout: &'c OutputLayout,
        resources: &'c [&'c [u8]],
        fuel: Fuel<'c>,
    ) -> Interpreted<'c, L> {
        let prepared = &**call.shader.prepared();
        Interpreted {
            interpreter: Interpreter::new(prepared.exact_function()),
            prepared,
            inputs: vec![[[0; L]; 4]; prepared.interface.inputs.len()],
            uniforms: call.spaces.rows(),
            resources,
            textures: &call.textures,
            layout,
            instance: call.instance,
            options: InterpOptions { fuel, fused: prepared.fused },
        }
    }

    fn fetch(&mut self, vertices: &[usize; L], attributes: &[VertexBufferView<'_>]) {
        for ((attribute, components), read) in attributes.iter().zip(&mut self.inputs).zip(&self.prepared.reads_input) {
            if !read {
                continue;
            }
            for (lane, &vertex) in vertices.iter().enumerate() {
                let bits = attribute.format.decode(&attribute.bytes[vertex * attribute.stride..]);
                for (component, bits) in components.iter_mut().zip(bits) {
                    component[lane] = bits;
                }
            }
        }
    }
}

impl<const L: usize> Shade for Interpreted<'_, L> {
    /// Runs all vertices, L at a time. The lanes past the last vertex repeat it.
    fn shade(&mut self, block: &Block<'_>, bytes: &mut [u8]) -> Result<(), CallError> {
        let count = block.count as usize;
        for first in (0..count).step_by(L) {
            let vertices: [usize; L] = std::array::from_fn(|lane| (first + lane).min(count - 1));
            self.fetch(&vertices, block.attributes);
            let bindings = Bindings {
                inputs: &self.inputs,
                vertex_id: vertices.map(|vertex| block.first_vertex.wrapping_add(vertex as u32)),
                instance_id: self.instance,
                uniforms: &self.uniforms,
                resources: self.resources,
                textures: self.textures,
            };
            let outputs = self.interpreter.run(&bindings, &self.options);
            let outputs = outputs.map_err(|error| CallError::interpreted(error, &self.options.fuel))?;
            let rows = block.first_row + first..block.first_row + count.min(first + L);
            let elements = self.prepared.interface.outputs.iter().zip(outputs).zip(self.layout.places());
            for ((element, components), place) in elements {
                let Some(place) = place else { continue };
                let stored = &components[..element.components() as usize];
                for (lane, row) in rows.clone().enumerate() {
                    let words = bytes[place.offset + row * place.stride..].as_chunks_mut().0;
                    for (word, component) in words.iter_mut().zip(stored) {
                        *word = component[lane].to_le_bytes();
                    }
                }
            }
        }
        Ok(())
    }
}
