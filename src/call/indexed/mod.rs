//! Indexed draws: every vertex that an index names is shaded once, and every index finds its vertex's row of the
//! outputs.

mod blocks;
mod distinct;
mod indices;

#[cfg(feature = "rayon")]
pub(super) use blocks::BlockRows;
pub(super) use blocks::{Draw, DrawInto};
pub use distinct::DistinctVertices;
pub use indices::Indices;

use super::bindings::Call;
use super::outputs::{OutputLayout, Outputs};
use super::vertices::Choice;
use crate::error::CallError;

/// The results of an indexed draw: one row of outputs for each distinct vertex, and the row of each index.
#[derive(Clone, Debug)]
pub struct IndexedOutputs {
    /// The rows.
    pub outputs: Outputs,
    /// The row of each vertex.
    pub vertices: DistinctVertices,
}

impl IndexedOutputs {
    /// The row of the vertex that an index names, if it was among those of the draw: the vertex's number in
    /// [`Outputs`].
    pub fn row(&self, index: u32) -> Option<usize> {
        Some(self.vertices.row(index)? as usize)
    }
}

impl Call<'_> {
    /// Shades the vertices of an indexed draw, each once, however often it is indexed. An index names vertex
    /// `index + base_vertex` of the streams.
    ///
    /// As in Direct3D, the number the shader sees (`SV_VertexID`) is the index, the base vertex not added; the call's
    /// [first vertex](Self::first_vertex_id) is added to it.
    ///
    /// ```
    /// use shaderjit::{VertexBufferView, CompileOptions, Config, Engine, Indices, Shader};
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// # let (vertices, constants) = (vec![0; 4 * 12], vec![0; 64]);
    /// let mut call = code.call();
    /// call.constant_buffer(0, &constants)?;
    /// call.input("POSITION", 0, VertexBufferView::f32x3(&vertices, 12))?;
    /// # call.unbound_as_zero(true);
    /// // Two triangles of four vertices.
    /// let indices = [0, 1, 2, 2, 1, 3];
    /// let draw = call.run_indexed(Indices::U16(&indices), 0)?;
    /// assert_eq!(draw.outputs.count(), 4);
    /// let positions = draw.outputs.output("SV_Position", 0).expect("a vertex shader has a position");
    /// for triangle in indices.as_chunks::<3>().0 {
    ///     let corners = triangle.map(|index| positions.vec4(draw.row(index.into()).expect("it is drawn")));
    ///     assert!(corners.iter().all(Option::is_some));
    /// }
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run) of a range that has all the vertices, and [`NoVertex`](CallError::NoVertex), before
    /// anything runs.
    pub fn run_indexed(&self, indices: Indices<'_>, base_vertex: i32) -> Result<IndexedOutputs, CallError> {
        self.indexed_outputs(indices, base_vertex, Choice::Jit)
    }

    /// As [`run_indexed`](Self::run_indexed) on the interpreter, in the same waves: same bits, same errors.
    ///
    /// # Errors
    /// As [`run_indexed`](Self::run_indexed).
    pub fn interpret_indexed(&self, indices: Indices<'_>, base_vertex: i32) -> Result<IndexedOutputs, CallError> {
        self.indexed_outputs(indices, base_vertex, Choice::Interpreter)
    }

    /// As [`run_indexed`](Self::run_indexed), into the caller's memory: the distinct vertices go to `vertices`, and
    /// their outputs to `bytes` as `layout` says, the first row at its offsets. There are at most as many rows as
    /// indices. A call on native code allocates nothing if an earlier one was as large.
    ///
    /// # Errors
    /// As [`run_indexed`](Self::run_indexed), and if the buffer is too short for the rows; `vertices` then says how
    /// many there are.
    pub fn run_indexed_into(
        &self,
        indices: Indices<'_>,
        base_vertex: i32,
        vertices: &mut DistinctVertices,
        layout: &OutputLayout,
        bytes: &mut [u8],
    ) -> Result<(), CallError> {
        vertices.set(indices, base_vertex)?;
        self.run_distinct_into(vertices, layout, bytes)
    }

    /// Shades vertices that an earlier draw found: the work of finding the distinct vertices of an index buffer is done
    /// once, however often it is drawn.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if the buffer is too short for the rows.
    pub fn run_distinct_into(
        &self,
        vertices: &DistinctVertices,
        layout: &OutputLayout,
        bytes: &mut [u8],
    ) -> Result<(), CallError> {
        self.execute_distinct(vertices, layout, bytes, Choice::Jit)
    }

    fn indexed_outputs(
        &self,
        indices: Indices<'_>,
        base_vertex: i32,
        choice: Choice<'_>,
    ) -> Result<IndexedOutputs, CallError> {
        let vertices = DistinctVertices::new(indices, base_vertex)?;
        let outputs =
            self.collect(vertices.count(), |layout, bytes| self.execute_distinct(&vertices, layout, bytes, choice))?;
        Ok(IndexedOutputs { outputs, vertices })
    }

    fn execute_distinct(
        &self,
        vertices: &DistinctVertices,
        layout: &OutputLayout,
        bytes: &mut [u8],
        choice: Choice<'_>,
    ) -> Result<(), CallError> {
        let (draw, available) = (self.draw(vertices, layout), bytes.len());
        let blocks = DrawInto { draw, blocks: draw.blocks(), first_row: 0, bytes };
        self.shade(&vertices.range(), vertices.count(), (layout, available), choice, blocks)
    }

    pub(super) fn draw<'d>(&'d self, vertices: &'d DistinctVertices, layout: &'d OutputLayout) -> Draw<'d> {
        let reads_numbers = self.shader.prepared().facts.reads_vertex_id;
        Draw { vertices, first_number: self.first_vertex, reads_numbers, layout, spaces: &self.spaces }
    }
}
