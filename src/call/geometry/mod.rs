//! Calls of PICA200 geometry shaders: invocations one after the other, or side by side where none depends on what
//! another leaves, the state between them, and the triangles they emit, in order.

mod planned;
mod state;
mod triangles;

pub use state::GeometryState;
pub use triangles::{EmittedTriangle, EmittedTriangles};

use super::bindings::{Call, count};
use super::engine::{Memory, with_memory};
use super::uniforms::BoundSpaces;
use super::vertex_buffer::VertexBufferView;
use super::wave::{Driver, Wave, WaveRunner};
use super::work::Work;
use crate::error::{CallError, JitError};
use crate::frontend::{GeometryInterface, Interface, UniformKind};
use crate::jit::Layout;
use crate::native::{Made, Native};
use crate::options::{Backend, default_format};
use crate::prepared::Prepared;
use shaderjit_ir::fuel::Fuel;
use std::ops::Range;

/// The bool uniform that says whether an invocation is not the first.
const RAN_BIT: u32 = 1 << 15;

/// What the invocations of a geometry shader read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum GeometryInput<'a> {
    /// Each invocation an element of the bound inputs, `v0` to `v15`.
    Elements(Range<u32>),
    /// Each invocation finds its vertices in float uniforms; what an earlier one found and a later one does not get
    /// stays there.
    Uniforms {
        /// The register that receives the first row.
        first: u8,
        /// All rows, one invocation's behind the other's.
        rows: &'a [[f32; 4]],
        /// How many rows each invocation gets. Those past `c95` are lost.
        counts: &'a [u32],
    },
}

impl From<Range<u32>> for GeometryInput<'_> {
    fn from(range: Range<u32>) -> Self {
        GeometryInput::Elements(range)
    }
}

impl<'a> Call<'a> {
    /// Runs the invocations of a geometry shader.
    ///
    /// Invocations run one after the other, each with the state the one before has left, but side by side where the
    /// program reads nothing of it before writing it, and as one batch where besides every path emits the same
    /// triangles. Uniforms are as bound; `b15` is also set once an invocation has ended.
    ///
    /// # Errors
    /// [`WrongStage`](CallError::WrongStage) if it is no geometry shader, [`MissingBinding`](CallError::MissingBinding)
    /// and [`ShortBuffer`](CallError::ShortBuffer) before anything runs; [`OutOfFuel`](CallError::OutOfFuel) if a loop
    /// runs too long and [`TooManyTriangles`](CallError::TooManyTriangles) if an invocation emits more than 1024, or
    /// all of them more than 2^18. The state is then what invocations before have left: all of them, or those in front
    /// of the ones that run beside it.
    pub fn run_geometry<'i>(
        &self,
        input: impl Into<GeometryInput<'i>>,
        state: &mut GeometryState,
    ) -> Result<EmittedTriangles, CallError> {
        let mut triangles = EmittedTriangles::default();
        self.geometry(input.into(), state, &mut triangles, Backend::Jit)?;
        Ok(triangles)
    }

    /// The same into triangles that are there, whose memory is used again. After an error they are those of the
    /// invocations that have left the state.
    ///
    /// # Errors
    /// As [`run_geometry`](Self::run_geometry).
    pub fn run_geometry_into<'i>(
        &self,
        input: impl Into<GeometryInput<'i>>,
        state: &mut GeometryState,
        triangles: &mut EmittedTriangles,
    ) -> Result<(), CallError> {
        self.geometry(input.into(), state, triangles, Backend::Jit)
    }

    /// The same on the IR's interpreter: the same triangles, the same state and the same errors.
    ///
    /// # Errors
    /// As [`run_geometry`](Self::run_geometry).
    pub fn interpret_geometry<'i>(
        &self,
        input: impl Into<GeometryInput<'i>>,
        state: &mut GeometryState,
    ) -> Result<EmittedTriangles, CallError> {
        let mut triangles = EmittedTriangles::default();
        self.geometry(input.into(), state, &mut triangles, Backend::Interpreter)?;
        Ok(triangles)
    }

    fn geometry(
        &self,
        input: GeometryInput<'_>,
        state: &mut GeometryState,
        triangles: &mut EmittedTriangles,
        backend: Backend,
    ) -> Result<(), CallError> {
        let geometry = self.check_runs_geometry()?;
        let prepared = &**self.shader.prepared();
        self.check_uniforms()?;
        triangles.clear(geometry);
        let job = Job { call: self, prepared, geometry, input };
        if backend != Backend::Interpreter {
            let before = state.clone();
            let result = job.execute(Backend::Jit, state, triangles);
            if !matches!(result, Err(CallError::Compile(JitError::Limit { .. }))) {
                return result;
            }
            // A guard failed, and the form without guards is too large.
            *state = before;
            triangles.clear(geometry);
        }
        job.execute(Backend::Interpreter, state, triangles)
    }
}

