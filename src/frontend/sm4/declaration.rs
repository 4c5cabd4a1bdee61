//! Declarations: what a program says about its registers, views and stage before it runs.

mod decode;
#[cfg(test)]
mod tests;

use super::codes::{
    Dimension, GlobalFlags, Interpolation, Primitive, ReturnType, SamplerMode, SystemValue, TessDomain, TessOutput,
    TessPartitioning, Topology, UavFlags,
};
use super::operand::{Operand, RegisterFile};
use super::token::Field;
use std::ops::RangeInclusive;

/// A constant buffer, view or sampler, and the bind slots it stands for.
///
/// Before shader model 5.1 the three numbers are one, the bind slot, and the space is 0. In 5.1 the instructions name a
/// range by its id, then the register in the range's space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The number that instructions name it by.
    pub id: u32,
    /// First bind slot.
    pub lower: u32,
    /// Last bind slot. See [`slots`](Self::slots) for ranges without an end.
    pub upper: u32,
    /// Register space.
    pub space: u32,
    /// The token of the operand that names it. Compilers differ in the components they give it, which mean nothing.
    pub token: u32,
}

impl Binding {
    /// Whether the range has no end. Compilers store a last slot of `u32::MAX`, or what `lower` and a size of 0 give:
    /// one less than `lower`.
    pub fn is_unbounded(&self) -> bool {
        self.upper == u32::MAX || self.upper == self.lower.wrapping_sub(1)
    }

    /// The bind slots; empty if they are malformed.
    pub fn slots(&self) -> RangeInclusive<u32> {
        self.lower..=if self.is_unbounded() { u32::MAX } else { self.upper }
    }
}

/// A declaration. The opcode of the instruction it belongs to tells generated (`_sgv`) from interpreted (`_siv`)
/// values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declaration {
    /// `dcl_resource`: a typed view that is read.
    Resource {
        /// Where it is bound.
        binding: Binding,
        /// Its shape.
        dimension: Dimension,
        /// Number of samples, 0 if the program does not say.
        samples: u8,
        /// What its components read as.
        return_types: [ReturnType; 4],
    },
    /// `dcl_constantbuffer`.
    ConstantBuffer {
        /// Where it is bound.
        binding: Binding,
        /// Its size in rows of 16 bytes, 0 if the program does not say.
        rows: u32,
        /// Whether some index into it is dynamic.
        dynamic: bool,
    },
    /// `dcl_sampler`.
    Sampler {
        /// Where it is bound.
        binding: Binding,
        /// What it is used for.
        mode: SamplerMode,
    },
    /// `dcl_indexrange`: registers that are indexed dynamically.
    IndexRange {
        /// The first register; its mask names the components.
        first: Operand,
        /// Number of registers.
        count: u32,
    },
    /// `dcl_outputtopology`.
    OutputTopology(Topology),
    /// `dcl_inputprimitive`.
    InputPrimitive(Primitive),
    /// `dcl_maxout`: most vertices that one invocation emits.
    MaxOutputVertices(u32),
    /// `dcl_input` and its `_sgv`, `_siv` and `_ps` forms.
    Input {
        /// The register, or an input with a name of its own (`vThreadID`). Before its last index it may have the number
        /// of vertices.
        operand: Operand,
        /// How it is interpolated, for pixel shaders.
        interpolation: Option<Interpolation>,
        /// The system value it is, if it is one.
        system_value: Option<SystemValue>,
    },
    /// `dcl_output` and its `_sgv` and `_siv` forms.
    Output {
        /// The register, or an output with a name of its own (`oDepth`).
        operand: Operand,
        /// The system value it is, if it is one.
        system_value: Option<SystemValue>,
    },
    /// `dcl_temps`: number of `r#` registers.
    Temps(u32),
    /// `dcl_indexableTemp`: an array of registers.
    IndexableTemp {
        /// Number of the array.
        register: u32,
        /// Number of its registers.
        size: u32,
        /// Number of components of each register that are used.
        components: u32,
    },
    /// `dcl_globalFlags`.
    GlobalFlags(GlobalFlags),
    /// `hs_decls`: the declarations of all phases follow.
    HsDecls,
    /// `hs_control_point_phase`: the control-point phase follows.
    HsControlPointPhase,
    /// `hs_fork_phase`: a fork phase follows.
    HsForkPhase,
    /// `hs_join_phase`: a join phase follows.
    HsJoinPhase,
    /// `dcl_stream`: the outputs declared next belong to this stream.
    Stream(u32),
    /// `dcl_function_body`.
    FunctionBody(u32),
    /// `dcl_function_table`.
    FunctionTable {
        /// Its number.
        id: u32,
        /// Its function bodies.
        bodies: Box<[u32]>,
    },
    /// `dcl_interface`.
    Interface(Box<Interface>),
    /// `dcl_input_control_point_count`.
    InputControlPointCount(u32),
    /// `dcl_output_control_point_count`.
    OutputControlPointCount(u32),
    /// `dcl_tessellator_domain`.
    TessDomain(TessDomain),
    /// `dcl_tessellator_partitioning`.
    TessPartitioning(TessPartitioning),
    /// `dcl_tessellator_output_primitive`.
    TessOutput(TessOutput),
    /// `dcl_hs_max_tessfactor`.
    HsMaxTessFactor {
        /// The factor's bits as a 32-bit float.
        bits: u32,
    },
    /// `dcl_hs_fork_phase_instance_count`.
    HsForkPhaseInstanceCount(u32),
    /// `dcl_hs_join_phase_instance_count`.
    HsJoinPhaseInstanceCount(u32),
    /// `dcl_thread_group`: threads in x, y and z.
    ThreadGroup([u32; 3]),
    /// `dcl_uav_typed`.
    UavTyped {
        /// Where it is bound.
        binding: Binding,
        /// Its shape.
        dimension: Dimension,
        /// How it is accessed.
        flags: UavFlags,
        /// What its components read as.
        return_types: [ReturnType; 4],
    },
    /// `dcl_uav_raw`.
    UavRaw {
        /// Where it is bound.
        binding: Binding,
        /// How it is accessed.
        flags: UavFlags,
    },
    /// `dcl_uav_structured`.
    UavStructured {
        /// Where it is bound.
        binding: Binding,
        /// How it is accessed.
        flags: UavFlags,
        /// Bytes from one structure to the next.
        stride: u32,
    },
    /// `dcl_tgsm_raw`.
    TgsmRaw {
        /// Register number.
        register: u32,
        /// Its size in bytes.
        bytes: u32,
    },
    /// `dcl_tgsm_structured`.
    TgsmStructured {
        /// Register number.
        register: u32,
        /// Bytes from one structure to the next.
        stride: u32,
        /// Number of structures.
        count: u32,
    },
    /// `dcl_resource_raw`.
    ResourceRaw {
        /// Where it is bound.
        binding: Binding,
    },
    /// `dcl_resource_structured`.
    ResourceStructured {
        /// Where it is bound.
        binding: Binding,
        /// Bytes from one structure to the next.
        stride: u32,
    },
    /// `dcl_gsinstances`.
    GsInstances(u32),
}

