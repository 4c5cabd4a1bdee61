//! What a lowered program exchanges with its caller, in the caller's words: semantics, slots, register names.
//! The IR knows only element and space numbers; this is the list those numbers index.

use super::debug::DebugInfo;
use super::geometry::GeometryInterface;
use super::pixel::PixelInterface;
use super::primitive::{EmitterInterface, HullInterface, PrimitiveStage};
use crate::stage::Stage;
use shaderjit_ir::texture::TextureShape;
use shaderjit_ir::{Function, Resource, Sampler, Space};
use std::fmt;

/// How an element's components are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ComponentType {
    /// 32-bit float (also everything a signature leaves untyped).
    F32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 32-bit integer.
    I32,
}

impl ComponentType {
    /// Its name in HLSL.
    pub fn name(self) -> &'static str {
        match self {
            ComponentType::F32 => "float",
            ComponentType::U32 => "uint",
            ComponentType::I32 => "int",
        }
    }

    /// Whether components are integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, ComponentType::U32 | ComponentType::I32)
    }

    /// A component's value as text that reads back to the same value, NaN payloads apart.
    pub fn text(self, bits: u32) -> String {
        match self {
            ComponentType::F32 => f32::from_bits(bits).to_string(),
            ComponentType::U32 => bits.to_string(),
            ComponentType::I32 => (bits as i32).to_string(),
        }
    }
}

/// One element of the input or output signature: up to four components under one semantic.
///
/// Component `c` of the element is the `c`-th set bit of [`mask`](Element::mask), so an element that a compiler packed
/// into `o2.z` has its value in component 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Element {
    /// Semantic name as spelt in the container (`POSITION`), or the register (`v0`, `o3`) where the format has no
    /// names.
    pub semantic: String,
    /// Semantic index.
    pub index: u32,
    /// Register number; `u32::MAX` for what has a register of its own (`oDepth`) or none.
    pub register: u32,
    /// Components of the register it occupies, bit 0 = x.
    pub mask: u8,
    /// Component type.
    pub ty: ComponentType,
}

impl Element {
    /// An element that no container declares: of vertices that a caller has made himself.
    pub fn new(semantic: &str, index: u32, components: u32, ty: ComponentType) -> Element {
        let mask = ((1u8 << components.min(4)) - 1) & 0xf;
        Element { semantic: semantic.to_string(), index, register: u32::MAX, mask, ty }
    }

    /// One unsigned component without a register.
    pub(crate) fn scalar(semantic: &str) -> Element {
        Element { semantic: semantic.to_string(), index: 0, register: u32::MAX, mask: 1, ty: ComponentType::U32 }
    }

    /// How people name it: `TEXCOORD1`; the register alone (`v0`) where the format has no names. The semantic in it is
    /// spelt as in the container; to print it, use [`Printable`](crate::printable::Printable).
    pub fn name(&self) -> String {
        match self.index {
            // Compilers take digits off the end of a semantic, so these are a register's.
            0 if self.semantic.ends_with(|c: char| c.is_ascii_digit()) => self.semantic.clone(),
            index => format!("{}{index}", self.semantic),
        }
    }

    /// How messages name it: `TEXCOORD[1]`, which no other element is named; the register alone (`v0`) where the format
    /// has no names.
    pub(crate) fn label(&self) -> String {
        label(&self.semantic, self.index)
    }

    /// Number of components, 0 to 4.
    pub fn components(&self) -> u32 {
        u32::from(self.mask & 0xf).count_ones()
    }

    /// The element's component number for register component `register_component` (0 = x), if the mask has it.
    pub fn component_of(&self, register_component: u8) -> Option<u8> {
        let bit = 1u8.checked_shl(u32::from(register_component))?;
        (self.mask & bit != 0).then(|| (self.mask & (bit - 1)).count_ones() as u8)
    }
}

/// How messages name a semantic: with its index, apart from registers.
pub(crate) fn label(semantic: &str, index: u32) -> String {
    let is_register = semantic.starts_with(['v', 'o']) && semantic[1..].parse::<u8>().is_ok();
    if is_register && index == 0 { semantic.to_string() } else { format!("{semantic}[{index}]") }
}