/// Inputs and outputs of a wave lie in rows.
fn layout(prepared: &Prepared) -> Layout {
    let Interface { inputs, outputs, .. } = &prepared.interface;
    Layout {
        inputs: inputs.iter().map(default_format).collect(),
        outputs: outputs.iter().map(|element| element.components() as u8).collect(),
    }
}

/// A call whose uniforms are checked.
struct Job<'c, 'a> {
    call: &'c Call<'a>,
    prepared: &'c Prepared,
    geometry: &'c GeometryInterface,
    input: GeometryInput<'c>,
}

/// What runs it.
struct Engine<'m, 'a> {
    backend: Backend,
    fuel: Fuel<'m>,
    memory: &'m mut Memory,
    work: &'m mut Work<'a>,
}

impl<'a> Engine<'_, 'a> {
    /// Has native code driven, or else the interpreter.
    fn drive(&mut self, job: &Job<'_, 'a>, native: Option<&Native>, driver: impl Driver<'a>) -> Result<(), CallError> {
        job.call.drive(native, self.fuel, driver, self.memory, self.work)
    }
}

/// Some of its invocations, wave by wave, with what they change.
struct Invocations<'d, 'c, 'a> {
    job: &'d Job<'c, 'a>,
    range: Range<u32>,
    state: &'d mut GeometryState,
    triangles: &'d mut EmittedTriangles,
}

impl<'a> Driver<'a> for Invocations<'_, '_, 'a> {
    fn drive(self, waves: &mut impl WaveRunner, work: &mut Work<'a>) -> Result<(), CallError> {
        self.job.run(waves, self.range, &mut work.attributes, self.state, self.triangles)
    }
}

