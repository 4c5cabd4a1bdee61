//! What a PICA200 geometry shader exchanges with its caller beside `v0` to `v15` and uniforms: the state that one
//! invocation leaves to the next, and the triangles it emits.

use shaderjit_ir::Array;

/// The most triangles one invocation may emit. Hardware has no bound; a loop of 256 rounds that emits a quad in each,
/// the most that particle shaders do, needs 512.
pub const MAX_TRIANGLES: u32 = 1024;

/// Four words of the state that outlives an invocation of a geometry shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StateRow {
    /// `r<n>`.
    Temporary(u8),
    /// `o<n>` in the bank that EMIT reads next.
    Output(u8),
    /// `o<n>` in the bank that EMIT reads after that.
    OtherOutput(u8),
    /// What the last EMIT to this vertex buffer found in `o<register>`.
    Vertex {
        /// The buffer, 0 to 2.
        buffer: u8,
        /// The output register.
        register: u8,
    },
    /// `a0.x`, `a0.y`, `aL`: signed numbers.
    Address,
    /// `cmp.x`, `cmp.y`: 0 or 1.
    Flags,
    /// What SETEMIT set: number of the vertex buffer, whether EMIT ends a triangle, whether that is inverted.
    Latch,
}

/// Where the function leaves an invocation's triangles: for each of three vertices the emitted registers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TriangleStore {
    /// In an array that is kept. Behind the rows of a triangle's vertices lies one whose x component is 1 if the
    /// triangle is inverted and else 0.
    Array(Array),
    /// Every invocation emits so many, and of each it is known whether it is inverted. Their rows are the last output
    /// elements, a triangle's behind those of the one before.
    Outputs(Vec<bool>),
}

/// The triangles of a geometry shader, and where its state is among the function's elements.
///
/// The function sees one invocation. What it may read of the state is input elements behind `v0` to `v15`, one for each
/// [`StateRow`] that the program names. Output element 0 is the number of triangles emitted and the number of EMITs
/// executed modulo 2; the elements behind it say which words of the state were written, four bits a row, eight rows a
/// word; behind those lie the rows themselves, in which only written words count, and behind these triangles that are
/// outputs.
///
/// Rows of outputs are relative to the bank that EMIT reads next: if EMIT was executed an odd number of times, the two
/// banks have changed places before the written words count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeometryInterface {
    /// Where triangles are.
    pub triangles: TriangleStore,
    /// How many triangles there is room for. If more are emitted, the count says one more than this.
    pub capacity: u32,
    /// For each output register the components that EMIT copies, bit 0 = x.
    pub components: [u8; 16],
    /// The rows of the state that the program names.
    pub state: Vec<StateRow>,
}

impl GeometryInterface {
    /// Number of input elements in front of the state: `v0` to `v15`.
    pub const VERTEX_INPUTS: usize = 16;

    /// Numbers of the registers that EMIT copies, ascending.
    pub fn registers(&self) -> impl Iterator<Item = usize> + Clone + use<'_> {
        (0..16).filter(|&register| self.components[register] != 0)
    }

    /// Rows of one triangle's vertices.
    pub fn rows(&self) -> usize {
        3 * self.registers().count()
    }

    /// The first output element of the triangles that are outputs.
    pub fn first_triangle_output(&self) -> usize {
        self.state_output(self.state.len())
    }

    /// Input element of row `index` of the state.
    pub fn state_input(&self, index: usize) -> usize {
        GeometryInterface::VERTEX_INPUTS + index
    }

    /// Number of output elements that say which words were written.
    pub fn written_outputs(&self) -> usize {
        self.state.len().div_ceil(32)
    }

    /// Output element and component of the word that has the bits of row `index`, and the lowest of its four bits.
    pub fn written_bits(index: usize) -> (usize, usize, u32) {
        (1 + index / 32, index / 8 % 4, 4 * (index % 8) as u32)
    }

    /// Output element of row `index` of the state.
    pub fn state_output(&self, index: usize) -> usize {
        1 + self.written_outputs() + index
    }
}
