//! Running compiled code: the safe wrapper around the native call.
//!
//! Every buffer is checked before the call. Native code shades whole waves and reads some rows one, two or four
//! bytes past their end; vertices for which that does not fit the caller's buffers go through padded copies.

mod bind;
mod copy;
mod fills;
mod group;
mod lines;
mod rows;
mod spans;
mod tail;
mod wave;

use bind::Elements;
pub(in crate::jit) use fills::SlotFill;
pub use group::GroupRunner;
use lines::Lines;
pub(in crate::jit) use rows::Row;
pub use rows::UniformRows;
use spans::{Span, Spans};
pub use wave::WaveRunner;

use super::Code;
use super::abi::{self, BatchArgs, InputArgs, OutputArgs, ResourceArgs, SpaceArgs};
use super::limits;
use super::refuel::Tank;
use super::series::{self, Fresh};
use super::texture::TextureArgs;
use crate::error::CallError;
use shaderjit_ir::fuel::{Fuel, Stop};
use shaderjit_ir::texture::Textures;
use std::ops::Range;
use std::panic::resume_unwind;
use std::ptr;

/// Where the vertices of one input element lie.
#[derive(Clone, Copy, Debug)]
pub struct InputStream<'a> {
    /// The buffer. Streams may share it and overlap.
    pub bytes: &'a [u8],
    /// Vertex `i` starts at byte `i * stride`; 0 gives all vertices the same.
    pub stride: usize,
}

/// Where the vertices of one output element go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputElement {
    /// Byte of the buffer at which vertex 0 starts.
    pub offset: usize,
    /// Bytes from one vertex to the next.
    pub stride: usize,
}

/// Where outputs go. Exactly the bytes that the layout stores are written; where elements overlap, either may win.
#[derive(Debug)]
pub struct OutputBuffer<'a> {
    /// The buffer, shared by all elements.
    pub bytes: &'a mut [u8],
    /// One entry an element of the layout. Those of elements that are not stored are not looked at.
    pub elements: &'a [OutputElement],
}

/// One batch of vertices of one instance.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// One entry an element of the layout. Those that [`Code::reads_input`] denies are not looked at.
    pub inputs: &'a [InputStream<'a>],
    /// One entry a uniform space of the function. Those of tables are not looked at.
    pub uniforms: &'a [UniformRows],
    /// One entry a resource of the function: its bytes; none for textures.
    pub resources: &'a [&'a [u8]],
    /// What texture accesses give.
    pub textures: &'a dyn Textures,
    /// Number of vertices.
    pub count: u32,
    /// Vertex number of the first.
    pub first_vertex: u32,
    /// Instance number.
    pub instance: u32,
    /// What edges that go backwards are paid with.
    pub fuel: Fuel<'a>,
}

/// How far a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// Every vertex is shaded.
    Done,
    /// The vertices before this one are shaded. In the wave that begins with it a
    /// [guard](shaderjit_ir::Op::GuardOrdered) failed.
    GuardFailed {
        /// Number in the batch.
        vertex: u32,
    },
}

/// How native code ended.
#[must_use]
enum Ended {
    Done,
    /// In the wave that begins with this vertex a guard failed.
    GuardFailed(u32),
    /// The wave that begins with this vertex got no more fuel; or waves that pay together, each of which may do with
    /// what it gets.
    OutOfFuel(u32),
}

impl Ended {
    /// How far that is, where no waves pay together.
    fn progress(self, fuel: &Fuel<'_>) -> Result<Progress, CallError> {
        match self {
            Ended::Done => Ok(Progress::Done),
            Ended::GuardFailed(vertex) => Ok(Progress::GuardFailed { vertex }),
            Ended::OutOfFuel(_) => Err(CallError::stopped(Stop::Wave, fuel)),
        }
    }
}

/// Memory that calls reuse, so that none after the first allocates. One call uses it at a time; any code can.
#[derive(Debug, Default)]
pub struct Scratch {
    arrays: Lines,
    frame: Lines,
    /// For each input, one row a lane.
    tail_inputs: Vec<Row>,
    /// For each output, one row a lane.
    tail_outputs: Vec<Row>,
    tables: Tables,
}

