//! What `PSV0` says of one stage: sixteen bytes from the beginning, and two that came with version 1.

use crate::container::dxbc::{
    InputPrimitive, MeshTopology, PrimitiveTopology, ShaderStage, TessellatorDomain, TessellatorOutput,
};

/// What the part says of a shader of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StageInfo {
    /// A vertex shader.
    Vertex {
        /// Whether it writes a position.
        position: bool,
    },
    /// A hull shader.
    Hull {
        /// Control points it takes.
        input_control_points: u32,
        /// Control points it makes.
        output_control_points: u32,
        /// What is subdivided.
        domain: TessellatorDomain,
        /// What the tessellator makes.
        output: TessellatorOutput,
    },
    /// A domain shader.
    Domain {
        /// Control points it takes.
        input_control_points: u32,
        /// Whether it writes a position.
        position: bool,
        /// What is subdivided.
        domain: TessellatorDomain,
    },
    /// A geometry shader.
    Geometry {
        /// What it takes.
        input: InputPrimitive,
        /// What it makes.
        output: PrimitiveTopology,
        /// Output streams it writes, one bit each.
        stream_mask: u32,
        /// Whether it writes a position.
        position: bool,
        /// Vertices it emits at most, from version 1 on.
        max_vertices: Option<u16>,
    },
    /// A pixel shader.
    Pixel {
        /// Whether it writes the depth.
        depth: bool,
        /// Whether it runs once a sample.
        sample_frequency: bool,
    },
    /// A mesh shader.
    Mesh {
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
        /// What it makes, from version 1 on.
        topology: Option<MeshTopology>,
    },
    /// An amplification shader.
    Amplification {
        /// Bytes of the payload it hands on.
        payload_bytes: u32,
    },
    /// A stage of which the part says nothing.
    Other,
}

impl StageInfo {
    /// Reads `bytes`, and `more` from version 1 on, as those of `stage`.
    pub(super) fn new(stage: ShaderStage, bytes: &[u8; 16], more: Option<[u8; 2]>) -> Self {
        let (dwords, _) = bytes.as_chunks();
        let dword = |i: usize| u32::from_le_bytes(dwords[i]);
        let half = |i: usize| u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
        let flag = |i: usize| bytes[i] != 0;
        match stage {
            ShaderStage::VERTEX => Self::Vertex { position: flag(0) },
            ShaderStage::HULL => Self::Hull {
                input_control_points: dword(0),
                output_control_points: dword(1),
                domain: TessellatorDomain(dword(2)),
                output: TessellatorOutput(dword(3)),
            },
            ShaderStage::DOMAIN => {
                Self::Domain { input_control_points: dword(0), position: flag(4), domain: TessellatorDomain(dword(2)) }
            }
            ShaderStage::GEOMETRY => Self::Geometry {
                input: InputPrimitive(dword(0)),
                output: PrimitiveTopology(dword(1)),
                stream_mask: dword(2),
                position: flag(12),
                max_vertices: more.map(u16::from_le_bytes),
            },
            ShaderStage::PIXEL => Self::Pixel { depth: flag(0), sample_frequency: flag(1) },
            ShaderStage::MESH => Self::Mesh {
                group_shared_bytes: dword(0),
                view_dependent_bytes: dword(1),
                payload_bytes: dword(2),
                max_vertices: half(6),
                max_primitives: half(7),
                topology: more.map(|[_, topology]| MeshTopology(topology)),
            },
            ShaderStage::AMPLIFICATION => Self::Amplification { payload_bytes: dword(0) },
            _ => Self::Other,
        }
    }
}
