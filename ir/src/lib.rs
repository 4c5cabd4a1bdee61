//! The SSA IR of shaderjit.
#![forbid(unsafe_code)]

pub mod entity;
pub mod pass;

pub use entity::{Array, Block, Inst, Space, Value, Variable};

/// Placeholder until the function type lands.
#[derive(Clone, Debug)]
pub struct Function;
