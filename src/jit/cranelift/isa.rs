//! Cranelift's instruction sets for a machine.

use crate::error::JitError;
use cranelift_codegen::isa::{self, CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use target_lexicon::{Architecture, Triple};

/// A machine's instructions, to be selected in two ways. Cheap to clone and to share.
#[derive(Clone)]
pub struct Isa {
    thorough: OwnedTargetIsa,
    /// The same with registers allocated in one pass.
    quick: OwnedTargetIsa,
}

impl Isa {
    /// This machine with all that it has, or what every machine of its architecture has: on x86-64, SSE4.1 without AVX
    /// and FMA.
    ///
    /// # Errors
    /// [`JitError::Target`] if Cranelift or [`call`](crate::jit) does not know it.
    pub fn new(with_all: bool) -> Result<Isa, JitError> {
        let host = Triple::host();
        // Others have modes that `call` cannot set.
        if !matches!(host.architecture, Architecture::X86_64 | Architecture::Aarch64(_)) {
            return Err(JitError::Target(host.architecture.to_string()));
        }
        let mut builder = isa::lookup(host).map_err(|error| JitError::Target(error.to_string()))?;
        if with_all {
            cranelift_native::infer_native_flags(&mut builder).map_err(|what| JitError::Target(what.to_string()))?;
        } else if builder.triple().architecture == Architecture::X86_64 {
            for feature in ["has_sse3", "has_ssse3", "has_sse41"] {
                builder.enable(feature).map_err(|error| JitError::Target(error.to_string()))?;
            }
        }
        Ok(Isa { thorough: finish(&builder, "backtracking")?, quick: finish(&builder, "single_pass")? })
    }

    /// The machine's architecture and system.
    pub fn triple(&self) -> &Triple {
        self.thorough.triple()
    }

    /// The optional instructions that are used.
    pub fn features(&self) -> impl Iterator<Item = &'static str> {
        self.thorough.isa_flags().into_iter().filter(|flag| flag.as_bool() == Some(true)).map(|flag| flag.name)
    }

    /// For functions so large that registers must be allocated in one pass, or for others.
    pub fn select(&self, is_large: bool) -> &OwnedTargetIsa {
        if is_large { &self.quick } else { &self.thorough }
    }

    /// The convention of `extern "C"` functions.
    pub fn call_conv(&self) -> CallConv {
        CallConv::triple_default(self.triple())
    }
}

fn finish(builder: &isa::Builder, allocator: &str) -> Result<OwnedTargetIsa, JitError> {
    let mut flags = settings::builder();
    let values = [
        // The IR is optimised already; Cranelift's own optimiser makes vector code slower.
        ("opt_level", "none"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        // Nothing unwinds through native code.
        ("unwind_info", "false"),
        // A large frame must meet the guard page, not jump over it.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        ("regalloc_algorithm", allocator),
    ];
    for (name, value) in values {
        flags.set(name, value).map_err(|error| JitError::Target(error.to_string()))?;
    }
    builder.finish(settings::Flags::new(flags)).map_err(|error| JitError::Target(error.to_string()))
}