/// The tables of [`BatchArgs`].
#[derive(Debug, Default)]
struct Tables {
    inputs: Vec<InputArgs>,
    outputs: Vec<OutputArgs>,
    spaces: Vec<SpaceArgs>,
    resources: Vec<ResourceArgs>,
}

impl Tables {
    /// Points every stream to a later element.
    fn step(&mut self, elements: usize) {
        for InputArgs { data, stride } in &mut self.inputs {
            *data = data.wrapping_add(elements.wrapping_mul(*stride));
        }
        for OutputArgs { data, stride } in &mut self.outputs {
            *data = data.wrapping_add(elements.wrapping_mul(*stride));
        }
    }
}

// SAFETY: the pointers are written anew by each call and followed only during it.
unsafe impl Send for Tables {}
// SAFETY: nothing reads the pointers through a shared reference.
unsafe impl Sync for Tables {}

impl Code {
    /// Shades a batch. A panic of its textures is passed on when the native code has ended.
    ///
    /// # Errors
    /// [`CallError::Invalid`] or [`CallError::ShortBuffer`] before anything is written, if a binding is missing or too
    /// short. [`CallError::OutOfFuel`] if a loop runs too long; then some of the outputs are written. So they are after
    /// [`CallError::GuardFailed`], which only functions with guards end with.
    pub fn run(
        &self,
        batch: &Batch<'_>,
        output: &mut OutputBuffer<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), CallError> {
        match self.run_range(batch, 0..batch.count, output, scratch)? {
            Progress::Done => Ok(()),
            Progress::GuardFailed { vertex } => Err(CallError::GuardFailed { vertex }),
        }
    }

    /// Shades some of the vertices of a batch, up to the first wave in which a guard fails. Waves count from the start
    /// of the range.
    ///
    /// # Errors
    /// As [`run`](Self::run), but for the guards; [`CallError::Invalid`] also if the range is not one of the batch.
    pub fn run_range(
        &self,
        batch: &Batch<'_>,
        vertices: Range<u32>,
        output: &mut OutputBuffer<'_>,
        scratch: &mut Scratch,
    ) -> Result<Progress, CallError> {
        self.check(batch, output)?;
        if vertices.end > batch.count {
            return Err(CallError::Invalid(format!("vertices {vertices:?} of {}", batch.count)));
        }
        let (first, count, round) = (vertices.start as usize, vertices.end as usize, self.info.vertices_of_round);
        if first >= count {
            return Ok(Progress::Done);
        }
        self.reserve(scratch);
        self.fill_slots(batch.uniforms, scratch);
        self.bind_uniforms(batch.uniforms, &mut scratch.tables);
        self.bind_memory(batch, &mut scratch.tables);

        // A round is a power of two.
        let whole = self.readable(batch, count).saturating_sub(first) & !(round - 1);
        if whole > 0 {
            self.bind_buffers(batch, output, first, Elements::Follow, scratch);
        }
        let mut spans = Spans::new(first..first + whole, round, self.info.vertices_at_once, self.info.vertices_of_fuel);
        while let Some(span) = spans.next() {
            let start = span.vertices.start;
            // SAFETY: `readable` says that native code may read and write vertices `first..first + whole` of the
            // caller's buffers, and the streams point to vertex `start`.
            let ended = unsafe { self.call(batch, &batch.fuel, scratch, &span, count - 1 - start, &Fresh::ONE)? };
            let (end, progress) = match ended {
                // Then it is known what those waves took that come before one that fails.
                Ended::OutOfFuel(vertex) | Ended::GuardFailed(vertex) if !span.alone => {
                    (spans.split(&span, vertex as usize), Progress::Done)
                }
                ended => match ended.progress(&batch.fuel)? {
                    Progress::Done => (span.vertices.end, Progress::Done),
                    failed @ Progress::GuardFailed { vertex } => (vertex as usize, failed),
                },
            };
            self.copy_outputs(batch, output, start..end);
            if progress != Progress::Done {
                return Ok(progress);
            }
            if end < first + whole {
                scratch.tables.step(end - start);
            }
        }
        let mut start = first + whole;
        while start < count {
            let end = count.min(start + round);
            self.bind_tail(batch, output, start..end, scratch);
            let (span, last) = (Span::wave(start, round), end - 1 - start);
            // SAFETY: `bind_tail` points every stream to the rows of a round in scratch memory, or in each lane to one
            // and the same vertex that native code may read and write.
            let ended = unsafe { self.call(batch, &batch.fuel, scratch, &span, last, &Fresh::ONE)? };
            let progress = ended.progress(&batch.fuel)?;
            if progress != Progress::Done {
                return Ok(progress);
            }
            self.store_tail(batch, output, start..end, scratch);
            start = end;
        }
        Ok(Progress::Done)
    }

