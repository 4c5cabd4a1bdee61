//! One call on many threads: the batch in pieces of whole waves, so that every vertex is in the wave in which
//! [`Call::run`] has it.
//!
//! A piece writes to a part of the caller's buffer that is its own. Where no such parts can be cut off, because
//! elements lie in planes of their own, it writes to memory of its thread, and what it has written is copied.

use super::bindings::{Call, count};
use super::outputs::{OutputLayout, Outputs, Place};
use super::vertices::Choice;
use crate::error::CallError;
use crate::frontend::Element;
use crate::jit::Layout;
use crate::native::Made;
use rayon::prelude::*;
use shaderjit_ir::fuel::Fuel;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Vertices of a piece, a multiple of any number of lanes: microseconds of work even for the smallest shader, and bytes
/// that stay in a core's cache.
const PIECE: u32 = 4096;

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
            let pieces = Pieces { call: self, native, fuel, vertices };
            match planes.as_deref() {
                Some([plane]) if count > PIECE => pieces.run_in_place(plane, bytes),
                Some(planes @ [_, _, ..]) if count > PIECE => pieces.run_and_copy(planes, bytes),
                _ => pieces.shade(pieces.vertices.clone(), layout, bytes),
            }
        })
    }
}

/// Elements of the same stride, all of which lie within one stride: rows, one vertex's behind the other's.
#[derive(Debug, PartialEq)]
struct Plane {
    /// The row of vertex 0.
    row: Range<usize>,
    stride: usize,
    elements: Vec<PlacedElement>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct PlacedElement {
    number: usize,
    /// From the row's first byte.
    offset: usize,
    bytes: usize,
}

impl Plane {
    /// The planes of a layout that was checked for `count` vertices, in ascending order. `None` if a byte may belong to
    /// two of them, or to two vertices.
    fn all(layout: &OutputLayout, elements: &[Element], count: usize) -> Option<Vec<Plane>> {
        let placed = elements.iter().zip(layout.places()).enumerate();
        let mut placed: Vec<(Place, usize, usize)> = placed
            .filter_map(|(number, (element, place))| Some(((*place)?, number, super::outputs::element_bytes(element))))
            .filter(|&(_, _, bytes)| bytes > 0)
            .collect();
        placed.sort_by_key(|&(Place { offset, stride }, number, _)| (stride, offset, number));
        let mut planes: Vec<Plane> = Vec::new();
        for (Place { offset, stride }, number, bytes) in placed {
            match planes.last_mut() {
                Some(plane) if plane.stride == stride && offset + bytes - plane.row.start <= stride => {
                    plane.row.end = plane.row.end.max(offset + bytes);
                    plane.elements.push(PlacedElement { number, offset: offset - plane.row.start, bytes });
                }
                _ => planes.push(Plane {
                    row: offset..offset + bytes,
                    stride,
                    elements: vec![PlacedElement { number, offset: 0, bytes }],
                }),
            }
        }
        planes.sort_by_key(|plane| plane.row.start);
        let apart = planes.windows(2).all(|pair| pair[0].end(count) <= pair[1].row.start);
        apart.then_some(planes)
    }

    /// The end of the last of so many vertices.
    fn end(&self, count: usize) -> usize {
        self.row.end + count.saturating_sub(1) * self.stride
    }

    /// Bytes of so many vertices.
    fn len(&self, count: usize) -> usize {
        self.end(count) - self.row.start
    }

    /// The layout with the rows of this plane from byte `start` on.
    fn place_at(&self, start: usize, layout: OutputLayout) -> OutputLayout {
        self.elements.iter().fold(layout, |layout, &PlacedElement { number, offset, .. }| {
            layout.with(number, Place { offset: start + offset, stride: self.stride })
        })
    }

    /// Copies the elements of so many vertices, and nothing between them.
    fn copy(&self, from: &[u8], to: &mut [u8], count: usize) {
        for &PlacedElement { offset, bytes, .. } in &self.elements {
            if bytes == self.stride {
                to[..count * bytes].copy_from_slice(&from[..count * bytes]);
                continue;
            }
            for start in (0..count).map(|vertex| vertex * self.stride + offset) {
                to[start..start + bytes].copy_from_slice(&from[start..start + bytes]);
            }
        }
    }
}

/// A call that is checked.
struct Pieces<'c, 'a> {
    call: &'c Call<'a>,
    native: Option<Made<'a>>,
    fuel: Fuel<'c>,
    vertices: Range<u32>,
}

impl Pieces<'_, '_> {
    /// Every piece in a part of the buffer.
    fn run_in_place(&self, plane: &Plane, bytes: &mut [u8]) -> Result<(), CallError> {
        let layout = plane.place_at(0, self.empty_layout());
        // More than one piece is in the buffer, so this is less than its length.
        let parts = bytes[plane.row.start..].par_chunks_mut(PIECE as usize * plane.stride);
        let first_failed = AtomicU32::new(u32::MAX);
        let failures = self.numbers().zip(parts);
        let failures = failures
            .filter_map(|(number, part)| self.attempt(number, &first_failed, |piece| self.shade(piece, &layout, part)));
        first(failures)
    }

