//! A compute shader on a picture, which goes through it in windows: it blurs rows of sixteen by sixteen texels.
//!
//! `cargo run --example blur` blurs a picture of its own, `cargo run --example blur -- IN.png OUT.png` a file.

use shaderjit::{AtomicBuffer, CompileOptions, CompiledShader, Config, Engine, Image, ImageLayout, MemoryView};
use shaderjit::{SamplerState, Shader, TexelFormat};
use std::{error::Error, fs::File, io::BufReader};
type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Picture = ([usize; 2], Vec<[u8; 4]>);

/// Blurs the rows and turns the picture a quarter. Of a window those texels count that need none beyond it.
fn blur_rows(code: &CompiledShader, ([width, height], pixels): &Picture) -> Result<Picture> {
    let layout = ImageLayout::texture_2d(TexelFormat::Rgba8Unorm, 16, 16);
    let (mut turned, blurred) = (vec![[0; 4]; pixels.len()], AtomicBuffer::zeroed(16 * 16 * 4));
    for [left, top] in (0..*height).step_by(15).flat_map(|y| (0..*width).step_by(8).map(move |x| [x, y])) {
        let column = |n: usize| (left + n % 16).saturating_sub(4).min(width - 1);
        let window = (0..256).flat_map(|n| pixels[(top + n / 16).min(height - 1) * width + column(n)]);
        let window = Image::new(layout, window.collect::<Vec<u8>>())?;
        let mut call = code.call();
        call.texture(0, &window)?.sampler(0, SamplerState::default())?;
        call.unordered_access(0, MemoryView::image(&blurred, layout))?.dispatch([2, 15, 1])?;
        for (row, line) in blurred.to_bytes().as_chunks::<64>().0[..15].iter().take(height - top).enumerate() {
            for (column, pixel) in line.as_chunks().0[4..12].iter().take(width - left).enumerate() {
                turned[(left + column) * height + height - 1 - top - row] = *pixel;
            }
        }
    }
    Ok(([*height, *width], turned))
}
/// The pixels of a file, which has one or three colours.
fn read(file: &str) -> Result<Picture> {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(file)?));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().ok_or("the picture is too large")?];
    let info = reader.next_frame(&mut bytes)?;
    let pixel = |bytes: &[u8]| [0, 1, 2, 3].map(|n| bytes[n * (bytes.len() - 1) / 3]);
    let pixels = bytes[..info.buffer_size()].chunks(info.color_type.samples()).map(pixel).collect();
    Ok(([info.width as usize, info.height as usize], pixels))
}

pub(crate) fn main() -> Result<()> {
    let shader = Shader::parse(include_bytes!("../tests/data/dxbc/cs_blur/CS.cs_5_0.fxc101.dxbc"))?;
    let code = Engine::new(Config::default())?.compile(&shader, &CompileOptions::default())?;
    let files: Vec<String> = std::env::args().filter(|argument| argument.ends_with(".png")).collect();
    let dot = |n| if n == 8 * 33 + 16 { [255; 4] } else { [0, 0, 0, 255] };
    let picture = if let [file, _] = &files[..] { read(file)? } else { ([33, 17], (0..33 * 17).map(dot).collect()) };
    // Four quarters, so that it stands upright; that the shader samples a quarter of a texel beside each cancels.
    let ([width, height], pixels) = (0..4).try_fold(picture, |picture, _| blur_rows(&code, &picture))?;
    if let [_, file] = &files[..] {
        let mut encoder = png::Encoder::new(File::create(file)?, width as u32, height as u32);
        encoder.set_color(png::ColorType::Rgba);
        encoder.write_header()?.write_image_data(pixels.as_flattened())?;
    } else {
        let row = pixels[8 * width..9 * width].iter().map(|pixel| pixel[0]).collect::<Vec<u8>>();
        println!("A white dot on {width} x {height} black pixels is blurred; its row is now {row:?}");
        assert!(row[16] > row[12] && (0..33).all(|x| row[x].abs_diff(row[32 - x]) <= 1), "it is blurred evenly");
    }
    Ok(())
}
