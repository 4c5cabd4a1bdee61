//! A PICA200 geometry shader: t31, two triangles an invocation. What is a vertex elsewhere is an invocation here.

use crate::contender::{Contender, Contenders, WAYS};
use crate::draw::{data, floats};
use crate::engines::Engines;
use crate::plain::pica::{Machine, Program, Stage};
use crate::plain::vertex::Vec4;
use shaderjit::container::Shbin;
use shaderjit::pica::{EmittedTriangles, GeometryState};
use shaderjit::{Backend, CompileOptions, CompiledShader, Engine, Lanes, PicaUniforms, Shader, VertexBufferView};
use std::sync::Arc;

/// The geometry shader's number in its container.
const ENTRY: usize = 1;
/// Input registers that it reads: three vertices of two attributes.
const INPUTS: usize = 6;
/// Output registers that it emits.
const EMITTED: u16 = 0b11;
/// Bytes of a vertex of the corpus, and of a triangle of its references.
const CORPUS: [usize; 2] = [256, 776];

/// What is run.
pub struct Primitives {
    container: Vec<u8>,
    pub shader: Shader,
    /// Invocations.
    pub count: u32,
    uniforms: Vec<u8>,
    /// Six registers an invocation.
    inputs: Vec<u8>,
    /// Of each vertex of each triangle the registers that are emitted.
    pub reference: Vec<f32>,
}

impl Primitives {
    pub fn new(count: u32) -> Primitives {
        let corpus = data("pica/inputs/normal256.bin");
        let invocations = corpus.chunks_exact(CORPUS[0]).cycle().take(count as usize);
        let triangles = data("pica/t31_geo_point.d1.normal256.ref.gsout");
        let triangles = triangles.chunks_exact(CORPUS[1]).cycle().take(2 * count as usize);
        let vertices = triangles.flat_map(|triangle| triangle[8..].chunks_exact(CORPUS[0]));
        let emitted: Vec<u8> = vertices.flat_map(|vertex| &vertex[..32]).copied().collect();
        let container = data("pica/t31_geo_point.shbin");
        Primitives {
            shader: Shader::parse(&container).expect("the container is well-formed"),
            container,
            count,
            uniforms: data("pica/t31_geo_point.d1.uni.bin"),
            inputs: invocations.flat_map(|invocation| &invocation[..16 * INPUTS]).copied().collect(),
            reference: floats(&emitted),
        }
    }

    /// Bytes of input and output.
    pub fn bytes(&self) -> usize {
        self.inputs.len() + size_of_val(&self.reference[..])
    }

    /// What to compile it for.
    pub fn options(backend: Backend, lanes: Lanes) -> CompileOptions {
        CompileOptions::default().entry(ENTRY).backend(backend).lanes(lanes)
    }
}

/// Everybody. Nobody has written it with SIMD.
pub fn all<'a>(primitives: &'a Primitives, engines: &Engines) -> Contenders<'a> {
    let ours = |(backend, vectors, lanes)| {
        let ours = Ours::new(primitives, engines.of(vectors)?, backend, lanes);
        Some(Box::new(ours) as Box<dyn Contender>)
    };
    let [interpreter, narrow, twice, avx2, avx512] = WAYS.map(ours);
    let plain = Box::new(Plain::new(primitives));
    [interpreter, narrow, twice, avx2, avx512, Some(plain), None, None, None]
}

/// The library. A run is a call from its beginning, the triangles in memory that it asks for.
struct Ours<'a> {
    primitives: &'a Primitives,
    uniforms: PicaUniforms,
    code: Arc<CompiledShader>,
    triangles: EmittedTriangles,
}

impl<'a> Ours<'a> {
    fn new(primitives: &'a Primitives, engine: &Engine, backend: Backend, lanes: Lanes) -> Ours<'a> {
        let options = Primitives::options(backend, lanes);
        Ours {
            primitives,
            uniforms: PicaUniforms::from_bytes(&primitives.uniforms).expect("uniforms are 1556 bytes"),
            code: engine.compile(&primitives.shader, &options).expect("the program is supported"),
            triangles: EmittedTriangles::default(),
        }
    }
}

impl Contender for Ours<'_> {
    fn run(&mut self) {
        let mut call = self.code.call();
        call.pica_uniforms(&self.uniforms);
        for register in 0..INPUTS {
            let attribute = VertexBufferView::f32x4(&self.primitives.inputs[16 * register..], 16 * INPUTS);
            call.input_element(register, attribute).expect("v0 to v5");
        }
        let mut state = GeometryState::default();
        call.run_geometry_into(0..self.primitives.count, &mut state, &mut self.triangles).expect("everything is bound");
    }

    fn outputs(&self) -> Vec<f32> {
        let vertices = self.triangles.iter().flat_map(|triangle| (0..3).flat_map(move |n| triangle.vertex(n)));
        vertices.flatten().map(f32::from_bits).collect()
    }
}

/// One invocation after the other, evaluated.
struct Plain {
    program: Program,
    machine: Machine,
    stage: Stage,
    inputs: Vec<Vec4>,
}

impl Plain {
    fn new(primitives: &Primitives) -> Plain {
        let shbin = Shbin::parse(&primitives.container).expect("the container is well-formed");
        let program = Program::new(&shbin, ENTRY, &primitives.uniforms);
        let machine = Machine::new(&program);
        let inputs = floats(&primitives.inputs).as_chunks().0.to_vec();
        Plain { program, machine, stage: Stage::new(EMITTED), inputs }
    }
}

impl Contender for Plain {
    fn run(&mut self) {
        self.stage.primitives.clear();
        for inputs in self.inputs.chunks_exact(INPUTS) {
            self.program.invoke(&mut self.machine, &mut self.stage, inputs);
        }
    }

    fn outputs(&self) -> Vec<f32> {
        let triangles = self.stage.primitives.iter();
        assert_eq!(triangles.clone().position(|triangle| !triangle.inverted), Some(1), "the first of two is inverted");
        triangles
            .flat_map(|triangle| triangle.vertices.iter().flat_map(|vertex| &vertex[..2]))
            .flatten()
            .copied()
            .collect()
    }
}