    /// Every piece in memory of its thread, and from there to where it belongs.
    fn run_and_copy(&self, planes: &[Plane], bytes: &mut [u8]) -> Result<(), CallError> {
        let target = Mutex::new(bytes);
        let first_failed = AtomicU32::new(u32::MAX);
        let failures = self.numbers().map_init(Vec::new, |memory: &mut Vec<u8>, number| {
            self.attempt(number, &first_failed, |piece| {
                let count = piece.len();
                let (mut layout, mut starts, mut len) = (self.empty_layout(), Vec::new(), 0);
                for plane in planes {
                    layout = plane.place_at(len, layout);
                    starts.push(len);
                    len += plane.len(count);
                }
                memory.resize(len.max(memory.len()), 0);
                self.shade(piece, &layout, memory)?;
                let mut target = target.lock().expect("nobody panics with the lock held");
                for (plane, start) in planes.iter().zip(starts) {
                    let to = plane.row.start + number as usize * PIECE as usize * plane.stride;
                    plane.copy(&memory[start..], &mut target[to..], count);
                }
                Ok(())
            })
        });
        first(failures.flatten_iter())
    }

    fn empty_layout(&self) -> OutputLayout {
        OutputLayout::none(self.call.shader)
    }

    fn numbers(&self) -> rayon::range::Iter<u32> {
        (0..self.vertices.len().div_ceil(PIECE as usize) as u32).into_par_iter()
    }

    /// Runs piece `number`, unless the call has ended before it; its error.
    fn attempt(
        &self,
        number: u32,
        first_failed: &AtomicU32,
        run: impl FnOnce(Range<u32>) -> Result<(), CallError>,
    ) -> Option<(u32, CallError)> {
        if number > first_failed.load(Ordering::Relaxed) {
            return None;
        }
        let Range { start, end } = self.vertices;
        let start = start + number * PIECE;
        let error = run(start..end.min(start.saturating_add(PIECE))).err()?;
        first_failed.fetch_min(number, Ordering::Relaxed);
        Some((number, error))
    }

    fn shade(&self, vertices: Range<u32>, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError> {
        self.call.execute(vertices, layout, bytes, Choice::Found(self.native.as_deref(), self.fuel))
    }
}

/// What comes first in the order of the vertices.
fn first(failures: impl ParallelIterator<Item = (u32, CallError)>) -> Result<(), CallError> {
    failures.min_by_key(|&(number, _)| number).map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileOptions, Config, Engine, Shader};

    #[test]
    fn layouts_are_cut_where_nothing_is_shared() {
        let bytes = include_bytes!("../../tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc");
        let engine = Engine::new(Config::default()).unwrap();
        let code = engine.compile(&Shader::parse(bytes).unwrap(), &CompileOptions::default()).unwrap();
        let elements = &code.interface().outputs;
        let sizes: Vec<usize> = elements.iter().map(super::super::outputs::element_bytes).collect();
        assert_eq!(sizes, [16, 12, 8, 4, 16]);
        let planes = |places: &[(usize, usize, usize)]| {
            let layout = places.iter().fold(OutputLayout::none(&code), |layout, &(element, offset, stride)| {
                layout.with(element, Place { offset, stride })
            });
            let planes = Plane::all(&layout, elements, 10)?;
            Some(planes.into_iter().map(|plane| (plane.row, plane.elements.len())).collect::<Vec<_>>())
        };
        assert_eq!(planes(&[]), Some(vec![]));
        assert_eq!(planes(&[(0, 100, 28), (1, 116, 28)]), Some(vec![(100..128, 2)]));
        // The second begins in the first one's rows and would end in the next vertex's.
        assert_eq!(planes(&[(0, 100, 28), (1, 117, 28)]), None);
        assert_eq!(planes(&[(4, 160, 16), (0, 0, 16)]), Some(vec![(0..16, 1), (160..176, 1)]));
        assert_eq!(planes(&[(4, 159, 16), (0, 0, 16)]), None);
        // Two planes of rows, the first with a gap after its last row.
        assert_eq!(planes(&[(2, 0, 64), (1, 50, 64), (4, 640, 16)]), Some(vec![(0..62, 2), (640..656, 1)]));
    }

    #[test]
    fn the_first_failure_counts() {
        let failures = [(7, 1), (3, 2), (5, 3)].map(|(number, vertex)| (number, CallError::GuardFailed { vertex }));
        assert_eq!(first(failures.into_par_iter()), Err(CallError::GuardFailed { vertex: 2 }));
        assert_eq!(first(Vec::new().into_par_iter()), Ok(()));
    }
}
