//! One error enum a stage. Every variant that comes from input bytes carries the absolute byte offset of its
//! cause; [`enum@Error`] only wraps them so that `?` works across stages.

use crate::frontend::ComponentType;
use crate::printable::Printable;
use crate::stage::Stage;
use crate::vertex_format::VertexFormat;
use shaderjit_ir::fuel::{Fuel, Stop};
use shaderjit_ir::texture::TextureShape;
use thiserror::Error;

/// What can be wrong with the bytes of a container.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContainerError {
    /// The file does not begin with a magic this crate knows.
    #[error("not a shader container: it begins with {found:02x?} (at offset 0x0)")]
    UnknownMagic {
        /// The first bytes, at most four.
        found: Vec<u8>,
    },
    /// A field, a table or a part reaches past the end of what holds it.
    #[error("{what} needs {needed} bytes, {available} are left (at offset {offset:#x})")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Absolute byte offset at which it starts.
        offset: usize,
        /// Bytes it needs.
        needed: usize,
        /// Bytes that are there.
        available: usize,
    },
    /// A field holds a value the format does not allow.
    #[error("{what} is invalid: {value:#x} (at offset {offset:#x})")]
    Invalid {
        /// Which field.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Absolute byte offset of the field.
        offset: usize,
    },
    /// A count or size is over the limit of `container/limits.rs`.
    #[error("{what} is {value}, over the limit of {limit} (at offset {offset:#x})")]
    Limit {
        /// Which count.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest value accepted.
        limit: u64,
        /// Absolute byte offset of the field.
        offset: usize,
    },
    /// Compressed data that cannot be inflated.
    #[error("{what} cannot be inflated: {reason} (at offset {offset:#x})")]
    Compressed {
        /// What is compressed.
        what: &'static str,
        /// Why it cannot be inflated.
        reason: &'static str,
        /// Absolute byte offset of the compressed data.
        offset: usize,
    },
    /// A part that is needed is not in the container.
    #[error("the container has no {what} part")]
    MissingPart {
        /// The part's name.
        what: &'static str,
    },
}

impl ContainerError {
    /// The same error with its offset put through `map`.
    pub(crate) fn at(mut self, map: impl FnOnce(usize) -> usize) -> Self {
        match &mut self {
            Self::Truncated { offset, .. }
            | Self::Invalid { offset, .. }
            | Self::Limit { offset, .. }
            | Self::Compressed { offset, .. } => *offset = map(*offset),
            Self::UnknownMagic { .. } | Self::MissingPart { .. } => {}
        }
        self
    }

    /// Absolute byte offset of the cause, if there is one place that causes it.
    pub const fn offset(&self) -> Option<usize> {
        match *self {
            Self::Truncated { offset, .. }
            | Self::Invalid { offset, .. }
            | Self::Limit { offset, .. }
            | Self::Compressed { offset, .. } => Some(offset),
            Self::UnknownMagic { .. } => Some(0),
            Self::MissingPart { .. } => None,
        }
    }
}

/// What can be wrong with a program's tokens or instruction words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The program, or the length of an instruction, ends inside something.
    #[error("{what} reaches past the end of what holds it (at offset {offset:#x})")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Absolute byte offset at which it starts.
        offset: usize,
    },
    /// A field holds a value the format does not allow.
    #[error("{what} is invalid: {value:#x} (at offset {offset:#x})")]
    Invalid {
        /// Which field.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Absolute byte offset of the token or word that holds it.
        offset: usize,
    },
    /// A count or size is over its limit.
    #[error("{what} is {value}, over the limit of {limit} (at offset {offset:#x})")]
    Limit {
        /// Which count.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest value accepted.
        limit: u64,
        /// Absolute byte offset.
        offset: usize,
    },
    /// An instruction's length covers more than its operands.
    #[error("{what} has {count} dwords after its last operand (at offset {offset:#x})")]
    TrailingTokens {
        /// The opcode's mnemonic.
        what: &'static str,
        /// How many dwords are left over.
        count: usize,
        /// Absolute byte offset of the instruction.
        offset: usize,
    },
}

