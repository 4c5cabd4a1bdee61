//! Typed parts → bytes, laid out as picasso does: `DVLB` header, `DVLP` with code and descriptors, and each `DVLE`
//! followed by its constants, labels, outputs, uniforms and symbols, padded to four bytes.

use super::dvle::{self, Dvle};
use super::dvlp::{self, Dvlp};
use super::tables::{CONSTANT, Constant, Label, NO_SIZE, OutputMapping, Table, Uniform};
use super::{HEADER, MAGIC, Shbin};
use crate::container::name::Name;
use crate::container::writer::{Writer, count};
use crate::error::ContainerError;

/// What parts begin at a multiple of.
const ALIGNMENT: usize = 4;

/// Writes a SHBIN of these parts. Offsets among their fields say where they were read and do not count.
///
/// A file that picasso could have written comes back byte for byte from its parts. In others the order of the tables,
/// the offsets of empty ones, and padding may change. A symbol table is kept as it is, and completed by those names of
/// labels and uniforms that are not where their `symbol` says.
///
/// ```
/// use shaderjit::container::shbin::{self, Shbin};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/t01_transform.shbin"));
/// let file = Shbin::parse(bytes)?;
/// let mut dvle = file.dvle(0)?.expect("the file has an executable");
/// assert_eq!(shbin::write(&file.dvlp()?, &[dvle.clone()])?, bytes);
/// dvle.labels.clear();
/// dvle.uniforms.truncate(1);
/// assert_eq!(shbin::write(&file.dvlp()?, &[dvle])?.len(), bytes.len() - 3 * 8);
/// # Ok::<(), shaderjit::error::ContainerError>(())
/// ```
///
/// # Errors
/// What reading the written file would report: a count over its limit, a register that does not exist, a name that is
/// too long. The offset is that in the file to be written.
pub fn write(dvlp: &Dvlp<'_>, dvles: &[Dvle<'_>]) -> Result<Vec<u8>, ContainerError> {
    let mut file = Writer::default();
    file.bytes(&MAGIC);
    file.u32(count(dvles.len()));
    let index = file.reserve(4 * dvles.len());
    debug_assert_eq!(file.offset(), HEADER + 4 * count(dvles.len()));
    write_dvlp(&mut file, dvlp);
    let mut offsets = Vec::with_capacity(dvles.len());
    for dvle in dvles {
        offsets.push(file.offset());
        write_dvle(&mut file, dvle);
    }
    file.fill(index, |index| offsets.iter().for_each(|&offset| index.u32(offset)));
    let bytes = file.finish();
    match Shbin::parse(&bytes)?.errors().into_iter().next() {
        Some(error) => Err(error),
        None => Ok(bytes),
    }
}

fn write_dvlp(file: &mut Writer, dvlp: &Dvlp<'_>) {
    let start = file.offset();
    let header = file.reserve(dvlp::HEADER);
    let code = words(file, start, &dvlp.code);
    let descriptors = descriptors(file, start, &dvlp.descriptors, &dvlp.descriptor_tails);
    let end = file.offset() - start;
    file.bytes(dvlp.symbols);
    file.align(ALIGNMENT);
    file.fill(header, |header| {
        header.bytes(b"DVLP");
        header.u32(dvlp.version);
        code.write(header);
        descriptors.write(header);
        // If this is a table, its offset follows the layout while it is empty.
        let [offset, size] = dvlp.unknown;
        header.u32(if size == 0 { end } else { offset });
        header.u32(size);
        header.u32(if dvlp.symbols.is_empty() { 0 } else { end });
        header.u32(count(dvlp.symbols.len()));
    });
}

fn write_dvle(file: &mut Writer, dvle: &Dvle<'_>) {
    let start = file.offset();
    let header = file.reserve(dvle::HEADER);
    let mut names = Names::of(dvle.symbols);
    let constants = constants(file, start, &dvle.constants);
    let labels = labels(file, start, &dvle.labels, &mut names);
    let outputs = outputs(file, start, &dvle.outputs);
    let uniforms = uniforms(file, start, &dvle.uniforms, &mut names);
    let symbols = names.write(file, start);
    file.align(ALIGNMENT);
    file.fill(header, |header| {
        header.bytes(b"DVLE");
        header.u16(dvle.version);
        header.u8(dvle.kind.to_byte());
        header.u8(dvle.flags);
        header.u32(dvle.main);
        header.u32(dvle.end);
        header.u16(dvle.input_mask);
        header.u16(dvle.output_mask);
        header.bytes(&dvle.geometry.map_or([0; 4], |geometry| geometry.to_bytes()));
        [constants, labels, outputs, uniforms, symbols].iter().for_each(|table| table.write(header));
    });
}

