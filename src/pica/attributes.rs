//! The attribute buffers: where in memory the vertices and indices of a draw are, and what lies there.
//!
//! Numbers and fields are those of 3dbrew, "GPU/Internal Registers" and "GPU/Programming Guide".

use super::draw::{Draw, Triangles, Vertices, check_count, variable_primitives};
use super::registers::{InputMode, Unit};
use super::upload::FloatUpload;
use crate::call::VertexBufferView;
use crate::engine::Engine;
use crate::error::{CallError, Error};
use crate::vertex_format::VertexFormat;

/// `GPUREG_ATTRIBBUFFERS_LOC`: bits 28..1 are the address that all offsets count from, in units of 16 bytes.
const LOCATION: u16 = 0x200;
/// `GPUREG_ATTRIBBUFFERS_FORMAT_LOW` and `_HIGH`: four bits each for twelve attributes; bits 31..28 of the second are
/// how many attributes a vertex has, less one.
const FORMATS: u16 = 0x201;
/// `GPUREG_ATTRIBBUFFER0_OFFSET`, of twelve loaders with an offset and two words of configuration each.
const LOADERS: u16 = 0x203;
/// `GPUREG_INDEXBUFFER_CONFIG`: bits 27..0 are an offset, bit 31 is set for indices of 16 bits.
const INDEX_BUFFER: u16 = 0x227;
/// `GPUREG_NUMVERTICES`.
const NUM_VERTICES: u16 = 0x228;
/// `GPUREG_VERTEX_OFFSET`: the first vertex of a draw without indices.
const VERTEX_OFFSET: u16 = 0x22a;
/// `GPUREG_FIXEDATTRIB_INDEX`.
const FIXED_INDEX: u16 = 0x232;
/// `GPUREG_FIXEDATTRIB_DATA0`, of three.
const FIXED_DATA: u16 = 0x233;
/// The register behind the last of them.
const FIXED_END: u16 = 0x236;
/// `GPUREG_VSH_NUM_ATTR`.
const NUM_ATTRIBUTES: u16 = 0x242;

/// The index that makes the data registers take vertices instead of fixed attributes.
const IMMEDIATE: u32 = 0xf;

/// By the low and the high two bits of an attribute's format.
const VERTEX_FORMATS: [[VertexFormat; 4]; 4] = {
    use VertexFormat::*;
    [
        [Sscaled8x1, Sscaled8x2, Sscaled8x3, Sscaled8x4],
        [Uscaled8x1, Uscaled8x2, Uscaled8x3, Uscaled8x4],
        [Sscaled16x1, Sscaled16x2, Sscaled16x3, Sscaled16x4],
        [F32x1, F32x2, F32x3, F32x4],
    ]
};

/// The registers from `LOCATION` to `FIXED_DATA`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AttributeBuffers {
    location: u32,
    formats: [u32; 2],
    loaders: [Loader; 12],
    index_buffer: u32,
    vertices: u32,
    first_vertex: u32,
    /// The four floats of each fixed attribute, little-endian.
    fixed: [[u8; 16]; 16],
    fixed_port: FloatUpload,
}

/// An array of rows that hold one or more attributes of a vertex each.
#[derive(Clone, Copy, Debug, Default)]
struct Loader {
    /// Bits 27..0: from the location to vertex 0.
    offset: u32,
    /// Four bits for each component of a row, the first in the lowest: an attribute, or 12 to 15 for 4 to 16 bytes
    /// that hold none. Behind twelve of them, bits 23..16 of the second word are the bytes of a row, bits 31..28 the
    /// number of components.
    config: [u32; 2],
}

/// Where an attribute lies in a loader's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    attribute: usize,
    format: VertexFormat,
    offset: usize,
}

