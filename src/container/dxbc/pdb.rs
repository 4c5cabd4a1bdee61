//! Debug information of newer DXC (`PDBI`): sources, arguments and linked libraries as runtime data, compressed as one
//! (DirectXShaderCompiler, `DxilShaderPDBInfo`).

use super::packed::{Compression, Packing, Unpacked};
use super::{FourCc, Part, RuntimeData};
use crate::container::reader::{Reader, invalid};
use crate::error::ContainerError;

/// The one version there is.
const VERSION: u16 = 0;
/// Bytes of the header.
const HEADER: u32 = 12;

/// A `PDBI` part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdbInfo<'a> {
    unpacked: Unpacked<'a>,
}

impl<'a> PdbInfo<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::PDBI);
        let mut reader = part.reader();
        let version_offset = reader.offset();
        let version = reader.u16("PDBI version")?;
        if version != VERSION {
            return Err(invalid("PDBI version", version.into(), version_offset));
        }
        let compression_offset = reader.offset();
        let compression = Compression(reader.u16("PDBI compression")?);
        let stored = reader.u32("PDBI size")?;
        let size_offset = reader.offset();
        let size = reader.u32("PDBI uncompressed size")?;
        let stored = reader.range(HEADER, stored.into(), "PDBI data")?;
        let packing = Packing { compression, compression_offset, size, size_offset, part_bytes: part.data.len() };
        let unpacked = Unpacked::new(&stored, &packing, "PDBI data")?;
        RuntimeData::read(unpacked.reader()).map_err(|error| unpacked.located(error))?;
        Ok(Self { unpacked })
    }

    /// How the part holds it.
    pub fn compression(&self) -> Compression {
        self.unpacked.compression
    }

    /// The information, as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.unpacked.bytes
    }

    /// The information: its tables of [`pdbs`](RuntimeData::pdbs), [`pdb_sources`](RuntimeData::pdb_sources) and
    /// [`pdb_libraries`](RuntimeData::pdb_libraries).
    pub fn runtime_data(&self) -> RuntimeData<'_> {
        RuntimeData::read(Reader::new(self.bytes(), 0)).expect("read when the part was parsed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::limits;
    use crate::container::reader::{over_limit, truncated};
    use miniz_oxide::deflate::compress_to_vec_zlib;

    /// Absolute offset of the data in these tests.
    const BASE: usize = 0x48;

    fn parse(data: &[u8]) -> Result<PdbInfo<'_>, ContainerError> {
        PdbInfo::parse(&Part { name: FourCc::PDBI, offset: BASE - 8, data })
    }

    fn bytes(dwords: &[u32]) -> Vec<u8> {
        dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
    }

    /// Runtime data with one source file.
    fn runtime_data() -> Vec<u8> {
        let mut data = bytes(&[0x10, 2, 16, 40, 1, 16]);
        data.extend_from_slice(b"\0a.hlsl\0float x\0");
        data.extend(bytes(&[0x10002, 16, 1, 8, 1, 8]));
        data
    }

    fn part_of(version: u16, compression: u16, data: &[u8], size: u32) -> Vec<u8> {
        let mut part = Vec::new();
        part.extend(version.to_le_bytes());
        part.extend(compression.to_le_bytes());
        part.extend(bytes(&[data.len() as u32, size]));
        part.extend_from_slice(data);
        part
    }

    #[test]
    fn sources_of_a_compilation() {
        let plain = runtime_data();
        let size = plain.len() as u32;
        let zlib = compress_to_vec_zlib(&plain, 6);
        for (data, compression) in [(&plain, Compression::NONE), (&zlib, Compression::ZLIB)] {
            let data = part_of(0, compression.0, data, size);
            let info = parse(&data).unwrap();
            assert_eq!((info.compression(), info.bytes()), (compression, plain.as_slice()));
            let sources: Vec<_> = info
                .runtime_data()
                .pdb_sources
                .iter()
                .map(|source| (source.name.to_string(), source.text.to_vec()))
                .collect();
            assert_eq!(sources, [("a.hlsl".to_string(), b"float x".to_vec())]);
        }
    }

    #[test]
    fn each_bad_field_is_an_error_with_its_offset() {
        let plain = runtime_data();
        let size = plain.len() as u32;
        let zlib = compress_to_vec_zlib(&plain, 6);
        let error = |part: Vec<u8>| parse(&part).unwrap_err();
        assert_eq!(error(part_of(1, 0, &plain, size)), invalid("PDBI version", 1, BASE));
        assert_eq!(error(part_of(0, 2, &plain, size)), invalid("compression", 2, BASE + 2));
        assert_eq!(error(part_of(0, 0, &plain, size - 1)), invalid("uncompressed size", u64::from(size) - 1, BASE + 8));
        let mut long = part_of(0, 0, &plain, size);
        long[4] += 1;
        assert_eq!(error(long), truncated("PDBI data", BASE + 12, plain.len() + 1, plain.len()));
        let reason = "it is shorter than stated";
        let compressed = ContainerError::Compressed { what: "PDBI data", reason, offset: BASE + 12 };
        assert_eq!(error(part_of(0, 1, &zlib, size + 1)), compressed);
        let limit = limits::inflated_bytes(12 + zlib.len()) as u64;
        let expected = over_limit("uncompressed size", u32::MAX.into(), limit, BASE + 8);
        assert_eq!(error(part_of(0, 1, &zlib, u32::MAX)), expected);

        let mut bad = plain.clone();
        *bad.last_chunk_mut().unwrap() = 17u32.to_le_bytes();
        let at = BASE + 12 + 24 + 17;
        assert_eq!(error(part_of(0, 0, &bad, size)), truncated("RDAT source text", at, 1, 0));
        let zlib = compress_to_vec_zlib(&bad, 6);
        assert_eq!(error(part_of(0, 1, &zlib, size)), truncated("RDAT source text", BASE + 12, 1, 0));
    }
}
