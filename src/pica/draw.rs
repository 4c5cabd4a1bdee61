//! Draws: vertices in, triangles out.

use super::assembler::Assembler;
use super::output_map::{OutputVertex, Places};
use super::registers::{InputMode, Unit};
use super::setup::ShaderSetup;
use crate::call::{Attribute, GeometryInput, OutputLayout, Place};
use crate::compiled::CompiledShader;
use crate::engine::Engine;
use crate::error::{CallError, Error};
use crate::frontend::pica::Slots;
use crate::options::CompileOptions;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a register.
const REGISTER: usize = 16;

/// The most vertices of a draw without indices; with them there are no more than 2^16.
const VERTICES: usize = 1 << 20;

/// What to draw.
#[derive(Clone, Debug)]
pub struct Draw<'a> {
    /// The input attributes in the order of the permutation; vertex `i` lies at `i` strides, and a stride of 0 gives all vertices
    /// the same. Attributes that are missing read as zero.
    pub attributes: &'a [Attribute<'a>],
    /// Which vertices.
    pub vertices: Vertices<'a>,
}

/// The vertices of a draw, in order.
#[derive(Clone, Debug)]
pub enum Vertices<'a> {
    /// Those in a range.
    Range(Range<u32>),
    /// Those of these numbers. For geometry shaders in [variable mode](InputMode::Variable), each primitive's number of vertices
    /// comes in front of their numbers.
    Indices(&'a [u16]),
}

/// What a draw gives: vertices, and triangles made of them, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triangles {
    /// The vertices, [`OutputVertex::BYTES`] each.
    pub vertices: Vec<u8>,
    /// The triangles, by numbers of vertices.
    pub indices: Vec<[u32; 3]>,
}

impl Triangles {
    /// Vertex `number`.
    pub fn vertex(&self, number: u32) -> Option<OutputVertex> {
        let vertices = self.vertices.as_chunks().0;
        vertices.get(number as usize).map(OutputVertex::from_bytes)
    }
}

/// What becomes of a vertex shader's outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Slots of the rasteriser.
    Slots(Slots),
    /// The registers of the output mask, one behind the other.
    Attributes,
}

/// The vertices that a draw needs shaded, and where each of them is afterwards.
struct Needed {
    /// The numbers of those shaded, if they are not a range.
    gathered: Option<Vec<u16>>,
    range: Range<u32>,
}

impl Needed {
    fn of_range(range: Range<u32>) -> Needed {
        Needed { gathered: None, range }
    }

    /// The range that has all indices, unless most of it would be shaded in vain.
    fn of_indices(indices: &[u16]) -> Needed {
        let mut unique = indices.to_vec();
        unique.sort_unstable();
        unique.dedup();
        let range = match (unique.first(), unique.last()) {
            (Some(&first), Some(&last)) => u32::from(first)..u32::from(last) + 1,
            _ => 0..0,
        };
        match range.len() > 2 * unique.len() + 16 {
            true => Needed { range: 0..unique.len() as u32, gathered: Some(unique) },
            false => Needed { gathered: None, range },
        }
    }

    /// Where an index is among those shaded.
    fn place(&self, index: u16) -> u32 {
        match &self.gathered {
            Some(unique) => unique.partition_point(|&other| other < index) as u32,
            None => u32::from(index) - self.range.start,
        }
    }
}

impl Unit {
    /// Draws: shades the vertices, runs the geometry shader if it is enabled, and assembles triangles.
    ///
    /// # Errors
    /// A program uses something that is not supported, or is too large; there are more than 2^20 vertices, or attributes are too
    /// short for them; a loop runs too long; a geometry shader emits too many triangles, or its input mode does not exist. The
    /// geometry shader's state is then what the invocations before have left.
    pub fn draw(&mut self, engine: &Engine, draw: &Draw<'_>) -> Result<Triangles, Error> {
        if let Vertices::Range(range) = &draw.vertices
            && range.len() > VERTICES
        {
            return Err(CallError::Invalid(format!(
                "{} vertices in a draw, over the limit of {VERTICES}",
                range.len()
            ))
            .into());
        }
        if self.runs_geometry() { self.draw_geometry(engine, draw) } else { self.draw_vertices(engine, draw) }
    }

    fn draw_vertices(&mut self, engine: &Engine, draw: &Draw<'_>) -> Result<Triangles, Error> {
        let form = Form::Slots(self.output_map.slots(self.vertex.output_mask()));
        let mut assembler = Assembler::new(self.topology());
        let mut submit = |vertex| assembler.submit(vertex, false);
        let (needed, indices) = match &draw.vertices {
            Vertices::Range(range) => {
                (Needed::of_range(range.clone()), (0..range.len() as u32).filter_map(&mut submit).collect())
            }
            Vertices::Indices(indices) => {
                let needed = Needed::of_indices(indices);
                let triangles = indices.iter().filter_map(|&index| submit(needed.place(index))).collect();
                (needed, triangles)
            }
        };
        let vertices = self.shade(engine, draw.attributes, &needed, form)?;
        Ok(Triangles { vertices, indices })
    }

