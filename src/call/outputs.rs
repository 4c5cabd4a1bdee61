//! What a call gives back: where each output element lies, and the bytes.

use crate::compiled::CompiledShader;
use crate::error::CallError;
use crate::frontend::{Element, find};
use crate::prepared::Prepared;
use std::sync::Arc;

/// Where one output element lies: of vertex `i` at `offset + i * stride`, one component behind the other, 4 bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Byte offset for the first vertex of the range.
    pub offset: usize,
    /// Bytes from one vertex to the next, at least those of the element.
    pub stride: usize,
}

/// Where a call stores its output elements. Elements without a place are not stored.
///
/// ```
/// use shaderjit::{CompileOptions, Config, Engine, OutputLayout, Place, Shader};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
/// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
/// // Positions alone, 32 bytes apart.
/// let position = code.output("SV_Position", 0).expect("a vertex shader has a position");
/// let layout = OutputLayout::none(&code).with(position, Place { offset: 0, stride: 32 });
/// # Ok::<(), shaderjit::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLayout {
    /// One entry an output element.
    places: Vec<Option<Place>>,
    /// A number that was given a place and is no element of the shader.
    unknown: Option<usize>,
}

impl OutputLayout {
    /// No element is stored.
    pub fn none(code: &CompiledShader) -> OutputLayout {
        OutputLayout { places: vec![None; code.interface().outputs.len()], unknown: None }
    }

    /// Every element of [`Interface::outputs`](crate::frontend::Interface::outputs), in order and without gaps within a
    /// vertex or between vertices.
    pub fn packed(code: &CompiledShader) -> OutputLayout {
        OutputLayout::packed_elements(&code.interface().outputs)
    }

    pub(super) fn packed_elements(elements: &[Element]) -> OutputLayout {
        let stride = packed_stride(elements);
        let mut offset = 0;
        let place = |element: &Element| {
            let place = Place { offset, stride };
            offset += element_bytes(element);
            Some(place)
        };
        OutputLayout { places: elements.iter().map(place).collect(), unknown: None }
    }

    /// This layout with element number `element` at `place`. A number that the shader does not have is an error of the
    /// call.
    pub fn with(mut self, element: usize, place: Place) -> OutputLayout {
        match self.places.get_mut(element) {
            Some(entry) => *entry = Some(place),
            None => self.unknown = Some(element),
        }
        self
    }

    /// One entry an output element.
    pub fn places(&self) -> &[Option<Place>] {
        &self.places
    }

    /// Checks that every element placed is one of `elements` and lies within `available` bytes for each of `count`
    /// vertices.
    pub(super) fn check(&self, elements: &[Element], count: usize, available: usize) -> Result<(), CallError> {
        let unknown =
            |number: usize| CallError::unknown(format!("output element {number}"), elements.iter().map(Element::label));
        if let Some(number) = self.unknown {
            return Err(unknown(number));
        }
        for (number, place) in self.places.iter().enumerate() {
            let Some(place) = place else { continue };
            let element = elements.get(number).ok_or_else(|| unknown(number))?;
            let bytes = element_bytes(element);
            if place.stride < bytes {
                let Place { stride, .. } = place;
                let what = format!("output {}: vertices of {bytes} bytes lie {stride} bytes apart", element.name());
                return Err(CallError::Invalid(what));
            }
            let last = count.checked_sub(1).and_then(|last| last.checked_mul(place.stride));
            let needed = match (count, last) {
                (0, _) => 0,
                (_, Some(last)) => place.offset.saturating_add(last).saturating_add(bytes),
                (_, None) => usize::MAX,
            };
            if needed > available {
                return Err(CallError::ShortBuffer {
                    what: format!("the buffer of output {}", element.name()),
                    needed,
                    available,
                });
            }
        }
        Ok(())
    }
}

/// Bytes of an element's components.
pub(crate) fn element_bytes(element: &Element) -> usize {
    4 * element.components() as usize
}

/// Bytes of all elements.
pub(super) fn packed_stride(elements: &[Element]) -> usize {
    elements.iter().map(element_bytes).sum()
}

/// The outputs of a call: every output element of every vertex of its range, packed as [`OutputLayout::packed`] says.
///
/// Vertices, or a pixel shader's pixels, are numbered from the start of the range. Components the shader never writes
/// are 0.
#[derive(Clone)]
pub struct Outputs {
    pub(super) prepared: Arc<Prepared>,
    pub(super) layout: OutputLayout,
    pub(super) stride: usize,
    pub(super) count: usize,
    pub(super) bytes: Vec<u8>,
}

