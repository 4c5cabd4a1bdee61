//! `DVOJ`, an unlinked shader object: one program with the tables of one executable, from which a linker makes a SHBIN
//! (documented by 3dbrew, whose offset of the output mask is a misprint: it follows the input mask).
//!
//! No file of this kind was at hand: the layout is 3dbrew's, its reading is tested on files made for that.

use super::dvle::{MERGE_OUTPUT_MAPS, ShaderKind};
use super::dvlp;
use super::tables::{Constant, Contents, Label, OutputMapping, Table, Tables, Uniform};
use super::write::{self, Names};
use crate::container::limits;
use crate::container::listing::PartInfo;
use crate::container::name::Name;
use crate::container::reader::{Reader, unknown_magic};
use crate::container::writer::Writer;
use crate::error::ContainerError;

/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"DVOJ";

/// Bytes of the header.
const HEADER: usize = 0x58;
/// Bytes of a line record.
const LINE: u32 = 8;
/// Bytes of an operand record.
const OPERANDS: u32 = 12;

/// A DVOJ: its header is read, its tables are not. All offsets in it count from the start of the file.
#[derive(Clone, Debug)]
pub struct Dvoj<'a> {
    bytes: &'a [u8],
    header: Header,
}

/// The line of source an instruction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine<'a> {
    /// Where the file's name lies in the symbol table.
    pub symbol: u32,
    /// The source file.
    pub file: Name<'a>,
    /// Line in it.
    pub line: u32,
}

/// The contents of a DVOJ.
#[derive(Clone, Debug, PartialEq)]
pub struct Object<'a> {
    /// Version field.
    pub version: u16,
    /// Stage.
    pub kind: ShaderKind,
    /// Flags; bit 0 is that of [`merges_output_maps`](Self::merges_output_maps).
    pub flags: u8,
    /// Input registers used, bit n = `vn`.
    pub input_mask: u16,
    /// Output registers used, bit n = `on`.
    pub output_mask: u16,
    /// Of unknown meaning, usually all ones. In a `DVLE` the geometry fields follow the masks.
    pub unknown: u32,
    /// Values for uniform registers.
    pub constants: Vec<Constant>,
    /// Labels.
    pub labels: Vec<Label<'a>>,
    /// The program, which begins with its first word. At most 4096 words.
    pub code: Vec<u32>,
    /// Absolute byte offset of the first word of `code`.
    pub code_offset: usize,
    /// Operand descriptors, the first word of each record. At most 128.
    pub descriptors: Vec<u32>,
    /// The second words of the operand descriptors' records.
    pub descriptor_tails: Vec<u32>,
    /// The first block of unknown meaning, by 3dbrew's guess: where each instruction comes from.
    pub lines: Vec<SourceLine<'a>>,
    /// The second block of unknown meaning: for each instruction with operands its word, and two numbers.
    pub operands: Vec<[u32; 3]>,
    /// Meaning of the output registers.
    pub outputs: Vec<OutputMapping>,
    /// Named inputs and uniforms.
    pub uniforms: Vec<Uniform<'a>>,
    /// Symbol table: the NUL-terminated names that labels, lines and uniforms point into.
    pub symbols: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
struct Header {
    version: u16,
    kind: ShaderKind,
    flags: u8,
    input_mask: u16,
    output_mask: u16,
    unknown: u32,
    code: Table,
    descriptors: Table,
    lines: Table,
    operands: Table,
    tables: Tables,
}

impl Header {
    fn read(mut header: Reader<'_>) -> Result<Self, ContainerError> {
        header.u32("DVOJ magic")?;
        let version = header.u16("DVOJ version")?;
        let kind = ShaderKind::read(&mut header)?;
        let flags = header.u8("DVOJ flags")?;
        let input_mask = header.u16("input mask")?;
        let output_mask = header.u16("output mask")?;
        let unknown = header.u32("DVOJ header")?;
        let constants = Tables::constants_at(&mut header)?;
        let labels = Tables::labels_at(&mut header)?;
        let code = Table::read(&mut header, "code size in words", limits::PICA_CODE_WORDS)?;
        let descriptors = Table::read(&mut header, "operand descriptor count", limits::PICA_DESCRIPTORS)?;
        let lines = Table::read(&mut header, "line count", limits::PICA_CODE_WORDS)?;
        let operands = Table::read(&mut header, "operand record count", limits::PICA_CODE_WORDS)?;
        let outputs = Tables::outputs_at(&mut header)?;
        let uniforms = Tables::uniforms_at(&mut header)?;
        let symbols = Tables::symbols_at(&mut header)?;
        let tables = Tables { constants, labels, outputs, uniforms, symbols };
        Ok(Self { version, kind, flags, input_mask, output_mask, unknown, code, descriptors, lines, operands, tables })
    }
}

