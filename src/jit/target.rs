//! The machine code is generated for.

use super::cranelift::Isa;
use crate::error::JitError;
use std::fmt;
use target_lexicon::Architecture;

/// A machine to generate code for: this one, or this one without its optional features. Cheap to clone and to share.
#[derive(Clone)]
pub struct Target {
    has_fma: bool,
    name: String,
    isa: Isa,
}

impl Target {
    /// This machine with all that it has.
    ///
    /// # Errors
    /// [`JitError::Target`] if it is neither x86-64 with SSE4.1 nor AArch64.
    pub fn host() -> Result<Target, JitError> {
        Target::new(Isa::new(true)?)
    }

    /// What every machine of this architecture has: on x86-64, SSE4.1 without AVX and FMA.
    ///
    /// # Errors
    /// [`JitError::Target`] as for [`host`](Target::host).
    pub fn baseline() -> Result<Target, JitError> {
        Target::host()?;
        Target::new(Isa::new(false)?)
    }

    fn new(isa: Isa) -> Result<Target, JitError> {
        let features: Vec<&str> = isa.features().collect();
        let is_x86 = isa.triple().architecture == Architecture::X86_64;
        if is_x86 && !["has_sse41", "has_ssse3"].iter().all(|feature| features.contains(feature)) {
            return Err(JitError::Target("x86-64 without SSE4.1".to_string()));
        }
        let has_fma = !is_x86 || features.contains(&"has_fma");
        let name = format!("{} {}", isa.triple(), features.join(" "));
        Ok(Target { has_fma, name, isa })
    }

    /// Architecture and features, all that generated code depends on: part of a cache key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it multiplies and adds with one rounding. `expand` must be told: without it there may be no `fma` left.
    pub fn has_fma(&self) -> bool {
        self.has_fma
    }

    pub(super) fn is_x86(&self) -> bool {
        self.isa.triple().architecture == Architecture::X86_64
    }

    /// What Cranelift selects from.
    pub(super) fn cranelift(&self) -> &Isa {
        &self.isa
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
