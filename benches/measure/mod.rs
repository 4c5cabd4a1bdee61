//! How long something takes.

use std::time::{Duration, Instant};

/// What a measurement takes at least. A single run is enough if it does.
const AT_LEAST: Duration = Duration::from_millis(3);
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
    let (long, first) = time(1);
    if long >= AT_LEAST {
        return first;
    }
    let begin = Instant::now();
    let mut times = Vec::new();
    while begin.elapsed() < AT_LEAST {
        times.push(time((AT_ONCE / count).max(1)).1);
    }
    median(times)
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