/// Number of the element with that semantic. Direct3D does not tell upper from lower case in semantics.
pub(crate) fn find(elements: &[Element], semantic: &str, index: u32) -> Option<usize> {
    // Mostly it is written the same, which takes a third of the time to see.
    let is_it = |name: &str| name == semantic || name.eq_ignore_ascii_case(semantic);
    elements.iter().position(|element| element.index == index && is_it(&element.semantic))
}

/// What the caller binds to a uniform space of the IR function. A space is an array of 16-byte rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UniformKind {
    /// A D3D constant buffer: `cb<slot>` in register space `space` (0 before shader model 5.1).
    ConstantBuffer {
        /// Bind slot.
        slot: u32,
        /// Register space.
        space: u32,
    },
    /// A uniform block of SPIR-V.
    Block {
        /// Descriptor set.
        set: u32,
        /// Binding in the set.
        binding: u32,
        /// Element of the array of blocks; 0 if it is none.
        index: u32,
    },
    /// Push constants of SPIR-V.
    PushConstants,
    /// PICA float uniforms `c0..c95`: 96 rows of four floats.
    PicaFloat,
    /// PICA integer uniforms `i0..i3`: 4 rows of four `u32`, each 0 to 255.
    PicaInt,
    /// PICA bool uniforms: one row whose x component is the 16-bit mask, bit n = `bn`.
    PicaBool,
    /// A table that is part of the program (an immediate constant buffer). The caller binds nothing.
    Table,
    /// The number of a thread group: a row with its x, y and z; and where there are two, one with how many groups there
    /// are. Calls bind it.
    Group,
    /// What a domain shader sees of its patch. Calls bind it.
    Patch,
}

impl UniformKind {
    /// Whether it is bytes that callers lay out as the program declares.
    pub(crate) fn is_bytes(self) -> bool {
        matches!(self, UniformKind::ConstantBuffer { .. } | UniformKind::Block { .. } | UniformKind::PushConstants)
    }

    /// Whether callers bind it.
    pub(crate) fn is_bindable(self) -> bool {
        !matches!(self, UniformKind::Table | UniformKind::Group | UniformKind::Patch)
    }
}

/// One uniform space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniformDecl {
    /// The IR function's space.
    pub(crate) space: Space,
    /// What is bound to it.
    pub kind: UniformKind,
    /// Rows the program declares; 0 where it does not say.
    pub rows: u32,
    /// Its name in the source program, if the container says it.
    pub name: Option<String>,
}

impl UniformDecl {
    pub(crate) fn new(space: Space, kind: UniformKind, rows: u32) -> UniformDecl {
        UniformDecl { space, kind, rows, name: None }
    }
}

/// A uniform component whose value the container fixes (PICA `DVLE` constants) or the hardware (`c96` to `c127`, which
/// relative addressing reaches). Applied on top of what the caller binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniformPreset {
    /// The IR function's space.
    pub(crate) space: Space,
    /// Row.
    pub row: u32,
    /// The four components' bits; for [`UniformKind::PicaBool`] see [`mask`](Self::mask).
    pub bits: [u32; 4],
    /// For each component, the bits of it that are fixed; the rest stays the caller's.
    pub mask: [u32; 4],
}

/// Rows of a uniform space that stand there twice, so that indices that wrap around need not (PICA200's relative
/// addressing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatedRows {
    /// The IR function's space.
    pub(crate) space: Space,
    /// The row at which row 0 stands again, and the others after it.
    pub at: u32,
    /// How many do.
    pub rows: u32,
}

