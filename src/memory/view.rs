//! Unordered-access views: an [`AtomicBuffer`], and what a shader takes its bytes for.

use super::AtomicBuffer;
use crate::error::CallError;
use crate::frontend::ResourceKind;
use crate::texture::{ImageLayout, TexelFormat};

/// Most elements of a typed buffer (Direct3D 11, `D3D11_REQ_BUFFER_RESOURCE_TEXEL_COUNT_2_TO_EXP`).
const MAX_ELEMENTS: usize = 1 << 27;

/// Memory that a shader writes: bytes, and how it sees them. Loads out of range give zero, stores are dropped.
///
/// ```
/// use shaderjit::{AtomicBuffer, ImageLayout, MemoryView, TexelFormat};
///
/// let (buffer, counter) = (AtomicBuffer::zeroed(64), AtomicBuffer::zeroed(4));
/// let words = MemoryView::raw(&buffer); // RWByteAddressBuffer
/// let four = MemoryView::structured(&buffer, 16).counter(&counter); // RWStructuredBuffer, AppendStructuredBuffer
/// let sixteen = MemoryView::typed(&buffer, TexelFormat::R32Uint); // RWBuffer<uint>
/// let image = MemoryView::image(&buffer, ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, 4, 4)); // RWTexture2D
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MemoryView<'a> {
    pub(super) buffer: &'a AtomicBuffer,
    pub(super) kind: View,
    counter: Option<&'a AtomicBuffer>,
}

/// Most bytes of a raw buffer or of structures: native code counts from a word in front.
const MAX_BYTES: usize = 1 << 31;

/// How the shader sees the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Raw,
    Structured { stride: u32 },
    Typed(TexelFormat),
    Image(ImageLayout),
}

impl<'a> MemoryView<'a> {
    fn new(buffer: &'a AtomicBuffer, kind: View) -> MemoryView<'a> {
        MemoryView { buffer, kind, counter: None }
    }

    /// A `RWByteAddressBuffer`: 32-bit words. Bytes at the end that make no word are not there.
    pub fn raw(buffer: &'a AtomicBuffer) -> MemoryView<'a> {
        MemoryView::new(buffer, View::Raw)
    }

    /// A `RWStructuredBuffer` of structures of `stride` bytes, which must be what the program declares. Bytes at the
    /// end that make no whole structure are not there.
    pub fn structured(buffer: &'a AtomicBuffer, stride: u32) -> MemoryView<'a> {
        MemoryView::new(buffer, View::Structured { stride })
    }

    /// A `RWBuffer` whose elements are stored in `format`.
    pub fn typed(buffer: &'a AtomicBuffer, format: TexelFormat) -> MemoryView<'a> {
        MemoryView::new(buffer, View::Typed(format))
    }

    /// A `RWTexture1D`, `2D` or `3D`, or an array of the first two: slice by slice, row by row, in the layout's format.
    pub fn image(buffer: &'a AtomicBuffer, layout: ImageLayout) -> MemoryView<'a> {
        MemoryView::new(buffer, View::Image(layout))
    }

    /// With the first word of a buffer as the hidden counter of structures, which `IncrementCounter`, `Append` and
    /// `Consume` count.
    pub fn counter(self, counter: &'a AtomicBuffer) -> MemoryView<'a> {
        MemoryView { counter: Some(counter), ..self }
    }

    /// The counter as memory of its own.
    pub(crate) fn counter_view(&self) -> Option<MemoryView<'a>> {
        self.counter.map(MemoryView::raw)
    }

    pub(crate) fn fits(&self, kind: ResourceKind) -> bool {
        match (self.kind, kind) {
            (View::Raw, ResourceKind::RawBuffer) | (View::Typed(_), ResourceKind::TypedBuffer { .. }) => true,
            (View::Structured { stride }, ResourceKind::StructuredBuffer { stride: declared }) => stride == declared,
            (View::Image(layout), ResourceKind::Texture { shape, .. }) => layout.info().shape == shape,
            _ => false,
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self.kind {
            View::Raw => "raw buffer".to_string(),
            View::Structured { stride } => format!("buffer of structures of {stride} bytes"),
            View::Typed(format) => format!("typed buffer of {}", format.name()),
            View::Image(layout) => layout.info().shape.to_string(),
        }
    }

    /// Bytes of raw buffers and of whole structures; whole elements; texels.
    pub(super) fn size(&self) -> usize {
        let bytes = self.buffer.len();
        match self.kind {
            View::Raw => bytes / 4 * 4,
            View::Structured { stride } => bytes - bytes % (stride.max(1) as usize),
            View::Typed(format) => bytes / format.bytes(),
            View::Image(layout) => layout.bytes().map_or(0, |bytes| bytes / layout.format().bytes()),
        }
    }

    /// That numbers and bytes make a view.
    pub(crate) fn check(&self, what: impl Fn() -> String) -> Result<(), CallError> {
        let most = match self.kind {
            View::Raw | View::Structured { .. } => MAX_BYTES,
            View::Typed(_) => MAX_ELEMENTS,
            View::Image(layout) => {
                let needed = layout.bytes().map_err(|error| CallError::Texture { what: what(), error })?;
                if layout.info().levels > 1 {
                    return Err(CallError::Invalid(format!("{}: a view that is written has one level", what())));
                }
                if self.buffer.len() < needed {
                    return Err(CallError::ShortBuffer { what: what(), needed, available: self.buffer.len() });
                }
                usize::MAX
            }
        };
        let format = match self.kind {
            View::Typed(format) => Some(format),
            View::Image(layout) => Some(layout.format()),
            _ => None,
        };
        if let Some(format) = format.filter(|format| !format.can_be_written()) {
            return Err(CallError::Invalid(format!("{}: nothing is stored as {}", what(), format.name())));
        }
        match self.size() {
            size if size > most => Err(CallError::Invalid(format!("{}: a size of {size}; {most} can be", what()))),
            _ => Ok(()),
        }
    }
}