impl<'a> Dvoj<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// The magic is not `DVOJ`, or the header is cut short or holds a value that it cannot have.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ContainerError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(unknown_magic(bytes));
        }
        Ok(Self { bytes, header: Header::read(Reader::new(bytes, 0))? })
    }

    /// The container's bytes. The format does not say where it ends, so these are all that were given.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Stage.
    pub fn kind(&self) -> ShaderKind {
        self.header.kind
    }

    /// Reads the program and all tables.
    ///
    /// # Errors
    /// A table is malformed.
    pub fn object(&self) -> Result<Object<'a>, ContainerError> {
        let Header { version, kind, flags, input_mask, output_mask, unknown, tables, .. } = self.header;
        let file = Reader::new(self.bytes, 0);
        let Contents { constants, labels, outputs, uniforms, symbols } = tables.contents(&file)?;
        let (descriptors, descriptor_tails) = dvlp::descriptors(&file, self.header.descriptors)?;
        let line = |mut record: Reader<'a>| {
            let symbol = record.u32("source file symbol")?;
            let file = symbols.name(symbol, "source file symbol")?;
            Ok(SourceLine { symbol, file, line: record.u32("source line")? })
        };
        let operands = |mut record: Reader<'a>| {
            Ok([record.u32("operand record")?, record.u32("operand record")?, record.u32("operand record")?])
        };
        Ok(Object {
            version,
            kind,
            flags,
            input_mask,
            output_mask,
            unknown,
            constants,
            labels,
            code: dvlp::words(&file, self.header.code)?,
            code_offset: file.offset_of(self.header.code.offset),
            descriptors,
            descriptor_tails,
            lines: self.header.lines.records(&file, LINE, "lines", line)?,
            operands: self.header.operands.records(&file, OPERANDS, "operand records", operands)?,
            outputs,
            uniforms,
            symbols: symbols.rest(),
        })
    }

    /// Bytes up to the end of the last table: the format states no size. Tables are located and not read.
    ///
    /// # Errors
    /// A table does not fit.
    pub fn extent(&self) -> Result<usize, ContainerError> {
        let file = Reader::new(self.bytes, 0);
        let Header { code, descriptors, lines, operands, tables, .. } = self.header;
        let ends = [
            tables.end(&file)?,
            code.end(&file, 4, "code")?,
            descriptors.end(&file, dvlp::DESCRIPTOR, "operand descriptors")?,
            lines.end(&file, LINE, "lines")?,
            operands.end(&file, OPERANDS, "operand records")?,
        ];
        Ok(ends.into_iter().fold(HEADER, usize::max))
    }

    pub(in crate::container) fn listing(&self) -> Vec<PartInfo> {
        let meaning = "unlinked object: program, constants, names";
        vec![PartInfo { name: "DVOJ".to_string(), offset: 0, size: self.bytes.len(), meaning }]
    }

    pub(in crate::container) fn errors(&self) -> Vec<ContainerError> {
        self.object().err().into_iter().collect()
    }
}

impl Object<'_> {
    /// Whether the output maps of vertex and geometry shader are to be merged.
    pub fn merges_output_maps(&self) -> bool {
        self.flags & MERGE_OUTPUT_MAPS != 0
    }

    /// Writes a DVOJ of this object: header, then the tables in the order in which the header names them, as
    /// [`shbin::write`](super::write()) writes those of an executable. `code_offset` does not count.
    ///
    /// # Errors
    /// What reading the written file would report, with the offset in the file to be written.
    pub fn write(&self) -> Result<Vec<u8>, ContainerError> {
        let mut file = Writer::default();
        let header = file.reserve(HEADER);
        let mut names = Names::of(self.symbols);
        let before = [
            write::constants(&mut file, 0, &self.constants),
            write::labels(&mut file, 0, &self.labels, &mut names),
            write::words(&mut file, 0, &self.code),
            write::descriptors(&mut file, 0, &self.descriptors, &self.descriptor_tails),
            write::table(&mut file, 0, &self.lines, |file, line| {
                file.u32(names.place(line.symbol, line.file));
                file.u32(line.line);
            }),
            write::table(&mut file, 0, &self.operands, |file, words| words.iter().for_each(|&word| file.u32(word))),
        ];
        let after = [
            write::outputs(&mut file, 0, &self.outputs),
            write::uniforms(&mut file, 0, &self.uniforms, &mut names),
            names.write(&mut file, 0),
        ];
        file.fill(header, |header| {
            header.bytes(&MAGIC);
            header.u16(self.version);
            header.u8(self.kind.to_byte());
            header.u8(self.flags);
            header.u16(self.input_mask);
            header.u16(self.output_mask);
            header.u32(self.unknown);
            before.iter().chain(&after).for_each(|table| table.write(header));
        });
        let bytes = file.finish();
        Dvoj::parse(&bytes)?.object()?;
        Ok(bytes)
    }
}

#[cfg(test)]
pub(in crate::container) mod tests {
    use super::*;
    use crate::container::reader::{invalid, over_limit, truncated};
    use crate::container::shbin::{OutputSemantic, RegisterFile};