/// What a resource of the IR function is: a texture, or what its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResourceKind {
    /// `ByteAddressBuffer`: the bytes as they are.
    RawBuffer,
    /// `StructuredBuffer`: whole structures.
    StructuredBuffer {
        /// Bytes from one structure to the next, a multiple of 4.
        stride: u32,
    },
    /// `Buffer`, `tbuffer`: to the IR, rows of 32-bit components, one an element: of as many as are read, rounded up to
    /// a power of two; and where that is all four, behind them one that reads out of range give. Whoever binds it makes
    /// the rows of the format the elements are stored in.
    TypedBuffer {
        /// What the program takes the components for.
        ty: ComponentType,
        /// How many components it reads, from the first on: 1 to 4.
        components: u8,
    },
    /// `Texture2D` and its like.
    Texture {
        /// Its shape.
        shape: TextureShape,
        /// What the program takes the components for.
        ty: ComponentType,
    },
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResourceKind::RawBuffer => f.write_str("raw buffer"),
            ResourceKind::StructuredBuffer { stride } => write!(f, "buffer of structures of {stride} bytes"),
            ResourceKind::TypedBuffer { .. } => f.write_str("typed buffer"),
            ResourceKind::Texture { shape, .. } => shape.fmt(f),
        }
    }
}

/// Where a resource is bound, or that it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResourceFile {
    /// `t#`: a view that is read.
    Resource,
    /// `u#`: an unordered-access view, which is written.
    UnorderedAccess,
    /// The hidden counter of a `u#`: one 32-bit number.
    Counter,
    /// `g#`: memory that a thread group shares. Nothing is bound; calls make it, zero for each group.
    Shared {
        /// Its size.
        bytes: u32,
    },
}

/// One resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceDecl {
    /// The IR function's resource.
    pub(crate) resource: Resource,
    /// Where it is bound.
    pub file: ResourceFile,
    /// Bind slot: `t<slot>` or `u<slot>`; of SPIR-V the binding.
    pub slot: u32,
    /// Register space; 0 before shader model 5.1. Of SPIR-V the descriptor set.
    pub space: u32,
    /// Of SPIR-V, which element of the array of descriptors, 0 if it is none. `None` for registers of Direct3D.
    pub index: Option<u32>,
    /// What is bound to it.
    pub kind: ResourceKind,
    /// Its name in the source program, if the container says it.
    pub name: Option<String>,
}

/// One sampler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerDecl {
    /// The IR function's sampler.
    pub(crate) sampler: Sampler,
    /// Bind slot: `s<slot>`; of SPIR-V the binding.
    pub slot: u32,
    /// Register space; 0 before shader model 5.1. Of SPIR-V the descriptor set.
    pub space: u32,
    /// Of SPIR-V, which element of the array of descriptors, 0 if it is none. `None` for registers of Direct3D.
    pub index: Option<u32>,
    /// Whether the program compares with it.
    pub compares: bool,
    /// Its name in the source program, if the container says it.
    pub name: Option<String>,
}

/// Everything a caller must know to bind and read a program.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Interface {
    /// Input elements in signature order, the system values left out that a batch generates. The index is the IR's
    /// input element number.
    pub inputs: Vec<Element>,
    /// Output elements in signature order, and behind them [`discarded`](Self::discarded) and
    /// [`aborted`](Self::aborted). The index is the IR's output element number.
    pub outputs: Vec<Element>,
    /// The number of the output element that says whether a pixel was discarded: one component, 1 or 0. The other
    /// outputs of a discarded pixel mean nothing. Its semantic is `discarded`, which no signature's is. `None` for
    /// programs that discard nothing.
    pub discarded: Option<usize>,
    /// The number of the output element that says whether the invocation executed `abort`, which ends it: one
    /// component, 1 or
    /// 0. Its other outputs are what they were by then. Its semantic is `aborted`. `None` for programs that abort
    ///    nowhere.
    pub aborted: Option<usize>,
    /// What only a PICA200's geometry shader has. Its elements are not for callers to bind: calls do.
    pub(crate) geometry: Option<GeometryInterface>,
    /// What only a stage of Direct3D between vertices and pixels has.
    pub primitive: Option<PrimitiveStage>,
    /// What only a pixel shader has.
    pub pixel: Option<PixelInterface>,
    /// Uniform spaces, one for each space of the IR function, in its order.
    pub uniforms: Vec<UniformDecl>,
    /// Resources, one for each of the IR function, in its order.
    pub resources: Vec<ResourceDecl>,
    /// Samplers, one for each of the IR function, in its order.
    pub samplers: Vec<SamplerDecl>,
    /// Threads of a group in x, y and z, for compute shaders.
    pub thread_group: Option<[u32; 3]>,
    /// Values that are fixed.
    pub(crate) presets: Vec<UniformPreset>,
    /// Rows that stand twice, if any do. Those of `presets` among them.
    pub(crate) repeated: Option<RepeatedRows>,
}

