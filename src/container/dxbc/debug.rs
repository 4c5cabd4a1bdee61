//! Debug information of FXC: `SDBG`, a format of its own, and `SPDB`, a program database as other compilers write it.
//!
//! Nothing documents `SDBG`; the meaning of its header is what RenderDoc's reader found out. Both stay bytes but for
//! their headers.

use super::{FourCc, Part};
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid, truncated};
use crate::error::ContainerError;

/// Bytes of the header of `SDBG`, which is what its first dword says.
const SDBG_HEADER: u32 = 0x54;

/// A table of a [`DebugInformation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugTable {
    /// Number of records.
    pub count: u32,
    /// Byte offset of the first, counted from the end of the header.
    pub offset: u32,
}

/// An `SDBG` part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugInformation<'a> {
    /// Compiler, an offset in the strings.
    pub compiler: u32,
    /// Name of the entry function, an offset in the strings.
    pub entry: u32,
    /// Profile, an offset in the strings.
    pub profile: u32,
    /// Compiler flags (`D3DCOMPILE_*`).
    pub flags: u32,
    /// Source files.
    pub files: DebugTable,
    /// Instructions.
    pub instructions: DebugTable,
    /// Variables, one a component.
    pub variables: DebugTable,
    /// Inputs that are read.
    pub inputs: DebugTable,
    /// Symbols: tie instructions to lines.
    pub symbols: DebugTable,
    /// Scopes.
    pub scopes: DebugTable,
    /// Types.
    pub types: DebugTable,
    /// Integers the tables refer to: byte offset counted from the end of the header.
    pub integers_offset: u32,
    /// Strings the tables refer to: byte offset counted from the end of the header.
    pub strings_offset: u32,
    /// Absolute byte offset of the header's end.
    pub body_offset: usize,
    /// What follows the header.
    pub body: &'a [u8],
}

impl<'a> DebugInformation<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::SDBG);
        let mut reader = part.reader();
        let size_offset = reader.offset();
        let size = reader.u32("SDBG header size")?;
        if size != SDBG_HEADER {
            return Err(invalid("SDBG header size", size.into(), size_offset));
        }
        // Structs are initialised in the order written, which is the order stored.
        let mut dword = || reader.u32("SDBG header");
        let [compiler, entry, profile, flags] = [dword()?, dword()?, dword()?, dword()?];
        let mut table = || Ok(DebugTable { count: dword()?, offset: dword()? });
        let tables = [table()?, table()?, table()?, table()?, table()?, table()?, table()?];
        let (integers_offset, strings_offset) = (dword()?, dword()?);
        let [files, instructions, variables, inputs, symbols, scopes, types] = tables;
        let (body_offset, body) = (reader.offset(), reader.rest());
        // The size of their records is not known for sure, but tables begin inside the part.
        for table in tables.iter().filter(|table| table.count > 0) {
            if table.offset as usize >= body.len() {
                return Err(truncated("SDBG table", body_offset.saturating_add(table.offset as usize), 1, 0));
            }
        }
        Ok(Self {
            compiler,
            entry,
            profile,
            flags,
            files,
            instructions,
            variables,
            inputs,
            symbols,
            scopes,
            types,
            integers_offset,
            strings_offset,
            body_offset,
            body,
        })
    }

    /// The string at `offset` in the strings.
    ///
    /// # Errors
    /// It does not end within the part.
    pub fn string(&self, offset: u32) -> Result<Name<'a>, ContainerError> {
        Reader::new(self.body, self.body_offset).name(self.strings_offset.saturating_add(offset), "SDBG string")
    }
}

/// The first bytes of a program database.
const MSF_MAGIC: [u8; 32] = *b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0";

/// An `SPDB` part: a program database, of which the header is read (LLVM, "The MSF File Format").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramDatabase<'a> {
    /// Bytes of a block.
    pub block_size: u32,
    /// Number of the block that says which blocks are free, 1 or 2.
    pub free_block_map: u32,
    /// Blocks of the file.
    pub blocks: u32,
    /// Bytes of the stream directory.
    pub directory_size: u32,
    /// Number of the block that says where the stream directory lies.
    pub directory_map: u32,
    /// The whole file.
    pub bytes: &'a [u8],
}

