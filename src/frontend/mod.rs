//! Program bytes → instructions → IR. One folder an instruction set, the same five files in each: `opcode.rs` (the table),
//! `operand.rs`, `decode.rs`, `print.rs`, `lower.rs`.

mod interface;
pub mod pica;
pub mod sm4;

pub use interface::{
    ComponentType, Element, Interface, Lowered, ResourceDecl, ResourceKind, SamplerDecl, UniformDecl, UniformKind,
    UniformPreset,
};
