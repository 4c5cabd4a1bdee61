//! The machine code is generated for.

use super::cranelift::Isa;
use super::x64::Level;
use crate::error::JitError;
use std::fmt;
use std::sync::Arc;
use target_lexicon::Architecture;

/// A machine to generate code for: this one, or this one without its optional features. Cheap to clone and to share.
#[derive(Clone)]
pub struct Target {
    has_fma: bool,
    /// The wider vectors that it has, ascending.
    levels: &'static [Level],
    name: Arc<str>,
    isa: Isa,
}

impl Target {
    /// This machine with all that it has.
    ///
    /// # Errors
    /// [`JitError::Target`] if it is neither x86-64 with SSE4.1 nor AArch64.
    pub fn host() -> Result<Target, JitError> {
        Target::new(Isa::new(true)?, levels())
    }

    /// What every machine of this architecture has: on x86-64, SSE4.1 without AVX and FMA.
    ///
    /// # Errors
    /// [`JitError::Target`] as for [`host`](Target::host).
    pub fn baseline() -> Result<Target, JitError> {
        Target::host()?;
        Target::new(Isa::new(false)?, &[])
    }

    /// The same without vectors of more than so many lanes.
    pub fn up_to(mut self, lanes: u8) -> Target {
        let kept = self.levels.iter().take_while(|level| level.lanes() <= lanes).count();
        self.levels = &self.levels[..kept];
        self.name = name(&self.isa, self.levels);
        self
    }

    /// The same with the other way to gather and scatter words, if there are two: so that tests see both on any machine
    /// with AVX-512.
    #[cfg(test)]
    pub fn gathering_otherwise(mut self) -> Option<Target> {
        let Some(&Level::Avx512 { gathers }) = self.levels.last() else { return None };
        self.levels = avx512(!gathers);
        self.name = name(&self.isa, self.levels);
        Some(self)
    }

    fn new(isa: Isa, levels: &'static [Level]) -> Result<Target, JitError> {
        let features: Vec<&str> = isa.features().collect();
        let is_x86 = isa.triple().architecture == Architecture::X86_64;
        if is_x86 && !["has_sse41", "has_ssse3"].iter().all(|feature| features.contains(feature)) {
            return Err(JitError::Target("x86-64 without SSE4.1".to_string()));
        }
        let has_fma = !is_x86 || features.contains(&"has_fma");
        let name = name(&isa, levels);
        Ok(Target { has_fma, levels, name, isa })
    }

    /// Architecture and features, all that generated code depends on: part of a cache key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it multiplies and adds with one rounding. `expand` must be told: without it there may be no `fma` left.
    pub fn has_fma(&self) -> bool {
        self.has_fma
    }

    /// How many lanes a vector can have: always 4, 8 with AVX2, and 16 with AVX-512.
    pub fn lanes(&self) -> impl Iterator<Item = u8> {
        std::iter::once(4).chain(self.levels.iter().map(|level| level.lanes()))
    }

    /// The vectors that have so many lanes, if it has those.
    pub(super) fn level(&self, lanes: u8) -> Option<Level> {
        self.levels.iter().copied().find(|level| level.lanes() == lanes)
    }

    pub(super) fn is_x86(&self) -> bool {
        self.isa.triple().architecture == Architecture::X86_64
    }

    /// What Cranelift selects from.
    pub(super) fn cranelift(&self) -> &Isa {
        &self.isa
    }
}

/// Architecture, features and wider vectors.
fn name(isa: &Isa, levels: &[Level]) -> Arc<str> {
    let features: Vec<&str> = isa.features().collect();
    format!("{} {} {levels:?}", isa.triple(), features.join(" ")).into()
}

/// The wider vectors of this machine.
fn levels() -> &'static [Level] {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! has {
            ($($feature:tt)*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
        }
        let avx2 = has!("avx2" "fma" "bmi1" "bmi2" "lzcnt" "popcnt");
        if avx2 && has!("avx512f" "avx512vl" "avx512dq" "avx512bw" "avx512cd") {
            // Intel's processors with half floats gather several times as fast as word by word. On those before them
            // microcode against gather data sampling makes that slow.
            return avx512(has!("avx512fp16") && is_intel());
        }
        if avx2 {
            return &[Level::Avx2];
        }
    }
    &[]
}

/// AVX-512, and AVX2 below it.
#[cfg(any(test, target_arch = "x86_64"))]
fn avx512(gathers: bool) -> &'static [Level] {
    match gathers {
        true => &[Level::Avx2, Level::Avx512 { gathers: true }],
        false => &[Level::Avx2, Level::Avx512 { gathers: false }],
    }
}

/// Whether the processor says that Intel made it.
#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    let vendor = std::arch::x86_64::__cpuid(0);
    [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
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
