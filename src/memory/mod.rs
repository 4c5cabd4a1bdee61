//! Memory that shaders write, as a caller binds it.
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | [`AtomicBuffer`]: bytes that several threads may write at once |
//! | `view` | [`MemoryView`]: what a shader takes them for |
//! | `access` | the ops of the IR on the memory of a group, lane by lane |
//!
//! Every access is one of an atomic word, so threads may run groups over the same buffers. Native code loads and stores
//! the same words.

mod access;
mod view;

pub(crate) use access::{BoundMemory, GroupMemory};
pub use view::MemoryView;

use std::sync::atomic::{AtomicU32, Ordering};
use std::{fmt, iter};

/// Bytes that shaders read and write, on any number of threads: the memory of unordered-access views and of their
/// hidden counters. Words are little-endian.
///
/// ```
/// use shaderjit::AtomicBuffer;
///
/// let buffer = AtomicBuffer::from_bytes(&[1, 2, 3, 4, 5]);
/// assert_eq!((buffer.len(), buffer.word(0), buffer.word(1)), (5, Some(0x0403_0201), None));
/// assert_eq!(buffer.to_bytes(), [1, 2, 3, 4, 5]);
/// ```
pub struct AtomicBuffer {
    /// Words that are not used, one that takes what native code drops, then the words.
    all: Vec<AtomicU32>,
    /// How many are not used, so that the first word begins a line of the cache: vectors of threads' words lie in one
    /// line each. What a group shares begins somewhere in a page.
    unused: usize,
    bytes: usize,
}

/// Words of a line of the cache.
const LINE: usize = 16;

/// Words of a page of memory, on most machines.
const PAGE: usize = 1024;

impl AtomicBuffer {
    /// So many zeros.
    pub fn zeroed(bytes: usize) -> AtomicBuffer {
        AtomicBuffer::new(iter::repeat_n(0, bytes.div_ceil(4)), bytes, (LINE, 0))
    }

    /// So many zeros, the first of which lies so many words behind the beginning of a page.
    fn in_page(bytes: usize, offset: usize) -> AtomicBuffer {
        AtomicBuffer::new(iter::repeat_n(0, bytes.div_ceil(4)), bytes, (PAGE, offset))
    }

