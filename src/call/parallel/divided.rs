//! Pieces of a call on the caller's thread and those of a pool, which take them in order.
//!
//! A piece writes to a part of the caller's buffer that is its own. Where no such parts can be cut off, because
//! elements lie in planes of their own, it writes to memory of its thread, and what it has written is copied.

use super::planes::Plane;
use super::threads::{lock, on_threads};
use crate::call::bindings::Call;
use crate::call::outputs::OutputLayout;
use crate::call::vertices::Choice;
use crate::error::CallError;
use crate::jit::Layout;
use std::ops::Range;
use std::sync::Mutex;

/// The most vertices that are not divided: microseconds of work even for the smallest shader, and to wake a thread
/// takes as much.
const UNDIVIDED: u32 = 4096;

/// What is shaded piece by piece.
pub(super) trait Divided<'a>: Sync {
    type Piece: Send;

    /// What is bound.
    fn call(&self) -> &Call<'a>;

    /// The vertices of the streams from the first to the last.
    fn vertices(&self) -> Range<u32>;

    /// Rows of outputs.
    fn count(&self) -> u32;

    /// All pieces, in order.
    fn pieces(&self, threads: usize) -> impl Iterator<Item = Self::Piece> + Send;

    /// The rows that a piece writes.
    fn rows(piece: &Self::Piece) -> Range<usize>;

    /// Shades a piece, the first row of which is at the layout's offsets.
    fn shade(
        &self,
        piece: Self::Piece,
        layout: &OutputLayout,
        bytes: &mut [u8],
        choice: Choice<'_>,
    ) -> Result<(), CallError>;

    /// Shades everything on this thread, whatever has been checked.
    fn shade_all(&self, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError>;
}

/// Shades everything, on many threads if there is enough of it.
pub(super) fn shade<'a>(divided: &impl Divided<'a>, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError> {
    let (call, count) = (divided.call(), divided.count());
    if count <= UNDIVIDED {
        return divided.shade_all(layout, bytes);
    }
    let mut attributes = Vec::new();
    call.check(&divided.vertices(), count, (layout, bytes.len()), &mut attributes)?;
    let planes = match Plane::all(layout, &call.shader.interface().outputs, count as usize) {
        Some(planes) if !planes.is_empty() => planes,
        _ => return divided.shade_all(layout, bytes),
    };
    // Once for all pieces: when the engine is gone, it may mean to compile.
    let native = call.native(&attributes, layout, &mut Layout::default())?;
    call.with_fuel(|fuel| {
        let choice = Choice::Found(native.as_deref(), fuel);
        match &planes[..] {
            [plane] => in_place(divided, plane, bytes, choice),
            planes => with_copies(divided, planes, bytes, choice),
        }
    })
}

/// Every piece in a part of the buffer.
fn in_place<'a, D: Divided<'a>>(
    divided: &D,
    plane: &Plane,
    bytes: &mut [u8],
    choice: Choice<'_>,
) -> Result<(), CallError> {
    let layout = plane.place_at(0, OutputLayout::none(divided.call().shader));
    // There are rows in the buffer, so this is less than its length.
    let mut rest = &mut bytes[plane.row.start..];
    let threads = rayon::current_num_threads();
    let pieces = divided.pieces(threads).map(|piece| {
        // Of the last row there may be less than the stride.
        let part = rest.len().min(D::rows(&piece).len() * plane.stride);
        let part = rest.split_off_mut(..part).expect("it is not longer");
        (piece, part)
    });
    on_threads(threads, pieces, |(piece, part), _| divided.shade(piece, &layout, part, choice))
}

/// Every piece in memory of its thread, and from there to where it belongs.
fn with_copies<'a, D: Divided<'a>>(
    divided: &D,
    planes: &[Plane],
    bytes: &mut [u8],
    choice: Choice<'_>,
) -> Result<(), CallError> {
    let target = Mutex::new(bytes);
    let threads = rayon::current_num_threads();
    on_threads(threads, divided.pieces(threads), |piece, memory| {
        let rows = D::rows(&piece);
        let (mut layout, mut starts, mut len) = (OutputLayout::none(divided.call().shader), Vec::new(), 0);
        for plane in planes {
            layout = plane.place_at(len, layout);
            starts.push(len);
            len += plane.len(rows.len());
        }
        memory.resize(len.max(memory.len()), 0);
        divided.shade(piece, &layout, memory, choice)?;
        let mut target = lock(&target);
        for (plane, start) in planes.iter().zip(starts) {
            plane.copy(&memory[start..], &mut target[plane.row.start + rows.start * plane.stride..], rows.len());
        }
        Ok(())
    })
}
