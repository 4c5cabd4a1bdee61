//! PICA200 (Nintendo 3DS) instruction words → IR.
//!
//! | file | what it does |
//! |---|---|
//! | [`opcode`] | the instruction set as one table of bit pictures |
//! | [`operand`] | registers, uniforms, operand descriptors, conditions |
//! | [`decode`] | words → instructions |
//! | `print` | instructions → assembly text (`Display` of [`Program`]) |
//! | [`flow`] | the rings of CALL, IF and LOOP → a control-flow graph |
//! | `lower` | the graph and its instructions → IR ([`lower()`]) |

pub mod decode;
pub mod flow;
mod lower;
pub mod opcode;
pub mod operand;
mod print;

pub use decode::{MAX_DESCRIPTORS, MAX_WORDS, Program, decode};
pub use lower::lower;

#[cfg(test)]
mod testing;
