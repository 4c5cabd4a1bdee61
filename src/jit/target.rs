//! The machine code is generated for.

use crate::error::JitError;
use cranelift_codegen::isa::{self, CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use std::fmt;
use target_lexicon::{Architecture, Triple};

/// A machine to generate code for: this one, or this one without its optional features. Cheap to clone and to share.
#[derive(Clone)]
pub struct Target {
    has_fma: bool,
    name: String,
    isa: OwnedTargetIsa,
    /// The same with registers allocated in one pass.
    quick: OwnedTargetIsa,
}

impl Target {
    /// This machine with all that it has.
    ///
    /// # Errors
    /// [`JitError::Target`] if it is neither x86-64 with SSE4.1 nor AArch64.
    pub fn host() -> Result<Target, JitError> {
        let mut builder = lookup()?;
        cranelift_native::infer_native_flags(&mut builder).map_err(|what| JitError::Target(what.to_string()))?;
        Target::new(&builder)
    }

    /// What every machine of this architecture has: on x86-64, SSE4.1 without AVX and FMA.
    ///
    /// # Errors
    /// [`JitError::Target`] as for [`host`](Target::host).
    pub fn baseline() -> Result<Target, JitError> {
        Target::host()?;
        let mut builder = lookup()?;
        if builder.triple().architecture == Architecture::X86_64 {
            for feature in ["has_sse3", "has_ssse3", "has_sse41"] {
                builder.enable(feature).map_err(|error| JitError::Target(error.to_string()))?;
            }
        }
        Target::new(&builder)
    }

    fn new(builder: &isa::Builder) -> Result<Target, JitError> {
        let [isa, quick] = [Target::finish(builder, "backtracking")?, Target::finish(builder, "single_pass")?];
        let features: Vec<&str> =
            isa.isa_flags().iter().filter(|flag| flag.as_bool() == Some(true)).map(|flag| flag.name).collect();
        let has_fma = match isa.triple().architecture {
            Architecture::X86_64 => features.contains(&"has_fma"),
            _ => true,
        };
        let sse41 = features.contains(&"has_sse41") && features.contains(&"has_ssse3");
        if isa.triple().architecture == Architecture::X86_64 && !sse41 {
            return Err(JitError::Target("x86-64 without SSE4.1".to_string()));
        }
        let name = format!("{} {}", isa.triple(), features.join(" "));
        Ok(Target { has_fma, name, isa, quick })
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

    /// Architecture and features, all that generated code depends on: part of a cache key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it multiplies and adds with one rounding. `expand` must be told: without it there may be no `fma` left.
    pub fn has_fma(&self) -> bool {
        self.has_fma
    }

    /// For functions so large that registers must be allocated in one pass, or for others.
    pub(super) fn isa(&self, is_large: bool) -> &OwnedTargetIsa {
        if is_large { &self.quick } else { &self.isa }
    }

    /// The convention of `extern "C"` functions.
    pub(super) fn call_conv(&self) -> CallConv {
        CallConv::triple_default(self.isa.triple())
    }

    pub(super) fn is_x86(&self) -> bool {
        self.isa.triple().architecture == Architecture::X86_64
    }
}

/// Only architectures for which [`call`](super::call) can set the floating-point mode.
fn lookup() -> Result<isa::Builder, JitError> {
    let host = Triple::host();
    match host.architecture {
        Architecture::X86_64 | Architecture::Aarch64(_) => {
            isa::lookup(host).map_err(|error| JitError::Target(error.to_string()))
        }
        other => Err(JitError::Target(other.to_string())),
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baseline_has_less_than_the_host() {
        let (host, baseline) = (Target::host().unwrap(), Target::baseline().unwrap());
        assert!(host.name().len() >= baseline.name().len());
        assert_eq!(baseline.has_fma(), !baseline.is_x86());
    }
}
