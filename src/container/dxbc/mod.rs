//! `DXBC`, Direct3D's container since version 10 (documented by LLVM as "DXContainer").
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | `DXBC` |
//! | 4..20 | digest |
//! | 20..22, 22..24 | version, 1 and 0 |
//! | 24..28 | file size |
//! | 28..32 | number of parts |
//! | 32.. | for each part the offset of its header: four-CC, size of the data behind it |

mod builder;
mod codes;
mod content;
mod debug;
mod dwords;
mod dxil;
mod feature_flags;
mod four_cc;
mod interfaces;
mod level9;
mod packed;
mod pdb;
mod program;
mod provenance;
mod psv;
mod rdat;
mod rdef;
mod root_signature;
mod signature;
mod source;
mod statistics;

pub use builder::Builder;
pub use codes::{
    DxilResourceKind, InputPrimitive, Interpolation, MeshTopology, PrimitiveTopology, SemanticKind, ShaderStage,
    TessellatorDomain, TessellatorOutput,
};
pub use content::{Opaque, PartContent};
pub use debug::{DebugInformation, DebugTable, ProgramDatabase};
pub use dwords::Dwords;
pub use dxil::DxilProgram;
pub use feature_flags::FeatureFlags;
pub use four_cc::FourCc;
pub use interfaces::{ClassInstance, ClassType, InterfaceSlots, Interfaces};
pub use level9::{
    DataConversion, Level9Constants, Level9Integer, Level9Program, Level9RuntimeConstant, Level9Sampler, Level9Table,
    RuntimeConstant,
};
pub use packed::Compression;
pub use pdb::PdbInfo;
pub use program::{Program, ProgramKind};
pub use provenance::{CompilerVersion, DebugName, ShaderHash};
pub use psv::{
    ComponentMask, Dependencies, DependencyTable, PipelineElement, PipelineResource, PipelineResourceType,
    PipelineState, Signatures, StageInfo,
};
pub use rdat::{
    AmplificationInfo, ComputeInfo, DomainInfo, DxilComponentType, Function, FunctionExtension, GeometryInfo,
    HitGroupKind, HullInfo, LaunchType, LibraryElement, MeshInfo, NameList, NodeFunctionAttribute, NodeId, NodeIo,
    NodeIoAttribute, NodeIoKind, NodeShader, PdbLibrary, PdbRecord, PdbSource, PixelInfo, RecordDispatchGrid, Resource,
    ResourceClass, Row, Rows, RuntimeData, StageRow, Subobject, SubobjectContent, Table, VertexInfo,
};
pub use rdef::{
    BaseType, ConstantBuffer, ConstantBufferType, Dimension, InputType, Member, ResourceBinding, ResourceDefinitions,
    ReturnType, SlotRange, Type, TypeClass, TypeId, Variable,
};
pub use root_signature::{
    BorderColour, DescriptorRange, DescriptorType, RootAddressMode, RootComparison, RootParameter, RootParameterKind,
    RootSignature, RootSignatureVersion, ShaderVisibility, StaticSampler,
};
pub use signature::{MinPrecision, Signature, SignatureElement, StoredType, SystemValue};
pub use source::{Arguments, SourceFile, SourceInfo};
pub use statistics::{Counters, Statistics};

use super::digest::{Digest, DigestClass};
use super::limits;
use super::listing::PartInfo;
use super::reader::{Reader, invalid, truncated, unknown_magic};
use crate::error::ContainerError;

/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"DXBC";

/// Bytes of the header in front of the part index.
const HEADER: usize = 32;
/// Bytes of a part header.
const PART_HEADER: usize = 8;

/// Input signatures, the newest form first.
const INPUT: [FourCc; 2] = [FourCc::ISG1, FourCc::ISGN];
/// Output signatures, the newest form first.
const OUTPUT: [FourCc; 3] = [FourCc::OSG1, FourCc::OSG5, FourCc::OSGN];
/// Patch-constant signatures, the newest form first.
const PATCH_CONSTANT: [FourCc; 2] = [FourCc::PSG1, FourCc::PCSG];
/// Programs of shader model 4 and 5. The name says nothing about the model.
const PROGRAM: [FourCc; 2] = [FourCc::SHEX, FourCc::SHDR];

/// A part: a name and bytes whose meaning the name gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its name.
    pub name: FourCc,
    /// Absolute byte offset of its eight-byte header.
    pub offset: usize,
    /// Its data, without the header.
    pub data: &'a [u8],
}

impl<'a> Part<'a> {
    /// Absolute byte offset of its data.
    pub fn data_offset(&self) -> usize {
        self.offset + PART_HEADER
    }

