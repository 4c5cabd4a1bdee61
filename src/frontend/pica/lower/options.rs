//! What callers choose.

use crate::frontend::pica::slots::RasterizerSlots;

/// How numbers are kept. The hardware has floats of 24 bits: one sign bit, 7 bits of exponent, 16 of mantissa.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FloatPrecision {
    /// As `f32`. Infinities and NaN are the hardware's, 0 · ∞ = 0 included; results have up to 7 bits more, and there
    /// is a -0.
    #[default]
    Fast,
    /// As the hardware's tests record them: what is bound is converted to 24 bits, and the result of every product, sum
    /// and function is rounded to 24 bits. There is no -0; arithmetic takes denormals for 0 and gives none, moves,
    /// minimum, maximum and comparisons leave them. How the hardware rounds is not known: this rounds to nearest, ties
    /// to even.
    Float24,
}

/// What becomes of a program's control flow. Every form computes the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowForm {
    /// A graph with one block for each state of program counter and rings, the fastest. Where that would be too large,
    /// the other form.
    #[default]
    Graph,
    /// One loop that goes through the program word by word: of one size for every program, and tens of times slower.
    /// Each word costs the fuel of a loop iteration.
    Dispatch,
}

/// How to lower a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LowerOptions {
    /// How numbers are kept.
    pub numbers: FloatPrecision,
    /// What becomes of control flow.
    pub flow: FlowForm,
    /// The bool uniforms, if the program is made for these alone: bit n is `bn`.
    pub bools: Option<u16>,
    /// The integer uniforms, if the program is made for these alone.
    pub ints: Option<[[u8; 4]; 4]>,
    /// What the rasteriser makes of a vertex shader's outputs: if given, the output elements are its slots, four an
    /// element.
    pub slots: Option<RasterizerSlots>,
    /// Whether to say what the function's values are in the program: [`Lowered::debug`](crate::frontend::Lowered).
    pub debug: bool,
}
