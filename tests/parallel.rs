//! Batches on many threads: the bytes and the errors of one.
#![cfg(feature = "rayon")]

#[path = "../benches/draw/mod.rs"]
#[expect(dead_code, reason = "engines are compared with each other")]
mod draw;

use draw::{Draw, data};
use shaderjit::error::CallError;
use shaderjit::{
    Backend, CompileOptions, CompiledShader, Config, Engine, Indices, Lanes, OutputLayout, PicaUniforms, Place, Shader,
    VertexBufferView,
};

/// xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % bound
    }
}

/// Bytes of an output element.
fn bytes(code: &CompiledShader, element: usize) -> usize {
    4 * code.interface().outputs[element].components() as usize
}

/// Elements in any order, some left out, in rows with gaps, in planes, or in several planes of rows; and the buffer
/// they need. In the last form planes lie over each other.
fn random_layout(random: &mut Random, code: &CompiledShader, count: usize) -> (OutputLayout, usize) {
    let mut elements: Vec<usize> = (0..code.interface().outputs.len()).collect();
    for place in (1..elements.len()).rev() {
        elements.swap(place, random.below(place + 1));
    }
    elements.truncate(1 + random.below(elements.len()));
    let form = random.below(4);
    let planes: Vec<&[usize]> = match form {
        0 => vec![&elements],
        1 => elements.chunks(1).collect(),
        _ => elements.chunks(1 + random.below(elements.len())).collect(),
    };
    let mut layout = OutputLayout::none(code);
    let mut end = 4 * random.below(3);
    for plane in planes {
        let gap = 4 * random.below(2);
        let stride = plane.iter().map(|&element| bytes(code, element) + gap).sum();
        let mut offset = if form == 3 { end / 2 } else { end };
        for &element in plane {
            layout = layout.with(element, Place { offset, stride });
            offset += bytes(code, element) + gap;
        }
        end = end.max(offset) + stride * count;
    }
    (layout, end)
}

#[test]
fn any_layout_holds_what_one_thread_stores() {
    let engine = Engine::new(Config::default()).unwrap();
    let draws = Draw::all();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let mut random = Random(0x1234_5678_9abc_def1);
    for draw in &draws {
        for lanes in [Lanes::Four, Lanes::Eight] {
            let options = CompileOptions::default().lanes(lanes);
            let code = engine.compile(&draw.shader, &options).unwrap();
            let mut call = draw.call(&code).unwrap();
            call.unbound_as_zero(true);
            for _ in 0..12 {
                let (start, end) = (random.below(3000), 10_000 - random.below(3000));
                let (start, end) =
                    if random.below(4) == 0 { (start, start + random.below(5000)) } else { (start, end) };
                let (layout, size) = random_layout(&mut random, &code, end - start);
                let range = start as u32..end as u32;
                let [mut one, mut many] = [vec![0xa5; size], vec![0xa5; size]];
                call.run_into(range.clone(), &layout, &mut one).unwrap();
                pool.install(|| call.run_parallel_into(range.clone(), &layout, &mut many)).unwrap();
                assert!(one == many, "{} {lanes:?} {range:?} {layout:?}", draw.name);
            }
        }
    }
}

#[test]
fn the_interpreter_runs_on_many_threads_too() {
    let engine = Engine::new(Config::default()).unwrap();
    let draw = &Draw::all()[0];
    let native = engine.compile(&draw.shader, &draw.options(Backend::Jit, Lanes::Four)).unwrap();
    let expected = draw.call(&native).unwrap().run(5..9500).unwrap();
    for backend in [Backend::Interpreter, Backend::Tiered] {
        let code = engine.compile(&draw.shader, &draw.options(backend, Lanes::Four)).unwrap();
        let outputs = draw.call(&code).unwrap().run_parallel(5..9500).unwrap();
        assert!(outputs.first_difference(&expected).is_none(), "{backend:?}");
    }
}

#[test]
fn errors_are_those_of_one_thread() {
    let draw = &Draw::all()[1];
    let engine = Engine::new(Config::default()).unwrap();
    let code = engine.compile(&draw.shader, &draw.options(Backend::Jit, Lanes::Four)).unwrap();
    let call = draw.call(&code).unwrap();
    let (layout, stride) = draw.layout(&code);
    let mut outputs = vec![0; 9000 * stride];
    #[expect(clippy::reversed_empty_ranges, reason = "it is an error")]
    let cases = [(0..9001, 9000), (0..10_001, 9000), (9000..8000, 9000), (0..9000, 8999)];
    for (range, room) in cases {
        let bytes = &mut outputs[..room * stride];
        let one = call.run_into(range.clone(), &layout, bytes).unwrap_err();
        assert_eq!(call.run_parallel_into(range.clone(), &layout, bytes).unwrap_err(), one);
        assert_eq!(call.run_parallel(range.clone()).err(), call.run(range).err());
    }
    let unbound = code.call();
    assert_eq!(unbound.run_parallel(0..9000).unwrap_err(), unbound.run(0..9000).unwrap_err());
    assert_eq!(call.run_parallel(7..7).unwrap().count(), 0);
}

