//! The tables that executables and unlinked objects share: constants, labels, outputs, uniforms, and the names they
//! point to.

use std::fmt;

use super::float24_to_f32;
use crate::container::limits;
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid};
use crate::error::ContainerError;

/// Bytes of a constant record.
pub(super) const CONSTANT: u32 = 0x14;
/// Bytes of a label record.
pub(super) const LABEL: u32 = 0x10;
/// Bytes of an output record.
pub(super) const OUTPUT: u32 = 8;
/// Bytes of a uniform record.
pub(super) const UNIFORM: u32 = 8;
/// What a label's size field holds if the label has none.
pub(super) const NO_SIZE: u32 = u32::MAX;
/// Number of output registers.
const OUTPUT_REGISTERS: u16 = 16;

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
#[non_exhaustive]
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
    /// Each file with the letter of its registers, the number of its first register in uniform records (3dbrew, SHBIN)
    /// and how many it has.
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

    /// The number of a register in a uniform record.
    pub(super) fn to_record(self, register: u8) -> u16 {
        Self::TABLE[self as usize].2 + u16::from(register)
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
    /// Type number of a bool constant.
    pub(super) const BOOL: u16 = 0;
    /// Type number of an integer constant.
    pub(super) const INT: u16 = 1;
    /// Type number of a float constant.
    pub(super) const FLOAT: u16 = 2;

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
    /// Of unknown meaning; 1 where seen.
    pub flags: u16,
    /// Word of program memory.
    pub position: u32,
    /// Words it covers, if it says so.
    pub words: Option<u32>,
    /// Where its name lies in the symbol table.
    pub symbol: u32,
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
    /// Of unknown meaning; said to be the same in all records of an executable, and 0 where seen.
    pub unknown: u16,
}

/// A named range of registers that the application fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform<'a> {
    /// Where its name lies in the symbol table.
    pub symbol: u32,
    /// Its name.
    pub name: Name<'a>,
    /// Its registers.
    pub registers: RegisterRange,
}

/// Where a header says that a table lies: an offset from the start of its part, and a number of records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Table {
    pub(super) offset: u32,
    pub(super) count: u32,
}

impl Table {
    /// Reads the two words of a header.
    pub(super) fn read(header: &mut Reader<'_>, what: &'static str, limit: u32) -> Result<Self, ContainerError> {
        Ok(Self { offset: header.u32("table offset")?, count: header.count(what, limit)? })
    }

    /// Absolute offset of its end in the part that `part` reads from its start; that of the start if it is empty.
    pub(super) fn end(self, part: &Reader<'_>, stride: u32, what: &'static str) -> Result<usize, ContainerError> {
        if self.count == 0 {
            return Ok(part.offset_of(0));
        }
        let range = part.range(self.offset, u64::from(self.count) * u64::from(stride), what)?;
        Ok(range.offset() + range.len())
    }

    /// Reads each of its records, which have `stride` bytes, in the part that `part` reads from its start.
    pub(super) fn records<'a, T>(
        self,
        part: &Reader<'a>,
        stride: u32,
        what: &'static str,
        read: impl Fn(Reader<'a>) -> Result<T, ContainerError>,
    ) -> Result<Vec<T>, ContainerError> {
        let records = part.records(self.offset, self.count, stride, what)?;
        // The records are there, so this is in proportion to the file.
        let mut all = Vec::with_capacity(records.len());
        for record in records {
            all.push(read(record)?);
        }
        Ok(all)
    }
}

/// Where the tables common to executables and objects lie.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tables {
    pub(super) constants: Table,
    pub(super) labels: Table,
    pub(super) outputs: Table,
    pub(super) uniforms: Table,
    /// The symbol table, whose records are bytes.
    pub(super) symbols: Table,
}

impl Tables {
    pub(super) fn constants_at(header: &mut Reader<'_>) -> Result<Table, ContainerError> {
        Table::read(header, "constant count", limits::DVLE_CONSTANTS)
    }

    pub(super) fn labels_at(header: &mut Reader<'_>) -> Result<Table, ContainerError> {
        Table::read(header, "label count", limits::DVLE_LABELS)
    }

    pub(super) fn outputs_at(header: &mut Reader<'_>) -> Result<Table, ContainerError> {
        Table::read(header, "output count", limits::DVLE_OUTPUTS)
    }

