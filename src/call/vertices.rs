//! Calls that run vertices: a range of those in the streams, one behind the other.

use super::bindings::{Call, count};
use super::engine::{Memory, with_memory};
use super::outputs::{OutputLayout, Outputs, packed_stride};
use super::uniforms::BoundSpaces;
use super::vertex_buffer::VertexBufferView;
use super::wave::{Block, Driver, WaveRunner};
use super::work::Work;
use crate::error::CallError;
use crate::jit::Layout;
use crate::native::{Made, Native};
use shaderjit_ir::fuel::Fuel;
use std::ops::Range;
use std::sync::Arc;

/// What runs a call.
#[derive(Clone, Copy)]
pub(super) enum Choice<'c> {
    /// Native code for what is bound, the interpreter where there is none.
    Jit,
    Interpreter,
    /// What has been found by [`Call::native`] for a call that is checked: native code, or the interpreter. With the
    /// fuel of the whole call.
    #[cfg_attr(
        not(feature = "rayon"),
        expect(dead_code, reason = "only a call on many threads looks once for many runs")
    )]
    Found(Option<&'c Native>, Fuel<'c>),
}

impl<'a> Call<'a> {
    /// Shades a range of the vertices in the streams.
    ///
    /// # Errors
    /// [`WrongStage`](CallError::WrongStage), [`MissingBinding`](CallError::MissingBinding),
    /// [`OtherValues`](CallError::OtherValues) and [`ShortBuffer`](CallError::ShortBuffer) before anything runs;
    /// [`OutOfFuel`](CallError::OutOfFuel) and [`OutOfCallFuel`](CallError::OutOfCallFuel) if loops run too long,
    /// [`Cancelled`](CallError::Cancelled) if that is asked for; [`Compile`](CallError::Compile) if the attributes
    /// bound need code of their own and that cannot be made.
    pub fn run(&self, vertices: Range<u32>) -> Result<Outputs, CallError> {
        self.outputs(vertices, Choice::Jit)
    }

