//! One input stream as the caller has it: bytes, a format, a stride.

use crate::vertex_format::{VertexFormat, for_each_format};
use std::ops::Range;

/// A vertex attribute: where vertex `i` has its bytes, and what they are. Vertex `i` lies at `i * stride`; a stride of
/// 0 gives every vertex the first one's. An attribute [per instance](VertexBufferView::per_instance)
/// gives all vertices of an instance the same.
///
/// ```
/// use shaderjit::{VertexBufferView, VertexFormat};
///
/// // Position and colour interleaved, 16 bytes a vertex.
/// let vertices = [0; 32];
/// let position = VertexBufferView::f32x3(&vertices, 16);
/// let colour = VertexBufferView::unorm8x4(&vertices[12..], 16);
/// assert_eq!(colour, VertexBufferView::new(VertexFormat::Unorm8x4, &vertices[12..], 16));
/// assert_eq!((position.vertices(), colour.vertices()), (Some(2), Some(2)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VertexBufferView<'a> {
    /// Format of the bytes of a vertex.
    pub format: VertexFormat,
    /// The stream, from the first vertex's first byte.
    pub bytes: &'a [u8],
    /// Bytes from one vertex to the next, or from one row of instances to the next.
    pub stride: usize,
    /// What makes the attribute go on to its next row.
    pub rate: InputRate,
}

/// What makes an attribute go on to its next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum InputRate {
    /// Every vertex has a row of its own.
    #[default]
    Vertex,
    /// Every so many instances share a row, and all vertices of an instance do; 0 gives every instance the first row.
    Instance(u32),
}

/// Where the vertices of a range are in a buffer.
pub(super) struct Rows {
    /// The first one's byte.
    pub start: usize,
    /// Bytes from one to the next; 0 where all read the same.
    pub stride: usize,
}

impl<'a> VertexBufferView<'a> {
    /// An attribute of any format.
    pub fn new(format: VertexFormat, bytes: &'a [u8], stride: usize) -> VertexBufferView<'a> {
        VertexBufferView { format, bytes, stride, rate: InputRate::Vertex }
    }

    /// This view with a row every `step` instances: vertices of instance `i` have row `i / step`, or row 0 if the step
    /// is 0. This is Direct3D's `InstanceDataStepRate`. A draw that does not start at the first row is given the bytes
    /// from where it starts.
    ///
    /// ```
    /// use shaderjit::{VertexBufferView, CompileOptions, Config, Engine, Shader};
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// # let (mesh, places) = (vec![0; 3 * 12], vec![0; 2 * 12]);
    /// let mut call = code.call();
    /// # call.unbound_as_zero(true);
    /// call.input("POSITION", 0, VertexBufferView::f32x3(&mesh, 12))?;
    /// call.input("NORMAL", 0, VertexBufferView::f32x3(&places, 12).per_instance(1))?;
    /// for instance in 0..2 {
    ///     let outputs = call.instance(instance).run(0..3)?;
    /// }
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    pub fn per_instance(self, step: u32) -> VertexBufferView<'a> {
        VertexBufferView { rate: InputRate::Instance(step), ..self }
    }

    /// Where the vertices of a range have what they read in an instance, or the bytes that it would need.
    pub(super) fn rows(&self, vertices: &Range<u32>, instance: u32) -> Result<Rows, usize> {
        let (first, last, stride) = match (self.rate, vertices.end.checked_sub(1)) {
            (InputRate::Vertex, Some(last)) if last >= vertices.start => (vertices.start, last, self.stride),
            (InputRate::Instance(step), Some(last)) if last >= vertices.start => {
                let row = instance.checked_div(step).unwrap_or(0);
                (row, row, 0)
            }
            _ => return Ok(Rows { start: self.bytes.len(), stride: 0 }),
        };
        let at = |row: u32| (row as usize).checked_mul(self.stride);
        let end = at(last).and_then(|at| at.checked_add(self.format.bytes())).unwrap_or(usize::MAX);
        match at(first) {
            Some(start) if end <= self.bytes.len() => Ok(Rows { start, stride }),
            _ => Err(end),
        }
    }

    /// How many vertices the bytes hold; `None` if they hold any number, because the stride is 0 or they are rows of
    /// instances.
    pub fn vertices(&self) -> Option<usize> {
        match (self.bytes.len().checked_sub(self.format.bytes()), self.rate, self.stride) {
            (None, ..) => Some(0),
            (Some(_), InputRate::Instance(_), _) | (Some(_), InputRate::Vertex, 0) => None,
            (Some(rest), InputRate::Vertex, stride) => Some(rest / stride + 1),
        }
    }
}

macro_rules! constructors {
    ($( $(#[$doc:meta])* $format:ident $name:ident: $kind:ident[$($bits:literal),*] $($order:ident)?; )*) => {
        /// One constructor a format.
        impl<'a> VertexBufferView<'a> {
            $(
                $(#[$doc])*
                pub fn $name(bytes: &'a [u8], stride: usize) -> VertexBufferView<'a> {
                    VertexBufferView::new(VertexFormat::$format, bytes, stride)
                }
            )*
        }
    };
}
for_each_format!(constructors);
