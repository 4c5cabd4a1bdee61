//! Accesses compiled once for each kind of machine (function multiversioning), with the vectors that it has.

use super::access::{Asked, answer};
use super::filter::{Filtering, Kernel, Position};
use super::lanes::Texels;
use super::simd::{self, Floats};
use shaderjit_ir::texture::Rows;

/// Proof that this machine has what a function is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Machine(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What every machine of the architecture has.
    Least,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Machine {
    /// This one.
    pub fn detect() -> Machine {
        Machine::available().next().unwrap_or(Machine(Kind::Least))
    }

    /// All that run here, the widest first.
    pub fn available() -> impl Iterator<Item = Machine> {
        #[cfg(target_arch = "x86_64")]
        let optional = {
            let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let has_avx512 = has_avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw");
            [has_avx512.then_some(Kind::Avx512), has_avx2.then_some(Kind::Avx2)]
        };
        #[cfg(not(target_arch = "x86_64"))]
        let optional = [None, None];
        optional.into_iter().flatten().chain([Kind::Least]).map(Machine)
    }

    /// [`answer`].
    pub fn answer(self, asked: &Asked<'_>, rows: &mut Rows) {
        match self.0 {
            Kind::Least => least::run(asked, rows),
            // SAFETY: `available` has found the features, and nothing else makes the value.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { avx2::run(asked, rows) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { avx512::run(asked, rows) },
        }
    }
}

macro_rules! for_machine {
    ($name:ident: $floats:ty $(, with $features:literal)?) => {
        mod $name {
            use super::*;

            type Words = <$floats as Floats>::Words;

            $( #[target_feature(enable = $features)] )?
            pub fn run(asked: &Asked<'_>, rows: &mut Rows) {
                let at_levels = |asked: &Filtering<'_, $floats>, at: &_, levels: &[_], kernel| at_levels(asked, at, levels, kernel);
                answer::<$floats>(asked, rows, &at_levels);
            }

            $( #[target_feature(enable = $features)] )?
            fn at_levels(
                asked: &Filtering<'_, $floats>,
                at: &Position<$floats>,
                levels: &[Words],
                kernel: Kernel<$floats>,
            ) -> [Texels<$floats>; 2] {
                asked.at_levels(at, levels, kernel)
            }
        }
    };
}

for_machine!(least: simd::array::Floats8);
#[cfg(target_arch = "x86_64")]
for_machine!(avx2: simd::x86::Floats8, with "avx2,fma");
#[cfg(target_arch = "x86_64")]
for_machine!(avx512: simd::x86::Floats16, with "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw");
