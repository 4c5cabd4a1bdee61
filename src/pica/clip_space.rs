//! From the 3DS's clip space to Direct3D's: the vertices of a draw as the rasteriser (feature `raster`) takes them.

use super::draw::Triangles;
use super::output_map::OutputVertex;
use crate::call::VertexTable;
use crate::error::CallError;
use crate::frontend::{ComponentType, Element};

/// The depth range: what depth a vertex has at each end of the clip space, where z is from -w to 0.
///
/// It is linear between the two: `scale * z / w + offset`. (3dbrew, "GPU/Internal Registers", `GPUREG_DEPTHMAP_SCALE`
/// and `GPUREG_DEPTHMAP_OFFSET`.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthMap {
    /// How much depth grows with z.
    pub scale: f32,
    /// The depth at z = 0.
    pub offset: f32,
}

impl DepthMap {
    /// From 0 at the near plane to 1 at the far plane, as Direct3D has it.
    pub const DIRECT3D: DepthMap = DepthMap { scale: 1.0, offset: 1.0 };
}

impl Default for DepthMap {
    /// What applications set: 1 at the near plane, 0 at the far plane.
    fn default() -> DepthMap {
        DepthMap { scale: -1.0, offset: 0.0 }
    }
}

/// What a vertex has: semantic, index, and the slots of its components.
const ELEMENTS: [(&str, u32, &[usize]); 7] = [
    ("SV_Position", 0, &[0, 1, 2, 3]),
    ("QUATERNION", 0, &[4, 5, 6, 7]),
    ("COLOR", 0, &[8, 9, 10, 11]),
    ("TEXCOORD", 0, &[12, 13, 16]),
    ("TEXCOORD", 1, &[14, 15]),
    ("TEXCOORD", 2, &[22, 23]),
    ("VIEW", 0, &[18, 19, 20]),
];

/// Vertices of the rasteriser's 24 slots, [`OutputVertex::BYTES`] each, as elements that a pixel shader can name:
/// `SV_Position`, `QUATERNION`, `COLOR`, `TEXCOORD0` (its third component is the one that cube maps take) to
/// `TEXCOORD2`, `VIEW`. Depths are those of `depth`, so that a viewport from 0 to 1 keeps them.
///
/// # Errors
/// [`CallError::Invalid`] if the bytes are no whole number of vertices.
pub fn vertex_table(vertices: &[u8], depth: DepthMap) -> Result<VertexTable, CallError> {
    let elements =
        ELEMENTS.map(|(name, index, slots)| Element::new(name, index, slots.len() as u32, ComponentType::F32));
    let (whole, rest) = vertices.as_chunks();
    if !rest.is_empty() {
        let what = format!("{} bytes are no whole number of vertices of slots", vertices.len());
        return Err(CallError::Invalid(what));
    }
    let row = |vertex: &[u8; OutputVertex::BYTES]| {
        let mut slots = OutputVertex::from_bytes(vertex).slots;
        slots[2] = depth.scale * slots[2] + depth.offset * slots[3];
        ELEMENTS.iter().flat_map(|(_, _, places)| places.iter()).flat_map(move |&slot| slots[slot].to_le_bytes())
    };
    VertexTable::from_bytes(&elements, whole.iter().flat_map(row).collect())
}

impl Triangles {
    /// The [vertices](vertex_table), for `raster::Pipeline::draw` (feature `raster`). The triangles' corners are
    /// `indices.as_flattened()`.
    ///
    /// # Errors
    /// [`CallError::Invalid`] if [`vertices`](Triangles::vertices) has been changed to no whole number of vertices.
    pub fn vertex_table(&self, depth: DepthMap) -> Result<VertexTable, CallError> {
        vertex_table(&self.vertices, depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::pica::RasterizerSlots;

    #[test]
    fn slots_are_elements_and_depths_are_mapped() {
        let mut slots: [f32; RasterizerSlots::COUNT] = std::array::from_fn(|slot| slot as f32);
        (slots[2], slots[3]) = (-6.0, 8.0);
        let vertices = OutputVertex { slots }.to_bytes();
        let word = |depth: DepthMap, name: &str, index: u32| {
            let table = vertex_table(&vertices, depth).unwrap();
            table.get(0, table.find(name, index).unwrap()).map(f32::from_bits)
        };
        assert_eq!(word(DepthMap::default(), "SV_Position", 0), [0.0, 1.0, 6.0, 8.0]);
        assert_eq!(word(DepthMap::DIRECT3D, "SV_Position", 0), [0.0, 1.0, 2.0, 8.0]);
        assert_eq!(word(DepthMap::default(), "TEXCOORD", 0), [12.0, 13.0, 16.0, 0.0]);
        assert_eq!(word(DepthMap::default(), "TEXCOORD", 2), [22.0, 23.0, 0.0, 0.0]);
        assert_eq!(word(DepthMap::default(), "COLOR", 0), [8.0, 9.0, 10.0, 11.0]);
        assert!(vertex_table(&vertices[1..], DepthMap::default()).is_err());
    }
}
