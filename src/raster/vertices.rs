//! What the rasteriser gets from the stage before it: rows of vertices, and which of their components it reads itself.

use crate::call::{Outputs, VertexTable};
use crate::error::RasterError;
use crate::frontend::{Element, find};
use std::ops::Range;

/// Rows of shaded vertices, each with the elements of an output signature.
///
/// ```
/// use shaderjit::raster::ShadedVertices;
/// use shaderjit::{ComponentType, Element};
///
/// let elements = [Element::new("SV_Position", 0, 4, ComponentType::F32)];
/// let corners = [[-1.0, 1.0, 0.0, 1.0], [3.0, 1.0, 0.0, 1.0], [-1.0, -3.0, 0.0, 1.0]];
/// let rows = corners.map(|corner: [f32; 4]| corner.map(f32::to_bits));
/// assert_eq!(ShadedVertices::rows(&elements, &rows).count(), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ShadedVertices<'a> {
    elements: &'a [Element],
    storage: Storage<'a>,
    count: usize,
}

/// Where the words are.
#[derive(Clone, Copy, Debug)]
enum Storage<'a> {
    /// Rows of so many bytes, the elements one behind the other.
    Packed(&'a [u8], usize),
    /// Rows of so many elements of four words.
    Rows(&'a [[u32; 4]], usize),
}

impl<'a> ShadedVertices<'a> {
    /// Vertices that have four words for each element, whatever its components: the elements of the first vertex, then
    /// those of the next.
    pub fn rows(elements: &'a [Element], rows: &'a [[u32; 4]]) -> ShadedVertices<'a> {
        let count = rows.len().checked_div(elements.len()).unwrap_or(0);
        ShadedVertices { elements, storage: Storage::Rows(rows, elements.len()), count }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Byte offsets in a row of an element's components.
    pub(super) fn components(&self, semantic: &str, index: u32) -> Vec<usize> {
        let Some(number) = find(self.elements, semantic, index) else { return Vec::new() };
        let bytes = |element: &Element| 4 * element.components() as usize;
        let before = match self.storage {
            Storage::Packed(..) => self.elements[..number].iter().map(bytes).sum(),
            Storage::Rows(..) => 16 * number,
        };
        (before..before + bytes(&self.elements[number])).step_by(4).collect()
    }

    /// The word at a byte offset of a row. Rows that are not there are zero.
    #[inline]
    pub(super) fn word(&self, row: u32, offset: usize) -> u32 {
        let row = row as usize;
        match self.storage {
            Storage::Packed(bytes, stride) => {
                let word = bytes.get(row * stride + offset..).and_then(<[u8]>::first_chunk);
                word.map_or(0, |&word| u32::from_le_bytes(word))
            }
            Storage::Rows(rows, elements) => {
                rows.get(row * elements + offset / 16).map_or(0, |words| words[offset / 4 % 4])
            }
        }
    }

    /// The words at byte offsets of a row, as far as there are places for them. No offset gives 0.
    pub(super) fn gather(&self, row: u32, Offsets { each: offsets, run }: &Offsets, words: &mut [u32]) {
        match self.storage {
            Storage::Packed(bytes, stride) => {
                let row = bytes.get(row as usize * stride..).unwrap_or_default();
                if let Some(found) = run.clone().and_then(|run| row.get(run)) {
                    let found = found.as_chunks().0.iter();
                    return words.iter_mut().zip(found).for_each(|(to, &word)| *to = u32::from_le_bytes(word));
                }
                let word = |offset: usize| row.get(offset..).and_then(<[u8]>::first_chunk).copied();
                let word = |offset: usize| word(offset).map_or(0, u32::from_le_bytes);
                words.iter_mut().zip(offsets).for_each(|(to, offset)| *to = offset.map_or(0, word));
            }
            Storage::Rows(..) => {
                let word = |offset: usize| self.word(row, offset);
                words.iter_mut().zip(offsets).for_each(|(to, offset)| *to = offset.map_or(0, word));
            }
        }
    }

    #[inline]
    pub(super) fn float(&self, row: u32, offset: usize) -> f32 {
        f32::from_bits(self.word(row, offset))
    }
}

impl<'a> From<&'a Outputs> for ShadedVertices<'a> {
    fn from(outputs: &'a Outputs) -> ShadedVertices<'a> {
        let storage = Storage::Packed(outputs.bytes(), outputs.stride());
        ShadedVertices { elements: outputs.elements(), storage, count: outputs.count() }
    }
}

impl<'a> From<&'a VertexTable> for ShadedVertices<'a> {
    fn from(table: &'a VertexTable) -> ShadedVertices<'a> {
        let storage = Storage::Packed(table.bytes(), table.stride());
        ShadedVertices { elements: table.elements(), storage, count: table.len() }
    }
}

/// Byte offsets of words in a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Offsets {
    each: Vec<Option<usize>>,
    /// Where they are, if one lies behind the other: most shaders read all that is behind the position.
    run: Option<Range<usize>>,
}

impl Offsets {
    pub fn new(each: Vec<Option<usize>>) -> Offsets {
        let first = each.first().copied().flatten();
        let run = first.map(|first| first..first + 4 * each.len());
        let run = run.filter(|run| run.clone().step_by(4).map(Some).eq(each.iter().copied()));
        Offsets { each, run }
    }
}

/// The system values that the rasteriser reads, by their offsets in a row.
#[derive(Clone, Debug)]
pub(super) struct SystemValues {
    pub position: usize,
    /// `SV_ClipDistance`, at most 8.
    pub clip: Vec<usize>,
    /// `SV_CullDistance`.
    pub cull: Vec<usize>,
    pub layer: Option<usize>,
    pub viewport: Option<usize>,
}

impl SystemValues {
    pub fn of(vertices: &ShadedVertices<'_>) -> Result<SystemValues, RasterError> {
        let position = vertices.components("SV_Position", 0);
        let &[position, _, _, _] = position.as_slice() else {
            return Err(RasterError::Vertices { what: "they have no SV_Position of four components".to_string() });
        };
        let distances = |semantic: &str| -> Vec<usize> {
            [0, 1].into_iter().flat_map(|index| vertices.components(semantic, index)).take(8).collect()
        };
        let first = |semantic: &str| vertices.components(semantic, 0).first().copied();
        Ok(SystemValues {
            position,
            clip: distances("SV_ClipDistance"),
            cull: distances("SV_CullDistance"),
            layer: first("SV_RenderTargetArrayIndex"),
            viewport: first("SV_ViewportArrayIndex"),
        })
    }
}
