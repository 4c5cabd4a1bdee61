//! The Nintendo 3DS's shader unit, for emulators: program memory, uniforms and registers as a game writes them, and
//! draws that give triangles as the rasteriser takes them.
//!
//! A [`Unit`] is fed by [register writes](Unit::write_register), as a command list makes them, or by setters. A draw
//! shades its vertices, runs the geometry shader if one is enabled, and assembles triangles. The registers say what to
//! [draw](Unit::draw_arrays), by [indices](Unit::draw_elements) too, of the memory that the emulator gives; or
//! [the caller does](Unit::draw). `examples/emulator.rs` is an emulator's draw loop.
//!
//! Programs are compiled when a draw first needs them, and found in the [`Engine`](crate::Engine)'s cache by a hash of
//! the words that can be reached from the entry point: other contents of program memory make no difference. Writing
//! uniforms compiles nothing.
//!
//! ```
//! use shaderjit::container::Shbin;
//! use shaderjit::pica::{Draw, Unit, Vertices};
//! use shaderjit::{VertexBufferView, Config, Engine};
//!
//! let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/t01_transform.shbin"));
//! let engine = Engine::new(Config::default())?;
//! let mut unit = Unit::default();
//! // What an application uploads; an emulator passes on the register writes it sees instead.
//! unit.bind(&Shbin::parse(bytes)?, 0, None)?;
//! unit.vertex_mut().uniforms_mut().floats[0] = [1.0, 0.0, 0.0, 0.0];
//! // Three vertices of a position and two more attributes.
//! # let vertices = vec![0; 3 * 40];
//! let attributes =
//!     [VertexBufferView::f32x4(&vertices, 40), VertexBufferView::f32x4(&vertices[16..], 40), VertexBufferView::f32x2(&vertices[32..], 40)];
//! let draw = Draw { attributes: &attributes, vertices: Vertices::Range(0..3) };
//! let triangles = unit.draw(&engine, &draw)?;
//! assert_eq!(triangles.indices, [[0, 1, 2]]);
//! let position: [f32; 4] = triangles.vertex(0).expect("there are three").position();
//! # Ok::<(), shaderjit::Error>(())
//! ```

mod assembler;
mod attributes;
mod clip_space;
mod draw;
mod output_map;
mod reach;
mod registers;
mod setup;
mod upload;

pub use assembler::{Assembler, Topology};
pub use clip_space::{DepthMap, vertex_table};
pub use draw::{Draw, Triangles, Vertices};
pub use output_map::{OutputMap, OutputVertex};
pub use registers::{InputMode, Unit};
pub use setup::{DESCRIPTORS, ShaderSetup, WORDS};

#[doc(inline)]
pub use crate::call::{EmittedTriangle, EmittedTriangles, GeometryInput, GeometryState};
#[doc(inline)]
pub use crate::frontend::StateRow;
#[doc(inline)]
pub use crate::frontend::pica::RasterizerSlots;
