//! From output registers to the rasteriser: which component goes to which slot, and vertices made of slots.

use crate::container::shbin::{Dvle, OutputMapping, OutputSemantic};
use crate::frontend::pica::RasterizerSlots;

/// A component that goes nowhere.
const UNUSED: u8 = 0x1f;

/// The output map: for each output attribute the slots of its four components.
///
/// Attribute `n` is the `n`-th register of the output mask, from the lowest. The registers are `GPUREG_SH_OUTMAP_TOTAL`
/// and `GPUREG_SH_OUTMAP_O0` to `O6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputMap {
    total: u8,
    attributes: [[u8; 4]; OutputMap::ATTRIBUTES],
}

impl Default for OutputMap {
    /// A map without slots.
    fn default() -> OutputMap {
        OutputMap { total: 0, attributes: [[UNUSED; 4]; OutputMap::ATTRIBUTES] }
    }
}

impl OutputMap {
    /// Output attributes that reach the rasteriser.
    pub const ATTRIBUTES: usize = 7;

    /// A map of so many attributes, given as the registers hold them: x in the lowest byte.
    pub fn from_registers(total: u32, words: &[u32]) -> OutputMap {
        let mut map = OutputMap::default();
        map.set_total(total);
        words.iter().take(OutputMap::ATTRIBUTES).enumerate().for_each(|(attribute, &word)| map.set(attribute, word));
        map
    }

    /// Sets how many attributes count: the low three bits.
    pub fn set_total(&mut self, total: u32) {
        self.total = (total & 7) as u8;
    }

    /// Sets the four slots of an attribute. There are seven; other numbers are ignored.
    pub fn set(&mut self, attribute: usize, word: u32) {
        if let Some(slots) = self.attributes.get_mut(attribute) {
            *slots = word.to_le_bytes().map(|slot| slot & UNUSED);
        }
    }

    /// How many attributes count.
    pub fn total(&self) -> usize {
        self.total.into()
    }

    /// The registers that hold the attributes which count.
    pub fn words(&self) -> impl Iterator<Item = u32> + use<'_> {
        self.attributes[..self.total().min(OutputMap::ATTRIBUTES)].iter().map(|&slots| u32::from_le_bytes(slots))
    }

    /// The map of an executable's output table, and the mask of its registers.
    pub fn of_table(outputs: &[OutputMapping]) -> (OutputMap, u16) {
        let mask = outputs.iter().fold(0, |mask, output| mask | 1u16 << (output.register & 0xf));
        let mut map = OutputMap { total: (mask.count_ones().min(7)) as u8, ..OutputMap::default() };
        for output in outputs {
            let (first, count) = match output.semantic {
                OutputSemantic::POSITION => (0, 4),
                OutputSemantic::NORMAL_QUAT => (4, 4),
                OutputSemantic::COLOR => (8, 4),
                OutputSemantic::TEXCOORD_0 => (12, 2),
                OutputSemantic::TEXCOORD_1 => (14, 2),
                OutputSemantic::TEXCOORD_0_W => (16, 1),
                OutputSemantic::VIEW => (18, 3),
                OutputSemantic::TEXCOORD_2 => (22, 2),
                _ => continue,
            };
            let below = (1u16 << (output.register & 0xf)) - 1;
            let Some(slots) = map.attributes.get_mut((mask & below).count_ones() as usize) else { continue };
            let components = (0..4).filter(|component| output.mask >> component & 1 != 0);
            for (component, slot) in components.zip(first..first + count) {
                slots[component] = slot;
            }
        }
        (map, mask)
    }

    /// The map of a vertex and a geometry shader that are to share one: the attributes of both first, then those of the
    /// geometry shader alone, then those of the vertex shader alone. So libctru merges them.
    pub fn merged(vertex: &OutputMap, geometry: &OutputMap) -> OutputMap {
        let (vertex, geometry): (Vec<u32>, Vec<u32>) = (vertex.words().collect(), geometry.words().collect());
        let used = |word: &&u32| **word != u32::from_le_bytes([UNUSED; 4]);
        let common = geometry.iter().filter(used).filter(|word| vertex.contains(word));
        let geometry_alone = geometry.iter().filter(used).filter(|word| !vertex.contains(word));
        let vertex_alone = vertex.iter().filter(used).filter(|word| !geometry.contains(word));
        let words: Vec<u32> = common.chain(geometry_alone).chain(vertex_alone).copied().collect();
        OutputMap::from_registers(words.len().min(OutputMap::ATTRIBUTES) as u32, &words)
    }

    /// The map of a geometry shader's executable, merged with that of the vertex shader's if it says so.
    pub(super) fn of_executables(vertex: &Dvle<'_>, geometry: Option<&Dvle<'_>>) -> OutputMap {
        let (vertex, _) = OutputMap::of_table(&vertex.outputs);
        let Some(geometry) = geometry else { return vertex };
        let merges = geometry.merges_output_maps();
        let (geometry, _) = OutputMap::of_table(&geometry.outputs);
        if merges { OutputMap::merged(&vertex, &geometry) } else { geometry }
    }

    /// Which register component each slot comes from, where `mask` names the output registers. Where several go to one
    /// slot, the last does.
    pub fn rasterizer_slots(&self, mask: u16) -> RasterizerSlots {
        let registers = (0..16u8).filter(|register| mask >> register & 1 != 0);
        let mut slots = RasterizerSlots { sources: [None; RasterizerSlots::COUNT] };
        for (register, attribute) in registers.zip(&self.attributes[..self.total().min(OutputMap::ATTRIBUTES)]) {
            for (component, &slot) in (0..).zip(attribute) {
                if let Some(source) = slots.sources.get_mut(usize::from(slot)) {
                    *source = Some((register, component));
                }
            }
        }
        slots
    }
}

