//! Native code of a shader, and what can be said of it before it is there or when it cannot be.

use crate::compiled::CompiledShader;
use crate::error::JitError;
use crate::jit;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Whether native code runs a shader, and the reason if it does not. Results are the same either way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeStatus {
    /// Native code runs it.
    Ready,
    /// Native code is being made, see [`Backend::Tiered`](crate::Backend::Tiered). The interpreter runs it until then.
    Pending,
    /// It was compiled for the [interpreter](crate::Backend::Interpreter).
    NotRequested,
    /// The interpreter runs it for good: the program is [too large](JitError::Limit) for native code. For a tiered
    /// shader the reason may also be an error that `compile` would have returned, or that its engine is
    /// [gone](JitError::Abandoned).
    Refused(JitError),
}

/// Native code for one layout.
pub(crate) struct Native {
    pub code: jit::Code,
    /// The code for vertices for which a guard failed, made when one first does.
    pub exact: OnceLock<Result<jit::Code, JitError>>,
    pub time: Duration,
}

/// A shader that has native code: the one that was asked, or another of the same program.
pub(crate) enum Made<'a> {
    Here(&'a CompiledShader),
    Elsewhere(Arc<CompiledShader>),
}

impl Deref for Made<'_> {
    type Target = CompiledShader;

    fn deref(&self) -> &CompiledShader {
        match self {
            Made::Here(shader) => shader,
            Made::Elsewhere(shader) => shader,
        }
    }
}
