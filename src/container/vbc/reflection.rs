//! Reflection of a VBC: everything a shader exchanges with its surroundings.

use super::VbcStage;
use crate::container::limits::VBC_RECORDS;
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid, truncated};
use crate::error::ContainerError;
use std::fmt;

/// Bytes of a subpass input's record.
pub(super) const SUBPASS_RECORD: usize = 4;

/// Other sizes that subpass inputs are found with: the compiler writes its own object in place of the record, and how
/// large that is depends on its standard library. The first is that of `vslc` on x86-64 Linux.
const SUBPASS_OBJECTS: [usize; 3] = [48, 56, 40];

open_code! {
    /// Kind of a variable's type.
    VbcBaseType(u8) {
        0 VOID "void",
        1 BOOL "bool",
        2 SIGNED "int",
        3 UNSIGNED "uint",
        4 FLOAT "float",
        5 SAMPLER "sampler",
        6 IMAGE "image",
        7 RO_BUFFER "ROBuffer",
        8 RW_BUFFER "RWBuffer",
        9 RO_TEXELS "ROTexels",
        10 RW_TEXELS "RWTexels",
        11 SUBPASS_INPUT "SPInput",
        12 UNIFORM "uniform",
        13 STRUCT "struct",
    }
}

open_code! {
    /// Shape of an image.
    TexelRank(u8) {
        0 D1 "1D",
        1 D2 "2D",
        2 D3 "3D",
        3 D1_ARRAY "1DArray",
        4 D2_ARRAY "2DArray",
        5 CUBE "cube",
        6 BUFFER "buffer",
    }
}

open_code! {
    /// What an image's components hold.
    TexelType(u8) {
        0 SIGNED "int",
        1 UNSIGNED "uint",
        2 FLOAT "float",
        3 UNORM "unorm",
        4 SNORM "snorm",
    }
}

/// Stages, bit n for the n-th of [`VbcStage::ALL`]. Prints as `vert|frag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StageMask(pub u16);

impl StageMask {
    /// Whether `stage` is one of them.
    pub fn contains(self, stage: VbcStage) -> bool {
        self.0 >> stage as u32 & 1 != 0
    }
}

impl fmt::Display for StageMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> =
            VbcStage::ALL.iter().filter(|&&stage| self.contains(stage)).map(|s| s.name().to_string()).collect();
        let unknown = self.0 & !0x1f;
        if unknown != 0 || names.is_empty() {
            names.push(format!("{unknown:#x}"));
        }
        f.pad(&names.join("|"))
    }
}

/// A vertex attribute or a fragment output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceVariable {
    /// Location of the attribute, or index of the attachment.
    pub location: u8,
    /// Type of a component.
    pub base: VbcBaseType,
    /// Components (rows) and columns.
    pub dimensions: [u8; 2],
    /// Elements, 1 if it is no array.
    pub array: u8,
    /// Reserved bytes.
    pub reserved: [u8; 3],
}

/// What else there is to say of a binding: that depends on its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindingDetail {
    /// `ROBuffer` and `RWBuffer`.
    Buffer {
        /// Bytes of an element.
        size: u16,
        /// Reserved bytes.
        reserved: [u8; 2],
    },
    /// Samplers, images and texel buffers.
    Texel {
        /// Shape.
        rank: TexelRank,
        /// What components hold.
        ty: TexelType,
        /// Bytes of a component.
        size: u8,
        /// Components of a texel.
        components: u8,
    },
    /// A type of which nothing is known.
    Unknown([u8; 4]),
}

/// A bound resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Slot, below 32.
    pub slot: u8,
    /// Type.
    pub base: VbcBaseType,
    /// Stages that use it.
    pub stages: StageMask,
    /// The rest.
    pub detail: BindingDetail,
}

/// A member of the uniform block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VbcMember<'a> {
    /// Its name, at most 255 bytes.
    pub name: Name<'a>,
    /// Its byte offset in the block.
    pub offset: u16,
    /// Type of a component.
    pub base: VbcBaseType,
    /// Components (rows) and columns.
    pub dimensions: [u8; 2],
    /// Elements, 1 if it is no array.
    pub array: u8,
}

/// The uniform block. A shader has one or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniformBlock<'a> {
    /// Its bytes, not 0.
    pub size: u16,
    /// Stages that use it.
    pub stages: StageMask,
    /// Its members.
    pub members: Vec<VbcMember<'a>>,
}

/// An input attachment. Its index is its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubpassInput<'a> {
    /// As the format has it.
    Record {
        /// What components hold.
        ty: TexelType,
        /// Components of a texel.
        components: u8,
        /// Reserved bytes.
        reserved: [u8; 2],
    },
    /// An object of the compiler in place of the record: addresses, from which the format cannot be known.
    Object(&'a [u8]),
}

/// Something that the format does not allow and that is read all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The records of the subpass inputs do not have the size they should have.
    SubpassRecordSize {
        /// Bytes of each.
        bytes: usize,
        /// Absolute byte offset of the first.
        offset: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SubpassRecordSize { bytes, offset } => write!(
                f,
                "each subpass input has {bytes} bytes in place of {SUBPASS_RECORD}: an object of the compiler that wrote the \
                 file (at offset {offset:#x})"
            ),
        }
    }
}

