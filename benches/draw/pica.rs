//! PICA200 programs, with the vertices of the corpus over and over.

use super::{Draw, Stream, Uniforms, VERTICES, data, floats};
use shaderjit::Shader;
use shaderjit::VertexFormat;
use shaderjit::container::Shbin;

/// Bytes of a register.
const REGISTER: usize = 16;
/// Bytes of a vertex of the corpus: sixteen registers.
const CORPUS_VERTEX: usize = 16 * REGISTER;

impl Draw {
    /// Transform; skinning in a loop with relative addressing; loop, call and branches; a chain of 400 instructions,
    /// each of which waits for the one before; four lights with EX2 and LG2 in a loop.
    pub fn pica_programs() -> Vec<Draw> {
        let programs = [
            ("t01", "t01_transform", "normal256"),
            ("t25", "t25_skinning", "skin256"),
            ("t44", "t44_loop_call_if", "normal256"),
            ("t40", "t40_long", "normal256"),
        ];
        let mut draws: Vec<Draw> = programs.map(|(name, file, input)| program(name, file, input)).into();
        draws.push(Draw::pica_lights());
        draws
    }
}

fn program(name: &'static str, file: &str, input: &str) -> Draw {
    let bytes = data(&format!("pica/{file}.shbin"));
    let shbin = Shbin::parse(&bytes).expect("the container is well-formed");
    let dvle = shbin.dvle(0).expect("the executable is well-formed").expect("there is one");
    let registers = |mask: u16| (0..16).filter(move |register| mask >> register & 1 != 0);
    Draw {
        name,
        shader: Shader::parse(&bytes).expect("the container is well-formed"),
        vertices: repeat(&data(&format!("pica/inputs/{input}.bin")), dvle.input_mask),
        stride: registers(dvle.input_mask).count() * REGISTER,
        streams: registers(dvle.input_mask).enumerate().map(|(number, register)| stream(number, register)).collect(),
        uniforms: Uniforms::Pica(data(&format!("pica/{file}.d0.uni.bin"))),
        outputs: registers(dvle.output_mask).collect(),
        reference: floats(&repeat(&data(&format!("pica/{file}.d0.{input}.ref.out")), dvle.output_mask)),
    }
}

fn stream(number: usize, register: u32) -> Stream {
    Stream { semantic: format!("v{register}"), format: VertexFormat::F32x4, offset: number * REGISTER }
}

/// Some registers of the corpus's vertices, for as many vertices as a draw call has.
fn repeat(corpus: &[u8], registers: u16) -> Vec<u8> {
    let vertices = corpus.chunks_exact(CORPUS_VERTEX).cycle().take(VERTICES as usize);
    let rows = vertices.flat_map(|vertex| vertex.chunks_exact(REGISTER).enumerate());
    rows.filter(|(register, _)| registers >> register & 1 != 0).flat_map(|(_, row)| row).copied().collect()
}
