//! Draws of any vertices with any states: they end without a panic, and threads make no difference.

use crate::raster::{
    CullMode, DepthFormat, DepthStencilState, FillMode, Pipeline, Primitives, RasterizerState, Scissor, ShadedVertices,
    StencilFace, StencilOp, TargetLayout, Targets, Viewport,
};
use crate::texture::Comparison;
use crate::{ComponentType, Element};
use arbitrary::{Arbitrary, Unstructured};
use std::num::NonZero;

/// Elements of a vertex.
const ELEMENTS: usize = 5;

/// A draw without a pixel shader, which writes depths and stencils.
#[derive(Debug)]
pub struct RasterCase {
    rows: Vec<[u32; 4]>,
    order: Vec<u32>,
    corners: usize,
    pipeline: Pipeline,
    layout: TargetLayout,
}

/// A number as vertices have it, or one that they should not have.
fn float(u: &mut Unstructured<'_>) -> arbitrary::Result<f32> {
    const ODD: [f32; 12] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-30,
        32768.0,
        1.0 + f32::EPSILON,
    ];
    Ok(match u.int_in_range(0..=7)? {
        0 => *u.choose(&ODD)?,
        1 => f32::from_bits(u.arbitrary()?),
        _ => f32::from(u.arbitrary::<i16>()?) / 16384.0,
    })
}

impl<'a> Arbitrary<'a> for RasterCase {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<RasterCase> {
        let corners = u.int_in_range(1..=3)?;
        let count = u.int_in_range(0..=40)?;
        let mut rows = Vec::new();
        for _ in 0..count {
            for element in 0..ELEMENTS {
                let mut row = [0; 4];
                for word in &mut row {
                    // Numbers of slice and viewport, of which few exist.
                    *word = if element > 2 { u.int_in_range(0..=3)? } else { float(u)?.to_bits() };
                }
                // Most positions have a w that is no harm.
                if element == 0 && u.ratio(3, 4)? {
                    row[3] = 1.0f32.to_bits();
                }
                rows.push(row);
            }
        }
        let order = (0..u.int_in_range(0..=60)?).map(|_| u.int_in_range(0..=count)).collect::<Result<_, _>>()?;
        let viewport = |u: &mut Unstructured<'_>| -> arbitrary::Result<Viewport> {
            let size = |u: &mut Unstructured<'_>| Ok(float(u)?.abs() * 40.0);
            Ok(Viewport {
                x: float(u)? * 20.0,
                y: float(u)? * 20.0,
                width: size(u)?,
                height: size(u)?,
                min_depth: float(u)?,
                max_depth: float(u)?,
            })
        };
        let viewports = (0..u.int_in_range(0..=2)?).map(|_| viewport(u)).collect::<Result<Vec<_>, _>>()?;
        let scissor = |u: &mut Unstructured<'_>| -> arbitrary::Result<Scissor> {
            let edge = |u: &mut Unstructured<'_>| if u.ratio(1, 6)? { u.arbitrary() } else { u.int_in_range(-5..=70) };
            Ok(Scissor { left: edge(u)?, top: edge(u)?, right: edge(u)?, bottom: edge(u)? })
        };
        let scissors = (0..u.int_in_range(0..=2)?).map(|_| scissor(u)).collect::<Result<Vec<_>, _>>()?;
        let rasterizer = RasterizerState {
            fill: *u.choose(&[FillMode::Solid, FillMode::Wireframe])?,
            cull: *u.choose(&[CullMode::None, CullMode::Front, CullMode::Back])?,
            front_counter_clockwise: u.arbitrary()?,
            depth_bias: u.arbitrary()?,
            slope_scaled_depth_bias: float(u)?,
            depth_bias_clamp: float(u)?,
            depth_clip: u.arbitrary()?,
            scissor: u.arbitrary()?,
            multisample: u.arbitrary()?,
        };
        let comparison = *u.choose(&[Comparison::Less, Comparison::GreaterEqual, Comparison::Always])?;
        let count = |op| StencilFace { pass: op, ..StencilFace::default() };
        let depth_stencil = DepthStencilState {
            stencil: true,
            front: count(StencilOp::Increment),
            back: count(StencilOp::Invert),
            ..DepthStencilState::depth(comparison)
        };
        let layout = TargetLayout::new(u.int_in_range(1..=150)?, u.int_in_range(1..=70)?)
            .samples(*u.choose(&[1, 2, 4, 8, 16])?)
            .layers(u.int_in_range(1..=2)?)
            .depth(*u.choose(&[DepthFormat::D24UnormS8Uint, DepthFormat::D32FloatS8Uint])?);
        let pipeline = Pipeline {
            rasterizer,
            depth_stencil,
            sample_mask: u.arbitrary()?,
            viewports,
            scissors,
            exact_planes: u.arbitrary()?,
            ..Pipeline::default()
        };
        Ok(RasterCase { rows, order, corners, pipeline, layout })
    }
}

/// A draw ends in targets or a typed error, on one thread as on three.
pub fn raster(case: &RasterCase) {
    let elements: [Element; ELEMENTS] = [
        Element::new("SV_Position", 0, 4, ComponentType::F32),
        Element::new("SV_ClipDistance", 0, 4, ComponentType::F32),
        Element::new("SV_CullDistance", 0, 2, ComponentType::F32),
        Element::new("SV_ViewportArrayIndex", 0, 1, ComponentType::U32),
        Element::new("SV_RenderTargetArrayIndex", 0, 1, ComponentType::U32),
    ];
    let vertices = ShadedVertices::rows(&elements, &case.rows);
    let drawn = |threads: usize| {
        let mut targets = Targets::new(&case.layout).expect("its sizes are right");
        let primitives = match case.corners {
            1 => Primitives::points(&case.order),
            2 => Primitives::lines(&case.order),
            _ => Primitives::triangles(&case.order),
        };
        let threads = NonZero::new(threads).expect("there is one");
        let pipeline = Pipeline { threads, ..case.pipeline.clone() };
        let ended = pipeline.draw(vertices, primitives, None, &mut targets).map(|drawn| drawn.samples);
        let depths: Vec<u32> = targets.depths().into_iter().map(f32::to_bits).collect();
        (ended, depths, targets.stencils())
    };
    assert!(drawn(1) == drawn(3), "threads make a difference");
}
