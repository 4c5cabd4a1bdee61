//! Resources as a call binds them: the caller's bytes in the form that the code reads.

use crate::compiled::CompiledShader;
use crate::error::CallError;
use crate::frontend::typed_buffer;
use crate::frontend::{ResourceDecl, ResourceFile, ResourceKind};
use crate::texture::TexelFormat;
use shaderjit_ir::op::RESOURCE_BYTES;
use std::borrow::Cow;

/// Most elements of a typed buffer (Direct3D 11, `D3D11_REQ_BUFFER_RESOURCE_TEXEL_COUNT_2_TO_EXP`).
const MAX_ELEMENTS: usize = 1 << 27;

/// A read-only buffer: bytes, and how a shader sees them. Reads behind the end give zero; of typed buffers
/// only the components that the format stores, the others read as they do everywhere.
///
/// ```
/// use shaderjit::{BufferView, TexelFormat};
///
/// let bytes = [0; 64];
/// let words = BufferView::raw(&bytes); // ByteAddressBuffer
/// let two = BufferView::structured(&bytes, 32); // StructuredBuffer, two structures
/// let sixteen = BufferView::typed(&bytes, TexelFormat::Rgba8Unorm); // Buffer<float4>, sixteen elements
/// assert_eq!([words, two, sixteen].map(|it| it.elements()), [64, 2, 16]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferView<'a> {
    bytes: &'a [u8],
    view: View,
}

/// How the shader sees the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Raw,
    Structured { stride: u32 },
    Typed(TexelFormat),
}

impl<'a> BufferView<'a> {
    /// A `ByteAddressBuffer`: 32-bit words, little-endian. One to three bytes at the end that make no word cannot be
    /// read.
    pub fn raw(bytes: &'a [u8]) -> BufferView<'a> {
        BufferView { bytes, view: View::Raw }
    }

    /// A `StructuredBuffer` of structures of `stride` bytes, which must be what the program declares. Bytes at the end
    /// that make no whole structure do not count.
    pub fn structured(bytes: &'a [u8], stride: u32) -> BufferView<'a> {
        BufferView { bytes, view: View::Structured { stride } }
    }

    /// A `Buffer` or `tbuffer` whose elements are stored in `format`. Bytes at the end that make no whole element do
    /// not count. The elements are converted when the buffer is bound, to words for as many components as the program
    /// reads, rounded up to a power of two; if that is what they are, they stay where they are.
    pub fn typed(bytes: &'a [u8], format: TexelFormat) -> BufferView<'a> {
        BufferView { bytes, view: View::Typed(format) }
    }

    /// What `bufinfo` says: bytes, whole structures or whole elements.
    pub fn elements(&self) -> usize {
        match self.view {
            View::Raw => self.bytes.len(),
            View::Structured { stride } => self.bytes.len().checked_div(stride as usize).unwrap_or(0),
            View::Typed(format) => self.bytes.len() / format.bytes(),
        }
    }

    pub(super) fn fits(&self, kind: ResourceKind) -> bool {
        match (self.view, kind) {
            (View::Raw, ResourceKind::RawBuffer) | (View::Typed(_), ResourceKind::TypedBuffer { .. }) => true,
            (View::Structured { stride }, ResourceKind::StructuredBuffer { stride: declared }) => stride == declared,
            _ => false,
        }
    }

    fn describe(&self) -> String {
        match self.view {
            View::Raw => "raw buffer".to_string(),
            View::Structured { stride } => format!("buffer of structures of {stride} bytes"),
            View::Typed(format) => format!("typed buffer of {}", format.name()),
        }
    }

    /// The bytes that the code reads: see [`ResourceKind`].
    fn readable(&self, kind: ResourceKind) -> Result<Cow<'a, [u8]>, CallError> {
        let elements = self.elements();
        let (most, bytes) = match self.view {
            View::Raw => (RESOURCE_BYTES as usize, self.bytes),
            View::Structured { stride } => {
                (RESOURCE_BYTES as usize / stride.max(1) as usize, &self.bytes[..elements * stride as usize])
            }
            View::Typed(_) => (MAX_ELEMENTS, self.bytes),
        };
        if elements > most {
            return Err(CallError::Invalid(format!("a {} of {elements} elements; {most} can be", self.describe())));
        }
        let (View::Typed(format), ResourceKind::TypedBuffer { components, .. }) = (self.view, kind) else {
            return Ok(Cow::Borrowed(bytes));
        };
        let (words, has_absent) = (typed_buffer::words(components), components == typed_buffer::ALL);
        if !has_absent && format.is_words() && format.bytes() == 4 * usize::from(words) {
            return Ok(Cow::Borrowed(&bytes[..elements * format.bytes()]));
        }
        let rows = match words {
            1 => rows::<4>,
            2 => rows::<8>,
            _ => rows::<16>,
        };
        rows(format, bytes, has_absent).map(Cow::Owned)
    }
}

/// The elements as rows of so many bytes, and behind them, if it is wanted, the row that elements out of range have:
/// zero, absent components by default.
fn rows<const ROW: usize>(format: TexelFormat, bytes: &[u8], has_absent: bool) -> Result<Vec<u8>, CallError> {
    let elements = bytes.chunks_exact(format.bytes());
    let (absent, count) = (row(format, &[]), elements.len() + usize::from(has_absent));
    let mut rows: Vec<[u8; ROW]> = Vec::new();
    if rows.try_reserve_exact(count).is_err() {
        return Err(CallError::Invalid(format!("no memory for {count} rows of a buffer")));
    }
    match format.bytes() {
        // Most buffers are so: their words are the components as they are.
        4 if format.is_words() => extend_by_words::<4, ROW>(&mut rows, bytes, absent),
        8 if format.is_words() => extend_by_words::<8, ROW>(&mut rows, bytes, absent),
        12 if format.is_words() => extend_by_words::<12, ROW>(&mut rows, bytes, absent),
        16 if format.is_words() => extend_by_words::<16, ROW>(&mut rows, bytes, absent),
        _ => rows.extend(elements.map(|element| row(format, element))),
    }
    rows.extend(has_absent.then_some(absent));
    Ok(rows.into_flattened())
}

/// The first components of an element.
fn row<const ROW: usize>(format: TexelFormat, element: &[u8]) -> [u8; ROW] {
    let words = format.decode(element).map(u32::to_le_bytes);
    std::array::from_fn(|at| words[at / 4][at % 4])
}

/// Appends rows of elements of so many bytes. What those leave is that of an absent one.
fn extend_by_words<const BYTES: usize, const ROW: usize>(rows: &mut Vec<[u8; ROW]>, bytes: &[u8], absent: [u8; ROW]) {
    rows.extend(bytes.as_chunks::<BYTES>().0.iter().map(|element| {
        let (mut row, kept) = (absent, ROW.min(BYTES));
        row[..kept].copy_from_slice(&element[..kept]);
        row
    }));
}

/// The buffers of a call. One entry a resource of the interface.
#[derive(Clone)]
pub(super) struct BoundResources<'a> {
    bytes: Vec<Option<Cow<'a, [u8]>>>,
}

impl<'a> BoundResources<'a> {
    /// Nothing is bound.
    pub fn new(shader: &CompiledShader) -> BoundResources<'a> {
        BoundResources { bytes: vec![None; shader.interface().resources.len()] }
    }

