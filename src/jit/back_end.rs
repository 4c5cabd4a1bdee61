//! The seam between planning and code: what a back end takes, what it gives back, and what it may refuse.

use super::{CodeInfo, Layout, Target};
use crate::error::JitError;
use shaderjit_ir::batch::BatchProgram;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes machine code of batch programs. It selects instructions, allocates registers and lays out a frame; what is
/// computed where, and what lies in memory, the program says.
///
/// A program has been [checked](shaderjit_ir::verify), and its bindings are within
/// [`limits::BINDINGS`](super::limits::BINDINGS). The code keeps the contract of [`abi`](super::abi).
pub trait BackEnd {
    /// Makes the code.
    ///
    /// # Errors
    /// [`JitError::Limit`] if the program or its code is over a bound. [`JitError::Codegen`] if the program reads an
    /// input that the layout does not have, or needs what this target has not.
    fn compile(&self, program: &BatchProgram, layout: &Layout, target: &Target) -> Result<Selected, JitError>;

    /// The source instructions that the code of [`compile`](Self::compile) was made for: by ascending offset in the
    /// code, the byte offset of an instruction, or `None` where the code is for none.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    fn origins(&self, program: &BatchProgram, layout: &Layout, target: &Target) -> Result<Origins, JitError>;
}

/// Offsets in machine code, and what was made there.
pub type Origins = Vec<(u32, Option<u32>)>;

/// What a back end gives back.
pub struct Selected {
    /// Machine code that needs no relocation and cannot fault.
    pub bytes: Vec<u8>,
    /// Bytes of its stack frame.
    pub stack_bytes: u64,
    /// What a call must know about it.
    pub info: CodeInfo,
}

/// Makes code, or what goes with it. A panic, which is a defect of a back end or of a library that it uses, is an
/// error: the interpreter runs the shader then. What `make` changes must not be used again after an error.
pub fn contained<T>(make: impl FnOnce() -> Result<T, JitError>) -> Result<T, JitError> {
    catch_unwind(AssertUnwindSafe(make))
        .unwrap_or_else(|_| Err(JitError::Codegen("a panic while making code".to_string())))
}
