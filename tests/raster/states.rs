//! States: facing, clipping, viewports, scissors, slices, depth bias, masks; and that threads make no difference.

use super::{
    Kind, Numbers, SIZE, at, counters, counting, covered, draw, draw_rows, everything, is_comparison, position,
};
use crate::support::program::Source;
use shaderjit::error::RasterError;
use shaderjit::raster::{
    CullMode, DepthFormat, DepthStencilState, Pipeline, Primitives, RasterizerState, Scissor, ShadedVertices,
    StencilFace, StencilOp, TargetLayout, Targets, Viewport,
};
use shaderjit::{
    AtomicBuffer, Comparison, CompileOptions, ComponentType, Config, Element, Engine, MemoryView, Shader, TexelFormat,
};
use std::num::NonZero;

fn count(targets: &Targets) -> usize {
    covered(targets).len()
}

/// Pixels of a whole target.
const ALL: usize = (SIZE * SIZE) as usize;

#[test]
fn what_faces_the_eye_winds_clockwise_unless_said_otherwise() {
    let [a, b, c] = everything(0.5);
    for (cull, counter_clockwise, clockwise_is_drawn, other_is_drawn) in [
        (CullMode::None, false, true, true),
        (CullMode::Back, false, true, false),
        (CullMode::Front, false, false, true),
        (CullMode::Back, true, false, true),
        (CullMode::Front, true, true, false),
    ] {
        for (triangle, is_drawn) in [([a, b, c], clockwise_is_drawn), ([a, c, b], other_is_drawn)] {
            let mut pipeline = counting();
            pipeline.rasterizer =
                RasterizerState { cull, front_counter_clockwise: counter_clockwise, ..RasterizerState::default() };
            let mut targets = counters(1);
            draw(&pipeline, &Kind::Triangles, &triangle, &mut targets);
            assert_eq!(count(&targets), if is_drawn { ALL } else { 0 }, "{cull:?} {counter_clockwise}");
        }
    }
    // Each side has stencil operations of its own.
    let mut pipeline = counting();
    pipeline.depth_stencil.back = StencilFace { pass: StencilOp::Invert, ..StencilFace::default() };
    let mut targets = counters(1);
    draw(&pipeline, &Kind::Triangles, &[a, c, b], &mut targets);
    assert!(targets.stencils().iter().all(|&stencil| stencil == 255));
}

#[test]
fn primitives_are_clipped_to_depths_or_clamped() {
    // Depth rises from -1 at the left edge to 1 at the right: half of it is in front of the near plane.
    let slope = [[-1.0, 1.0, -1.0, 1.0], [3.0, 1.0, 3.0, 1.0], [-1.0, -3.0, -1.0, 1.0]];
    let mut targets = counters(1);
    draw(&counting(), &Kind::Triangles, &slope, &mut targets);
    assert_eq!(count(&targets), ALL / 2);
    let mut pipeline = counting();
    pipeline.rasterizer.depth_clip = false;
    pipeline.depth_stencil = DepthStencilState { stencil: true, ..is_comparison(Comparison::Always) };
    let mut targets = counters(1);
    draw(&pipeline, &Kind::Triangles, &slope, &mut targets);
    assert_eq!(targets.depth(0, [3, 5], 0), Some(0.0));
    assert_eq!(targets.depth(0, [96, 5], 0), Some((96.5 - 64.0) / 64.0));
    // Behind the eye there is nothing, whatever is clipped.
    let behind = everything(0.5).map(|[x, y, z, w]| [x, y, z, -w]);
    draw(&counting(), &Kind::Triangles, &behind, &mut targets);
    assert_eq!(count(&targets), 0);
}

#[test]
fn far_outside_of_the_screen_nothing_is_lost() {
    let mut targets = counters(1);
    let far = 3e9;
    let triangle = [[-far, far, 0.5, 1.0], [far, far, 0.5, 1.0], [0.0, -far, 0.5, 1.0]];
    draw(&counting(), &Kind::Triangles, &triangle, &mut targets);
    assert!(targets.stencils().iter().all(|&count| count == 1));
}

