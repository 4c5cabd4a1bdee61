//! The rasteriser's rules, most of them without a shader: stencils count how often each sample is covered.

mod coverage;
mod lines;
mod states;
#[path = "../support/mod.rs"]
mod support;

use shaderjit::raster::{
    CullMode, DepthFormat, DepthStencilState, Pipeline, Primitives, RasterizerState, ShadedVertices, StencilFace,
    StencilOp, TargetLayout, Targets,
};
use shaderjit::{Comparison, ComponentType, Element};
use std::num::NonZero;

/// Pixels of a target's edge: a power of two, so that positions on the screen are exact in clip space.
const SIZE: u32 = 128;

/// A position on the screen in 256ths of a pixel.
type Point = [i32; 2];

/// Where a position on the screen is in clip space, at that depth.
fn at([x, y]: Point, z: f32) -> [f32; 4] {
    let scale = 2.0 / (256.0 * SIZE as f32);
    [x as f32 * scale - 1.0, 1.0 - y as f32 * scale, z, 1.0]
}

/// Targets whose stencils count.
fn counters(samples: u32) -> Targets {
    let layout = TargetLayout::new(SIZE, SIZE).samples(samples).depth(DepthFormat::D32FloatS8Uint);
    Targets::new(&layout).unwrap()
}

/// States that count every covered sample.
fn counting() -> Pipeline {
    let count = StencilFace { pass: StencilOp::Increment, ..StencilFace::default() };
    Pipeline {
        rasterizer: RasterizerState { cull: CullMode::None, ..RasterizerState::default() },
        depth_stencil: DepthStencilState { stencil: true, front: count, back: count, ..DepthStencilState::default() },
        threads: NonZero::<usize>::MIN,
        ..Pipeline::default()
    }
}

fn position() -> [Element; 1] {
    [Element::new("SV_Position", 0, 4, ComponentType::F32)]
}

enum Kind {
    Points,
    Lines,
    Triangles,
}

/// Draws positions in their order.
fn draw(pipeline: &Pipeline, kind: &Kind, positions: &[[f32; 4]], targets: &mut Targets) {
    let rows: Vec<[u32; 4]> = positions.iter().map(|position| position.map(f32::to_bits)).collect();
    draw_rows(pipeline, kind, &position(), &rows, targets);
}

/// Draws vertices of several elements in their order.
fn draw_rows(pipeline: &Pipeline, kind: &Kind, elements: &[Element], rows: &[[u32; 4]], targets: &mut Targets) {
    let order: Vec<u32> = (0..(rows.len() / elements.len()) as u32).collect();
    let primitives = match kind {
        Kind::Points => Primitives::points(&order),
        Kind::Lines => Primitives::lines(&order),
        Kind::Triangles => Primitives::triangles(&order),
    };
    let drawn = pipeline.draw(ShadedVertices::rows(elements, rows), primitives, None, targets).unwrap();
    assert_eq!(drawn.primitives, primitives.count() as u64);
}

/// The pixels that are covered, of one sample.
fn covered(targets: &Targets) -> Vec<[u32; 2]> {
    let pixels = (0..SIZE).flat_map(|y| (0..SIZE).map(move |x| [x, y]));
    pixels.filter(|&pixel| targets.stencil(0, pixel, 0) != Some(0)).collect()
}

/// Numbers that look random (a 64-bit linear congruential generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> i32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(end)) as i32
    }
}

/// A triangle over the whole target, at that depth.
fn everything(z: f32) -> [[f32; 4]; 3] {
    [[-1.0, 1.0, z, 1.0], [3.0, 1.0, z, 1.0], [-1.0, -3.0, z, 1.0]]
}

fn is_comparison(comparison: Comparison) -> DepthStencilState {
    DepthStencilState::depth(comparison)
}
