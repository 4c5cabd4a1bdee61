//! Calls of the stages between vertices and pixels, and what passes between them.
//!
//! | file | what it does |
//! |---|---|
//! | `table` | vertices on their way from stage to stage |
//! | `read` | invocations that read whole primitives of them |
//! | `primitives` | geometry shaders |
//! | `fixed` | those that emit the same vertices in every invocation |
//! | `patches` | hull shaders |
//! | `tessellate` | the tessellator, and domain shaders on its points |
//! | `draw` | all of them, one after the other |

mod draw;
mod fixed;
mod patches;
mod primitives;
mod read;
mod table;
mod tessellate;

pub use draw::{Draw, DrawVertices, StageTimes};
pub use patches::Patches;
pub use primitives::Stream;
pub use read::{PrimitiveIds, Primitives};
pub use table::VertexTable;
pub use tessellate::Tessellated;
