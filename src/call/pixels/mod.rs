//! Calls that run pixels: in quads of 2×2, so that each has neighbours to take derivatives with, of many primitives in
//! one call.
//!
//! What a pixel reads is evaluated where the shader's declarations say, from planes of its primitive, or is bound pixel
//! by pixel as vertices are. It is done here, in rows that native code and the interpreter read alike, so all engines
//! see the same bits.

mod evaluate;
pub(super) mod quad;

pub use quad::{Plane, Primitive, Quad, Quads};

use super::bindings::{Call, zero};
use super::engine::with_memory;
use super::outputs::{OutputLayout, Outputs};
use super::uniforms::BoundSpaces;
use super::vertex_buffer::VertexBufferView;
use super::vertices::Choice;
use super::wave::{Block, Driver, WaveRunner};
use super::work::{Work, recycle};
use crate::error::CallError;
use crate::frontend::pixel::{HiddenInput, PixelInput, PixelInterface};
use crate::options::default_format;
use crate::simd::Machine;
use evaluate::{Points, QUADS_AT_ONCE, ROW_BYTES};
use std::mem;

impl<'a> Call<'a> {
    /// Shades quads of pixels with a pixel shader. Row `4 * q + p` of the outputs is pixel `p` of quad `q`.
    ///
    /// An input that is [bound](Self::input) is read as bound: pixel `p` of quad `q` has row `4 * q + p`. All others
    /// are evaluated for each pixel.
    ///
    /// ```
    /// use shaderjit::{CompileOptions, Config, Engine, Plane, Primitive, Quad, Quads, Shader};
    ///
    /// let bytes =
    ///     include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/ps_discard/PS.ps_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
    /// let pixel = code.interface().pixel.as_ref().expect("it is a pixel shader");
    /// // A primitive over the whole target whose attributes are all 0.5.
    /// let planes = vec![Plane { value: 0.5, dx: 0.0, dy: 0.0 }; pixel.planes as usize];
    /// let primitives = [Primitive::default()];
    /// let quads = [Quad { x: 6, y: 2, coverage: [1; 4], live: 0b1111, ..Quad::default() }];
    /// let quads = Quads { quads: &quads, primitives: &primitives, planes: &planes, samples: 1 };
    /// let mut call = code.call();
    /// let outputs = call.unbound_as_zero(true).pixels(&quads)?;
    /// assert_eq!(outputs.count(), 4);
    /// let colour = outputs.output("SV_Target", 0).and_then(|target| target.vec4(3));
    /// # assert!(colour.is_some());
    /// # Ok::<(), shaderjit::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`Invalid`](CallError::Invalid) if a quad's primitive or sample does not exist, or
    /// planes are too few.
    pub fn pixels(&self, quads: &Quads<'_>) -> Result<Outputs, CallError> {
        self.collect(rows(quads)?, |layout, bytes| self.shade_quads(quads, layout, bytes, Choice::Jit))
    }

    /// As [`pixels`](Self::pixels) on the interpreter: same bits, same errors.
    ///
    /// # Errors
    /// As [`pixels`](Self::pixels).
    pub fn interpret_pixels(&self, quads: &Quads<'_>) -> Result<Outputs, CallError> {
        self.collect(rows(quads)?, |layout, bytes| self.shade_quads(quads, layout, bytes, Choice::Interpreter))
    }

    /// Shades quads and stores the outputs where `layout` says, the first pixel of the first quad at its offsets. Other
    /// bytes of the buffer are not touched. After an error the outputs are unspecified. No call on a thread but its
    /// largest allocates.
    ///
    /// # Errors
    /// As [`pixels`](Self::pixels), and if the buffer is too short for the layout.
    pub fn pixels_into(&self, quads: &Quads<'_>, layout: &OutputLayout, bytes: &mut [u8]) -> Result<(), CallError> {
        self.shade_quads(quads, layout, bytes, Choice::Jit)
    }

    fn shade_quads(
        &self,
        quads: &Quads<'_>,
        layout: &OutputLayout,
        bytes: &mut [u8],
        choice: Choice<'_>,
    ) -> Result<(), CallError> {
        let rows = rows(quads)?;
        let pixel = self.check_runs_pixels()?;
        with_memory(|memory, work| {
            self.check_outputs_and_resources(rows, (layout, bytes.len()))?;
            let evaluates = self.resolve_pixels(pixel, rows, &mut work.attributes)?;
            check(quads, pixel, evaluates)?;
            if rows == 0 {
                return Ok(());
            }
            let driver = InQuads { pixel, quads, layout, spaces: &self.spaces, bytes };
            self.drive_chosen(choice, layout, driver, memory, work)
        })
    }

    /// What each input element reads: a stream, or nothing where it is to be evaluated. Says whether some attribute is.
    fn resolve_pixels(
        &self,
        pixel: &PixelInterface,
        rows: u32,
        attributes: &mut Vec<VertexBufferView<'a>>,
    ) -> Result<bool, CallError> {
        let mut evaluates = false;
        let elements = &self.shader.interface().inputs;
        for (number, element) in elements.iter().enumerate() {
            let bound = match number < pixel.inputs.len() {
                true => self.stream(number, &(0..rows))?,
                false => (!self.shader.reads_input(number)).then(|| zero(element)),
            };
            attributes.push(bound.unwrap_or(VertexBufferView::new(default_format(element), &[], ROW_BYTES)));
            evaluates |= bound.is_none() && needs_planes(pixel, number);
        }
        Ok(evaluates)
    }
}

