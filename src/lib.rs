//! Runs compiled GPU shaders on the CPU as native SIMD code.
//!
//! ```
//! use shaderjit::{CompileOptions, Config, Engine, Shader, VertexBufferView};
//!
//! // A vertex shader compiled by fxc, three vertices of 48 bytes, and the bytes of its constant buffer.
//! let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
//! # let (vertices, constants) = ([0; 3 * 48], [0; 224]);
//! let engine = Engine::new(Config::default())?;
//! let code = engine.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
//!
//! let mut call = code.call();
//! call.constant_buffer(0, &constants)?;
//! call.input("POSITION", 0, VertexBufferView::f32x3(&vertices, 48))?;
//! call.input("NORMAL", 0, VertexBufferView::f32x3(&vertices[12..], 48))?;
//! call.input("TEXCOORD", 0, VertexBufferView::f32x2(&vertices[24..], 48))?;
//! call.input("COLOR", 0, VertexBufferView::f32x4(&vertices[32..], 48))?;
//!
//! let outputs = call.run(0..3)?;
//! let position: [f32; 4] = outputs.output("SV_Position", 0).expect("it is written").vec4(0).expect("vertex 0");
//! # Ok::<(), shaderjit::Error>(())
//! ```
//!
//! A [`Shader`] is a file or program words, an [`Engine`] compiles it and caches the result, a [`CompiledShader`] is
//! shared between threads, and a [`Call`] binds buffers and runs. [`Shader::interface`] tells what there is to bind.
//! The Nintendo 3DS's whole shader unit, register writes included, is in [`pica`]; [`container`] reads and writes the
//! files, [`validate`] checks them, and [`scan`] finds them inside others.
//!
//! # Guarantees
//!
//! * Native code and the interpreter give the same bits, NaN payloads apart.
//! * Any input bytes end in a result or in a typed [`enum@Error`] with a byte offset, in bounded time and memory.
//! * No call reads or writes past the end of a buffer. Every call ends, if need be in
//!   [`OutOfFuel`](error::CallError::OutOfFuel).
//! * `unsafe` code is in the module that runs native code, in the vectors of the sampler, and behind the feature `capi`
//!   where C calls. No signature contains a type of Cranelift.
//!
//! # Features
//!
//! None is on by default. `cli` builds the command-line tool; `raster` adds a rasteriser; `rayon` adds calls that run
//! on every thread of a pool; `capi` is what `cargo cinstall` makes a C library of, `include/shaderjit.h`. `unstable`
//! makes the front ends, the passes and the back end public, for the tools and tests of the repository: any release may
//! change them.

mod assembly;
mod cache;
mod call;
#[cfg(feature = "capi")]
mod capi;
mod compiled;
pub mod container;
mod disassemble;
mod engine;
pub mod error;
mod facts;
#[cfg(not(feature = "unstable"))]
#[allow(dead_code, unused_imports, reason = "tools and tests use more of it")]
mod frontend;
#[cfg(feature = "unstable")]
pub mod frontend;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod interfaces;
#[cfg(not(feature = "unstable"))]
#[allow(dead_code, unused_imports, reason = "tools and tests use more of it")]
mod jit;
#[cfg(feature = "unstable")]
pub mod jit;
mod memory;
mod native;
mod options;
mod perf_map;
pub mod pica;
mod pica_uniforms;
#[cfg(not(feature = "unstable"))]
#[allow(dead_code, unused_imports, reason = "tools and tests use more of it")]
mod pipeline;
#[cfg(feature = "unstable")]
pub mod pipeline;
mod prepared;
pub mod printable;
#[cfg(feature = "raster")]
pub mod raster;
pub mod scan;
mod shader;
mod simd;
mod stage;
pub mod tessellator;
#[cfg(test)]
#[path = "../tests/support/containers.rs"]
mod test_data;
pub mod texture;
mod tiering;
mod traced;
mod uniform_value;
#[cfg(feature = "unstable")]
mod unstable;
pub mod validate;
mod variables;
mod vertex_format;

#[doc(inline)]
pub use assembly::Topology;
#[doc(inline)]
pub use cache::CacheStats;
#[doc(inline)]
pub use call::{
    BufferView, Call, Descriptor, Difference, DistinctVertices, Draw, DrawVertices, Far, IndexedOutputs, Indices,
    InputRate, Invocation, OutputLayout, OutputView, Outputs, Patches, Place, Plane, Primitive, PrimitiveIds,
    Primitives, Quad, Quads, StageTimes, Step, Stream, Tessellated, Tolerance, TracedAccess, Tracer, VertexBufferView,
    VertexTable, Write, WrittenAs,
};
#[doc(inline)]
pub use compiled::{CompileTimes, CompiledShader};
#[doc(inline)]
pub use disassemble::ListingOptions;
#[doc(inline)]
pub use engine::Engine;
#[doc(inline)]
pub use error::Error;
#[doc(inline)]
pub use frontend::pica::{FloatPrecision, FlowForm};
#[doc(inline)]
pub use frontend::pixel::{
    DepthOutput, Interpolation, Location, PixelInput, PixelInterface, PixelOutput, sample_positions,
};
#[doc(inline)]
pub use frontend::primitive::{
    DomainInterface, EmitterInterface, FactorPlace, HullInterface, PrimitiveInputs, PrimitiveStage, StreamInterface,
};
#[doc(inline)]
pub use frontend::{
    ComponentType, Element, Interface, RegisterName, ResourceDecl, ResourceFile, ResourceKind, SamplerDecl,
    UniformDecl, UniformKind,
};
#[doc(inline)]
pub use memory::{AtomicBuffer, MemoryView};
pub use native::NativeStatus;
#[doc(inline)]
pub use options::{Backend, CompileOptions, Config, Lanes, Vectors};
#[doc(inline)]
pub use pica_uniforms::PicaUniforms;
#[doc(inline)]
pub use shader::{EntryPoint, Shader, ShaderFormat};
#[doc(inline)]
pub use stage::Stage;
#[doc(inline)]
pub use texture::{
    AddressMode, BlockFormat, Comparison, Filter, Image, ImageLayout, Precision, Reduction, SamplerState, TexelFormat,
    Texture, TextureShape,
};
#[doc(inline)]
pub use uniform_value::{Scalar, UniformValue};
#[doc(inline)]
pub use vertex_format::VertexFormat;

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
