//! Direct3D 9 shader tokens, versions 2.0 to 3.0: read, listed and written again. Nothing here is lowered.
//!
//! A container of a level-9 profile holds such a program beside the one of shader model 4. [`opcode`] and [`operand`]
//! hold the tables that everything else is derived from; [`Program::decode`] reads the tokens, [`Program::encode`]
//! gives them back, and `Display` prints them as the reference disassembler does. Layouts and numbers are those of
//! Microsoft's public `d3d9types.h` and its reference "Direct3D shader codes".

pub mod codes;
mod decode;
mod encode;
pub mod opcode;
pub mod operand;
mod print;

pub use codes::{Comparison, RegisterFile, SamplerType, SourceModifier, Stage, TextureLoad, Usage};
pub use decode::{Body, Declaration, Instruction, Operation, Program, Version};
pub use opcode::{InstructionSlots, Opcode};
pub use operand::Operand;

#[cfg(test)]
mod tests;
