//! Memory that begins at a cache line, so that no vector that lies at a multiple of its size crosses one.

use super::rows::Row;
use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;

/// Rows of which the first lies at the beginning of a line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rows: Vec<Row>,
    start: usize,
}

impl Lines {
    /// Makes room for so many bytes, a multiple of 16. What was there is lost if there was less.
    pub fn reserve(&mut self, bytes: usize) {
        let count = bytes / size_of::<Row>();
        if self.len() < count {
            self.rows.resize(count + LINE / size_of::<Row>() - 1, Row::default());
            // In rows.
            self.start = self.rows.as_ptr().align_offset(LINE);
        }
    }
}

impl Deref for Lines {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        self.rows.get(self.start..).unwrap_or_default()
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [Row] {
        self.rows.get_mut(self.start..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_where_lines_begin() {
        let mut lines = Lines::default();
        assert!(lines.is_empty());
        for bytes in [16, 64, 4096, 32] {
            lines.reserve(bytes);
            assert!(lines.len() * size_of::<Row>() >= bytes);
            assert_eq!(lines.as_ptr() as usize % LINE, 0);
        }
    }
}