    /// Binds the one of that slot and register space.
    pub fn bind(
        &mut self,
        declared: &[ResourceDecl],
        (slot, space): (u32, u32),
        resource: BufferView<'a>,
    ) -> Result<(), CallError> {
        let file = ResourceFile::Resource;
        let (index, decl) = find(declared, file, slot, space)?;
        if !resource.fits(decl.kind) {
            let (what, declared) = (name(decl), decl.kind.to_string());
            return Err(CallError::ResourceMismatch { what, declared, bound: resource.describe() });
        }
        self.set(index, decl.kind, resource)
    }

    /// Binds the one of that number, which is of that kind and which it fits.
    pub fn set(&mut self, index: usize, kind: ResourceKind, resource: BufferView<'a>) -> Result<(), CallError> {
        self.bytes[index] = Some(resource.readable(kind)?);
        Ok(())
    }

    pub fn is_bound(&self, index: usize) -> bool {
        self.bytes[index].is_some()
    }

    /// What both engines read; nothing where nothing is bound.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.iter().map(|bytes| bytes.as_deref().unwrap_or_default())
    }
}

/// The resource that is bound there, and its number.
pub(super) fn find(
    declared: &[ResourceDecl],
    file: ResourceFile,
    slot: u32,
    space: u32,
) -> Result<(usize, &ResourceDecl), CallError> {
    let mut of_file = declared.iter().enumerate().filter(|(_, decl)| decl.file == file && decl.index.is_none());
    let names = of_file.clone().map(|(_, decl)| name(decl));
    let found = of_file.find(|(_, decl)| (decl.slot, decl.space) == (slot, space));
    found.ok_or_else(|| CallError::unknown(register_name(file, slot, space), names))
}

/// How errors name a resource.
pub(super) fn name(decl: &ResourceDecl) -> String {
    match decl.index {
        Some(index) => descriptor_name(decl.space, decl.slot, index),
        None => register_name(decl.file, decl.slot, decl.space),
    }
}

/// How errors name a descriptor.
pub(super) fn descriptor_name(set: u32, binding: u32, index: u32) -> String {
    match index {
        0 => format!("descriptor of set {set}, binding {binding}"),
        index => format!("descriptor {index} of set {set}, binding {binding}"),
    }
}

fn register_name(file: ResourceFile, slot: u32, space: u32) -> String {
    let what = match file {
        ResourceFile::Resource => format!("resource t{slot}"),
        ResourceFile::UnorderedAccess => format!("view u{slot}"),
        ResourceFile::Counter => format!("counter of view u{slot}"),
        ResourceFile::Shared { .. } => format!("shared memory g{slot}"),
    };
    match space {
        0 => what,
        space => format!("{what} of space {space}"),
    }
}
