//! `DVLP`: the program memory, operand descriptors and file names that the executables of a SHBIN share.

use super::tables::Table;
use crate::container::limits;
use crate::container::reader::Reader;
use crate::error::ContainerError;

/// Bytes of the header.
pub(super) const HEADER: usize = 0x28;
/// Bytes of an operand-descriptor record: the descriptor and a word that is 0.
pub(super) const DESCRIPTOR: u32 = 8;

/// A `DVLP` part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dvlp<'a> {
    /// Absolute byte offset of the part.
    pub offset: usize,
    /// Version field; assemblers write 0.
    pub version: u32,
    /// Program memory, one instruction a word. At most 4096 words.
    pub code: Vec<u32>,
    /// Absolute byte offset of the first word of `code`.
    pub code_offset: usize,
    /// Operand descriptors, the first word of each record (the second is 0 in every known file). At most 128.
    pub descriptors: Vec<u32>,
    /// Absolute byte offset of the first descriptor's record; a record has eight bytes.
    pub descriptors_offset: usize,
    /// The second words of the operand descriptors' records.
    pub descriptor_tails: Vec<u32>,
    /// Header words 0x18 and 0x1c, of unknown meaning, perhaps offset and size of a table: picasso writes the end of
    /// the operand descriptors and 0.
    pub unknown: [u32; 2],
    /// Symbol table: NUL-terminated file names. Assemblers leave it empty.
    pub symbols: &'a [u8],
}

/// The header: what it says itself, and where the tables are.
struct Header {
    version: u32,
    code: Table,
    descriptors: Table,
    unknown: [u32; 2],
    symbols: Table,
}

impl Header {
    fn read(mut header: Reader<'_>) -> Result<Self, ContainerError> {
        header.u32("DVLP magic")?;
        Ok(Self {
            version: header.u32("DVLP version")?,
            code: Table::read(&mut header, "code size in words", limits::PICA_CODE_WORDS)?,
            descriptors: Table::read(&mut header, "operand descriptor count", limits::PICA_DESCRIPTORS)?,
            unknown: [header.u32("DVLP header")?, header.u32("DVLP header")?],
            symbols: Table::read(&mut header, "DVLP symbol size", u32::MAX)?,
        })
    }
}

/// A reader of the part, which has no end of its own.
fn part(file: &[u8], offset: u32) -> Result<Reader<'_>, ContainerError> {
    super::part(file, offset, *b"DVLP", "DVLP magic")
}

impl<'a> Dvlp<'a> {
    pub(super) fn parse(file: &'a [u8], offset: u32) -> Result<Self, ContainerError> {
        let part = part(file, offset)?;
        let header = Header::read(part.clone())?;
        let code = words(&part, header.code)?;
        let (descriptors, descriptor_tails) = descriptors(&part, header.descriptors)?;
        let symbols = part.range(header.symbols.offset, header.symbols.count.into(), "DVLP symbols")?;
        Ok(Self {
            offset: part.offset(),
            version: header.version,
            code,
            code_offset: part.offset_of(header.code.offset),
            descriptors,
            descriptors_offset: part.offset_of(header.descriptors.offset),
            descriptor_tails,
            unknown: header.unknown,
            symbols: symbols.rest(),
        })
    }

    /// Absolute offset of the part's end: that of its header or of its last table.
    pub(super) fn end_of(file: &[u8], offset: u32) -> Result<usize, ContainerError> {
        let part = part(file, offset)?;
        let header = Header::read(part.clone())?;
        let code = header.code.end(&part, 4, "code")?;
        let descriptors = header.descriptors.end(&part, DESCRIPTOR, "operand descriptors")?;
        let symbols = header.symbols.end(&part, 1, "DVLP symbols")?;
        Ok(code.max(descriptors).max(symbols).max(part.offset() + HEADER))
    }
}

/// The words of a program.
pub(super) fn words(part: &Reader<'_>, table: Table) -> Result<Vec<u32>, ContainerError> {
    table.records(part, 4, "code", |mut record| record.u32("word"))
}

/// Operand descriptors, and the second words of their records.
pub(super) fn descriptors(part: &Reader<'_>, table: Table) -> Result<(Vec<u32>, Vec<u32>), ContainerError> {
    let read = |mut record: Reader<'_>| Ok((record.u32("descriptor")?, record.u32("descriptor")?));
    Ok(table.records(part, DESCRIPTOR, "operand descriptors", read)?.into_iter().unzip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::{invalid, over_limit, truncated};

    /// A `DVLP` at offset 4 with two code words and one descriptor, whose header word `index` is replaced.
    fn parse(index: usize, value: u32) -> Result<(Vec<u32>, Vec<u32>, usize, usize), ContainerError> {
        let mut words =
            [0, u32::from_le_bytes(*b"DVLP"), 0, 40, 2, 48, 1, 0, 0, 56, 0, 0x8800_0000, 0x8400_0000, 0x36f, 0];
        words[1 + index] = value;
        let file: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let dvlp = Dvlp::parse(&file, 4)?;
        Ok((dvlp.code, dvlp.descriptors, dvlp.code_offset, dvlp.descriptors_offset))
    }

    #[test]
    fn tables_are_found_by_their_offsets() {
        assert_eq!(parse(1, 0), Ok((vec![0x8800_0000, 0x8400_0000], vec![0x36f], 44, 52)));
        assert_eq!(parse(2, 44).unwrap().0, [0x8400_0000, 0x36f]);
    }

    #[test]
    fn words_of_unknown_meaning_are_kept() {
        let words = [u32::from_le_bytes(*b"DVLP"), 7, 40, 0, 40, 1, 8, 9, 48, 3, 0x36f, 0xdead, 0x0062_0061];
        let file: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let dvlp = Dvlp::parse(&file, 0).unwrap();
        assert_eq!((dvlp.version, dvlp.unknown), (7, [8, 9]));
        assert_eq!((dvlp.descriptors, dvlp.descriptor_tails), (vec![0x36f], vec![0xdead]));
        assert_eq!(dvlp.symbols, b"a\0b");
    }

    #[test]
    fn each_bad_field_is_an_error_with_its_offset() {
        assert_eq!(parse(0, 7), Err(invalid("DVLP magic", 7, 4)));
        assert_eq!(parse(2, 56), Err(truncated("code", 60, 8, 0)));
        assert_eq!(parse(3, 4097), Err(over_limit("code size in words", 4097, 4096, 16)));
        assert_eq!(parse(5, 129), Err(over_limit("operand descriptor count", 129, 128, 24)));
        assert_eq!(parse(5, 2), Err(truncated("operand descriptors", 52, 16, 8)));
        assert_eq!(parse(9, 1), Err(truncated("DVLP symbols", 60, 1, 0)));
    }
}
