//! Pipeline state validation (`PSV0`): what Direct3D 12 checks when shaders are put together to a pipeline
//! (DirectXShaderCompiler, `DxilPipelineStateValidation.h`).
//!
//! The part is a stream; what is in it and how long depends on what came before:
//!
//! 1. size of the runtime information, and it. Its size is its version: 24, 36, 48, 52 or 56 bytes for 0 to 4;
//! 2. number of resources; if there are any, the size of a record, and the records. Here version 0 ends;
//! 3. size of the string table in bytes, and it; number of semantic indices, and they;
//! 4. if there are signature elements, the size of a record, and the records of inputs, outputs, and patch constants or
//!    primitive outputs;
//! 5. which outputs depend on the view, and which on which inputs: see [`dependencies`].

mod dependencies;
mod stage;
#[cfg(test)]
mod tests;

pub use dependencies::{ComponentMask, Dependencies, DependencyTable};
pub use stage::StageInfo;

use super::dwords::Dwords;
use super::{DxilResourceKind, Interpolation, Part, SemanticKind, ShaderStage, StoredType};
use crate::container::name::Name;
use crate::container::reader::{Reader, invalid, truncated};
use crate::error::ContainerError;

/// Bytes of the runtime information of each version.
const RUNTIME_INFO: [u32; 5] = [24, 36, 48, 52, 56];
/// Bytes of a resource record, without its kind and flags and with.
const RESOURCE: [u32; 2] = [16, 24];
/// Bytes of a signature element.
const ELEMENT: u32 = 16;

open_code! {
    /// What a resource is bound as.
    PipelineResourceType(u32) {
        0 INVALID "invalid",
        1 SAMPLER "sampler",
        2 CBV "CBV",
        3 SRV_TYPED "typed SRV",
        4 SRV_RAW "raw SRV",
        5 SRV_STRUCTURED "structured SRV",
        6 UAV_TYPED "typed UAV",
        7 UAV_RAW "raw UAV",
        8 UAV_STRUCTURED "structured UAV",
        9 UAV_STRUCTURED_COUNTER "structured UAV with counter",
    }
}

/// A `PSV0` part.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineState<'a> {
    /// Version, 0 to 4. A newer one reads as 4.
    pub version: u8,
    /// Sixteen bytes that mean something else for each stage: see [`stage_info`](Self::stage_info).
    pub stage_bytes: [u8; 16],
    /// Least number of lanes of a wave; 0 = any.
    pub min_wave_lanes: u32,
    /// Greatest number of lanes of a wave; `u32::MAX` = any.
    pub max_wave_lanes: u32,
    /// Stage and signatures, from version 1 on.
    pub signatures: Option<Signatures>,
    /// Threads of a group in x, y and z, from version 2 on. 0 for stages without groups.
    pub threads: Option<[u32; 3]>,
    /// Name of the entry function, from version 3 on.
    pub entry: Option<Name<'a>>,
    /// Bytes of group-shared memory, from version 4 on.
    pub group_shared_bytes: Option<u32>,
    /// Resources, in stored order.
    pub resources: Vec<PipelineResource>,
    /// The string table. It begins with an empty string.
    pub strings: &'a [u8],
    /// The semantic indices which elements refer to.
    pub semantic_indices: Dwords<'a>,
    /// Input elements.
    pub inputs: Vec<PipelineElement<'a>>,
    /// Output elements.
    pub outputs: Vec<PipelineElement<'a>>,
    /// Patch constants of hull and domain shaders, primitive outputs of mesh shaders.
    pub patch_or_primitive: Vec<PipelineElement<'a>>,
    /// Which outputs depend on what.
    pub dependencies: Dependencies<'a>,
    /// Bytes that the masks of `dependencies` need and the part does not have: 0 in a sound part. Masks that are not
    /// there whole are empty.
    pub missing_mask_bytes: usize,
    /// Bytes behind everything known: none in a sound part.
    pub trailing: &'a [u8],
}

/// Stage and sizes of the signatures: what version 1 of the runtime information adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signatures {
    /// Stage.
    pub stage: ShaderStage,
    /// Whether it reads the number of the view.
    pub uses_view_id: bool,
    /// Two bytes that mean something else for each stage: see [`stage_info`](PipelineState::stage_info).
    pub stage_bytes: [u8; 2],
    /// Vectors of four components the inputs are packed into.
    pub input_vectors: u8,
    /// Vectors the outputs of each stream are packed into; only geometry shaders have more than one stream.
    pub output_vectors: [u8; 4],
}

impl Signatures {
    /// Vectors that the patch constants or primitive outputs are packed into.
    pub fn patch_or_primitive_vectors(&self) -> u8 {
        match self.stage {
            ShaderStage::HULL | ShaderStage::DOMAIN | ShaderStage::MESH => self.stage_bytes[0],
            _ => 0,
        }
    }
}

