//! `DVLE`: one executable of a SHBIN: its entry point, the constants it needs, and the names and meanings of its registers.

use std::fmt;

use super::float24_to_f32;
use super::table::Table;
use crate::container::limits;
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid};
use crate::error::ContainerError;

/// Bytes of a constant record.
const CONSTANT: u32 = 0x14;
/// Bytes of a label record.
const LABEL: u32 = 0x10;
/// Bytes of an output record.
const OUTPUT: u32 = 8;
/// Bytes of a uniform record.
const UNIFORM: u32 = 8;
/// Number of output registers.
const OUTPUT_REGISTERS: u16 = 16;

/// The stage an executable is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShaderKind {
    /// Vertex shader.
    Vertex,
    /// Geometry shader.
    Geometry,
}

impl fmt::Display for ShaderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Vertex => "vertex",
            Self::Geometry => "geometry",
        })
    }
}

open_code! {
    /// How a geometry shader gets its vertices.
    GeometryMode(u8) {
        0 POINT "point",
        1 VARIABLE "variable",
        2 FIXED "fixed",
    }
}

open_code! {
    /// What an output register is to the rasteriser.
    OutputSemantic(u16) {
        0 POSITION "position",
        1 NORMAL_QUAT "normalquat",
        2 COLOR "color",
        3 TEXCOORD_0 "texcoord0",
        4 TEXCOORD_0_W "texcoord0w",
        5 TEXCOORD_1 "texcoord1",
        6 TEXCOORD_2 "texcoord2",
        8 VIEW "view",
        9 DUMMY "dummy",
    }
}

/// The register files a uniform record or a constant can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegisterFile {
    /// Inputs `v0..v15`: attributes with a name.
    Input,
    /// Float uniforms `c0..c95`.
    Float,
    /// Integer uniforms `i0..i3`.
    Int,
    /// Bool uniforms `b0..b15`.
    Bool,
}

impl RegisterFile {
    /// Each file with the letter of its registers, the number of its first register in uniform records (3dbrew, SHBIN) and
    /// how many it has.
    const TABLE: [(Self, char, u16, u16); 4] = [
        (Self::Input, 'v', 0, 16),
        (Self::Float, 'c', 0x10, 96),
        (Self::Int, 'i', 0x70, 4),
        (Self::Bool, 'b', 0x78, 16),
    ];

    /// The letter that begins its registers' names.
    pub fn letter(self) -> char {
        Self::TABLE[self as usize].1
    }

    /// Number of registers.
    pub fn registers(self) -> u8 {
        Self::TABLE[self as usize].3 as u8
    }

    /// The file and register a number in a uniform record stands for.
    fn from_record(number: u16) -> Option<(Self, u8)> {
        Self::TABLE.into_iter().find_map(|(file, _, first, count)| {
            let register = number.checked_sub(first).filter(|&register| register < count)?;
            Some((file, register as u8))
        })
    }
}

/// Registers `first..=last` of one file. Prints as `c0` or `c0-c3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterRange {
    /// Register file.
    pub file: RegisterFile,
    /// First register.
    pub first: u8,
    /// Last register, itself included; not below `first`.
    pub last: u8,
}

impl fmt::Display for RegisterRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = self.file.letter();
        let text = match self.first == self.last {
            true => format!("{letter}{}", self.first),
            false => format!("{letter}{}-{letter}{}", self.first, self.last),
        };
        f.pad(&text)
    }
}

/// A value the executable wants in a uniform register.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// For `b<register>`.
    Bool {
        /// 0 to 15.
        register: u8,
        /// Its value.
        value: bool,
    },
    /// For `i<register>`.
    Int {
        /// 0 to 3.
        register: u8,
        /// x, y, z, w.
        value: [u8; 4],
    },
    /// For `c<register>`.
    Float {
        /// 0 to 95.
        register: u8,
        /// x, y, z, w as stored: float24 in the low 24 bits.
        bits: [u32; 4],
    },
}

impl Constant {
    /// The register's file and number.
    pub fn register(&self) -> (RegisterFile, u8) {
        match *self {
            Self::Bool { register, .. } => (RegisterFile::Bool, register),
            Self::Int { register, .. } => (RegisterFile::Int, register),
            Self::Float { register, .. } => (RegisterFile::Float, register),
        }
    }

