//! A call on the IR's interpreter: the same groups of vertices as native code makes, so that both give the same results, running
//! out of fuel included.

use super::uniforms::BoundSpaces;
use super::{Attribute, OutputLayout};
use crate::compiled::Prepared;
use crate::error::CallError;
use crate::texture::BoundTextures;
use shaderjit_ir::eval::Lanes;
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};

/// A call whose bindings are checked.
pub(super) struct Job<'a> {
    pub prepared: &'a Prepared,
    /// One entry an input element, from the first vertex on.
    pub attributes: &'a [Attribute<'a>],
    pub spaces: &'a BoundSpaces,
    /// One entry a resource.
    pub resources: &'a [&'a [u8]],
    pub textures: &'a BoundTextures<'a>,
    pub count: u32,
    pub first_vertex: u32,
    pub instance: u32,
}

impl Job<'_> {
    /// Runs all vertices, L at a time. The lanes past the last vertex repeat it.
    pub fn run<const L: usize>(&self, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError> {
        let mut interpreter = Interpreter::<L>::new(&self.prepared.function);
        let uniforms = self.spaces.rows();
        let options = InterpOptions { fuel: self.prepared.fuel, fused: self.prepared.fused };
        let mut inputs = vec![[[0; L]; 4]; self.attributes.len()];
        let count = self.count as usize;
        for first in (0..count).step_by(L) {
            let vertices: [usize; L] = std::array::from_fn(|lane| (first + lane).min(count - 1));
            self.fetch(&vertices, &mut inputs);
            let bindings = Bindings {
                inputs: &inputs,
                vertex_id: vertices.map(|vertex| self.first_vertex.wrapping_add(vertex as u32)),
                instance_id: self.instance,
                uniforms: &uniforms,
                resources: self.resources,
                textures: self.textures,
            };
            let outputs = interpreter.run(&bindings, &options).map_err(|error| match error {
                InterpError::OutOfFuel => CallError::OutOfFuel { fuel: options.fuel },
                error => CallError::Invalid(error.to_string()),
            })?;
            self.store(first, outputs, layout, bytes);
        }
        Ok(())
    }

    fn fetch<const L: usize>(&self, vertices: &[usize; L], inputs: &mut [[Lanes<L>; 4]]) {
        for ((attribute, components), read) in self.attributes.iter().zip(inputs).zip(&self.prepared.reads_input) {
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

    fn store<const L: usize>(&self, first: usize, outputs: &[[Lanes<L>; 4]], layout: &OutputLayout, bytes: &mut [u8]) {
        let elements = self.prepared.interface.outputs.iter().zip(outputs).zip(layout.places());
        for ((element, components), place) in elements {
            let Some(place) = place else { continue };
            let stored = &components[..element.components() as usize];
            for (lane, vertex) in (first..self.count as usize).take(L).enumerate() {
                let at = place.offset + vertex * place.stride;
                let words = bytes[at..].as_chunks_mut().0;
                for (word, component) in words.iter_mut().zip(stored) {
                    *word = component[lane].to_le_bytes();
                }
            }
        }
    }
}
