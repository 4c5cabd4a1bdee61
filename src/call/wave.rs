//! The seam between engines and kinds of call.
//!
//! An engine runs *waves*: so many invocations side by side as it has lanes. [`WaveRunner`] is all that a kind of call
//! sees of one, and each kind is a [`Driver`] on it, which says what the waves are: vertices, invocations of a geometry
//! shader. `engine` alone chooses between the runners.
//!
//! The trait has two ways to run, because they are two ways into the same engine with the same bindings. A driver that
//! looks at every wave sets its inputs, runs it and reads what it left. Vertices are far too many for that: native code
//! shades a [`Block`] of them in one call, between buffers, and where a guard fails it takes up a block in the middle;
//! the interpreter runs several of a block's waves side by side. A trait for each way would need its runners made
//! twice.

use super::bindings::Call;
use super::outputs::OutputLayout;
use super::pixels::quad::Quad;
use super::uniforms::BoundSpaces;
use super::vertex_buffer::VertexBufferView;
use super::work::Work;
use crate::error::CallError;
use shaderjit_ir::Array;
use shaderjit_ir::fuel::Fuel;
use shaderjit_ir::texture::Textures;

/// What a runner is made with.
#[derive(Clone, Copy)]
pub(super) struct Bound<'c, 'a> {
    /// A call whose bindings are checked.
    pub call: &'c Call<'a>,
    /// One entry a resource.
    pub resources: &'c [&'c [u8]],
    /// What accesses of textures and memory are passed on to.
    pub textures: &'c dyn Textures,
    /// What the call may take.
    pub fuel: Fuel<'c>,
}

/// What the invocations of a wave share. Resources, textures and the instance are those of the call.
pub(super) struct Wave<'w> {
    pub spaces: &'w BoundSpaces,
    /// Whether they may hold anything else than for the wave before. There is none before the first.
    pub spaces_changed: bool,
    /// The number that the invocation in lane 0 sees; it rises by one a lane.
    pub first: u32,
    /// How many there are, from lane 0 on. The lanes behind repeat the last.
    pub count: usize,
}

/// Vertices that lie one behind the other, and so do their outputs.
#[derive(Clone, Copy)]
pub(super) struct Block<'b> {
    /// One entry an input element, the first vertex's bytes first.
    pub attributes: &'b [VertexBufferView<'b>],
    /// Number of vertices.
    pub count: u32,
    /// The number the shader sees for the first.
    pub first_vertex: u32,
    /// Where the outputs go.
    pub layout: &'b OutputLayout,
    /// Row of them that the first vertex gets.
    pub first_row: usize,
    /// The uniforms, which the runner may have seen with other rows.
    pub spaces: &'b BoundSpaces,
    /// The quads that they are the pixels of, if they are.
    pub quads: Option<&'b [Quad]>,
}

/// Thread groups of the same size.
pub(super) trait Groups {
    /// Which group comes next, by its number in x, y and z.
    fn next(&mut self) -> Option<[u32; 3]>;

    /// Makes what a group shares zero. Native code does so itself.
    fn clear(&self);

    /// The uniform space of which the first row is the group's number, if the program asks for that.
    fn number_space(&self) -> Option<usize>;

    /// The uniforms as the group of that number sees them.
    fn spaces(&mut self, number: [u32; 3]) -> &BoundSpaces;
}

/// An engine with everything bound but inputs and outputs.
pub(super) trait WaveRunner {
    /// Invocations of a wave.
    fn lanes(&self) -> usize;

    /// Sets what a lane reads of an input element.
    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]);

    /// Runs a wave.
    fn run(&mut self, wave: &Wave<'_>) -> Result<(), CallError>;

    /// What a lane stored to an output element.
    fn output(&self, element: usize, lane: usize) -> [u32; 4];

    /// Appends what a lane stored to `count` elements of an array of four components.
    fn read_array(&self, array: Array, first: u32, count: u32, lane: usize, rows: &mut Vec<[u32; 4]>);

    /// Runs groups of so many threads one after the other, all waves of a group phase by phase.
    fn run_groups(&mut self, threads: u32, groups: &mut dyn Groups) -> Result<(), CallError>;

    /// Shades a block, and stores its outputs in a buffer. The inputs of a wave are not
    /// defined afterwards.
    fn run_block(&mut self, block: &Block<'_>, bytes: &mut [u8]) -> Result<(), CallError>;
}

/// A call whose bindings are checked: what it runs.
pub(super) trait Driver<'a> {
    /// Runs it.
    fn drive(self, waves: &mut impl WaveRunner, work: &mut Work<'a>) -> Result<(), CallError>;
}
