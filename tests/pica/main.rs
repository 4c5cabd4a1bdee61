//! PICA200 programs as an emulator holds them: words, descriptors, an entry point.

mod assembler;
mod attributes;
mod float;
mod flow;
mod geometry;
mod random;
mod specialize;
mod threads;

use shaderjit::{Backend, CompileOptions, Config, Engine, Lanes, Outputs, PicaUniforms, Shader, VertexBufferView};

/// Bytes of one vertex: sixteen registers of four floats.
const VERTEX: usize = 256;

fn engine() -> Engine {
    Engine::new(Config::default()).expect("this machine has native code")
}

/// What a program makes of some vertices: the same on the interpreter and on native code of either width, to the bit.
fn run_everywhere(engine: &Engine, shader: &Shader, options: &CompileOptions, vertices: &[u8]) -> Outputs {
    let run = |options: &CompileOptions| {
        let code = engine.compile(shader, options).expect("the program compiles");
        let mut call = code.call();
        for register in 0..16 {
            call.input_element(register, VertexBufferView::f32x4(&vertices[16 * register..], VERTEX))
                .expect("v0 to v15");
        }
        call.pica_uniforms(&PicaUniforms::default());
        call.run(0..(vertices.len() / VERTEX) as u32).expect("the call runs")
    };
    let reference = run(&options.clone().backend(Backend::Interpreter));
    for lanes in [Lanes::Four, Lanes::Eight] {
        let native = run(&options.clone().lanes(lanes));
        assert_eq!(native.first_difference(&reference), None, "native code with {lanes:?} lanes");
    }
    reference
}
