//! What the tests of this folder share: instruction words written by hand, and randomness that repeats.

use super::opcode::{Field, Opcode};

/// The descriptor that changes nothing: every component written, no swizzle, no negation.
pub const PLAIN: u32 = 0xf | 0x1b << 5 | 0x1b << 14 | 0x1b << 23;

/// A word from its fields.
pub fn word(opcode: Opcode, fields: &[(Field, u32)]) -> u32 {
    fields.iter().fold(opcode.picture().fixed(), |word, &(field, value)| {
        word | opcode.picture().place(field, value).expect("the instruction has the field and the value fits")
    })
}

/// xorshift64.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(bound)) as u32
    }

    /// Any word.
    pub fn word(&mut self) -> u32 {
        self.below(1 << 16) << 16 | self.below(1 << 16)
    }
}
