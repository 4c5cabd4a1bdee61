//! Every bound of this stage, in one place. What is over one is refused with
//! [`JitError::Limit`](crate::error::JitError::Limit).

/// Instructions, edges, block parameters and edge arguments of a function. Register allocation is worse than linear in
/// it.
pub const FUNCTION_SIZE: u64 = 65_536;

/// Instructions of the function in Cranelift's form, before register allocation: some ops take dozens.
pub const EMITTED_INSTS: u64 = 262_144;

/// Bytes of native code.
pub const CODE_BYTES: u64 = 8 << 20;

/// Above so many instructions in Cranelift's form, registers are allocated in one pass. The thorough way takes more
/// than a second then, ten times the instructions fifty times as long; code of the quick way is about twice as large.
pub const THOROUGH_INSTS: usize = 1 << 15;

/// Nor where values are live over more instructions than this, all of them added up:
/// `cranelift/pressure.rs`. The thorough way takes about a tenth of a microsecond for each.
pub const THOROUGH_AREA: u64 = 1 << 21;

/// Cranelift's working memory that has seen more instructions than this is not kept: it is slower for every small
/// function after it.
pub const KEPT_INSTS: usize = 1 << 13;

/// The same for our own back end, whose working memory is less than two hundred bytes for each machine instruction, so
/// 25 MB at most. The system takes a tenth of the time of a long function to find and clear it anew.
pub const KEPT_MACHINE_INSTS: usize = 1 << 17;

/// Up to this many bytes of a vertex buffer are taken to be in a cache: its rows are not prefetched. On an AMD EPYC
/// with 32 MB in its third-level cache prefetching costs 2 to 5 % of K2 and K4 up to here, and at three times as many
/// bytes saves a fifth to a third.
pub const CACHED_BYTES: usize = 1 << 22;

/// Bytes of the native function's stack frame: a quarter of what Rust gives a thread. Frames of more than a page are
/// probed, so a thread with a smaller stack meets its guard page.
pub const FRAME_BYTES: u64 = 512 << 10;

/// Bytes of the stack beside the frame: the return address and saved registers, and what the functions take that native
/// code calls.
pub const CALLEE_STACK_BYTES: usize = 4096;

/// Bytes of register arrays for one wave.
pub const SCRATCH_BYTES: u64 = 16 << 20;

/// Rows that a computed row of a uniform space reaches without another check: loads at the same index plus different
/// fixed rows share one check for each so many fixed rows. A power of two.
pub const WINDOW_ROWS: u32 = 8;

/// Rows of a uniform space that can be bound. Offsets of rows, counted from the window in front of row 0, are 32-bit in
/// native code.
pub const UNIFORM_ROWS: usize = (1 << 28) - 1 - WINDOW_ROWS as usize;

/// Input and output elements, uniform spaces, and resources. More than any shader model has.
pub const BINDINGS: u64 = 4096;
