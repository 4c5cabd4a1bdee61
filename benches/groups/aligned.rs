//! Memory that begins a line of the cache, as that of graphics drivers does. An allocator's large pieces may begin
//! anywhere in one: sixteen bytes behind its beginning by GNU's, so that every other row of a tile lies in two.

use std::ops::{Deref, DerefMut};

/// Bytes of a line.
const LINE: usize = 64;

/// Values, the first of which begins a line.
#[derive(Debug)]
pub struct Aligned<T> {
    /// Values that are not used, then those.
    all: Vec<T>,
    unused: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// A copy of values.
    pub fn new(values: &[T]) -> Aligned<T> {
        let mut all: Vec<T> = Vec::with_capacity(values.len() + LINE);
        let unused = all.as_ptr().align_offset(LINE);
        assert!(unused <= LINE, "lines can be divided into values");
        all.resize(unused, T::default());
        all.extend_from_slice(values);
        Aligned { all, unused }
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[self.unused..]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[self.unused..]
    }
}
