//! `DVLP`: the program memory, operand descriptors and file names that the executables of a SHBIN share.

use super::table::Table;
use crate::container::limits;
use crate::container::reader::Reader;
use crate::error::ContainerError;

/// Bytes of an operand-descriptor record: the descriptor and a word that is 0.
const DESCRIPTOR: u32 = 8;

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
    /// Symbol table: NUL-terminated file names. Assemblers leave it empty.
    pub symbols: &'a [u8],
}

/// Bytes of the header.
const HEADER: usize = 0x28;

/// The header: where the tables are.
struct Header {
    version: u32,
    code: Table,
    descriptors: Table,
    symbols: Table,
}

impl Header {
    fn read(part: &Reader<'_>) -> Result<Self, ContainerError> {
        let mut header = part.clone();
        header.u32("DVLP magic")?;
        let version = header.u32("DVLP version")?;
        let code = Table {
            position: header.u32("code offset")?,
            count: header.count("code size in words", limits::PICA_CODE_WORDS)?,
            stride: 4,
            what: "code",
        };
        let descriptors = Table {
            position: header.u32("operand descriptor offset")?,
            count: header.count("operand descriptor count", limits::PICA_DESCRIPTORS)?,
            stride: DESCRIPTOR,
            what: "operand descriptors",
        };
        header.bytes(8, "DVLP header")?; // Two words of unknown meaning.
        let symbols = Table {
            position: header.u32("DVLP symbol offset")?,
            count: header.u32("DVLP symbol size")?,
            stride: 1,
            what: "DVLP symbols",
        };
        Ok(Self { version, code, descriptors, symbols })
    }
}

/// A reader of the part, which has no end of its own.
fn part(file: &[u8], offset: u32) -> Result<Reader<'_>, ContainerError> {
    super::part(file, offset, *b"DVLP", "DVLP magic")
}

impl<'a> Dvlp<'a> {
    pub(super) fn parse(file: &'a [u8], offset: u32) -> Result<Self, ContainerError> {
        let part = part(file, offset)?;
        let Header { version, code, descriptors, symbols } = Header::read(&part)?;
        let word = |mut record: Reader<'_>| record.u32("word");
        Ok(Self {
            offset: part.offset(),
            version,
            code: code.records(&part)?.map(word).collect::<Result<_, _>>()?,
            code_offset: part.offset_of(code.position),
            descriptors: descriptors.records(&part)?.map(word).collect::<Result<_, _>>()?,
            descriptors_offset: part.offset_of(descriptors.position),
            symbols: symbols.range(&part)?.rest(),
        })
    }

    /// Absolute offset of the part's end: that of its header or of its last table.
    pub(super) fn end(file: &[u8], offset: u32) -> Result<usize, ContainerError> {
        let part = part(file, offset)?;
        let Header { code, descriptors, symbols, .. } = Header::read(&part)?;
        let tables = [code, descriptors, symbols];
        tables.iter().try_fold(part.offset() + HEADER, |end, table| Ok(end.max(table.end(&part)?)))
    }
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
    fn each_bad_field_is_an_error_with_its_offset() {
        assert_eq!(parse(0, 7), Err(invalid("DVLP magic", 7, 4)));
        assert_eq!(parse(2, 56), Err(truncated("code", 60, 8, 0)));
        assert_eq!(parse(3, 4097), Err(over_limit("code size in words", 4097, 4096, 16)));
        assert_eq!(parse(5, 129), Err(over_limit("operand descriptor count", 129, 128, 24)));
        assert_eq!(parse(5, 2), Err(truncated("operand descriptors", 52, 16, 8)));
        assert_eq!(parse(9, 1), Err(truncated("DVLP symbols", 60, 1, 0)));
    }
}
