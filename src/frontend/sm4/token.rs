//! Dwords of the token stream, and the opcode token with its extensions.
//!
//! ```text
//! opcode token    E LLLLLLL CCCCCCCCCCCCC OOOOOOOOOOO   E extended, L length in dwords, C controls, O opcode
//! customdata      CCCCCCCCCCCCCCCCCCCCC 00000110101     C class; the length is the next dword
//! ```

use super::codes::{Dimension, InfoReturn, ReturnType, SyncFlags};
use super::opcode::{Controls, Opcode};
use super::operand::Mask;
use crate::error::DecodeError;

/// Reads dwords from a range of the program and knows where in the file it is.
#[derive(Clone, Debug)]
pub(super) struct TokenReader<'a> {
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

/// How the condition of `if`, `breakc` and the like is tested. All 32 bits count, so -0.0 is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// Holds if no bit is set.
    Zero,
    /// Holds if any bit is set.
    NonZero,
}

impl Test {
    /// The suffix of the mnemonic.
    pub const fn suffix(self) -> &'static str {
        match self {
            Test::Zero => "_z",
            Test::NonZero => "_nz",
        }
    }
}

/// The first token of an instruction. Fields that its opcode does not have read as absent, whatever their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpcodeToken {
    /// All 32 bits.
    pub bits: u32,
    /// The opcode, bits 0 to 10.
    pub opcode: Opcode,
}

impl OpcodeToken {
    /// Splits a token read at `offset`.
    pub(super) fn decode(bits: u32, offset: usize) -> Result<Self, DecodeError> {
        let number = bits & 0x7ff;
        let invalid = |what, value| DecodeError::Invalid { what, value: u64::from(value), offset };
        let opcode = Opcode::from_number(number).ok_or_else(|| invalid("opcode", number))?;
        let info_return = bits >> 11 & 3;
        match opcode.controls() {
            Controls::ResinfoReturn => _ = InfoReturn::decode(info_return, offset)?,
            Controls::SampleInfoReturn if info_return > 1 => {
                return Err(invalid("sampleinfo return type", info_return));
            }
            _ => {}
        }
        Ok(OpcodeToken { bits, opcode })
    }

    /// Length of the instruction in dwords, this token included. `customdata` has it in the next dword instead.
    pub(super) const fn length(self) -> u32 {
        self.bits >> 24 & 0x7f
    }

    /// Whether an extended opcode token follows.
    pub(super) const fn is_extended(self) -> bool {
        self.bits >> 31 != 0
    }

    /// Whether float results are clamped to 0..1 (NaN to 0).
    pub const fn saturate(self) -> bool {
        matches!(self.opcode.controls(), Controls::Saturate) && self.bits & 1 << 13 != 0
    }

    /// The test of a conditional instruction.
    pub const fn test(self) -> Option<Test> {
        match self.opcode.controls() {
            Controls::Test if self.bits & 1 << 18 != 0 => Some(Test::NonZero),
            Controls::Test => Some(Test::Zero),
            _ => None,
        }
    }

    /// The destination components that must be computed exactly as written, never contracted or reordered.
    pub fn precise(self) -> Mask {
        match self.opcode.destinations() {
            0 => Mask::NONE,
            _ => Mask::from_bits(self.bits >> 19),
        }
    }

    /// What `resinfo` and `sampleinfo` return.
    pub const fn info_return(self) -> Option<InfoReturn> {
        match self.opcode.controls() {
            Controls::ResinfoReturn => InfoReturn::from_number(self.bits >> 11 & 3),
            Controls::SampleInfoReturn if self.bits & 1 << 11 != 0 => Some(InfoReturn::Uint),
            Controls::SampleInfoReturn => Some(InfoReturn::Float),
            _ => None,
        }
    }

    /// What `sync` waits for.
    pub const fn sync(self) -> Option<SyncFlags> {
        match self.opcode.controls() {
            Controls::Sync => Some(SyncFlags::from_token(self.bits)),
            _ => None,
        }
    }
}

/// What the extended opcode tokens of an instruction say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extended {
    /// Texel offsets in u, v and w, each -8 to 7.
    pub texel_offsets: Option<[i8; 3]>,
    /// Shape of the resource that is read, and the bytes from one structure to the next (0 unless structured).
    pub resource: Option<(Dimension, u16)>,
    /// What each component of the resource reads as.
    pub return_types: Option<[ReturnType; 4]>,
}

/// An instruction has at most this many extended opcode tokens.
const MAX_EXTENDED: u32 = 3;

