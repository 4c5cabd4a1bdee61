//! Textures, samplers, buffers.

use super::give;
use super::number::from_numbers;
use super::pointers;
use super::status::{Failure, ended, shaderjit_status};
use crate::texture::{Reduction, Texel, TextureInfo};
use crate::{
    AddressMode, AtomicBuffer, BlockFormat, BufferView, Comparison, Filter, Image, ImageLayout, MemoryView,
    SamplerState, TexelFormat, Texture,
};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

/// Bytes that shaders write, on any number of threads.
pub struct shaderjit_memory(pub(super) AtomicBuffer);

/// A texture. Threads may share it.
pub struct shaderjit_texture(pub(super) Box<dyn Texture>);

/// The shape of a texture.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_shape {
    Texture1d = 0,
    Texture2d = 1,
    Texture3d = 2,
    Cube = 3,
    /// Of several samples a texel.
    Texture2dMs = 4,
}

/// Shape, sizes and format of a texture. Sizes that are 0 are 1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct shaderjit_texture_layout {
    /// The name of a format, as the command line has it: `rgba8`, `r32f`, `bc7` and so on.
    pub format: *const c_char,
    /// A `shaderjit_shape`.
    pub shape: u32,
    pub width: u32,
    pub height: u32,
    pub depth: u32,
    /// Slices of an array, or cubes; 0 if it is none.
    pub slices: u32,
    pub levels: u32,
    pub samples: u32,
}

/// The place of a texel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct shaderjit_texel {
    pub x: u32,
    pub y: u32,
    pub z: u32,
    /// Slice of an array; of cubes six times that, plus the face: +x, -x, +y, -y, +z, -z.
    pub layer: u32,
    pub level: u32,
    pub sample: u32,
}

/// Gives a texel: writes the bits of red, green, blue and alpha, as floats or integers by the texture's format. Called
/// from any thread that runs the call, from several at once; a place must give the same bits throughout a run. It must
/// return: no exception, no `longjmp`.
pub type shaderjit_texel_function =
    Option<unsafe extern "C" fn(user: *mut c_void, at: *const shaderjit_texel, bits: *mut u32)>;

impl shaderjit_texture_layout {
    /// The layout for a format of texels.
    fn layout(&self, format: TexelFormat) -> Result<ImageLayout, Failure> {
        let [width, height, depth] = [self.width, self.height, self.depth].map(|size| size.max(1));
        let layout = match entry("shape", shaderjit_shape::from_number, self.shape)? {
            shaderjit_shape::Texture1d => ImageLayout::texture_1d(format, width),
            shaderjit_shape::Texture2d => ImageLayout::texture_2d(format, width, height),
            shaderjit_shape::Texture3d => ImageLayout::texture_3d(format, width, height, depth),
            shaderjit_shape::Cube => ImageLayout::cube(format, width),
            shaderjit_shape::Texture2dMs => ImageLayout::texture_2d_ms(format, width, height, self.samples.max(1)),
        };
        let layout = layout.levels(self.levels.max(1));
        Ok(if self.slices == 0 { layout } else { layout.slices(self.slices) })
    }

    fn format_name(&self) -> Result<&str, Failure> {
        // SAFETY: the header's rules.
        unsafe { pointers::text(self.format) }
    }
}

/// The entry of an enumeration.
fn entry<T>(what: &str, from_number: fn(u32) -> Option<T>, number: u32) -> Result<T, Failure> {
    from_number(number).ok_or_else(|| Failure::argument(format!("there is no {what} {number}")))
}

fn texel_format(name: &str) -> Result<TexelFormat, Failure> {
    let names = || TexelFormat::ALL.iter().map(|format| format.name());
    TexelFormat::from_name(name).ok_or_else(|| Failure::no_name("texel format", name, names()))
}

