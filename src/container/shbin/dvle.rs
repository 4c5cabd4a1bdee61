//! `DVLE`: one executable of a SHBIN: its entry point, the constants it needs, and the names and meanings of its
//! registers.

use std::fmt;

use super::tables::{Constant, Contents, Label, OutputMapping, Tables, Uniform};
use crate::container::limits;
use crate::container::reader::{Reader, invalid};
use crate::error::ContainerError;

/// Bit 0 of the flags of an executable or object: see [`Dvle::merges_output_maps`].
pub(super) const MERGE_OUTPUT_MAPS: u8 = 1;

/// Bytes of the header.
pub(super) const HEADER: usize = 0x40;

/// The stage an executable is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShaderKind {
    /// Vertex shader.
    Vertex,
    /// Geometry shader.
    Geometry,
}

impl ShaderKind {
    /// Reads the byte of a header.
    pub(super) fn read(header: &mut Reader<'_>) -> Result<Self, ContainerError> {
        let offset = header.offset();
        match header.u8("shader type")? {
            0 => Ok(Self::Vertex),
            1 => Ok(Self::Geometry),
            other => Err(invalid("shader type", other.into(), offset)),
        }
    }

    /// The byte of a header.
    pub(super) fn to_byte(self) -> u8 {
        match self {
            Self::Vertex => 0,
            Self::Geometry => 1,
        }
    }
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

impl Geometry {
    fn read(header: &mut Reader<'_>) -> Result<Self, ContainerError> {
        Ok(Self::of_bytes(header.array("geometry fields")?))
    }

    fn of_bytes([mode, fixed_start, variable_vertices, fixed_vertices]: [u8; 4]) -> Self {
        Self { mode: GeometryMode(mode), fixed_start, variable_vertices, fixed_vertices }
    }

    pub(super) fn to_bytes(self) -> [u8; 4] {
        [self.mode.0, self.fixed_start, self.variable_vertices, self.fixed_vertices]
    }
}

/// A `DVLE` part.
///
/// What it says of the program (entry point, end, labels) is not held against the program memory: that belongs to the
/// `DVLP`, which may be malformed on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Dvle<'a> {
    /// Absolute byte offset of the part.
    pub offset: usize,
    /// Version field; picasso writes 0x1002.
    pub version: u16,
    /// Stage.
    pub kind: ShaderKind,
    /// Flags; bit 0 is that of [`merges_output_maps`](Self::merges_output_maps), the others are 0 where seen.
    pub flags: u8,
    /// Entry point, a word of program memory; below 4096.
    pub main: u32,
    /// The word behind the end of the main function.
    pub end: u32,
    /// Input registers used, bit n = `vn`. Often 0: few assemblers fill it.
    pub input_mask: u16,
    /// Output registers used, bit n = `on`.
    pub output_mask: u16,
    /// What a geometry shader says beside this. A vertex shader has it only if the fields are not 0, as they should be.
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

/// The header of a `DVLE`.
struct Header {
    version: u16,
    kind: ShaderKind,
    flags: u8,
    main: u32,
    end: u32,
    input_mask: u16,
    output_mask: u16,
    geometry: Geometry,
    tables: Tables,
}

impl Header {
    fn read(mut header: Reader<'_>) -> Result<Self, ContainerError> {
        header.u32("DVLE magic")?;
        Ok(Self {
            version: header.u16("DVLE version")?,
            kind: ShaderKind::read(&mut header)?,
            flags: header.u8("DVLE flags")?,
            main: header.count("entry point", limits::PICA_CODE_WORDS - 1)?,
            end: header.u32("end of main")?,
            input_mask: header.u16("input mask")?,
            output_mask: header.u16("output mask")?,
            geometry: Geometry::read(&mut header)?,
            tables: Tables {
                constants: Tables::constants_at(&mut header)?,
                labels: Tables::labels_at(&mut header)?,
                outputs: Tables::outputs_at(&mut header)?,
                uniforms: Tables::uniforms_at(&mut header)?,
                symbols: Tables::symbols_at(&mut header)?,
            },
        })
    }
}

impl<'a> Dvle<'a> {
    /// Whether the output maps of vertex and geometry shader are to be merged.
    pub fn merges_output_maps(&self) -> bool {
        self.flags & MERGE_OUTPUT_MAPS != 0
    }

