//! The Direct3D 9 program which the `4_0_level_9_x` profiles put beside the one of shader model 4 (`Aon9`, `XNAS`, `XNAP`).
//!
//! The header is all that is read: size of the part, version token of the program, size and offset of its tokens, and five
//! pairs of 16-bit count and offset. The entries of those tables are undocumented; they stay bytes.

use super::{FourCc, Part};
use crate::container::reader::invalid;
use crate::error::ContainerError;

/// Bytes of the header.
const HEADER: u32 = 36;

/// A Direct3D 9 program and the tables that tie it to Direct3D 10 resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level9Program<'a> {
    /// The part it was read from.
    pub part: FourCc,
    /// Version token: `0xfffe0200` for `vs_2_0`, `0xffff0200` for `ps_2_0`.
    pub version: u32,
    /// Absolute byte offset of the tokens.
    pub tokens_offset: usize,
    /// The program's tokens as Direct3D 9 defines them, version token and all.
    pub tokens: &'a [u8],
    /// Float constants that come from constant buffers.
    pub float_constants: Level9Table,
    /// Integer constants.
    pub int_constants: Level9Table,
    /// Boolean constants.
    pub bool_constants: Level9Table,
    /// Samplers.
    pub samplers: Level9Table,
    /// Constants the runtime sets, such as the offset of half a pixel.
    pub runtime_constants: Level9Table,
    /// The whole part, tables included.
    pub bytes: &'a [u8],
}

/// Where a table of a [`Level9Program`] lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level9Table {
    /// Number of entries.
    pub count: u16,
    /// Byte offset in the part's data.
    pub offset: u16,
}

impl<'a> Level9Program<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        let mut reader = part.reader();
        let bytes = reader.rest();
        let size_offset = reader.offset();
        let size = reader.u32("level-9 size")?;
        if size < HEADER {
            return Err(invalid("level-9 size", size.into(), size_offset));
        }
        let whole = reader.range(0, size.into(), "level-9 program")?;
        let version = reader.u32("level-9 version")?;
        let length = reader.u32("level-9 token size")?;
        let offset_offset = reader.offset();
        let offset = reader.u32("level-9 token offset")?;
        if offset < HEADER {
            return Err(invalid("level-9 token offset", offset.into(), offset_offset));
        }
        let tokens = whole.range(offset, length.into(), "level-9 tokens")?;
        let mut table = || {
            let table = Level9Table { count: reader.u16("level-9 table")?, offset: reader.u16("level-9 table")? };
            // The size of an entry is unknown, but a table that is not empty begins inside the part.
            whole.range(table.offset.into(), u64::from(table.count.min(1)), "level-9 table")?;
            Ok(table)
        };
        Ok(Self {
            part: part.name,
            version,
            tokens_offset: tokens.offset(),
            tokens: tokens.rest(),
            float_constants: table()?,
            int_constants: table()?,
            bool_constants: table()?,
            samplers: table()?,
            runtime_constants: table()?,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::truncated;

    /// Absolute offset of the data in these tests.
    const BASE: usize = 0x48;

    fn parse(data: &[u8]) -> Result<Level9Program<'_>, ContainerError> {
        Level9Program::parse(&Part { name: FourCc::Aon9, offset: BASE - 8, data })
    }

    /// `vs_2_0` with one runtime constant and two tokens.
    fn data() -> Vec<u8> {
        let mut data: Vec<u8> = [48, 0xfffe_0200, 8, 40].into_iter().flat_map(u32::to_le_bytes).collect();
        data.extend([1, 36, 0, 36, 0, 36, 2, 36, 1, 36].into_iter().flat_map(u16::to_le_bytes));
        data.extend([0, 0, 0, 0, 0x00, 0x02, 0xfe, 0xff, 0xff, 0xff, 0, 0]);
        data
    }

    #[test]
    fn every_field_of_the_header() {
        let data = data();
        let program = parse(&data).unwrap();
        assert_eq!((program.part, program.version, program.tokens_offset), (FourCc::Aon9, 0xfffe_0200, BASE + 40));
        assert_eq!(program.tokens, [0x00, 0x02, 0xfe, 0xff, 0xff, 0xff, 0, 0]);
        let tables = [
            program.float_constants,
            program.int_constants,
            program.bool_constants,
            program.samplers,
            program.runtime_constants,
        ];
        assert_eq!(tables.map(|table| (table.count, table.offset)), [(1, 36), (0, 36), (0, 36), (2, 36), (1, 36)]);
        assert_eq!(program.bytes, data);
    }

    #[test]
    fn each_bad_field_is_an_error_with_its_offset() {
        let error = |at: usize, value: u32| {
            let mut data = data();
            data[at..at + 4].copy_from_slice(&value.to_le_bytes());
            parse(&data).unwrap_err()
        };
        assert_eq!(error(0, 35), invalid("level-9 size", 35, BASE));
        assert_eq!(error(0, 49), truncated("level-9 program", BASE, 49, 48));
        assert_eq!(error(8, 9), truncated("level-9 tokens", BASE + 40, 9, 8));
        assert_eq!(error(12, 35), invalid("level-9 token offset", 35, BASE + 12));
        assert_eq!(error(12, u32::MAX), truncated("level-9 tokens", BASE + u32::MAX as usize, 8, 0));
        assert_eq!(error(16, 0xffff_0001), truncated("level-9 table", BASE + 0xffff, 1, 0));
        assert!(parse(&data()[..35]).is_err());
    }
}
