//! One input stream as the caller has it: bytes, a format, a stride.

use crate::attribute::{AttributeFormat, for_each_format};
use std::ops::Range;

/// A vertex attribute: where vertex `i` has its bytes, and what they are. Vertex `i` lies at `i * stride`; a stride of
/// 0 gives every vertex the first one's. An attribute [per instance](Attribute::per_instance) gives all vertices of an
/// instance the same.
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
    /// Bytes from one vertex to the next, or from one row of instances to the next.
    pub stride: usize,
    /// What makes the attribute go on to its next row.
    pub rate: AttributeRate,
}

/// What makes an attribute go on to its next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum AttributeRate {
    /// Every vertex has a row of its own.
    #[default]
    Vertex,
    /// Every so many instances share a row, and all vertices of an instance do; 0 gives every instance the first row.
    Instance(u32),
}

impl<'a> Attribute<'a> {
    /// An attribute of any format.
    pub fn new(format: AttributeFormat, bytes: &'a [u8], stride: usize) -> Attribute<'a> {
        Attribute { format, bytes, stride, rate: AttributeRate::Vertex }
    }

    /// The same with a row every `step` instances: vertices of instance `i` have row `i / step`, or row 0 if the step
    /// is 0. This is Direct3D's `InstanceDataStepRate`. A draw that does not start at the first row is given the bytes
    /// from where it starts.
    ///
    /// ```
    /// use shaderjit::{Attribute, CompileOptions, Config, Engine, Shader};
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// # let (mesh, places) = (vec![0; 3 * 12], vec![0; 2 * 12]);
    /// let mut call = code.call();
    /// # call.zero_unbound(true);
    /// call.input("POSITION", 0, Attribute::f32x3(&mesh, 12))?;
    /// call.input("NORMAL", 0, Attribute::f32x3(&places, 12).per_instance(1))?;
    /// for instance in 0..2 {
    ///     let outputs = call.instance(instance).run(0..3)?;
    /// }
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    pub fn per_instance(self, step: u32) -> Attribute<'a> {
        Attribute { rate: AttributeRate::Instance(step), ..self }
    }

    /// What the vertices of a range read in an instance, the first one's bytes first, or the bytes it would need. An
    /// attribute per instance becomes one of stride 0.
    pub(super) fn slice(&self, vertices: &Range<u32>, instance: u32) -> Result<Attribute<'a>, usize> {
        let (first, last, stride) = match (self.rate, vertices.end.checked_sub(1)) {
            (AttributeRate::Vertex, Some(last)) if last >= vertices.start => (vertices.start, last, self.stride),
            (AttributeRate::Instance(step), Some(last)) if last >= vertices.start => {
                let row = instance.checked_div(step).unwrap_or(0);
                (row, row, 0)
            }
            _ => return Ok(Attribute { bytes: &[], stride: 0, rate: AttributeRate::Vertex, ..*self }),
        };
        let at = |row: u32| (row as usize).checked_mul(self.stride);
        let end = at(last).and_then(|at| at.checked_add(self.format.bytes())).unwrap_or(usize::MAX);
        match at(first) {
            Some(start) if end <= self.bytes.len() => {
                Ok(Attribute { bytes: &self.bytes[start..], stride, rate: AttributeRate::Vertex, ..*self })
            }
            _ => Err(end),
        }
    }

    /// How many vertices the bytes hold; `None` if they hold any number, because the stride is 0 or they are rows of
    /// instances.
    pub fn vertices(&self) -> Option<usize> {
        match (self.bytes.len().checked_sub(self.format.bytes()), self.rate, self.stride) {
            (None, ..) => Some(0),
            (Some(_), AttributeRate::Instance(_), _) | (Some(_), AttributeRate::Vertex, 0) => None,
            (Some(rest), AttributeRate::Vertex, stride) => Some(rest / stride + 1),
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
