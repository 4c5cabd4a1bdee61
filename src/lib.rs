//! Runs compiled GPU shaders on the CPU as native SIMD code.

pub mod container;
pub mod error;
pub mod frontend;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;

pub use error::Error;
