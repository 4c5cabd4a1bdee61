//! Compilations that find the processor warm.

use std::time::{Duration, Instant};

/// How many compilations in one way go before those that count. They find the caches of the processor, and what it
/// foresees of branches, full of what another way has left there: a short program takes an eighth less time in its
/// sixth turn than in its third, and hardly less in later ones.
const COLD: usize = 5;

/// A compilation that takes longer warms up in its own course: one goes before it.
const LONG: Duration = Duration::from_millis(5);

/// Compiles in the way that is timed next.
pub fn warm_up(mut compile: impl FnMut()) {
    let begin = Instant::now();
    (0..COLD).take_while(|&turn| turn == 0 || begin.elapsed() < LONG).for_each(|_| compile());
}
