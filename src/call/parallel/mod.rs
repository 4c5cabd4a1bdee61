//! One call on many threads: in pieces of whole waves, so that every vertex is in the wave in which one thread has it.
//! Results and errors are those of [`Call::run`] and [`Call::run_indexed`](Call::run_indexed).

mod divided;
mod draws;
mod pieces;
mod planes;
mod threads;

use super::bindings::{Call, count};
use super::outputs::{OutputLayout, Outputs};
use super::vertices::Choice;
use crate::error::CallError;
use divided::Divided;
use pieces::Pieces;
use std::ops::Range;
pub(super) use threads::on_threads;

impl Call<'_> {
    /// Shades a range of the vertices on this thread and those of the current [rayon] pool: the same results as
    /// [`run`](Self::run). Needs the feature `rayon`.
    ///
    /// Small ranges are not divided.
    ///
    /// # Errors
    /// As [`run`](Self::run); the one that comes first in the order of the vertices.
    ///
    /// ```
    /// use shaderjit::{CompileOptions, Config, Engine, Shader};
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// let mut call = code.call();
    /// call.unbound_as_zero(true);
    /// assert_eq!(call.run_parallel(0..10_000)?.bytes(), call.run(0..10_000)?.bytes());
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    pub fn run_parallel(&self, vertices: Range<u32>) -> Result<Outputs, CallError> {
        self.collect(count(&vertices)?, |layout, bytes| self.run_parallel_into(vertices, layout, bytes))
    }

    /// Shades on many threads, into the caller's buffer: [`run_into`](Self::run_into) in parallel.
    ///
    /// One vertex's elements behind the other's are written in place. Elements in planes of their own are copied once
    /// more, and if some lie over others the vertices are shaded on one thread.
    ///
    /// # Errors
    /// As [`run_parallel`](Self::run_parallel), and if the buffer is too short for the layout.
    pub fn run_parallel_into(
        &self,
        vertices: Range<u32>,
        layout: &OutputLayout,
        bytes: &mut [u8],
    ) -> Result<(), CallError> {
        divided::shade(&InARow { call: self, count: count(&vertices)?, vertices }, layout, bytes)
    }
}

/// The vertices of a range.
struct InARow<'c, 'a> {
    call: &'c Call<'a>,
    vertices: Range<u32>,
    count: u32,
}

impl<'a> Divided<'a> for InARow<'_, 'a> {
    type Piece = Range<u32>;

    fn call(&self) -> &Call<'a> {
        self.call
    }

    fn vertices(&self) -> Range<u32> {
        self.vertices.clone()
    }

    fn count(&self) -> u32 {
        self.count
    }

    fn pieces(&self, threads: usize) -> impl Iterator<Item = Range<u32>> + Send {
        Pieces::new(self.count, threads)
    }

    fn rows(piece: &Range<u32>) -> Range<usize> {
        piece.start as usize..piece.end as usize
    }

    fn shade(
        &self,
        piece: Range<u32>,
        layout: &OutputLayout,
        bytes: &mut [u8],
        choice: Choice<'_>,
    ) -> Result<(), CallError> {
        let first = self.vertices.start;
        self.call.execute(first + piece.start..first + piece.end, layout, bytes, choice)
    }

    fn shade_all(&self, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError> {
        self.call.run_into(self.vertices.clone(), layout, bytes)
    }
}
