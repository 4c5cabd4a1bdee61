//! Which allocations a fuzz target's allocator puts behind guard pages: the buffers of native calls.

use std::cell::Cell;

thread_local! {
    static IS_FENCED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is within [`fenced`].
pub fn is_fenced() -> bool {
    // While a thread ends there is nothing to ask any more.
    IS_FENCED.try_with(Cell::get).unwrap_or(false)
}

/// Runs something that makes or fills the buffers of a native call, none of which were there before.
pub fn fenced<T>(run: impl FnOnce() -> T) -> T {
    crate::call::forget_memory();
    let before = IS_FENCED.replace(true);
    let result = run();
    IS_FENCED.set(before);
    result
}
