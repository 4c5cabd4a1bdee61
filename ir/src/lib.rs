//! The SSA IR of shaderjit: what **one** invocation of a shader does, and how many are made to run in lockstep.
//!
//! # Rules
//! * **Shape.** A [`Function`] is a control-flow graph of blocks with block parameters. Values are scalars (rows
//!   apart), defined once, and used only where their definition dominates. The entry block has no parameters and no
//!   predecessors.
//! * **Types.** `i1`, `i32`, `f32`, `f64`, and `row` for four words that texture accesses take and give. Registers of
//!   source programs hold bit patterns: moves, `select`, loads, stores and block parameters never change a bit,
//!   whatever the type. Only arithmetic does.
//! * **Totality.** Every op is defined for all operands: no traps, no undefined results. Inactive lanes may compute
//!   garbage.
//! * **Floats.** `f32` arithmetic flushes denormal operands and results to zero of the same sign; NaN payloads (and
//!   signs of NaN results) are not defined, everything else is exact to the bit. Floats are never reassociated, and
//!   `x * 1`, `x + 0` or `max(x, x)` are never simplified: they flush. `f64` arithmetic keeps denormals and has one
//!   NaN: [`double`].
//! * **Memory** that nobody else writes is four small things: uniform spaces (rows of 16 bytes, read-only), resources
//!   (bytes or [textures](texture), read-only), register arrays (per invocation, zero at the start), output elements
//!   (zero at the start, last write wins). Reads out of range give zero, writes are dropped. A register array that is
//!   *kept* is only written, and read by the caller: what an invocation emits. Besides there is [memory] that
//!   invocations share and write.
//! * **Order.** Instructions of a block run in order. Pure ones may be moved, merged or dropped; writes stay. Effects
//!   on memory happen by phase, wave and lane: all waves of a group come to a barrier before any goes on, between two
//!   barriers one wave runs after the other, and an instruction writes lane by lane.
//! * **Lanes.** A value is *uniform* if it is the same in every lane that computes it, else *divergent*
//!   ([`uniform`]). In **lockstep form** (`Function::lockstep`, made by [`pass::lockstep`]) every branch is on a
//!   uniform value, so L lanes can run the code together; stores of divergent parts carry masks, and outputs are set
//!   once, in the one returning block.
//! * **Fuel.** Every cycle has an edge that goes backwards in the layout (or to the same block); each time one is taken
//!   costs what the blocks between its ends weigh ([`fuel`]).
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod batch;
pub mod bounds;
pub mod builder;
pub mod cfg;
pub mod dom;
pub mod double;
pub mod entity;
pub mod eval;
mod float;
pub mod fuel;
pub mod function;
mod fused;
mod graph;
mod instruction;
pub mod interp;
pub mod loops;
pub mod memory;
pub mod op;
pub mod packing;
pub mod parse;
pub mod pass;
pub mod pressure;
pub mod print;
pub mod ranges;
pub mod records;
pub mod region;
mod rings;
pub mod set;
mod signature;
pub mod texture;
pub mod trace;
pub mod types;
pub mod uniform;
pub mod uses;
pub mod verify;
pub mod vm;

pub use builder::FunctionBuilder;
pub use entity::{Array, Block, Inst, Resource, Sampler, Space, Value, Variable};
pub use function::Function;
pub use op::{Op, SysVal};
pub use types::Type;