    fn reader(&self) -> Reader<'a> {
        Reader::new(self.data, self.data_offset())
    }
}

/// A `DXBC` container: header and part index checked, parts unread.
///
/// Parts may overlap and names may repeat; of several with one name the first counts. Everything lies within the
/// header's file size; what follows it is ignored, as some tools pad containers.
#[derive(Clone, Debug)]
pub struct Dxbc<'a> {
    bytes: &'a [u8],
    trailing: usize,
    digest: Digest,
    version: (u16, u16),
    parts: Vec<Part<'a>>,
}

impl<'a> Dxbc<'a> {
    /// Reads the header and the part index.
    ///
    /// # Errors
    /// The magic is not `DXBC`, the major version is not 1, or the file size or an index entry does not fit `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ContainerError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(unknown_magic(bytes));
        }
        let mut header = Reader::new(bytes, 0);
        header.array::<4>("DXBC magic")?;
        let digest = Digest(header.array("DXBC digest")?);
        let version_offset = header.offset();
        let version = (header.u16("DXBC version")?, header.u16("DXBC version")?);
        if version.0 != 1 {
            return Err(invalid("DXBC major version", version.0.into(), version_offset));
        }
        let size_offset = header.offset();
        let stored_size = header.count("DXBC file size", limits::DXBC_BYTES)?;
        let size = usize::try_from(stored_size).unwrap_or(usize::MAX);
        if size < HEADER {
            return Err(invalid("DXBC file size", size as u64, size_offset));
        }
        let Some((bytes, tail)) = bytes.split_at_checked(size) else {
            return Err(truncated("DXBC container", 0, size, bytes.len()));
        };

        let count = header.count("DXBC part count", limits::DXBC_PARTS)?;
        let file = Reader::new(bytes, 0);
        let index = file.records(HEADER as u32, count, 4, "DXBC part index")?;
        let first_free = HEADER + 4 * index.len();
        let mut parts = Vec::with_capacity(index.len());
        for mut entry in index {
            let entry_offset = entry.offset();
            let offset = entry.u32("part offset")?;
            let mut part = file.range(offset, PART_HEADER as u64, "part header")?;
            // An entry that points into the header or the index would make data of it.
            if part.offset() < first_free {
                return Err(invalid("part offset", offset.into(), entry_offset));
            }
            let start = part.offset();
            let name = FourCc(part.array("part name")?);
            let size = part.u32("part size")?;
            let data_offset = start + PART_HEADER;
            let rest = &bytes[data_offset..];
            let length = usize::try_from(size).unwrap_or(usize::MAX);
            let data = rest.get(..length).ok_or_else(|| truncated("part data", data_offset, length, rest.len()))?;
            parts.push(Part { name, offset: start, data });
        }
        Ok(Self { bytes, trailing: tail.len(), digest, version, parts })
    }

    /// The size that the header states, if the file ends before it and yet begins as containers do: one part or more,
    /// the first right behind the index and of a known name.
    pub(crate) fn size_if_truncated(bytes: &[u8]) -> Option<usize> {
        let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let (major, size, count, first) = (word(20)? & 0xffff, word(24)?, word(28)?, word(HEADER)?);
        let behind_index = u64::from(count) * 4 + HEADER as u64;
        let name = FourCc(word(first as usize)?.to_le_bytes());
        let is_plausible = bytes.starts_with(&MAGIC)
            && major == 1
            && count >= 1
            && u64::from(first) == behind_index
            && size > first
            && size <= limits::DXBC_BYTES
            && FourCc::KNOWN.contains(&name);
        let size = size as usize;
        (is_plausible && size > bytes.len()).then_some(size)
    }

    /// The container's bytes, up to the header's file size.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The file size in the header, in bytes.
    pub fn file_size(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes were given behind the header's file size.
    pub fn trailing(&self) -> usize {
        self.trailing
    }

    /// The format version in the header: major (always 1), minor.
    pub fn version(&self) -> (u16, u16) {
        self.version
    }

    /// The digest stored in the header. It says nothing until [`digest_class`](Self::digest_class) has checked it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Hashes the container and says what the stored digest is.
    pub fn digest_class(&self) -> DigestClass {
        DigestClass::of(self.digest, self.bytes)
    }

    /// All parts in index order.
    pub fn parts(&self) -> &[Part<'a>] {
        &self.parts
    }

    /// The first part named `name`.
    pub fn part(&self, name: FourCc) -> Option<&Part<'a>> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// The first part of the first of `names` that is there.
    fn first_of(&self, names: &[FourCc]) -> Option<&Part<'a>> {
        names.iter().find_map(|&name| self.part(name))
    }

    /// The input signature: `ISG1` or `ISGN`.
    ///
    /// # Errors
    /// The part is malformed.
    pub fn input_signature(&self) -> Result<Option<Signature<'a>>, ContainerError> {
        self.first_of(&INPUT).map(Signature::parse).transpose()
    }

    /// The output signature: `OSG1`, `OSG5` or `OSGN`.
    ///
    /// # Errors
    /// The part is malformed.
    pub fn output_signature(&self) -> Result<Option<Signature<'a>>, ContainerError> {
        self.first_of(&OUTPUT).map(Signature::parse).transpose()
    }

    /// The patch-constant signature of hull and domain shaders: `PSG1` or `PCSG`.
    ///
    /// # Errors
    /// The part is malformed.
    pub fn patch_constant_signature(&self) -> Result<Option<Signature<'a>>, ContainerError> {
        self.first_of(&PATCH_CONSTANT).map(Signature::parse).transpose()
    }

    /// The tokenized program of shader model 4 or 5: `SHEX` or `SHDR`.
    ///
    /// # Errors
    /// The part's header is malformed. Its tokens are not looked at.
    pub fn program(&self) -> Result<Option<Program<'a>>, ContainerError> {
        self.first_of(&PROGRAM).map(Program::parse).transpose()
    }

    /// The resource definitions, `RDEF`.
    ///
    /// # Errors
    /// The part is malformed.
    pub fn resource_definitions(&self) -> Result<Option<ResourceDefinitions<'a>>, ContainerError> {
        self.part(FourCc::RDEF).map(ResourceDefinitions::parse).transpose()
    }

    /// The bindings of the resource definitions; none if there is no such part.
    ///
    /// # Errors
    /// The part is malformed, but for its constant buffers, which are not looked at.
    pub(crate) fn resource_bindings(&self) -> Result<Option<Vec<ResourceBinding<'a>>>, ContainerError> {
        self.part(FourCc::RDEF).map(ResourceDefinitions::parse_bindings).transpose()
    }

    /// The compiler's counters, or the reflection of a DXIL program: `STAT`.
    ///
    /// # Errors
    /// The part is malformed.
    pub fn statistics(&self) -> Result<Option<Statistics<'a>>, ContainerError> {
        self.part(FourCc::STAT).map(Statistics::parse).transpose()
    }

    /// The features a device must have, `SFI0`; none if there is no such part.
    ///
    /// # Errors
    /// The part is malformed.
    pub fn feature_flags(&self) -> Result<FeatureFlags, ContainerError> {
        self.part(FourCc::SFI0).map_or(Ok(FeatureFlags::default()), FeatureFlags::parse)
    }

    /// Classes, their instances and the interface slots, `IFCE`.
    ///
    /// # Errors
    /// The part is malformed.
    pub fn interfaces(&self) -> Result<Option<Interfaces<'a>>, ContainerError> {
        self.part(FourCc::IFCE).map(Interfaces::parse).transpose()
    }

    pub(super) fn listing(&self) -> Vec<PartInfo> {
        let row = |part: &Part<'_>| PartInfo {
            name: part.name.to_string(),
            offset: part.offset,
            size: part.data.len(),
            meaning: part.name.meaning(),
        };
        self.parts.iter().map(row).collect()
    }

    pub(super) fn errors(&self) -> Vec<ContainerError> {
        self.parts.iter().filter_map(|part| part.content().err()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::over_limit;

    /// A container of these parts, one behind the other, and the offset of each.
    fn container(parts: &[(&[u8; 4], &[u8])]) -> (Vec<u8>, Vec<usize>) {
        let mut file = MAGIC.to_vec();
        file.extend_from_slice(&[0; 16]);
        let size = HEADER + parts.iter().map(|(_, data)| 4 + PART_HEADER + data.len()).sum::<usize>();
        for dword in [1, size as u32, parts.len() as u32] {
            file.extend_from_slice(&dword.to_le_bytes());
        }
        let mut offsets = Vec::new();
        let mut offset = HEADER + 4 * parts.len();
        for (_, data) in parts {
            file.extend_from_slice(&(offset as u32).to_le_bytes());
            offsets.push(offset);
            offset += PART_HEADER + data.len();
        }
        for (name, data) in parts {
            file.extend_from_slice(*name);
            file.extend_from_slice(&(data.len() as u32).to_le_bytes());
            file.extend_from_slice(data);
        }
        (file, offsets)
    }

    fn patch(file: &mut [u8], at: usize, value: u32) {
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    #[test]
    fn parts_are_listed_known_or_not() {
        let (file, offsets) = container(&[(b"FKE0", b"abc"), (b"SFI0", &[0; 8])]);
        let dxbc = Dxbc::parse(&file).unwrap();
        assert_eq!((dxbc.version(), dxbc.file_size(), dxbc.digest_class()), ((1, 0), file.len(), DigestClass::Zero));
        let part = Part { name: FourCc(*b"FKE0"), offset: offsets[0], data: b"abc" };
        assert_eq!(dxbc.parts()[0], part, "an odd size moves the next part to an odd offset");
        let rows: Vec<_> =
            dxbc.listing().into_iter().map(|row| (row.name, row.offset, row.size, row.meaning)).collect();
        let expected = [
            ("FKE0".to_string(), offsets[0], 3, "unknown part"),
            ("SFI0".to_string(), offsets[1], 8, "required feature flags"),
        ];
        assert_eq!(rows, expected);
        assert_eq!(dxbc.input_signature(), Ok(None));
        assert_eq!(dxbc.errors(), []);
    }

    #[test]
    fn of_two_parts_with_one_name_the_first_counts() {
        let (file, _) = container(&[(b"PRIV", b"first"), (b"PRIV", b"second")]);
        let dxbc = Dxbc::parse(&file).unwrap();
        assert_eq!(dxbc.part(FourCc::PRIV).unwrap().data, b"first");
        assert_eq!(dxbc.parts().len(), 2);
    }

    #[test]
    fn parts_may_overlap() {
        let (mut file, offsets) = container(&[(b"PRIV", b"shared"), (b"HASH", b"")]);
        patch(&mut file, HEADER + 4, offsets[0] as u32);
        let dxbc = Dxbc::parse(&file).unwrap();
        assert_eq!(dxbc.parts()[0], dxbc.parts()[1]);
    }

    #[test]
    fn a_malformed_part_leaves_the_others_readable() {
        let (file, offsets) = container(&[(b"ISGN", &[1]), (b"OSGN", &[0, 0, 0, 0, 8, 0, 0, 0]), (b"SHEX", &[])]);
        let dxbc = Dxbc::parse(&file).unwrap();
        let input = truncated("signature element count", offsets[0] + 8, 4, 1);
        let program = truncated("program version token", offsets[2] + 8, 4, 0);
        assert_eq!(dxbc.input_signature(), Err(input.clone()));
        assert_eq!(dxbc.output_signature().unwrap().unwrap().elements, []);
        assert_eq!(dxbc.errors(), [input, program]);
    }

    #[test]
    fn bytes_behind_the_file_size_are_ignored() {
        let (mut file, _) = container(&[(b"PRIV", b"x")]);
        let size = file.len();
        file.extend_from_slice(b"tail");
        let dxbc = Dxbc::parse(&file).unwrap();
        assert_eq!((dxbc.bytes().len(), dxbc.trailing()), (size, 4));
    }

    #[test]
    fn each_bad_header_field_is_an_error_with_its_offset() {
        let (file, offsets) = container(&[(b"PRIV", b"abc"), (b"HASH", b"d")]);
        let size = file.len();
        let error = |at, value| {
            let mut file = file.clone();
            patch(&mut file, at, value);
            Dxbc::parse(&file).unwrap_err()
        };
        assert_eq!(error(20, 2), invalid("DXBC major version", 2, 20));
        assert_eq!(error(24, 31), invalid("DXBC file size", 31, 24));
        assert_eq!(error(24, size as u32 + 1), truncated("DXBC container", 0, size + 1, size));
        assert_eq!(error(24, 0x8000_0001), over_limit("DXBC file size", 0x8000_0001, 0x8000_0000, 24));
        assert_eq!(error(28, 1025), over_limit("DXBC part count", 1025, 1024, 28));
        assert_eq!(error(28, 1000), truncated("DXBC part index", 32, 4000, size - 32));
        assert_eq!(error(36, 39), invalid("part offset", 39, 36));
        assert_eq!(error(36, size as u32 - 7), truncated("part header", size - 7, 8, 7));
        assert_eq!(error(36, u32::MAX), truncated("part header", u32::MAX as usize, 8, 0));
        assert_eq!(error(offsets[1] + 4, 2), truncated("part data", size - 1, 2, 1));
        assert_eq!(Dxbc::parse(&file[..27]).unwrap_err(), truncated("DXBC file size", 24, 4, 3));
    }

    #[test]
    fn every_part_with_a_typed_view_has_a_meaning() {
        let names = [INPUT.as_slice(), &OUTPUT, &PATCH_CONSTANT, &PROGRAM, &[FourCc::RDEF]].concat();
        assert!(names.iter().all(|name| FourCc::KNOWN.contains(name)));
    }
}
