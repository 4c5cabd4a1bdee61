//! K1 to K4.

use super::{Draw, Stream, Uniforms, VERTICES, data, floats};
use shaderjit::Shader;
use shaderjit::{CompileOptions, VertexFormat};

/// Bytes of a vertex.
const STRIDE: usize = 40;

/// What those bytes are.
const STREAMS: [(&str, VertexFormat, usize); 5] = [
    ("POSITION", VertexFormat::F32x3, 0),
    ("NORMAL", VertexFormat::F32x3, 12),
    ("TEXCOORD", VertexFormat::F32x2, 24),
    ("BLENDWEIGHT", VertexFormat::Unorm8x4, 32),
    ("BLENDINDICES", VertexFormat::Uint8x4, 36),
];

impl Draw {
    /// Transform, skinning, noise, waves.
    pub fn kernels() -> Vec<Draw> {
        [("K1", "k1"), ("K2", "k2"), ("K3", "k3"), ("K4", "k4")].map(|(name, file)| kernel(name, file)).into()
    }
}

fn kernel(name: &'static str, file: &str) -> Draw {
    let shader = Shader::parse(&data(&format!("perf/{file}.dxbc"))).expect("the container is well-formed");
    let outputs = shader.interface(&CompileOptions::default()).expect("the program is supported").outputs;
    let vertices = data("perf/verts10k.bin");
    assert_eq!(vertices.len(), VERTICES as usize * STRIDE);
    let stream = |&(semantic, format, offset): &_| Stream { semantic: String::from(semantic), format, offset };
    Draw {
        name,
        shader,
        vertices,
        stride: STRIDE,
        streams: STREAMS.iter().map(stream).collect(),
        uniforms: Uniforms::Constants(data("perf/uniforms.bin")),
        outputs: outputs.iter().map(|element| element.register).collect(),
        reference: floats(&data(&format!("perf/ref_{file}.bin"))),
    }
}
