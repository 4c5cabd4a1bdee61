//! VBC (Vega bytecode), the container of the Vega engine's shader compiler `vslc`: reflection in front, SPIR-V behind.
//!
//! | bytes | field |
//! |---|---|
//! | 0..3 | `VBC` |
//! | 3 | version, 1 |
//! | 4 | type of pipeline, 1 for graphics |
//! | 5..15 | words of SPIR-V of the five stages, 16 bits each |
//! | 15..25 | sizes of the five binding tables, 16 bits each |
//! | 25.. | [`Reflection`] |
//! | .. end | SPIR-V of the stages, in order |
//!
//! Documented in the wiki of LibVega/VSL and by the source of `vslc`. Nothing in it is aligned. The format does not say
//! where the SPIR-V begins: its words end where the file does. No file made by `vslc` was at hand; what is read is what
//! its source writes.

mod reflection;
mod write;

pub use reflection::{
    Binding, BindingDetail, InterfaceVariable, Reflection, StageMask, SubpassInput, TexelRank, TexelType, UniformBlock,
    VbcBaseType, VbcMember, Warning,
};
pub use write::write;

use super::listing::PartInfo;
use super::reader::{Reader, invalid, truncated, unknown_magic};
use crate::error::ContainerError;
use std::fmt;

/// The first three bytes. The fourth is the version.
pub const MAGIC: [u8; 3] = *b"VBC";

/// The version this crate reads.
const VERSION: u8 = 1;
/// The type of pipeline with the five stages.
const GRAPHICS: u8 = 1;
/// Offset of the stages' sizes.
const STAGE_SIZES: usize = 5;
/// Bytes of the header.
const HEADER: u32 = 25;
/// The first word of a SPIR-V module.
const SPIRV_MAGIC: u32 = 0x0723_0203;

/// A stage of the graphics pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum VbcStage {
    /// Vertex shader.
    Vertex,
    /// Tessellation control shader.
    TessellationControl,
    /// Tessellation evaluation shader.
    TessellationEvaluation,
    /// Geometry shader.
    Geometry,
    /// Fragment shader.
    Fragment,
}

impl VbcStage {
    /// All five, in the order of the file.
    pub const ALL: [Self; 5] =
        [Self::Vertex, Self::TessellationControl, Self::TessellationEvaluation, Self::Geometry, Self::Fragment];

    /// Its short name.
    pub fn name(self) -> &'static str {
        ["vert", "tesc", "tese", "geom", "frag"][self as usize]
    }
}

impl fmt::Display for VbcStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Sizes of the binding tables: how many of each kind the shader's descriptor arrays hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSizes {
    /// Samplers.
    pub samplers: u16,
    /// Images.
    pub images: u16,
    /// Buffers.
    pub buffers: u16,
    /// Read-only texel buffers.
    pub ro_texels: u16,
    /// Writable texel buffers.
    pub rw_texels: u16,
}

/// The SPIR-V module of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpirV<'a> {
    /// The stage.
    pub stage: VbcStage,
    /// Absolute byte offset of its first word.
    pub offset: usize,
    /// Its little-endian words, four bytes each, at no particular alignment.
    pub bytes: &'a [u8],
}

impl<'a> SpirV<'a> {
    /// Its words.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        let (words, _) = self.bytes.as_chunks();
        words.iter().map(|&word| u32::from_le_bytes(word))
    }
}

/// A VBC: its header is read, and the SPIR-V of each stage found.
#[derive(Clone, Debug)]
pub struct Vbc<'a> {
    bytes: &'a [u8],
    words: StageWords,
    tables: TableSizes,
    /// Offset of the first stage's SPIR-V.
    code: usize,
}

