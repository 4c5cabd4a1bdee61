//! A draw call of so many vertices, and everybody who can do it.

use crate::contender::{self, Contenders, NATIVE};
use crate::draw::{Draw, VERTICES};
use crate::engines::{Engines, NATIVE_WAYS};
use crate::geometry::{self, Primitives};
use shaderjit::{Backend, CompileOptions, Lanes, Shader};

/// How many vertices the draw calls have that everybody does.
pub const SIZES: [u32; 2] = [1_000, VERTICES];

/// And those of K1 to K4 that do not fit into any cache. The interpreter is left out: its time for a vertex is the
/// same.
pub const LARGE: u32 = 1_000_000;

/// The draw calls of a race.
pub enum Source {
    Draw(Draw),
    Triangles(Primitives),
}

pub struct Race<'a> {
    pub name: &'a str,
    pub vertices: u32,
    /// What it should compute.
    pub reference: &'a [f32],
    pub contenders: Contenders<'a>,
    /// What moves as many bytes as its inputs and outputs are.
    pub copy: Memcpy,
    pub shader: &'a Shader,
    /// What to compile native code with, in each of the [ways](NATIVE_WAYS) to make it.
    pub options: [CompileOptions; NATIVE],
}

impl Source {
    /// All draw calls with every number of vertices.
    pub fn all() -> Vec<Source> {
        let mut sources = Vec::new();
        for size in SIZES {
            sources.extend(Draw::all().into_iter().map(|draw| Source::Draw(resized(draw, size))));
            sources.push(Source::Triangles(Primitives::new(size)));
        }
        sources
    }

    /// K1 to K4 with many vertices. They are large: one at a time.
    pub fn large() -> impl Iterator<Item = Source> {
        Draw::kernels().into_iter().map(|draw| Source::Draw(resized(draw, LARGE)))
    }

    /// Everybody, ready to run.
    pub fn race<'a>(&'a self, engines: &Engines) -> Race<'a> {
        let lanes: [Lanes; NATIVE] = NATIVE_WAYS.map(|(_, lanes)| lanes);
        match self {
            Source::Draw(draw) => {
                let vertices = contender::count(draw);
                let mut contenders = contender::all(draw, engines);
                if vertices == LARGE {
                    contenders[0] = None;
                }
                Race {
                    name: draw.name,
                    vertices,
                    reference: &draw.reference,
                    contenders,
                    copy: Memcpy::new(draw.vertices.len() + size_of_val(&draw.reference[..])),
                    shader: &draw.shader,
                    options: lanes.map(|lanes| draw.options(Backend::Jit, lanes)),
                }
            }
            Source::Triangles(primitives) => Race {
                name: "t31",
                vertices: primitives.count,
                reference: &primitives.reference,
                contenders: geometry::all(primitives, engines),
                copy: Memcpy::new(primitives.bytes()),
                shader: &primitives.shader,
                options: lanes.map(|lanes| Primitives::options(Backend::Jit, lanes)),
            },
        }
    }
}

/// The same draw call with another number of vertices: the first ones, or all of them over and over.
fn resized(mut draw: Draw, count: u32) -> Draw {
    let channels = draw.reference.len() / contender::count(&draw) as usize;
    draw.vertices = cycled(&draw.vertices, count as usize * draw.stride);
    draw.reference = cycled(&draw.reference, count as usize * channels);
    draw
}

fn cycled<T: Clone>(values: &[T], length: usize) -> Vec<T> {
    values.iter().cycle().take(length).cloned().collect()
}

/// What moving the bytes takes, whatever is computed: half of them are read, and half written.
pub struct Memcpy {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Memcpy {
    fn new(moved: usize) -> Memcpy {
        Memcpy { from: vec![1; moved / 2], to: vec![0; moved / 2] }
    }

    pub fn run(&mut self) {
        self.to.copy_from_slice(&self.from);
        // Nobody reads it.
        std::hint::black_box(&self.to);
    }
}