/// Makes a texture of bytes: layer by layer, level by level, row by row, without padding. Bytes of compressed blocks
/// are decoded; others are lent until the texture is freed.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_texture_image(
    layout: Option<&shaderjit_texture_layout>,
    bytes: *const c_void,
    length: usize,
    texture: Option<&mut MaybeUninit<Option<Box<shaderjit_texture>>>>,
) -> shaderjit_status {
    ended(|| {
        let layout = layout.ok_or(Failure::null("the layout"))?;
        let name = layout.format_name()?;
        // SAFETY: the header's rules.
        let bytes: &'static [u8] = unsafe { pointers::bytes(bytes, length) }?;
        let image = match BlockFormat::from_name(name) {
            Some(format) => Image::from_blocks(format, layout.layout(format.texels())?, bytes)?,
            None => Image::new(layout.layout(texel_format(name)?)?, bytes)?,
        };
        give(texture, shaderjit_texture(Box::new(image)))
    })
}

/// A texture that asks its caller.
struct Asking {
    info: TextureInfo,
    function: unsafe extern "C" fn(*mut c_void, *const shaderjit_texel, *mut u32),
    user: *mut c_void,
}

// SAFETY: the header's rules: the function may be called from any thread.
unsafe impl Send for Asking {}
// SAFETY: the header's rules: and from several at once.
unsafe impl Sync for Asking {}

impl Texture for Asking {
    fn info(&self) -> TextureInfo {
        self.info
    }

    fn texel(&self, at: Texel) -> [u32; 4] {
        let Texel { x, y, z, layer, level, sample } = at;
        let mut bits = [0; 4];
        // SAFETY: the header's rules; the place and the bits are ours.
        unsafe { (self.function)(self.user, &shaderjit_texel { x, y, z, layer, level, sample }, bits.as_mut_ptr()) };
        bits
    }
}

/// Makes a texture of which a function gives each texel. Of the format, the kind and the number of components count.
/// `user` is passed on, and lent until the texture is freed.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_texture_function(
    layout: Option<&shaderjit_texture_layout>,
    function: shaderjit_texel_function,
    user: *mut c_void,
    texture: Option<&mut MaybeUninit<Option<Box<shaderjit_texture>>>>,
) -> shaderjit_status {
    ended(|| {
        let layout = layout.ok_or(Failure::null("the layout"))?;
        let info = layout.layout(texel_format(layout.format_name()?)?)?.info();
        info.check()?;
        let function = function.ok_or(Failure::null("the function"))?;
        give(texture, shaderjit_texture(Box::new(Asking { info, function, user })))
    })
}

/// Frees a texture, which no call may have bound any more.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_texture_free(texture: Option<Box<shaderjit_texture>>) {
    drop(texture);
}

/// Which texels a sample weighs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_filter {
    Linear = 0,
    Point = 1,
    Anisotropic = 2,
}

/// Which texel stands for one beyond the edge.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_address {
    Clamp = 0,
    Wrap = 1,
    Mirror = 2,
    Border = 3,
    MirrorOnce = 4,
}

/// The test of a comparison sampler: the reference is on the left, the texel on the right.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_comparison {
    Never = 0,
    Less = 1,
    Equal = 2,
    LessEqual = 3,
    Greater = 4,
    NotEqual = 5,
    GreaterEqual = 6,
    Always = 7,
}

/// What a filter makes of its texels.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_reduction {
    Average = 0,
    Minimum = 1,
    Maximum = 2,
}

from_numbers! {
    shaderjit_shape: Texture1d Texture2d Texture3d Cube Texture2dMs;
    shaderjit_filter: Linear Point Anisotropic;
    shaderjit_address: Clamp Wrap Mirror Border MirrorOnce;
    shaderjit_comparison: Never Less Equal LessEqual Greater NotEqual GreaterEqual Always;
    shaderjit_reduction: Average Minimum Maximum;
    shaderjit_buffer_kind: Raw Structured Typed Image;
}

fn filter(number: u32) -> Result<Filter, Failure> {
    Ok(match entry("filter", shaderjit_filter::from_number, number)? {
        shaderjit_filter::Linear => Filter::Linear,
        shaderjit_filter::Point => Filter::Point,
        shaderjit_filter::Anisotropic => Filter::Anisotropic,
    })
}

