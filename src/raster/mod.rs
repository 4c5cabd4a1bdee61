//! A rasteriser by Direct3D's rules: shaded vertices in, render targets and depth buffers out.
//!
//! | file | what it does |
//! |---|---|
//! | `state` | the states of the fixed functions |
//! | `target` | render targets and depth buffers, in tiles |
//! | `vertices` | rows of vertices, and their system values |
//! | `link` | which components are a pixel shader's attributes, and where its outputs lie |
//! | `clip`, `shape`, `geometry` | from primitives to shapes on the screen: clipping, set-up, facing |
//! | `coverage`, `lines` | which samples a shape covers, and which of many pass the depth test |
//! | `planes` | the planes of a shape's attributes |
//! | `bins`, `threads` | shapes to tiles, tiles to threads |
//! | `depth`, `blend`, `bytes` | the output merger |
//! | `tile` | a tile's shapes to quads, to the pixel shader, to the targets |
//! | `draw` | [`Pipeline`]: a draw, from one end to the other |
//!
//! A draw has two parts, which threads share. First, stretches of primitives become shapes, and each tile gets the
//! numbers of its own. Then every tile is painted by itself, its shapes in the order of the primitives. So no result
//! depends on how many threads there are; only a shader that writes memory sees the order of tiles, and it is run on
//! one. Of long draws both are done for so many primitives at a time that the cache still has their shapes.
//!
//! What most draws do for every pixel is done with vectors (`src/simd`): edges, depths of floats, planes, and colours
//! of bytes. Everything else goes sample by sample.

mod bins;
mod blend;
mod bytes;
mod clip;
mod coverage;
mod depth;
mod draw;
mod geometry;
mod lines;
mod link;
mod planes;
mod shape;
mod state;
mod target;
mod threads;
mod tile;
mod vertices;

pub use draw::{Pipeline, Primitives};
pub use state::{
    Blend, BlendEquation, BlendOp, BlendState, CullMode, DepthStencilState, FillMode, LogicOp, MAX_TARGETS,
    MAX_VIEWPORTS, Mix, RasterizerState, Scissor, StencilFace, StencilOp, TargetBlend, Viewport,
};
pub use target::{DepthFormat, TargetLayout, Targets};
pub use tile::DrawStatistics;
pub use vertices::ShadedVertices;
