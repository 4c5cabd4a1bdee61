//! What bounds a call while it runs: the fuel of its waves, a flag that cancels it, a deadline.

use crate::options::FuelLimits;
use shaderjit_ir::fuel::Fuel;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// What a caller has set.
#[derive(Clone, Copy, Default)]
pub(super) struct Bounds<'a> {
    pub cancel: Option<&'a AtomicBool>,
    pub deadline: Option<Instant>,
}

impl Bounds<'_> {
    /// Runs something with the fuel of one call.
    pub fn with_fuel<R>(&self, limits: FuelLimits, run: impl FnOnce(Fuel<'_>) -> R) -> R {
        let left = AtomicU64::new(limits.call);
        let is_cancelled = || self.is_over();
        let is_bounded = self.cancel.is_some() || self.deadline.is_some();
        run(Fuel {
            wave: limits.wave,
            group: None,
            call: Some(&left),
            owed: None,
            is_cancelled: if is_bounded { Some(&is_cancelled) } else { None },
        })
    }

    fn is_over(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