    fn draw_geometry(&mut self, engine: &Engine, draw: &Draw<'_>) -> Result<Triangles, Error> {
        let mode = self.input_mode();
        let mode = mode.ok_or_else(|| CallError::Invalid("there is no such geometry input mode".to_string()))?;
        let stride = REGISTER * self.vertex.output_registers().count();
        if let (InputMode::Variable { full_vertices }, Vertices::Indices(indices)) = (mode, &draw.vertices) {
            let primitives = variable_primitives(indices);
            let all: Vec<u16> = primitives.iter().flat_map(|primitive| *primitive).copied().collect();
            let stream = self.shade_in_order(engine, draw.attributes, &Vertices::Indices(&all), stride)?;
            let mut vertices = stream.chunks_exact(stride.max(1));
            let (mut rows, mut counts) = (Vec::new(), Vec::new());
            for primitive in primitives {
                let first = rows.len();
                rows.push([primitive.len() as f32; 4]);
                for (number, vertex) in vertices.by_ref().take(primitive.len()).enumerate() {
                    let attributes = if number < usize::from(full_vertices) { usize::MAX } else { 1 };
                    rows.extend(vertex.as_chunks().0.iter().take(attributes).map(row));
                }
                counts.push((rows.len() - first) as u32);
            }
            return self.run_windows(engine, 0, &rows, &counts);
        }
        let stream = self.shade_in_order(engine, draw.attributes, &draw.vertices, stride)?;
        match mode {
            InputMode::Point => self.run_points(engine, &stream),
            InputMode::Variable { .. } => {
                Err(CallError::Invalid("a geometry shader in variable mode needs indices".to_string()).into())
            }
            InputMode::Fixed { first, vertices, attributes } => {
                let mut rows = Vec::new();
                for vertex in stream.chunks_exact(stride.max(1)) {
                    let given = vertex.as_chunks().0.iter().map(row);
                    rows.extend(given.chain(std::iter::repeat([0.0; 4])).take(attributes.into()));
                }
                let each = usize::from(vertices) * usize::from(attributes);
                let counts = vec![each as u32; rows.len().checked_div(each).unwrap_or(0)];
                self.run_windows(engine, first, &rows, &counts)
            }
        }
    }

