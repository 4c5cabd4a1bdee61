//! Invocations that all emit the same triangles in number, and depend on none before them: one batch, which stores
//! their rows where they belong. Only the last leaves state.

use super::triangles::EmittedTriangles;
use super::{Engine, GeometryInput, GeometryState, Invocations, Job};
use crate::call::bindings::zero;
use crate::call::outputs::{OutputLayout, Place};
use crate::call::uniforms::BoundSpaces;
use crate::call::wave::{Block, Driver, Wave, WaveRunner};
use crate::call::work::Work;
use crate::error::CallError;
use crate::frontend::{GeometryInterface, TriangleStore};
use crate::jit::Layout;
use crate::native::Native;
use std::ops::Range;

/// Bytes of a row.
const ROW: usize = 16;

impl<'a> Job<'_, 'a> {
    /// Whether invocations run as a batch: one wave is not worth code of its own.
    pub(super) fn is_batch(&self, count: u32) -> bool {
        let facts = &self.prepared.facts;
        count > self.call.shader.lanes().count()
            && matches!(self.input, GeometryInput::Elements(_))
            && !self.planned().is_empty()
            && facts.last_state_counts
            && !(0..self.geometry.state.len()).any(|row| facts.reads_input[self.geometry.state_input(row)])
    }

    /// For each triangle that every invocation emits whether it is inverted.
    fn planned(&self) -> &[bool] {
        match &self.geometry.triangles {
            TriangleStore::Outputs(inverted) => inverted,
            TriangleStore::Array(_) => &[],
        }
    }

    /// Runs all invocations: the first, which may find another `b15`, and the state of the last by waves on `native`.
    pub(super) fn run_batch(
        &self,
        count: u32,
        native: Option<&Native>,
        on: &mut Engine<'_, 'a>,
        state: &mut GeometryState,
        triangles: &mut EmittedTriangles,
    ) -> Result<(), CallError> {
        let mut first = 0u32;
        if self.is_first(state) {
            on.drive(self, native, Invocations { job: self, range: 0..1, state, triangles })?;
            first = 1;
        }
        let room = u32::try_from(triangles.room(self.planned().len())).unwrap_or(u32::MAX);
        let batch = first..first.saturating_add(room).min(count);
        if !batch.is_empty() {
            let before = triangles.len();
            if let Err(error) = self.run_rows(batch.clone(), on, state, triangles) {
                triangles.truncate(before);
                return Err(error);
            }
            on.drive(self, native, Last { job: self, batch: batch.clone(), state })
                .inspect_err(|_| triangles.truncate(before))?;
        }
        if batch.end < count { Err(EmittedTriangles::full(batch.end)) } else { Ok(()) }
    }

    /// The triangles of some invocations.
    fn run_rows(
        &self,
        batch: Range<u32>,
        on: &mut Engine<'_, 'a>,
        state: &GeometryState,
        triangles: &mut EmittedTriangles,
    ) -> Result<(), CallError> {
        let GeometryInput::Elements(all) = &self.input else { unreachable!("the others do not run as batches") };
        let attributes = &mut on.work.attributes;
        attributes.clear();
        self.call.resolve_attributes(&(all.start + batch.start..all.start + batch.end), attributes)?;
        for element in &self.prepared.interface.inputs[attributes.len()..] {
            attributes.push(zero(element));
        }
        let (first, rows) = (self.geometry.first_triangle_output(), self.planned().len() * self.geometry.rows());
        let place = |number| Place { offset: ROW * number, stride: ROW * rows };
        let none = OutputLayout::none(self.call.shader);
        let layout = (0..rows).fold(none, |layout, number| layout.with(first + number, place(number)));
        let code = self.native(
            on.backend,
            &Layout {
                inputs: attributes.iter().map(|attribute| attribute.format).collect(),
                outputs: layout.places().iter().map(|place| if place.is_some() { 4 } else { 0 }).collect(),
            },
        )?;
        let bytes = triangles.append(batch.clone(), self.planned());
        let driver =
            Rows { batch, layout: &layout, spaces: &self.spaces_of(state), first: self.call.first_vertex, bytes };
        on.drive(self, code.as_deref(), driver)
    }
}

/// A batch's triangles.
struct Rows<'b> {
    batch: Range<u32>,
    layout: &'b OutputLayout,
    spaces: &'b BoundSpaces,
    first: u32,
    bytes: &'b mut [u8],
}

impl<'a> Driver<'a> for Rows<'_> {
    fn drive(self, waves: &mut impl WaveRunner, work: &mut Work<'a>) -> Result<(), CallError> {
        let Rows { batch, layout, spaces, first, bytes } = self;
        let block = Block {
            attributes: &work.attributes,
            count: batch.len() as u32,
            first_vertex: first.wrapping_add(batch.start),
            layout,
            first_row: 0,
            spaces,
            quads: None,
        };
        waves.run_block(&block, bytes)
    }
}

/// The state that the last invocation of a batch leaves.
struct Last<'d, 'c, 'a> {
    job: &'d Job<'c, 'a>,
    batch: Range<u32>,
    state: &'d mut GeometryState,
}

impl<'a> Driver<'a> for Last<'_, '_, 'a> {
    fn drive(self, waves: &mut impl WaveRunner, work: &mut Work<'a>) -> Result<(), CallError> {
        let Last { job, batch, state } = self;
        let last = batch.end - 1;
        let attributes = work.attributes.iter().take(GeometryInterface::VERTEX_INPUTS).enumerate();
        for (element, attribute) in attributes.filter(|(element, _)| job.prepared.facts.reads_input[*element]) {
            let bytes = &attribute.bytes[(batch.len() - 1) * attribute.stride..];
            waves.set_input(element, 0, attribute.format.decode(bytes));
        }
        let (spaces, first) = (job.spaces_of(state), job.call.first_vertex.wrapping_add(last));
        waves.run(&Wave { spaces: &spaces, spaces_changed: true, first, count: 1 })?;
        batch.for_each(|_| state.end_invocation(waves, 0));
        state.update(job.geometry, waves, 0);
        Ok(())
    }
}
