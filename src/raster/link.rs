//! Linking: which of the vertices' components a pixel shader's planes are made of, and where its outputs lie.

use super::planes::padded;
use super::state::MAX_TARGETS;
use super::vertices::{Offsets, ShadedVertices};
use crate::call::{Call, OutputLayout, Place};
use crate::compiled::CompiledShader;
use crate::error::RasterError;
use crate::frontend::pixel::{Interpolation, PixelInput, PixelInterface, PixelOutput};

/// What a plane is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaneSource {
    /// Byte offset in a vertex; nothing is 0.
    pub offset: Option<usize>,
    pub interpolation: Interpolation,
}

/// The most planes of a primitive: 32 registers of four components.
const MAX_PLANES: usize = 128;

/// The attributes of a draw.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// One entry a plane.
    pub planes: Vec<PlaneSource>,
    /// The offsets of all.
    pub offsets: Offsets,
    /// All ones for each that is interpolated in perspective, zeros for the others, [padded].
    pub in_perspective: Vec<u32>,
    /// All ones for each that is not interpolated.
    pub is_constant: Vec<u32>,
}

/// Where the words of an output of the pixels lie: those of each pixel one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    start: usize,
    count: usize,
}

/// A pixel shader in a draw.
pub(super) struct Program<'c, 'a> {
    pub call: &'c Call<'a>,
    pub interface: &'c PixelInterface,
    pub layout: OutputLayout,
    /// Bytes of the outputs of so many pixels as the layout has room for.
    pub bytes: usize,
    pub targets: [Option<Words>; MAX_TARGETS],
    pub depth: Option<Words>,
    pub stencil: Option<Words>,
    pub coverage: Option<Words>,
    pub discarded: Option<Words>,
}

impl Words {
    /// A word of a pixel.
    #[inline]
    pub fn word(&self, bytes: &[u8], pixel: usize) -> u32 {
        let start = self.start + 4 * self.count * pixel;
        bytes.get(start..start + 4).map_or(0, |word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    /// The words of all quads from the first on, if each pixel has four.
    pub fn quads(self, bytes: &[u8]) -> Option<&[[[u8; 4]; 16]]> {
        bytes.get(self.start..).filter(|_| self.count == 4).map(|bytes| bytes.as_chunks().0.as_chunks().0)
    }

    /// Four components of a pixel; those that the shader does not write are 0.
    #[inline]
    pub fn row(&self, bytes: &[u8], pixel: usize) -> [u32; 4] {
        let start = self.start + 4 * self.count * pixel;
        // Of a length that is known, no call of a function.
        if self.count == 4 {
            let words = bytes.get(start..).and_then(<[u8]>::first_chunk::<16>);
            return words.map_or([0; 4], |words| [0, 4, 8, 12].map(|at| word_at(words, at)));
        }
        let Some(words) = bytes.get(start..start + 4 * self.count) else { return [0; 4] };
        let mut row = [0; 4];
        for (to, from) in row.iter_mut().zip(words.as_chunks::<4>().0) {
            *to = u32::from_le_bytes(*from);
        }
        row
    }
}

fn word_at(words: &[u8; 16], at: usize) -> u32 {
    u32::from_le_bytes([words[at], words[at + 1], words[at + 2], words[at + 3]])
}

impl Link {
    /// Finds every attribute of a pixel shader among the vertices' elements.
    pub fn new(code: &CompiledShader, vertices: &ShadedVertices<'_>) -> Result<Link, RasterError> {
        let interface = pixel_interface(code)?;
        let mut planes = Vec::with_capacity(interface.planes as usize);
        for (element, input) in code.interface().signature_inputs().iter().zip(&interface.inputs) {
            let &PixelInput::Attribute { interpolation, .. } = input else { continue };
            let found = vertices.components(&element.semantic, element.index);
            // The indices that choose slice and viewport are 0 to a pixel shader if no vertex has them.
            let is_index = ["SV_RenderTargetArrayIndex", "SV_ViewportArrayIndex"]
                .iter()
                .any(|name| name.eq_ignore_ascii_case(&element.semantic));
            if found.len() < element.components() as usize && !is_index {
                return Err(RasterError::Link { input: element.label() });
            }
            let offsets = (0..element.components() as usize).map(|component| found.get(component).copied());
            planes.extend(offsets.map(|offset| PlaneSource { offset, interpolation }));
        }
        if planes.len() > MAX_PLANES {
            let what = format!("{} components of attributes; {MAX_PLANES} can be", planes.len());
            return Err(RasterError::State { what });
        }
        let offsets = Offsets::new(planes.iter().map(|plane| plane.offset).collect());
        let those = |kind: Interpolation| {
            let is_one = |plane: &PlaneSource| if plane.interpolation == kind { u32::MAX } else { 0 };
            let mut those: Vec<u32> = planes.iter().map(is_one).collect();
            those.resize(padded(planes.len()), 0);
            those
        };
        let [in_perspective, is_constant] = [Interpolation::Perspective, Interpolation::Constant].map(those);
        Ok(Link { offsets, in_perspective, is_constant, planes })
    }
}

pub(super) fn pixel_interface(code: &CompiledShader) -> Result<&PixelInterface, RasterError> {
    code.interface().pixel.as_ref().ok_or(RasterError::NoPixelShader)
}

impl<'c, 'a> Program<'c, 'a> {
    /// A program whose outputs are those of at most `pixels` at once.
    pub fn new(call: &'c Call<'a>, pixels: usize) -> Result<Program<'c, 'a>, RasterError> {
        let code = call.shader();
        let interface = pixel_interface(code)?;
        let mut program = Program {
            call,
            interface,
            layout: OutputLayout::none(code),
            bytes: 0,
            targets: [None; MAX_TARGETS],
            depth: None,
            stencil: None,
            coverage: None,
            discarded: None,
        };
        let outputs = &code.interface().outputs;
        for (number, element) in outputs.iter().enumerate() {
            let words = Words { start: program.bytes, count: element.components() as usize };
            let place = match interface.outputs.get(number).copied().flatten() {
                Some(PixelOutput::Target(target)) => program.targets.get_mut(target as usize),
                Some(PixelOutput::Depth(_)) => Some(&mut program.depth),
                Some(PixelOutput::StencilRef) => Some(&mut program.stencil),
                Some(PixelOutput::Coverage) => Some(&mut program.coverage),
                None if code.interface().discarded == Some(number) => Some(&mut program.discarded),
                None => None,
            };
            let Some(place) = place else { continue };
            *place = Some(words);
            let place = Place { offset: words.start, stride: 4 * words.count };
            program.layout = program.layout.with(number, place);
            program.bytes += 4 * words.count * pixels;
        }
        Ok(program)
    }

    /// Whether depth and stencil may be tested and written before it runs, because nothing it does makes a difference.
    pub fn lets_test_early(&self) -> bool {
        let makes_difference = self.depth.is_some()
            || self.stencil.is_some()
            || self.coverage.is_some()
            || self.discarded.is_some()
            || self.interface.writes_memory;
        self.interface.early_depth_stencil || !makes_difference
    }
}