/// Corners that clipping makes of them lie where rounding leaves them, which is anywhere.
#[test]
fn corners_of_any_size_are_drawn_or_dropped() {
    let mut numbers = Numbers(7);
    let mut any = || {
        let [exponent, digits] = [2 + numbers.below(252) as u32, numbers.below(1 << 23) as u32];
        f32::from_bits((numbers.below(2) as u32) << 31 | exponent << 23 | digits)
    };
    let positions: Vec<[f32; 4]> = (0..30_000).map(|_| [any(), any(), any(), any().abs()]).collect();
    let rasterizer = RasterizerState { depth_clip: false, ..counting().rasterizer };
    for pipeline in [counting(), Pipeline { rasterizer, exact_planes: true, ..counting() }] {
        let mut targets = counters(1);
        for kind in [Kind::Triangles, Kind::Lines, Kind::Points] {
            draw(&pipeline, &kind, &positions, &mut targets);
        }
        assert!(count(&targets) > 0);
        assert!(targets.depths().iter().all(|depth| (0.0..=1.0).contains(depth)));
    }
}

#[test]
fn distances_clip_and_cull() {
    let elements = |semantic: &str| [&position()[..], &[Element::new(semantic, 0, 2, ComponentType::F32)]].concat();
    let rows = |distances: [[f32; 2]; 3]| -> Vec<[u32; 4]> {
        let corners = everything(0.5).into_iter().zip(distances);
        corners.flat_map(|(corner, [a, b])| [corner, [a, b, 0.0, 0.0]]).map(|row| row.map(f32::to_bits)).collect()
    };
    let drawn = |semantic: &str, distances: [[f32; 2]; 3], samples: u32| {
        let mut targets = counters(samples);
        draw_rows(&counting(), &Kind::Triangles, &elements(semantic), &rows(distances), &mut targets);
        targets.stencils().iter().filter(|&&count| count > 0).count()
    };
    // Distance is x at first: the right half is left. The other distance leaves the lower half.
    assert_eq!(drawn("SV_ClipDistance", [[-1.0, 1.0], [3.0, 1.0], [-1.0, 1.0]], 1), ALL / 2);
    assert_eq!(drawn("SV_ClipDistance", [[-1.0, -1.0], [3.0, -1.0], [-1.0, 3.0]], 1), ALL / 4);
    assert_eq!(drawn("SV_ClipDistance", [[-1.0, -1.0], [3.0, -1.0], [-1.0, 3.0]], 4), ALL);
    assert_eq!(drawn("SV_ClipDistance", [[1.0, 1.0], [f32::NAN, 1.0], [1.0, 1.0]], 1), 0);
    // A primitive is culled by a distance that is below 0 at all of its vertices.
    assert_eq!(drawn("SV_CullDistance", [[-1.0, 1.0], [3.0, -1.0], [-1.0, -1.0]], 1), ALL);
    assert_eq!(drawn("SV_CullDistance", [[-1.0, 1.0], [-3.0, -1.0], [-1.0, -1.0]], 1), 0);
    assert_eq!(drawn("SV_CullDistance", [[f32::NAN, 1.0], [-3.0, -1.0], [-1.0, -1.0]], 1), 0);
}

