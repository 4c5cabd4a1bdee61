//! The one way container bytes are written: little-endian, one field after the other, with room left for what is known
//! later.

/// Bytes in the making.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Number of bytes so far: the offset of the next.
    pub(crate) fn offset(&self) -> u32 {
        count(self.bytes.len())
    }

    /// Appends bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a byte.
    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends 16 bits.
    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends 32 bits.
    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends zeros up to a multiple of `alignment` bytes.
    pub(crate) fn align(&mut self, alignment: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
    }

    /// Appends `count` zeros, to be filled by [`Self::fill`].
    pub(crate) fn reserve(&mut self, count: usize) -> Reserved {
        let start = self.bytes.len();
        self.bytes.resize(start + count, 0);
        Reserved { start, count }
    }

    /// Puts what `write` writes where room was left for it. Both have the same size.
    pub(crate) fn fill(&mut self, place: Reserved, write: impl FnOnce(&mut Writer)) {
        let mut part = Writer::default();
        write(&mut part);
        self.bytes[place.start..place.start + place.count].copy_from_slice(&part.bytes);
    }

    /// All bytes.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Room that was left for something.
#[derive(Debug)]
#[must_use = "what is reserved is to be filled"]
pub(crate) struct Reserved {
    start: usize,
    count: usize,
}

/// A length as a field of 32 bits. What is longer than that is over every limit, and stays so.
pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other_and_what_was_reserved_is_filled() {
        let mut writer = Writer::default();
        writer.u8(1);
        let place = writer.reserve(2);
        writer.u32(0x0706_0504);
        writer.align(4);
        assert_eq!(writer.offset(), 8);
        writer.fill(place, |part| part.u16(0x0302));
        assert_eq!(writer.finish(), [1, 2, 3, 4, 5, 6, 7, 0]);
    }
}
