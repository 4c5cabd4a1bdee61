//! Direct3D shader model 4 and 5 tokens → IR.
//!
//! [`opcode`] and [`operand`] hold the tables that everything else here is derived from; [`Program::decode`] reads the tokens
//! of any stage, [`Listing`] prints them, [`lower()`] makes IR of vertex shaders. Layouts and numbers are those of Microsoft's public `d3d11TokenizedProgramFormat.hpp`.

pub mod codes;
pub mod custom_data;
pub mod declaration;
mod decode;
mod lower;
pub mod opcode;
pub mod operand;
mod print;
mod token;

pub use custom_data::CustomData;
pub use declaration::Declaration;
pub use decode::{Body, Instruction, Operation, Program, Version};
pub use lower::lower;
pub use opcode::Opcode;
pub use operand::{Operand, RegisterFile};
pub use print::{Dialect, Listing};
pub use token::{Extended, OpcodeToken, Test};

#[cfg(test)]
mod tests {
    use super::Program;
    use crate::error::DecodeError;

    /// The program part of a container, and its offset.
    pub(super) fn part(container: &[u8]) -> (&[u8], usize) {
        let dword = |at: usize| u32::from_le_bytes(container[at..at + 4].try_into().unwrap()) as usize;
        let mut parts = (0..dword(28)).map(|n| dword(32 + 4 * n));
        let at = parts.find(|&at| matches!(&container[at..at + 4], b"SHDR" | b"SHEX")).unwrap();
        (&container[at + 8..at + 8 + dword(at + 4)], at + 8)
    }

    /// A `vs_5_0` program of these tokens.
    pub(super) fn program(tokens: &[u32]) -> Result<Program, DecodeError> {
        let header = [0x0001_0050, tokens.len() as u32 + 2];
        Program::decode(&header.iter().chain(tokens).flat_map(|dword| dword.to_le_bytes()).collect::<Vec<_>>(), 0)
    }
}