impl Extended {
    /// Reads the extended tokens that follow an opcode token. Boxed since most instructions have none.
    pub(super) fn decode(token: OpcodeToken, reader: &mut TokenReader) -> Result<Option<Box<Self>>, DecodeError> {
        if !token.is_extended() {
            return Ok(None);
        }
        let mut extended = Box::new(Extended::default());
        for _ in 0..MAX_EXTENDED {
            let offset = reader.offset();
            let bits = reader.dword("extended opcode token")?;
            let twice = match bits & 0x3f {
                0 => false,
                1 => extended.texel_offsets.replace([9, 13, 17].map(|low| signed_nibble(bits >> low))).is_some(),
                2 => {
                    let dimension = Dimension::decode(bits >> 6 & 0x1f, offset)?;
                    let stride = (bits >> 11 & 0xfff) as u16;
                    extended.resource.replace((dimension, stride)).is_some()
                }
                3 => extended.return_types.replace(return_types(bits >> 6, offset)?).is_some(),
                kind => {
                    return Err(DecodeError::Invalid {
                        what: "extended opcode token type",
                        value: u64::from(kind),
                        offset,
                    });
                }
            };
            if twice {
                let value = u64::from(bits & 0x3f);
                return Err(DecodeError::Invalid { what: "repeated extended opcode token", value, offset });
            }
            if bits >> 31 == 0 {
                return Ok(Some(extended));
            }
        }
        let value = u64::from(MAX_EXTENDED) + 1;
        Err(DecodeError::Limit {
            what: "number of extended opcode tokens",
            value,
            limit: MAX_EXTENDED.into(),
            offset: reader.offset(),
        })
    }
}

/// The low four bits as a signed number.
const fn signed_nibble(bits: u32) -> i8 {
    ((bits << 4) as i8) >> 4
}

/// Four return types of four bits each, x lowest, from the token at `offset`.
pub(super) fn return_types(bits: u32, offset: usize) -> Result<[ReturnType; 4], DecodeError> {
    let component = |index: u32| ReturnType::decode(bits >> (4 * index) & 0xf, offset);
    Ok([component(0)?, component(1)?, component(2)?, component(3)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(dwords: &[u32]) -> Result<Option<Box<Extended>>, DecodeError> {
        let bytes: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
        let token = OpcodeToken::decode(1 << 31 | Opcode::SampleL.number(), 0)?;
        Extended::decode(token, &mut TokenReader::new(&bytes, 0x100))
    }

    #[test]
    fn controls_belong_to_their_opcodes() {
        let token = |opcode: Opcode, bits: u32| OpcodeToken::decode(opcode.number() | bits, 0).unwrap();
        assert!(token(Opcode::Add, 1 << 13).saturate());
        assert!(!token(Opcode::IAdd, 1 << 13).saturate());
        assert!(!token(Opcode::Sync, 1 << 13).saturate());
        assert!(token(Opcode::Sync, 1 << 13).sync().unwrap().contains(SyncFlags::UAV_GROUP));
        assert_eq!(token(Opcode::If, 1 << 18).test(), Some(Test::NonZero));
        assert_eq!(token(Opcode::If, 0).test(), Some(Test::Zero));
        assert_eq!(token(Opcode::Add, 1 << 18).test(), None);
        assert_eq!(token(Opcode::Add, 0b0101 << 19).precise().bits(), 0b0101);
        assert_eq!(token(Opcode::If, 0b0101 << 19).precise(), Mask::NONE);
        assert_eq!(token(Opcode::ResInfo, 2 << 11).info_return(), Some(InfoReturn::Uint));
        assert_eq!(token(Opcode::SampleInfo, 1 << 11).info_return(), Some(InfoReturn::Uint));
    }

    #[test]
    fn reserved_opcodes_and_return_types_are_errors() {
        let invalid = |what, value| Err(DecodeError::Invalid { what, value, offset: 8 });
        assert_eq!(OpcodeToken::decode(107, 8), invalid("opcode", 107));
        assert_eq!(OpcodeToken::decode(Opcode::ResInfo.number() | 3 << 11, 8), invalid("info return type", 3));
        assert_eq!(OpcodeToken::decode(Opcode::SampleInfo.number() | 2 << 11, 8), invalid("sampleinfo return type", 2));
    }

    #[test]
    fn extended_tokens_give_offsets_dimension_and_types() {
        let offsets = 1 << 31 | 0x7 << 17 | 0xe << 13 | 0x8 << 9 | 1;
        let resource = 1 << 31 | 52 << 11 | 12 << 6 | 2;
        let types = 0x5321 << 6 | 3;
        assert_eq!(
            extended(&[offsets, resource, types]).unwrap().as_deref(),
            Some(&Extended {
                texel_offsets: Some([-8, -2, 7]),
                resource: Some((Dimension::StructuredBuffer, 52)),
                return_types: Some([ReturnType::Unorm, ReturnType::Snorm, ReturnType::Sint, ReturnType::Float]),
            })
        );
    }

    #[test]
    fn a_chain_of_extended_tokens_ends() {
        let next = 1 << 31;
        assert!(matches!(extended(&[next, next, next, 0]), Err(DecodeError::Limit { limit: 3, .. })));
        assert!(matches!(extended(&[next]), Err(DecodeError::Truncated { offset: 0x104, .. })));
        assert!(matches!(extended(&[next | 1, 1]), Err(DecodeError::Invalid { value: 1, offset: 0x104, .. })));
        assert!(matches!(extended(&[4]), Err(DecodeError::Invalid { value: 4, offset: 0x100, .. })));
    }
}