/// Number of pixels.
fn rows(quads: &Quads<'_>) -> Result<u32, CallError> {
    let count = quads.quads.len();
    let rows = u32::try_from(count).ok().and_then(|count| count.checked_mul(4));
    rows.ok_or_else(|| CallError::Invalid(format!("{count} quads in a call")))
}

fn needs_planes(pixel: &PixelInterface, element: usize) -> bool {
    match pixel.inputs.get(element) {
        Some(input) => matches!(input, PixelInput::Attribute { .. }),
        None => matches!(
            pixel.hidden[element - pixel.inputs.len()],
            HiddenInput::Value(_) | HiddenInput::ChangeX(_) | HiddenInput::ChangeY(_)
        ),
    }
}

/// Checks that what quads refer to is there.
fn check(quads: &Quads<'_>, pixel: &PixelInterface, evaluates: bool) -> Result<(), CallError> {
    let Quads { quads, primitives, planes, samples } = *quads;
    let needed = primitives.len().saturating_mul(pixel.planes as usize);
    if evaluates && planes.len() < needed {
        let (planes, of) = (planes.len(), primitives.len());
        return Err(CallError::Invalid(format!("{planes} planes of {needed} that {of} primitives have")));
    }
    if !matches!(samples, 1 | 2 | 4 | 8 | 16) {
        return Err(CallError::Invalid(format!("pixels of {samples} samples")));
    }
    for (number, quad) in quads.iter().enumerate() {
        let &Quad { primitive, sample, .. } = quad;
        if primitive as usize >= primitives.len() || u32::from(sample) >= samples {
            let of = primitives.len();
            let what = format!("quad {number}: primitive {primitive} of {of}, sample {sample} of {samples}");
            return Err(CallError::Invalid(what));
        }
    }
    Ok(())
}

/// Quads of a call that is checked.
struct InQuads<'c, 'q> {
    pixel: &'c PixelInterface,
    quads: &'c Quads<'q>,
    layout: &'c OutputLayout,
    spaces: &'c BoundSpaces,
    bytes: &'c mut [u8],
}

impl<'a> Driver<'a> for InQuads<'_, '_> {
    fn drive(self, waves: &mut impl WaveRunner, work: &mut Work<'a>) -> Result<(), CallError> {
        let InQuads { pixel, quads, layout, spaces, bytes } = self;
        let mut memory = mem::take(&mut work.gathered);
        let bytes_of_element = 4 * QUADS_AT_ONCE * ROW_BYTES;
        let is_evaluated = |stream: &VertexBufferView<'_>| stream.bytes.is_empty();
        let needed = work.attributes.iter().filter(|stream| is_evaluated(stream)).count() * bytes_of_element;
        if memory.len() < needed {
            memory.resize(needed, 0);
        }
        let mut points = [[Points::ZERO; QUADS_AT_ONCE]; 3];
        let machine = Machine::detect();
        let (mut result, mut first) = (Ok(()), 0);
        while first < quads.quads.len() && result.is_ok() {
            let at_once = at_once(&quads.quads[first..], pixel.ordered);
            let (first_row, of_chunk) = (4 * first, &quads.quads[first..first + at_once]);
            first += at_once;
            let chunk = evaluate::Chunk::new(pixel, quads, of_chunk, &mut points);
            let mut attributes: Vec<VertexBufferView<'_>> = mem::take(&mut work.block);
            let mut rest = &mut memory[..];
            for (element, stream) in work.attributes.iter().enumerate() {
                attributes.push(if is_evaluated(stream) {
                    let (rows, behind) = rest.split_at_mut(bytes_of_element);
                    rest = behind;
                    chunk.evaluate(machine, element, rows.as_chunks_mut().0);
                    VertexBufferView { bytes: rows, ..*stream }
                } else {
                    VertexBufferView { bytes: &stream.bytes[first_row * stream.stride..], ..*stream }
                });
            }
            let count = chunk.rows();
            let first_vertex = first_row as u32;
            let quads = Some(of_chunk);
            let block = Block { attributes: &attributes, count, first_vertex, layout, first_row, spaces, quads };
            result = waves.run_block(&block, bytes);
            work.block = recycle(attributes);
        }
        work.gathered = memory;
        result
    }
}

/// How many of some quads are shaded in one block. Where views are rasteriser-ordered none of them overlap: quads of a
/// wave take each step together.
fn at_once(quads: &[Quad], ordered: bool) -> usize {
    let most = &quads[..quads.len().min(QUADS_AT_ONCE)];
    if !ordered {
        return most.len();
    }
    let overlap = |a: &Quad, b: &Quad| a.x.abs_diff(b.x) < 2 && a.y.abs_diff(b.y) < 2;
    (1..most.len()).find(|&last| most[..last].iter().any(|quad| overlap(quad, &most[last]))).unwrap_or(most.len())
}
