//! Every bound of this stage, in one place. What is over one is refused with [`JitError::Limit`](crate::error::JitError::Limit).

/// Instructions, edges, block parameters and edge arguments of a function. Register allocation is worse than linear in it.
pub const FUNCTION_SIZE: u64 = 65_536;

/// Instructions of the function in Cranelift's form, before register allocation: some ops take dozens.
pub const EMITTED_INSTS: u64 = 262_144;

/// Bytes of native code.
pub const CODE_BYTES: u64 = 8 << 20;

/// Bytes of the native function's stack frame. Frames of more than a page are probed, so a thread with a smaller stack
/// meets its guard page.
pub const FRAME_BYTES: u64 = 256 << 10;

/// Bytes of register arrays for one group of lanes.
pub const SCRATCH_BYTES: u64 = 16 << 20;

/// Rows of a uniform space that loads with a fixed row may read without a check, because a call is given at least that many
/// readable rows. Fixed rows past it are checked like computed ones.
pub const STATIC_ROWS: u32 = 4096;

/// Rows of a uniform space that can be bound. Offsets of rows are 32-bit in native code.
pub const UNIFORM_ROWS: usize = (1 << 28) - 2;

/// Input and output elements, uniform spaces, and resources. More than any shader model has.
pub const BINDINGS: u64 = 4096;
