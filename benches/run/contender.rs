//! Who runs a draw call, and with what.

use crate::draw::{Draw, Uniforms, floats};
use crate::engines::{Engines, NATIVE_WAYS};
use crate::hand::{self, Width};
use crate::names::{OURS, contenders};
use crate::plain::kernels::{k1, k2, k3, k4};
use crate::plain::pica::{Machine, Program};
use crate::plain::vertex::{self, Vec4, Vertex};
use shaderjit::container::Container;
use shaderjit::{Backend, CompiledShader, Engine, Lanes, OutputLayout, Vectors};
use std::sync::Arc;

/// The ways in which shaderjit does it: what runs it, on which vectors, on how many lanes.
pub const WAYS: [(Backend, Vectors, Lanes); OURS] = {
    let mut ways = [(Backend::Interpreter, Vectors::Cranelift, Lanes::Four); OURS];
    let mut way = 0;
    while way < NATIVE {
        let (vectors, lanes) = NATIVE_WAYS[way];
        way += 1;
        ways[way] = (Backend::Jit, vectors, lanes);
    }
    ways
};

/// How many of them make native code.
pub const NATIVE: usize = NATIVE_WAYS.len();

/// What the contenders are called: first all [`WAYS`].
pub const NAMES: [&str; OURS + 4] = contenders(["plain Rust", "hand 128", "hand AVX2", "hand AVX-512"]);

/// Everybody who can do a draw call, in the order of [`NAMES`].
pub type Contenders<'a> = [Option<Box<dyn Contender + 'a>>; NAMES.len()];

/// Something that can do one draw call. What does not depend on the vertices or uniforms has been done before.
pub trait Contender {
    /// Shades every vertex.
    fn run(&mut self);

    /// What [`run`](Self::run) computed.
    fn outputs(&self) -> Vec<f32>;
}

/// Who can do this draw call. There is hand-written code for K1 to K4, on some machines.
pub fn all<'a>(draw: &'a Draw, engines: &Engines) -> Contenders<'a> {
    let ours = |(backend, vectors, lanes)| {
        let ours = Ours::new(draw, engines.of(vectors)?, backend, lanes);
        Some(Box::new(ours) as Box<dyn Contender>)
    };
    let by_hand = |width| HandWritten::new(draw, width).map(|kernel| Box::new(kernel) as Box<dyn Contender>);
    let by_hand = [Width::Bits128, Width::Bits256, Width::Bits512].map(by_hand);
    let mut all = WAYS.map(ours).into_iter().chain([Some(plain(draw))]).chain(by_hand);
    std::array::from_fn(|_| all.next().expect("there are as many names"))
}

/// Vertices of a draw call.
pub fn count(draw: &Draw) -> u32 {
    (draw.vertices.len() / draw.stride) as u32
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
        assert_eq!(code.is_native(), backend == Backend::Jit, "{}: {:?}", draw.name, code.native_status());
        let (layout, stride) = draw.layout(&code);
        Ours { draw, code, layout, outputs: vec![0; count(draw) as usize * stride] }
    }
}

impl Contender for Ours<'_> {
    fn run(&mut self) {
        let mut call = self.code.call();
        self.draw.bind(&mut call).expect("the shader has what is bound");
        call.run_into(0..count(self.draw), &self.layout, &mut self.outputs).expect("everything is bound");
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

/// K1 to K4, written with SIMD. A run reads the vertices as the library does.
struct HandWritten<'a> {
    kernel: hand::Kernel,
    uniforms: vertex::Uniforms,
    vertices: &'a [u8],
    outputs: Vec<u8>,
}

impl<'a> HandWritten<'a> {
    fn new(draw: &'a Draw, width: Width) -> Option<HandWritten<'a>> {
        let Uniforms::Constants(constants) = &draw.uniforms else { return None };
        let kernel = hand::Kernel::find(draw.name, width)?;
        let outputs = vec![0; count(draw) as usize * kernel.stride()];
        Some(HandWritten { kernel, uniforms: vertex::Uniforms::read(constants), vertices: &draw.vertices, outputs })
    }
}

impl Contender for HandWritten<'_> {
    fn run(&mut self) {
        self.kernel.shade(&self.uniforms, self.vertices, &mut self.outputs);
    }

    fn outputs(&self) -> Vec<f32> {
        floats(&self.outputs)
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
        let outputs = vec![[0.0; 4]; count(draw) as usize * draw.outputs.len()];
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
