//! What the stages between vertices and pixels exchange with their caller beside constants and resources: vertices of
//! primitives, control points, patch constants.
//!
//! Where a program indexes registers, its memory has *rows*: a register's four words, in which an element's components
//! are those of its mask.

use super::Element;
use crate::Topology;
use crate::tessellator::TessellationModes;
use shaderjit_ir::Array;

impl Element {
    /// The element's components out of its register's row.
    pub(crate) fn gather(&self, row: [u32; 4]) -> [u32; 4] {
        let mut components = [0; 4];
        let places = (0..4).filter(|place| self.mask >> place & 1 != 0);
        components.iter_mut().zip(places).for_each(|(component, place)| *component = row[place]);
        components
    }

    /// Puts the element's components into its register's row.
    pub(crate) fn scatter(&self, components: [u32; 4], row: &mut [u32; 4]) {
        let places = (0..4).filter(|place| self.mask >> place & 1 != 0);
        places.zip(components).for_each(|(place, component)| row[place] = component);
    }
}

/// Rows that elements occupy: one more than the highest register of one.
pub(crate) fn registers(elements: &[Element]) -> u32 {
    let numbers = elements.iter().filter_map(|element| element.register.checked_add(1));
    numbers.max().unwrap_or(0)
}

/// Which input elements a function has whose invocations see whole primitives: those of each vertex, one vertex behind
/// the other, then the primitive's number, and of a geometry shader the number of the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrimitiveInputs {
    /// Vertices or control points of a primitive, 1 to 32.
    pub vertices: u32,
    /// Input elements of each.
    pub elements: u32,
}

impl PrimitiveInputs {
    /// The input element of a vertex's element.
    pub(crate) fn element(&self, vertex: u32, element: u32) -> u32 {
        vertex * self.elements + element
    }

    /// The input element with the number of the primitive.
    pub(crate) fn primitive_id(&self) -> u32 {
        self.vertices * self.elements
    }

    /// The input element with the number of the instance.
    pub(crate) fn instance_id(&self) -> u32 {
        self.primitive_id() + 1
    }
}

/// A Direct3D geometry shader.
///
/// What it emits goes to kept arrays, one a stream. Output element 0 is how many vertices each stream has got. If every
/// invocation emits the same number of vertices to the same strips, they are the output elements instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmitterInterface {
    /// What it reads.
    pub inputs: PrimitiveInputs,
    /// How many instances of it run for each primitive.
    pub instances: u32,
    /// The streams that it declares.
    pub streams: Vec<StreamInterface>,
    /// The vertices of every invocation, if they are output elements: the only stream's, one vertex behind the other.
    /// Whether each begins a strip.
    pub(crate) fixed: Option<Vec<bool>>,
}

/// A stream of a geometry shader.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamInterface {
    /// Its number, 0 to 3.
    pub number: u32,
    /// Points, or strips of lines or triangles.
    pub topology: Topology,
    /// Its elements.
    pub elements: Vec<Element>,
    /// Its vertices: a row an element, and before them, where it has strips, one whose x component is 1 if the vertex
    /// begins one. None if they are outputs, or can be none.
    pub(crate) array: Option<Array>,
}

impl StreamInterface {
    /// Whether vertices are parts of strips.
    pub(crate) fn has_strips(&self) -> bool {
        self.topology != Topology::PointList
    }

    /// Rows of a vertex.
    pub(crate) fn rows(&self) -> u32 {
        self.elements.len() as u32 + u32::from(self.has_strips())
    }
}

/// Where one tessellation factor is: number and component of a patch constant. None is 0 if nobody writes it.
pub type FactorPlace = Option<(u32, u8)>;

/// A hull shader. Its output elements are the patch constants.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HullInterface {
    /// What it reads.
    pub inputs: PrimitiveInputs,
    /// Control points of the patch it makes.
    pub control_points: u32,
    /// Their elements.
    pub elements: Vec<Element>,
    /// The rows of them, [`registers`](Self::registers) a control point; none if they are those read.
    pub(crate) array: Option<Array>,
    /// What it says of how its patches are divided.
    pub modes: TessellationModes,
    /// The edge factors.
    pub edges: [FactorPlace; 4],
    /// The inside factors.
    pub inside: [FactorPlace; 2],
}

impl HullInterface {
    /// Rows of a control point.
    pub(crate) fn registers(&self) -> u32 {
        registers(&self.elements)
    }
}

/// A domain shader. Its one input element is the location; all else is the same for the whole patch, and lies in rows
/// of a uniform space: control points one behind the other, patch constants, the number of the patch and how many
/// control points it has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DomainInterface {
    /// What it says of how patches are divided: at least what its locations are on, or nothing.
    pub modes: TessellationModes,
    /// Control points it reads.
    pub control_points: u32,
    /// Whether patches may have fewer: those that are not there are zero.
    pub(crate) is_open: bool,
    /// Their elements.
    pub elements: Vec<Element>,
    /// The elements of patch constants.
    pub constants: Vec<Element>,
}

impl DomainInterface {
    /// The row of a control point's register.
    pub(crate) fn control_point_row(&self, point: u32, register: u32) -> u32 {
        point * registers(&self.elements) + register
    }

    /// The row of a patch constant's register.
    pub(crate) fn constant_row(&self, register: u32) -> u32 {
        self.control_point_row(self.control_points, 0) + register
    }

    /// The row whose x component is the number of the patch, and y that of its control points; the last.
    pub(crate) fn primitive_row(&self) -> u32 {
        self.constant_row(registers(&self.constants))
    }
}

/// What a stage between vertices and pixels is, apart from a PICA200's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrimitiveStage {
    /// A geometry shader.
    Emitter(EmitterInterface),
    /// A hull shader.
    Hull(HullInterface),
    /// A domain shader.
    Domain(DomainInterface),
}
