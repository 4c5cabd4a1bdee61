//! Pixels in quads, [`Call::pixels`]: where attributes are evaluated, what pixels see of the rasteriser, and that those
//! that only help others have no effect; on every engine.

mod support;

use shaderjit::error::CallError;
use shaderjit::frontend::pixel::{DepthOutput, Interpolation, Location, PixelInput, PixelOutput, sample_positions};
use shaderjit::{
    AtomicBuffer, Backend, CompileOptions, CompiledShader, Config, Engine, Lanes, MemoryView, OutputLayout, Outputs,
    Place, Plane, Primitive, Quad, Quads, Shader, VertexBufferView,
};
use std::sync::Arc;
use support::program::Source;

fn engine() -> Engine {
    Engine::new(Config::default().fuel(10_000)).expect("this machine has native code")
}

/// The shader for every number of lanes, and for the interpreter.
fn codes(source: &Source, samples: u32) -> Vec<Arc<CompiledShader>> {
    let shader = Shader::parse(&source.container()).expect("it was built as one");
    let options = CompileOptions::default().samples(samples);
    let ways = Lanes::ALL.map(|lanes| options.clone().lanes(lanes));
    let interpreted = Lanes::ALL.map(|lanes| options.clone().lanes(lanes).backend(Backend::Interpreter));
    let engine = engine();
    ways.into_iter().chain(interpreted).map(|options| engine.compile(&shader, &options).expect("it compiles")).collect()
}

/// What every engine gives, which is the same.
fn shade(source: &Source, quads: &Quads<'_>) -> Outputs {
    let codes = codes(source, quads.samples);
    let mut all = codes.iter().map(|code| code.call().pixels(quads).expect("the call runs"));
    let first = all.next().expect("there are several");
    assert!(all.all(|outputs| outputs.first_difference(&first).is_none()), "engines differ");
    let interpreted = codes[0].call().interpret_pixels(quads).expect("the call runs");
    assert_eq!(interpreted.first_difference(&first), None);
    first
}

fn target(outputs: &Outputs, number: u32) -> Vec<[f32; 4]> {
    let view = outputs.output("SV_Target", number).expect("it has the target");
    (0..outputs.count()).map(|pixel| view.vec4(pixel).expect("it is one of them")).collect()
}

fn column(outputs: &Outputs, number: u32, component: usize) -> Vec<f32> {
    target(outputs, number).iter().map(|row| row[component]).collect()
}

const LIVE: Quad = Quad { x: 0, y: 0, primitive: 0, coverage: [1; 4], live: 0b1111, sample: 0 };

/// A plane of a number that is x + 10 y + 100 at (x, y).
const SLOPE: Plane = Plane { value: 100.0, dx: 1.0, dy: 10.0 };

/// x + 10 y + 100.
fn slope(x: f32, y: f32) -> f32 {
    x + 10.0 * y + 100.0
}

fn centres(quad: Quad) -> [[f32; 2]; 4] {
    [[0.5, 0.5], [1.5, 0.5], [0.5, 1.5], [1.5, 1.5]].map(|[x, y]| [quad.x as f32 + x, quad.y as f32 + y])
}

