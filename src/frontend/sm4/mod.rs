//! Direct3D shader model 4 and 5 tokens → IR.
//!
//! [`opcode`] and [`operand`] hold the tables that everything else here is derived from; [`Program::decode`] reads the
//! tokens of any stage, [`Program::encode`] gives them back, [`Listing`] prints them, [`lower()`] makes IR of vertex
//! shaders. Layouts and numbers are those of Microsoft's public `d3d11TokenizedProgramFormat.hpp`.

pub mod codes;
pub mod custom_data;
pub mod declaration;
mod decode;
mod dialect;
mod encode;
mod lower;
pub mod opcode;
pub mod operand;
mod print;
mod register_file;
#[cfg(test)]
pub(crate) mod testing;
mod token;

pub use codes::{GlobalFlags, Stage};
pub use custom_data::CustomData;
pub use declaration::Declaration;
pub use decode::{Body, Instruction, Operation, Program, Version};
pub use dialect::Dialect;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use lower::without_status;
pub use lower::{ClassInstance, LowerOptions, Signatures, lower, lower_with, runs};
pub use opcode::{Group, Opcode};
pub use operand::{Operand, RegisterFile};
pub use print::Listing;
pub use token::{Extended, OpcodeToken, Test};