impl<'a> Job<'_, 'a> {
    /// Runs all invocations: wave by wave, or those that a batch can as one.
    fn execute(
        &self,
        backend: Backend,
        state: &mut GeometryState,
        triangles: &mut EmittedTriangles,
    ) -> Result<(), CallError> {
        let count = self.count()?;
        let native = self.native(backend, &layout(self.prepared))?;
        with_memory(|memory, work| {
            self.call.with_fuel(|fuel| {
                let mut on = Engine { backend, fuel, memory, work };
                if self.is_batch(count) {
                    return self.run_batch(count, native.as_deref(), &mut on, state, triangles);
                }
                on.drive(self, native.as_deref(), Invocations { job: self, range: 0..count, state, triangles })
            })
        })
    }

    /// Native code for a layout, unless the interpreter is asked for.
    fn native(&self, backend: Backend, layout: &Layout) -> Result<Option<Made<'_>>, CallError> {
        match backend {
            Backend::Interpreter => Ok(None),
            _ => Ok(self.call.shader.native_for(layout)?),
        }
    }

    /// How many invocations there are.
    fn count(&self) -> Result<u32, CallError> {
        match &self.input {
            GeometryInput::Elements(range) => count(range),
            GeometryInput::Uniforms { counts, .. } => {
                u32::try_from(counts.len()).map_err(|_| CallError::Invalid("too many invocations".to_string()))
            }
        }
    }

    fn run(
        &self,
        waves: &mut impl WaveRunner,
        range: Range<u32>,
        attributes: &mut Vec<VertexBufferView<'a>>,
        state: &mut GeometryState,
        triangles: &mut EmittedTriangles,
    ) -> Result<(), CallError> {
        let Job { prepared, geometry, .. } = self;
        let mut spaces = self.call.spaces.clone();
        let reads = |element: &usize| prepared.facts.reads_input[*element];
        let state_rows: Vec<usize> =
            (0..geometry.state.len()).filter(|&row| reads(&geometry.state_input(row))).collect();
        let vertices: Vec<usize> = (0..GeometryInterface::VERTEX_INPUTS).filter(reads).collect();
        attributes.clear();
        let mut rows = match &self.input {
            GeometryInput::Elements(range) => {
                self.call.resolve_attributes(range, attributes)?;
                None
            }
            &GeometryInput::Uniforms { first, rows, counts } => {
                vertices.iter().for_each(|&element| set_lanes(waves, element, [0; 4]));
                Some((first, rows, counts.iter()))
            }
        };
        let side_by_side = if state_rows.is_empty() && rows.is_none() { waves.lanes() as u32 } else { 1 };

        let Range { start: mut next, end } = range;
        let mut changed = true;
        while next < end {
            let lanes = if self.is_first(state) { 1 } else { side_by_side.min(end - next) };
            if state.ran() && !self.is_ran_bound(&spaces) {
                self.set_ran(&mut spaces);
                changed = true;
            }
            for &row in &state_rows {
                let words = state.row(geometry.state[row]).expect(state::NAMED);
                waves.set_input(geometry.state_input(row), 0, words);
            }
            match &mut rows {
                None => {
                    for (lane, invocation) in (0..lanes as usize).zip(next as usize..) {
                        for &element in &vertices {
                            let attribute = &attributes[element];
                            let bytes = &attribute.bytes[invocation * attribute.stride..];
                            waves.set_input(element, lane, attribute.format.decode(bytes));
                        }
                    }
                }
                Some((first, rows, counts)) => {
                    let wanted = *counts.next().expect("there is one for each invocation") as usize;
                    let (here, behind) = rows.split_at_checked(wanted).ok_or_else(|| CallError::ShortBuffer {
                        what: "the rows of uniforms".to_string(),
                        needed: 16 * wanted,
                        available: 16 * rows.len(),
                    })?;
                    self.set_window(&mut spaces, *first, here);
                    changed = true;
                    *rows = behind;
                }
            }
            let first = self.call.first_vertex.wrapping_add(next);
            waves.run(&Wave { spaces: &spaces, spaces_changed: changed, first, count: lanes as usize })?;
            changed = false;
            // The rows of the last of these invocations count; those of the others only if it leaves some of them
            // alone.
            let mut ended = None;
            for lane in 0..lanes as usize {
                let collected = triangles.collect(geometry, waves, lane, next + lane as u32);
                if collected.is_err() || !prepared.facts.last_state_counts {
                    ended.take().into_iter().for_each(|lane| state.update(geometry, waves, lane));
                }
                collected?;
                state.end_invocation(waves, lane);
                ended = Some(lane);
            }
            ended.into_iter().for_each(|lane| state.update(geometry, waves, lane));
            next += lanes;
        }
        Ok(())
    }

    fn space(&self, kind: UniformKind) -> usize {
        let place = self.prepared.interface.uniforms.iter().position(|decl| decl.kind == kind);
        place.expect("every PICA program has the three uniform spaces")
    }

    /// Whether the next invocation finds `b15` as the first one does, and those behind it do not.
    fn is_first(&self, state: &GeometryState) -> bool {
        !state.ran() && !self.is_ran_bound(&self.call.spaces)
    }

    fn is_ran_bound(&self, spaces: &BoundSpaces) -> bool {
        spaces.row(self.space(UniformKind::PicaBool), 0)[0] & RAN_BIT != 0
    }

    /// The uniforms of an invocation that begins with a state.
    fn spaces_of(&self, state: &GeometryState) -> BoundSpaces {
        let mut spaces = self.call.spaces.clone();
        if state.ran() && !self.is_ran_bound(&spaces) {
            self.set_ran(&mut spaces);
        }
        spaces
    }

    fn set_ran(&self, spaces: &mut BoundSpaces) {
        let space = self.space(UniformKind::PicaBool);
        let [mask, y, z, w] = spaces.row(space, 0);
        spaces.set_rows(&self.prepared.interface, space, 0, &[[mask | RAN_BIT, y, z, w]]);
    }

    fn set_window(&self, spaces: &mut BoundSpaces, first: u8, rows: &[[f32; 4]]) {
        let rows: Vec<[u32; 4]> =
            rows.iter().take(96usize.saturating_sub(first.into())).map(|row| row.map(f32::to_bits)).collect();
        spaces.set_rows(&self.prepared.interface, self.space(UniformKind::PicaFloat), first.into(), &rows);
    }
}

/// The same for all lanes.
fn set_lanes(waves: &mut impl WaveRunner, element: usize, bits: [u32; 4]) {
    (0..waves.lanes()).for_each(|lane| waves.set_input(element, lane, bits));
}
