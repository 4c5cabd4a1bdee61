//! How large a function the text form may describe. Most data is no larger than its text; these bound what is not, and
//! what analyses and interpreters allocate for it.

/// Input and output elements.
pub const ELEMENTS: u32 = 1024;
/// Threads of a group.
pub const THREADS: u32 = 1 << 16;
/// Uniform spaces.
pub const SPACES: u32 = 256;
/// Resources.
pub const RESOURCES: u32 = 1024;
/// Samplers.
pub const SAMPLERS: u32 = 1024;
/// Rows of one table.
pub const TABLE_ROWS: u32 = 1 << 16;
/// Register arrays.
pub const ARRAYS: u32 = 1024;
/// Elements of one register array.
pub const ARRAY_ELEMENTS: u32 = 1 << 16;
/// Elements times components, of all register arrays together.
pub const ARRAY_CELLS: u32 = 1 << 18;
/// Blocks.
pub const BLOCKS: u32 = 1 << 16;
/// Parameters of one block, and values an edge gives.
pub const PARAMS: u32 = 1 << 12;
/// Cases of one switch.
pub const CASES: u32 = 1 << 12;
/// Instructions.
pub const INSTS: u32 = 1 << 20;
/// Values.
pub const VALUES: u32 = 1 << 20;
