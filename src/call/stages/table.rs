//! Vertices on their way from stage to stage.

use crate::call::outputs::{OutputLayout, Outputs, Place, element_bytes, packed_stride};
use crate::compiled::CompiledShader;
use crate::error::CallError;
use crate::frontend::{Element, find};

/// Most bytes of a table.
const MAX_BYTES: usize = 1 << 34;

/// Vertices, control points or patch constants: rows of the same elements. Stages find elements by their semantics; one
/// that the stage before does not have reads zero.
///
/// ```
/// use shaderjit::{CompileOptions, Config, Engine, Shader, VertexTable};
///
/// let bytes =
///     include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc"));
/// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
/// let table = VertexTable::from(code.call().run(0..3)?);
/// assert_eq!(table.len(), 3);
/// assert_eq!(table.get(2, table.find("OUT", 0).expect("it is there"))[0], 2);
/// # Ok::<(), shaderjit::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VertexTable {
    elements: Vec<Element>,
    /// Where each lies in a row.
    offsets: Vec<usize>,
    stride: usize,
    count: usize,
    /// While a call fills the table, what an earlier one has left may lie behind its vertices.
    bytes: Vec<u8>,
}

impl VertexTable {
    /// No vertices yet, of these elements.
    pub(super) fn new(elements: Vec<Element>) -> VertexTable {
        let offsets = elements.iter().scan(0, |end, element| {
            let offset = *end;
            *end += element_bytes(element);
            Some(offset)
        });
        let offsets = offsets.collect();
        VertexTable { stride: packed_stride(&elements), elements, offsets, count: 0, bytes: Vec::new() }
    }

    /// Begins again with vertices of these elements, in the memory that is here. What [`grow`](Self::grow) appends then
    /// need not be zero. [`end`](Self::end) ends it.
    pub(super) fn begin(&mut self, elements: &[Element]) {
        if self.elements != elements {
            *self = VertexTable::new(elements.to_vec());
        }
        self.count = 0;
    }

    /// All vertices are there.
    pub(super) fn end(&mut self) {
        self.bytes.truncate(self.count * self.stride);
    }

    /// The vertices whose elements' components these are, in order, without gaps, little-endian. Elements are those of
    /// an [`Interface`](crate::frontend::Interface).
    ///
    /// # Errors
    /// [`CallError::Invalid`] if the bytes are no whole number of vertices.
    pub fn from_bytes(elements: &[Element], bytes: Vec<u8>) -> Result<VertexTable, CallError> {
        let mut table = VertexTable::new(elements.to_vec());
        let count = bytes.len().checked_div(table.stride).unwrap_or(0);
        if count * table.stride != bytes.len() {
            let what = format!("{} bytes are no whole number of vertices of {} bytes", bytes.len(), table.stride);
            return Err(CallError::Invalid(what));
        }
        table.bytes = bytes;
        table.grow_to(count)?;
        Ok(table)
    }

    /// Their elements.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of a vertex: those of its elements' components.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The vertices' elements in order, without gaps, little-endian.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of the element with that semantic; upper and lower case are the same.
    pub fn find(&self, semantic: &str, index: u32) -> Option<usize> {
        find(&self.elements, semantic, index)
    }

    /// The words of a vertex's element, 0 behind its components.
    ///
    /// # Panics
    /// If there is no such vertex or element.
    pub fn get(&self, vertex: usize, element: usize) -> [u32; 4] {
        let start = vertex * self.stride + self.offsets[element];
        let stored = self.bytes[start..start + element_bytes(&self.elements[element])].as_chunks().0;
        let mut words = [0; 4];
        words.iter_mut().zip(stored).for_each(|(word, &bytes)| *word = u32::from_le_bytes(bytes));
        words
    }

    /// Where elements lie in a row.
    pub(super) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// All bytes, to be written.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Appends a vertex with these words of its elements.
    pub(crate) fn push(&mut self, words: impl IntoIterator<Item = [u32; 4]>) -> Result<(), CallError> {
        self.push_row(words);
        self.grow_to(self.count)
    }

    /// As [`push`](Self::push), where there are no more vertices than another table has.
    pub(super) fn push_row(&mut self, words: impl IntoIterator<Item = [u32; 4]>) {
        self.end();
        for (element, words) in self.elements.iter().zip(words) {
            for word in &words[..element.components() as usize] {
                self.bytes.extend_from_slice(&word.to_le_bytes());
            }
        }
        self.count += 1;
    }

    /// All bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends the vertices of a table with the same elements.
    pub(super) fn append(&mut self, more: &VertexTable) -> Result<(), CallError> {
        self.end();
        self.bytes.extend_from_slice(&more.bytes);
        self.grow_to(self.count + more.count)
    }

    /// Appends so many vertices, to be written.
    pub(super) fn grow(&mut self, more: usize) -> Result<(), CallError> {
        self.grow_to(self.count.saturating_add(more))
    }

    fn grow_to(&mut self, count: usize) -> Result<(), CallError> {
        let size = count.saturating_mul(self.stride);
        if size > MAX_BYTES || u32::try_from(count).is_err() {
            return Err(CallError::Invalid(format!("{count} vertices of {} bytes", self.stride)));
        }
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        }
        self.count = count;
        Ok(())
    }

    /// Where a call stores its signature's elements, which are these.
    pub(super) fn layout(&self, code: &CompiledShader) -> OutputLayout {
        let places = self.offsets.iter().map(|&offset| Place { offset, stride: self.stride });
        places.enumerate().fold(OutputLayout::none(code), |layout, (element, place)| layout.with(element, place))
    }

    /// For each of these elements the one here that has its semantic.
    pub(super) fn links(&self, to: &[Element]) -> Vec<Option<usize>> {
        to.iter().map(|element| self.find(&element.semantic, element.index)).collect()
    }
}

impl From<Outputs> for VertexTable {
    fn from(outputs: Outputs) -> VertexTable {
        let mut table = VertexTable::new(outputs.prepared.interface.signature_outputs().to_vec());
        let (count, stride) = (outputs.count(), outputs.stride());
        if table.stride == stride {
            table.bytes = outputs.into_bytes();
        } else {
            // Behind the signature's elements there are flags.
            let rows = outputs.bytes().chunks_exact(stride);
            table.bytes = rows.flat_map(|row| &row[..table.stride]).copied().collect();
        }
        table.count = count;
        table
    }
}
