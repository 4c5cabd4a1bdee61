//! Function multiversioning: tasks compiled once for each kind of machine, with the vectors that it has.

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Floats, array};

/// What can be computed with one kind of vectors. All that it calls must be inlined into it.
pub trait Task<F: Floats> {
    type Output;

    fn run(self) -> Self::Output;
}

/// What can be computed with the vectors of every machine of the architecture.
#[cfg(target_arch = "x86_64")]
pub trait Multiversioned<O>:
    Task<array::Floats8, Output = O> + Task<x86::Floats8, Output = O> + Task<x86::Floats16, Output = O>
{
}

#[cfg(target_arch = "x86_64")]
impl<O, T> Multiversioned<O> for T where
    T: Task<array::Floats8, Output = O> + Task<x86::Floats8, Output = O> + Task<x86::Floats16, Output = O>
{
}

/// What can be computed with the vectors of every machine of the architecture.
#[cfg(not(target_arch = "x86_64"))]
pub trait Multiversioned<O>: Task<array::Floats8, Output = O> {}

#[cfg(not(target_arch = "x86_64"))]
impl<O, T: Task<array::Floats8, Output = O>> Multiversioned<O> for T {}

/// Proof that this machine has the vectors of a kind.
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

    /// Runs a task with this machine's vectors.
    pub fn run<O>(self, task: impl Multiversioned<O>) -> O {
        match self.0 {
            Kind::Least => array::Floats8::apart(task),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => x86::Floats8::apart(task),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => x86::Floats16::apart(task),
        }
    }
}
