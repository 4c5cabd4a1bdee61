//! Who runs a draw call, and with what.

use crate::draw::{Draw, Uniforms, VERTICES, floats};
use crate::plain::kernels::{k1, k2, k3, k4};
use crate::plain::pica::{Machine, Program};
use crate::plain::vertex::{self, Vec4, Vertex};
use shaderjit::container::Container;
use shaderjit::{Backend, CompiledShader, Engine, Lanes, OutputLayout};
use std::sync::Arc;

/// What the contenders are called. The first three are shaderjit.
pub const NAMES: [&str; 4] = ["interpreter", "JIT N=1", "JIT N=2", "plain Rust"];

/// Something that can do one draw call. What does not depend on the vertices or uniforms has been done before.
pub trait Contender {
    /// Shades every vertex.
    fn run(&mut self);

    /// What [`run`](Self::run) computed.
    fn outputs(&self) -> Vec<f32>;
}

/// Everybody, in the order of [`NAMES`].
pub fn all<'a>(draw: &'a Draw, engine: &Engine) -> [Box<dyn Contender + 'a>; NAMES.len()] {
    [
        Box::new(Ours::new(draw, engine, Backend::Interpreter, Lanes::Four)),
        Box::new(Ours::new(draw, engine, Backend::Jit, Lanes::Four)),
        Box::new(Ours::new(draw, engine, Backend::Jit, Lanes::Eight)),
        plain(draw),
    ]
}

/// The library. A run is a call from its beginning: bind, shade, store into a buffer that is there.
struct Ours<'a> {
    draw: &'a Draw,
    code: Arc<CompiledShader>,
    layout: OutputLayout,
    outputs: Vec<u8>,
}

impl<'a> Ours<'a> {
    fn new(draw: &'a Draw, engine: &Engine, backend: Backend, lanes: Lanes) -> Ours<'a> {
        let code = engine.compile(&draw.shader, &draw.options(backend, lanes)).expect("the program is supported");
        let (layout, stride) = draw.layout(&code);
        Ours { draw, code, layout, outputs: vec![0; VERTICES as usize * stride] }
    }
}

impl Contender for Ours<'_> {
    fn run(&mut self) {
        let call = self.draw.call(&self.code).expect("the shader has what is bound");
        call.run_into(0..VERTICES, &self.layout, &mut self.outputs).expect("everything is bound");
    }

    fn outputs(&self) -> Vec<f32> {
        floats(&self.outputs)
    }
}

fn plain(draw: &Draw) -> Box<dyn Contender + '_> {
    let constants = match &draw.uniforms {
        Uniforms::Constants(constants) => constants,
        Uniforms::Pica(uniforms) => return Box::new(PlainPica::new(draw, uniforms)),
    };
    match draw.name {
        "K1" => Box::new(PlainKernel::new(k1, draw, constants)),
        "K2" => Box::new(PlainKernel::new(k2, draw, constants)),
        "K3" => Box::new(PlainKernel::new(k3, draw, constants)),
        "K4" => Box::new(PlainKernel::new(k4, draw, constants)),
        name => unreachable!("nobody translated {name}"),
    }
}

/// K1 to K4, translated by hand.
struct PlainKernel<F, const N: usize> {
    kernel: F,
    uniforms: vertex::Uniforms,
    vertices: Vec<Vertex>,
    outputs: Vec<[f32; N]>,
}

impl<F: Fn(&vertex::Uniforms, &Vertex) -> [f32; N], const N: usize> PlainKernel<F, N> {
    fn new(kernel: F, draw: &Draw, constants: &[u8]) -> PlainKernel<F, N> {
        let vertices = Vertex::read_all(&draw.vertices);
        let outputs = vec![[0.0; N]; vertices.len()];
        PlainKernel { kernel, uniforms: vertex::Uniforms::read(constants), vertices, outputs }
    }
}

impl<F: Fn(&vertex::Uniforms, &Vertex) -> [f32; N], const N: usize> Contender for PlainKernel<F, N> {
    fn run(&mut self) {
        for (output, vertex) in self.outputs.iter_mut().zip(&self.vertices) {
            *output = (self.kernel)(&self.uniforms, vertex);
        }
    }

    fn outputs(&self) -> Vec<f32> {
        self.outputs.as_flattened().to_vec()
    }
}

/// A PICA program, evaluated.
struct PlainPica<'a> {
    draw: &'a Draw,
    program: Program,
    machine: Machine,
    vertices: Vec<Vec4>,
    outputs: Vec<Vec4>,
}

impl<'a> PlainPica<'a> {
    fn new(draw: &'a Draw, uniforms: &[u8]) -> PlainPica<'a> {
        let Some(Container::Shbin(shbin)) = draw.shader.container() else {
            unreachable!("PICA programs come in SHBINs")
        };
        let program = Program::new(&shbin, 0, uniforms);
        let machine = Machine::new(&program);
        let vertices = floats(&draw.vertices).as_chunks().0.to_vec();
        let outputs = vec![[0.0; 4]; VERTICES as usize * draw.outputs.len()];
        PlainPica { draw, program, machine, vertices, outputs }
    }
}

impl Contender for PlainPica<'_> {
    fn run(&mut self) {
        let registers = &self.draw.outputs;
        let vertices = self.vertices.chunks_exact(self.draw.streams.len());
        for (outputs, inputs) in self.outputs.chunks_exact_mut(registers.len()).zip(vertices) {
            let shaded = self.program.shade(&mut self.machine, inputs);
            for (output, &register) in outputs.iter_mut().zip(registers) {
                *output = shaded[register as usize];
            }
        }
    }

    fn outputs(&self) -> Vec<f32> {
        self.outputs.as_flattened().to_vec()
    }
}