fn address_mode(number: u32) -> Result<AddressMode, Failure> {
    Ok(match entry("address mode", shaderjit_address::from_number, number)? {
        shaderjit_address::Clamp => AddressMode::Clamp,
        shaderjit_address::Wrap => AddressMode::Wrap,
        shaderjit_address::Mirror => AddressMode::Mirror,
        shaderjit_address::Border => AddressMode::Border,
        shaderjit_address::MirrorOnce => AddressMode::MirrorOnce,
    })
}

fn comparison(number: u32) -> Result<Comparison, Failure> {
    Ok(match entry("comparison", shaderjit_comparison::from_number, number)? {
        shaderjit_comparison::Never => Comparison::Never,
        shaderjit_comparison::Less => Comparison::Less,
        shaderjit_comparison::Equal => Comparison::Equal,
        shaderjit_comparison::LessEqual => Comparison::LessEqual,
        shaderjit_comparison::Greater => Comparison::Greater,
        shaderjit_comparison::NotEqual => Comparison::NotEqual,
        shaderjit_comparison::GreaterEqual => Comparison::GreaterEqual,
        shaderjit_comparison::Always => Comparison::Always,
    })
}

fn reduction(number: u32) -> Result<Reduction, Failure> {
    Ok(match entry("reduction", shaderjit_reduction::from_number, number)? {
        shaderjit_reduction::Average => Reduction::Average,
        shaderjit_reduction::Minimum => Reduction::Minimum,
        shaderjit_reduction::Maximum => Reduction::Maximum,
    })
}

/// A sampler's state, which `shaderjit_sampler_default` fills in.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct shaderjit_sampler {
    /// `shaderjit_filter`s: of texels that are smaller than what is sampled, of larger ones, between levels.
    pub min: u32,
    pub mag: u32,
    pub mip: u32,
    /// `shaderjit_address`es: for u, v and w.
    pub address: [u32; 3],
    /// Red, green, blue, alpha.
    pub border: [f32; 4],
    /// A `shaderjit_comparison`.
    pub comparison: u32,
    /// A `shaderjit_reduction`.
    pub reduction: u32,
    pub lod_bias: f32,
    pub min_lod: f32,
    pub max_lod: f32,
    /// 1 to 16.
    pub max_anisotropy: u8,
}

impl shaderjit_sampler {
    pub(super) fn state(&self) -> Result<SamplerState, Failure> {
        let [u, v, w] = self.address;
        Ok(SamplerState {
            min: filter(self.min)?,
            mag: filter(self.mag)?,
            mip: filter(self.mip)?,
            address_modes: [address_mode(u)?, address_mode(v)?, address_mode(w)?],
            border: self.border,
            comparison: comparison(self.comparison)?,
            lod_bias: self.lod_bias,
            min_lod: self.min_lod,
            max_lod: self.max_lod,
            max_anisotropy: self.max_anisotropy,
            reduction: reduction(self.reduction)?,
            ..SamplerState::default()
        })
    }
}

/// The default sampler: linear in all ways, clamped to the edge.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_sampler_default() -> shaderjit_sampler {
    let state = SamplerState::default();
    shaderjit_sampler {
        min: shaderjit_filter::Linear as u32,
        mag: shaderjit_filter::Linear as u32,
        mip: shaderjit_filter::Linear as u32,
        address: [shaderjit_address::Clamp as u32; 3],
        border: state.border,
        comparison: shaderjit_comparison::Never as u32,
        reduction: shaderjit_reduction::Average as u32,
        lod_bias: state.lod_bias,
        min_lod: state.min_lod,
        max_lod: state.max_lod,
        max_anisotropy: state.max_anisotropy,
    }
}

/// How a shader sees a buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum shaderjit_buffer_kind {
    /// 32-bit words: `ByteAddressBuffer`.
    Raw = 0,
    /// Structures: `StructuredBuffer`.
    Structured = 1,
    /// Elements of a format: `Buffer`.
    Typed = 2,
    /// Texels, of memory that is written: `RWTexture2D` and its like.
    Image = 3,
}

/// A buffer that is read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct shaderjit_buffer_view {
    pub bytes: *const c_void,
    pub length: usize,
    /// A `shaderjit_buffer_kind`, all but the last.
    pub kind: u32,
    /// Bytes of a structure.
    pub stride: u32,
    /// The name of a format, if it is typed.
    pub format: *const c_char,
}