/// A resource a pipeline's root signature must bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineResource {
    /// What it is bound as.
    pub resource_type: PipelineResourceType,
    /// Register space.
    pub space: u32,
    /// First register.
    pub lower: u32,
    /// Last register; `u32::MAX` if unbounded.
    pub upper: u32,
    /// Shape, where the part stores it.
    pub kind: Option<DxilResourceKind>,
    /// Flags: 1 = used by 64-bit atomics. 0 where the part stores none.
    pub flags: u32,
}

/// An element of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineElement<'a> {
    /// Semantic, without its index. Empty for system values: `kind` names them.
    pub semantic: Name<'a>,
    /// Semantic index of each row.
    pub indices: Dwords<'a>,
    /// Components of a row.
    pub columns: u8,
    /// First row and first component it is packed into; `None` if it is not packed.
    pub position: Option<(u8, u8)>,
    /// What it stands for.
    pub kind: SemanticKind,
    /// Type of its components.
    pub component_type: StoredType,
    /// How it is interpolated.
    pub interpolation: Interpolation,
    /// Components that are indexed dynamically.
    pub dynamic_mask: u8,
    /// Output stream.
    pub stream: u8,
}

impl<'a> PipelineState<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        let mut reader = part.reader();
        let (mut info, version) = runtime_info(&mut reader)?;
        let stage_bytes = info.array("PSV0 stage information")?;
        let min_wave_lanes = info.u32("PSV0 wave size")?;
        let max_wave_lanes = info.u32("PSV0 wave size")?;
        let (signatures, elements) = match version {
            0 => (None, [0; 3]),
            _ => signatures(&mut info).map(|(signatures, elements)| (Some(signatures), elements))?,
        };
        let threads = match version {
            0 | 1 => None,
            _ => Some([info.u32("PSV0 threads")?, info.u32("PSV0 threads")?, info.u32("PSV0 threads")?]),
        };
        let entry = if version >= 3 { Some(info.u32("PSV0 entry name offset")?) } else { None };
        let group_shared_bytes = if version >= 4 { Some(info.u32("PSV0 group-shared size")?) } else { None };

        let resources = resources(&mut reader)?;
        let mut state = Self {
            version,
            stage_bytes,
            min_wave_lanes,
            max_wave_lanes,
            signatures,
            threads,
            entry: None,
            group_shared_bytes,
            resources,
            strings: &[],
            semantic_indices: Dwords::default(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            patch_or_primitive: Vec::new(),
            dependencies: Dependencies::default(),
            missing_mask_bytes: 0,
            trailing: &[],
        };
        if let Some(signatures) = &signatures {
            let strings = Strings::read(&mut reader)?;
            state.strings = strings.names.rest();
            state.semantic_indices = strings.indices;
            state.entry = entry.map(|offset| strings.names.name(offset, "PSV0 entry name")).transpose()?;
            [state.inputs, state.outputs, state.patch_or_primitive] = strings.elements(&mut reader, elements)?;
            (state.dependencies, state.missing_mask_bytes) = Dependencies::read(&mut reader, signatures)?;
        }
        state.trailing = reader.rest();
        Ok(state)
    }

    /// The stage, from version 1 on; before, only the program knows it.
    pub fn stage(&self) -> Option<ShaderStage> {
        self.signatures.map(|signatures| signatures.stage)
    }

    /// What the part says of a shader of `stage`, which should be the part's own [`stage`](Self::stage) if it states
    /// one.
    pub fn stage_info(&self, stage: ShaderStage) -> StageInfo {
        StageInfo::new(stage, &self.stage_bytes, self.signatures.map(|signatures| signatures.stage_bytes))
    }
}

/// A reader of the runtime information, and its version.
fn runtime_info<'a>(reader: &mut Reader<'a>) -> Result<(Reader<'a>, u8), ContainerError> {
    let size_offset = reader.offset();
    let size = reader.u32("PSV0 runtime information size")?;
    let Some(version) = RUNTIME_INFO.iter().rposition(|&known| known <= size) else {
        return Err(invalid("PSV0 runtime information size", size.into(), size_offset));
    };
    let start = reader.offset();
    let bytes = reader.bytes(usize::try_from(size).unwrap_or(usize::MAX), "PSV0 runtime information")?;
    Ok((Reader::new(bytes, start), version as u8))
}

/// Reads what version 1 adds: the signatures, and the number of elements of each.
fn signatures(info: &mut Reader<'_>) -> Result<(Signatures, [u8; 3]), ContainerError> {
    let stage = ShaderStage(info.u8("PSV0 stage")?.into());
    let uses_view_id = info.u8("PSV0 view flag")? != 0;
    let stage_bytes = info.array("PSV0 stage information")?;
    let elements = info.array("PSV0 element counts")?;
    let input_vectors = info.u8("PSV0 input vectors")?;
    let output_vectors = info.array("PSV0 output vectors")?;
    Ok((Signatures { stage, uses_view_id, stage_bytes, input_vectors, output_vectors }, elements))
}