impl AttributeBuffers {
    /// Takes a register write; whether the register is one of these.
    pub fn write(&mut self, register: u16, value: u32) -> bool {
        match register {
            LOCATION => self.location = value,
            FORMATS..LOADERS => self.formats[usize::from(register - FORMATS)] = value,
            LOADERS..INDEX_BUFFER => {
                let loader = &mut self.loaders[usize::from(register - LOADERS) / 3];
                match (register - LOADERS) % 3 {
                    0 => loader.offset = value,
                    word => loader.config[usize::from(word - 1)] = value,
                }
            }
            INDEX_BUFFER => self.index_buffer = value,
            NUM_VERTICES => self.vertices = value,
            VERTEX_OFFSET => self.first_vertex = value,
            FIXED_INDEX => {
                self.fixed_port.configure(value & 0x7f);
                return self.fixed_port.index() != IMMEDIATE;
            }
            FIXED_DATA..FIXED_END => {
                if self.fixed_port.index() == IMMEDIATE {
                    return false;
                }
                if let Some((attribute, value)) = self.fixed_port.push(value)
                    && let Some(fixed) = self.fixed.get_mut(attribute)
                {
                    let words = value.map(f32::to_le_bytes);
                    fixed.copy_from_slice(words.as_flattened());
                }
            }
            // The shader's own number of attributes, which is written with it, is the one that counts.
            NUM_ATTRIBUTES => {}
            _ => return false,
        }
        true
    }

    fn address(&self) -> u32 {
        (self.location & 0x1fff_fffe) << 3
    }

    /// How many attributes a vertex has.
    fn attributes(&self) -> usize {
        (self.formats[1] >> 28) as usize + 1
    }

    /// The format of one of the twelve attributes that can lie in memory.
    fn format(&self, attribute: usize) -> VertexFormat {
        let bits = self.formats[attribute / 8] >> (4 * (attribute % 8));
        VERTEX_FORMATS[(bits & 3) as usize][(bits >> 2 & 3) as usize]
    }

    /// The attributes that a loader's row holds. Each lies at a multiple of its components' size, what holds none at a
    /// multiple of 4.
    fn places(&self, loader: &Loader) -> Vec<Place> {
        let [low, high] = loader.config.map(u64::from);
        let components = (high >> 28).min(12);
        let mut offset = 0usize;
        let mut places = Vec::new();
        for component in 0..components {
            let attribute = ((low | high << 32) >> (4 * component) & 0xf) as usize;
            if attribute < 12 {
                let format = self.format(attribute);
                offset = offset.next_multiple_of(format.bytes() / format.components());
                places.push(Place { attribute, format, offset });
                offset += format.bytes();
            } else {
                offset = offset.next_multiple_of(4) + 4 * (attribute - 11);
            }
        }
        places
    }

    /// The first `attributes` attributes of `count` vertices from `first` on. One that no loader has is the fixed one;
    /// of loaders that have the same one, the last counts.
    fn read<'a, 'm: 'a>(
        &'a self,
        attributes: usize,
        (first, count): (u32, u32),
        memory: &impl Fn(u32, usize) -> Option<&'m [u8]>,
    ) -> Result<Vec<VertexBufferView<'a>>, CallError> {
        let attributes = attributes.min(self.attributes());
        let mut views: Vec<VertexBufferView<'a>> =
            self.fixed[..attributes].iter().map(|fixed| VertexBufferView::f32x4(fixed, 0)).collect();
        for (number, loader) in self.loaders.iter().enumerate() {
            let mut places = self.places(loader);
            places.retain(|place| place.attribute < attributes);
            let Some(row) = places.iter().map(|place| place.offset + place.format.bytes()).max() else { continue };
            let stride = loader.config[1] >> 16 & 0xff;
            let start = u64::from(loader.offset & 0xfff_ffff) + u64::from(first) * u64::from(stride);
            let bytes = match count.checked_sub(1) {
                Some(last) => {
                    // At most 2^20 rows of 255 bytes.
                    let length = (last * stride) as usize + row;
                    self.bytes(start, length, memory, || format!("attribute buffer {number}"))?
                }
                None => &[],
            };
            for Place { attribute, format, offset } in places {
                let bytes = bytes.get(offset..).unwrap_or_default();
                views[attribute] = VertexBufferView::new(format, bytes, stride as usize);
            }
        }
        Ok(views)
    }

    /// The indices of a draw.
    fn indices<'m>(&self, memory: &impl Fn(u32, usize) -> Option<&'m [u8]>) -> Result<Vec<u16>, CallError> {
        let is_16_bit = self.index_buffer >> 31 != 0;
        let length = self.vertices as usize * if is_16_bit { 2 } else { 1 };
        if length == 0 {
            return Ok(Vec::new());
        }
        let start = u64::from(self.index_buffer & 0xfff_ffff);
        let bytes = self.bytes(start, length, memory, || "index buffer".to_string())?;
        Ok(match is_16_bit {
            true => bytes.as_chunks().0.iter().map(|&index| u16::from_le_bytes(index)).collect(),
            false => bytes.iter().map(|&index| index.into()).collect(),
        })
    }

    /// So many bytes from `start` behind the location on.
    fn bytes<'m>(
        &self,
        start: u64,
        length: usize,
        memory: &impl Fn(u32, usize) -> Option<&'m [u8]>,
        what: impl Fn() -> String,
    ) -> Result<&'m [u8], CallError> {
        let address = start + u64::from(self.address());
        let found = u32::try_from(address).ok().and_then(|address| memory(address, length)).unwrap_or_default();
        found.get(..length).ok_or_else(|| {
            let what = format!("{} at {address:#x}", what());
            CallError::ShortBuffer { what, needed: length, available: found.len() }
        })
    }
}

