//! One input stream as the caller has it: bytes, a format, a stride.

use crate::attribute::{AttributeFormat, for_each_format};
use std::ops::Range;

/// A vertex attribute: where vertex `i` has its bytes, and what they are. Vertex `i` lies at `i * stride`; a stride of 0 gives
/// every vertex the first one's.
///
/// ```
/// use shaderjit::{Attribute, attribute::AttributeFormat};
///
/// // Position and colour interleaved, 16 bytes a vertex.
/// let vertices = [0; 32];
/// let position = Attribute::f32x3(&vertices, 16);
/// let colour = Attribute::unorm8x4(&vertices[12..], 16);
/// assert_eq!(colour, Attribute::new(AttributeFormat::Unorm8x4, &vertices[12..], 16));
/// assert_eq!((position.vertices(), colour.vertices()), (Some(2), Some(2)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// What the bytes of a vertex are.
    pub format: AttributeFormat,
    /// The stream, from the first vertex's first byte.
    pub bytes: &'a [u8],
    /// Bytes from one vertex to the next.
    pub stride: usize,
}

impl<'a> Attribute<'a> {
    /// An attribute of any format.
    pub fn new(format: AttributeFormat, bytes: &'a [u8], stride: usize) -> Attribute<'a> {
        Attribute { format, bytes, stride }
    }

    /// The attribute from the first vertex of a range on, or the bytes it would need.
    pub(super) fn slice(&self, vertices: &Range<u32>) -> Result<Attribute<'a>, usize> {
        let at = |vertex: u32| (vertex as usize).checked_mul(self.stride);
        let end = match vertices.end.checked_sub(1) {
            Some(last) if last >= vertices.start => at(last).and_then(|at| at.checked_add(self.format.bytes())),
            _ => Some(0),
        };
        match (end, at(vertices.start)) {
            (Some(0), _) => Ok(Attribute { bytes: &[], ..*self }),
            (Some(end), Some(start)) if end <= self.bytes.len() => {
                Ok(Attribute { bytes: &self.bytes[start..], ..*self })
            }
            (end, _) => Err(end.unwrap_or(usize::MAX)),
        }
    }

    /// How many vertices the bytes hold; `None` if the stride is 0 and they hold any number.
    pub fn vertices(&self) -> Option<usize> {
        match (self.bytes.len().checked_sub(self.format.bytes()), self.stride) {
            (None, _) => Some(0),
            (Some(_), 0) => None,
            (Some(rest), stride) => Some(rest / stride + 1),
        }
    }
}

macro_rules! constructors {
    ($( $(#[$doc:meta])* $format:ident $name:ident: $components:literal x $kind:ident; )*) => {
        /// One constructor a format.
        impl<'a> Attribute<'a> {
            $(
                $(#[$doc])*
                pub fn $name(bytes: &'a [u8], stride: usize) -> Attribute<'a> {
                    Attribute::new(AttributeFormat::$format, bytes, stride)
                }
            )*
        }
    };
}
for_each_format!(constructors);
