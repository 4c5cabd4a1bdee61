//! SPIR-V modules → IR: Vulkan's shaders, bare or inside of a VBC.
//!
//! [`Module::decode`] splits words into instructions, [`opcode`] has the table of those that run, [`lower()`] makes IR
//! of one entry point, [`Listing`] prints a module as `spirv-dis` does. Numbers, names and operands are those of
//! Khronos's tables by way of the `spirv` and `rspirv` crates; what instructions mean is the SPIR-V specification's to
//! say, and what it leaves open that of Vulkan 1.2.

mod decode;
mod lower;
mod names;
pub mod opcode;
mod print;

pub use decode::{Instruction, MAGIC, Module};
pub use lower::{
    BlockLayout, BlockMember, BoundVariable, EntryPoint, InterfaceVariable, LowerOptions, Reflection,
    SpecializationConstant, entry_points, lower, reflect, stage,
};
pub use print::Listing;
