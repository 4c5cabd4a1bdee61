//! Operands: registers that are read or written, with what is done on the way.
//!
//! ```text
//! destination   1 FFF SSSS MMMM WWWW 00 R FF NNNNNNNNNNN    F register file (its upper bits lower down), N number,
//! source        1 FFF MMMM SSSSSSSS  00 R FF NNNNNNNNNNN    R relative, W write mask, M modifiers, S shift or swizzle
//! ```
//!
//! A relative operand is followed by a token of a source's layout that names the register whose component is added.

use super::codes::{RegisterFile, SourceModifier, Stage};
use super::decode::Version;
use crate::error::DecodeError;
use crate::frontend::component::{Mask, Swizzle};
use crate::frontend::token::{Field, TokenReader};

/// Fields of the tokens.
pub(super) mod operand_token {
    use super::Field;

    pub const NUMBER: Field = Field::new(0, 11);
    pub const FILE_UPPER: Field = Field::new(11, 2);
    pub const RELATIVE: Field = Field::new(13, 1);
    pub const MASK: Field = Field::new(16, 4);
    pub const RESULT_MODIFIERS: Field = Field::new(20, 3);
    pub const SHIFT: Field = Field::new(24, 4);
    pub const SWIZZLE: Field = Field::new(16, 8);
    pub const SOURCE_MODIFIER: Field = Field::new(24, 4);
    pub const FILE_LOWER: Field = Field::new(28, 3);
    /// Set in every token of an operand, and clear in that of an instruction.
    pub const OPERAND: Field = Field::new(31, 1);
}

/// Whether an operand is written or read: its token is laid out accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Written.
    Destination,
    /// Read.
    Source,
}

/// A register operand. Its tokens are kept as they are, so that bits that mean nothing survive encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Its fields hold known values.
    token: u32,
    /// The token of the register that is added to the number.
    relative: Option<u32>,
}

/// What a result is put through before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResultModifiers(u32);

impl ResultModifiers {
    /// The bits with what the reference disassembler prints for them.
    const NAMES: [(u32, &'static str); 3] = [(1, "_sat"), (2, "_pp"), (4, "_centroid")];

    /// The suffixes of the mnemonic, in order: clamped to 0..1, at partial precision, sampled inside the primitive.
    pub fn suffixes(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(bit, _)| self.0 & bit != 0).map(|(_, name)| name)
    }
}

impl Operand {
    /// Reads an operand, and the token of its index if it has one.
    pub(super) fn decode(reader: &mut TokenReader, version: Version, role: Role) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        let token = reader.dword("operand")?;
        check(token, offset)?;
        match role {
            Role::Destination => {
                let shift = operand_token::SHIFT.get(token);
                if shift != 0 {
                    // Of shader model 1.
                    return Err(DecodeError::Invalid { what: "result shift", value: shift.into(), offset });
                }
            }
            Role::Source => _ = SourceModifier::decode(operand_token::SOURCE_MODIFIER.get(token), offset)?,
        }
        let relative = match operand_token::RELATIVE.is_set(token) {
            true => Some(index(reader, version, offset)?),
            false => None,
        };
        Ok(Operand { token, relative })
    }

    /// Appends its tokens.
    pub(super) fn encode(&self, tokens: &mut Vec<u32>) {
        tokens.push(self.token);
        tokens.extend(self.relative);
    }

    /// What its register belongs to.
    pub fn file(&self) -> RegisterFile {
        RegisterFile::from_number(file(self.token)).expect("decoding has checked it")
    }

    /// The number of its register in the file.
    pub fn number(&self) -> u32 {
        operand_token::NUMBER.get(self.token)
    }

    /// The operand whose component is added to the number, if there is one.
    pub fn relative(&self) -> Option<Operand> {
        self.relative.map(|token| Operand { token, relative: None })
    }

    /// The components a destination writes.
    pub fn mask(&self) -> Mask {
        Mask::from_bits(operand_token::MASK.get(self.token))
    }

    /// What a destination puts the result through.
    pub fn result_modifiers(&self) -> ResultModifiers {
        ResultModifiers(operand_token::RESULT_MODIFIERS.get(self.token))
    }

    /// The components a source reads.
    pub fn swizzle(&self) -> Swizzle {
        Swizzle::from_bits(operand_token::SWIZZLE.get(self.token))
    }

    /// What is done to a source.
    pub fn source_modifier(&self) -> SourceModifier {
        SourceModifier::from_number(operand_token::SOURCE_MODIFIER.get(self.token)).expect("decoding has checked it")
    }
}

/// The number of the register file, whose two fields lie apart.
fn file(token: u32) -> u32 {
    operand_token::FILE_UPPER.get(token) << 3 | operand_token::FILE_LOWER.get(token)
}

/// What the tokens of all operands have in common.
fn check(token: u32, offset: usize) -> Result<RegisterFile, DecodeError> {
    if !operand_token::OPERAND.is_set(token) {
        return Err(DecodeError::Invalid { what: "operand token", value: token.into(), offset });
    }
    let file = RegisterFile::decode(file(token), offset)?;
    // The registers of these files have names instead of numbers.
    let (what, count) = match file {
        RegisterFile::RasterizerOutput => ("rasterizer output", 3),
        RegisterFile::Miscellaneous => ("miscellaneous register", 2),
        _ => return Ok(file),
    };
    match operand_token::NUMBER.get(token) {
        number if number < count => Ok(file),
        number => Err(DecodeError::Invalid { what, value: number.into(), offset }),
    }
}

/// The index of the operand at `operand`.
fn index(reader: &mut TokenReader, version: Version, operand: usize) -> Result<u32, DecodeError> {
    if version.stage == Stage::Pixel && version.major < 3 {
        return Err(DecodeError::Invalid { what: "relative operand of a pixel shader", value: 1, offset: operand });
    }
    let offset = reader.offset();
    let token = reader.dword("index")?;
    match check(token, offset)? {
        RegisterFile::AddressOrTexture | RegisterFile::Loop => Ok(token),
        file => Err(DecodeError::Invalid { what: "register file of an index", value: file.number().into(), offset }),
    }
}