impl DecodeError {
    /// Absolute byte offset of the cause.
    pub const fn offset(&self) -> usize {
        match *self {
            Self::Truncated { offset, .. }
            | Self::Invalid { offset, .. }
            | Self::Limit { offset, .. }
            | Self::TrailingTokens { offset, .. } => offset,
        }
    }
}

/// Why a decoded program cannot be lowered to the IR.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LowerError {
    /// A legal program uses something this crate does not run yet.
    #[error("unsupported: {what}{} (at offset {offset:#x})", reason(.what))]
    Unsupported {
        /// The opcode's mnemonic, or the feature.
        what: String,
        /// Absolute byte offset of the instruction.
        offset: usize,
    },
    /// The program breaks a rule of its own format, such as an unmatched `endif` or an undeclared register.
    #[error("{what} (at offset {offset:#x})")]
    Invalid {
        /// The broken rule.
        what: String,
        /// Absolute byte offset of the instruction.
        offset: usize,
    },
    /// The program calls a function of an interface slot to which no class instance is bound.
    #[error("interface slot {slot} is called and has no class instance{} (at offset {offset:#x})", listed("; it takes ", .candidates))]
    Unbound {
        /// The slot.
        slot: u32,
        /// The class instances that fit it, as the container names them.
        candidates: Vec<String>,
        /// Absolute byte offset of the call.
        offset: usize,
    },
    /// The program is larger than the lowering accepts.
    #[error("{what} is {value}, over the limit of {limit} (at offset {offset:#x})")]
    Limit {
        /// Which count.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest value accepted.
        limit: u64,
        /// Absolute byte offset of the instruction at which it was passed.
        offset: usize,
    },
}

impl LowerError {
    /// Absolute byte offset of the cause.
    pub const fn offset(&self) -> usize {
        match *self {
            Self::Unsupported { offset, .. }
            | Self::Invalid { offset, .. }
            | Self::Unbound { offset, .. }
            | Self::Limit { offset, .. } => offset,
        }
    }
}

/// Why an opcode does not run, where its name does not tell.
fn reason(what: &str) -> &'static str {
    match what {
        "sample" | "sample_b" | "sample_c" | "lod" | "sample_cl_s" | "sample_b_cl_s" | "sample_c_cl_s" => {
            ", whose level of detail comes from neighbouring pixels, which only pixel shaders have"
        }
        what if what.starts_with("deriv_") => {
            ", which subtracts values of neighbouring pixels, which only pixel shaders have"
        }
        _ => "",
    }
}

/// Most names that a message lists.
const MAX_LISTED: usize = 24;

/// Names behind an introduction; nothing if there are none.
fn listed(introduction: &str, names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = names.iter().take(MAX_LISTED).map(|name| Printable(name).to_string()).collect();
    let more = if names.len() > MAX_LISTED { ", …" } else { "" };
    format!("{introduction}{}{more}", shown.join(", "))
}

/// Why native code could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JitError {
    /// This machine is not one the back end can generate code for.
    #[error("no native code for this machine: {0}")]
    Target(String),
    /// The function or its code is over the limit of `jit/limits.rs`.
    #[error("{what} is {value}, over the limit of {limit}")]
    Limit {
        /// Which size.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest value accepted.
        limit: u64,
    },
    /// A transformation of the IR refused the function.
    #[error(transparent)]
    Pass(#[from] shaderjit_ir::pass::PassError),
    /// Cranelift refused the function, or the system gave no executable memory for the code.
    #[error("code generation failed: {0}")]
    Codegen(String),
    /// The engine was dropped before it made the code. Only of [tiered](crate::Backend::Tiered) shaders.
    #[error("the engine was dropped before there was native code")]
    Abandoned,
}

