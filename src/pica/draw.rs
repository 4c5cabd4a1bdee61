//! Draws: vertices in, triangles out.

use super::assembler::Assembler;
use super::output_map::{OutputVertex, Places};
use super::registers::{InputMode, Unit};
use super::setup::ShaderSetup;
use crate::call::{DistinctVertices, GeometryInput, Indices, OutputLayout, Place, VertexBufferView};
use crate::compiled::CompiledShader;
use crate::engine::Engine;
use crate::error::{CallError, Error};
use crate::frontend::pica::RasterizerSlots;
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
    /// The input attributes in the order of the permutation; vertex `i` lies at `i` strides, and a stride of 0 gives
    /// all vertices the same. Attributes that are missing read as zero.
    pub attributes: &'a [VertexBufferView<'a>],
    /// Which vertices.
    pub vertices: Vertices<'a>,
}

/// The vertices of a draw, in order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Vertices<'a> {
    /// The vertices in a range.
    Range(Range<u32>),
    /// Those of these numbers. For geometry shaders in [variable mode](InputMode::Variable), each primitive's number of
    /// vertices comes in front of their numbers.
    Indices(&'a [u16]),
}

/// The result of a draw: vertices, and triangles made of them, in order.
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
    Slots(RasterizerSlots),
    /// The registers of the output mask, one behind the other.
    Attributes,
}

/// The vertices that a draw needs shaded, each once.
enum Needed<'a> {
    Range(Range<u32>),
    Indexed(DistinctVertices, &'a [u16]),
}

impl Needed<'_> {
    fn of<'a>(vertices: &Vertices<'a>) -> Result<Needed<'a>, CallError> {
        Ok(match vertices {
            Vertices::Range(range) => Needed::Range(range.clone()),
            Vertices::Indices(indices) => Needed::Indexed(DistinctVertices::new(Indices::U16(indices), 0)?, indices),
        })
    }

    /// How many there are.
    fn len(&self) -> usize {
        match self {
            Needed::Range(range) => range.len(),
            Needed::Indexed(vertices, _) => vertices.count() as usize,
        }
    }

    /// For each vertex of the draw, in order, where it is among those shaded.
    fn places(&self) -> impl Iterator<Item = u32> {
        let (range, indexed) = match self {
            Needed::Range(range) => (0..range.len() as u32, None),
            Needed::Indexed(vertices, indices) => (0..0, Some((vertices, *indices))),
        };
        let rows = indexed.into_iter().flat_map(|(vertices, indices)| {
            indices.iter().map(|&index| vertices.row(index.into()).expect("its vertices are those of the indices"))
        });
        range.chain(rows)
    }
}

impl Unit {
    /// Draws: shades the vertices, runs the geometry shader if it is enabled, and assembles triangles.
    ///
    /// # Errors
    /// A program uses something that is not supported, or is too large; there are more than 2^20 vertices, or
    /// attributes are too short for them; a loop runs too long; a geometry shader emits too many triangles, or its
    /// input mode does not exist. The geometry shader's state is then what the invocations before have left.
    pub fn draw(&mut self, engine: &Engine, draw: &Draw<'_>) -> Result<Triangles, Error> {
        if let Vertices::Range(range) = &draw.vertices {
            check_count(range.len())?;
        }
        if self.runs_geometry() { self.draw_geometry(engine, draw) } else { self.draw_vertices(engine, draw) }
    }

    fn draw_vertices(&mut self, engine: &Engine, draw: &Draw<'_>) -> Result<Triangles, Error> {
        let form = Form::Slots(self.output_map.rasterizer_slots(self.vertex.output_mask()));
        let needed = Needed::of(&draw.vertices)?;
        let vertices = self.shade(engine, draw.attributes, &needed, form)?;
        let mut assembler = Assembler::new(self.topology());
        let indices = needed.places().filter_map(|vertex| assembler.submit(vertex, false)).collect();
        Ok(Triangles { vertices, indices })
    }

