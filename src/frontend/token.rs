//! What the token streams of Direct3D have in common: dwords, and fields of bits in them.

use crate::error::DecodeError;

/// A range of bits in a token: read when decoding, written when encoding.
#[derive(Clone, Copy, Debug)]
pub(in crate::frontend) struct Field {
    low: u32,
    mask: u32,
}

impl Field {
    /// The `count` bits from `low` up; less than 32.
    pub const fn new(low: u32, count: u32) -> Self {
        Field { low, mask: (1 << count) - 1 }
    }

    /// What the token holds there.
    pub const fn get(self, token: u32) -> u32 {
        token >> self.low & self.mask
    }

    /// Whether the token holds anything there.
    pub const fn is_set(self, token: u32) -> bool {
        self.get(token) != 0
    }

    /// The token with `value` there. Bits that do not fit are dropped.
    pub const fn set(self, token: u32, value: u32) -> u32 {
        token & !(self.mask << self.low) | (value & self.mask) << self.low
    }
}

/// Reads dwords from a range of the program and knows where in the file it is.
#[derive(Clone, Debug)]
pub(in crate::frontend) struct TokenReader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> TokenReader<'a> {
    /// Reads `bytes`, whose first byte is at the absolute byte offset `offset`.
    pub fn new(bytes: &'a [u8], offset: usize) -> Self {
        TokenReader { bytes, offset }
    }

    /// Absolute byte offset of the next dword.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Dwords left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() / 4
    }

    /// The next dword, left in place.
    pub fn peek(&self) -> Option<u32> {
        self.bytes.first_chunk().copied().map(u32::from_le_bytes)
    }

    /// The next dword.
    pub fn dword(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        match self.peek() {
            Some(dword) => {
                self.bytes = &self.bytes[4..];
                // Only a base offset near the end of the address space can wrap, and it only names a place.
                self.offset = self.offset.wrapping_add(4);
                Ok(dword)
            }
            None => Err(DecodeError::Truncated { what, offset: self.offset }),
        }
    }

    /// The next `count` dwords as a reader of their own.
    pub fn split(&mut self, count: usize, what: &'static str) -> Result<TokenReader<'a>, DecodeError> {
        let length = count.checked_mul(4).filter(|&length| length <= self.bytes.len());
        let Some(length) = length else {
            return Err(DecodeError::Truncated { what, offset: self.offset });
        };
        let (head, tail) = self.bytes.split_at(length);
        let reader = TokenReader { bytes: head, offset: self.offset };
        self.bytes = tail;
        self.offset = self.offset.wrapping_add(length);
        Ok(reader)
    }

    /// The bytes that are left.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
