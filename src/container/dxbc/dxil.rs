//! The header of a DXIL program (`DXIL`, `ILDB`, and the `STAT` of such a container): which stage and model it is, and
//! where its LLVM bitcode lies (DirectXShaderCompiler, `DxilProgramHeader`).
//!
//! | bytes | field |
//! |---|---|
//! | 0 | minor shader model in the low four bits, major in the high ones |
//! | 1 | 0 |
//! | 2..4 | stage |
//! | 4..8 | size of all of this in dwords |
//! | 8..12 | `DXIL` |
//! | 12, 13 | minor and major version of DXIL |
//! | 14..16 | 0 |
//! | 16..20 | offset of the bitcode from byte 8 |
//! | 20..24 | size of the bitcode in bytes |

use super::{FourCc, Part, ShaderStage};
use crate::container::reader::{invalid, truncated};
use crate::error::ContainerError;

/// Bytes of both headers.
const HEADER: usize = 24;
/// Where the second header begins, from which the offset of the bitcode counts.
const BITCODE_HEADER: u32 = 8;
/// The first bytes of LLVM bitcode.
const BITCODE_MAGIC: [u8; 4] = [b'B', b'C', 0xc0, 0xde];

/// A program of shader model 6: what its headers say, and its bitcode unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DxilProgram<'a> {
    /// The part it lies in.
    pub part: FourCc,
    /// Stage.
    pub stage: ShaderStage,
    /// Shader model: major, minor.
    pub model: (u8, u8),
    /// Version of DXIL: major, minor.
    pub dxil_version: (u8, u8),
    /// Absolute byte offset of the bitcode.
    pub bitcode_offset: usize,
    /// The LLVM bitcode, from its magic on.
    pub bitcode: &'a [u8],
    /// What the size in dwords covers behind the bitcode: padding.
    pub tail: &'a [u8],
}

impl<'a> DxilProgram<'a> {
    /// Whether `part` holds such a program: asked of `STAT`, which means something else beside a tokenized program.
    pub fn is_in(part: &Part<'_>) -> bool {
        part.data.get(8..12) == Some(b"DXIL")
    }

    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        let mut reader = part.reader();
        let start = reader.offset();
        let model = reader.u8("shader model")?;
        reader.u8("shader model")?; // Unused.
        let stage = ShaderStage(reader.u16("shader stage")?.into());
        let size_offset = reader.offset();
        let dwords = reader.u32("DXIL program size")?;
        // A product that does not fit is longer than any slice.
        let size = usize::try_from(u64::from(dwords) * 4).unwrap_or(usize::MAX);
        if size < HEADER {
            return Err(invalid("DXIL program size", dwords.into(), size_offset));
        }
        if size > part.data.len() {
            return Err(truncated("DXIL program", start, size, part.data.len()));
        }

        let magic_offset = reader.offset();
        let magic = reader.array("DXIL magic")?;
        if magic != *b"DXIL" {
            return Err(invalid("DXIL magic", u32::from_le_bytes(magic).into(), magic_offset));
        }
        let dxil_minor = reader.u8("DXIL version")?;
        let dxil_major = reader.u8("DXIL version")?;
        reader.u16("DXIL version")?; // Unused.
        let offset_offset = reader.offset();
        let offset = reader.u32("bitcode offset")?;
        if offset < HEADER as u32 - BITCODE_HEADER {
            return Err(invalid("bitcode offset", offset.into(), offset_offset));
        }
        let length = reader.u32("bitcode size")?;