/// Why numbers and bytes make no texture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TextureError {
    /// A size is zero or over the limit of Direct3D 11, which for what a shape has no more than one of is 1.
    #[error("the {what} of a {shape} is {value}; 1 to {limit} are possible")]
    Size {
        /// Which size.
        what: &'static str,
        /// Its value.
        value: u32,
        /// The shape.
        shape: TextureShape,
        /// The largest value accepted.
        limit: u32,
    },
    /// A cube's faces are not square.
    #[error("the faces of a cube are {width} by {height} texels")]
    NotSquare {
        /// Width of a face.
        width: u32,
        /// Height of a face.
        height: u32,
    },
    /// No normalised number has so many bits.
    #[error("normalised numbers of {bits} bits")]
    Bits {
        /// How many it was to have.
        bits: u8,
    },
    /// Images of this shape are not made of compressed blocks.
    #[error("a {shape} has no compressed blocks")]
    Blocks {
        /// The shape.
        shape: TextureShape,
    },
    /// The texels are more bytes than this machine can address.
    #[error("more bytes than there can be")]
    Huge,
    /// There are fewer bytes than the texels have.
    #[error("there are {available} bytes, the texels have {needed}")]
    Short {
        /// Bytes of all texels.
        needed: usize,
        /// Bytes given.
        available: usize,
    },
}

/// What can be wrong with one call of a compiled shader. Fields have semantics as the container spells them; messages
/// show them as [`Printable`] does.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The shader reads an input, a uniform space, a resource or a sampler that is not bound, and the call does not ask
    /// for zeros.
    #[error("{} is not bound", Printable(.what))]
    MissingBinding {
        /// The input's semantic, the uniform space, the resource or the sampler.
        what: String,
    },
    /// The name is not one of the shader's.
    #[error("the shader has no {}{}", Printable(.what), listed("; it has ", .known))]
    UnknownBinding {
        /// The input, output, uniform space, resource or sampler asked for.
        what: String,
        /// What there is of that kind.
        known: Vec<String>,
    },
    /// The code is compiled for other values of these uniforms.
    #[error("{what} is bound to other values than the code is compiled for")]
    OtherValues {
        /// The uniform space.
        what: String,
    },
    /// A resource is bound as something else than the program declares.
    #[error("{what} is a {declared} to the shader, a {bound} is bound")]
    ResourceMismatch {
        /// The resource.
        what: String,
        /// What the program reads.
        declared: String,
        /// What is bound.
        bound: String,
    },
    /// An input is bound as integers that is floats to the shader, or the other way round, and the call does not
    /// [reinterpret](crate::Call::reinterpret_inputs) inputs.
    #[error("{} is {} to the shader, {} is bound", Printable(.what), .declared.name(), .bound.name())]
    FormatMismatch {
        /// The input.
        what: String,
        /// What the shader reads.
        declared: ComponentType,
        /// What is bound.
        bound: VertexFormat,
    },
    /// A value of another type is given to a variable than it has.
    #[error("{} is {}, {given} is given", Printable(.what), Printable(.declared))]
    TypeMismatch {
        /// The variable.
        what: String,
        /// Its type as HLSL spells it.
        declared: String,
        /// The type of the value, as Rust spells its components, and the lengths of the arrays it is made of.
        given: String,
    },
    /// What is bound is no texture.
    #[error("{what}: {error}")]
    Texture {
        /// The resource.
        what: String,
        /// What it says of itself.
        error: TextureError,
    },
    /// A bound buffer is too short for the vertices asked for.
    #[error("{} holds {available} bytes, {needed} are needed", Printable(.what))]
    ShortBuffer {
        /// Which buffer.
        what: String,
        /// Bytes needed.
        needed: usize,
        /// Bytes it holds.
        available: usize,
    },
    /// An index of a draw names no vertex there could be.
    #[error("index {index} with base vertex {base_vertex} is no vertex")]
    NoVertex {
        /// The index.
        index: u32,
        /// What is added to it.
        base_vertex: i32,
    },
    /// The loops of one wave, which are the vertices that run together, took more than the configured fuel; or those of
    /// a thread group more than that times its waves.
    #[error("out of fuel: loops ran more than {fuel} instructions a wave")]
    OutOfFuel {
        /// What a wave may take: see [`Config::fuel`](crate::Config::fuel).
        fuel: u32,
    },
    /// The loops of all waves together took more than a call may: see [`Config::call_fuel`](crate::Config::call_fuel).
    #[error("out of fuel: loops ran more instructions than a call may take")]
    OutOfCallFuel,
    /// The call's flag was set, or its deadline is over.
    #[error("the call was cancelled")]
    Cancelled,
    /// An invocation of a geometry shader, or all of a call together, emitted more triangles than there is room for.
    #[error("more than {limit} triangles, in invocation {invocation}")]
    TooManyTriangles {
        /// Room for so many.
        limit: u32,
        /// Number of the invocation that emitted the last, counted from the first of the call.
        invocation: u32,
    },
    /// A guard failed, so the results must not be used. A [`Call`](crate::Call) never returns it: it runs the form
    /// without guards instead.
    #[error("a guard failed in the vertices from {vertex} on")]
    GuardFailed {
        /// The first vertex of the wave.
        vertex: u32,
    },
    /// Threads of a group do not come to a barrier together. What was written before stays.
    #[error("threads of a group part before a barrier{}", .offset.map_or_else(String::new, |offset| format!(" (at offset {offset:#x})")))]
    PartedAtBarrier {
        /// Byte offset of the instruction that some of them come to, if it has one.
        offset: Option<u32>,
    },
    /// The shader's stage has no call of this kind.
    #[error("a {stage} shader does not run {kind}")]
    WrongStage {
        /// What the call runs: `vertices`, `primitives` or `thread groups`.
        kind: &'static str,
        /// The shader's stage.
        stage: Stage,
    },
    /// A range or count that makes no sense.
    #[error("{}", Printable(.0))]
    Invalid(String),
    /// The bindings need native code of their own, and it could not be made.
    #[error(transparent)]
    Compile(#[from] JitError),
}

