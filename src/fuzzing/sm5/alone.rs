//! Geometry, hull and domain shaders one invocation at a time on the reference interpreter, without any pass.

use super::check::{FUEL, OutOfFuel};
use super::data::Data;
use super::stages::{Results, Work, of_patches};
use crate::Topology;
use crate::call::{Patches, Stream, VertexTable};
use crate::frontend::{
    DomainInterface, Element, EmitterInterface, HullInterface, Lowered, PrimitiveInputs, PrimitiveStage,
    StreamInterface, UniformKind,
};
use crate::tessellator::{Factors, Output, Tessellation};
use crate::texture::BoundTextures;
use shaderjit_ir::Array;
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};

/// An interpreter with everything bound but inputs.
struct Alone<'a> {
    lowered: &'a Lowered,
    interpreter: Interpreter<'a, 1>,
    options: InterpOptions<'a>,
    rows: Vec<Vec<[u32; 4]>>,
    resources: Vec<Vec<u8>>,
    textures: BoundTextures<'a>,
    instance: u32,
}

/// Runs all invocations.
pub(super) fn run(stage: &PrimitiveStage, lowered: &Lowered, work: &Work, data: &Data, fused: bool) -> Results {
    let mut alone = Alone {
        lowered,
        interpreter: Interpreter::new(&lowered.function),
        options: InterpOptions { fuel: FUEL.into(), fused },
        rows: data.rows(),
        resources: data.resource_bytes(&lowered.interface),
        textures: data.textures(),
        instance: data.instance,
    };
    match (stage, work) {
        (PrimitiveStage::Emitter(emitter), Work::Primitives { vertices, indices, first }) => {
            alone.emitter(emitter, vertices, indices, *first)
        }
        (PrimitiveStage::Hull(hull), Work::Primitives { vertices, indices, first }) => {
            alone.hull(hull, vertices, indices, *first)
        }
        (PrimitiveStage::Domain(domain), Work::Patches(patches)) => alone.domain(domain, patches),
        _ => unreachable!("the work was made for the stage"),
    }
}