        let program = part.reader().range(0, size as u64, "DXIL program")?;
        let mut code = program.range(offset.saturating_add(BITCODE_HEADER), length.into(), "bitcode")?;
        let bitcode_offset = code.offset();
        let bitcode = code.rest();
        let magic = code.array("bitcode magic")?;
        if magic != BITCODE_MAGIC {
            return Err(invalid("bitcode magic", u32::from_le_bytes(magic).into(), bitcode_offset));
        }
        let end = (bitcode_offset - start + bitcode.len()) as u32; // At most the part's size, which is 32 bits.
        let tail = program.range(end, size as u64 - u64::from(end), "DXIL program")?.rest();
        Ok(Self {
            part: part.name,
            stage,
            model: (model >> 4, model & 0xf),
            dxil_version: (dxil_major, dxil_minor),
            bitcode_offset,
            bitcode,
            tail,
        })
    }

    /// The profile, such as `vs_6_0`.
    pub fn profile(&self) -> String {
        let (major, minor) = self.model;
        match self.stage.prefix() {
            Some(prefix) => format!("{prefix}_{major}_{minor}"),
            None => format!("{}_{major}_{minor}", self.stage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Absolute offset of the data in these tests.
    const BASE: usize = 0x108;

    fn parse(data: &[u8]) -> Result<DxilProgram<'_>, ContainerError> {
        DxilProgram::parse(&Part { name: FourCc::DXIL, offset: BASE - 8, data })
    }

    /// A library of shader model 6.7 with eight bytes of bitcode and four of padding.
    fn data() -> Vec<u8> {
        let mut data = vec![0x67, 0, 6, 0, 9, 0, 0, 0];
        data.extend_from_slice(b"DXIL\x07\x01\0\0\x10\0\0\0\x08\0\0\0BC\xc0\xdebits\xab\xab\xab\xab");
        data
    }

    #[test]
    fn every_field_of_the_headers() {
        let data = data();
        let program = parse(&data).unwrap();
        assert_eq!((program.stage, program.model, program.dxil_version), (ShaderStage::LIBRARY, (6, 7), (1, 7)));
        assert_eq!((program.bitcode, program.bitcode_offset), (b"BC\xc0\xdebits".as_slice(), BASE + 24));
        assert_eq!((program.tail, program.part), ([0xab; 4].as_slice(), FourCc::DXIL));
        assert_eq!(program.profile(), "lib_6_7");
        let mut node = data.clone();
        node[2] = 15;
        assert_eq!(parse(&node).unwrap().profile(), "node_6_7");
        assert!(DxilProgram::is_in(&Part { name: FourCc::STAT, offset: 0, data: &data }));
        assert!(!DxilProgram::is_in(&Part { name: FourCc::STAT, offset: 0, data: &data[..11] }));
    }

    #[test]
    fn each_bad_field_is_an_error_with_its_offset() {
        let error = |at: usize, value: u32| {
            let mut data = data();
            data[at..at + 4].copy_from_slice(&value.to_le_bytes());
            parse(&data).unwrap_err()
        };
        assert_eq!(error(4, 5), invalid("DXIL program size", 5, BASE + 4));
        assert_eq!(error(4, 10), truncated("DXIL program", BASE, 40, 36));
        assert!(matches!(error(4, u32::MAX), ContainerError::Truncated { offset: BASE, .. }));
        assert_eq!(error(8, 7), invalid("DXIL magic", 7, BASE + 8));
        assert_eq!(error(16, 15), invalid("bitcode offset", 15, BASE + 16));
        assert_eq!(error(16, 25), truncated("bitcode", BASE + 33, 8, 3));
        assert_eq!(error(16, u32::MAX), truncated("bitcode", BASE + u32::MAX as usize, 8, 0));
        assert_eq!(error(20, u32::MAX), truncated("bitcode", BASE + 24, u32::MAX as usize, 12));
        assert_eq!(error(20, 3), truncated("bitcode magic", BASE + 24, 4, 3));
        assert_eq!(error(24, 0), invalid("bitcode magic", 0, BASE + 24));
        assert_eq!(parse(&data()[..6]), Err(truncated("DXIL program size", BASE + 4, 4, 2)));
    }

    #[test]
    fn the_bitcode_ends_within_the_stated_size() {
        let mut data = data();
        data[4] = 7;
        assert_eq!(parse(&data), Err(truncated("bitcode", BASE + 24, 8, 4)));
    }
}