impl Unit {
    /// Draws what the registers say, as a write of `GPUREG_DRAWARRAYS` (0x22e) does: vertices in order.
    ///
    /// `memory` gives so many bytes from a physical address on, or `None` where there is none. It is asked once for
    /// each buffer, and for no more than the vertices of the draw. An attribute that no buffer holds is the fixed one,
    /// whatever the mask of fixed attributes says.
    ///
    /// # Errors
    /// As [`draw`](Self::draw); [`ShortBuffer`](CallError::ShortBuffer), naming the attribute buffer, if there is no
    /// such memory.
    pub fn draw_arrays<'m>(
        &mut self,
        engine: &Engine,
        memory: impl Fn(u32, usize) -> Option<&'m [u8]>,
    ) -> Result<Triangles, Error> {
        let buffers = self.attribute_buffers;
        let count = buffers.vertices;
        check_count(count as usize)?;
        let attributes = buffers.read(self.vertex.attributes(), (buffers.first_vertex, count), &memory)?;
        self.draw(engine, &Draw { attributes: &attributes, vertices: Vertices::Range(0..count) })
    }

    /// Draws what the registers say, as a write of `GPUREG_DRAWELEMENTS` (0x22f) does: vertices by their indices in
    /// the index buffer. `memory` is asked for it too, and of attribute buffers for nothing but what lies from the
    /// least index to the greatest.
    ///
    /// # Errors
    /// As [`draw_arrays`](Self::draw_arrays).
    pub fn draw_elements<'m>(
        &mut self,
        engine: &Engine,
        memory: impl Fn(u32, usize) -> Option<&'m [u8]>,
    ) -> Result<Triangles, Error> {
        let buffers = self.attribute_buffers;
        check_count(buffers.vertices as usize)?;
        let mut indices = buffers.indices(&memory)?;
        let has_counts = self.runs_geometry() && matches!(self.input_mode(), Some(InputMode::Variable { .. }));
        let primitives = match has_counts {
            true => variable_primitives(&indices),
            false => std::iter::once(0..indices.len()).collect(),
        };
        let vertices = || primitives.iter().flat_map(|primitive| &indices[primitive.clone()]).copied();
        let (first, count) = match (vertices().min(), vertices().max()) {
            (Some(first), Some(last)) => (first, u32::from(last - first) + 1),
            _ => (0, 0),
        };
        // The buffers begin with the first vertex.
        primitives.into_iter().for_each(|primitive| indices[primitive].iter_mut().for_each(|index| *index -= first));
        let attributes = buffers.read(self.vertex.attributes(), (first.into(), count), &memory)?;
        self.draw(engine, &Draw { attributes: &attributes, vertices: Vertices::Indices(&indices) })
    }
}