impl Table {
    /// The two words of a header.
    pub(super) fn write(self, header: &mut Writer) {
        header.u32(self.offset);
        header.u32(self.count);
    }
}

/// Writes the records of a table of the part that begins at `start`.
pub(super) fn table<T>(file: &mut Writer, start: u32, records: &[T], mut write: impl FnMut(&mut Writer, &T)) -> Table {
    let offset = file.offset() - start;
    records.iter().for_each(|record| write(file, record));
    Table { offset, count: count(records.len()) }
}

pub(super) fn words(file: &mut Writer, start: u32, words: &[u32]) -> Table {
    table(file, start, words, |file, &word| file.u32(word))
}

/// Descriptors whose second word is not given have 0.
pub(super) fn descriptors(file: &mut Writer, start: u32, descriptors: &[u32], tails: &[u32]) -> Table {
    let mut tails = tails.iter().copied().chain(std::iter::repeat(0));
    table(file, start, descriptors, |file, &descriptor| {
        file.u32(descriptor);
        file.u32(tails.next().expect("it repeats"));
    })
}

pub(super) fn constants(file: &mut Writer, start: u32, constants: &[Constant]) -> Table {
    table(file, start, constants, |file, constant| {
        let record = file.reserve(CONSTANT as usize);
        file.fill(record, |record| {
            let (tag, register) = match *constant {
                Constant::Bool { register, .. } => (Constant::BOOL, register),
                Constant::Int { register, .. } => (Constant::INT, register),
                Constant::Float { register, .. } => (Constant::FLOAT, register),
            };
            record.u16(tag);
            record.u16(register.into());
            match *constant {
                Constant::Bool { value, .. } => record.u32(value.into()),
                Constant::Int { value, .. } => record.bytes(&value),
                Constant::Float { bits, .. } => bits.iter().for_each(|&bits| record.u32(bits)),
            }
            record.align(CONSTANT as usize);
        });
    })
}

