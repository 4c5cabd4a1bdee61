//! An emulator's draw loop, in small: command lists are register writes, and some registers trigger a draw.
//!
//! `cargo run --example draw_loop`

use shaderjit::container::Shbin;
use shaderjit::pica::{Draw, OutputMap, Triangles, Unit, Vertices};
use shaderjit::{Config, Engine, Error, VertexBufferView};

/// Writing it draws vertices in order.
const DRAW_ARRAYS: u16 = 0x22e;
/// How many vertices are drawn.
const NUM_VERTICES: u16 = 0x228;

/// The part of the GPU that this example has: a shader unit, the registers of the vertex arrays, and where triangles
/// go.
struct Gpu<'a> {
    unit: Unit,
    /// Compiles, and keeps what it has compiled: one for the whole emulator, shared by all threads.
    engine: &'a Engine,
    vertex_count: u32,
    /// What the game's memory holds: a position of four floats and two more attributes a vertex.
    memory: &'a [u8],
    drawn: Vec<Triangles>,
}

impl Gpu<'_> {
    fn write(&mut self, register: u16, value: u32) -> Result<(), Error> {
        // Program code, descriptors, uniforms, maps: the unit's own.
        if self.unit.write_register(register, value) {
            return Ok(());
        }
        match register {
            NUM_VERTICES => self.vertex_count = value,
            DRAW_ARRAYS => {
                // A real emulator reads formats, offsets and strides from the registers of the attribute buffers.
                let attributes = [0, 16, 32].map(|offset| VertexBufferView::f32x4(&self.memory[offset..], 48));
                let draw = Draw { attributes: &attributes, vertices: Vertices::Range(0..self.vertex_count) };
                // What is new is compiled here; everything else is found by what it is.
                self.drawn.push(self.unit.draw(self.engine, &draw)?);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The command list with which an application binds a vertex shader.
fn bind(shbin: &Shbin<'_>) -> Result<Vec<(u16, u32)>, Error> {
    let dvlp = shbin.dvlp()?;
    let dvle = shbin.dvle(0)?.expect("a SHBIN has an executable");
    let mut commands = vec![(0x2cb, 0)];
    commands.extend(dvlp.code.iter().map(|&word| (0x2cc, word)));
    commands.push((0x2bf, 1));
    commands.push((0x2d5, 0));
    commands.extend(dvlp.descriptors.iter().map(|&descriptor| (0x2d6, descriptor)));
    commands.push((0x2ba, 0x7fff_0000 | dvle.main));
    // Three attributes, which go to v0, v1, v2.
    commands.extend([(0x2b9, 0xa000_0002), (0x2bb, 0x210), (0x2bc, 0)]);
    let (map, mask) = OutputMap::of_table(&dvle.outputs);
    commands.extend([(0x2bd, mask.into()), (0x04f, map.total() as u32)]);
    commands.extend((0x050..).zip(map.words()));
    Ok(commands)
}

/// Four rows of a matrix to c0 to c3, as 32-bit floats: w comes first.
fn matrix(rows: [[f32; 4]; 4]) -> impl Iterator<Item = (u16, u32)> {
    let words = rows.into_iter().flat_map(|[x, y, z, w]| [w, z, y, x]);
    std::iter::once((0x2c0, 1 << 31)).chain(words.map(|word| (0x2c1, word.to_bits())))
}

fn main() -> Result<(), Error> {
    let file = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/t01_transform.shbin"));
    let triangle = [[0.0f32, 0.5, 0.0, 1.0], [-0.5, -0.5, 0.0, 1.0], [0.5, -0.5, 0.0, 1.0]];
    let vertex = |position: [f32; 4]| [position, [1.0, -0.5, 2.0, 1.0], [0.25, 0.75, 0.0, 1.0]].concat();
    let memory: Vec<u8> = triangle.into_iter().flat_map(vertex).flat_map(f32::to_le_bytes).collect();

    let engine = Engine::new(Config::default())?;
    let mut gpu = Gpu { unit: Unit::new(), engine: &engine, vertex_count: 0, memory: &memory, drawn: Vec::new() };
    for frame in 0..60 {
        // A game that binds its shader anew in every frame costs a hash of what the shader can reach, and no
        // compilation.
        for (register, value) in bind(&Shbin::parse(file)?)? {
            gpu.write(register, value)?;
        }
        let (sin, cos) = (frame as f32 / 60.0).sin_cos();
        let turn = [[cos, -sin, 0.0, 0.0], [sin, cos, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        for (register, value) in matrix(turn) {
            gpu.write(register, value)?;
        }
        gpu.write(NUM_VERTICES, 3)?;
        gpu.write(DRAW_ARRAYS, 1)?;
    }

    let last = gpu.drawn.last().expect("there were frames");
    for corner in last.indices[0].map(|index| last.vertex(index).expect("indices name vertices")) {
        println!("{:?} {:?} {:?}", corner.position(), corner.colour(), corner.texture_coordinate(0));
    }
    let stats = engine.cache_stats();
    println!("{} frames, {} compilations of IR or code", gpu.drawn.len(), stats.compiles);
    assert_eq!(stats.compiles, 2);
    Ok(())
}
