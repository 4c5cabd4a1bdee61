//! What is told of an instruction that a traced invocation has run.

use crate::frontend::RegisterName;
use std::sync::Arc;

/// One instruction of the program, run once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// How many times the invocation has run before, for those that a call runs several times.
    pub run: u32,
    /// Byte offset of the instruction in the container.
    pub offset: u32,
    /// The instruction as listings have it; empty if they do not.
    pub text: Arc<str>,
    /// How many times the invocation has run the instruction, this time included.
    pub visit: u64,
    /// What it wrote, in order.
    pub writes: Vec<Write>,
    /// What it asked of textures and memory.
    pub accesses: Vec<TracedAccess>,
    /// Whether its test held, if it made one.
    pub test: Option<bool>,
    /// Whether it went back to the start of a loop.
    pub goes_back: bool,
}

/// What a component of a register has become.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Write {
    /// Which.
    pub register: RegisterName,
    /// What it is now.
    pub bits: u32,
    /// What the instruction computed.
    pub kind: WrittenAs,
}

/// What registers, which have no types, are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WrittenAs {
    /// The result of arithmetic on floats.
    Float,
    /// The result of arithmetic on integers, or a truth value.
    Integer,
    /// Bits that were moved or loaded, and may be either.
    Bits,
}

impl Write {
    /// Whether it is a NaN. Bits that were moved count as floats, all ones apart: Direct3D's `true`.
    pub fn is_nan(&self) -> bool {
        self.is_float() && f32::from_bits(self.bits).is_nan()
    }

    /// Whether it is an infinity. Bits that were moved count as floats.
    pub fn is_infinite(&self) -> bool {
        self.is_float() && f32::from_bits(self.bits).is_infinite()
    }

    fn is_float(&self) -> bool {
        match self.kind {
            WrittenAs::Float => true,
            WrittenAs::Integer => false,
            WrittenAs::Bits => self.bits != u32::MAX,
        }
    }
}

/// A question to a texture, or an access to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedAccess {
    /// What was done, as the IR calls it: `sample_level`, `memory_store`.
    pub op: &'static str,
    /// On what: `t0`, `u1`, `g0`.
    pub resource: String,
    /// Through which sampler.
    pub sampler: Option<String>,
    /// The words of each operand: addresses, then what is stored.
    pub operands: Vec<Vec<u32>>,
    /// Whether addresses are floats.
    pub is_filtered: bool,
    /// What came of it, if anything does.
    pub result: Option<Vec<u32>>,
}