#[test]
fn attributes_vary_as_they_are_declared() {
    let source = Source::new(
        "ps_5_0
        dcl_input_ps linear v0.xyzw
        dcl_input_ps linear noperspective v1.xyzw
        dcl_input_ps constant v2.xyzw
        mov o0.xyzw, v0.xyzw
        mov o1.xy, v1.xyxx
        mov o1.zw, v2.yyyz",
    );
    let code = &codes(&source, 1)[0];
    let pixel = code.interface().pixel.as_ref().expect("it is a pixel shader");
    let attribute = |interpolation, plane| PixelInput::Attribute { interpolation, location: Location::Centre, plane };
    let declared = [
        attribute(Interpolation::Perspective, 0),
        attribute(Interpolation::NoPerspective, 4),
        attribute(Interpolation::Constant, 8),
    ];
    assert_eq!((&pixel.inputs[..], pixel.planes), (&declared[..], 12));
    assert_eq!(pixel.outputs, [Some(PixelOutput::Target(0)), Some(PixelOutput::Target(1))]);
    assert!(!pixel.per_sample && !pixel.pulls_attributes && !pixel.writes_memory && !pixel.early_depth_stencil);

    let mut planes = vec![Plane::default(); 24];
    (planes[0], planes[3], planes[5]) = (SLOPE, Plane::constant(2.0f32.to_bits()), SLOPE);
    (planes[9], planes[10]) = (Plane::constant(0x7fa0_1234), Plane::constant(7));
    planes[12 + 4] = SLOPE;
    // 1/w is 0.5 at the origin, and 0.25 more from pixel to pixel to the right.
    let reciprocal_w = Plane { value: 0.5, dx: 0.25, dy: 0.0 };
    let primitives = [
        Primitive { origin: [4.0, 2.0], reciprocal_w, ..Primitive::default() },
        Primitive { origin: [0.5, 0.5], ..Primitive::default() },
    ];
    let quads = [Quad { x: 4, y: 2, ..LIVE }, Quad { x: 8, y: 6, primitive: 1, ..LIVE }];
    let outputs = shade(&source, &Quads { quads: &quads, primitives: &primitives, planes: &planes, samples: 1 });
    for (pixel, [x, y]) in centres(quads[0]).into_iter().enumerate() {
        let (dx, dy) = (x - 4.0, y - 2.0);
        let w = 1.0 / (0.5 + 0.25 * dx);
        assert_eq!(target(&outputs, 0)[pixel], [slope(dx, dy) * w, 0.0, 0.0, 2.0 * w]);
        let [u, v, a, b] = outputs.output("SV_Target", 1).and_then(|view| view.bits(pixel)).expect("it is there");
        assert_eq!((u, f32::from_bits(v), a, b), (0, slope(dx, dy), 0x7fa0_1234, 7));
    }
    for (pixel, [x, y]) in centres(quads[1]).into_iter().enumerate() {
        assert_eq!(target(&outputs, 1)[4 + pixel], [slope(x - 0.5, y - 0.5), 0.0, 0.0, 0.0]);
    }
}

#[test]
fn centroids_are_the_first_sample_that_is_covered_unless_all_are() {
    let source = Source::new("ps_4_1\ndcl_input_ps linear noperspective centroid v0.xyzw\nmov o0.x, v0.x");
    let primitives = [Primitive::default()];
    let quads = [Quad { coverage: [0b1111, 0b1010, 0b1100, 0], live: 0b0111, ..LIVE }];
    let outputs = shade(&source, &Quads { quads: &quads, primitives: &primitives, planes: &[SLOPE; 4], samples: 4 });
    let at = |pixel: usize, sample: usize| {
        let [x, y] = sample_positions(4)[sample].map(|at| f32::from(at) / 16.0);
        let [cx, cy] = centres(LIVE)[pixel];
        slope(cx + x, cy + y)
    };
    let [[x0, y0], .., [x3, y3]] = centres(LIVE);
    assert_eq!(column(&outputs, 0, 0), [slope(x0, y0), at(1, 1), at(2, 2), slope(x3, y3)]);
}

#[test]
fn what_runs_once_a_sample_is_evaluated_there() {
    let source = Source::new(
        "ps_5_0
        dcl_input_ps linear noperspective sample v0.xyzw
        dcl_input_ps linear noperspective v1.xyzw
        dcl_input_ps_sgv constant v2.x, sampleIndex
        mov o0.x, v0.x
        mov o0.y, v1.x
        utof o0.z, v2.x",
    );
    let code = &codes(&source, 8)[0];
    assert!(code.interface().pixel.as_ref().is_some_and(|pixel| pixel.per_sample));
    let quads: Vec<Quad> = (0..8).map(|sample| Quad { sample, ..LIVE }).collect();
    let primitives = [Primitive::default()];
    let planes = [SLOPE; 8];
    let outputs = shade(&source, &Quads { quads: &quads, primitives: &primitives, planes: &planes, samples: 8 });
    for (row, found) in target(&outputs, 0).into_iter().enumerate() {
        let [x, y] = sample_positions(8)[row / 4].map(|at| f32::from(at) / 16.0);
        let [cx, cy] = centres(LIVE)[row % 4];
        assert_eq!(found, [slope(cx + x, cy + y), slope(cx, cy), (row / 4) as f32, 0.0]);
    }
}

