//! A fast interpreter of lockstep functions: sixteen lanes an instruction, several waves side by side.
//!
//! A function is translated once into [`Bytecode`]: a list of instructions on *registers*, each of which holds a word
//! for every lane. What an op computes is the table in [`crate::eval`]; an instruction is one row of it on sixteen
//! lanes, in a loop that the compiler makes vector instructions of. [`Machine`] runs bytecode and keeps its memory from
//! run to run.
//!
//! * `compile` translates. Inputs, system values and literals are registers that are filled before a run; what
//!   depends on nothing but uniforms, resources and literals is computed once for many runs, by the *prologue*.
//!   `registers` says where values lie: one that is used in its own block alone shares its register with others.
//! * `dispatch` does one instruction after the other, `run` says which waves do: those that stand at the same
//!   instruction. Where they take different branches, the one that is furthest back goes first, so that they meet
//!   again; lanes of the others keep what they have. So each wave computes exactly what it would by itself, and pays
//!   the same fuel.
//! * `memory` is what instructions read and write beside registers.
//!
//! The reference is [`crate::interp`], which says plainly what the language means.

mod bytecode;
mod compile;
mod dispatch;
mod memory;
mod moves;
mod registers;
mod run;
#[cfg(test)]
mod tests;

pub use bytecode::Bytecode;
pub use run::{Machine, PhaseEnd, Shared};

use crate::eval::Lanes;
use crate::op::Op;
use thiserror::Error;

/// Lanes of a register.
pub const LANES: usize = 16;

/// A word for every lane.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(pub Lanes<LANES>);

impl Register {
    /// Zeros.
    pub const ZERO: Register = Register([0; LANES]);
}

/// A function has an op that only batch programs have, or one that is to be expanded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{op} is no op of a function that has been through all passes")]
pub struct NotPlain {
    /// The op.
    pub op: Op,
}
