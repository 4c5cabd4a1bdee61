//! What public types tell of the insides, for the tools and tests of this repository.

use crate::error::Error;
use crate::frontend::Lowered;
use crate::jit::Layout;
use crate::{CompileOptions, CompiledShader, Shader};
use shaderjit_ir::Function;

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

    /// The layout it was compiled for: a format for each input element, the components stored of each output element.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}