    pub(super) fn uniforms_at(header: &mut Reader<'_>) -> Result<Table, ContainerError> {
        Table::read(header, "uniform count", limits::DVLE_UNIFORMS)
    }

    pub(super) fn symbols_at(header: &mut Reader<'_>) -> Result<Table, ContainerError> {
        Table::read(header, "symbol table size", u32::MAX)
    }

    /// Bytes of all tables, as the header states them.
    pub(super) fn bytes(&self) -> u64 {
        let table = |table: Table, stride: u32| u64::from(table.count) * u64::from(stride);
        table(self.constants, CONSTANT)
            + table(self.labels, LABEL)
            + table(self.outputs, OUTPUT)
            + table(self.uniforms, UNIFORM)
            + table(self.symbols, 1)
    }

    /// Absolute offset of the end of the last one in the part that `part` reads from its start.
    pub(super) fn end(&self, part: &Reader<'_>) -> Result<usize, ContainerError> {
        let Self { constants, labels, outputs, uniforms, symbols } = self;
        let ends = [
            constants.end(part, CONSTANT, "constants")?,
            labels.end(part, LABEL, "labels")?,
            outputs.end(part, OUTPUT, "outputs")?,
            uniforms.end(part, UNIFORM, "uniforms")?,
            symbols.end(part, 1, "symbol table")?,
        ];
        Ok(ends.into_iter().fold(0, usize::max))
    }

    /// Reads them all in the part that `part` reads from its start.
    pub(super) fn contents<'a>(&self, part: &Reader<'a>) -> Result<Contents<'a>, ContainerError> {
        let symbols = part.range(self.symbols.offset, self.symbols.count.into(), "symbol table")?;
        Ok(Contents {
            constants: self.constants.records(part, CONSTANT, "constants", constant)?,
            labels: self.labels.records(part, LABEL, "labels", |record| label(record, &symbols))?,
            outputs: self.outputs.records(part, OUTPUT, "outputs", output)?,
            uniforms: self.uniforms.records(part, UNIFORM, "uniforms", |record| uniform(record, &symbols))?,
            symbols,
        })
    }
}

/// What [`Tables`] hold.
pub(super) struct Contents<'a> {
    pub(super) constants: Vec<Constant>,
    pub(super) labels: Vec<Label<'a>>,
    pub(super) outputs: Vec<OutputMapping>,
    pub(super) uniforms: Vec<Uniform<'a>>,
    pub(super) symbols: Reader<'a>,
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
    let constant = match tag {
        Constant::BOOL => {
            Constant::Bool { register: register(RegisterFile::Bool)?, value: record.u32("bool constant")? & 1 != 0 }
        }
        Constant::INT => {
            Constant::Int { register: register(RegisterFile::Int)?, value: record.array("integer constant")? }
        }
        Constant::FLOAT => {
            let register = register(RegisterFile::Float)?;
            let mut bits = [0; 4];
            for component in &mut bits {
                *component = record.u32("float constant")?;
            }
            Constant::Float { register, bits }
        }
        other => return Err(invalid("constant type", other.into(), offset)),
    };
    record.rest(); // Padding: the shorter constants leave the end of their record unused.
    Ok(constant)
}

fn label<'a>(mut record: Reader<'a>, symbols: &Reader<'a>) -> Result<Label<'a>, ContainerError> {
    let id = record.u16("label number")?;
    let flags = record.u16("label flags")?;
    let position = record.u32("label position")?;
    let words = record.u32("label size")?;
    let symbol = record.u32("label symbol")?;
    let name = symbols.name(symbol, "label symbol")?;
    Ok(Label { id, flags, position, words: (words != NO_SIZE).then_some(words), symbol, name })
}

fn output(mut record: Reader<'_>) -> Result<OutputMapping, ContainerError> {
    let semantic = OutputSemantic(record.u16("output type")?);
    let register = below(&mut record, "output register", OUTPUT_REGISTERS)?;
    let mask = below(&mut record, "output component mask", 0x10)?;
    let unknown = record.u16("output record")?;
    Ok(OutputMapping { semantic, register, mask, unknown })
}

fn uniform<'a>(mut record: Reader<'a>, symbols: &Reader<'a>) -> Result<Uniform<'a>, ContainerError> {
    let symbol = record.u32("uniform symbol")?;
    let name = symbols.name(symbol, "uniform symbol")?;
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
    Ok(Uniform { symbol, name, registers })
}