impl Interface {
    /// The input elements that callers bind: all but the state of a PICA200's geometry shader and what calls give a
    /// pixel shader, which lie behind them. Of a geometry or hull shader of Direct3D those of one vertex, which calls
    /// take from a stage before; of a domain shader the location.
    pub fn signature_inputs(&self) -> &[Element] {
        let state = self.geometry.as_ref().map_or(0, |geometry| geometry.state.len());
        let hidden = self.pixel.as_ref().map_or(0, |pixel| pixel.hidden.len());
        match &self.primitive {
            Some(PrimitiveStage::Emitter(EmitterInterface { inputs, .. }))
            | Some(PrimitiveStage::Hull(HullInterface { inputs, .. })) => &self.inputs[..inputs.elements as usize],
            _ => &self.inputs[..self.inputs.len() - state - hidden],
        }
    }

    /// Whether what is bound is named by descriptor sets, as SPIR-V does.
    pub fn has_descriptors(&self) -> bool {
        let of_sets = |kind| matches!(kind, UniformKind::Block { .. } | UniformKind::PushConstants);
        self.uniforms.iter().any(|decl| of_sets(decl.kind))
            || self.resources.iter().any(|decl| decl.index.is_some())
            || self.samplers.iter().any(|decl| decl.index.is_some())
    }

    /// Whether the program may write the resource at `index`.
    pub fn is_written(&self, index: usize) -> bool {
        self.resources.get(index).is_some_and(|decl| decl.file != ResourceFile::Resource)
    }

    /// Whether it is a PICA200 geometry shader's, whose calls emit triangles.
    pub fn is_geometry(&self) -> bool {
        self.geometry.is_some()
    }

    /// The output elements that the program's signature has: all but [`discarded`](Self::discarded) and
    /// [`aborted`](Self::aborted), which lie behind them.
    pub fn signature_outputs(&self) -> &[Element] {
        let end = [self.discarded, self.aborted].into_iter().flatten().fold(self.outputs.len(), usize::min);
        &self.outputs[..end]
    }

    /// Whether [`complete`](Self::complete) changes the rows of a space.
    pub(crate) fn completes(&self, space: Space) -> bool {
        self.presets.iter().any(|preset| preset.space == space)
            || self.repeated.is_some_and(|repeated| repeated.space == space)
    }

    /// Makes of the rows that a caller binds to a space those that the function reads: with what is fixed, and with
    /// what stands twice.
    pub(crate) fn complete(&self, space: Space, rows: &mut Vec<[u32; 4]>) {
        for preset in self.presets.iter().filter(|preset| preset.space == space) {
            let row = preset.row as usize;
            rows.resize(rows.len().max(row + 1), [0; 4]);
            for ((value, bits), mask) in rows[row].iter_mut().zip(preset.bits).zip(preset.mask) {
                *value = (*value & !mask) | (bits & mask);
            }
        }
        if let Some(repeated) = self.repeated.filter(|repeated| repeated.space == space) {
            rows.resize(repeated.at as usize, [0; 4]);
            rows.extend_from_within(..repeated.rows as usize);
        }
    }
}

/// A front end's product: one invocation's code and what its numbers mean.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// What stage it is for.
    pub stage: Stage,
    /// One invocation, as the program says it; not yet in lockstep form.
    pub function: Function,
    /// What the function's elements and spaces are.
    pub interface: Interface,
    /// What its variables are in the program, if that was asked for.
    pub debug: Option<Box<DebugInfo>>,
}