impl CallError {
    /// The shader has no such thing; `known` is what it has of that kind.
    pub(crate) fn unknown(what: impl Into<String>, known: impl IntoIterator<Item = String>) -> CallError {
        CallError::UnknownBinding { what: what.into(), known: known.into_iter().collect() }
    }

    /// What a wave that got no more fuel ends with.
    pub(crate) fn stopped(stop: Stop, fuel: &Fuel<'_>) -> CallError {
        match stop {
            Stop::Wave => CallError::OutOfFuel { fuel: fuel.wave },
            Stop::Call => CallError::OutOfCallFuel,
            Stop::Cancelled => CallError::Cancelled,
        }
    }
}

/// What can be wrong with a draw.
#[cfg(feature = "raster")]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RasterError {
    /// Sizes or formats that no target has.
    #[error("{what}")]
    Target {
        /// Which, and what there can be.
        what: String,
    },
    /// States that make no sense, alone or together.
    #[error("{what}")]
    State {
        /// Which, and why.
        what: String,
    },
    /// The vertices are no vertices to draw.
    #[error("the vertices cannot be drawn: {what}")]
    Vertices {
        /// Why.
        what: String,
    },
    /// The pixel shader has an input that the vertices lack.
    #[error("the vertices have no {}, which the pixel shader reads", Printable(.input))]
    Link {
        /// The input's semantic.
        input: String,
    },
    /// The shader given for pixels is none.
    #[error("the shader given for pixels is no pixel shader")]
    NoPixelShader,
    /// A run of the pixel shader.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Any error of this crate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// From `container/`.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// From decoding a program.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// From lowering a program to the IR.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// From the passes on the IR.
    #[error(transparent)]
    Pass(#[from] shaderjit_ir::pass::PassError),
    /// From making native code.
    #[error(transparent)]
    Jit(#[from] JitError),
    /// From a call.
    #[error(transparent)]
    Call(#[from] CallError),
    /// From making a texture.
    #[error(transparent)]
    Texture(#[from] TextureError),
    /// From drawing.
    #[cfg(feature = "raster")]
    #[error(transparent)]
    Raster(#[from] RasterError),
    /// The shader has no program of that number.
    #[error("there is no entry {entry}: the shader has {count}")]
    UnknownEntry {
        /// Number asked for.
        entry: usize,
        /// How many there are.
        count: usize,
    },
}

impl Error {
    /// Absolute byte offset of the cause, if there is one place in the file that causes it.
    pub fn offset(&self) -> Option<usize> {
        match self {
            Error::Container(error) => error.offset(),
            Error::Decode(error) => Some(error.offset()),
            Error::Lower(error) => Some(error.offset()),
            Error::Call(CallError::PartedAtBarrier { offset, .. }) => offset.map(|offset| offset as usize),
            _ => None,
        }
    }
}
