//! How long something takes.

mod median;

pub use median::median;
use std::time::{Duration, Instant};

/// What a measurement takes at least, and how often it is taken at least: what lasts long is interrupted most.
const AT_LEAST: Duration = Duration::from_millis(3);
const FEWEST: usize = 3;

/// Vertices or threads of what is timed at once, so that looking at the clock does not count.
const AT_ONCE: u32 = 10_000;

/// Nanoseconds a vertex or thread: the median, so that runs which were interrupted do not count.
pub fn measure(count: u32, mut run: impl FnMut()) -> f64 {
    let mut time = |runs: u32| {
        let start = Instant::now();
        (0..runs).for_each(|_| run());
        let elapsed = start.elapsed();
        (elapsed, elapsed.as_nanos() as f64 / (f64::from(count) * f64::from(runs)))
    };
    // The first run finds the caches as somebody else left them. In a long one that makes no difference.
    let (elapsed, first) = time(1);
    let mut times = if elapsed >= AT_LEAST { vec![first] } else { Vec::new() };
    let begin = Instant::now();
    while begin.elapsed() < AT_LEAST || times.len() < FEWEST {
        times.push(time((AT_ONCE / count).max(1)).1);
    }
    median(times)
}
