//! An indexed draw of K2: a mesh of six indices a vertex against its vertices alone. The vertices are found anew in
//! each draw.

use crate::contender::Contender;
use crate::draw::{Draw, VERTICES, floats};
use shaderjit::{Backend, CompiledShader, DistinctVertices, Engine, Indices, Lanes, OutputLayout};
use std::sync::Arc;

/// What the contenders are called. They compute the same.
pub const NAMES: [&str; 4] = ["vertices alone", "u16", "u16 shuffled", "u32 shuffled"];

/// Vertices of a row of the mesh, and rows.
const WIDTH: u32 = 100;

/// Everybody, in the order of [`NAMES`].
pub fn all<'a>(draw: &'a Draw, engine: &Engine) -> [Box<dyn Contender + 'a>; NAMES.len()] {
    let (rows, shuffled) = (mesh(), shuffled(mesh()).into_flattened());
    let short = |indices: &[u32]| Some(Drawn::U16(indices.iter().map(|&index| index as u16).collect()));
    let drawn = [None, short(rows.as_flattened()), short(&shuffled), Some(Drawn::U32(shuffled))];
    drawn.map(|drawn| Box::new(Ours::new(draw, engine, drawn)) as _)
}

/// A grid of quads whose borders meet, so that every vertex has six corners of triangles.
fn mesh() -> Vec<[u32; 3]> {
    assert_eq!(WIDTH * WIDTH, VERTICES);
    let vertex = |x: u32, y: u32| (y % WIDTH) * WIDTH + x % WIDTH;
    let quad = |quad: u32| {
        let (x, y) = (quad % WIDTH, quad / WIDTH);
        let corners = [vertex(x, y), vertex(x + 1, y), vertex(x, y + 1), vertex(x + 1, y + 1)];
        [[corners[0], corners[1], corners[2]], [corners[2], corners[1], corners[3]]]
    };
    (0..VERTICES).flat_map(quad).collect()
}

/// The same triangles in no order (Fisher and Yates, with numbers of Knuth's MMIX).
fn shuffled(mut triangles: Vec<[u32; 3]>) -> Vec<[u32; 3]> {
    let mut random = 1u64;
    for last in (1..triangles.len()).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        triangles.swap(last, (random >> 33) as usize % (last + 1));
    }
    triangles
}

enum Drawn {
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// A run is a call from its beginning, as in the other races.
struct Ours<'a> {
    draw: &'a Draw,
    code: Arc<CompiledShader>,
    layout: OutputLayout,
    /// All vertices once if there are none.
    drawn: Option<Drawn>,
    vertices: DistinctVertices,
    outputs: Vec<u8>,
}

impl<'a> Ours<'a> {
    fn new(draw: &'a Draw, engine: &Engine, drawn: Option<Drawn>) -> Ours<'a> {
        let options = draw.options(Backend::Jit, Lanes::Four);
        let code = engine.compile(&draw.shader, &options).expect("the program is supported");
        let (layout, stride) = draw.layout(&code);
        let outputs = vec![0; VERTICES as usize * stride];
        Ours { draw, code, layout, drawn, vertices: DistinctVertices::default(), outputs }
    }
}

impl Contender for Ours<'_> {
    fn run(&mut self) {
        let mut call = self.code.call();
        self.draw.bind(&mut call).expect("the shader has what is bound");
        let indices = match &self.drawn {
            None => return call.run_into(0..VERTICES, &self.layout, &mut self.outputs).expect("everything is bound"),
            Some(Drawn::U16(indices)) => Indices::U16(indices),
            Some(Drawn::U32(indices)) => Indices::U32(indices),
        };
        let Ours { vertices, layout, outputs, .. } = self;
        call.run_indexed_into(indices, 0, vertices, layout, outputs).expect("everything is bound");
    }

    fn outputs(&self) -> Vec<f32> {
        floats(&self.outputs)
    }
}
