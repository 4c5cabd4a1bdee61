//! The draw calls that benches time and tests check: a shader, its vertices and uniforms, and what comes out.
//!
//! K1 to K4 read the 40-byte vertices of `tests/data/perf` in the formats they are stored in; the PICA programs read
//! floats, four a register. Both write their outputs without gaps.

mod kernel;
mod lights;
mod pica;

use shaderjit::Interface;
use shaderjit::VertexFormat;
use shaderjit::{
    Backend, Call, CompileOptions, CompiledShader, Error, Lanes, OutputLayout, PicaUniforms, Place, Shader,
    VertexBufferView,
};
use std::fs;

/// Vertices of every draw call.
pub const VERTICES: u32 = 10_000;

/// One draw call of [`VERTICES`].
pub struct Draw {
    /// What to call it.
    pub name: &'static str,
    pub shader: Shader,
    /// The vertices, one behind the other.
    pub vertices: Vec<u8>,
    /// Bytes of a vertex.
    pub stride: usize,
    /// What a vertex consists of.
    pub streams: Vec<Stream>,
    pub uniforms: Uniforms,
    /// Output registers to store, in this order.
    pub outputs: Vec<u32>,
    /// What it should compute.
    pub reference: Vec<f32>,
}

/// One input of a vertex.
pub struct Stream {
    pub semantic: String,
    pub format: VertexFormat,
    /// Where it begins in a vertex.
    pub offset: usize,
}

/// What a program reads beside its vertices.
pub enum Uniforms {
    /// Constant buffer 0.
    Constants(Vec<u8>),
    /// The uniform registers of a PICA200, 1556 bytes.
    Pica(Vec<u8>),
}

impl Draw {
    /// K1 to K4, then the PICA programs.
    pub fn all() -> Vec<Draw> {
        let mut draws = Draw::kernels();
        draws.extend(Draw::pica_programs());
        draws
    }

    /// What to compile for: the formats and outputs of this call.
    pub fn options(&self, backend: Backend, lanes: Lanes) -> CompileOptions {
        let Interface { inputs, outputs, .. } =
            self.shader.interface(&CompileOptions::default()).expect("the program is supported");
        let stored = outputs.iter().filter(|element| self.outputs.contains(&element.register));
        let stored: Vec<(&str, u32)> = stored.map(|element| (&*element.semantic, element.index)).collect();
        let options = CompileOptions::default().backend(backend).lanes(lanes).outputs(&stored);
        let read = self.streams.iter().filter(|stream| inputs.iter().any(|input| input.semantic == stream.semantic));
        read.fold(options, |options, stream| options.format(&stream.semantic, 0, stream.format))
    }

    /// A call with everything bound.
    pub fn call<'a>(&'a self, code: &'a CompiledShader) -> Result<Call<'a>, Error> {
        let mut call = code.call();
        self.bind(&mut call)?;
        Ok(call)
    }

    /// Binds everything where the call is, which takes less than to move it afterwards.
    pub fn bind<'a>(&'a self, call: &mut Call<'a>) -> Result<(), Error> {
        let code = call.shader();
        for stream in &self.streams {
            if let Some(element) = code.input(&stream.semantic, 0) {
                let attribute = VertexBufferView::new(stream.format, &self.vertices[stream.offset..], self.stride);
                call.input_element(element, attribute)?;
            }
        }
        match &self.uniforms {
            Uniforms::Constants(bytes) => _ = call.constant_buffer(0, bytes)?,
            Uniforms::Pica(bytes) => _ = call.pica_uniforms(&PicaUniforms::from_bytes(bytes)?),
        }
        Ok(())
    }

    /// Where the outputs go, and how many bytes they are for one vertex.
    pub fn layout(&self, code: &CompiledShader) -> (OutputLayout, usize) {
        let elements = &code.interface().outputs;
        let stored = elements.iter().enumerate().filter(|(_, element)| self.outputs.contains(&element.register));
        let bytes = |components: u32| 4 * components as usize;
        let stride = stored.clone().map(|(_, element)| bytes(element.components())).sum();
        let mut layout = OutputLayout::none(code);
        let mut offset = 0;
        for (number, element) in stored {
            layout = layout.with(number, Place { offset, stride });
            offset += bytes(element.components());
        }
        (layout, stride)
    }
}

/// The largest difference between two lists of outputs of `channels` floats a vertex, as a part of the channel's
/// largest finite reference value. NaN is equal to NaN, and infinitely far from everything else.
pub fn relative_difference(outputs: &[f32], reference: &[f32], channels: usize) -> f32 {
    assert_eq!(outputs.len(), reference.len());
    let in_channel = |channel| outputs.iter().zip(reference).skip(channel).step_by(channels);
    let relative = |channel| {
        let magnitudes = in_channel(channel).map(|(_, reference)| reference.abs());
        let scale = magnitudes.filter(|magnitude| magnitude.is_finite()).fold(f32::MIN_POSITIVE, f32::max);
        let largest =
            in_channel(channel).map(|(&output, &reference)| difference(output, reference)).fold(0.0, f32::max);
        largest / scale
    };
    (0..channels).map(relative).fold(0.0, f32::max)
}

fn difference(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => 0.0,
        (false, false) if a == b => 0.0,
        (false, false) => (a - b).abs(),
        _ => f32::INFINITY,
    }
}

/// Little-endian floats.
pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&word| f32::from_le_bytes(word)).collect()
}

/// A file of `tests/data`.
pub fn data(path: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/{path}", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
