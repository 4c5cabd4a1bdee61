//! What public types tell of the insides, for the tools and tests of this repository.

use crate::error::{Error, JitError};
use crate::frontend::Lowered;
use crate::jit::{self, Layout};
use crate::{CompileOptions, CompiledShader, Shader};
use shaderjit_ir::Function;
use shaderjit_ir::batch::{BatchProgram, Pass};

impl Shader {
    /// Decodes and lowers a program to the IR of one invocation. No pass has run on it yet.
    ///
    /// # Errors
    /// As [`interface`](Self::interface).
    pub fn lower(&self, options: &CompileOptions) -> Result<Lowered, Error> {
        self.lower_for(options)
    }
}

impl CompiledShader {
    /// The IR after every pass: what native code runs. Where a [guard](shaderjit_ir::Op::GuardOrdered) of it fails,
    /// native code of the program without guards runs instead, as the interpreter always does.
    pub fn function(&self) -> &Function {
        &self.prepared().function
    }

    /// What is planned of it for its layout, up to one of the passes: behind the last, the program that a back end
    /// selects instructions for.
    ///
    /// # Errors
    /// There is no native code, or it could not be planned again.
    pub fn batch_program(&self, last: Pass) -> Result<BatchProgram, JitError> {
        self.made_again(|function, layout, _, options| jit::plan(function, layout, options, last))
    }

    /// The source instructions that its native code was made for: see [`jit::origins`](crate::jit::origins).
    ///
    /// # Errors
    /// There is no native code, or it could not be made again.
    pub fn origins(&self) -> Result<Vec<(u32, Option<u32>)>, JitError> {
        self.made_again(jit::origins)
    }

    /// The layout it was compiled for: a format for each input element, the components stored of each output element.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}
