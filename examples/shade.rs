//! A whole draw: a lit torus over a textured ground, indexed, with four samples a pixel, to a picture.
//!
//! `cargo run --release --features raster --example shade`

use shaderjit::raster::{DepthFormat, DepthStencilState, Pipeline, Primitives, ShadedVertices, TargetLayout, Targets};
use shaderjit::{
    AddressMode, Comparison, CompileOptions, Config, Engine, Error, Image, ImageLayout, Indices, SamplerState, Shader,
    TexelFormat, VertexBufferView,
};
use std::f32::consts::TAU;

const SIZE: [u32; 2] = [480, 270];

/// From space to clip space: the eye looks ahead and a little down.
const VIEW: [[f32; 4]; 4] =
    [[1.2, 0.0, 0.0, 0.0], [0.0, 1.95, 0.3, 0.3], [0.0, -0.95, 0.97, 0.96], [0.0, 0.4, 2.6, 2.9]];
/// Vertices of inputs of four floats each, and indices.
type Mesh = (Vec<f32>, Vec<u32>);

fn torus() -> Mesh {
    let (around, across) = (96, 48);
    let vertex = |a: u32, b: u32| {
        let (u, v) = (a as f32 / around as f32, b as f32 / across as f32);
        let ((sa, ca), (sb, cb)) = ((u * TAU).sin_cos(), (v * TAU).sin_cos());
        let (normal, r) = ([ca * cb, sb, sa * cb], 0.7 + 0.3 * cb);
        [r * ca, 0.3 * sb, r * sa, 1.0, normal[0], normal[1], normal[2], 1.0, u * 24.0, v * 8.0, 0.0, 0.0]
    };
    let vertices = (0..=around).flat_map(|a| (0..=across).flat_map(move |b| vertex(a, b))).collect();
    let corner = |a: u32, b: u32| a * (across + 1) + b;
    let cell = |a, b| [[0, 0], [0, 1], [1, 0], [1, 0], [0, 1], [1, 1]].map(|[i, j]| corner(a + i, b + j));
    (vertices, (0..around).flat_map(|a| (0..across).flat_map(move |b| cell(a, b))).collect())
}

fn ground() -> Mesh {
    let corner = |[x, z]: [f32; 2]| [x * 40.0, -0.5, 20.0 + z * 22.0, 1.0, x * 40.0, z * 22.0, 0.0, 0.0];
    let corners = [[-1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]];
    (corners.into_iter().flat_map(corner).collect(), vec![0, 1, 2, 0, 2, 3])
}

pub(crate) fn main() -> Result<(), Error> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/");
    let read = |name: &str| std::fs::read(format!("{folder}{name}.fxc101.dxbc")).expect("the file is there");
    let engine = Engine::new(Config::default())?;
    let compile = |name: &str| engine.compile(&Shader::parse(&read(name))?, &CompileOptions::default());
    let layout = TargetLayout::new(SIZE[0], SIZE[1]).samples(4);
    let mut targets = Targets::new(&layout.color(TexelFormat::Rgba8Srgb).depth(DepthFormat::D32Float))?;
    targets.clear_color(0, [0.35, 0.5, 0.75, 1.0]);
    let chequer = |n: usize| [if (n % 32 / 16 + n / 512).is_multiple_of(2) { 0x90 } else { 0xd0 }; 4];
    let texels: Vec<u8> = (0..1024).flat_map(chequer).collect();
    let chequer = Image::new(ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, 32, 32), texels)?;
    for (case, (vertices, indices), inputs) in
        [("pipe_ground", ground(), &["POSITION", "UV"][..]), ("pipe_two", torus(), &["POSITION", "NORMAL", "UV"])]
    {
        let (vertex, pixel) = (compile(&format!("{case}/VS.vs_5_0"))?, compile(&format!("{case}/PS.ps_5_0"))?);
        let bytes: Vec<u8> = vertices.iter().flat_map(|value| value.to_le_bytes()).collect();
        let (mut vertex, mut pixel) = (vertex.call(), pixel.call());
        vertex.set("m", VIEW)?;
        for (place, input) in inputs.iter().enumerate() {
            vertex.input(input, 0, VertexBufferView::f32x4(&bytes[16 * place..], 16 * inputs.len()))?;
        }
        match case {
            "pipe_two" => pixel.set("light", [-0.5f32, 0.8, -0.4, 0.0])?.set("eye", [0.0f32, 1.0, -2.9, 1.0])?,
            _ => pixel.texture(0, &chequer)?.sampler(0, SamplerState::linear().address(AddressMode::Wrap))?,
        };
        let shaded = vertex.run_indexed(Indices::U32(&indices), 0)?;
        let rows: Vec<u32> = indices.iter().filter_map(|&index| Some(shaded.row(index)? as u32)).collect();
        let pipeline = Pipeline { depth_stencil: DepthStencilState::depth(Comparison::Less), ..Pipeline::default() };
        let vertices = ShadedVertices::from(&shaded.outputs);
        pipeline.draw(vertices, Primitives::triangles(&rows), Some(&pixel), &mut targets)?;
    }
    let byte = |bits: u32| (f32::from_bits(bits).clamp(0.0, 1.0).powf(1.0 / 2.2) * 255.0).round() as u8;
    let pixels = targets.resolved(0, 0).into_iter().flat_map(|color| [0, 1, 2].map(|n| byte(color[n])));
    let pixels: Vec<u8> = pixels.collect();
    let path = std::env::temp_dir().join("shade.png");
    let mut encoder = png::Encoder::new(std::fs::File::create(&path).expect("it can be written"), SIZE[0], SIZE[1]);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels)).expect("the picture can be written");
    println!("{}", path.display());
    Ok(())
}