    /// A DVOJ with something in every table, written field by field: `mov o0, v0` and `end`.
    pub(in crate::container) fn sample() -> Vec<u8> {
        let mut words = vec![
            u32::from_le_bytes(MAGIC),
            0x0101_1002, // geometry, merging
            0x8001_0003, // v0, v1; o0, o15
            u32::MAX,
        ];
        // Offset and count of: constants, labels, code, descriptors, lines, operands, outputs, uniforms, symbols.
        let tables =
            [(0x58, 1), (0x6c, 1), (0x7c, 2), (0x84, 1), (0x8c, 2), (0x9c, 1), (0xa8, 1), (0xb0, 1), (0xb8, 15)];
        words.extend(tables.iter().flat_map(|&(offset, count)| [offset, count]));
        words.extend([0x5f_0002, 1, 2, 3, 4]);
        words.extend([0x0001_0000, 0, 2, 0]);
        words.extend([0x4c00_0000, 0x8800_0000]);
        words.extend([0x0d86_c36f, 0]);
        words.extend([5, 10, 5, 11]);
        words.extend([0, 7, 8]);
        words.extend([0, 0x000f]);
        words.extend([11, 0x0013_0010]);
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.extend(b"main\0a.vsh\0mvp\0");
        bytes
    }

    #[test]
    fn every_table_and_field() {
        let bytes = sample();
        let dvoj = Dvoj::parse(&bytes).unwrap();
        let object = dvoj.object().unwrap();
        assert_eq!((object.version, object.kind, object.flags), (0x1002, ShaderKind::Geometry, 1));
        assert!(object.merges_output_maps() && dvoj.kind() == ShaderKind::Geometry);
        assert_eq!((object.input_mask, object.output_mask, object.unknown), (3, 0x8001, u32::MAX));
        assert_eq!(object.constants, [Constant::Float { register: 95, bits: [1, 2, 3, 4] }]);
        let [label] = *object.labels else { panic!("one label") };
        assert_eq!((label.flags, label.position, label.words, label.name), (1, 0, Some(2), Name::new(b"main")));
        assert_eq!((object.code, object.code_offset), (vec![0x4c00_0000, 0x8800_0000], 0x7c));
        assert_eq!((object.descriptors, object.descriptor_tails), (vec![0x0d86_c36f], vec![0]));
        let lines: Vec<_> = object.lines.iter().map(|line| format!("{}:{}", line.file, line.line)).collect();
        assert_eq!(lines, ["a.vsh:10", "a.vsh:11"]);
        assert_eq!(object.operands, [[0, 7, 8]]);
        let [output] = *object.outputs else { panic!("one output") };
        assert_eq!((output.semantic, output.register, output.mask), (OutputSemantic::POSITION, 0, 15));
        let [uniform] = *object.uniforms else { panic!("one uniform") };
        assert_eq!((uniform.name, uniform.registers.file), (Name::new(b"mvp"), RegisterFile::Float));
        assert_eq!(uniform.registers.to_string(), "c0-c3");
        assert_eq!(object.symbols, b"main\0a.vsh\0mvp\0");
    }

    #[test]
    fn it_is_rebuilt_from_its_parts() {
        let bytes = sample();
        let mut object = Dvoj::parse(&bytes).unwrap().object().unwrap();
        assert_eq!(object.write().unwrap(), bytes);
        object.constants[0] = Constant::Int { register: 4, value: [0; 4] };
        assert_eq!(object.write().unwrap_err(), invalid("constant register", 4, 0x58 + 2));
    }

    #[test]
    fn each_bad_field_is_an_error_with_its_offset() {
        let error = |at: usize, value: u8| {
            let mut bytes = sample();
            bytes[at] = value;
            Dvoj::parse(&bytes).and_then(|dvoj| dvoj.object()).unwrap_err()
        };
        assert_eq!(error(0, 0), ContainerError::UnknownMagic { found: b"\0VOJ".to_vec() });
        assert_eq!(error(6, 2), invalid("shader type", 2, 6));
        assert_eq!(error(0x15, 3), over_limit("constant count", 0x301, 512, 0x14));
        assert_eq!(error(0x1d, 0x20), over_limit("label count", 0x2001, 4096, 0x1c));
        assert_eq!(error(0x25, 0x20), over_limit("code size in words", 0x2002, 4096, 0x24));
        assert_eq!(error(0x2c, 129), over_limit("operand descriptor count", 129, 128, 0x2c));
        assert_eq!(error(0x35, 0x20), over_limit("line count", 0x2002, 4096, 0x34));
        assert_eq!(error(0x3d, 0x20), over_limit("operand record count", 0x2001, 4096, 0x3c));
        let end = sample().len();
        assert_eq!(error(0x21, 0x10), truncated("code", 0x107c, 8, 0));
        assert_eq!(error(0x28, 0xc0), truncated("operand descriptors", 0xc0, 8, end - 0xc0));
        assert_eq!(error(0x31, 0x10), truncated("lines", 0x108c, 16, 0));
        assert_eq!(error(0x39, 0x10), truncated("operand records", 0x109c, 12, 0));
        assert_eq!(error(0x54, 16), truncated("symbol table", 0xb8, 16, 15));
        assert_eq!(error(0x8c, 15), truncated("source file symbol", 0xb8 + 15, 1, 0));
    }
}
