//! Runtime data (`RDAT`): what a runtime must know of the functions of a library, in tables that refer to one another
//! (DirectXShaderCompiler, `DxilRuntimeReflection.h`, `RDAT_*Types.inl`).
//!
//! A header gives version, number of sub-parts and the offset of each; a sub-part is a type, a size and data. Three of
//! them are pools: strings, arrays of numbers, and raw bytes. The others are tables: count, stride, records. A record
//! names strings by their offset in the pool, arrays by where they begin in theirs, and other records by their number.
//!
//! Tables stay where they lie: a record is read when it is asked for. Parsing reads each once and follows every
//! reference, so that asking cannot fail.

mod field;
mod node;
mod pool;
mod record;
mod stage;
mod subobject;
mod table;
#[cfg(test)]
mod tests;

pub use field::{NameList, Rows};
pub use node::{
    LaunchType, NodeFunctionAttribute, NodeId, NodeIo, NodeIoAttribute, NodeIoKind, NodeShader, RecordDispatchGrid,
};
pub use record::{Function, FunctionExtension, PdbLibrary, PdbRecord, PdbSource, Resource, ResourceClass};
pub use stage::{
    AmplificationInfo, ComputeInfo, DomainInfo, DxilComponentType, GeometryInfo, HullInfo, LibraryElement, MeshInfo,
    PixelInfo, StageRow, VertexInfo,
};
pub use subobject::{HitGroupKind, Subobject, SubobjectContent};
pub use table::{Row, Table};

use std::fmt;

use super::dwords::Dwords;
use super::{FourCc, Part};
use crate::container::limits;
use crate::container::reader::{Reader, invalid, over_limit};
use crate::error::ContainerError;
use pool::Pools;
use table::{Check, InTable};

/// The one version there is.
const VERSION: u32 = 0x10;
/// Bytes of the header of a sub-part.
const SUB_PART_HEADER: u32 = 8;

/// Types of the sub-parts that are pools.
const STRINGS: u32 = 1;
const INDICES: u32 = 2;
const RAW: u32 = 5;

/// Declares the tables from a list, one line each: `type field Record "what the records are"`.
macro_rules! tables {
    ($($code:literal $field:ident $record:ty, $doc:literal;)*) => {
        /// An `RDAT` part.
        #[derive(Clone, Debug, PartialEq)]
        pub struct RuntimeData<'a> {
            pools: Pools<'a>,
            $(
                #[doc = concat!($doc, " (type ", $code, ").")]
                pub $field: Table<'a, $record>,
            )*
            /// Sub-parts of unknown type, with that type.
            pub unknown: Vec<(u32, &'a [u8])>,
        }

        $(
            impl<'a> InTable<'a> for $record {
                fn table<'d>(data: &'d RuntimeData<'a>) -> &'d Table<'a, Self> {
                    &data.$field
                }
            }

            impl<'a> Table<'a, $record> {
                /// The record in `row`; `None` if the table has no such row.
                pub fn get(&self, row: Row<$record>) -> Option<$record> {
                    let i = usize::try_from(row.number()).ok()?;
                    (i < self.len()).then(|| self.record(i))
                }

                /// All records, in the order of their rows.
                pub fn iter(&self) -> impl ExactSizeIterator<Item = $record> {
                    (0..self.len()).map(|i| self.record(i))
                }
            }

            impl<'a> fmt::Debug for Table<'a, $record> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_list().entries(self.iter()).finish()
                }
            }
        )*

        impl<'a> RuntimeData<'a> {
            /// Takes the tables out of the sub-parts, the records unread.
            fn tables(pools: Pools<'a>, mut sub_parts: Vec<SubPart<'a>>) -> Result<Self, ContainerError> {
                Ok(Self {
                    pools,
                    $($field: match take(&mut sub_parts, $code) {
                        Some(data) => Table::new(data, pools)?,
                        None => Table::empty(pools),
                    },)*
                    unknown: sub_parts.into_iter().map(|sub_part| (sub_part.kind, sub_part.data.rest())).collect(),
                })
            }

            /// Reads every record and follows its references.
            fn check(&self) -> Result<(), ContainerError> {
                let mut check = Check::new(self);
                $(self.$field.check(&mut check)?;)*
                Ok(())
            }
        }
    };
}