    pub(super) fn parse(file: &'a [u8], offset: u32) -> Result<Self, ContainerError> {
        let part = super::part(file, offset, *b"DVLE", "DVLE magic")?;
        let Header { version, kind, flags, main, end, input_mask, output_mask, geometry, tables } =
            Header::read(part.clone())?;
        let unused = kind == ShaderKind::Vertex && geometry.to_bytes() == [0; 4];
        let Contents { constants, labels, outputs, uniforms, symbols } = tables.contents(&part)?;
        Ok(Self {
            offset: part.offset(),
            version,
            kind,
            flags,
            main,
            end,
            input_mask,
            output_mask,
            geometry: (!unused).then_some(geometry),
            constants,
            labels,
            outputs,
            uniforms,
            symbols: symbols.rest(),
        })
    }

    /// Absolute offset of the part's end: that of its header or of its last table.
    pub(super) fn end_of(file: &[u8], offset: u32) -> Result<usize, ContainerError> {
        let part = super::part(file, offset, *b"DVLE", "DVLE magic")?;
        let end = Header::read(part.clone())?.tables.end(&part)?;
        Ok(end.max(part.offset() + HEADER))
    }

    /// Bytes of the tables that the `DVLE` at `offset` declares; 0 if its header is malformed.
    pub(super) fn table_bytes(file: &[u8], offset: u32) -> u64 {
        let header = super::part(file, offset, *b"DVLE", "DVLE magic").and_then(Header::read);
        header.map_or(0, |header| header.tables.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::name::Name;
    use crate::container::reader::{over_limit, truncated};
    use crate::container::shbin::{OutputSemantic, RegisterFile};

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
            &[&[0, 0, 2, 0, 0xf, 0, 0, 0], &[9, 0, 15, 0, 0b101, 0, 7, 2]],
            &[&[0, 0, 0, 0, 0, 0, 1, 0], &[4, 0, 0, 0, 0x10, 0, 0x6f, 0], &[4, 0, 0, 0, 0x73, 0, 0x73, 0]],
        );
        let dvle = Dvle::parse(&file, 2).unwrap();
        assert_eq!(
            (dvle.offset, dvle.version, dvle.kind, dvle.flags, dvle.merges_output_maps()),
            (2, 0x1002, ShaderKind::Geometry, 1, true)
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
        let labels: Vec<_> =
            dvle.labels.iter().map(|l| (l.id, l.flags, l.position, l.words, l.symbol, l.name)).collect();
        let name = |text: &'static str| Name::new(text.as_bytes());
        assert_eq!(labels, [(7, 1, 3, Some(6), 4, name("main")), (8, 1, 0, None, 0, name("pos"))]);
        let outputs: Vec<_> = dvle.outputs.iter().map(|o| (o.semantic, o.register, o.mask, o.unknown)).collect();
        assert_eq!(outputs, [(OutputSemantic::POSITION, 2, 15, 0), (OutputSemantic::DUMMY, 15, 5, 0x207)]);
        let uniforms: Vec<_> = dvle.uniforms.iter().map(|u| format!("{} {}", u.name, u.registers)).collect();
        assert_eq!(uniforms, ["pos v0-v1", "main c0-c95", "main i3"]);
        assert_eq!(dvle.symbols, b"pos\0main\0");
    }

    #[test]
    fn a_vertex_shader_has_no_geometry_fields() {
        let mut file = file(&[], &[], &[], &[]);
        file[8] = 0;
        assert!(Dvle::parse(&file, 2).unwrap().geometry.is_some(), "what should not be there is kept");
        file[2 + 0x14..2 + 0x18].fill(0);
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
        assert_eq!(patched(0x3c, 10), truncated("symbol table", first, 10, 9));

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
