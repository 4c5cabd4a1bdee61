//! One call on many threads: the batch in pieces of whole waves, so that every vertex is in the wave in which
//! [`Call::run`] has it.
//!
//! Threads take the pieces in order. A piece writes to a part of the caller's buffer that is its own. Where no such
//! parts can be cut off, because elements lie in planes of their own, it writes to memory of its thread, and what it has
//! written is copied.

mod pieces;
mod planes;

use super::bindings::{Call, count};
use super::outputs::{OutputLayout, Outputs};
use super::vertices::Choice;
use crate::error::CallError;
use crate::jit::Layout;
use crate::native::Made;
use pieces::Pieces;
use planes::Plane;
use rayon::prelude::*;
use shaderjit_ir::fuel::Fuel;
use std::ops::Range;
use std::sync::Mutex;

/// The most vertices that are not divided: microseconds of work even for the smallest shader, and to wake a thread takes
/// as much.
const UNDIVIDED: u32 = 4096;

impl Call<'_> {
    /// Shades a range of the vertices on the threads of the current [rayon] pool: the same results as
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

    /// Shades on the threads of the current pool, into the caller's buffer: [`run_into`](Self::run_into) in parallel.
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
        let (count, mut attributes) = (count(&vertices)?, Vec::new());
        self.check(&vertices, count, (layout, bytes.len()), &mut attributes)?;
        if count == 0 {
            return Ok(());
        }
        // Once for all pieces: when the engine is gone, it may mean to compile.
        let native = self.native(&attributes, layout, &mut Layout::default())?;
        let planes = Plane::all(layout, &self.shader.interface().outputs, count as usize);
        self.with_fuel(|fuel| {
            let checked = Checked { call: self, native, fuel, vertices };
            match planes.as_deref() {
                Some([plane]) if count > UNDIVIDED => checked.run_in_place(plane, bytes),
                Some(planes @ [_, _, ..]) if count > UNDIVIDED => checked.run_and_copy(planes, bytes),
                _ => checked.shade(0..count, layout, bytes),
            }
        })
    }
}

/// A call that is checked.
struct Checked<'c, 'a> {
    call: &'c Call<'a>,
    native: Option<Made<'a>>,
    fuel: Fuel<'c>,
    vertices: Range<u32>,
}

impl Checked<'_, '_> {
    /// Every piece in a part of the buffer.
    fn run_in_place(&self, plane: &Plane, bytes: &mut [u8]) -> Result<(), CallError> {
        let layout = plane.place_at(0, OutputLayout::none(self.call.shader));
        // More than one piece is in the buffer, so this is less than its length.
        let mut rest = &mut bytes[plane.row.start..];
        let pieces = self.pieces().map(|rows| {
            // Of the last row there may be less than the stride.
            let part = rest.len().min(rows.len() * plane.stride);
            let part = rest.split_off_mut(..part).expect("it is not longer");
            (rows, part)
        });
        on_threads(pieces, |(rows, part), _| self.shade(rows, &layout, part))
    }

    /// Every piece in memory of its thread, and from there to where it belongs.
    fn run_and_copy(&self, planes: &[Plane], bytes: &mut [u8]) -> Result<(), CallError> {
        let target = Mutex::new(bytes);
        on_threads(self.pieces(), |rows, memory| {
            let (first, count) = (rows.start as usize, rows.len());
            let (mut layout, mut starts, mut len) = (OutputLayout::none(self.call.shader), Vec::new(), 0);
            for plane in planes {
                layout = plane.place_at(len, layout);
                starts.push(len);
                len += plane.len(count);
            }
            memory.resize(len.max(memory.len()), 0);
            self.shade(rows, &layout, memory)?;
            let mut target = target.lock().expect("nobody panics with the lock held");
            for (plane, start) in planes.iter().zip(starts) {
                plane.copy(&memory[start..], &mut target[plane.row.start + first * plane.stride..], count);
            }
            Ok(())
        })
    }

    fn pieces(&self) -> Pieces {
        Pieces::new(self.vertices.len() as u32, rayon::current_num_threads())
    }

    /// Shades the vertices of some rows, the first of which is at the layout's offsets.
    fn shade(&self, rows: Range<u32>, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError> {
        let first = self.vertices.start;
        let vertices = first + rows.start..first + rows.end;
        self.call.execute(vertices, layout, bytes, Choice::Found(self.native.as_deref(), self.fuel))
    }
}

/// Runs something for all pieces, on all threads of the pool that have nothing else to do. Each thread takes the first
/// piece that nobody has taken, and has memory of its own. The error is that of the first piece that fails: when a piece
/// fails, those in front of it have all been taken and come to their ends, and of those behind it no more are.
fn on_threads<P>(
    pieces: impl Iterator<Item = P> + Send,
    run: impl Fn(P, &mut Vec<u8>) -> Result<(), CallError> + Sync,
) -> Result<(), CallError> {
    let queue = Mutex::new(Some(pieces.enumerate()));
    let lock = || queue.lock().expect("nobody panics with the lock held");
    let threads = (0..rayon::current_num_threads()).into_par_iter().with_max_len(1);
    let failures = threads.filter_map(|_| {
        let mut memory = Vec::new();
        loop {
            let (number, piece) = lock().as_mut()?.next()?;
            if let Err(error) = run(piece, &mut memory) {
                *lock() = None;
                return Some((number, error));
            }
        }
    });
    failures.min_by_key(|&(number, _)| number).map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_counts() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let run = |count, fails: fn(u32) -> bool| {
            let run =
                |vertex, _: &mut Vec<u8>| if fails(vertex) { Err(CallError::GuardFailed { vertex }) } else { Ok(()) };
            pool.install(|| on_threads(0..count, run))
        };
        for _ in 0..100 {
            assert_eq!(run(100, |vertex| vertex > 10), Err(CallError::GuardFailed { vertex: 11 }));
        }
        assert_eq!(run(100, |_| false), Ok(()));
        assert_eq!(run(0, |_| true), Ok(()));
    }
}
