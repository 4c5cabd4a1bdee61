//! Dynamic scheduling: the caller's thread and those of a pool take pieces of work from a queue.

use crate::error::CallError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Two-phase waiting: how often the caller's thread looks whether the others are done before it sleeps until they are.
/// All that takes as long as it does to fall asleep and be woken, some 30 microseconds, in which other threads may run.
const LOOKS: usize = 200;

/// Runs something for all pieces, on so many threads at most: this one at once, for waking others takes as long as
/// shading thousands of vertices, and those of the pool that have nothing else to do. Each takes the first piece that
/// nobody has taken, and has memory of its own. The error is that of the first piece that fails: when one does, those
/// in front of it have all been taken and come to their ends, and no others are taken.
pub(in crate::call) fn on_threads<P>(
    threads: usize,
    pieces: impl Iterator<Item = P> + Send,
    run: impl Fn(P, &mut Vec<u8>) -> Result<(), CallError> + Sync,
) -> Result<(), CallError> {
    let queue = Mutex::new(Some(pieces.enumerate()));
    let failures = Mutex::new(Vec::new());
    let next = || lock(&queue).as_mut()?.next();
    let work = || {
        let mut memory = Vec::new();
        while let Some((number, piece)) = next() {
            if let Err(error) = run(piece, &mut memory) {
                *lock(&queue) = None;
                lock(&failures).push((number, error));
            }
        }
    };
    let others = AtomicUsize::new(threads.saturating_sub(1));
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| {
                work();
                others.fetch_sub(1, Ordering::Release);
            });
        }
        work();
        // A thread of the pool does the pool's work while it waits for the scope.
        if rayon::current_thread_index().is_none() {
            let are_busy = |_: &usize| others.load(Ordering::Acquire) > 0;
            (0..LOOKS).take_while(are_busy).for_each(|_| std::thread::yield_now());
        }
    });
    let failures = std::mem::take(&mut *lock(&failures));
    failures.into_iter().min_by_key(|&(number, _)| number).map_or(Ok(()), |(_, error)| Err(error))
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("nobody panics with the lock held")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_counts() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let run = |count, fails: fn(u32) -> bool| {
            let run =
                |vertex, _: &mut Vec<u8>| if fails(vertex) { Err(CallError::GuardFailed { vertex }) } else { Ok(()) };
            pool.install(|| on_threads(4, 0..count, run))
        };
        for _ in 0..100 {
            assert_eq!(run(100, |vertex| vertex > 10), Err(CallError::GuardFailed { vertex: 11 }));
        }
        assert_eq!(run(100, |_| false), Ok(()));
        assert_eq!(run(0, |_| true), Ok(()));
    }
}
