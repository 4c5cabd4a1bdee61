//! PICA200 (Nintendo 3DS) instruction words → IR.
//!
//! | file | what it does |
//! |---|---|
//! | [`opcode`] | the instruction set as one table of bit pictures |
//! | [`operand`] | registers, uniforms, operand descriptors, conditions |
//! | [`mod@decode`] | words → instructions |
//! | `encode` | instructions → words ([`Instruction::encode`](decode::Instruction::encode)) |
//! | `names` | what a listing calls registers and words |
//! | `print` | instructions → assembly text (`Display` of [`Program`]) |
//! | [`flow`] | the rings of CALL, IF and LOOP → a control-flow graph |
//! | `lower` | the graph and its instructions → IR ([`lower()`], [`lower_geometry`]) |
//! | `slots` | what the rasteriser makes of outputs ([`RasterizerSlots`]) |
//! | `shbin` | an executable of a SHBIN, constants included → IR ([`lower_shbin`]) |
//!
//! A program comes from a SHBIN, or from the words and descriptors an emulator holds:
//!
//! ```
//! use shaderjit::frontend::pica::{LowerOptions, decode, lower, operand::Address};
//!
//! // mov o0, v0 · end, with the one descriptor that changes nothing
//! let words = [0x4c00_0000, 0x8800_0000];
//! let program = decode(&words, &[0x0d86_c36f], 0)?;
//! assert_eq!(program.to_string(), "    000  mov o0, v0\n    001  end\n");
//! let lowered = lower(&program, Address(0), &LowerOptions::default())?;
//! assert_eq!((lowered.interface.inputs.len(), lowered.interface.outputs.len()), (16, 16));
//! # Ok::<(), shaderjit::Error>(())
//! ```

pub mod decode;
mod encode;
pub mod flow;
mod lower;
pub(crate) mod names;
pub mod opcode;
pub mod operand;
pub(crate) mod print;
mod shbin;
mod slots;

pub use decode::{MAX_DESCRIPTORS, MAX_WORDS, Program, decode};
pub use lower::{FloatPrecision, FlowForm, LowerOptions, lower, lower_geometry};
pub use shbin::{lower_dvoj, lower_shbin};
pub use slots::RasterizerSlots;

#[cfg(test)]
pub(crate) mod testing;