impl shaderjit_buffer_view {
    pub(super) fn view(&self) -> Result<BufferView<'static>, Failure> {
        // SAFETY: the header's rules.
        let bytes = unsafe { pointers::bytes(self.bytes, self.length) }?;
        Ok(match shaderjit_buffer_kind::from_number(self.kind) {
            Some(shaderjit_buffer_kind::Raw) => BufferView::raw(bytes),
            Some(shaderjit_buffer_kind::Structured) => BufferView::structured(bytes, self.stride),
            Some(shaderjit_buffer_kind::Typed) => {
                // SAFETY: as above.
                BufferView::typed(bytes, texel_format(unsafe { pointers::text(self.format) }?)?)
            }
            Some(shaderjit_buffer_kind::Image) | None => {
                return Err(Failure::argument(format!("no buffer that is read is of kind {}", self.kind)));
            }
        })
    }
}

/// Memory that is written, as a shader sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct shaderjit_memory_view {
    pub memory: *const shaderjit_memory,
    /// Whose first word counts structures; null if none does.
    pub counter: *const shaderjit_memory,
    /// A `shaderjit_buffer_kind`.
    pub kind: u32,
    /// Bytes of a structure.
    pub stride: u32,
    /// The name of a format, if it is typed.
    pub format: *const c_char,
    /// Of images; null if it is none.
    pub layout: *const shaderjit_texture_layout,
}

impl shaderjit_memory_view {
    pub(super) fn view(&self) -> Result<MemoryView<'static>, Failure> {
        // SAFETY: the header's rules: what is not null is a handle, or a layout, that is lent.
        let (memory, counter, layout) = unsafe { (self.memory.as_ref(), self.counter.as_ref(), self.layout.as_ref()) };
        let memory = &memory.ok_or(Failure::null("the memory"))?.0;
        let view = match shaderjit_buffer_kind::from_number(self.kind) {
            Some(shaderjit_buffer_kind::Raw) => MemoryView::raw(memory),
            Some(shaderjit_buffer_kind::Structured) => MemoryView::structured(memory, self.stride),
            Some(shaderjit_buffer_kind::Typed) => {
                // SAFETY: the header's rules.
                MemoryView::typed(memory, texel_format(unsafe { pointers::text(self.format) }?)?)
            }
            Some(shaderjit_buffer_kind::Image) => {
                let layout = layout.ok_or(Failure::null("the layout"))?;
                MemoryView::image(memory, layout.layout(texel_format(layout.format_name()?)?)?)
            }
            None => return Err(Failure::argument(format!("no memory is of kind {}", self.kind))),
        };
        Ok(counter.map_or(view, |counter| view.counter(&counter.0)))
    }
}

/// Makes memory that shaders write: a copy of these bytes, or so many zeros if they are null.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_memory_new(
    bytes: *const c_void,
    length: usize,
    memory: Option<&mut MaybeUninit<Option<Box<shaderjit_memory>>>>,
) -> shaderjit_status {
    ended(|| {
        if bytes.is_null() {
            return give(memory, shaderjit_memory(AtomicBuffer::zeroed(length)));
        }
        // SAFETY: the header's rules.
        give(memory, shaderjit_memory(AtomicBuffer::from_bytes(unsafe { pointers::bytes(bytes, length) }?)))
    })
}

/// Frees memory, which no call may have bound any more.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_memory_free(memory: Option<Box<shaderjit_memory>>) {
    drop(memory);
}

/// Copies the bytes of memory as they are now: as many as it has, or as there is room for.
#[unsafe(no_mangle)]
pub extern "C" fn shaderjit_memory_read(
    memory: Option<&shaderjit_memory>,
    bytes: *mut c_void,
    length: usize,
) -> shaderjit_status {
    ended(|| {
        let found = memory.ok_or(Failure::null("the memory"))?.0.to_bytes();
        let count = found.len().min(length);
        // SAFETY: the header's rules.
        unsafe { pointers::bytes_mut(bytes, length) }?[..count].copy_from_slice(&found[..count]);
        Ok(())
    })
}
