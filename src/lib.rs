//! Runs compiled GPU shaders on the CPU as native SIMD code.
//!
//! The stages, each a folder that knows only the one before it:
//!
//! 1. [`container`]: bytes → typed parts (DirectX containers, Nintendo 3DS SHBIN).
//! 2. [`frontend`]: a program's tokens or words → instructions → SSA IR (the crate [`shaderjit_ir`]), one folder an
//!    instruction set, and the [`frontend::Interface`] that says what the IR's numbers mean.
//! 3. [`pipeline`]: the passes; after them many invocations run in lockstep and every branch is the same in all lanes.
//! 4. [`jit`]: lockstep IR → Cranelift → memory → a call that is safe to make.
//!
//! [`Engine`] puts them in a row with a cache in front; [`Shader`], [`CompiledShader`] and [`Call`] are what a program
//! holds.
//!
//! Features: `cli`, on unless turned off, is the command-line tool; `rayon` has calls that run on every thread of a
//! pool.
//!
//! What always holds:
//!
//! * Native code and interpreter give the same bits, NaN payloads apart.
//! * Any input bytes end in a result or in a typed [`enum@Error`] with a byte offset, in bounded time and memory.
//! * Buffers are never read or written past their ends; every call ends, in [`error::CallError::OutOfFuel`] if need be.
//! * `unsafe` code is in [`jit`] only, and Cranelift's types are not in any signature.

pub mod attribute;
mod cache;
mod call;
mod compiled;
pub mod container;
mod disassemble;
mod engine;
pub mod error;
pub mod frontend;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod interfaces;
pub mod jit;
mod native;
mod options;
mod perf_map;
pub mod pica;
pub mod pipeline;
pub mod printable;
pub mod scan;
mod shader;
#[cfg(test)]
#[path = "../tests/support/containers.rs"]
mod test_data;
pub mod texture;
mod tiering;
pub mod validate;

pub use cache::CacheStats;
pub use call::{
    Attribute, AttributeRate, Call, Difference, DistinctVertices, EmittedTriangle, EmittedTriangles, GeometryInput,
    GeometryState, IndexedOutputs, Indices, OutputLayout, OutputView, Outputs, PicaUniforms, Place, Resource,
};
pub use compiled::{CompileTimes, CompiledShader};
pub use disassemble::ListingOptions;
pub use engine::Engine;
pub use error::Error;
pub use frontend::pica::{FlowForm, NumberMode};
pub use native::NativeStatus;
pub use options::{Backend, CompileOptions, Config, Lanes};
pub use shader::{EntryPoint, Shader, ShaderFormat, Stage};
pub use texture::{
    AddressMode, Comparison, Filter, Image, ImageLayout, SamplerState, TexelFormat, Texture, TextureShape,
};

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
