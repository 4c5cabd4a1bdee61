//! The oracle of thread groups: one reference interpreter a wave, run barrier by barrier. It knows nothing of cuts.

use shaderjit_ir::Function;
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};

/// Why the waves of a group do not all come to their end.
#[derive(Debug)]
pub enum Halt {
    /// They came to different barriers, or some to a barrier and some to the end.
    Parted,
    /// One of them stopped.
    Stopped(InterpError),
}

impl From<InterpError> for Halt {
    fn from(error: InterpError) -> Halt {
        Halt::Stopped(error)
    }
}

/// Runs a group, whose waves have these bindings: each up to a barrier before any goes on. What is left are their
/// interpreters, for the outputs.
pub fn run_waves<'f, const L: usize>(
    func: &'f Function,
    waves: &[Bindings<'_, L>],
    options: &InterpOptions<'_>,
) -> Result<Vec<Interpreter<'f, L>>, Halt> {
    let mut interpreters: Vec<_> = waves.iter().map(|_| Interpreter::new(func)).collect();
    let runs: Result<Vec<_>, _> = interpreters.iter_mut().map(|interpreter| interpreter.begin(options)).collect();
    let mut runs = runs?;
    loop {
        let mut ends = Vec::with_capacity(waves.len());
        for ((interpreter, run), bindings) in interpreters.iter_mut().zip(&mut runs).zip(waves) {
            let end = interpreter.run_until_barrier(run, bindings, options)?;
            ends.push(end.map(|inst| func.insts[inst].origin));
        }
        if !come_together(&ends)? {
            return Ok(interpreters);
        }
    }
}

/// Whether all waves have come to the same: a barrier, which has an offset, or the end.
pub fn come_together<T: PartialEq>(ends: &[Option<T>]) -> Result<bool, Halt> {
    if ends.iter().all(|end| *end == ends[0]) { Ok(ends[0].is_some()) } else { Err(Halt::Parted) }
}
