//! The IR's fast interpreter, compiled once for each kind of machine: its loops over lanes become the vector
//! instructions that the machine has.

use shaderjit_ir::fuel::{Fuel, Stop};
use shaderjit_ir::vm::{Machine, Shared};

/// Whether machines of this architecture that have nothing optional can round a sum and product once.
const HAS_FMA: bool = cfg!(target_arch = "aarch64");

/// What the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// What every machine of the architecture has.
    Least,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Proof that this machine has what the loops are compiled for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loops(Level);

impl Loops {
    /// The widest that run here.
    pub fn detect() -> Loops {
        Loops::available().next().unwrap_or(Loops(Level::Least))
    }

    /// All that run here, the widest first.
    pub fn available() -> impl Iterator<Item = Loops> {
        #[cfg(target_arch = "x86_64")]
        let optional = {
            let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let has_avx512 = has_avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw");
            [has_avx512.then_some(Level::Avx512), has_avx2.then_some(Level::Avx2)]
        };
        #[cfg(not(target_arch = "x86_64"))]
        let optional = [];
        optional.into_iter().flatten().chain([Level::Least]).map(Loops)
    }

    /// [`Machine::bind`].
    pub fn bind(self, machine: &mut Machine<'_>, shared: &Shared<'_>, instance_id: u32) {
        match self.0 {
            Level::Least => machine.bind::<HAS_FMA>(shared, instance_id),
            // SAFETY: `detect` has found the features, and nothing else makes the value.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::bind(machine, shared, instance_id) },
            // SAFETY: the same.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512::bind(machine, shared, instance_id) },
        }
    }

    /// [`Machine::run`].
    ///
    /// # Errors
    /// As there.
    pub fn run(self, machine: &mut Machine<'_>, shared: &Shared<'_>, waves: usize, fuel: Fuel<'_>) -> Result<(), Stop> {
        match self.0 {
            Level::Least => machine.run::<HAS_FMA>(shared, waves, fuel),
            // SAFETY: as in `bind`.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::run(machine, shared, waves, fuel) },
            // SAFETY: as in `bind`.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512::run(machine, shared, waves, fuel) },
        }
    }
}

/// Defines a module with the interpreter's functions compiled for some features.
macro_rules! compiled_for {
    ($name:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        mod $name {
            use super::*;

            #[target_feature(enable = $features)]
            pub fn bind(machine: &mut Machine<'_>, shared: &Shared<'_>, instance_id: u32) {
                machine.bind::<true>(shared, instance_id);
            }

            #[target_feature(enable = $features)]
            pub fn run(
                machine: &mut Machine<'_>,
                shared: &Shared<'_>,
                waves: usize,
                fuel: Fuel<'_>,
            ) -> Result<(), Stop> {
                machine.run::<true>(shared, waves, fuel)
            }
        }
    };
}

compiled_for!(avx2, "avx2,fma");
compiled_for!(avx512, "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw");
