//! Milliseconds a frame: a mesh of 100 000 triangles at 1280 × 720, with a pixel shader that samples two textures, maps
//! normals and lights, on one thread and on two; and how much of it is the rasteriser's own. Then the pixel shader by
//! itself, beside plain Rust: nanoseconds a pixel.
//!
//! `cargo bench --all-features --bench raster`; `-- --test` draws once.

#[path = "../asked/mod.rs"]
mod asked;
#[path = "../contest/mod.rs"]
mod contest;
#[path = "../engines/mod.rs"]
mod engines;
#[path = "../measure/mod.rs"]
mod measure;
mod mesh;
mod pixels;
mod plain;
#[expect(dead_code, reason = "no texture here is compressed")]
#[path = "../sampling/plain.rs"]
mod sampler;
mod shaders;
#[path = "../../tests/support/mod.rs"]
mod support;

use measure::median;
use mesh::Mesh;
use shaderjit::raster::{
    DepthFormat, DepthStencilState, DrawStatistics, Pipeline, Primitives, ShadedVertices, TargetLayout, Targets,
};
use shaderjit::{
    AddressMode, Call, Comparison, CompileOptions, CompiledShader, Config, Engine, Image, ImageLayout, Indices,
    SamplerState, Shader, TexelFormat,
};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

const SIZE: [u32; 2] = [1280, 720];
/// Edge of the textures.
const TEXELS: u32 = 512;
const LEVELS: u32 = TEXELS.ilog2() + 1;
/// Where the light comes from, and where the eye is.
const LIGHT: [[f32; 4]; 2] = [[0.48, 0.64, -0.6, 0.0], [0.0, 0.0, -3.0, 1.0]];
/// Frames that are timed.
const FRAMES: usize = 15;

fn compile(engine: &Engine, container: &[u8]) -> Arc<CompiledShader> {
    let shader = Shader::parse(container).expect("it parses");
    engine.compile(&shader, &CompileOptions::default()).expect("it compiles")
}

/// The bytes of a texture with all levels: of noise about a colour, so that no level is like another.
fn texels(base: [u8; 4], noise: u8) -> Vec<u8> {
    let mut state = 1u32;
    let texel = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        base.map(|byte| byte.saturating_add((state >> 24) as u8 % noise))
    };
    (0..layout().bytes().expect("sizes are right") / 4).flat_map(texel).collect()
}

fn layout() -> ImageLayout {
    ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, TEXELS, TEXELS).levels(LEVELS)
}

/// Binds what the lit shader reads.
fn bind<'a>(mut call: Call<'a>, light: &'a [u8], images: &'a [Image<'a>; 2]) -> Call<'a> {
    call.constant_buffer(0, light).expect("it has one");
    for (slot, image) in images.iter().enumerate() {
        call.texture(slot as u32, image).expect("it has one");
    }
    call.sampler(0, sampler_state()).expect("it has one");
    call
}

fn sampler_state() -> SamplerState {
    SamplerState::linear().address(AddressMode::Wrap)
}

/// What a frame takes, in milliseconds.
struct Frame {
    vertices: f64,
    total: f64,
    drawn: DrawStatistics,
}

struct Scene<'a> {
    mesh: &'a Mesh,
    vertex: Call<'a>,
    pixel: Call<'a>,
    targets: Targets,
}