#[test]
fn loops_that_run_too_long_end_every_piece() {
    // Each vertex loops `i0.x` times, more than there is fuel for.
    let engine = Engine::new(Config::default().fuel(3)).unwrap();
    let shader = Shader::parse(&data("pica/t25_skinning.shbin")).unwrap();
    let code = engine.compile(&shader, &CompileOptions::default()).unwrap();
    let uniforms = PicaUniforms { ints: [[200, 0, 1, 0]; 4], ..PicaUniforms::default() };
    let zeros = [0; 16];
    let mut call = code.call();
    call.unbound_as_zero(true).pica_uniforms(&uniforms).input_element(0, VertexBufferView::f32x4(&zeros, 0)).unwrap();
    assert_eq!(call.run(0..100_000).unwrap_err(), CallError::OutOfFuel { fuel: 3 });
    assert_eq!(call.run_parallel(0..100_000).unwrap_err(), CallError::OutOfFuel { fuel: 3 });
}

#[test]
fn draws_are_what_one_thread_draws() {
    let engine = Engine::new(Config::default()).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let mut random = Random(0x0123_4567_89ab_cdef);
    let meshes: [Box<dyn Fn(u32) -> bool>; 5] = [
        Box::new(|_| true),
        Box::new(|vertex| vertex % 2000 > 3),
        Box::new(|vertex| vertex % 3 > 0),
        Box::new(|vertex| vertex < 3001 || vertex % 200 > 70),
        Box::new(|vertex| vertex % 3 == 0),
    ];
    for draw in &Draw::all()[..6] {
        for lanes in [Lanes::Four, Lanes::Eight] {
            let code = engine.compile(&draw.shader, &CompileOptions::default().lanes(lanes)).unwrap();
            let mut call = draw.call(&code).unwrap();
            call.unbound_as_zero(true);
            for drawn in &meshes {
                let indices: Vec<u32> = (0..10_000).filter(|&vertex| drawn(vertex)).rev().collect();
                let indices = Indices::U32(&indices);
                let one = call.run_indexed(indices, 0).unwrap();
                let many = pool.install(|| call.run_indexed_parallel(indices, 0)).unwrap();
                assert!(one.outputs.bytes() == many.outputs.bytes(), "{} {lanes:?}", draw.name);
                let (layout, size) = random_layout(&mut random, &code, one.outputs.count());
                let [mut one_into, mut many_into] = [vec![0xa5; size], vec![0xa5; size]];
                call.run_distinct_into(&one.vertices, &layout, &mut one_into).unwrap();
                pool.install(|| call.run_distinct_parallel_into(&one.vertices, &layout, &mut many_into)).unwrap();
                assert!(one_into == many_into, "{} {lanes:?} {layout:?}", draw.name);
            }
        }
    }
}

#[test]
fn errors_of_draws_are_those_of_one_thread() {
    let draw = &Draw::all()[1];
    let engine = Engine::new(Config::default()).unwrap();
    let code = engine.compile(&draw.shader, &draw.options(Backend::Jit, Lanes::Four)).unwrap();
    let call = draw.call(&code).unwrap();
    let far: Vec<u32> = (0..9000).chain([10_000]).collect();
    for (indices, base_vertex) in [(&far[..], 0), (&far[..9000], 1001), (&far[..9000], -1)] {
        let indices = Indices::U32(indices);
        let one = call.run_indexed(indices, base_vertex).map(drop).unwrap_err();
        assert_eq!(call.run_indexed_parallel(indices, base_vertex).map(drop), Err(one));
    }
    let drawn = call.run_indexed(Indices::U32(&far[..9000]), 0).unwrap();
    let (layout, stride) = draw.layout(&code);
    let mut short = vec![0; 9000 * stride - 1];
    let one = call.run_distinct_into(&drawn.vertices, &layout, &mut short).unwrap_err();
    assert_eq!(call.run_distinct_parallel_into(&drawn.vertices, &layout, &mut short), Err(one));
    let unbound = code.call();
    assert_eq!(
        unbound.run_indexed_parallel(Indices::U32(&far[..9000]), 0).map(drop),
        unbound.run_indexed(Indices::U32(&far[..9000]), 0).map(drop)
    );
}
