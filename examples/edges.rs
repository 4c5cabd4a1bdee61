//! A GLSL compute shader on a picture: `glslang` made SPIR-V of `glsl/edges.comp`, and it draws the picture's edges.
//!
//! `cargo run --example edges` has a picture of its own, `cargo run --example edges -- IN.png OUT.png` takes a file.

use shaderjit::{AtomicBuffer, CompileOptions, CompiledShader, Config, Descriptor, Engine, Image, ImageLayout};
use shaderjit::{MemoryView, Shader, TexelFormat};
use std::{error::Error, fs::File, io::BufReader};
type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Picture = ([u32; 2], Vec<u8>);

/// The edges of a picture of four bytes a pixel.
fn edges(code: &CompiledShader, ([width, height], pixels): &Picture) -> Result<Vec<u8>> {
    let layout = ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, *width, *height);
    let (picture, drawn) = (Image::new(layout, pixels.as_slice())?, AtomicBuffer::zeroed(pixels.len()));
    let mut call = code.call();
    call.descriptor(0, 0, 0, Descriptor::Image(&picture))?;
    call.descriptor(0, 1, 0, Descriptor::Memory(MemoryView::image(&drawn, layout)))?;
    call.push_constants(&0.5f32.to_le_bytes())?;
    call.dispatch([width.div_ceil(8), height.div_ceil(8), 1])?;
    Ok(drawn.to_bytes())
}

/// The pixels of a file, which has one or three colours.
fn read(file: &str) -> Result<Picture> {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(file)?));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().ok_or("the picture is too large")?];
    let info = reader.next_frame(&mut bytes)?;
    let pixel = |bytes: &[u8]| [0, 1, 2, 3].map(|n| bytes[n * (bytes.len() - 1) / 3]);
    let pixels = bytes[..info.buffer_size()].chunks(info.color_type.samples()).flat_map(pixel).collect();
    Ok(([info.width, info.height], pixels))
}

pub(crate) fn main() -> Result<()> {
    let shader = Shader::parse(include_bytes!("glsl/edges.spv"))?;
    let code = Engine::new(Config::default())?.compile(&shader, &CompileOptions::default())?;
    let files: Vec<String> = std::env::args().filter(|argument| argument.ends_with(".png")).collect();
    // A white square on black.
    let inside = |n: u32| (8..24).contains(&(n % 32)) && (8..24).contains(&(n / 32));
    let square = (0..32 * 32).flat_map(|n| [if inside(n) { 255 } else { 0 }; 4]).collect();
    let picture = if let [file, _] = &files[..] { read(file)? } else { ([32, 32], square) };
    let drawn = edges(&code, &picture)?;
    if let [_, file] = &files[..] {
        let mut encoder = png::Encoder::new(File::create(file)?, picture.0[0], picture.0[1]);
        encoder.set_color(png::ColorType::Rgba);
        encoder.write_header()?.write_image_data(&drawn)?;
    } else {
        let row: Vec<u8> = drawn[16 * 32 * 4..17 * 32 * 4].chunks(4).map(|pixel| pixel[0]).collect();
        println!("A white square of 16 x 16 pixels has an outline; a row through its middle is {row:?}");
        let bright: Vec<usize> = (0..32).filter(|&x| row[x] == 255).collect();
        assert_eq!(bright, [7, 8, 23, 24], "two pixels on either side of an edge");
        assert!(row.iter().all(|&pixel| pixel == 0 || pixel == 255), "and nothing between");
    }
    Ok(())
}