    fn draw_geometry(&mut self, engine: &Engine, draw: &Draw<'_>) -> Result<Triangles, Error> {
        let mode = self.input_mode();
        let mode = mode.ok_or_else(|| CallError::Invalid("there is no such geometry input mode".to_string()))?;
        let stride = REGISTER * self.vertex.output_registers().count();
        if let (InputMode::Variable { full_vertices }, Vertices::Indices(indices)) = (mode, &draw.vertices) {
            let primitives = variable_primitives(indices);
            let all: Vec<u16> = primitives.iter().flat_map(|primitive| &indices[primitive.clone()]).copied().collect();
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
        attributes: &[VertexBufferView<'_>],
        vertices: &Vertices<'_>,
        stride: usize,
    ) -> Result<Vec<u8>, Error> {
        let needed = Needed::of(vertices)?;
        let shaded = self.shade(engine, attributes, &needed, Form::Attributes)?;
        if let Needed::Range(_) = needed {
            return Ok(shaded);
        }
        let at = |place: u32| &shaded[place as usize * stride..][..stride];
        Ok(needed.places().flat_map(at).copied().collect())
    }

    /// Runs the vertex shader.
    fn shade(
        &mut self,
        engine: &Engine,
        attributes: &[VertexBufferView<'_>],
        needed: &Needed<'_>,
        form: Form,
    ) -> Result<Vec<u8>, Error> {
        let mut inputs = [None; 16];
        for (attribute, register) in attributes.iter().zip(self.vertex.input_registers()) {
            inputs[register] = Some(*attribute);
        }

        let mut options = self.compile_options();
        if self.specializes {
            options = options.specialize(self.vertex.uniforms());
        }
        match form {
            Form::Slots(slots) => options = options.rasterizer_slots(slots),
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
        call.unbound_as_zero(true).pica_uniforms(self.vertex.uniforms());
        for (register, input) in inputs.into_iter().enumerate() {
            if let Some(input) = input {
                call.input_element(register, input)?;
            }
        }
        let (layout, stride) = match form {
            Form::Slots(_) => (OutputLayout::packed(&code), OutputVertex::BYTES),
            Form::Attributes => attribute_layout(&code, &self.vertex),
        };
        let mut bytes = vec![0; needed.len() * stride];
        match needed {
            Needed::Range(range) => call.run_into(range.clone(), &layout, &mut bytes)?,
            Needed::Indexed(vertices, _) => call.run_distinct_into(vertices, &layout, &mut bytes)?,
        }
        Ok(bytes)
    }

    fn compile_options(&self) -> CompileOptions {
        let options = CompileOptions::default().backend(self.backend).float_precision(self.options.numbers);
        match self.lanes {
            Some(lanes) => options.lanes(lanes),
            None => options,
        }
    }

    fn geometry_code(&mut self, engine: &Engine) -> Result<(Arc<CompiledShader>, RasterizerSlots), Error> {
        let slots = self.output_map.rasterizer_slots(self.geometry.output_mask());
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
        call.unbound_as_zero(true).pica_uniforms(self.geometry.uniforms());
        for (attribute, register) in self.geometry.input_registers().enumerate() {
            let bytes = stream.get(REGISTER * attribute..).unwrap_or_default();
            call.input_element(register, VertexBufferView::f32x4(bytes, stride))?;
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
        call.unbound_as_zero(true).pica_uniforms(self.geometry.uniforms());
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
    fn assemble(&self, slots: &RasterizerSlots) -> Triangles {
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

/// Checks how many vertices a draw has.
pub(super) fn check_count(vertices: usize) -> Result<(), CallError> {
    if vertices > VERTICES {
        return Err(CallError::Invalid(format!("{vertices} vertices in a draw, over the limit of {VERTICES}")));
    }
    Ok(())
}

/// Where in a stream the indices of each primitive are, in front of which their number stands. What the stream does not
/// have whole is dropped.
pub(super) fn variable_primitives(indices: &[u16]) -> Vec<Range<usize>> {
    let mut primitives = Vec::new();
    let mut at = 0;
    while let Some(&count) = indices.get(at) {
        let primitive = at + 1..at + 1 + usize::from(count);
        at = primitive.end;
        if at > indices.len() {
            break;
        }
        primitives.push(primitive);
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

#[cfg(test)]
mod tests;
