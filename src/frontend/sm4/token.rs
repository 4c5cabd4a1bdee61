//! The opcode token with its extensions.
//!
//! ```text
//! opcode token    E LLLLLLL CCCCCCCCCCCCC OOOOOOOOOOO   E extended, L length in dwords, C controls, O opcode
//! customdata      CCCCCCCCCCCCCCCCCCCCC 00000110101     C class; the length is the next dword
//! ```

#[cfg(feature = "fuzzing")]
mod build;

use super::codes::{Dimension, InfoReturn, ReturnType, SyncFlags};
use super::opcode::{Controls, Opcode};
use super::operand::Mask;
use crate::error::DecodeError;

pub(super) use crate::frontend::token::{Field, TokenReader};

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

/// Fields of the opcode token.
pub(super) mod opcode_token {
    use super::Field;

    pub const OPCODE: Field = Field::new(0, 11);
    pub const INFO_RETURN: Field = Field::new(11, 2);
    pub const SATURATE: Field = Field::new(13, 1);
    pub const TEST: Field = Field::new(18, 1);
    pub const PRECISE: Field = Field::new(19, 4);
    pub const LENGTH: Field = Field::new(24, 7);
    pub const EXTENDED: Field = Field::new(31, 1);
    /// Of `customdata`, which has neither controls nor a length here.
    pub const CUSTOM_DATA_CLASS: Field = Field::new(11, 21);
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
        let number = opcode_token::OPCODE.get(bits);
        let invalid = |what, value| DecodeError::Invalid { what, value: u64::from(value), offset };
        let opcode = Opcode::from_number(number).ok_or_else(|| invalid("opcode", number))?;
        let info_return = opcode_token::INFO_RETURN.get(bits);
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
        opcode_token::LENGTH.get(self.bits)
    }

    /// Whether an extended opcode token follows.
    pub(super) const fn is_extended(self) -> bool {
        opcode_token::EXTENDED.is_set(self.bits)
    }

    /// Whether float results are clamped to 0..1 (NaN to 0).
    pub const fn saturate(self) -> bool {
        matches!(self.opcode.controls(), Controls::Saturate) && opcode_token::SATURATE.is_set(self.bits)
    }

    /// The test of a conditional instruction.
    pub const fn test(self) -> Option<Test> {
        match self.opcode.controls() {
            Controls::Test if opcode_token::TEST.is_set(self.bits) => Some(Test::NonZero),
            Controls::Test => Some(Test::Zero),
            _ => None,
        }
    }

    /// The destination components that must be computed exactly as written, never contracted or reordered.
    pub fn precise(self) -> Mask {
        match self.opcode.destinations() {
            0 => Mask::NONE,
            _ => Mask::from_bits(opcode_token::PRECISE.get(self.bits)),
        }
    }

    /// What `resinfo` and `sampleinfo` return.
    pub const fn info_return(self) -> Option<InfoReturn> {
        match self.opcode.controls() {
            Controls::ResinfoReturn => InfoReturn::from_number(opcode_token::INFO_RETURN.get(self.bits)),
            Controls::SampleInfoReturn if opcode_token::INFO_RETURN.is_set(self.bits) => Some(InfoReturn::Uint),
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

/// An instruction has at most this many extended opcode tokens.
const MAX_EXTENDED: usize = 3;

/// Fields of the extended opcode tokens.
mod extended_token {
    use super::Field;

    pub const TYPE: Field = Field::new(0, 6);
    /// Of texel offsets: signed, in u, v and w.
    pub const OFFSETS: [Field; 3] = [Field::new(9, 4), Field::new(13, 4), Field::new(17, 4)];
    /// Of a resource.
    pub const DIMENSION: Field = Field::new(6, 5);
    pub const STRIDE: Field = Field::new(11, 12);
    /// Of return types: the four of them.
    pub const RETURN_TYPES: Field = Field::new(6, 16);
    pub const CONTINUED: Field = Field::new(31, 1);

    pub const EMPTY: u32 = 0;
    pub const TEXEL_OFFSETS: u32 = 1;
    pub const RESOURCE: u32 = 2;
    pub const RESOURCE_RETURN_TYPES: u32 = 3;
}

/// What the extended opcode tokens of an instruction say. The tokens are kept as they are, so that their order and the
/// bits that mean nothing survive encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extended {
    /// Each of a type of its own, but the empty ones; all but the last continue.
    tokens: [u32; MAX_EXTENDED],
    count: u8,
}

impl Extended {
    /// Reads the extended tokens that follow an opcode token. Boxed since most instructions have none.
    pub(super) fn decode(token: OpcodeToken, reader: &mut TokenReader) -> Result<Option<Box<Self>>, DecodeError> {
        if !token.is_extended() {
            return Ok(None);
        }
        let mut extended = Box::new(Extended { tokens: [0; MAX_EXTENDED], count: 0 });
        for count in 0..MAX_EXTENDED {
            let offset = reader.offset();
            let bits = reader.dword("extended opcode token")?;
            let kind = extended_token::TYPE.get(bits);
            let invalid = |what| DecodeError::Invalid { what, value: kind.into(), offset };
            match kind {
                extended_token::EMPTY | extended_token::TEXEL_OFFSETS => {}
                extended_token::RESOURCE => _ = Dimension::decode(extended_token::DIMENSION.get(bits), offset)?,
                extended_token::RESOURCE_RETURN_TYPES => {
                    return_types(extended_token::RETURN_TYPES.get(bits), offset)?;
                }
                _ => return Err(invalid("extended opcode token type")),
            }
            if kind != extended_token::EMPTY && extended.token(kind).is_some() {
                return Err(invalid("repeated extended opcode token"));
            }
            extended.tokens[count] = bits;
            extended.count = count as u8 + 1;
            if !extended_token::CONTINUED.is_set(bits) {
                return Ok(Some(extended));
            }
        }
        Err(DecodeError::Limit {
            what: "number of extended opcode tokens",
            value: MAX_EXTENDED as u64 + 1,
            limit: MAX_EXTENDED as u64,
            offset: reader.offset(),
        })
    }

    /// The tokens, in order.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens[..usize::from(self.count)]
    }

    /// The token of a type.
    fn token(&self, kind: u32) -> Option<u32> {
        self.tokens().iter().copied().find(|&token| extended_token::TYPE.get(token) == kind)
    }

    /// Texel offsets in u, v and w, each -8 to 7.
    pub fn texel_offsets(&self) -> Option<[i8; 3]> {
        let token = self.token(extended_token::TEXEL_OFFSETS)?;
        Some(extended_token::OFFSETS.map(|field| signed_nibble(field.get(token))))
    }

    /// Shape of the resource that is read, and the bytes from one structure to the next (0 unless structured).
    pub fn resource(&self) -> Option<(Dimension, u16)> {
        let token = self.token(extended_token::RESOURCE)?;
        let dimension = Dimension::from_number(extended_token::DIMENSION.get(token));
        Some((dimension.expect("decoding has checked it"), extended_token::STRIDE.get(token) as u16))
    }

    /// What each component of the resource reads as.
    pub fn return_types(&self) -> Option<[ReturnType; 4]> {
        let token = self.token(extended_token::RESOURCE_RETURN_TYPES)?;
        Some(return_types(extended_token::RETURN_TYPES.get(token), 0).expect("decoding has checked them"))
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
        let decoded = extended(&[offsets, resource, types]).unwrap().unwrap();
        assert_eq!(decoded.texel_offsets(), Some([-8, -2, 7]));
        assert_eq!(decoded.resource(), Some((Dimension::StructuredBuffer, 52)));
        let expected = [ReturnType::Unorm, ReturnType::Snorm, ReturnType::Sint, ReturnType::Float];
        assert_eq!(decoded.return_types(), Some(expected));
        assert_eq!(decoded.tokens(), [offsets, resource, types]);
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
