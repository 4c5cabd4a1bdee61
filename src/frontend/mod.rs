//! Program bytes → instructions → IR. One folder an instruction set, the same files in each: `opcode.rs` (the table),
//! `operand.rs`, `decode.rs`, `encode.rs`, `print.rs`, `lower/`. [`d3d9`] is not lowered.

#[macro_use]
mod codes;
mod component;
pub mod d3d9;
mod geometry;
mod interface;
pub mod pica;
pub mod sm4;
mod token;

pub use geometry::{GeometryInterface, MAX_TRIANGLES, StateRow};
pub use interface::{
    ComponentType, Element, Interface, Lowered, RepeatedRows, ResourceDecl, ResourceFile, ResourceKind, SamplerDecl,
    UniformDecl, UniformKind, UniformPreset,
};
pub(crate) use interface::{find, label};
