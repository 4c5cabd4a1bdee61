//! Invocations that read whole primitives: of geometry and hull shaders.

use super::table::VertexTable;
use crate::call::bindings::Call;
use crate::call::wave::{Wave, WaveRunner};
use crate::error::CallError;
use crate::frontend::{Element, PrimitiveInputs};
use crate::jit::Layout;
use crate::options::default_format;

/// The numbers that shaders see for primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimitiveIds<'p> {
    /// This one for the first, and one more for each after it.
    From(u32),
    /// One a primitive. All that a patch is divided into have the patch's.
    Each(&'p [u32]),
}

/// Primitives of vertices: what geometry and hull shaders read.
#[derive(Clone, Copy, Debug)]
pub struct Primitives<'p> {
    /// The vertices.
    pub vertices: &'p VertexTable,
    /// Which vertices make the primitives, one behind the other, as
    /// [`Topology::assemble`](crate::Topology::assemble) gives them.
    pub indices: &'p [u32],
    /// Their numbers.
    pub ids: PrimitiveIds<'p>,
}

impl Primitives<'_> {
    /// How many there are of so many vertices each.
    ///
    /// # Errors
    /// [`CallError::Invalid`] if some index or number is not there.
    pub(super) fn count(&self, vertices: u32) -> Result<usize, CallError> {
        let Primitives { vertices: table, indices, ids } = *self;
        let count = indices.len() / vertices as usize;
        if !indices.len().is_multiple_of(vertices as usize) {
            let what = format!("{} indices, where a primitive has {vertices} vertices", indices.len());
            return Err(CallError::Invalid(what));
        }
        if let Some(index) = indices.iter().find(|&&index| index as usize >= table.len()) {
            return Err(CallError::Invalid(format!("index {index} of {} vertices", table.len())));
        }
        match ids {
            PrimitiveIds::Each(ids) if ids.len() != count => {
                Err(CallError::Invalid(format!("{} numbers of {count} primitives", ids.len())))
            }
            _ => Ok(count),
        }
    }

    /// The number of a primitive.
    pub(super) fn id(&self, primitive: usize) -> u32 {
        match self.ids {
            PrimitiveIds::From(first) => first.wrapping_add(primitive as u32),
            PrimitiveIds::Each(ids) => ids[primitive],
        }
    }
}

/// Invocations, so many for each primitive, one primitive after the other.
pub(super) struct Invocations<'c, 'a> {
    pub call: &'c Call<'a>,
    pub primitives: &'c Primitives<'c>,
    pub inputs: PrimitiveInputs,
    pub instances: usize,
    /// Number of primitives.
    pub count: usize,
}

impl Invocations<'_, '_> {
    /// Runs them in waves, and after each gives the numbers of the lanes' primitives to `collect`.
    pub fn run<W: WaveRunner>(
        &self,
        waves: &mut W,
        mut collect: impl FnMut(&W, usize, usize) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let Invocations { call, primitives, inputs, instances, count } = *self;
        let prepared = call.shader.prepared();
        let of_one: &[Element] = prepared.interface.signature_inputs();
        let links = primitives.vertices.links(of_one);
        // What is read of each vertex, and where it comes from.
        let read =
            |&(vertex, element): &(u32, u32)| prepared.facts.reads_input[inputs.element(vertex, element) as usize];
        let all = (0..inputs.vertices).flat_map(|vertex| (0..inputs.elements).map(move |element| (vertex, element)));
        let read: Vec<(usize, usize, Option<usize>)> = all
            .filter(read)
            .map(|(vertex, element)| {
                (vertex as usize, inputs.element(vertex, element) as usize, links[element as usize])
            })
            .collect();
        let [primitive_id, instance_id] = [inputs.primitive_id(), inputs.instance_id()].map(|element| element as usize);
        let (all, lanes) = (count * instances, waves.lanes());
        let mut first = 0;
        while first < all {
            let here = lanes.min(all - first);
            for lane in 0..here {
                let (primitive, instance) = ((first + lane) / instances, (first + lane) % instances);
                let vertices = &primitives.indices[primitive * inputs.vertices as usize..];
                for &(vertex, input, from) in &read {
                    let words = from.map_or([0; 4], |from| primitives.vertices.get(vertices[vertex] as usize, from));
                    waves.set_input(input, lane, words);
                }
                if prepared.facts.reads_input[primitive_id] {
                    waves.set_input(primitive_id, lane, [primitives.id(primitive), 0, 0, 0]);
                }
                if prepared.facts.reads_input[instance_id] {
                    waves.set_input(instance_id, lane, [instance as u32, 0, 0, 0]);
                }
            }
            waves.run(&Wave { spaces: &call.spaces, spaces_changed: first == 0, first: first as u32, count: here })?;
            for lane in 0..here {
                collect(waves, lane, (first + lane) / instances)?;
            }
            first += here;
        }
        Ok(())
    }
}

impl<'a> Call<'a> {
    /// Checks what a call has bound whose inputs come from a stage before.
    pub(super) fn check_bound(&self) -> Result<(), CallError> {
        self.check_uniforms()?;
        self.check_resources()?;
        self.check_samplers()
    }

    /// Inputs and outputs of a wave lie in rows.
    pub(super) fn layout_of_rows(&self) -> Layout {
        let interface = self.shader.interface();
        Layout {
            inputs: interface.inputs.iter().map(default_format).collect(),
            outputs: interface.outputs.iter().map(|element| element.components() as u8).collect(),
        }
    }
}