    /// The output attributes of the vertices, in the order in which they are drawn.
    fn shade_in_order(
        &mut self,
        engine: &Engine,
        attributes: &[Attribute<'_>],
        vertices: &Vertices<'_>,
        stride: usize,
    ) -> Result<Vec<u8>, Error> {
        match vertices {
            Vertices::Range(range) => {
                self.shade(engine, attributes, &Needed::of_range(range.clone()), Form::Attributes)
            }
            Vertices::Indices(indices) => {
                let needed = Needed::of_indices(indices);
                let shaded = self.shade(engine, attributes, &needed, Form::Attributes)?;
                let at = |&index: &u16| &shaded[needed.place(index) as usize * stride..][..stride];
                Ok(indices.iter().flat_map(at).copied().collect())
            }
        }
    }

    /// Runs the vertex shader.
    fn shade(
        &mut self,
        engine: &Engine,
        attributes: &[Attribute<'_>],
        needed: &Needed,
        form: Form,
    ) -> Result<Vec<u8>, Error> {
        let gathered: Vec<Vec<u8>> = match &needed.gathered {
            None => Vec::new(),
            Some(unique) => {
                attributes.iter().map(|attribute| gather(attribute, unique)).collect::<Result<_, CallError>>()?
            }
        };
        let mut inputs = [None; 16];
        for (number, (attribute, register)) in attributes.iter().zip(self.vertex.input_registers()).enumerate() {
            inputs[register] = Some(match gathered.get(number) {
                Some(bytes) => Attribute { bytes, stride: attribute.format.bytes(), ..*attribute },
                None => *attribute,
            });
        }

        let mut options = self.compile_options();
        if self.specializes {
            options = options.specialize(self.vertex.uniforms());
        }
        match form {
            Form::Slots(slots) => options = options.slots(slots),
            Form::Attributes => {
                let names: Vec<String> =
                    self.vertex.output_registers().map(|register| format!("o{register}")).collect();
                options = options.outputs(&names.iter().map(|name| (name.as_str(), 0)).collect::<Vec<_>>());
            }
        }
        for (register, input) in inputs.iter().enumerate() {
            if let Some(input) = input {
                options = options.format(&format!("v{register}"), 0, input.format);
            }
        }
        let code = self.vertex.compiled(engine, None, &options)?;

        let mut call = code.call();
        call.zero_unbound(true).pica_uniforms(self.vertex.uniforms());
        for (register, input) in inputs.into_iter().enumerate() {
            if let Some(input) = input {
                call.input_element(register, input)?;
            }
        }
        let (layout, stride) = match form {
            Form::Slots(_) => (OutputLayout::packed(&code), OutputVertex::BYTES),
            Form::Attributes => attribute_layout(&code, &self.vertex),
        };
        let mut bytes = vec![0; needed.range.len() * stride];
        call.run_into(needed.range.clone(), &layout, &mut bytes)?;
        Ok(bytes)
    }

    fn compile_options(&self) -> CompileOptions {
        CompileOptions::default().backend(self.backend).lanes(self.lanes).numbers(self.options.numbers)
    }

    fn geometry_code(&mut self, engine: &Engine) -> Result<(Arc<CompiledShader>, Slots), Error> {
        let slots = self.output_map.slots(self.geometry.output_mask());
        let mut options = self.compile_options();
        if self.specializes {
            options = options.specialize_ints(self.geometry.uniforms().ints);
        }
        let code = self.geometry.compiled(engine, Some(slots.components()), &options)?;
        Ok((code, slots))
    }

    /// Runs the geometry shader on a stream of attributes.
    fn run_points(&mut self, engine: &Engine, stream: &[u8]) -> Result<Triangles, Error> {
        let (code, slots) = self.geometry_code(engine)?;
        let stride = REGISTER * self.geometry.attributes();
        let mut call = code.call();
        call.zero_unbound(true).pica_uniforms(self.geometry.uniforms());
        for (attribute, register) in self.geometry.input_registers().enumerate() {
            let bytes = stream.get(REGISTER * attribute..).unwrap_or_default();
            call.input_element(register, Attribute::f32x4(bytes, stride))?;
        }
        let count = u32::try_from(stream.len() / stride).unwrap_or(u32::MAX);
        call.run_geometry_into(0..count, &mut self.state, &mut self.emitted)?;
        Ok(self.assemble(&slots))
    }

    /// Runs the geometry shader on rows of uniforms, which stay where they are put.
    fn run_windows(
        &mut self,
        engine: &Engine,
        first: u8,
        rows: &[[f32; 4]],
        counts: &[u32],
    ) -> Result<Triangles, Error> {
        let (code, slots) = self.geometry_code(engine)?;
        let mut call = code.call();
        call.zero_unbound(true).pica_uniforms(self.geometry.uniforms());
        let input = GeometryInput::Uniforms { first, rows, counts };
        call.run_geometry_into(input, &mut self.state, &mut self.emitted)?;
        let mut rest = rows;
        for &count in counts {
            let (window, behind) = rest.split_at(count as usize);
            let floats = self.geometry.uniforms_mut().floats.iter_mut().skip(first.into());
            floats.zip(window).for_each(|(uniform, row)| *uniform = *row);
            rest = behind;
        }
        Ok(self.assemble(&slots))
    }

    /// What the rasteriser takes of the triangles emitted last.
    fn assemble(&self, slots: &Slots) -> Triangles {
        let emitted = &self.emitted;
        let places = Places::new(slots, emitted.registers());
        let mut assembler = Assembler::new(self.topology());
        let mut triangles = Triangles::default();
        triangles.vertices.reserve(emitted.len() * 3 * OutputVertex::BYTES);
        let mut number = 0;
        for triangle in emitted.iter() {
            for corner in 0..3 {
                let vertex = OutputVertex::from_rows(&places, triangle.vertex(corner));
                triangles.vertices.extend_from_slice(&vertex.to_bytes());
                triangles.indices.extend(assembler.submit(number, triangle.inverted));
                number += 1;
            }
        }
        triangles
    }
}

/// The indices of each primitive, in front of which their number stands. What the stream does not have whole is dropped.
fn variable_primitives(mut indices: &[u16]) -> Vec<&[u16]> {
    let mut primitives = Vec::new();
    while let Some((&count, rest)) = indices.split_first() {
        let Some((primitive, rest)) = rest.split_at_checked(count.into()) else { break };
        primitives.push(primitive);
        indices = rest;
    }
    primitives
}

fn row(bytes: &[u8; REGISTER]) -> [f32; 4] {
    let words = bytes.as_chunks().0;
    std::array::from_fn(|component| f32::from_le_bytes(words[component]))
}

/// Where the registers of the output mask go, and the bytes of a vertex.
fn attribute_layout(code: &CompiledShader, setup: &ShaderSetup) -> (OutputLayout, usize) {
    let registers = setup.output_registers();
    let stride = REGISTER * registers.clone().count();
    let layout = registers.enumerate().fold(OutputLayout::none(code), |layout, (number, register)| {
        layout.with(register.into(), Place { offset: REGISTER * number, stride })
    });
    (layout, stride)
}

/// The bytes of some vertices, one behind the other.
fn gather(attribute: &Attribute<'_>, vertices: &[u16]) -> Result<Vec<u8>, CallError> {
    let size = attribute.format.bytes();
    let mut bytes = Vec::with_capacity(vertices.len() * size);
    for &vertex in vertices {
        let start = usize::from(vertex).checked_mul(attribute.stride);
        let end = start.and_then(|start| start.checked_add(size)).unwrap_or(usize::MAX);
        let vertex = attribute.bytes.get(end.saturating_sub(size)..end).ok_or_else(|| CallError::ShortBuffer {
            what: "an attribute".to_string(),
            needed: end,
            available: attribute.bytes.len(),
        })?;
        bytes.extend_from_slice(vertex);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
