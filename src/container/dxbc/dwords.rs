//! Arrays of 32-bit numbers, read where they lie.

use std::fmt;

/// 32-bit numbers of a container. They borrow from it, so that a hostile file in which a thousand records share one
/// long array costs nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Dwords<'a>(&'a [[u8; 4]]);

impl<'a> Dwords<'a> {
    /// The little-endian numbers in `bytes`; what is left behind the last whole one does not count.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.as_chunks().0)
    }

    /// How many there are.
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The number at `index`.
    pub fn get(self, index: usize) -> Option<u32> {
        self.0.get(index).copied().map(u32::from_le_bytes)
    }

    /// All of them.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.0.iter().copied().map(u32::from_le_bytes)
    }

    /// `count` numbers from `start` on, if they are there; none are anywhere.
    pub(super) fn range(self, start: usize, count: usize) -> Option<Self> {
        if count == 0 {
            return Some(Self::default());
        }
        self.0.get(start..)?.get(..count).map(Self)
    }
}

impl fmt::Debug for Dwords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Dwords;

    #[test]
    fn numbers_are_read_where_they_lie() {
        let numbers = Dwords::new(&[1, 0, 0, 0, 2, 1, 0, 0, 9]);
        assert_eq!((numbers.len(), numbers.get(0), numbers.get(1), numbers.get(2)), (2, Some(1), Some(0x102), None));
        assert_eq!(format!("{numbers:?}"), "[1, 258]");
        assert_eq!(numbers.range(1, 1).unwrap().iter().collect::<Vec<_>>(), [0x102]);
        assert_eq!((numbers.range(2, 0), numbers.range(3, 0)), (Some(Dwords::default()), Some(Dwords::default())));
        assert_eq!((numbers.range(1, 2), numbers.range(3, 1), numbers.range(usize::MAX, 1)), (None, None, None));
    }
}