/// A vertex as the rasteriser takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputVertex {
    /// By [`RasterizerSlots`].
    pub slots: [f32; RasterizerSlots::COUNT],
}

impl OutputVertex {
    /// Bytes of a vertex in a buffer: the slots in order.
    pub const BYTES: usize = 4 * RasterizerSlots::COUNT;

    /// A vertex from its bytes, little-endian.
    pub fn from_bytes(bytes: &[u8; OutputVertex::BYTES]) -> OutputVertex {
        let words = bytes.as_chunks().0;
        OutputVertex { slots: std::array::from_fn(|slot| f32::from_le_bytes(words[slot])) }
    }

    /// A vertex from rows of output registers, as bits.
    pub(super) fn from_rows(places: &Places, rows: impl Iterator<Item = [u32; 4]> + Clone) -> OutputVertex {
        let value = |slot: usize| match places.0[slot] {
            Place::Default => RasterizerSlots::DEFAULT,
            Place::Component { row, component } => {
                let value = rows.clone().nth(row).map_or(0.0, |row| f32::from_bits(row[component]));
                if RasterizerSlots::is_colour(slot) { clamp_colour(value) } else { value }
            }
        };
        OutputVertex { slots: std::array::from_fn(value) }
    }

    /// Its bytes, little-endian.
    pub fn to_bytes(&self) -> [u8; OutputVertex::BYTES] {
        let mut bytes = [0; OutputVertex::BYTES];
        for (word, slot) in bytes.as_chunks_mut().0.iter_mut().zip(self.slots) {
            *word = slot.to_le_bytes();
        }
        bytes
    }

    fn array<const N: usize>(&self, first: usize) -> [f32; N] {
        std::array::from_fn(|component| self.slots[first + component])
    }

    /// In clip space.
    pub fn position(&self) -> [f32; 4] {
        self.array(0)
    }

    /// The quaternion that turns the z axis into the normal.
    pub fn quaternion(&self) -> [f32; 4] {
        self.array(4)
    }

    /// The colour, each component 0 to 1.
    pub fn colour(&self) -> [f32; 4] {
        self.array(8)
    }

    /// Texture coordinate `index`, 0 to 2; zeros for others.
    pub fn texture_coordinate(&self, index: usize) -> [f32; 2] {
        [12, 14, 22].get(index).map_or([0.0; 2], |&first| self.array(first))
    }

    /// The third component of texture coordinate 0.
    pub fn texture_coordinate_w(&self) -> f32 {
        self.slots[16]
    }

    /// From the vertex to the eye.
    pub fn view(&self) -> [f32; 3] {
        self.array(18)
    }
}

/// Where each slot is among rows of registers.
pub(super) struct Places([Place; RasterizerSlots::COUNT]);