impl Outputs {
    /// Number of vertices.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes of one vertex.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All bytes, little-endian.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All bytes, little-endian, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The elements, in order.
    pub fn elements(&self) -> &[Element] {
        &self.prepared.interface.outputs
    }

    /// For each pixel, whether the shader discarded it; its outputs mean nothing then. No vertex is.
    pub fn discarded(&self) -> impl Iterator<Item = bool> + use<'_> {
        self.flags(self.prepared.interface.discarded)
    }

    /// For each vertex or pixel, whether the shader aborted it: it executed `abort`, which ended it.
    pub fn aborted(&self) -> impl Iterator<Item = bool> + use<'_> {
        self.flags(self.prepared.interface.aborted)
    }

    fn flags(&self, element: Option<usize>) -> impl Iterator<Item = bool> + use<'_> {
        let view = element.and_then(|element| self.element(element));
        (0..self.count).map(move |vertex| view.and_then(|view| view.bits(vertex)).is_some_and(|bits| bits[0] != 0))
    }

    /// The element with that semantic; upper and lower case are the same.
    pub fn output(&self, semantic: &str, index: u32) -> Option<OutputView<'_>> {
        self.element(find(self.elements(), semantic, index)?)
    }

    /// The first element that lies in output register `o<register>`.
    pub fn register(&self, register: u32) -> Option<OutputView<'_>> {
        self.element(self.elements().iter().position(|element| element.register == register)?)
    }

    /// Element number `element`.
    pub fn element(&self, element: usize) -> Option<OutputView<'_>> {
        let place = (*self.layout.places.get(element)?)?;
        Some(OutputView { element: self.elements().get(element)?, place, count: self.count, bytes: &self.bytes })
    }

    /// The first component in which two runs of one shader differ, if any. NaNs count as equal whatever their payload,
    /// for the IR leaves it open.
    pub fn first_difference(&self, other: &Outputs) -> Option<Difference> {
        for vertex in 0..self.count.max(other.count) {
            for element in 0..self.elements().len().max(other.elements().len()) {
                let bits =
                    |outputs: &Outputs| outputs.element(element).and_then(|view| view.bits(vertex)).unwrap_or([0; 4]);
                let (left, right) = (bits(self), bits(other));
                if let Some(component) = (0..4).find(|&c| !same_bits(left[c], right[c])) {
                    return Some(Difference { vertex, element, component, bits: [left[component], right[component]] });
                }
            }
        }
        (self.count != other.count).then_some(Difference {
            vertex: self.count.min(other.count),
            element: 0,
            component: 0,
            bits: [0; 2],
        })
    }
}

impl std::fmt::Debug for Outputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outputs").field("count", &self.count).field("stride", &self.stride).finish_non_exhaustive()
    }
}

pub(super) fn same_bits(a: u32, b: u32) -> bool {
    a == b || (f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan())
}

/// Where two runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Vertex, counted from the start of the range.
    pub vertex: usize,
    /// Output element.
    pub element: usize,
    /// Component of the element.
    pub component: usize,
    /// Its bits in the one and the other.
    pub bits: [u32; 2],
}

/// One output element of all vertices.
#[derive(Clone, Copy, Debug)]
pub struct OutputView<'a> {
    element: &'a Element,
    place: Place,
    count: usize,
    bytes: &'a [u8],
}

impl<'a> OutputView<'a> {
    /// The element.
    pub fn element(&self) -> &'a Element {
        self.element
    }

    /// The bytes from the first vertex's on, and how many there are from one to the next.
    pub fn bytes(&self) -> (&'a [u8], usize) {
        (self.bytes.get(self.place.offset..).unwrap_or_default(), self.place.stride)
    }

    /// The bits of a vertex's four components, those the element does not have as 0; `None` past the last vertex.
    pub fn bits(&self, vertex: usize) -> Option<[u32; 4]> {
        if vertex >= self.count {
            return None;
        }
        let start = self.place.offset + vertex * self.place.stride;
        let mut components = [0; 4];
        let stored = self.bytes[start..start + element_bytes(self.element)].as_chunks().0;
        for (component, &bytes) in components.iter_mut().zip(stored) {
            *component = u32::from_le_bytes(bytes);
        }
        Some(components)
    }

    /// A vertex's four components as floats, those the element does not have as 0; `None` past the last vertex.
    pub fn vec4(&self, vertex: usize) -> Option<[f32; 4]> {
        Some(self.bits(vertex)?.map(f32::from_bits))
    }

    /// The bits of every vertex.
    pub fn iter(&self) -> impl Iterator<Item = [u32; 4]> + use<'a> {
        let view = *self;
        (0..self.count).map(move |vertex| view.bits(vertex).expect("the vertex is below the count"))
    }
}