impl<'a> Vbc<'a> {
    /// Reads the header of `bytes`, which must be the whole file and nothing else.
    ///
    /// # Errors
    /// The magic is not `VBC`, the version or the type of pipeline is another, or the SPIR-V does not fit the file.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ContainerError> {
        let (words, tables, file) = header(bytes)?;
        let code_size = 4 * words.iter().map(|&words| usize::from(words)).sum::<usize>();
        if code_size > file.left() {
            return Err(truncated("SPIR-V", file.offset(), code_size, file.left()));
        }
        Ok(Self { bytes, words, tables, code: bytes.len() - code_size })
    }

    /// Size in bytes of the VBC with which `bytes` begin, whatever follows it.
    ///
    /// # Errors
    /// The header or the reflection is malformed, there is no stage, or a stage does not begin with SPIR-V's magic
    /// number.
    pub fn extent(bytes: &[u8]) -> Result<usize, ContainerError> {
        let (words, _, file) = header(bytes)?;
        if words == StageWords::default() {
            return Err(invalid("SPIR-V size in words", 0, STAGE_SIZES));
        }
        let mut end = Err(truncated("SPIR-V", file.offset(), 1, file.left()));
        for code in Reflection::ends(file)? {
            let size = code + 4 * words.iter().map(|&words| usize::from(words)).sum::<usize>();
            end = match bytes.get(..size) {
                Some(file) => {
                    let stages = Vbc::parse(file)?.stages();
                    stages.into_iter().try_for_each(|stage| stage.map(drop)).map(|()| size)
                }
                None => Err(truncated("SPIR-V", code, size - code, bytes.len().saturating_sub(code))),
            };
            if end.is_ok() {
                break;
            }
        }
        end
    }

    /// The container's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Sizes of the binding tables.
    pub fn tables(&self) -> TableSizes {
        self.tables
    }

    /// What the shader exchanges with its surroundings.
    ///
    /// # Errors
    /// It is malformed, or does not end where the SPIR-V begins.
    pub fn reflection(&self) -> Result<Reflection<'a>, ContainerError> {
        let (file, size) = (Reader::new(self.bytes, 0), self.code - HEADER as usize);
        let reflection = Reflection::parse(file.range(HEADER, size as u64, "reflection")?)?;
        if reflection.warning.is_some() {
            // Nothing but the SPIR-V tells that the odd records were measured correctly.
            self.stages().try_for_each(|stage| stage.map(drop))?;
        }
        Ok(reflection)
    }

    /// The SPIR-V of each stage that is present, in the order of the file.
    ///
    /// # Errors
    /// A stage does not begin with SPIR-V's magic number.
    pub fn stages(&self) -> impl Iterator<Item = Result<SpirV<'a>, ContainerError>> + use<'a> {
        let mut file = Reader::new(self.bytes, 0);
        // The sizes were found to fit.
        let skipped = file.bytes(self.code, "reflection");
        debug_assert!(skipped.is_ok());
        let words = self.words;
        let present = VbcStage::ALL.into_iter().zip(words).filter(|&(_, words)| words > 0);
        present.map(move |(stage, words)| {
            let offset = file.offset();
            let bytes = file.bytes(4 * usize::from(words), "SPIR-V")?;
            let module = SpirV { stage, offset, bytes };
            match module.words().next() {
                Some(SPIRV_MAGIC) => Ok(module),
                first => Err(invalid("SPIR-V magic", first.unwrap_or(0).into(), offset)),
            }
        })
    }

    /// The stages that are present, in the order of the file.
    pub fn stage_list(&self) -> impl Iterator<Item = VbcStage> + use<> {
        VbcStage::ALL.into_iter().zip(self.words).filter_map(|(stage, words)| (words > 0).then_some(stage))
    }

    pub(super) fn listing(&self) -> Vec<PartInfo> {
        let header = HEADER as usize;
        let row = |name: &str, offset, size, meaning| PartInfo { name: name.to_string(), offset, size, meaning };
        let reflection = row("info", header, self.code - header, "reflection: inputs, outputs, bindings, uniforms");
        let mut offset = self.code;
        let stages = VbcStage::ALL.into_iter().zip(self.words).filter(|&(_, words)| words > 0).map(|(stage, words)| {
            let size = 4 * usize::from(words);
            offset += size;
            row(stage.name(), offset - size, size, "SPIR-V of a stage")
        });
        [reflection].into_iter().chain(stages).collect()
    }

    pub(super) fn errors(&self) -> Vec<ContainerError> {
        self.reflection().err().into_iter().chain(self.stages().filter_map(Result::err)).collect()
    }
}

/// Words of each stage.
type StageWords = [u16; VbcStage::ALL.len()];

/// Reads the header: the words of each stage, the sizes of the binding tables, and a reader of what follows.
fn header(bytes: &[u8]) -> Result<(StageWords, TableSizes, Reader<'_>), ContainerError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(unknown_magic(bytes));
    }
    let mut file = Reader::new(bytes, 0);
    file.array::<3>("VBC magic")?;
    expect(&mut file, "VBC version", VERSION)?;
    expect(&mut file, "VBC pipeline type", GRAPHICS)?;
    debug_assert_eq!(file.offset(), STAGE_SIZES);
    let mut words = StageWords::default();
    for words in &mut words {
        *words = file.u16("SPIR-V size in words")?;
    }
    let tables = TableSizes {
        samplers: file.u16("size of the sampler table")?,
        images: file.u16("size of the image table")?,
        buffers: file.u16("size of the buffer table")?,
        ro_texels: file.u16("size of the texel buffer table")?,
        rw_texels: file.u16("size of the writable texel buffer table")?,
    };
    debug_assert_eq!(file.offset(), HEADER as usize);
    Ok((words, tables, file))
}

/// Reads a byte that has one legal value.
fn expect(file: &mut Reader<'_>, what: &'static str, expected: u8) -> Result<(), ContainerError> {
    let offset = file.offset();
    match file.u8(what)? {
        found if found == expected => Ok(()),
        found => Err(invalid(what, found.into(), offset)),
    }
}

#[cfg(test)]
pub(crate) mod tests;