#[derive(Clone, Copy)]
enum Place {
    Default,
    Component { row: usize, component: usize },
}

impl Places {
    /// For rows of these registers, in that order. One that is not among them reads as zero.
    pub fn new(slots: &RasterizerSlots, registers: &[u8]) -> Places {
        Places(slots.sources.map(|source| match source {
            None => Place::Default,
            Some((register, component)) => Place::Component {
                row: registers.iter().position(|&other| other == register).unwrap_or(usize::MAX),
                component: usize::from(component & 3),
            },
        }))
    }
}

/// What the rasteriser makes of a colour before it interpolates. Denormals are flushed, as arithmetic does.
fn clamp_colour(value: f32) -> f32 {
    let magnitude = if value.is_subnormal() { 0.0 } else { value.abs() };
    if magnitude < 1.0 { magnitude } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(semantic: OutputSemantic, register: u8, mask: u8) -> OutputMapping {
        OutputMapping { semantic, register, mask, unknown: 0 }
    }

    #[test]
    fn attributes_are_the_registers_of_the_mask() {
        // o1 is the position, o4.zw a texture coordinate, and o4.x its w.
        let outputs = [
            mapping(OutputSemantic::POSITION, 1, 0xf),
            mapping(OutputSemantic::TEXCOORD_0, 4, 0b1100),
            mapping(OutputSemantic::TEXCOORD_0_W, 4, 0b0001),
        ];
        let (map, mask) = OutputMap::of_table(&outputs);
        assert_eq!((map.total(), mask), (2, 0b1_0010));
        assert_eq!(map.words().collect::<Vec<_>>(), [0x0302_0100, 0x0d0c_1f10]);
        let slots = map.rasterizer_slots(mask);
        assert_eq!(slots.sources[3], Some((1, 3)));
        assert_eq!([12, 13, 16].map(|slot| slots.sources[slot]), [Some((4, 2)), Some((4, 3)), Some((4, 0))]);
        assert_eq!(slots.sources.iter().flatten().count(), 7);
        assert_eq!(
            slots.components(),
            std::array::from_fn(|n| [0xf, 0b1101][usize::from(n == 4)] * u8::from(n == 1 || n == 4))
        );
    }

    #[test]
    fn the_last_of_two_sources_counts_and_no_slot_is_out_of_range() {
        let map = OutputMap::from_registers(0xff, &[0x1c1b_1a19, 0xff08_0808, 0, 0, 0, 0, 0, 0x0a0a_0a0a]);
        assert_eq!(map.total(), 7);
        let slots = map.rasterizer_slots(0xffff);
        assert_eq!(slots.sources[8], Some((1, 2)));
        assert_eq!(slots.sources[0], Some((6, 3)));
        assert_eq!(slots.sources.iter().flatten().count(), 2);
        assert_eq!(OutputMap::default().rasterizer_slots(0xffff).sources, [None; 24]);
    }

    #[test]
    fn merged_maps_have_common_attributes_first() {
        let vertex = OutputMap::from_registers(3, &[0x0302_0100, 0x0b0a_0908, 0x1f1f_0d0c]);
        let geometry = OutputMap::from_registers(2, &[0x1f1f_0f0e, 0x0302_0100]);
        let merged = OutputMap::merged(&vertex, &geometry);
        assert_eq!(merged.words().collect::<Vec<_>>(), [0x0302_0100, 0x1f1f_0f0e, 0x0b0a_0908, 0x1f1f_0d0c]);
    }

    #[test]
    fn slots_without_a_source_are_one_and_colours_are_clamped() {
        let map = OutputMap::from_registers(1, &[0x0b0a_0908]);
        let row = [-0.5, 7.0, f32::NAN, -1e-40].map(f32::to_bits);
        let vertex = OutputVertex::from_rows(&Places::new(&map.rasterizer_slots(1), &[0]), [row].into_iter());
        assert_eq!(vertex.colour(), [0.5, 1.0, 1.0, 0.0]);
        assert_eq!((vertex.position(), vertex.texture_coordinate(2)), ([1.0; 4], [1.0; 2]));
        assert_eq!(OutputVertex::from_bytes(&vertex.to_bytes()), vertex);
    }
}