#[test]
fn attributes_are_pulled_from_places_of_the_programs_choice() {
    let source = Source::new(
        "ps_5_0
        dcl_input_ps linear v0.xyzw
        dcl_input_ps linear noperspective v1.xyzw
        dcl_input_ps constant v2.xyzw
        eval_sample_index o0.x, v0.y, v2.x
        eval_sample_index o0.y, v1.x, l(9)
        eval_snapped o0.z, v1.x, l(24, -3, 0, 0)
        eval_snapped o0.w, -v0.y, l(7, 8, 0, 0)
        eval_centroid o1.xy, v1.yxyy
        eval_centroid o1.z, v2.x
        mov o1.w, v0.y",
    );
    let code = &codes(&source, 4)[0];
    assert!(code.interface().pixel.as_ref().is_some_and(|pixel| pixel.pulls_attributes));
    let mut planes = vec![Plane::default(); 12];
    (planes[1], planes[4]) = (SLOPE, SLOPE);
    planes[8] = Plane::constant(3);
    let reciprocal_w = Plane { value: 1.0, dx: 0.0, dy: 0.5 };
    let primitives = [Primitive { reciprocal_w, ..Primitive::default() }];
    let quads = [Quad { coverage: [0b0100, 0b1111, 0, 0b1000], x: 2, ..LIVE }];
    let outputs = shade(&source, &Quads { quads: &quads, primitives: &primitives, planes: &planes, samples: 4 });
    for (pixel, [x, y]) in centres(quads[0]).into_iter().enumerate() {
        let in_perspective = |x: f32, y: f32| slope(x, y) / (1.0 + 0.5 * y);
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-5 * b.abs();
        let [a, b, c, d] = target(&outputs, 0)[pixel];
        // Sample 3 of 4 is at (2, 6) sixteenths; a tenth does not exist.
        assert!(close(a, in_perspective(x + 0.125, y + 0.375)), "{a}");
        assert_eq!(b, slope(x, y));
        // 24 has four bits 1000, which is -8.
        assert!(close(c, slope(x - 0.5, y - 0.1875)), "{c}");
        assert!(close(d, -in_perspective(x + 0.4375, y - 0.5)), "{d}");
        let [ox, oy] = [[-0.375, 0.125], [0.0, 0.0], [0.0, 0.0], [0.125, 0.375]][pixel];
        let [zero, centroid, constant, linear] = target(&outputs, 1)[pixel];
        assert!(zero == 0.0 && close(centroid, slope(x + ox, y + oy)), "{centroid}");
        assert_eq!(constant.to_bits(), 3);
        assert!(close(linear, in_perspective(x, y)));
    }
}

#[test]
fn registers_that_are_indexed_are_pulled_too() {
    let source = Source::new(
        "ps_5_0
        dcl_input_ps linear noperspective v0.xyzw
        dcl_input_ps linear noperspective v1.xyzw
        dcl_input_ps constant v2.xyzw
        dcl_indexrange v0.xyzw 2
        mov r0.x, v2.x
        eval_snapped o0.x, v[r0.x + 0].x, l(4, 0, 0, 0)",
    );
    let steep = Plane { value: 0.0, dx: 8.0, dy: 0.0 };
    let planes = [0, 1, 7].map(|index| [SLOPE, steep, Plane::constant(index)]);
    let primitives = [Primitive::default(); 3];
    let quads = [0, 1, 2].map(|primitive| Quad { primitive, ..LIVE });
    // Elements are whole registers, of which only x is declared.
    let planes: Vec<Plane> = planes.as_flattened().iter().flat_map(|&plane| [plane; 4]).collect();
    let outputs = shade(&source, &Quads { quads: &quads, primitives: &primitives, planes: &planes, samples: 1 });
    let found = column(&outputs, 0, 0);
    assert_eq!(found[..2], [slope(0.75, 0.5), slope(1.75, 0.5)]);
    assert_eq!(found[4..6], [6.0, 14.0]);
    assert_eq!(found[8..], [0.0; 4]);
}

