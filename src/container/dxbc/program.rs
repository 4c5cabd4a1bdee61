//! The header of a tokenized program (`SHDR`, `SHEX`).

use std::fmt;

use super::{FourCc, Part};
use crate::container::reader::{invalid, truncated};
use crate::error::ContainerError;

/// Bytes of the version token and the length token.
const HEADER: usize = 8;

/// The stage a program is for. The numbers are those of the version token (MSDN, tokenized program format).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
#[non_exhaustive]
pub enum ProgramKind {
    /// Pixel shader.
    Pixel = 0,
    /// Vertex shader.
    Vertex = 1,
    /// Geometry shader.
    Geometry = 2,
    /// Hull shader.
    Hull = 3,
    /// Domain shader.
    Domain = 4,
    /// Compute shader.
    Compute = 5,
}

impl ProgramKind {
    /// All kinds, in the order of their numbers, with the two letters that begin a profile and the number `RDEF` uses.
    const TABLE: [(Self, &'static str, u16); 6] = [
        (Self::Pixel, "ps", 0xffff),
        (Self::Vertex, "vs", 0xfffe),
        (Self::Geometry, "gs", 0x4753),
        (Self::Hull, "hs", 0x4853),
        (Self::Domain, "ds", 0x4453),
        (Self::Compute, "cs", 0x4353),
    ];

    /// The kind a version token's number stands for.
    pub fn from_token(number: u16) -> Option<Self> {
        Self::TABLE.get(usize::from(number)).map(|&(kind, ..)| kind)
    }

    /// The kind a number in an `RDEF` part stands for.
    pub(super) fn from_rdef(number: u16) -> Option<Self> {
        Self::TABLE.iter().find(|&&(.., rdef)| rdef == number).map(|&(kind, ..)| kind)
    }

    /// The two letters that begin a profile, such as `vs`.
    pub fn prefix(self) -> &'static str {
        Self::TABLE[usize::from(self as u16)].1
    }
}

impl fmt::Display for ProgramKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.prefix())
    }
}

/// A program: what its first two tokens say, and the rest as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program<'a> {
    /// The part it lies in.
    pub part: FourCc,
    /// Stage.
    pub kind: ProgramKind,
    /// Major shader model.
    pub major: u8,
    /// Minor shader model.
    pub minor: u8,
    /// Absolute byte offset of the version token.
    pub offset: usize,
    /// The tokens behind the two of the header, four little-endian bytes each; as many as the length token counts,
    /// whatever the size of the part.
    pub tokens: &'a [u8],
}

impl<'a> Program<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        let mut reader = part.reader();
        let offset = reader.offset();
        let version = reader.u32("program version token")?;
        if version & 0xff00 != 0 {
            return Err(invalid("program version token", version.into(), offset));
        }
        let number = (version >> 16) as u16;
        let kind = ProgramKind::from_token(number).ok_or_else(|| invalid("program type", number.into(), offset))?;

        let length_offset = reader.offset();
        let length = reader.u32("program length")?;
        // A product that does not fit is longer than any slice.
        let size = usize::try_from(u64::from(length) * 4).unwrap_or(usize::MAX);
        if size < HEADER {
            return Err(invalid("program length", length.into(), length_offset));
        }
        if size > part.data.len() {
            return Err(truncated("program", offset, size, part.data.len()));
        }
        let tokens = reader.bytes(size - HEADER, "program")?;
        let nibble = |shift: u32| ((version >> shift) & 0xf) as u8;
        Ok(Self { part: part.name, kind, major: nibble(4), minor: nibble(0), offset, tokens })
    }

    /// Absolute byte offset of `tokens`.
    pub fn tokens_offset(&self) -> usize {
        self.offset + HEADER
    }

    /// The profile, such as `vs_5_0`.
    pub fn profile(&self) -> String {
        format!("{}_{}_{}", self.kind, self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(dwords: &[u32]) -> Result<(String, usize, usize), ContainerError> {
        let data: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
        let program = Program::parse(&Part { name: FourCc::SHDR, offset: 0x100, data: &data })?;
        Ok((program.profile(), program.tokens_offset(), program.tokens.len()))
    }

    #[test]
    fn the_length_token_bounds_the_program() {
        assert_eq!(parse(&[0x0001_0050, 3, 0x0100_003e, 0xabab_abab]), Ok(("vs_5_0".to_string(), 0x110, 4)));
        assert_eq!(parse(&[0x0005_0041, 2]), Ok(("cs_4_1".to_string(), 0x110, 0)));
        assert_eq!(parse(&[0x0001_0040, 4, 0]), Err(truncated("program", 0x108, 16, 12)));
        assert_eq!(parse(&[0x0001_0040, 1]), Err(invalid("program length", 1, 0x10c)));
        assert!(matches!(parse(&[0x0001_0040, u32::MAX]), Err(ContainerError::Truncated { offset: 0x108, .. })));
    }

    #[test]
    fn a_short_header_and_an_unknown_stage_are_errors() {
        assert_eq!(parse(&[0x0001_0040]), Err(truncated("program length", 0x10c, 4, 0)));
        assert_eq!(parse(&[0x0006_0050, 2]), Err(invalid("program type", 6, 0x108)));
        assert_eq!(parse(&[0x0001_8050, 2]), Err(invalid("program version token", 0x0001_8050, 0x108)));
    }

    #[test]
    fn the_stage_table_is_in_the_order_of_the_numbers() {
        for (number, (kind, ..)) in ProgramKind::TABLE.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
        assert_eq!(ProgramKind::from_rdef(0x4453), Some(ProgramKind::Domain));
        assert_eq!(ProgramKind::from_rdef(0), None);
    }
}