impl<'a> ProgramDatabase<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::SPDB);
        let mut reader = part.reader();
        let bytes = reader.rest();
        let start = reader.offset();
        let magic = reader.array("program database magic")?;
        if magic != MSF_MAGIC {
            let first = *magic.first_chunk().expect("the magic is longer than eight bytes");
            return Err(invalid("program database magic", u64::from_le_bytes(first), start));
        }
        let block_size = reader.u32("program database block size")?;
        let free_block_map = reader.u32("program database free block map")?;
        let blocks = reader.u32("program database block count")?;
        let directory_size = reader.u32("program database directory size")?;
        reader.u32("program database header")?; // Unknown, 0.
        let directory_map = reader.u32("program database directory map")?;
        Ok(Self { block_size, free_block_map, blocks, directory_size, directory_map, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Absolute offset of the data in these tests.
    const BASE: usize = 0x48;

    fn part(name: FourCc, data: &[u8]) -> Part<'_> {
        Part { name, offset: BASE - 8, data }
    }

    fn bytes(dwords: impl IntoIterator<Item = u32>) -> Vec<u8> {
        dwords.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// An `SDBG` part with one record of two bytes in each table.
    fn sdbg() -> Vec<u8> {
        let tables = (0..7).flat_map(|i| [1, 2 * i]);
        let mut data = bytes([0x54, 4, 9, 0, 0x101].into_iter().chain(tables).chain([14, 16]));
        data.extend_from_slice(&[0; 16]);
        data.extend_from_slice(b"ps_\0fxc \0main\0");
        data
    }

    #[test]
    fn every_field_of_the_old_form() {
        let data = sdbg();
        let debug = DebugInformation::parse(&part(FourCc::SDBG, &data)).unwrap();
        let name = |offset| debug.string(offset).unwrap().to_string();
        assert_eq!([name(debug.compiler), name(debug.entry), name(debug.profile)], ["fxc ", "main", "ps_"]);
        assert_eq!((debug.flags, debug.integers_offset, debug.strings_offset), (0x101, 14, 16));
        let tables = [debug.files, debug.instructions, debug.variables, debug.inputs, debug.symbols, debug.scopes];
        for (i, table) in tables.into_iter().chain([debug.types]).enumerate() {
            assert_eq!((table.count, table.offset), (1, 2 * i as u32));
        }
        assert_eq!((debug.body_offset, debug.body), (BASE + 0x54, &data[0x54..]));
        let end = BASE + data.len();
        assert_eq!(debug.string(14), Err(truncated("SDBG string", end, 1, 0)));
        assert!(debug.string(u32::MAX).is_err());
    }

    #[test]
    fn a_bad_field_of_the_old_form_is_an_error_with_its_offset() {
        let error = |at: usize, value: u32| {
            let mut data = sdbg();
            data[at..at + 4].copy_from_slice(&value.to_le_bytes());
            DebugInformation::parse(&part(FourCc::SDBG, &data)).unwrap_err()
        };
        assert_eq!(error(0, 0x55), invalid("SDBG header size", 0x55, BASE));
        assert_eq!(error(24, 30), truncated("SDBG table", BASE + 0x54 + 30, 1, 0));
        assert_eq!(error(24, u32::MAX), truncated("SDBG table", BASE + 0x54 + u32::MAX as usize, 1, 0));
        let error = DebugInformation::parse(&part(FourCc::SDBG, &sdbg()[..0x53])).unwrap_err();
        assert_eq!(error, truncated("SDBG header", BASE + 0x50, 4, 3));
    }

    #[test]
    fn a_program_database_is_known_by_its_magic() {
        let mut data = MSF_MAGIC.to_vec();
        data.extend(bytes([4096, 1, 9, 64, 0, 3]));
        data.extend_from_slice(b"blocks");
        let database = ProgramDatabase::parse(&part(FourCc::SPDB, &data)).unwrap();
        let fields = (database.block_size, database.free_block_map, database.blocks);
        assert_eq!(fields, (4096, 1, 9));
        assert_eq!((database.directory_size, database.directory_map, database.bytes), (64, 3, data.as_slice()));

        let error = ProgramDatabase::parse(&part(FourCc::SPDB, &data[..55])).unwrap_err();
        assert_eq!(error, truncated("program database directory map", BASE + 52, 4, 3));
        data[0] = b'm';
        let error = ProgramDatabase::parse(&part(FourCc::SPDB, &data)).unwrap_err();
        assert_eq!(error, invalid("program database magic", u64::from_le_bytes(*b"microsof"), BASE));
    }
}