#[test]
fn pixels_know_what_the_rasteriser_knows() {
    let source = Source::new(
        "ps_5_0
        dcl_input_ps_siv linear noperspective v0.xyzw, position
        dcl_input_ps_sgv constant v1.x, is_front_face
        dcl_input_ps_sgv constant v2.x, primitive_id
        dcl_input vCoverage
        mov o0.xyzw, v0.xyzw
        mov o1.x, v1.x
        mov o1.y, v2.x
        mov o1.z, vCoverage.x",
    );
    let depth = Plane { value: 0.25, dx: 0.125, dy: 0.0 };
    let reciprocal_w = Plane { value: 0.25, dx: 0.0, dy: 0.0 };
    let primitives = [
        Primitive { origin: [10.5, 20.5], depth, reciprocal_w, front_face: false, id: 77 },
        Primitive { id: 78, ..Primitive::default() },
    ];
    let quads = [Quad { x: 10, y: 20, coverage: [1, 2, 3, 0], ..LIVE }, Quad { primitive: 1, ..LIVE }];
    let outputs = shade(&source, &Quads { quads: &quads, primitives: &primitives, planes: &[], samples: 2 });
    let rows = target(&outputs, 0);
    assert_eq!(rows[0], [10.5, 20.5, 0.25, 4.0]);
    assert_eq!(rows[3], [11.5, 21.5, 0.375, 4.0]);
    assert_eq!(rows[4], [0.5, 0.5, 0.0, 1.0]);
    let bits: Vec<[u32; 4]> = outputs.output("SV_Target", 1).expect("it has it").iter().collect();
    assert_eq!(bits[1], [0, 77, 2, 0]);
    assert_eq!(bits[3], [0, 77, 0, 0]);
    assert_eq!(bits[4], [u32::MAX, 78, 1, 0]);
}

#[test]
fn what_is_bound_is_read_as_bound() {
    let source = Source::new("ps_5_0\nderiv_rtx_fine o0.x, v0.x\nmov o0.y, v1.x\nmov o0.z, v0.x");
    let numbers: Vec<u8> = (0..40u16).flat_map(|number| f32::from(number * number).to_le_bytes()).collect();
    let quads = [LIVE; 10];
    let primitives = [Primitive::default()];
    let planes = vec![Plane { value: 5.0, dx: 0.0, dy: 0.0 }; 8];
    let quads = Quads { quads: &quads, primitives: &primitives, planes: &planes, samples: 1 };
    for code in codes(&source, 1) {
        let mut call = code.call();
        call.input("V", 0, VertexBufferView::f32x1(&numbers, 4)).expect("it has the input");
        let outputs = call.pixels(&quads).expect("the call runs");
        for (pixel, row) in target(&outputs, 0).into_iter().enumerate() {
            let square = |number: usize| (number * number) as f32;
            assert_eq!(row, [square(pixel | 1) - square(pixel & !1), 5.0, square(pixel), 0.0]);
        }
        call.input("V", 1, VertexBufferView::f32x1(&numbers, 4)).expect("it has the input");
        let without = Quads { planes: &[], ..quads };
        assert_eq!(call.pixels(&without).map(|outputs| outputs.count()), Ok(40));
        let short = Quads { quads: &[LIVE; 11], ..without };
        assert!(matches!(call.pixels(&short), Err(CallError::ShortBuffer { needed: 176, available: 160, .. })));
    }
}

/// Each pixel counts itself, appends its number, and stores it in its place; `v0.x` is the number.
const WRITING: &str = "ps_5_0
    dcl_input_ps constant v0.xyzw
    dcl_input_ps_siv linear noperspective v1.xy, position
    dcl_uav_raw u1
    dcl_uav_typed_texture2d (uint,uint,uint,uint) u2
    mul r1.x, v1.x, v1.x
    DISCARD
    imm_atomic_iadd r0.x, u1, l(0), l(1)
    iadd r0.x, r0.x, l(1)
    ishl r0.x, r0.x, l(2)
    store_raw u1.x, r0.x, v0.x
    ftou r2.xy, v1.xyxx
    store_uav_typed u2.xyzw, r2.xyyy, v0.xxxx
    deriv_rtx_coarse o0.x, r1.x";

