//! Typed indices. Nothing in the IR is named by a bare `usize`.

use cranelift_entity::entity_impl;

/// A basic block; prints as `block3`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(u32);
entity_impl!(Block, "block");

/// An instruction; prints as `inst3`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// A scalar SSA value; prints as `v3`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// A uniform space: an array of 16-byte rows that every invocation of a call sees alike; prints as `space0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space(u32);
entity_impl!(Space, "space");

/// A resource: bytes or a texture that every invocation of a call may read; prints as `resource0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resource(u32);
entity_impl!(Resource, "resource");

/// A sampler: how textures are filtered; prints as `sampler0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sampler(u32);
entity_impl!(Sampler, "sampler");

/// A register array: indexable memory of one invocation; prints as `array0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Array(u32);
entity_impl!(Array, "array");

/// A mutable register of the program being lowered, promoted to SSA by the builder; prints as `var0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(u32);
entity_impl!(Variable, "var");
