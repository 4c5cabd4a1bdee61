//! Native calls allocate nothing after the first of their kind, binding included: one test, for the allocator counts
//! what the whole process does.

#[path = "../benches/draw/mod.rs"]
#[expect(dead_code, reason = "nothing here asks for the references")]
mod draw;

use draw::{Draw, Uniforms, VERTICES};
use peak_alloc::PeakAlloc;
use shaderjit::{CompileOptions, Config, DistinctVertices, Engine, Indices, Lanes, PicaUniforms, VertexBufferView};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The most bytes allocated at any time during `run` above those before it, and those left behind, if not fewer.
fn allocated(run: impl FnOnce()) -> [isize; 2] {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    run();
    [HEAP.peak_usage(), HEAP.current_usage()].map(|bytes| bytes.wrapping_sub(before) as isize)
}

#[test]
fn calls_after_the_first_allocate_nothing() {
    let mesh: Vec<u32> = (0..60_000).map(|n| n * 7919 % VERTICES).collect();
    let halves: Vec<u16> = mesh.iter().map(|index| (index & !1) as u16).collect();
    let blocks: Vec<u16> = mesh.iter().filter(|&index| index % 100 < 90).map(|&index| index as u16).collect();
    let few = [0, VERTICES - 1, 77, 5000];
    let engine = Engine::new(Config::default()).unwrap();
    for draw in Draw::all() {
        for lanes in [Lanes::Four, Lanes::Eight] {
            // Compiled for other formats, so that the call looks for code of its own.
            let code = engine.compile(&draw.shader, &CompileOptions::default().lanes(lanes)).unwrap();
            let (layout, stride) = draw.layout(&code);
            let mut bytes = vec![0; VERTICES as usize * stride];
            let mut vertices = DistinctVertices::default();
            let uniforms = match &draw.uniforms {
                Uniforms::Constants(_) => PicaUniforms::default(),
                Uniforms::Pica(bytes) => PicaUniforms::from_bytes(bytes).unwrap(),
            };
            let mut call = code.call();
            let mut run_all = || {
                for instance in 0..2 {
                    call.instance(instance);
                    for stream in &draw.streams {
                        if let Some(element) = code.input(&stream.semantic, 0) {
                            let attribute =
                                VertexBufferView::new(stream.format, &draw.vertices[stream.offset..], draw.stride);
                            call.input_element(element, attribute).unwrap();
                        }
                    }
                    match &draw.uniforms {
                        Uniforms::Constants(bytes) => _ = call.constant_buffer(0, bytes).unwrap(),
                        Uniforms::Pica(_) => _ = call.pica_uniforms(&uniforms),
                    }
                    call.run_into(0..VERTICES, &layout, &mut bytes).unwrap();
                    call.run_into(5..18, &layout, &mut bytes).unwrap();
                    for indices in
                        [Indices::U32(&mesh), Indices::U16(&halves), Indices::U16(&blocks), Indices::U32(&few)]
                    {
                        call.run_indexed_into(indices, 0, &mut vertices, &layout, &mut bytes).unwrap();
                    }
                    call.run_distinct_into(&vertices, &layout, &mut bytes).unwrap();
                }
            };
            let [first, _] = allocated(&mut run_all);
            assert!(first > 0, "the allocator counts");
            assert_eq!(allocated(&mut run_all), [0, 0], "{} on {lanes:?}", draw.name);
        }
    }
}