fn words(buffer: &AtomicBuffer) -> Vec<u32> {
    buffer.to_bytes().as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

#[test]
fn pixels_that_help_and_those_that_are_discarded_write_nothing() {
    let discard = "and r3.x, v0.x, l(1)\ndiscard_nz r3.x";
    for (text, is_written) in [("nop", [true, false, true, true]), (discard, [true, false, true, false])] {
        let source = Source::new(&WRITING.replace("DISCARD", text));
        // The number of a pixel is bound; the others follow from the quad.
        let quads: Vec<Quad> = (0..7).map(|quad| Quad { x: 2 * quad, live: 0b1101, ..LIVE }).collect();
        let primitives = [Primitive::default()];
        let numbers: Vec<u8> = (0..28u32).flat_map(u32::to_le_bytes).collect();
        let wanted: Vec<u32> = (0..28).filter(|&pixel| is_written[pixel as usize % 4]).collect();
        for code in codes(&source, 1) {
            let (list, image) = (AtomicBuffer::zeroed(128), AtomicBuffer::zeroed(4 * 16 * 2));
            let mut call = code.call();
            call.reinterpret_inputs(true).input("V", 0, VertexBufferView::u32x1(&numbers, 4)).expect("it has it");
            call.unordered_access(1, MemoryView::raw(&list)).expect("it has it");
            let layout = shaderjit::ImageLayout::texture_2d(shaderjit::TexelFormat::R32Uint, 16, 2);
            call.unordered_access(2, MemoryView::image(&image, layout)).expect("it has it");
            let quads = Quads { quads: &quads, primitives: &primitives, planes: &[], samples: 1 };
            let outputs = call.pixels(&quads).expect("the call runs");
            let found = words(&list);
            assert_eq!(found[0] as usize, wanted.len(), "{:?} lanes", code.lanes());
            let mut appended = found[1..=wanted.len()].to_vec();
            assert_eq!(appended, wanted, "in the order of the pixels");
            appended.sort_unstable();
            assert_eq!(appended, wanted);
            for pixel in 0..28usize {
                let place = pixel / 4 * 2 + pixel % 2 + pixel % 4 / 2 * 16;
                let stored = if is_written[pixel % 4] { pixel as u32 } else { 0 };
                assert_eq!(words(&image)[place], stored);
                // Those that are gone have helped.
                let x = (pixel / 4 * 2) as f32 + 0.5;
                assert_eq!(column(&outputs, 0, 0)[pixel], (x + 1.0) * (x + 1.0) - x * x);
            }
            let discarded: Vec<bool> = outputs.discarded().collect();
            assert_eq!(discarded[0..4], if text == discard { [false, true, false, true] } else { [false; 4] });
        }
    }
}

#[test]
fn ordered_views_are_accessed_primitive_by_primitive() {
    // Each pixel makes of its texel t three times t, and its number.
    let source = Source::new(
        "ps_5_0
        dcl_input_ps constant v0.xyzw
        dcl_input_ps_siv linear noperspective v1.xy, position
        dcl_uav_typed_texture2d!0x20000 (uint,uint,uint,uint) u1
        ftou r0.xy, v1.xyxx
        ld_uav_typed r1.x, r0.xyyy, u1.xyzw
        imad r1.x, r1.x, l(3), v0.x
        store_uav_typed u1.xyzw, r0.xyyy, r1.xxxx",
    );
    assert!(codes(&source, 1)[0].interface().pixel.as_ref().is_some_and(|pixel| pixel.ordered));
    let planes: Vec<Plane> = (1..=9).flat_map(|number| [Plane::constant(number); 4]).collect();
    let primitives = [Primitive::default(); 9];
    let quads: Vec<Quad> = (0..9).map(|primitive| Quad { primitive, x: 2 * (primitive / 8), ..LIVE }).collect();
    for code in codes(&source, 1) {
        let image = AtomicBuffer::zeroed(4 * 4 * 2);
        let mut call = code.call();
        let layout = shaderjit::ImageLayout::texture_2d(shaderjit::TexelFormat::R32Uint, 4, 2);
        call.unordered_access(1, MemoryView::image(&image, layout)).expect("it has it");
        call.pixels(&Quads { quads: &quads, primitives: &primitives, planes: &planes, samples: 1 }).expect("it runs");
        let all = (1..=8).fold(0, |texel, number| texel * 3 + number);
        assert_eq!(words(&image), [all, all, 9, 9, all, all, 9, 9], "{:?} lanes", code.lanes());
    }
}

#[test]
fn outputs_have_their_meaning() {
    let source = Source::new(
        "ps_5_0
        dcl_globalFlags forceEarlyDepthStencil
        discard_nz v0.x
        mov oDepthGE.x, l(0.5)
        mov oMask.x, l(5)
        mov o0.xyzw, l(1.0, 2.0, 3.0, 4.0)",
    );
    let code = &codes(&source, 1)[0];
    let interface = code.interface();
    let pixel = interface.pixel.as_ref().expect("it is a pixel shader");
    assert!(pixel.early_depth_stencil);
    let depth = PixelOutput::Depth(DepthOutput::GreaterEqual);
    assert_eq!(pixel.outputs, [Some(PixelOutput::Target(0)), Some(depth), Some(PixelOutput::Coverage)]);
    // Colours alone, into memory of the caller's.
    let planes = vec![Plane::default(); 4];
    let primitives = [Primitive::default()];
    let quads = Quads { quads: &[LIVE; 3], primitives: &primitives, planes: &planes, samples: 1 };
    let layout = OutputLayout::none(code).with(0, Place { offset: 4, stride: 20 });
    let mut bytes = vec![0xee; 4 + 12 * 20];
    code.call().pixels_into(&quads, &layout, &mut bytes).expect("the call runs");
    let row: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].into_iter().flat_map(f32::to_le_bytes).chain([0xee; 4]).collect();
    assert!(bytes[4..].chunks(20).all(|found| found == row));
    let short = code.call().pixels_into(&quads, &layout, &mut bytes[..200]);
    assert!(matches!(short, Err(CallError::ShortBuffer { needed: 240, available: 200, .. })), "{short:?}");
}

