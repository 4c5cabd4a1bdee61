//! Runs compiled GPU shaders on the CPU as native SIMD code.

pub mod attribute;
pub mod container;
pub mod error;
pub mod frontend;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod jit;

pub use error::Error;
