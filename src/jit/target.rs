//! The machine code is generated for.

use super::cranelift::Isa;
use super::x64::Level;
use crate::error::JitError;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;
use target_lexicon::Architecture;

/// Wider vectors than those of 128 bits, ascending.
type Levels = SmallVec<[Level; 2]>;

/// A machine to generate code for: this one, or this one without its optional features. Cheap to clone and to share.
#[derive(Clone)]
pub struct Target {
    has_fma: bool,
    /// The wider vectors that it has.
    levels: Levels,
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
        Target::new(Isa::new(false)?, Levels::new())
    }

    /// The same without vectors of more than so many lanes.
    pub fn up_to(mut self, lanes: u8) -> Target {
        self.levels.retain(|level| level.lanes() <= lanes);
        self.name = name(&self.isa, &self.levels);
        self
    }

    /// The same of a machine with AVX-512 that is another one in all that code is made for: so that tests see both ways
    /// on any that has it.
    #[cfg(test)]
    pub fn otherwise(mut self) -> Option<Target> {
        let Some(Level::Avx512 { gathers, halves }) = self.levels.last_mut() else { return None };
        (*gathers, *halves) = (!*gathers, !*halves);
        self.name = name(&self.isa, &self.levels);
        Some(self)
    }

    fn new(isa: Isa, levels: Levels) -> Result<Target, JitError> {
        let features: Vec<&str> = isa.features().collect();
        let is_x86 = isa.triple().architecture == Architecture::X86_64;
        if is_x86 && !["has_sse41", "has_ssse3"].iter().all(|feature| features.contains(feature)) {
            return Err(JitError::Target("x86-64 without SSE4.1".to_string()));
        }
        let has_fma = !is_x86 || features.contains(&"has_fma");
        let name = name(&isa, &levels);
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
#[cfg(target_arch = "x86_64")]
fn levels() -> Levels {
    macro_rules! has {
        ($($feature:tt)*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
    }
    let mut levels = Levels::new();
    if has!("avx2" "fma" "bmi1" "bmi2" "lzcnt" "popcnt") {
        levels.push(Level::Avx2);
        if has!("avx512f" "avx512vl" "avx512dq" "avx512bw" "avx512cd") {
            // Intel's processors with half floats gather several times as fast as word by word. On those before them
            // microcode against gather data sampling makes that slow.
            let gathers = has!("avx512fp16") && vendor() == *b"GenuineIntel";
            let halves = vendor() == *b"AuthenticAMD" && family() == ZEN_4;
            levels.push(Level::Avx512 { gathers, halves });
        }
    }
    levels
}

/// The same of an architecture that has none.
#[cfg(not(target_arch = "x86_64"))]
fn levels() -> Levels {
    Levels::new()
}

/// The family that Zen 4 is of. Others of that family have no AVX-512.
#[cfg(target_arch = "x86_64")]
const ZEN_4: u32 = 0x19;

/// Who made the processor.
#[cfg(target_arch = "x86_64")]
fn vendor() -> [u8; 12] {
    let vendor = std::arch::x86_64::__cpuid(0);
    let mut name = [0; 12];
    name.as_chunks_mut().0.copy_from_slice(&[vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes));
    name
}

/// The family that it is of.
#[cfg(target_arch = "x86_64")]
fn family() -> u32 {
    let version = std::arch::x86_64::__cpuid(1).eax;
    match version >> 8 & 0xf {
        0xf => 0xf + (version >> 20 & 0xff),
        family => family,
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
