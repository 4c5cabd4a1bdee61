//! A bar that says how much of long work is done.

use crate::report::Outcome;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// After so long, a bar says how much is done, if somebody may see it.
const PATIENCE: Duration = Duration::from_millis(400);

/// Runs what tells, from whichever thread, how much of it is done, 0 to 1.
pub fn watched(work: impl FnOnce(&(dyn Fn(f32) + Sync)) -> Outcome) -> Outcome {
    let (begin, bar) = (Instant::now(), OnceLock::new());
    let outcome = work(&|done| {
        if begin.elapsed() > PATIENCE {
            // It goes to standard error, and nowhere if that is no terminal.
            let bar = bar.get_or_init(|| {
                let style = ProgressStyle::with_template("{bar:40} {percent}% {eta}").expect("the template is right");
                ProgressBar::new(1000).with_style(style)
            });
            bar.set_position((done * 1000.0) as u64);
        }
    });
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    outcome
}