#[test]
fn vertices_choose_viewport_scissor_and_slice() {
    let elements = [
        &position()[..],
        &["SV_ViewportArrayIndex", "SV_RenderTargetArrayIndex"]
            .map(|name| Element::new(name, 0, 1, ComponentType::U32)),
    ]
    .concat();
    let layout = TargetLayout::new(SIZE, SIZE).layers(3).depth(DepthFormat::D24UnormS8Uint);
    let mut pipeline = counting();
    pipeline.viewports = vec![
        Viewport { width: 32.0, height: 16.0, ..Viewport::new(SIZE, SIZE) },
        Viewport { x: 40.0, y: 50.0, width: 10.0, height: 20.0, min_depth: 0.25, max_depth: 0.75 },
    ];
    let boxed = |viewport: u32, layer: u32, pipeline: &Pipeline| {
        let mut targets = Targets::new(&layout).unwrap();
        let leading = [[viewport, 0, 0, 0], [layer, 0, 0, 0]];
        // Only the leading vertex counts.
        let others = [[7, 0, 0, 0], [9, 0, 0, 0]];
        let corners = everything(0.5).map(|corner| corner.map(f32::to_bits));
        let rows = [&[corners[0]][..], &leading, &[corners[1]], &others, &[corners[2]], &others].concat();
        draw_rows(pipeline, &Kind::Triangles, &elements, &rows, &mut targets);
        let places: Vec<[u32; 3]> = (0..3)
            .flat_map(|z| (0..SIZE).flat_map(move |y| (0..SIZE).map(move |x| [x, y, z])))
            .filter(|&[x, y, z]| targets.stencil(z, [x, y], 0) == Some(1))
            .collect();
        let range = |n: usize| [places.iter().map(|place| place[n]).min(), places.iter().map(|place| place[n]).max()];
        [range(0), range(1), range(2)].map(|range| range.map(|edge| edge.unwrap_or(u32::MAX)))
    };
    assert_eq!(boxed(0, 0, &pipeline), [[0, 31], [0, 15], [0, 0]]);
    assert_eq!(boxed(1, 2, &pipeline), [[40, 49], [50, 69], [2, 2]]);
    // Out of range is the first.
    assert_eq!(boxed(2, 3, &pipeline), [[0, 31], [0, 15], [0, 0]]);
    pipeline.rasterizer.scissor = true;
    pipeline.scissors = vec![Scissor { left: 3, top: 5, right: 8, bottom: 90 }];
    assert_eq!(boxed(0, 1, &pipeline), [[3, 7], [5, 15], [1, 1]]);
    assert_eq!(boxed(1, 0, &pipeline), [[u32::MAX; 2]; 3], "a scissor that is not there is empty");
}

#[test]
fn depths_are_biased_and_compared() {
    let depth_of = |format: DepthFormat, state: RasterizerState, triangle: [[f32; 4]; 3]| {
        let mut targets = Targets::new(&TargetLayout::new(SIZE, SIZE).depth(format)).unwrap();
        let rasterizer = RasterizerState { cull: CullMode::None, ..state };
        let pipeline = Pipeline { rasterizer, depth_stencil: is_comparison(Comparison::Less), ..Pipeline::default() };
        draw(&pipeline, &Kind::Triangles, &triangle, &mut targets);
        targets.depth(0, [0, 0], 0).unwrap()
    };
    let flat = everything(0.5);
    let biased = |depth_bias: i32| RasterizerState { depth_bias, ..RasterizerState::default() };
    assert_eq!(depth_of(DepthFormat::D32Float, biased(0), flat), 0.5);
    assert_eq!(depth_of(DepthFormat::D32Float, biased(16), flat), 0.5 + 2f32.powi(-20));
    assert_eq!(depth_of(DepthFormat::D16Unorm, biased(-3), flat), ((32768.0 - 3.0) / 65535.0f64) as f32);
    // Depth rises by 1/128 a pixel, from 0.
    let slope = [[-1.0, 1.0, 0.0, 1.0], [3.0, 1.0, 2.0, 1.0], [-1.0, -3.0, 0.0, 1.0]];
    let sloped = |scale: f32, clamp: f32| RasterizerState {
        slope_scaled_depth_bias: scale,
        depth_bias_clamp: clamp,
        ..RasterizerState::default()
    };
    let at_first = 0.5 / 128.0;
    assert_eq!(depth_of(DepthFormat::D32Float, sloped(4.0, 0.0), slope), at_first + 4.0 / 128.0);
    assert_eq!(depth_of(DepthFormat::D32Float, sloped(4.0, 0.01), slope), at_first + 0.01);
    assert_eq!(depth_of(DepthFormat::D32Float, sloped(-4.0, -0.001), slope), at_first - 0.001);
    // Each comparison, of what is nearer, as near and farther.
    for (comparison, passes) in [
        (Comparison::Never, [false; 3]),
        (Comparison::Less, [true, false, false]),
        (Comparison::Equal, [false, true, false]),
        (Comparison::LessEqual, [true, true, false]),
        (Comparison::Greater, [false, false, true]),
        (Comparison::NotEqual, [true, false, true]),
        (Comparison::GreaterEqual, [false, true, true]),
        (Comparison::Always, [true; 3]),
    ] {
        for (z, passes) in [0.25, 0.5, 0.75].into_iter().zip(passes) {
            let mut targets = counters(1);
            targets.clear_depth(0.5);
            let mut pipeline = counting();
            pipeline.depth_stencil.depth = true;
            pipeline.depth_stencil.depth_comparison = comparison;
            draw(&pipeline, &Kind::Triangles, &everything(z), &mut targets);
            assert_eq!(count(&targets), if passes { ALL } else { 0 }, "{comparison:?} {z}");
            assert_eq!(targets.depth(0, [9, 9], 0), Some(if passes { z } else { 0.5 }));
        }
    }
}

