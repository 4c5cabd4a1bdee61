//! Calls of a compiled shader. Each file knows only those above it:
//!
//! | file | what it does |
//! |---|---|
//! | `vertex_buffer`, `buffer`, `uniforms` | what can be bound |
//! | `outputs`, `close` | where results lie, and how two compare |
//! | `bounds` | fuel, cancelling, deadline |
//! | `bindings` | [`Call`]: what is bound, and the checks on it; more in `texture` and `named` |
//! | `kind` | which stages have which kind of call |
//! | `work`, `wave` | the seam: what an engine runs, and what a kind of call says |
//! | `interpret`, `native` | the engines |
//! | `engine` | chooses between them |
//! | `vertices`, `geometry`, `groups` | the kinds of call |
//! | `indexed`, `parallel` | other ways to run vertices |

mod bindings;
mod bounds;
mod buffer;
mod close;
mod engine;
mod geometry;
mod groups;
mod indexed;
mod interpret;
mod kind;
mod named;
mod native;
mod outputs;
#[cfg(feature = "rayon")]
mod parallel;
mod texture;
mod uniforms;
mod vertex_buffer;
mod vertices;
mod wave;
mod work;

pub use bindings::Call;
pub use buffer::BufferView;
pub use close::{Far, Tolerance};
#[cfg(feature = "fuzzing")]
pub(crate) use engine::forget_memory;
pub use geometry::{EmittedTriangle, EmittedTriangles, GeometryInput, GeometryState};
pub use indexed::{DistinctVertices, IndexedOutputs, Indices};
pub use outputs::{Difference, OutputLayout, OutputView, Outputs, Place};
pub use vertex_buffer::{InputRate, VertexBufferView};
