//! Runs compiled GPU shaders on the CPU as native SIMD code.

pub mod attribute;
mod cache;
mod call;
mod compiled;
pub mod container;
mod engine;
pub mod error;
pub mod frontend;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod jit;
mod options;
pub mod pipeline;
mod shader;

pub use cache::CacheStats;
pub use call::{Attribute, Call, Difference, OutputLayout, OutputView, Outputs, PicaUniforms, Place};
pub use compiled::{CompileTimes, CompiledShader};
pub use engine::Engine;
pub use error::Error;
pub use options::{Backend, CompileOptions, Config, Lanes};
pub use shader::{EntryPoint, Shader, ShaderFormat, Stage};
