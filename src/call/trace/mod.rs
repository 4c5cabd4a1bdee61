//! Tracing: one invocation of a call, instruction by instruction of its program, on the reference interpreter.
//!
//! A [`Tracer`] is lent to a call of any kind. The call then runs as it always does, on whatever engine, but for the
//! wave that the invocation is in: that one runs the program as it was lowered, before any pass, so that every
//! instruction is there and writes what the program says. Results are those of the call without a tracer, and so are
//! effects on memory, unless lanes of a wave race through both arms of a branch: which comes first is open.
//!
//! | file | what it does |
//! |---|---|
//! | `step` | what is told of an instruction |
//! | `tracer` | which invocation is traced, and who is told |
//! | `watch` | records and instructions of the IR → steps |
//! | `runner` | the waves of a call, of which one is traced |

pub(super) mod runner;
mod step;
pub(super) mod tracer;
mod watch;

pub use step::{Step, TracedAccess, Write, WrittenAs};
pub use tracer::{Invocation, Tracer};
