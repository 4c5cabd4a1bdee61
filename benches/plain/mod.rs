//! The same shaders in plain scalar Rust: what somebody would write, and ship, who had no shader compiler.

pub mod kernels;
pub mod noise;
pub mod pica;
pub mod vertex;