#[test]
fn a_mask_leaves_samples_out() {
    let mut targets = counters(8);
    let pipeline = Pipeline { sample_mask: 0b0110_0001, ..counting() };
    draw(&pipeline, &Kind::Triangles, &everything(0.5), &mut targets);
    let found: Vec<_> = (0..8).map(|sample| targets.stencil(0, [77, 3], sample).unwrap()).collect();
    assert_eq!(found, [1, 0, 0, 0, 0, 1, 1, 0]);
}

/// A heap of triangles, and of lines and points if so many corners are taken.
fn heap(numbers: &mut Numbers, count: usize) -> Vec<[f32; 4]> {
    let mut positions = Vec::new();
    for _ in 0..count {
        let middle = [0, 1].map(|_| numbers.below(SIZE * 256));
        let spread = [600, 3000, 9000, 60000][numbers.below(4) as usize];
        for _ in 0..3 {
            let corner = middle.map(|middle| middle + numbers.below(spread as u32) - spread / 2);
            let z = numbers.below(1 << 20) as f32 / (1 << 20) as f32;
            let w = 0.25 + numbers.below(1000) as f32 / 300.0;
            positions.push(at(corner, z * 1.2 - 0.1).map(|value| value * w));
        }
    }
    positions
}

#[test]
fn threads_make_no_difference() {
    let positions = heap(&mut Numbers(5), 6000);
    let drawn = |threads: usize| {
        let mut targets = counters(4);
        let mut pipeline = Pipeline { threads: NonZero::new(threads).unwrap(), ..counting() };
        pipeline.depth_stencil.depth = true;
        // Which of them passes depends on the order.
        pipeline.depth_stencil.front.depth_fail = StencilOp::Invert;
        draw(&pipeline, &Kind::Triangles, &positions, &mut targets);
        draw(&pipeline, &Kind::Lines, &positions, &mut targets);
        draw(&pipeline, &Kind::Points, &positions, &mut targets);
        (targets.stencils(), targets.depths().into_iter().map(f32::to_bits).collect::<Vec<_>>())
    };
    let one = drawn(1);
    assert!(one.0.iter().any(|&count| count > 3));
    for threads in [2, 3, 8] {
        assert!(drawn(threads) == one, "{threads} threads");
    }
}

#[test]
fn memory_is_written_in_one_order_whatever_the_threads() {
    let source = Source::new(
        "ps_5_0
        dcl_input_ps_sgv constant v0.x, primitive_id
        dcl_uav_structured u0, 4
        dcl_uav_raw u1
        imm_atomic_iadd r0.x, u1, l(0), l(1)
        store_structured u0.x, r0.x, l(0), v0.x",
    );
    let shader = Shader::parse(&source.container()).unwrap();
    let code = Engine::new(Config::default()).unwrap().compile(&shader, &CompileOptions::default()).unwrap();
    let mut numbers = Numbers(6);
    // More than are kept at once, all over the target.
    let count = 40_000;
    let mut place = || 256 * numbers.below(SIZE) + 128;
    let positions: Vec<[f32; 4]> = (0..count).map(|_| at([place(), place()], 0.5)).collect();
    let rows: Vec<[u32; 4]> = positions.iter().map(|position| position.map(f32::to_bits)).collect();
    let order: Vec<u32> = (0..count).collect();
    let written = |threads: usize| {
        let [list, counter] = [4 * count as usize, 4].map(AtomicBuffer::zeroed);
        let mut call = code.call();
        call.unordered_access(0, MemoryView::structured(&list, 4)).unwrap();
        call.unordered_access(1, MemoryView::raw(&counter)).unwrap();
        let pipeline = Pipeline { threads: NonZero::new(threads).unwrap(), ..Pipeline::default() };
        let elements = position();
        let vertices = ShadedVertices::rows(&elements, &rows);
        pipeline.draw(vertices, Primitives::points(&order), Some(&call), &mut counters(1)).unwrap();
        list.to_bytes()
    };
    let one = written(1);
    let mut ids: Vec<u32> = one.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    assert!(!ids.is_sorted());
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..count));
    for threads in [2, 3] {
        assert!(written(threads) == one, "{threads} threads");
    }
}