    /// The four components of a float constant, exactly.
    pub fn float_value(&self) -> Option<[f32; 4]> {
        match self {
            Self::Float { bits, .. } => Some(bits.map(float24_to_f32)),
            _ => None,
        }
    }
}

/// A named place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// Its number.
    pub id: u16,
    /// Word of program memory.
    pub position: u32,
    /// Words it covers, if it says so.
    pub words: Option<u32>,
    /// Its name.
    pub name: Name<'a>,
}

/// What some components of an output register are to the rasteriser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputMapping {
    /// The meaning. Each component of the mask takes its next slot.
    pub semantic: OutputSemantic,
    /// Output register, 0 to 15.
    pub register: u8,
    /// Components, bit 0 = x to bit 3 = w: the reverse of the masks in operand descriptors.
    pub mask: u8,
}

/// A named range of registers that the application fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// Its registers.
    pub registers: RegisterRange,
}

/// The fields that only geometry shaders use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// How it gets its vertices.
    pub mode: GeometryMode,
    /// Fixed mode: the first float uniform that receives them.
    pub fixed_start: u8,
    /// Variable mode: how many of them come with all attributes.
    pub variable_vertices: u8,
    /// Fixed mode: how many there are.
    pub fixed_vertices: u8,
}

/// A `DVLE` part.
///
/// What it says of the program (entry point, end, labels) is not held against the program memory: that belongs to the `DVLP`,
/// which may be malformed on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Dvle<'a> {
    /// Absolute byte offset of the part.
    pub offset: usize,
    /// Version field; picasso writes 0x1002.
    pub version: u16,
    /// Stage.
    pub kind: ShaderKind,
    /// Whether the output maps of vertex and geometry shader are to be merged.
    pub merge_output_maps: bool,
    /// Entry point, a word of program memory; below 4096.
    pub main: u32,
    /// The word behind the end of the main function.
    pub end: u32,
    /// Input registers used, bit n = `vn`. Often 0: few assemblers fill it.
    pub input_mask: u16,
    /// Output registers used, bit n = `on`.
    pub output_mask: u16,
    /// What a geometry shader says beside this.
    pub geometry: Option<Geometry>,
    /// Values for uniform registers.
    pub constants: Vec<Constant>,
    /// Labels. Assemblers leave this table empty.
    pub labels: Vec<Label<'a>>,
    /// Meaning of the output registers.
    pub outputs: Vec<OutputMapping>,
    /// Named inputs and uniforms.
    pub uniforms: Vec<Uniform<'a>>,
    /// Symbol table: the NUL-terminated names that labels and uniforms point into.
    pub symbols: &'a [u8],
}

/// Bytes of the header.
const HEADER: usize = 0x40;

/// The header: what it says itself, and where the tables are.
struct Header {
    version: u16,
    kind: ShaderKind,
    merge_output_maps: bool,
    main: u32,
    end: u32,
    input_mask: u16,
    output_mask: u16,
    geometry: Geometry,
    constants: Table,
    labels: Table,
    outputs: Table,
    uniforms: Table,
    symbols: Table,
}

impl Header {
    fn read(part: &Reader<'_>) -> Result<Self, ContainerError> {
        let mut header = part.clone();
        header.u32("DVLE magic")?;
        let version = header.u16("DVLE version")?;
        let kind_offset = header.offset();
        let kind = match header.u8("shader type")? {
            0 => ShaderKind::Vertex,
            1 => ShaderKind::Geometry,
            other => return Err(invalid("shader type", other.into(), kind_offset)),
        };
        let merge_output_maps = header.u8("output map merge flag")? & 1 != 0;
        let main = header.count("entry point", limits::PICA_CODE_WORDS - 1)?;
        let end = header.u32("end of main")?;
        let input_mask = header.u16("input mask")?;
        let output_mask = header.u16("output mask")?;
        let geometry = Geometry {
            mode: GeometryMode(header.u8("geometry mode")?),
            fixed_start: header.u8("fixed-mode start register")?,
            variable_vertices: header.u8("variable-mode vertex count")?,
            fixed_vertices: header.u8("fixed-mode vertex count")?,
        };
        let mut table = |what, stride, counted, limit| {
            Ok(Table { position: header.u32("DVLE table offset")?, count: header.count(counted, limit)?, stride, what })
        };
        Ok(Self {
            version,
            kind,
            merge_output_maps,
            main,
            end,
            input_mask,
            output_mask,
            geometry,
            constants: table("constants", CONSTANT, "constant count", limits::DVLE_CONSTANTS)?,
            labels: table("labels", LABEL, "label count", limits::DVLE_LABELS)?,
            outputs: table("outputs", OUTPUT, "output count", limits::DVLE_OUTPUTS)?,
            uniforms: table("uniforms", UNIFORM, "uniform count", limits::DVLE_UNIFORMS)?,
            symbols: table("DVLE symbols", 1, "DVLE symbol size", u32::MAX)?,
        })
    }
}

