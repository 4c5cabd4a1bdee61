//! What bounds a call while it runs: the fuel of its waves, a flag that cancels it, a deadline.

use super::Call;
use shaderjit_ir::fuel::Fuel;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// What a caller has set.
#[derive(Clone, Copy, Default)]
pub(super) struct Bounds<'a> {
    cancel: Option<&'a AtomicBool>,
    deadline: Option<Instant>,
}

impl Bounds<'_> {
    fn is_over(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl<'a> Call<'a> {
    /// Ends runs with [`Cancelled`](crate::error::CallError::Cancelled) once the flag is set, by whichever thread:
    /// between waves of vertices, and in loops every 65 536 instructions, well under a millisecond. Outputs that were
    /// stored before stay.
    ///
    /// ```
    /// use shaderjit::error::CallError;
    /// use shaderjit::{CompileOptions, Config, Engine, Shader};
    /// use std::sync::atomic::AtomicBool;
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// let cancel = AtomicBool::new(true);
    /// let mut call = code.call();
    /// call.unbound_as_zero(true).cancel_on(&cancel);
    /// assert_eq!(call.run(0..3).unwrap_err(), CallError::Cancelled);
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    pub fn cancel_on(&mut self, flag: &'a AtomicBool) -> &mut Call<'a> {
        self.bounds.cancel = Some(flag);
        self
    }

    /// Ends runs with [`Cancelled`](crate::error::CallError::Cancelled) at that time. The clock is read as often as
    /// [a flag](Self::cancel_on). An access to the caller's own textures is not interrupted.
    pub fn deadline(&mut self, end: Instant) -> &mut Call<'a> {
        self.bounds.deadline = Some(end);
        self
    }

    /// Runs something with the fuel of one call.
    pub(super) fn with_fuel<R>(&self, run: impl FnOnce(Fuel<'_>) -> R) -> R {
        let limits = self.shader.prepared().limits;
        let left = AtomicU64::new(limits.call);
        let is_cancelled = || self.bounds.is_over();
        let Bounds { cancel, deadline } = self.bounds;
        let is_bounded = cancel.is_some() || deadline.is_some();
        run(Fuel {
            wave: limits.wave,
            call: Some(&left),
            is_cancelled: if is_bounded { Some(&is_cancelled) } else { None },
        })
    }
}