tables! {
    3 resources Resource<'a>, "Resources";
    4 functions Function<'a>, "Functions";
    6 subobjects Subobject<'a>, "Subobjects: state that the library brings along";
    7 node_ids NodeId<'a>, "Names of work-graph nodes";
    8 node_io_attributes NodeIoAttribute<'a>, "Attributes of the inputs and outputs of nodes";
    9 node_function_attributes NodeFunctionAttribute<'a>, "Attributes of nodes";
    10 node_ios NodeIo<'a>, "Inputs and outputs of nodes";
    11 node_shaders NodeShader<'a>, "Nodes";
    13 elements LibraryElement<'a>, "Signature elements (experimental, like the stages)";
    14 vertex_shaders VertexInfo<'a>, "Vertex shaders";
    15 pixel_shaders PixelInfo<'a>, "Pixel shaders";
    16 hull_shaders HullInfo<'a>, "Hull shaders";
    17 domain_shaders DomainInfo<'a>, "Domain shaders";
    18 geometry_shaders GeometryInfo<'a>, "Geometry shaders";
    19 compute_shaders ComputeInfo<'a>, "Compute shaders";
    20 mesh_shaders MeshInfo<'a>, "Mesh shaders";
    21 amplification_shaders AmplificationInfo<'a>, "Amplification shaders";
    0x10001 pdbs PdbRecord<'a>, "What a debug file says of a compilation";
    0x10002 pdb_sources PdbSource<'a>, "Source files of a compilation";
    0x10003 pdb_libraries PdbLibrary<'a>, "Libraries that were linked";
}

/// A sub-part.
struct SubPart<'a> {
    kind: u32,
    data: Reader<'a>,
}

/// Takes out the sub-part of type `kind`. None is there twice.
fn take<'a>(sub_parts: &mut Vec<SubPart<'a>>, kind: u32) -> Option<Reader<'a>> {
    let index = sub_parts.iter().position(|sub_part| sub_part.kind == kind)?;
    Some(sub_parts.remove(index).data)
}

impl<'a> RuntimeData<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::RDAT);
        Self::read(part.reader())
    }

    /// Reads runtime data that fills what `header` reads, wherever that lies: `PDBI` holds some.
    pub(super) fn read(mut header: Reader<'a>) -> Result<Self, ContainerError> {
        let version_offset = header.offset();
        let version = header.u32("RDAT version")?;
        if version != VERSION {
            return Err(invalid("RDAT version", version.into(), version_offset));
        }
        let count = header.count("RDAT sub-part count", limits::RDAT_SUB_PARTS)?;
        let index = header.records(8, count, 4, "RDAT index")?;

        // Sub-parts do not overlap, so all of them together are no longer than the part.
        let mut left = header.len() as u64;
        let mut sub_parts: Vec<SubPart<'a>> = Vec::with_capacity(index.len());
        for mut entry in index {
            let entry_offset = entry.offset();
            let offset = entry.u32("RDAT sub-part offset")?;
            let mut sub_part = header.range(offset, SUB_PART_HEADER.into(), "RDAT sub-part header")?;
            let kind_offset = sub_part.offset();
            let kind = sub_part.u32("RDAT sub-part type")?;
            let size = sub_part.u32("RDAT sub-part size")?;
            let behind = offset.saturating_add(SUB_PART_HEADER);
            let data = header.range(behind, size.into(), "RDAT sub-part")?;
            let whole = u64::from(SUB_PART_HEADER) + u64::from(size);
            let Some(rest) = left.checked_sub(whole) else {
                return Err(over_limit("RDAT sub-part size", whole, left, entry_offset));
            };
            left = rest;
            if sub_parts.iter().any(|other| other.kind == kind) {
                return Err(invalid("repeated RDAT sub-part", kind.into(), kind_offset));
            }
            sub_parts.push(SubPart { kind, data });
        }

        let pools = Pools::new([STRINGS, INDICES, RAW].map(|kind| take(&mut sub_parts, kind)), version_offset);
        let data = Self::tables(pools, sub_parts)?;
        data.check()?;
        Ok(data)
    }

    /// The pool of strings. It begins with an empty one.
    pub fn strings(&self) -> &'a [u8] {
        self.pools.strings
    }

    /// The pool of arrays: each a count and as many numbers.
    pub fn indices(&self) -> Dwords<'a> {
        self.pools.indices
    }

    /// The pool of raw bytes.
    pub fn raw(&self) -> &'a [u8] {
        self.pools.raw
    }
}