    /// Whether code that prefetches is to do so: not where what it reads is short enough to be in a cache.
    fn prefetches(&self, batch: &Batch<'_>) -> bool {
        let is_long = |stream: &InputStream<'_>| stream.bytes.len() > limits::CACHED_BYTES;
        self.info.is_cut && batch.inputs.iter().any(is_long)
    }

    /// Shades the first elements of the bound streams: element 0 is the first vertex of the span, element `last` the
    /// last whose number differs from the one before. It is paid for with `fuel`. If `fresh` says so, thread groups
    /// behind it do the same, each of them with as much fuel.
    ///
    /// # Errors
    /// The call has no more fuel, or is cancelled.
    ///
    /// # Safety
    /// The streams in `scratch.tables` must be good, as [`abi`] says, for as many elements as the span has vertices: a
    /// multiple of a round's that is not zero. `fresh` must be as [`series::call`] says.
    unsafe fn call(
        &self,
        batch: &Batch<'_>,
        fuel: &Fuel<'_>,
        scratch: &mut Scratch,
        span: &Span,
        last: usize,
        fresh: &Fresh<'_>,
    ) -> Result<Ended, CallError> {
        let (start, count) = (span.vertices.start, span.vertices.len());
        let stopped = |stop| CallError::stopped(stop, fuel);
        fuel.check().map_err(stopped)?;
        let textures = TextureArgs::new(batch.textures, &self.info.accesses);
        let tank = Tank::new(fuel);
        let mut args = BatchArgs {
            inputs: scratch.tables.inputs.as_ptr(),
            outputs: scratch.tables.outputs.as_ptr(),
            spaces: scratch.tables.spaces.as_ptr(),
            resources: scratch.tables.resources.as_ptr(),
            textures: ptr::from_ref(&textures).cast(),
            scratch: scratch.arrays.as_mut_ptr().cast(),
            frame: scratch.frame.as_mut_ptr().cast(),
            spent: 0,
            tank: ptr::from_ref(&tank).cast(),
            fuel: fuel.first(),
            granted: fuel.first(),
            left: 0,
            first_vertex: batch.first_vertex.wrapping_add(start as u32),
            last: last as u32,
            instance: batch.instance,
            zero: 0,
            stopped: 0,
            prefetches: self.prefetches(batch).into(),
        };
        // SAFETY: the code was made for this contract (`abi`). The tables have one entry an element, space or resource,
        // a resource's with no more bytes than its slice has, and of memory the words that `words` lends, the first in
        // front; `check` saw that each space has the rows that are read without a check, and `UniformRows` always has a
        // window of zero rows in front of the bound ones and one after them; `arrays` holds `scratch_bytes` and `frame`
        // `frame_bytes`. The caller vouches for the streams, and for what is fresh.
        let outcome =
            unsafe { series::call(self.memory.entry().as_ptr(), &mut args, count as u32, fuel.of_all_waves(), fresh) };
        if let Some(panic) = textures.into_panic() {
            resume_unwind(panic);
        }
        if tank.stop() == Some(Stop::Cancelled) {
            return Err(stopped(Stop::Cancelled));
        }
        let series::Outcome { status, spent, is_over } = outcome;
        if is_over {
            return Err(stopped(Stop::Wave));
        }
        // None of several groups took more than it may, so only the call is charged.
        let charged = Fuel { group: fuel.group.filter(|_| fresh.calls == 1), ..*fuel };
        charged.charge(spent).map_err(stopped)?;
        let vertex = (start + args.stopped as usize) as u32;
        match (status, tank.stop()) {
            (abi::DONE, _) => Ok(Ended::Done),
            (abi::GUARD_FAILED, _) => Ok(Ended::GuardFailed(vertex)),
            // Of waves that pay together one may yet fail a guard before.
            (_, Some(Stop::Call)) if span.alone => Err(stopped(Stop::Call)),
            _ => Ok(Ended::OutOfFuel(vertex)),
        }
    }
}