#[test]
fn what_is_no_number_draws_nothing() {
    let nan = f32::NAN;
    let bad = [[nan, 0.0, 0.5, 1.0], [0.0, nan, 0.5, 1.0], [0.0, 0.0, nan, 1.0], [0.0, 0.0, 0.5, nan]];
    let [a, b, _] = everything(0.5);
    for corner in bad.into_iter().chain([[f32::INFINITY, 0.0, 0.5, 1.0], [0.0, 0.0, 0.5, 0.0]]) {
        let mut targets = counters(1);
        draw(&counting(), &Kind::Triangles, &[a, b, corner], &mut targets);
        draw(&counting(), &Kind::Lines, &[a, corner], &mut targets);
        draw(&counting(), &Kind::Points, &[corner], &mut targets);
        let may_draw = corner[3] == 0.0;
        assert!(may_draw || count(&targets) == 0, "{corner:?}");
    }
}

#[test]
fn rows_that_there_are_not_make_no_primitive() {
    let rows = everything(0.5).map(|corner| corner.map(f32::to_bits));
    let elements = position();
    let mut targets = counters(1);
    let indices = [0, 1, 3, 0, u32::MAX, 2, 0, 1, 2];
    let vertices = ShadedVertices::rows(&elements, &rows);
    counting().draw(vertices, Primitives::triangles(&indices), None, &mut targets).unwrap();
    assert!(targets.stencils().iter().all(|&count| count == 1));
}

#[test]
fn what_direct3d_does_not_accept_is_an_error() {
    let rows = everything(0.5).map(|corner| corner.map(f32::to_bits));
    let elements = position();
    let (vertices, primitives) = (ShadedVertices::rows(&elements, &rows), Primitives::triangles(&[0, 1, 2]));
    let mut targets = counters(1);
    let whole = Viewport::new(SIZE, SIZE);
    for viewport in [
        Viewport { width: 40_000.0, ..whole },
        Viewport { x: f32::NAN, ..whole },
        Viewport { height: -1.0, ..whole },
        Viewport { min_depth: 0.75, max_depth: 0.5, ..whole },
        Viewport { max_depth: 1.5, ..whole },
    ] {
        let pipeline = Pipeline { viewports: vec![viewport], ..counting() };
        let error = pipeline.draw(vertices, primitives, None, &mut targets).unwrap_err();
        assert!(matches!(error, RasterError::State { .. }), "{viewport:?}: {error}");
    }
    let pipeline = Pipeline { viewports: vec![whole; 17], ..counting() };
    assert!(pipeline.draw(vertices, primitives, None, &mut targets).is_err());
    let nameless = [Element::new("COLOR", 0, 4, ComponentType::F32)];
    let error = counting().draw(ShadedVertices::rows(&nameless, &rows), primitives, None, &mut targets).unwrap_err();
    assert!(matches!(error, RasterError::Vertices { .. }), "{error}");
    for layout in [
        TargetLayout::new(0, 4),
        TargetLayout::new(4, 16385),
        TargetLayout::new(4, 4).samples(3),
        TargetLayout::new(4, 4).layers(2049),
        TargetLayout::new(4, 4).color(TexelFormat::D32Float),
        TargetLayout::new(16384, 16384).layers(2048).samples(16).color(TexelFormat::Rgba32Float),
    ] {
        assert!(matches!(Targets::new(&layout), Err(RasterError::Target { .. })), "{layout:?}");
    }
}