/// Everything a VBC says in front of its SPIR-V.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reflection<'a> {
    /// Vertex attributes.
    pub inputs: Vec<InterfaceVariable>,
    /// Fragment outputs.
    pub outputs: Vec<InterfaceVariable>,
    /// Bound resources.
    pub bindings: Vec<Binding>,
    /// The uniform block, if there is one.
    pub uniform: Option<UniformBlock<'a>>,
    /// Input attachments.
    pub subpass_inputs: Vec<SubpassInput<'a>>,
    /// What is wrong with it though it could be read.
    pub warning: Option<Warning>,
}

impl<'a> Reflection<'a> {
    /// Reads what `reader` covers, to its end.
    pub(super) fn parse(mut reader: Reader<'a>) -> Result<Self, ContainerError> {
        let mut reflection = Self::before_subpass_inputs(&mut reader)?;
        (reflection.subpass_inputs, reflection.warning) = subpass_inputs(&mut reader)?;
        Ok(reflection)
    }

    /// Absolute byte offsets at which what `reader` begins with may end: with subpass inputs as they should be, or
    /// else.
    pub(super) fn ends(mut reader: Reader<'a>) -> Result<impl Iterator<Item = usize>, ContainerError> {
        Self::before_subpass_inputs(&mut reader)?;
        let count = reader.count("subpass input count", VBC_RECORDS)? as usize;
        let offset = reader.offset();
        // Without any, all sizes are one.
        let objects = SUBPASS_OBJECTS.into_iter().filter(move |_| count > 0);
        Ok([SUBPASS_RECORD].into_iter().chain(objects).map(move |size| offset + size * count))
    }

    fn before_subpass_inputs(reader: &mut Reader<'a>) -> Result<Self, ContainerError> {
        Ok(Self {
            inputs: list(reader, "vertex input count", interface_variable)?,
            outputs: list(reader, "fragment output count", interface_variable)?,
            bindings: list(reader, "binding count", binding)?,
            uniform: match reader.u16("uniform block size")? {
                0 => None,
                size => Some(UniformBlock {
                    size,
                    stages: StageMask(reader.u16("uniform stages")?),
                    members: list(reader, "uniform member count", member)?,
                }),
            },
            subpass_inputs: Vec::new(),
            warning: None,
        })
    }
}

/// A count and so many records.
fn list<'a, T>(
    reader: &mut Reader<'a>,
    what: &'static str,
    record: fn(&mut Reader<'a>) -> Result<T, ContainerError>,
) -> Result<Vec<T>, ContainerError> {
    let count = reader.count(what, VBC_RECORDS)?;
    let mut records = Vec::with_capacity(count as usize);
    for _ in 0..count {
        records.push(record(reader)?);
    }
    Ok(records)
}

fn interface_variable(reader: &mut Reader<'_>) -> Result<InterfaceVariable, ContainerError> {
    let [location, base, rows, columns, array, reserved @ ..] = reader.array::<8>("interface variable")?;
    Ok(InterfaceVariable { location, base: VbcBaseType(base), dimensions: [rows, columns], array, reserved })
}

fn binding(reader: &mut Reader<'_>) -> Result<Binding, ContainerError> {
    let [slot, base, stages @ .., a, b, c, d] = reader.array::<8>("binding")?;
    let base = VbcBaseType(base);
    let detail = match base {
        VbcBaseType::RO_BUFFER | VbcBaseType::RW_BUFFER => {
            BindingDetail::Buffer { size: u16::from_le_bytes([a, b]), reserved: [c, d] }
        }
        VbcBaseType::SAMPLER | VbcBaseType::IMAGE | VbcBaseType::RO_TEXELS | VbcBaseType::RW_TEXELS => {
            BindingDetail::Texel { rank: TexelRank(a), ty: TexelType(b), size: c, components: d }
        }
        _ => BindingDetail::Unknown([a, b, c, d]),
    };
    Ok(Binding { slot, base, stages: StageMask(u16::from_le_bytes(stages)), detail })
}

fn member<'a>(reader: &mut Reader<'a>) -> Result<VbcMember<'a>, ContainerError> {
    let length = reader.u8("length of a member's name")?;
    let name = Name::new(reader.bytes(length.into(), "name of a member")?);
    let offset = reader.u16("offset of a member")?;
    let [base, rows, columns, array] = reader.array("type of a member")?;
    Ok(VbcMember { name, offset, base: VbcBaseType(base), dimensions: [rows, columns], array })
}

/// The last list. Its records have the size with which they fill what is left.
fn subpass_inputs<'a>(reader: &mut Reader<'a>) -> Result<(Vec<SubpassInput<'a>>, Option<Warning>), ContainerError> {
    let count = reader.count("subpass input count", VBC_RECORDS)? as usize;
    let (offset, left) = (reader.offset(), reader.left());
    let size = [SUBPASS_RECORD].into_iter().chain(SUBPASS_OBJECTS).find(|size| size * count == left);
    let Some(size) = size else {
        return Err(match left < count * SUBPASS_RECORD {
            true => truncated("subpass inputs", offset, count * SUBPASS_RECORD, left),
            false => invalid("size of the subpass inputs", left as u64, offset),
        });
    };
    let mut inputs = Vec::with_capacity(count);
    for _ in 0..count {
        let bytes = reader.bytes(size, "subpass input")?;
        inputs.push(match *bytes {
            [ty, components, a, b] => SubpassInput::Record { ty: TexelType(ty), components, reserved: [a, b] },
            _ => SubpassInput::Object(bytes),
        });
    }
    let odd = count > 0 && size != SUBPASS_RECORD;
    Ok((inputs, odd.then_some(Warning::SubpassRecordSize { bytes: size, offset })))
}