/// Reads the stride of a table, which is at least that of the known fields.
fn stride(reader: &mut Reader<'_>, what: &'static str, known: u32) -> Result<u32, ContainerError> {
    let offset = reader.offset();
    let stride = reader.u32(what)?;
    if stride < known {
        return Err(invalid(what, stride.into(), offset));
    }
    Ok(stride)
}

/// Reads the records of a table that begins here.
fn table<'a>(
    reader: &mut Reader<'a>,
    count: u32,
    stride: u32,
    what: &'static str,
) -> Result<impl ExactSizeIterator<Item = Reader<'a>> + use<'a>, ContainerError> {
    let start = reader.offset();
    // A product that does not fit is longer than any part.
    let size = usize::try_from(u64::from(count) * u64::from(stride)).unwrap_or(usize::MAX);
    Reader::new(reader.bytes(size, what)?, start).records(0, count, stride, what)
}

fn resources(reader: &mut Reader<'_>) -> Result<Vec<PipelineResource>, ContainerError> {
    let count = reader.u32("PSV0 resource count")?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let stride = stride(reader, "PSV0 resource stride", RESOURCE[0])?;
    let resource = |mut record: Reader<'_>| {
        let has_kind = record.len() >= RESOURCE[1] as usize;
        Ok(PipelineResource {
            resource_type: PipelineResourceType(record.u32("PSV0 resource type")?),
            space: record.u32("PSV0 resource space")?,
            lower: record.u32("PSV0 resource register")?,
            upper: record.u32("PSV0 resource register")?,
            kind: if has_kind { Some(DxilResourceKind(record.u32("PSV0 resource kind")?)) } else { None },
            flags: if has_kind { record.u32("PSV0 resource flags")? } else { 0 },
        })
    };
    table(reader, count, stride, "PSV0 resources")?.map(resource).collect()
}

/// What the elements refer to.
struct Strings<'a> {
    names: Reader<'a>,
    indices: Dwords<'a>,
    /// Absolute offset of `indices`.
    indices_offset: usize,
}

impl<'a> Strings<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, ContainerError> {
        let size = reader.u32("PSV0 string table size")?;
        let start = reader.offset();
        let names = reader.bytes(usize::try_from(size).unwrap_or(usize::MAX), "PSV0 string table")?;
        let count = reader.u32("PSV0 semantic index count")?;
        let indices_offset = reader.offset();
        let size = usize::try_from(u64::from(count) * 4).unwrap_or(usize::MAX);
        let indices = Dwords::new(reader.bytes(size, "PSV0 semantic indices")?);
        Ok(Self { names: Reader::new(names, start), indices, indices_offset })
    }

    /// Reads the elements of the three signatures.
    fn elements(
        &self,
        reader: &mut Reader<'a>,
        counts: [u8; 3],
    ) -> Result<[Vec<PipelineElement<'a>>; 3], ContainerError> {
        if counts == [0; 3] {
            return Ok(Default::default());
        }
        let stride = stride(reader, "PSV0 element stride", ELEMENT)?;
        let mut elements = |count: u8| {
            let records = table(reader, count.into(), stride, "PSV0 elements")?;
            records.map(|record| self.element(record)).collect::<Result<Vec<_>, _>>()
        };
        let [inputs, outputs, patch_or_primitive] = counts;
        Ok([elements(inputs)?, elements(outputs)?, elements(patch_or_primitive)?])
    }

    fn element(&self, mut record: Reader<'_>) -> Result<PipelineElement<'a>, ContainerError> {
        let semantic = self.names.name(record.u32("PSV0 semantic name offset")?, "PSV0 semantic name")?;
        let first = record.u32("PSV0 semantic index")? as usize;
        let rows = record.u8("PSV0 element rows")?;
        let indices = self.indices.range(first, rows.into()).ok_or_else(|| {
            let left = self.indices.len().saturating_sub(first);
            let offset = self.indices_offset.saturating_add(first.saturating_mul(4));
            truncated("PSV0 semantic indices", offset, 4 * usize::from(rows), 4 * left)
        })?;
        let start_row = record.u8("PSV0 element row")?;
        let columns = record.u8("PSV0 element columns")?;
        let kind = SemanticKind(record.u8("PSV0 semantic kind")?);
        let component_type = StoredType(record.u8("PSV0 component type")?.into());
        let interpolation = Interpolation(record.u8("PSV0 interpolation")?);
        let mask_and_stream = record.u8("PSV0 element stream")?;
        record.u8("PSV0 element padding")?;
        Ok(PipelineElement {
            semantic,
            indices,
            columns: columns & 0xf,
            position: (columns & 0x40 != 0).then_some((start_row, columns >> 4 & 3)),
            kind,
            component_type,
            interpolation,
            dynamic_mask: mask_and_stream & 0xf,
            stream: mask_and_stream >> 4 & 3,
        })
    }
}
