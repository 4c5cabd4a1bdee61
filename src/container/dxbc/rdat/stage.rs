//! Records with what only functions of one stage have. Experimental: no released validator writes or reads them.

use super::field::Rows;
use super::record::record;
use super::table::{Check, InTable, Row};
use super::{NodeShader, RuntimeData};
use crate::container::dxbc::dwords::Dwords;
use crate::container::dxbc::{Interpolation, SemanticKind, ShaderStage};
use crate::container::name::Name;
use crate::error::ContainerError;

/// The reference to nothing.
const NULL: u32 = u32::MAX;

/// Which record has what only functions of a stage have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StageRow<'a> {
    /// There is none.
    None,
    /// A node of a work graph.
    Node(Row<NodeShader<'a>>),
    /// A vertex shader.
    Vertex(Row<VertexInfo<'a>>),
    /// A pixel shader.
    Pixel(Row<PixelInfo<'a>>),
    /// A hull shader.
    Hull(Row<HullInfo<'a>>),
    /// A domain shader.
    Domain(Row<DomainInfo<'a>>),
    /// A geometry shader.
    Geometry(Row<GeometryInfo<'a>>),
    /// A compute shader.
    Compute(Row<ComputeInfo<'a>>),
    /// A mesh shader.
    Mesh(Row<MeshInfo<'a>>),
    /// An amplification shader.
    Amplification(Row<AmplificationInfo<'a>>),
    /// A stage that has no table, and what is stored all the same.
    Unknown(u32),
}

impl<'a> StageRow<'a> {
    /// What `number` means for a function of `stage`.
    pub(super) fn new(stage: ShaderStage, number: u32) -> Self {
        if number == NULL {
            return Self::None;
        }
        match stage {
            ShaderStage::NODE => Self::Node(Row::new(number)),
            ShaderStage::VERTEX => Self::Vertex(Row::new(number)),
            ShaderStage::PIXEL => Self::Pixel(Row::new(number)),
            ShaderStage::HULL => Self::Hull(Row::new(number)),
            ShaderStage::DOMAIN => Self::Domain(Row::new(number)),
            ShaderStage::GEOMETRY => Self::Geometry(Row::new(number)),
            ShaderStage::COMPUTE => Self::Compute(Row::new(number)),
            ShaderStage::MESH => Self::Mesh(Row::new(number)),
            ShaderStage::AMPLIFICATION => Self::Amplification(Row::new(number)),
            _ => Self::Unknown(number),
        }
    }

    /// The row must be there.
    pub(super) fn check(&self, check: &mut Check<'_, 'a>) -> Result<(), ContainerError> {
        fn row<'a, T: InTable<'a>>(row: Row<T>, check: &Check<'_, 'a>) -> Result<(), ContainerError> {
            check.row::<T>(row.number(), "RDAT function stage information", check.record)
        }
        match *self {
            Self::None | Self::Unknown(_) => Ok(()),
            Self::Node(found) => row(found, check),
            Self::Vertex(found) => row(found, check),
            Self::Pixel(found) => row(found, check),
            Self::Hull(found) => row(found, check),
            Self::Domain(found) => row(found, check),
            Self::Geometry(found) => row(found, check),
            Self::Compute(found) => row(found, check),
            Self::Mesh(found) => row(found, check),
            Self::Amplification(found) => row(found, check),
        }
    }
}

impl<'a> RuntimeData<'a> {
    /// Threads of the groups of a function, if it has groups and its stage's record is there; 1 where the record has
    /// fewer than three numbers.
    pub fn threads(&self, row: StageRow<'a>) -> Option<[u32; 3]> {
        let threads = match row {
            StageRow::Compute(row) => self.compute_shaders.get(row)?.threads,
            StageRow::Mesh(row) => self.mesh_shaders.get(row)?.threads,
            StageRow::Amplification(row) => self.amplification_shaders.get(row)?.threads,
            _ => return None,
        };
        Some([0, 1, 2].map(|i| threads.get(i).unwrap_or(1)))
    }
}

open_code! {
    /// Type of a component, as DXIL numbers it.
    DxilComponentType(u8) {
        0 INVALID "invalid",
        1 I1 "i1",
        2 I16 "i16",
        3 U16 "u16",
        4 I32 "i32",
        5 U32 "u32",
        6 I64 "i64",
        7 U64 "u64",
        8 F16 "f16",
        9 F32 "f32",
        10 F64 "f64",
        11 SNORM_F16 "snorm f16",
        12 UNORM_F16 "unorm f16",
        13 SNORM_F32 "snorm f32",
        14 UNORM_F32 "unorm f32",
        15 SNORM_F64 "snorm f64",
        16 UNORM_F64 "unorm f64",
        17 PACKED_S8X32 "packed s8x32",
        18 PACKED_U8X32 "packed u8x32",
    }
}

record! {
    /// A signature element.
    LibraryElement "RDAT element" {
        /// Semantic, without its index.
        semantic: Name<'a>,
        /// Semantic index of each row.
        indices: Dwords<'a>,
        /// What it stands for.
        kind: SemanticKind,
        /// Type of its components.
        component_type: DxilComponentType,
        /// How it is interpolated.
        interpolation: Interpolation,
        /// First row it is packed into; 0xff if it is not packed.
        start_row: u8,
        /// Bits 0 and 1: components of a row less one; 2 and 3: first component; 4 and 5: stream.
        columns_and_stream: u8,
        /// Bits 0 to 3: components that are used; 4 to 7: those that are indexed dynamically.
        masks: u8,
    }
}

impl LibraryElement<'_> {
    /// Components of a row.
    pub fn columns(&self) -> u8 {
        (self.columns_and_stream & 3) + 1
    }

    /// First component it is packed into.
    pub fn start_column(&self) -> u8 {
        self.columns_and_stream >> 2 & 3
    }

    /// Output stream.
    pub fn stream(&self) -> u8 {
        self.columns_and_stream >> 4 & 3
    }
}

record! {
    /// What only vertex shaders have.
    VertexInfo "RDAT vertex shader" {
        /// Inputs.
        inputs: Rows<'a, LibraryElement<'a>>,
        /// Outputs.
        outputs: Rows<'a, LibraryElement<'a>>,
        /// Outputs that depend on the view, as a mask.
        view_to_outputs: &'a [u8],
    }
}

record! {
    /// What only pixel shaders have.
    PixelInfo "RDAT pixel shader" {
        /// Inputs.
        inputs: Rows<'a, LibraryElement<'a>>,
        /// Outputs.
        outputs: Rows<'a, LibraryElement<'a>>,
    }
}

record! {
    /// What only hull shaders have.
    HullInfo "RDAT hull shader" {
        /// Inputs.
        inputs: Rows<'a, LibraryElement<'a>>,
        /// Outputs.
        outputs: Rows<'a, LibraryElement<'a>>,
        /// Patch constants it writes.
        patch_constants: Rows<'a, LibraryElement<'a>>,
        /// Outputs that depend on the view, as a mask.
        view_to_outputs: &'a [u8],
        /// Patch constants that depend on the view, as a mask.
        view_to_patch: &'a [u8],
        /// For each input the outputs that depend on it, as masks.
        inputs_to_outputs: &'a [u8],
        /// For each input the patch constants that depend on it, as masks.
        inputs_to_patch: &'a [u8],
        /// Control points it takes.
        input_control_points: u8,
        /// Control points it makes.
        output_control_points: u8,
        /// What is subdivided: the numbers of [`TessellatorDomain`](crate::container::dxbc::TessellatorDomain).
        domain: u8,
        /// What is made: the numbers of [`TessellatorOutput`](crate::container::dxbc::TessellatorOutput).
        output: u8,
    }
}

record! {
    /// What only domain shaders have.
    DomainInfo "RDAT domain shader" {
        /// Inputs.
        inputs: Rows<'a, LibraryElement<'a>>,
        /// Outputs.
        outputs: Rows<'a, LibraryElement<'a>>,
        /// Patch constants it reads.
        patch_constants: Rows<'a, LibraryElement<'a>>,
        /// Outputs that depend on the view, as a mask.
        view_to_outputs: &'a [u8],
        /// For each input the outputs that depend on it, as masks.
        inputs_to_outputs: &'a [u8],
        /// For each patch constant the outputs that depend on it, as masks.
        patch_to_outputs: &'a [u8],
        /// Control points it takes.
        input_control_points: u8,
        /// What is subdivided: the numbers of [`TessellatorDomain`](crate::container::dxbc::TessellatorDomain).
        domain: u8,
    }
}

record! {
    /// What only geometry shaders have.
    GeometryInfo "RDAT geometry shader" {
        /// Inputs.
        inputs: Rows<'a, LibraryElement<'a>>,
        /// Outputs.
        outputs: Rows<'a, LibraryElement<'a>>,
        /// Outputs that depend on the view, as a mask.
        view_to_outputs: &'a [u8],
        /// For each input the outputs that depend on it, as masks.
        inputs_to_outputs: &'a [u8],
        /// What it takes: the numbers of [`InputPrimitive`](crate::container::dxbc::InputPrimitive).
        input: u8,
        /// What it makes: the numbers of [`PrimitiveTopology`](crate::container::dxbc::PrimitiveTopology).
        output: u8,
        /// Vertices it emits at most.
        max_vertices: u8,
        /// Output streams it writes, one bit each.
        stream_mask: u8,
    }
}

record! {
    /// What only compute shaders have.
    ComputeInfo "RDAT compute shader" {
        /// Threads of a group in x, y and z; 1 where there are fewer than three numbers.
        threads: Dwords<'a>,
        /// Bytes of group-shared memory.
        group_shared_bytes: u32,
    }
}

record! {
    /// What only mesh shaders have.
    MeshInfo "RDAT mesh shader" {
        /// Outputs of vertices.
        outputs: Rows<'a, LibraryElement<'a>>,
        /// Outputs of primitives.
        primitive_outputs: Rows<'a, LibraryElement<'a>>,
        /// Vertex outputs that depend on the view, as a mask.
        view_to_outputs: &'a [u8],
        /// Primitive outputs that depend on the view, as a mask.
        view_to_primitives: &'a [u8],
        /// Threads of a group in x, y and z; 1 where there are fewer than three numbers.
        threads: Dwords<'a>,
        /// Bytes of group-shared memory.
        group_shared_bytes: u32,
        /// Those of them that depend on the view.
        view_dependent_bytes: u32,
        /// Bytes of the payload it takes.
        payload_bytes: u32,
        /// Vertices it makes at most.
        max_vertices: u16,
        /// Primitives it makes at most.
        max_primitives: u16,
        /// What it makes: the numbers of [`MeshTopology`](crate::container::dxbc::MeshTopology).
        topology: u8,
    }
}

record! {
    /// What only amplification shaders have.
    AmplificationInfo "RDAT amplification shader" {
        /// Threads of a group in x, y and z; 1 where there are fewer than three numbers.
        threads: Dwords<'a>,
        /// Bytes of group-shared memory.
        group_shared_bytes: u32,
        /// Bytes of the payload it hands on.
        payload_bytes: u32,
    }
}