    /// A copy of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> AtomicBuffer {
        let (whole, rest) = bytes.as_chunks::<4>();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        let last = (!rest.is_empty()).then_some(last);
        AtomicBuffer::new(whole.iter().copied().chain(last).map(u32::from_le_bytes), bytes.len(), (LINE, 0))
    }

    /// So many bytes in words, the first of which lies at a multiple of a number of words, and some words behind that.
    fn new(words: impl Iterator<Item = u32>, bytes: usize, (multiple, offset): (usize, usize)) -> AtomicBuffer {
        // With room for all, so that they stay where they are.
        let mut all: Vec<AtomicU32> = Vec::with_capacity(multiple + bytes.div_ceil(4));
        let unused = (2 * multiple + offset - 1 - all.as_ptr().addr() / 4 % multiple) % multiple;
        all.extend(iter::repeat_n(0, unused + 1).chain(words).map(AtomicU32::new));
        AtomicBuffer { all, unused, bytes }
    }

    /// One that takes what native code drops, then the words.
    fn words(&self) -> &[AtomicU32] {
        &self.all[self.unused..]
    }

    /// The bytes as they are now.
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = self.words()[1..].iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
        let mut bytes: Vec<u8> = words.collect();
        bytes.truncate(self.bytes);
        bytes
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The 32-bit word of that number, if all of it is inside.
    pub fn word(&self, index: usize) -> Option<u32> {
        self.at(index).map(|word| word.load(Ordering::Acquire))
    }

    /// Sets a word, if all of it is inside.
    pub fn set_word(&self, index: usize, value: u32) {
        if let Some(word) = self.at(index) {
            word.store(value, Ordering::Release);
        }
    }

    /// Replaces a word by what `f` makes of it, and gives the old one, if all of it is inside.
    fn update(&self, index: usize, f: impl Fn(u32) -> u32) -> Option<u32> {
        let word = self.at(index)?;
        match word.fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| Some(f(old))) {
            Ok(old) | Err(old) => Some(old),
        }
    }

    fn at(&self, index: usize) -> Option<&AtomicU32> {
        if index < self.bytes / 4 { self.words().get(1 + index) } else { None }
    }

    /// Some bytes of an element of 1, 2 or a multiple of 4 that lies at a multiple of its size; zeros behind the end.
    fn element(&self, start: usize, bytes: usize) -> [u8; 16] {
        let mut element = [0; 16];
        let words = self.words().iter().skip(1 + start / 4).take(bytes.div_ceil(4));
        for (to, word) in element.chunks_exact_mut(4).zip(words) {
            let word = word.load(Ordering::Acquire) >> (8 * (start % 4));
            to.copy_from_slice(&word.to_le_bytes());
        }
        element[bytes..].fill(0);
        element
    }

    /// Stores such an element, which must be inside.
    fn set_element(&self, start: usize, bytes: usize, element: [u32; 4]) {
        let words = &self.words()[1 + start / 4..];
        if bytes < 4 {
            let shift = 8 * (start % 4);
            let mask = ((1 << (8 * bytes)) - 1) << shift;
            let value = element[0] << shift & mask;
            let _ = words[0].fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| Some(old & !mask | value));
            return;
        }
        words.iter().zip(element).take(bytes / 4).for_each(|(word, value)| word.store(value, Ordering::Release));
    }

    /// Makes all bytes zero.
    fn clear(&self) {
        self.words().iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

impl fmt::Debug for AtomicBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicBuffer").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_every_size_are_stored_in_place() {
        let buffer = AtomicBuffer::from_bytes(&[0x11; 18]);
        buffer.set_element(1, 1, [0xabcd, 0, 0, 0]);
        buffer.set_element(6, 2, [0x1_2345, 0, 0, 0]);
        buffer.set_element(8, 8, [1, 2, 3, 4]);
        let mut expected = [0x11; 18];
        expected[1] = 0xcd;
        expected[6..8].copy_from_slice(&[0x45, 0x23]);
        expected[8..16].copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(buffer.to_bytes(), expected);
        assert_eq!(buffer.element(1, 1)[..2], [0xcd, 0]);
        assert_eq!(buffer.element(6, 2)[..4], [0x45, 0x23, 0, 0]);
        assert_eq!(buffer.element(8, 8)[..9], [1, 0, 0, 0, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn the_first_word_begins_a_line_of_the_cache() {
        for bytes in 0..200 {
            let words = AtomicBuffer::from_bytes(&vec![1; bytes]);
            let first = words.words().as_ptr().wrapping_add(1);
            assert_eq!((first.addr() % 64, words.words().len()), (0, 1 + bytes.div_ceil(4)));
        }
    }

    #[test]
    fn the_first_word_lies_anywhere_in_a_page() {
        for offset in [0, 1, LINE, PAGE - 1] {
            for bytes in [0, 4, 300, 9000] {
                let words = AtomicBuffer::in_page(bytes, offset);
                let first = words.words().as_ptr().wrapping_add(1);
                assert_eq!((first.addr() / 4 % PAGE, words.words().len()), (offset, 1 + bytes.div_ceil(4)));
            }
        }
    }

    #[test]
    fn words_that_are_not_whole_are_not_there() {
        let buffer = AtomicBuffer::from_bytes(&[0xff; 7]);
        buffer.set_word(1, 5);
        assert_eq!((buffer.word(0), buffer.word(1)), (Some(u32::MAX), None));
        assert_eq!((buffer.update(0, |old| old - 1), buffer.update(1, |old| old)), (Some(u32::MAX), None));
        assert_eq!(buffer.to_bytes(), [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    }
}