/// `dcl_interface`: an interface variable (or an array of them) and the classes that may be bound to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub id: u32,
    /// Whether some index into it is dynamic.
    pub dynamic: bool,
    /// Function bodies of each table, one for each place that calls it.
    pub call_sites: u32,
    /// Length of the array of interfaces, 1 if it is none.
    pub array_length: u16,
    /// Function tables, one a class.
    pub tables: Box<[u32]>,
}

/// Fields of the opcode token of a declaration.
pub(super) mod field {
    use super::Field;

    pub const DIMENSION: Field = Field::new(11, 5);
    pub const SAMPLES: Field = Field::new(16, 7);
    pub const DYNAMIC: Field = Field::new(11, 1);
    pub const SAMPLER_MODE: Field = Field::new(11, 4);
    pub const TOPOLOGY: Field = Field::new(11, 7);
    pub const PRIMITIVE: Field = Field::new(11, 6);
    pub const INTERPOLATION: Field = Field::new(11, 4);
    pub const CONTROL_POINTS: Field = Field::new(11, 6);
    pub const TESS_DOMAIN: Field = Field::new(11, 2);
    pub const TESS_PARTITIONING: Field = Field::new(11, 3);
    pub const TESS_OUTPUT: Field = Field::new(11, 3);

    /// Of the dword behind an interface's number and call sites.
    pub const INTERFACE_TABLES: Field = Field::new(0, 16);
    pub const INTERFACE_ARRAY: Field = Field::new(16, 16);
}

/// The token of an operand that is a register by its number alone, without components.
pub(super) const fn register_token(file: RegisterFile) -> u32 {
    file.number() << 12 | 1 << 20
}
