//! Program bytes → instructions → IR. One folder an instruction set, the same files in each: `opcode.rs` (the table),
//! `operand.rs`, `decode.rs`, `encode.rs`, `print.rs`, `lower/`. [`d3d9`] is not lowered.

#[macro_use]
mod codes;
mod component;
pub mod d3d9;
mod debug;
mod emitter;
mod evaluate;
mod geometry;
mod interface;
pub mod pica;
pub mod pixel;
pub mod primitive;
pub mod sm4;
pub mod spirv;
mod threads;
mod token;
pub(crate) mod typed_buffer;

pub(crate) use debug::ArrayName;
pub use debug::{DebugInfo, RegisterName};
pub use geometry::{GeometryInterface, MAX_TRIANGLES, StateRow, TriangleStore};
pub use interface::{
    ComponentType, Element, Interface, Lowered, RepeatedRows, ResourceDecl, ResourceFile, ResourceKind, SamplerDecl,
    UniformDecl, UniformKind, UniformPreset,
};
pub(crate) use interface::{find, label};
pub(crate) use primitive::{
    DomainInterface, EmitterInterface, HullInterface, PrimitiveInputs, PrimitiveStage, StreamInterface, registers,
};
