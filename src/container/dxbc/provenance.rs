//! What a compiler of shader model 6 says of itself and its output: `HASH`, `VERS` and `ILDN` (DirectXShaderCompiler,
//! `DxilContainer.h`).

use super::{FourCc, Part};
use crate::container::digest::Digest;
use crate::container::name::Name;
use crate::container::reader::invalid;
use crate::error::ContainerError;

/// A `HASH` part: flags and the MD5 of the program's bitcode, or of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaderHash {
    /// Flags: 1 = the hash was taken of bitcode with debug information, so that it includes the source.
    pub flags: u32,
    /// The hash.
    pub digest: Digest,
}

impl ShaderHash {
    pub(super) fn parse(part: &Part<'_>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::HASH);
        let mut reader = part.reader();
        Ok(Self { flags: reader.u32("hash flags")?, digest: Digest(reader.array("hash")?) })
    }

    /// Whether the hash was taken of something that includes the source.
    pub fn includes_source(&self) -> bool {
        self.flags & 1 != 0
    }
}

/// A `VERS` part: the compiler that wrote the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompilerVersion<'a> {
    /// Version: major, minor.
    pub version: (u16, u16),
    /// Flags: 1 = debug build, 2 = internal build.
    pub flags: u32,
    /// Commits in the history of the compiler's source.
    pub commits: u32,
    /// Name of the commit it was built from.
    pub commit: Name<'a>,
    /// What the one who built it calls it.
    pub custom: Name<'a>,
}

impl<'a> CompilerVersion<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::VERS);
        let mut reader = part.reader();
        let version = (reader.u16("compiler version")?, reader.u16("compiler version")?);
        let flags = reader.u32("compiler version flags")?;
        let commits = reader.u32("compiler commit count")?;
        let length = reader.u32("compiler version text size")?;
        let text = reader.range(16, length.into(), "compiler version text")?;
        let commit = text.name(0, "compiler commit")?;
        // A name is at most 4096 bytes long, so its length fits.
        let behind = commit.as_bytes().len() as u32 + 1;
        let custom = match text.len() as u32 > behind {
            true => text.name(behind, "compiler version text")?,
            false => Name::default(),
        };
        Ok(Self { version, flags, commits, commit, custom })
    }
}

/// An `ILDN` part: the name under which a compiler suggests to keep the debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugName<'a> {
    /// Flags, 0 so far.
    pub flags: u16,
    /// File name.
    pub name: Name<'a>,
}

impl<'a> DebugName<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::ILDN);
        let mut reader = part.reader();
        let flags = reader.u16("debug name flags")?;
        let length = reader.u16("debug name size")?;
        let name = reader.bytes(length.into(), "debug name")?;
        let end = reader.offset();
        let terminator = reader.u8("debug name terminator")?;
        if terminator != 0 {
            return Err(invalid("debug name terminator", terminator.into(), end));
        }
        Ok(Self { flags, name: Name::new(name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::truncated;

    /// Absolute offset of the data in these tests.
    const BASE: usize = 0x48;

    fn part(name: FourCc, data: &[u8]) -> Part<'_> {
        Part { name, offset: BASE - 8, data }
    }

    #[test]
    fn hash_is_flags_and_digest() {
        let mut data = vec![1, 0, 0, 0];
        data.extend(0..16);
        let hash = ShaderHash::parse(&part(FourCc::HASH, &data)).unwrap();
        assert_eq!((hash.flags, hash.includes_source()), (1, true));
        assert_eq!(hash.digest.to_string(), "000102030405060708090a0b0c0d0e0f");
        let error = ShaderHash::parse(&part(FourCc::HASH, &data[..19])).unwrap_err();
        assert_eq!(error, truncated("hash", BASE + 4, 16, 15));
        let error = ShaderHash::parse(&part(FourCc::HASH, &data[..3])).unwrap_err();
        assert_eq!(error, truncated("hash flags", BASE, 4, 3));
    }

    fn version(length: u32, text: &[u8]) -> Vec<u8> {
        let mut data = vec![1, 0, 8, 0, 3, 0, 0, 0, 0x10, 0x27, 0, 0];
        data.extend(length.to_le_bytes());
        data.extend_from_slice(text);
        data
    }

    #[test]
    fn compiler_version_has_two_texts() {
        let data = version(11, b"abc123\x001.8\0\0");
        let parsed = CompilerVersion::parse(&part(FourCc::VERS, &data)).unwrap();
        assert_eq!((parsed.version, parsed.flags, parsed.commits), ((1, 8), 3, 10_000));
        assert_eq!((parsed.commit, parsed.custom), (Name::new(b"abc123"), Name::new(b"1.8")));

        let data = version(7, b"abc123\0\0");
        let parsed = CompilerVersion::parse(&part(FourCc::VERS, &data)).unwrap();
        assert_eq!((parsed.commit, parsed.custom), (Name::new(b"abc123"), Name::default()));
    }

    #[test]
    fn texts_of_a_compiler_version_end_within_their_size() {
        let error = |length, text: &[u8]| {
            let data = version(length, text);
            CompilerVersion::parse(&part(FourCc::VERS, &data)).unwrap_err()
        };
        assert_eq!(error(8, b"abc\0"), truncated("compiler version text", BASE + 16, 8, 4));
        assert_eq!(error(u32::MAX, b""), truncated("compiler version text", BASE + 16, u32::MAX as usize, 0));
        assert_eq!(error(3, b"abc\0"), truncated("compiler commit", BASE + 16, 4, 3));
        assert_eq!(error(6, b"abc\x001.8\0"), truncated("compiler version text", BASE + 20, 3, 2));
        let data = version(0, b"");
        let error = CompilerVersion::parse(&part(FourCc::VERS, &data[..15])).unwrap_err();
        assert_eq!(error, truncated("compiler version text size", BASE + 12, 4, 3));
    }

    #[test]
    fn debug_name_is_counted_and_terminated() {
        let name = DebugName::parse(&part(FourCc::ILDN, b"\0\0\x05\0a.pdb\0\0\0")).unwrap();
        assert_eq!((name.flags, name.name), (0, Name::new(b"a.pdb")));
        let error = |data: &[u8]| DebugName::parse(&part(FourCc::ILDN, data)).unwrap_err();
        assert_eq!(error(b"\0\0\x05"), truncated("debug name size", BASE + 2, 2, 1));
        assert_eq!(error(b"\0\0\xff\xffabc"), truncated("debug name", BASE + 4, 0xffff, 3));
        assert_eq!(error(b"\0\0\x03\0abc"), truncated("debug name terminator", BASE + 7, 1, 0));
        assert_eq!(error(b"\0\0\x03\0abcd"), invalid("debug name terminator", u64::from(b'd'), BASE + 7));
    }
}