/// A reader of the part, which has no end of its own.
fn part(file: &[u8], offset: u32) -> Result<Reader<'_>, ContainerError> {
    super::part(file, offset, *b"DVLE", "DVLE magic")
}

impl<'a> Dvle<'a> {
    pub(super) fn parse(file: &'a [u8], offset: u32) -> Result<Self, ContainerError> {
        let part = part(file, offset)?;
        let header = Header::read(&part)?;
        let symbols = header.symbols.range(&part)?;
        let constants = header.constants.records(&part)?;
        let labels = header.labels.records(&part)?;
        let outputs = header.outputs.records(&part)?;
        let uniforms = header.uniforms.records(&part)?;
        Ok(Self {
            offset: part.offset(),
            version: header.version,
            kind: header.kind,
            merge_output_maps: header.merge_output_maps,
            main: header.main,
            end: header.end,
            input_mask: header.input_mask,
            output_mask: header.output_mask,
            geometry: (header.kind == ShaderKind::Geometry).then_some(header.geometry),
            constants: constants.map(constant).collect::<Result<_, _>>()?,
            labels: labels.map(|record| label(record, &symbols)).collect::<Result<_, _>>()?,
            outputs: outputs.map(output).collect::<Result<_, _>>()?,
            uniforms: uniforms.map(|record| uniform(record, &symbols)).collect::<Result<_, _>>()?,
            symbols: symbols.rest(),
        })
    }

    /// Absolute offset of the part's end: that of its header or of its last table.
    pub(super) fn end(file: &[u8], offset: u32) -> Result<usize, ContainerError> {
        let part = part(file, offset)?;
        let Header { constants, labels, outputs, uniforms, symbols, .. } = Header::read(&part)?;
        let tables = [constants, labels, outputs, uniforms, symbols];
        tables.iter().try_fold(part.offset() + HEADER, |end, table| Ok(end.max(table.end(&part)?)))
    }
}

/// Reads 16 bits that must be below `limit`.
fn below(record: &mut Reader<'_>, what: &'static str, limit: u16) -> Result<u8, ContainerError> {
    let offset = record.offset();
    let value = record.u16(what)?;
    match u8::try_from(value) {
        Ok(small) if value < limit => Ok(small),
        _ => Err(invalid(what, value.into(), offset)),
    }
}

fn constant(mut record: Reader<'_>) -> Result<Constant, ContainerError> {
    let offset = record.offset();
    let tag = record.u16("constant type")?;
    let mut register = |file: RegisterFile| below(&mut record, "constant register", file.registers().into());
    match tag {
        0 => {
            Ok(Constant::Bool { register: register(RegisterFile::Bool)?, value: record.u32("bool constant")? & 1 != 0 })
        }
        1 => Ok(Constant::Int { register: register(RegisterFile::Int)?, value: record.array("integer constant")? }),
        2 => {
            let register = register(RegisterFile::Float)?;
            let mut bits = [0; 4];
            for component in &mut bits {
                *component = record.u32("float constant")?;
            }
            Ok(Constant::Float { register, bits })
        }
        other => Err(invalid("constant type", other.into(), offset)),
    }
}

fn label<'a>(mut record: Reader<'a>, symbols: &Reader<'a>) -> Result<Label<'a>, ContainerError> {
    let id = record.u16("label number")?;
    record.u16("label flags")?; // Always 1 where seen.
    let position = record.u32("label position")?;
    let words = record.u32("label size")?;
    let name = symbols.name(record.u32("label symbol")?, "label symbol")?;
    Ok(Label { id, position, words: (words != u32::MAX).then_some(words), name })
}

