//! Runs compiled GPU shaders on the CPU as native SIMD code.

pub mod container;
pub mod error;
pub mod frontend;

pub use error::Error;
