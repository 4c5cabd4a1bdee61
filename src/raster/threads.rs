//! Jobs by number, on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs jobs 0 to `count` on at most so many threads, this one included. Each thread has a state of its own, and takes
/// the next job when it is done with one; the states are given back.
pub(super) fn each<S: Send>(
    threads: usize,
    count: usize,
    begin: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, usize) + Sync,
) -> Vec<S> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut state = begin();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return state;
            }
            job(&mut state, number);
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(work)).collect();
        let mut states = vec![work()];
        // A panic of a caller's texture goes on here.
        let ends =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        states.extend(ends);
        states
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once() {
        for threads in [1, 3, 100] {
            let states = each(threads, 50, Vec::new, |done, job| done.push(job));
            let mut done = states.concat();
            done.sort_unstable();
            assert_eq!(done, (0..50).collect::<Vec<_>>());
        }
    }
}