#[test]
fn what_quads_refer_to_must_be_there() {
    let source = Source::new("ps_5_0\nmov o0.xyzw, v0.xyzw");
    let code = &codes(&source, 1)[0];
    let call = code.call();
    let (primitives, planes) = ([Primitive::default(); 2], [SLOPE; 8]);
    let run = |quad: Quad, planes: &[Plane], samples| {
        call.pixels(&Quads { quads: &[quad], primitives: &primitives, planes, samples }).map(|outputs| outputs.count())
    };
    assert_eq!(run(LIVE, &planes, 1), Ok(4));
    let invalid = |what: &str| Err(CallError::Invalid(what.to_string()));
    assert_eq!(run(LIVE, &planes[1..], 1), invalid("7 planes of 8 that 2 primitives have"));
    let what = "quad 0: primitive 2 of 2, sample 0 of 1";
    assert_eq!(run(Quad { primitive: 2, ..LIVE }, &planes, 1), invalid(what));
    let what = "quad 0: primitive 0 of 2, sample 4 of 4";
    assert_eq!(run(Quad { sample: 4, ..LIVE }, &planes, 4), invalid(what));
    assert_eq!(run(LIVE, &planes, 3), invalid("pixels of 3 samples"));
    assert_eq!(call.pixels(&Quads { samples: 1, ..Quads::default() }).map(|outputs| outputs.count()), Ok(0));
    // Places and slopes may be anything.
    let wild = Plane { value: f32::NAN, dx: f32::INFINITY, dy: -f32::MAX };
    let far = Quad { x: u32::MAX, y: u32::MAX, coverage: [u16::MAX; 4], live: u8::MAX, ..LIVE };
    assert_eq!(run(far, &[wild; 8], 16), Ok(4));
    // Vertices are no pixels.
    let vertices = Shader::parse(&Source::new("vs_5_0\nmov o0.xyzw, v0.xyzw").container()).expect("it parses");
    let vertices = engine().compile(&vertices, &CompileOptions::default()).expect("it compiles");
    let refused = vertices.call().pixels(&Quads { samples: 1, ..Quads::default() }).map(drop);
    assert!(matches!(refused, Err(CallError::WrongStage { kind: "pixels", .. })));
}
