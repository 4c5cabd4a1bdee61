//! Calls of a compiled shader. Each file knows only those above it:
//!
//! | file | what it does |
//! |---|---|
//! | `vertex_buffer`, `buffer`, `uniforms` | what can be bound |
//! | `outputs`, `close` | where results lie, and how two compare |
//! | `bounds` | fuel, cancelling, deadline |
//! | `bindings` | [`Call`]: what is bound, and the checks on it; more in `texture`, `descriptor` and `named` |
//! | `kind` | which stages have which kind of call |
//! | `work`, `wave` | the seam: what an engine runs, and what a kind of call says |
//! | `fetch`, `interpret`, `native` | the engines |
//! | `trace` | an engine of which one invocation is told step by step |
//! | `engine` | chooses between them |
//! | `vertices`, `pixels`, `geometry`, `groups`, `stages` | the kinds of call |
//! | `indexed`, `parallel` | other ways to run vertices |

mod bindings;
mod bounds;
mod buffer;
mod close;
mod descriptor;
mod engine;
mod fetch;
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
mod pixels;
mod stages;
mod texture;
mod trace;
mod uniforms;
mod vertex_buffer;
mod vertices;
mod wave;
mod work;

pub use bindings::Call;
pub use buffer::BufferView;
pub use close::{Far, Tolerance};
pub use descriptor::Descriptor;
#[cfg(feature = "fuzzing")]
pub(crate) use engine::forget_memory;
pub use geometry::{EmittedTriangle, EmittedTriangles, GeometryInput, GeometryState};
pub use indexed::{DistinctVertices, IndexedOutputs, Indices};
pub use outputs::{Difference, OutputLayout, OutputView, Outputs, Place};
pub use pixels::{Plane, Primitive, Quad, Quads};
pub use stages::{Draw, DrawVertices, Patches, PrimitiveIds, Primitives, StageTimes, Stream, Tessellated, VertexTable};
pub use trace::{Invocation, Step, TracedAccess, Tracer, Write, WrittenAs};
pub(crate) use uniforms::unbound as unbound_uniforms;
pub use vertex_buffer::{InputRate, VertexBufferView};
