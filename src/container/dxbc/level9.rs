//! The Direct3D 9 program which the `4_0_level_9_x` profiles put beside the one of shader model 4 (`Aon9`), and those
//! which `4_0_level_9_0` puts beside both (`XNAS`, and its prepass `XNAP`).
//!
//! | bytes | field |
//! |---|---|
//! | 0 | size of the part |
//! | 4 | version token, that of shader model 2.0 whatever the tokens are |
//! | 8, 12 | size and offset of its tokens |
//! | 16, 20, 24 | 16-bit count and offset of the tables of float constants, integers, truth values |
//! | 28, 32 | the same for samplers and runtime constants |
//!
//! Offsets are relative to the part's data. No compiler is known to write the table of truth values; its entries stay
//! bytes.

use super::{FourCc, Part};
use crate::container::reader::{Reader, invalid};
use crate::error::ContainerError;

/// Bytes of the header.
const HEADER: u32 = 36;
/// Bytes of an entry of the table of float constants.
const CONSTANTS: u32 = 12;
/// Bytes of an entry of the table of integers.
const INTEGER: u32 = 8;
/// Bytes of an entry of the table of samplers.
const SAMPLER: u32 = 4;
/// Bytes of an entry of the table of runtime constants.
const RUNTIME_CONSTANT: u32 = 4;

open_code! {
    /// How the runtime converts a component of a constant buffer to a float.
    DataConversion(u8) {
        0 FLOAT "FLT",
        1 BOOL "BOOL",
        2 INT "INT",
        3 UINT "UINT",
    }
}

open_code! {
    /// What the runtime itself puts into a register.
    RuntimeConstant(u16) {
        0 POSITION_OFFSET "Vertex Shader position offset",
    }
}

/// A Direct3D 9 program and the tables that tie its registers to Direct3D 10 resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level9Program<'a> {
    /// The part it was read from.
    pub part: FourCc,
    /// Version token of the header: `0xfffe0200` for vertices, `0xffff0200` for pixels. That of the tokens may be a
    /// later one, as it is for `level_9_3`.
    pub version: u32,
    /// Absolute byte offset of the tokens.
    pub tokens_offset: usize,
    /// The program's tokens as Direct3D 9 defines them, version token and all.
    pub tokens: &'a [u8],
    /// Float registers that come from constant buffers.
    pub float_constants: Vec<Level9Constants>,
    /// Integer registers, which count loops.
    pub int_constants: Vec<Level9Integer>,
    /// Where the table of registers with truth values lies.
    pub bool_constants: Level9Table,
    /// Samplers.
    pub samplers: Vec<Level9Sampler>,
    /// Float registers that the runtime sets, such as the offset of half a pixel.
    pub runtime_constants: Vec<Level9RuntimeConstant>,
}

/// Rows of a constant buffer that are put into float registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level9Constants {
    /// Slot of the constant buffer.
    pub buffer: u16,
    /// First row of 16 bytes.
    pub row: u16,
    /// Number of rows.
    pub count: u16,
    /// First register.
    pub register: u16,
    /// How each component is converted.
    pub conversion: [DataConversion; 4],
}

/// A component of a constant buffer that is put into an integer register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level9Integer {
    /// Slot of the constant buffer.
    pub buffer: u16,
    /// Row of 16 bytes.
    pub row: u16,
    /// Component of the row.
    pub component: u16,
    /// Register.
    pub register: u16,
}

/// A texture and a sampler that together are a sampler of Direct3D 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level9Sampler {
    /// Slot of the texture.
    pub texture: u8,
    /// Slot of the sampler.
    pub sampler: u8,
    /// Register of the sampler.
    pub register: u8,
}

/// A register that the runtime sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level9RuntimeConstant {
    /// To what.
    pub constant: RuntimeConstant,
    /// Register.
    pub register: u16,
}

/// Where a table of a [`Level9Program`] lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level9Table {
    /// Number of entries.
    pub count: u16,
    /// Byte offset in the part's data.
    pub offset: u16,
}

impl Level9Table {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, ContainerError> {
        Ok(Level9Table { count: reader.u16("level-9 table")?, offset: reader.u16("level-9 table")? })
    }

    /// The entries, each of `stride` bytes.
    fn entries<T>(
        self,
        whole: &Reader<'_>,
        stride: u32,
        what: &'static str,
        entry: impl Fn(Reader<'_>) -> Result<T, ContainerError>,
    ) -> Result<Vec<T>, ContainerError> {
        whole.records(self.offset.into(), self.count.into(), stride, what)?.map(entry).collect()
    }
}

impl<'a> Level9Program<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        let mut reader = part.reader();
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
        let mut table = || Level9Table::parse(&mut reader);
        let [floats, ints, bool_constants, samplers, runtime] = [table()?, table()?, table()?, table()?, table()?];
        // How large an entry is, nobody has seen, but a table that is not empty begins inside the part.
        whole.range(bool_constants.offset.into(), u64::from(bool_constants.count.min(1)), "level-9 truth values")?;
        Ok(Self {
            part: part.name,
            version,
            tokens_offset: tokens.offset(),
            tokens: tokens.rest(),
            float_constants: floats.entries(&whole, CONSTANTS, "level-9 float constants", constants)?,
            int_constants: ints.entries(&whole, INTEGER, "level-9 integers", integer)?,
            bool_constants,
            samplers: samplers.entries(&whole, SAMPLER, "level-9 samplers", sampler)?,
            runtime_constants: runtime.entries(
                &whole,
                RUNTIME_CONSTANT,
                "level-9 runtime constants",
                runtime_constant,
            )?,
        })
    }
}