fn output(mut record: Reader<'_>) -> Result<OutputMapping, ContainerError> {
    let semantic = OutputSemantic(record.u16("output type")?);
    let register = below(&mut record, "output register", OUTPUT_REGISTERS)?;
    let mask = below(&mut record, "output component mask", 0x10)?;
    Ok(OutputMapping { semantic, register, mask }) // The last 16 bits have no known meaning.
}

fn uniform<'a>(mut record: Reader<'a>, symbols: &Reader<'a>) -> Result<Uniform<'a>, ContainerError> {
    let name = symbols.name(record.u32("uniform symbol")?, "uniform symbol")?;
    let (first_offset, last_offset) = (record.offset(), record.offset() + 2);
    let (first, last) = (record.u16("first register of a uniform")?, record.u16("last register of a uniform")?);
    let Some((file, first_register)) = RegisterFile::from_record(first) else {
        return Err(invalid("first register of a uniform", first.into(), first_offset));
    };
    let registers = match RegisterFile::from_record(last) {
        Some((last_file, last)) if last_file == file && last >= first_register => {
            RegisterRange { file, first: first_register, last }
        }
        _ => return Err(invalid("last register of a uniform", last.into(), last_offset)),
    };
    Ok(Uniform { name, registers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::{over_limit, truncated};

    /// A table's record.
    type Record<'a> = &'a [u8];

    /// A `DVLE` at offset 2 with these records and the symbols `pos` and `main`.
    fn file(constants: &[Record], labels: &[Record], outputs: &[Record], uniforms: &[Record]) -> Vec<u8> {
        let symbols: Record = b"pos\0main\0";
        let mut file = vec![0xff, 0xff];
        file.extend_from_slice(b"DVLE\x02\x10\x01\x01");
        file.extend_from_slice(&[3, 0, 0, 0, 9, 0, 0, 0, 0b11, 0, 0b101, 0, 2, 4, 5, 6]);
        let mut body = Vec::new();
        for table in [constants, labels, outputs, uniforms] {
            file.extend_from_slice(&(0x40 + body.len() as u32).to_le_bytes());
            file.extend_from_slice(&(table.len() as u32).to_le_bytes());
            body.extend(table.concat());
        }
        file.extend_from_slice(&(0x40 + body.len() as u32).to_le_bytes());
        file.extend_from_slice(&(symbols.len() as u32).to_le_bytes());
        file.extend(body);
        file.extend_from_slice(symbols);
        file
    }

    fn record<const N: usize>(start: &[u8]) -> [u8; N] {
        let mut record = [0; N];
        record[..start.len()].copy_from_slice(start);
        record
    }

    #[test]
    fn every_table_and_field() {
        let float = [2, 0, 95, 0, 0, 0, 0x3f, 0, 0, 0, 0xbf, 0, 1, 0, 0, 0, 0, 0, 0x7f, 0];
        let file = file(
            &[&record::<20>(&[0, 0, 15, 0, 1]), &record::<20>(&[1, 0, 3, 0, 9, 8, 7, 6]), &float],
            &[
                &record::<16>(&[7, 0, 1, 0, 3, 0, 0, 0, 6, 0, 0, 0, 4]),
                &record::<16>(&[8, 0, 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
            ],
            &[&[0, 0, 2, 0, 0xf, 0, 0, 0], &[9, 0, 15, 0, 0b101, 0, 0, 0]],
            &[&[0, 0, 0, 0, 0, 0, 1, 0], &[4, 0, 0, 0, 0x10, 0, 0x6f, 0], &[4, 0, 0, 0, 0x73, 0, 0x73, 0]],
        );
        let dvle = Dvle::parse(&file, 2).unwrap();
        assert_eq!(
            (dvle.offset, dvle.version, dvle.kind, dvle.merge_output_maps),
            (2, 0x1002, ShaderKind::Geometry, true)
        );
        assert_eq!((dvle.main, dvle.end, dvle.input_mask, dvle.output_mask), (3, 9, 3, 5));
        let geometry = Geometry { mode: GeometryMode::FIXED, fixed_start: 4, variable_vertices: 5, fixed_vertices: 6 };
        assert_eq!(dvle.geometry, Some(geometry));
        assert_eq!(
            dvle.constants,
            [
                Constant::Bool { register: 15, value: true },
                Constant::Int { register: 3, value: [9, 8, 7, 6] },
                Constant::Float { register: 95, bits: [0x3f_0000, 0xbf_0000, 1, 0x7f_0000] },
            ]
        );
        assert_eq!(dvle.constants[2].register(), (RegisterFile::Float, 95));
        assert_eq!(dvle.constants[2].float_value(), Some([1.0, -1.0, 2f32.powi(-78), f32::INFINITY]));
        let labels: Vec<_> = dvle.labels.iter().map(|l| (l.id, l.position, l.words, l.name.to_string())).collect();
        assert_eq!(labels, [(7, 3, Some(6), "main".to_string()), (8, 0, None, "pos".to_string())]);
        let outputs: Vec<_> = dvle.outputs.iter().map(|o| (o.semantic.to_string(), o.register, o.mask)).collect();
        assert_eq!(outputs, [("position".to_string(), 2, 15), ("dummy".to_string(), 15, 5)]);
        let uniforms: Vec<_> = dvle.uniforms.iter().map(|u| format!("{} {}", u.name, u.registers)).collect();
        assert_eq!(uniforms, ["pos v0-v1", "main c0-c95", "main i3"]);
        assert_eq!(dvle.symbols, b"pos\0main\0");
    }

    #[test]
    fn a_vertex_shader_has_no_geometry_fields() {
        let mut file = file(&[], &[], &[], &[]);
        file[8] = 0;
        let dvle = Dvle::parse(&file, 2).unwrap();
        assert_eq!((dvle.kind, dvle.geometry), (ShaderKind::Vertex, None));
    }

    #[test]
    fn each_bad_field_is_an_error_with_its_offset() {
        let first = 2 + 0x40;
        let error = |file: Vec<u8>| Dvle::parse(&file, 2).unwrap_err();
        let patched = |at: usize, value: u8| {
            let mut file = file(&[], &[], &[], &[]);
            file[2 + at] = value;
            error(file)
        };
        assert_eq!(patched(0, b'X'), invalid("DVLE magic", u32::from_le_bytes(*b"XVLE").into(), 2));
        assert_eq!(patched(6, 2), invalid("shader type", 2, 8));
        assert_eq!(patched(9, 0x10), over_limit("entry point", 0x1003, 4095, 10));
        assert_eq!(patched(0x1d, 3), over_limit("constant count", 0x300, 512, 2 + 0x1c));
        assert_eq!(patched(0x1c, 1), truncated("constants", first, 20, 9));
        assert_eq!(patched(0x3c, 10), truncated("DVLE symbols", first, 10, 9));

        let constant = |start: &[u8]| error(file(&[&record::<20>(start)], &[], &[], &[]));
        assert_eq!(constant(&[3, 0]), invalid("constant type", 3, first));
        assert_eq!(constant(&[0, 0, 16]), invalid("constant register", 16, first + 2));
        assert_eq!(constant(&[1, 0, 4]), invalid("constant register", 4, first + 2));
        assert_eq!(constant(&[2, 0, 96]), invalid("constant register", 96, first + 2));
        assert_eq!(constant(&[2, 0, 0, 1]), invalid("constant register", 256, first + 2));

        let output = |start: &[u8]| error(file(&[], &[], &[&record::<8>(start)], &[]));
        assert_eq!(output(&[0, 0, 16]), invalid("output register", 16, first + 2));
        assert_eq!(output(&[0, 0, 0, 0, 16]), invalid("output component mask", 16, first + 4));

        let uniform = |start: &[u8]| error(file(&[], &[], &[], &[&record::<8>(start)]));
        assert_eq!(uniform(&[0, 0, 0, 0, 0x74]), invalid("first register of a uniform", 0x74, first + 4));
        assert_eq!(uniform(&[0, 0, 0, 0, 0, 0, 0x10]), invalid("last register of a uniform", 0x10, first + 6));
        assert_eq!(uniform(&[0, 0, 0, 0, 2, 0, 1]), invalid("last register of a uniform", 1, first + 6));
        assert_eq!(uniform(&[9]), truncated("uniform symbol", first + 8 + 9, 1, 0));
    }
}
