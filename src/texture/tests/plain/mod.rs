//! The sampler again, as straightforward as it can be: what the lanes of the real one must agree with, to the bit.

mod address;
mod cube;
mod detail;
mod filter;

pub use filter::{View, answer};