impl Alone<'_> {
    /// What an invocation stores to its output elements.
    fn invoke(&mut self, inputs: impl Iterator<Item = [u32; 4]>) -> Result<Vec<[u32; 4]>, OutOfFuel> {
        let inputs: Vec<[[u32; 1]; 4]> = inputs.map(|words| words.map(|word| [word])).collect();
        let uniforms: Vec<&[[u32; 4]]> = self.rows.iter().map(Vec::as_slice).collect();
        let resources: Vec<&[u8]> = self.resources.iter().map(Vec::as_slice).collect();
        let bindings = Bindings {
            inputs: &inputs,
            vertex_id: [0],
            instance_id: self.instance,
            uniforms: &uniforms,
            resources: &resources,
            textures: &self.textures,
        };
        match self.interpreter.run(&bindings, &self.options) {
            Ok(outputs) => Ok(outputs.iter().map(|output| output.map(|[word]| word)).collect()),
            Err(InterpError::Stopped(_)) => Err(OutOfFuel),
            Err(error) => panic!("{error}\n{}", self.lowered.function),
        }
    }

    /// A row of an array.
    fn row(&self, array: Array, row: usize) -> [u32; 4] {
        std::array::from_fn(|component| self.interpreter.array(array)[4 * row + component][0])
    }

    /// The words of an output element, as it is stored.
    fn stored(&self, outputs: &[[u32; 4]], element: usize) -> [u32; 4] {
        let mut words = outputs[element];
        words[self.lowered.interface.outputs[element].components() as usize..].fill(0);
        words
    }

    fn emitter(&mut self, emitter: &EmitterInterface, vertices: &VertexTable, indices: &[u32], first: u32) -> Results {
        let stream = |declared: &StreamInterface| Stream {
            number: declared.number,
            topology: declared.topology.list(),
            vertices: empty(&declared.elements),
            indices: Vec::new(),
            ids: Vec::new(),
        };
        let mut streams: Vec<Stream> = emitter.streams.iter().map(stream).collect();
        for (id, indices) in (0..).zip(indices.chunks_exact(emitter.inputs.vertices as usize)) {
            let id = first.wrapping_add(id);
            for instance in 0..emitter.instances {
                let outputs = self.invoke(inputs(emitter.inputs, vertices, indices, id, instance))?;
                for (declared, stream) in emitter.streams.iter().zip(&mut streams) {
                    self.collect(emitter, declared, &outputs, stream);
                    stream.ids.resize(stream.indices.len() / stream.topology.vertices(), id);
                }
            }
        }
        Ok(streams)
    }

    /// Appends what an invocation has emitted to a stream.
    fn collect(
        &self,
        emitter: &EmitterInterface,
        declared: &StreamInterface,
        outputs: &[[u32; 4]],
        stream: &mut Stream,
    ) {
        let (strips, elements) = (declared.has_strips(), declared.elements.len());
        // Outputs of vertices that are always emitted lie one behind the other.
        let words = outputs.as_flattened();
        let of_one: usize = declared.elements.iter().map(|element| element.components() as usize).sum();
        let word_at = |vertex: usize, number: usize| {
            let before = declared.elements[..number].iter().map(|element| element.components() as usize);
            vertex * of_one + before.sum::<usize>()
        };
        let counted = || outputs[0][declared.number as usize] as usize;
        let mut strip = Vec::new();
        for vertex in 0..emitter.fixed.as_ref().map_or_else(counted, Vec::len) {
            let row = |number: usize| match declared.array {
                Some(array) => self.row(array, vertex * declared.rows() as usize + number),
                None => {
                    let (at, count) = (word_at(vertex, number), declared.elements[number].components() as usize);
                    std::array::from_fn(|component| if component < count { words[at + component] } else { 0 })
                }
            };
            let begins = match &emitter.fixed {
                Some(begins) => begins[vertex],
                None => strips && row(0)[0] != 0,
            };
            if begins || !strips {
                declared.topology.assemble(strip.drain(..), None, &mut stream.indices);
            }
            strip.push(stream.vertices.len() as u32);
            let first = usize::from(strips && emitter.fixed.is_none());
            stream.vertices.push((0..elements).map(|element| row(first + element))).expect("they are few");
        }
        declared.topology.assemble(strip, None, &mut stream.indices);
    }

    fn hull(&mut self, hull: &HullInterface, vertices: &VertexTable, indices: &[u32], first: u32) -> Results {
        let elements = self.lowered.interface.signature_outputs();
        let (mut control_points, mut constants, mut factors) = (empty(&hull.elements), empty(elements), Vec::new());
        for (id, indices) in (0..).zip(indices.chunks_exact(hull.inputs.vertices as usize)) {
            let outputs = self.invoke(inputs(hull.inputs, vertices, indices, first.wrapping_add(id), 0))?;
            for point in 0..hull.control_points {
                let words = |element: &Element| match hull.array {
                    Some(array) => {
                        let register = point * hull.registers() + element.register;
                        element.gather(self.row(array, register as usize))
                    }
                    // Without rows to write, or without a phase that does, they are those that came in.
                    None => {
                        let from = vertices.find(&element.semantic, element.index);
                        from.map_or([0; 4], |from| vertices.get(indices[point as usize] as usize, from))
                    }
                };
                control_points.push(hull.elements.iter().map(words)).expect("they are few");
            }
            constants.push((0..elements.len()).map(|element| self.stored(&outputs, element))).expect("they are few");
            let factor = |place: Option<(u32, u8)>| {
                let bits = place.map_or(0, |(element, component)| outputs[element as usize][usize::from(component)]);
                f32::from_bits(bits)
            };
            factors.push(Factors { edges: hull.edges.map(factor), inside: hull.inside.map(factor) });
        }
        Ok(of_patches(control_points, constants, &factors))
    }

    fn domain(&mut self, domain: &DomainInterface, patches: &Patches) -> Results {
        let interface = &self.lowered.interface;
        let space = interface.uniforms.iter().position(|decl| decl.kind == UniformKind::Patch);
        let space = space.expect("every domain shader has the space of its patch");
        let elements = interface.signature_outputs();
        let tessellator = patches.modes.tessellator().expect("they were made with one");
        let topology = match tessellator.output() {
            Output::Point => Topology::PointList,
            Output::Line => Topology::LineList,
            _ => Topology::TriangleList,
        };
        let (vertices, indices, ids) = (empty(elements), Vec::new(), Vec::new());
        let mut made = Stream { number: 0, topology, vertices, indices, ids };
        let mut tessellation = Tessellation::default();
        for (patch, factors) in patches.factors.iter().enumerate() {
            tessellator.tessellate(factors, &mut tessellation);
            let mut rows = vec![[0; 4]; domain.primitive_row() as usize + 1];
            for point in 0..domain.control_points {
                let entry = patch * patches.points + point as usize;
                for (number, element) in domain.elements.iter().enumerate() {
                    let row = domain.control_point_row(point, element.register) as usize;
                    element.scatter(patches.control_points.get(entry, number), &mut rows[row]);
                }
            }
            for (number, element) in domain.constants.iter().enumerate() {
                let row = domain.constant_row(element.register) as usize;
                element.scatter(patches.constants.get(patch, number), &mut rows[row]);
            }
            rows[domain.primitive_row() as usize] = [patches.ids[patch], patches.points as u32, 0, 0];
            self.rows[space] = rows;
            let first = made.vertices.len() as u32;
            for &[u, v, w] in &tessellation.points {
                let outputs = self.invoke([[u.to_bits(), v.to_bits(), w.to_bits(), 0]].into_iter())?;
                let words = (0..elements.len()).map(|element| self.stored(&outputs, element));
                made.vertices.push(words).expect("they are few");
            }
            made.indices.extend(tessellation.indices.iter().map(|&point| first + u32::from(point)));
            made.ids.resize(made.indices.len() / topology.vertices(), patches.ids[patch]);
        }
        Ok(vec![made])
    }
}

/// What an invocation reads: the elements of its vertices, one vertex behind the other, and two numbers.
fn inputs<'v>(
    of: PrimitiveInputs,
    vertices: &'v VertexTable,
    indices: &'v [u32],
    id: u32,
    instance: u32,
) -> impl Iterator<Item = [u32; 4]> + 'v {
    let vertex = move |&index: &u32| (0..of.elements as usize).map(move |n| vertices.get(index as usize, n));
    indices.iter().flat_map(vertex).chain([[id, 0, 0, 0], [instance, 0, 0, 0]])
}

fn empty(elements: &[Element]) -> VertexTable {
    VertexTable::from_bytes(elements, Vec::new()).expect("none are whole")
}
