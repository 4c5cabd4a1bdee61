//! What native code is given: the only contract between a back end and [`call`](super::call).
//!
//! The native function is `fn(*const BatchArgs, count: u32) -> u32`: it shades the elements `0..count`, `count` being a
//! multiple of what a round of its loop shades and not zero, and returns [`DONE`], [`OUT_OF_FUEL`] or [`GUARD_FAILED`].
//! It may read and write only:
//! * the [`BatchArgs`] and its tables;
//! * of each input stream it uses, [`read_bytes`] bytes of each element;
//! * of each output stream it stores, the stored components of each such element;
//! * of each uniform space, its rows and a window of rows on either side, but at least as many as the code reads
//!   without a check;
//! * of each resource, its bytes, and of one that is memory the word in front of them;
//! * the scratch bytes of its register arrays, and the bytes of its frame.
//!
//! It calls nothing but [`mode::compute_doubles`](super::mode::compute_doubles),
//! [`mode::access_textures`](super::mode::access_textures) with the arguments' textures, and
//! [`mode::refuel_wave`](super::mode::refuel_wave) with the arguments.

use super::refuel::Tank;
use super::texture::TextureArgs;
use crate::vertex_format::VertexFormat;
use std::mem::offset_of;

/// The native function's status: every element is shaded.
pub const DONE: u32 = 0;
/// The native function's status: a loop was given no more fuel in the waves that begin at [`BatchArgs::stopped`] and
/// share theirs; earlier elements are shaded. A wave by itself may get on with it.
pub const OUT_OF_FUEL: u32 = 1;
/// The native function's status: a guard failed in the round of its loop that begins at [`BatchArgs::stopped`]; earlier
/// elements are shaded.
pub const GUARD_FAILED: u32 = 2;

/// An input stream. Element `i` is at `data + i * stride`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InputArgs {
    pub data: *const u8,
    pub stride: usize,
}

/// An output stream. Element `i` is at `data + i * stride`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OutputArgs {
    pub data: *mut u8,
    pub stride: usize,
}

/// A uniform space: rows of 16 bytes, 16-aligned, row 0 at `data`. The [`WINDOW_ROWS`](crate::jit::limits::WINDOW_ROWS)
/// rows in front of it are readable and zero, and so are those from the first on that is not bound. That is row `end`
/// if rows are counted from the first readable one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SpaceArgs {
    pub data: *const u8,
    pub end: u32,
}

/// Most bytes of memory that native code writes: what it counts from a word in front fits 32 bits.
pub const MEMORY_BYTES: u32 = 1 << 31;

/// A resource: any bytes, of any alignment. There are at most [`RESOURCE_BYTES`](shaderjit_ir::op::RESOURCE_BYTES). Of
/// memory that is written it is whole words, at most [`MEMORY_BYTES`], and the word in front of them may be written,
/// too; each is only accessed as a whole, for other threads may access it at the same time. What a group shares is as
/// long as the function declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ResourceArgs {
    pub data: *const u8,
    pub bytes: u32,
}

/// Everything a batch sees.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BatchArgs {
    /// One entry an input element.
    pub inputs: *const InputArgs,
    /// One entry an output element.
    pub outputs: *const OutputArgs,
    /// One entry a uniform space, tables included.
    pub spaces: *const SpaceArgs,
    /// One entry a resource.
    pub resources: *const ResourceArgs,
    /// What texture accesses are passed on to.
    pub textures: *const TextureArgs<'static>,
    /// Register arrays, one after the other, 64-aligned: `[element][component][lane]`, 32 bits each. Each has two
    /// elements more than declared: the first of them reads as zero, the second takes the writes that are dropped. A
    /// function that is cut has them for each wave of a tile.
    pub scratch: *mut u8,
    /// The frame, 64-aligned: the slots of the call, 16 bytes each, some of which the caller has
    /// [filled in](shaderjit_ir::batch::Fill), then what a back end has for itself, then the slots of waves, then
    /// worklists: [`Frame`](shaderjit_ir::batch::Frame).
    pub frame: *mut u8,
    /// What waves that have ended have taken. Only native code writes it.
    pub spent: u64,
    /// Gives more fuel.
    pub tank: *const Tank<'static>,
    /// The fuel that a wave begins with.
    pub fuel: u32,
    /// What the wave at hand, or the tile, has been given: [`fuel`](Self::fuel) between waves.
    pub granted: u32,
    /// What it lacks, below zero, when it asks for more, and what it has left then.
    pub left: i32,
    /// Vertex number of element 0.
    pub first_vertex: u32,
    /// Element past which vertex numbers do not rise: lanes of the tail repeat the last vertex.
    pub last: u32,
    /// Instance number.
    pub instance: u32,
    /// Zero: what loads out of range read.
    pub zero: u32,
    /// Where a guard failed or fuel ran out. Only native code writes it.
    pub stopped: u32,
    /// Whether the vertices are more than caches hold, so that prefetching them is worth its instructions: 0 or 1.
    pub prefetches: u32,
}

/// Byte offsets for generated code.
pub mod offset {
    use super::*;

    macro_rules! fields {
        ($($name:ident $field:ident,)*) => { $(pub const $name: i32 = offset_of!(BatchArgs, $field) as i32;)* };
    }

    fields! {
        INPUTS inputs, OUTPUTS outputs, SPACES spaces, RESOURCES resources, TEXTURES textures,
        SCRATCH scratch, FRAME frame, SPENT spent, FUEL fuel, GRANTED granted,
        LEFT left, FIRST_VERTEX first_vertex, LAST last, INSTANCE instance, ZERO zero,
        STOPPED stopped, PREFETCHES prefetches,
    }

    /// Fields of entry `index` of the inputs' table: data, stride.
    pub fn input(index: u32) -> (i32, i32) {
        let at = entry::<InputArgs>(index);
        (at + offset_of!(InputArgs, data) as i32, at + offset_of!(InputArgs, stride) as i32)
    }

    /// Fields of entry `index` of the outputs' table: data, stride.
    pub fn output(index: u32) -> (i32, i32) {
        let at = entry::<OutputArgs>(index);
        (at + offset_of!(OutputArgs, data) as i32, at + offset_of!(OutputArgs, stride) as i32)
    }

    /// Fields of entry `index` of the spaces' table: data, end.
    pub fn space(index: u32) -> (i32, i32) {
        let at = entry::<SpaceArgs>(index);
        (at + offset_of!(SpaceArgs, data) as i32, at + offset_of!(SpaceArgs, end) as i32)
    }

    /// Fields of entry `index` of the resources' table: data, bytes.
    pub fn resource(index: u32) -> (i32, i32) {
        let at = entry::<ResourceArgs>(index);
        (at + offset_of!(ResourceArgs, data) as i32, at + offset_of!(ResourceArgs, bytes) as i32)
    }

    /// Indices are below [`limits::BINDINGS`](crate::jit::limits::BINDINGS), so this cannot overflow.
    fn entry<T>(index: u32) -> i32 {
        index as i32 * size_of::<T>() as i32
    }
}

/// How many bytes native code reads of an element in this format: three bytes are read as four, three 16-bit numbers as
/// four, and three words as four.
pub const fn read_bytes(format: VertexFormat) -> usize {
    format.bytes().next_power_of_two()
}

/// A register array's place in scratch memory. Every part of it fits an `i32`:
/// [`SCRATCH_BYTES`](super::limits::SCRATCH_BYTES).
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrayPlace {
    /// Byte of the first element.
    pub offset: u32,
    /// Bytes from one element to the next.
    pub element_bytes: u32,
    /// Elements, without the two that take accesses out of range.
    pub elements: u32,
}