pub(super) fn labels(file: &mut Writer, start: u32, labels: &[Label<'_>], names: &mut Names) -> Table {
    table(file, start, labels, |file, label| {
        file.u16(label.id);
        file.u16(label.flags);
        file.u32(label.position);
        file.u32(label.words.unwrap_or(NO_SIZE));
        file.u32(names.place(label.symbol, label.name));
    })
}

pub(super) fn outputs(file: &mut Writer, start: u32, outputs: &[OutputMapping]) -> Table {
    table(file, start, outputs, |file, output| {
        file.u16(output.semantic.0);
        file.u16(output.register.into());
        file.u16(output.mask.into());
        file.u16(output.unknown);
    })
}

pub(super) fn uniforms(file: &mut Writer, start: u32, uniforms: &[Uniform<'_>], names: &mut Names) -> Table {
    table(file, start, uniforms, |file, uniform| {
        file.u32(names.place(uniform.symbol, uniform.name));
        let registers = uniform.registers;
        [registers.first, registers.last].iter().for_each(|&register| file.u16(registers.file.to_record(register)));
    })
}

/// A symbol table that is being completed.
pub(super) struct Names(Vec<u8>);

impl Names {
    pub(super) fn of(symbols: &[u8]) -> Self {
        Self(symbols.to_vec())
    }

    /// Where `name` lies: at `symbol` if it does, else behind all others.
    pub(super) fn place(&mut self, symbol: u32, name: Name<'_>) -> u32 {
        let at = self.0.get(symbol as usize..).unwrap_or_default();
        if at.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(&[0])) {
            return symbol;
        }
        let symbol = count(self.0.len());
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(0);
        symbol
    }

    pub(super) fn write(&self, file: &mut Writer, start: u32) -> Table {
        table(file, start, &self.0, |file, &byte| file.u8(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::{invalid, over_limit};
    use crate::container::shbin::{Geometry, GeometryMode, OutputSemantic, RegisterFile, RegisterRange, ShaderKind};

    fn dvlp(code: &[u32]) -> Dvlp<'static> {
        Dvlp {
            offset: 0,
            version: 7,
            code: code.to_vec(),
            code_offset: 0,
            descriptors: vec![0x36f, 0xf],
            descriptors_offset: 0,
            descriptor_tails: vec![5],
            unknown: [0, 0],
            symbols: b"a.vsh\0",
        }
    }

    /// An executable with something in every field.
    fn dvle() -> Dvle<'static> {
        let name = |text: &'static str| Name::new(text.as_bytes());
        let registers = |file, first, last| RegisterRange { file, first, last };
        Dvle {
            offset: 0,
            version: 0x1002,
            kind: ShaderKind::Geometry,
            flags: 3,
            main: 1,
            end: 2,
            input_mask: 3,
            output_mask: 0x8001,
            geometry: Some(Geometry {
                mode: GeometryMode::VARIABLE,
                fixed_start: 1,
                variable_vertices: 2,
                fixed_vertices: 3,
            }),
            constants: vec![
                Constant::Bool { register: 15, value: true },
                Constant::Int { register: 3, value: [1, 2, 3, 4] },
                Constant::Float { register: 95, bits: [1, 2, 3, u32::MAX] },
            ],
            labels: vec![
                Label { id: 1, flags: 1, position: 1, words: Some(1), symbol: 0, name: name("main") },
                Label { id: 2, flags: 9, position: 0, words: None, symbol: 1, name: name("ain") },
            ],
            outputs: vec![OutputMapping { semantic: OutputSemantic(77), register: 15, mask: 5, unknown: 0xabcd }],
            uniforms: vec![
                Uniform { symbol: 0, name: name("proj"), registers: registers(RegisterFile::Float, 0, 3) },
                Uniform { symbol: 0, name: name(""), registers: registers(RegisterFile::Input, 0, 15) },
                Uniform { symbol: 900, name: name("proj"), registers: registers(RegisterFile::Bool, 15, 15) },
            ],
            symbols: b"main\0",
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let written = write(&dvlp(&[0x8800_0000, 0x8400_0000]), &[dvle(), dvle()]).unwrap();
        let shbin = Shbin::parse(&written).unwrap();
        let read = shbin.dvlp().unwrap();
        assert_eq!((read.version, &*read.code, read.symbols), (7, &[0x8800_0000, 0x8400_0000][..], &b"a.vsh\0"[..]));
        assert_eq!((read.descriptors, read.descriptor_tails), (vec![0x36f, 0xf], vec![5, 0]));
        assert_eq!(shbin.dvle_count(), 2);
        let read = shbin.dvle(1).unwrap().unwrap();
        assert_eq!(read.symbols, b"main\0proj\0\0proj\0", "the names that were not there follow");
        let mut expected = dvle();
        expected.offset = read.offset;
        expected.symbols = read.symbols;
        for (uniform, symbol) in expected.uniforms.iter_mut().zip([5, 10, 11]) {
            uniform.symbol = symbol;
        }
        // An empty name is wherever a NUL is, but not at the start of `main`.
        assert_eq!(read, expected);
        assert_eq!(write(&shbin.dvlp().unwrap(), &[read.clone(), read]).unwrap(), written);
    }

    #[test]
    fn what_would_not_read_back_is_an_error() {
        let error = |dvlp: &Dvlp<'_>, dvle: Dvle<'_>| write(dvlp, &[dvle]).unwrap_err();
        let over = over_limit("code size in words", 4097, 4096, 12 + 12);
        assert_eq!(error(&dvlp(&[0; 4097]), dvle()), over);
        let start = write(&dvlp(&[]), &[]).unwrap().len() + 4;
        let mut bad = dvle();
        bad.constants[0] = Constant::Bool { register: 16, value: false };
        assert_eq!(error(&dvlp(&[]), bad), invalid("constant register", 16, start + dvle::HEADER + 2));
        let mut bad = dvle();
        bad.main = 4096;
        assert_eq!(error(&dvlp(&[]), bad), over_limit("entry point", 4096, 4095, start + 8));
    }
}