impl Scene<'_> {
    fn draw(&mut self, threads: usize) -> Frame {
        let pipeline = Pipeline {
            depth_stencil: DepthStencilState::depth(Comparison::Less),
            threads: NonZero::new(threads).expect("there is one"),
            ..Pipeline::default()
        };
        self.targets.clear_color(0, [0.0; 4]);
        self.targets.clear_depth(1.0);
        let begin = Instant::now();
        let indices = Indices::U32(&self.mesh.indices);
        let shaded = match threads {
            1 => self.vertex.run_indexed(indices, 0),
            // On the threads of rayon's pool.
            _ => self.vertex.run_indexed_parallel(indices, 0),
        };
        let shaded = shaded.expect("it runs");
        let rows: Vec<u32> =
            self.mesh.indices.iter().map(|&index| shaded.row(index).expect("it is drawn") as u32).collect();
        let vertices = begin.elapsed().as_secs_f64() * 1e3;
        let (outputs, primitives) = (ShadedVertices::from(&shaded.outputs), Primitives::triangles(&rows));
        let drawn = pipeline.draw(outputs, primitives, Some(&self.pixel), &mut self.targets).expect("it draws");
        Frame { vertices, total: begin.elapsed().as_secs_f64() * 1e3, drawn }
    }
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().expect("nothing has begun one");
    let engine = Engine::new(Config::default()).expect("the machine runs native code");
    let mesh = Mesh::torus(500, 100);
    assert_eq!(mesh.indices.len(), 3 * 100_000);
    let vertex_code = compile(&engine, &shaders::vertex());
    let lit_code = compile(&engine, &shaders::lit());
    let flat_code = compile(&engine, &shaders::flat());
    let textures = [texels([120, 90, 60, 255], 100), texels([118, 118, 200, 255], 20)];
    let images = textures.each_ref().map(|texels| Image::new(layout(), &texels[..]).expect("there are enough bytes"));
    let bytes =
        |rows: &[[f32; 4]]| rows.as_flattened().iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let (matrix, light) = (bytes(&mesh::view(SIZE)), bytes(&LIGHT));

    let mut vertex = vertex_code.call();
    vertex.constant_buffer(0, &matrix).expect("it has one");
    for (index, view) in mesh.streams().into_iter().enumerate() {
        vertex.input("V", index as u32, view).expect("it has one");
    }
    let lit = bind(lit_code.call(), &light, &images);
    let layout = TargetLayout::new(SIZE[0], SIZE[1]).color(TexelFormat::Rgba8Unorm).depth(DepthFormat::D32Float);
    let targets = || Targets::new(&layout).expect("they fit into memory");
    let mut lit = Scene { mesh: &mesh, vertex: vertex.clone(), pixel: lit, targets: targets() };
    let mut flat = Scene { mesh: &mesh, vertex, pixel: flat_code.call(), targets: targets() };

    let one = lit.draw(1);
    let picture = lit.targets.color_bytes(0);
    lit.draw(2);
    assert!(lit.targets.color_bytes(0) == picture, "threads make a difference");
    pixels::race(&textures, &images, &light);
    if !asked::times() {
        return;
    }
    let pixels = one.drawn.pixels as f64;
    println!("{} triangles, {pixels} pixels shaded at {} x {}", mesh.indices.len() / 3, SIZE[0], SIZE[1]);
    println!("{:<28}{:>10}{:>10}{:>10}{:>12}{:>12}", "", "ms", "vertices", "shader", "own share", "ns/pixel");
    let mut totals = Vec::new();
    for (name, scene, threads) in [("lit, one thread", &mut lit, 1), ("flat colour, one thread", &mut flat, 1)] {
        totals.push(row(name, scene, threads, pixels));
    }
    totals.push(row("lit, two threads", &mut lit, 2, pixels));
    println!("two threads are {:.2} times as fast", totals[0] / totals[2]);
}

/// Times a scene, prints its row, and gives the milliseconds of a frame.
fn row(name: &str, scene: &mut Scene<'_>, threads: usize, pixels: f64) -> f64 {
    let frames: Vec<Frame> = (0..FRAMES).map(|_| scene.draw(threads)).collect();
    let of = |value: &dyn Fn(&Frame) -> f64| median(frames.iter().map(value).collect());
    let (total, vertices) = (of(&|frame| frame.total), of(&|frame| frame.vertices));
    let shading = of(&|frame| frame.drawn.shading.as_secs_f64() * 1e3) / threads as f64;
    let own = 100.0 * (total - vertices - shading) / total;
    let each = total * 1e6 / pixels;
    println!("{name:<28}{total:>10.2}{vertices:>10.2}{shading:>10.2}{own:>11.1}%{each:>12.2}");
    total
}