    /// As [`run`](Self::run) on the interpreter, in the same waves of vertices: same bits, same errors.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn interpret(&self, vertices: Range<u32>) -> Result<Outputs, CallError> {
        self.outputs(vertices, Choice::Interpreter)
    }

    /// Shades a range of the vertices in the streams and stores the outputs where `layout` says, the first vertex of
    /// the range at its offsets. Other bytes of the buffer are not touched. After an error the outputs are unspecified.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if the buffer is too short for the layout.
    pub fn run_into(&self, vertices: Range<u32>, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError> {
        self.execute(vertices, layout, bytes, Choice::Jit)
    }

    fn outputs(&self, vertices: Range<u32>, choice: Choice<'_>) -> Result<Outputs, CallError> {
        self.collect(count(&vertices)?, |layout, bytes| self.execute(vertices, layout, bytes, choice))
    }

    /// Memory for the outputs of so many vertices, and what `run` puts there.
    pub(super) fn collect(
        &self,
        count: u32,
        run: impl FnOnce(&OutputLayout, &mut [u8]) -> Result<(), CallError>,
    ) -> Result<Outputs, CallError> {
        let layout = OutputLayout::packed(self.shader);
        let stride = packed_stride(&self.shader.interface().outputs);
        let count = count as usize;
        let size = count.saturating_mul(stride);
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(size).is_err() {
            return Err(CallError::Invalid(format!("no memory for {size} bytes of outputs")));
        }
        bytes.resize(size, 0);
        run(&layout, &mut bytes)?;
        Ok(Outputs { prepared: Arc::clone(self.shader.prepared()), layout, stride, count, bytes })
    }

    /// Runs on native code, where the shader has some, unless the interpreter is asked for.
    pub(super) fn execute(
        &self,
        vertices: Range<u32>,
        layout: &OutputLayout,
        bytes: &mut [u8],
        choice: Choice<'_>,
    ) -> Result<(), CallError> {
        let (count, available) = (count(&vertices)?, bytes.len());
        let first_vertex = self.first_vertex.wrapping_add(vertices.start);
        let batch = InARow { count, first_vertex, layout, bytes, spaces: &self.spaces };
        self.shade(&vertices, count, (layout, available), choice, batch)
    }

    /// Checks what a call has bound for a range of vertices, and a buffer of `available` bytes for the outputs of
    /// `rows` of them; then has an engine driven, unless there are none.
    pub(super) fn shade(
        &self,
        vertices: &Range<u32>,
        rows: u32,
        (layout, available): (&OutputLayout, usize),
        choice: Choice<'_>,
        driver: impl Driver<'a>,
    ) -> Result<(), CallError> {
        with_memory(|memory, work| {
            match choice {
                Choice::Found(..) => self.resolve_attributes(vertices, &mut work.attributes)?,
                _ => self.check(vertices, rows, (layout, available), &mut work.attributes)?,
            }
            if rows == 0 {
                return Ok(());
            }
            self.drive_chosen(choice, layout, driver, memory, work)
        })
    }

    /// Has the engine that is chosen driven, with attributes that are there.
    pub(super) fn drive_chosen(
        &self,
        choice: Choice<'_>,
        layout: &OutputLayout,
        driver: impl Driver<'a>,
        memory: &mut Memory,
        work: &mut Work<'a>,
    ) -> Result<(), CallError> {
        let made;
        let native = match choice {
            Choice::Found(native, fuel) => return self.drive(native, fuel, driver, memory, work),
            Choice::Interpreter => None,
            Choice::Jit => {
                made = self.native(&work.attributes, layout, &mut memory.layout)?;
                made.as_deref()
            }
        };
        self.with_fuel(|fuel| self.drive(native, fuel, driver, memory, work))
    }

    /// Checks everything that is bound, and a buffer of `available` bytes for the outputs of `rows` vertices. What each
    /// input element reads for a range of vertices goes to `attributes`.
    pub(super) fn check(
        &self,
        vertices: &Range<u32>,
        rows: u32,
        (layout, available): (&OutputLayout, usize),
        attributes: &mut Vec<VertexBufferView<'a>>,
    ) -> Result<(), CallError> {
        self.check_runs_vertices()?;
        self.check_outputs_and_resources(rows, (layout, available))?;
        self.resolve_attributes(vertices, attributes)
    }

    /// Checks everything but inputs.
    pub(super) fn check_outputs_and_resources(
        &self,
        rows: u32,
        (layout, available): (&OutputLayout, usize),
    ) -> Result<(), CallError> {
        layout.check(&self.shader.interface().outputs, rows as usize, available)?;
        self.check_uniforms()?;
        self.check_resources()?;
        self.check_samplers()
    }

    /// The native code for a call, whose layout goes to `wanted`. `None` if the interpreter is to run it.
    pub(super) fn native(
        &self,
        attributes: &[VertexBufferView<'a>],
        layout: &OutputLayout,
        wanted: &mut Layout,
    ) -> Result<Option<Made<'a>>, CallError> {
        let formats = attributes.iter().map(|attribute| attribute.format);
        let elements = self.shader.interface().outputs.iter().zip(layout.places());
        let stored = elements.map(|(element, place)| place.map_or(0, |_| element.components() as u8));
        // Mostly what it was compiled for is bound, and need not be put together.
        let own = &self.shader.layout;
        if own.inputs.iter().copied().eq(formats.clone()) && own.outputs.iter().copied().eq(stored.clone()) {
            return Ok(self.shader.native_for(own)?);
        }
        wanted.inputs.clear();
        wanted.inputs.extend(formats);
        wanted.outputs.clear();
        wanted.outputs.extend(stored);
        Ok(self.shader.native_for(wanted)?)
    }
}

/// The vertices of a range.
struct InARow<'c> {
    count: u32,
    first_vertex: u32,
    layout: &'c OutputLayout,
    bytes: &'c mut [u8],
    spaces: &'c BoundSpaces,
}

impl<'a> Driver<'a> for InARow<'_> {
    fn drive(self, waves: &mut impl WaveRunner, work: &mut Work<'a>) -> Result<(), CallError> {
        let InARow { count, first_vertex, layout, bytes, spaces } = self;
        let attributes = &work.attributes;
        let block = Block { attributes, count, first_vertex, layout, first_row: 0, spaces, quads: None };
        waves.run_block(&block, bytes)
    }
}