fn constants(mut entry: Reader<'_>) -> Result<Level9Constants, ContainerError> {
    Ok(Level9Constants {
        buffer: entry.u16("constant buffer")?,
        row: entry.u16("row of a constant buffer")?,
        count: entry.u16("number of rows")?,
        register: entry.u16("float register")?,
        conversion: entry.array("data conversion")?.map(DataConversion),
    })
}

fn integer(mut entry: Reader<'_>) -> Result<Level9Integer, ContainerError> {
    Ok(Level9Integer {
        buffer: entry.u16("constant buffer")?,
        row: entry.u16("row of a constant buffer")?,
        component: entry.u16("component of a row")?,
        register: entry.u16("integer register")?,
    })
}

fn sampler(mut entry: Reader<'_>) -> Result<Level9Sampler, ContainerError> {
    let [texture, sampler, register, _padding] = entry.array("sampler")?;
    Ok(Level9Sampler { texture, sampler, register })
}

fn runtime_constant(mut entry: Reader<'_>) -> Result<Level9RuntimeConstant, ContainerError> {
    let constant = RuntimeConstant(entry.u16("runtime constant")?);
    Ok(Level9RuntimeConstant { constant, register: entry.u16("float register")? })
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

    /// `vs_2_0` of two tokens with an entry in each table but that of truth values, which begins at the part's end.
    fn data() -> Vec<u8> {
        let mut data: Vec<u8> = [72, 0xfffe_0200, 8, 64].into_iter().flat_map(u32::to_le_bytes).collect();
        data.extend([1, 36, 1, 48, 0, 72, 1, 56, 1, 60].into_iter().flat_map(u16::to_le_bytes));
        data.extend([13, 3, 2, 5].into_iter().flat_map(u16::to_le_bytes));
        data.extend([0, 1, 2, 3]);
        data.extend([1, 6, 3, 2].into_iter().flat_map(u16::to_le_bytes));
        data.extend([4, 5, 6, 0]);
        data.extend([0, 7].into_iter().flat_map(u16::to_le_bytes));
        data.extend([0xfffe_0200u32, 0xffff].into_iter().flat_map(u32::to_le_bytes));
        data
    }

    #[test]
    fn every_field() {
        let data = data();
        let program = parse(&data).unwrap();
        let conversion = [DataConversion::FLOAT, DataConversion::BOOL, DataConversion::INT, DataConversion::UINT];
        let position_offset = Level9RuntimeConstant { constant: RuntimeConstant::POSITION_OFFSET, register: 7 };
        assert_eq!(
            program,
            Level9Program {
                part: FourCc::Aon9,
                version: 0xfffe_0200,
                tokens_offset: BASE + 64,
                tokens: &[0x00, 0x02, 0xfe, 0xff, 0xff, 0xff, 0, 0],
                float_constants: vec![Level9Constants { buffer: 13, row: 3, count: 2, register: 5, conversion }],
                int_constants: vec![Level9Integer { buffer: 1, row: 6, component: 3, register: 2 }],
                bool_constants: Level9Table { count: 0, offset: 72 },
                samplers: vec![Level9Sampler { texture: 4, sampler: 5, register: 6 }],
                runtime_constants: vec![position_offset],
            }
        );
        assert_eq!(DataConversion(9).to_string(), "unknown(0x9)");
    }

    #[test]
    fn each_bad_field_is_an_error_with_its_offset() {
        let error = |at: usize, value: u32| {
            let mut data = data();
            data[at..at + 4].copy_from_slice(&value.to_le_bytes());
            parse(&data).unwrap_err()
        };
        let table = |count: u32, offset: u32| count | offset << 16;
        assert_eq!(error(0, 35), invalid("level-9 size", 35, BASE));
        assert_eq!(error(0, 73), truncated("level-9 program", BASE, 73, 72));
        assert_eq!(error(8, 9), truncated("level-9 tokens", BASE + 64, 9, 8));
        assert_eq!(error(12, 35), invalid("level-9 token offset", 35, BASE + 12));
        assert_eq!(error(12, u32::MAX), truncated("level-9 tokens", BASE + u32::MAX as usize, 8, 0));
        assert_eq!(error(16, table(4, 36)), truncated("level-9 float constants", BASE + 36, 48, 36));
        assert_eq!(error(20, table(0xffff, 48)), truncated("level-9 integers", BASE + 48, 0xffff * 8, 24));
        assert_eq!(error(24, table(1, 72)), truncated("level-9 truth values", BASE + 72, 1, 0));
        assert_eq!(error(28, table(1, 69)), truncated("level-9 samplers", BASE + 69, 4, 3));
        assert_eq!(error(32, table(1, 0xffff)), truncated("level-9 runtime constants", BASE + 0xffff, 4, 0));
        assert!(parse(&data()[..35]).is_err());
    }
}
