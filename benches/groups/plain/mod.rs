//! The same algorithms in plain scalar Rust, tile by tile where the shader's groups share tiles; and what is shorter on
//! one processor, where that is another algorithm.

pub mod matrices;
pub mod nbody;
pub mod particles;
pub mod scan;
pub mod sha256;
pub mod sort;
