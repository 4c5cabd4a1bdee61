//! The draw calls of the benches through the library, with the vertices and outputs laid out as a program has them: K1
//! to K4 against a reference computed in 64 bits, PICA programs against an evaluator of the corpus.

#[path = "../benches/draw/mod.rs"]
mod draw;

use draw::{Draw, VERTICES, floats, relative_difference};
use shaderjit::{Backend, CompileOptions, Config, Engine, Lanes, Shader, Vectors};

/// The largest error, as a part of the channel's largest value.
const TOLERANCE: f32 = 1e-4;

/// All outputs of a draw call.
fn shade(draw: &Draw, engine: &Engine, backend: Backend, lanes: Lanes) -> Vec<f32> {
    let code = engine.compile(&draw.shader, &draw.options(backend, lanes)).unwrap();
    let (layout, stride) = draw.layout(&code);
    let mut outputs = vec![0xff; VERTICES as usize * stride];
    draw.call(&code).unwrap().run_into(0..VERTICES, &layout, &mut outputs).unwrap();
    floats(&outputs)
}

fn check(draw: &Draw) {
    let engine = Engine::new(Config::default()).unwrap();
    let native = shade(draw, &engine, Backend::Jit, Lanes::Four);
    let channels = native.len() / VERTICES as usize;
    let difference = relative_difference(&native, &draw.reference, channels);
    assert!(difference <= TOLERANCE, "{}: off by {difference:e} of the channel's maximum", draw.name);
    for (backend, lanes) in [(Backend::Jit, Lanes::Eight), (Backend::Interpreter, Lanes::Four)] {
        let other = shade(draw, &engine, backend, lanes);
        let differs = |&value: &usize| native[value].to_bits() != other[value].to_bits();
        if let Some(value) = (0..native.len()).find(differs) {
            let (vertex, channel) = (value / channels, value % channels);
            panic!("{}: vertex {vertex}, channel {channel} differs on {backend:?}, {lanes:?}", draw.name);
        }
    }
}

/// Tests run side by side, so each draw call is one.
macro_rules! draws {
    ($( $test:ident $number:literal; )*) => {
        $( #[test] fn $test() { check(&Draw::all()[$number]); } )*
    };
}

draws! {
    k1_transform 0;
    k2_skinning 1;
    k3_noise 2;
    k4_waves 3;
    pica_transform 4;
    pica_skinning 5;
    pica_loop_call_if 6;
    pica_chain 7;
    pica_lights 8;
}

/// One vector a value; two of 128 bits for a loop whose rounds wait for each other; and what the caller says, if he
/// does.
#[test]
fn the_number_of_lanes_suits_the_program() {
    for vectors in Vectors::of_this_machine() {
        let engine = Engine::new(Config::default().vectors(vectors)).unwrap();
        for draw in Draw::all() {
            let options = draw.options(Backend::Jit, Lanes::Four);
            assert_eq!(engine.compile(&draw.shader, &options).unwrap().lanes(), Lanes::Four);
            let chosen = engine.compile(&draw.shader, &CompileOptions::default()).unwrap().lanes();
            let suits = match vectors {
                Vectors::Avx512 => Lanes::Sixteen,
                Vectors::Avx2 => Lanes::Eight,
                _ => Lanes::Four,
            };
            assert_eq!(chosen, suits, "{}, {vectors:?}", draw.name);
        }
    }
    let engine = Engine::new(Config::default().vectors(Vectors::Cranelift)).unwrap();
    let march = Shader::parse(include_bytes!("data/dxbc/ps_raymarch/PS.ps_5_0.fxc101.dxbc")).unwrap();
    assert_eq!(engine.compile(&march, &CompileOptions::default()).unwrap().lanes(), Lanes::Eight);
}
