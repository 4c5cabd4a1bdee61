//! What the rasteriser makes of output registers: 24 slots with fixed meanings.

/// Which output component goes to each slot of the rasteriser.
///
/// Slots 0 to 3 are the position, 4 to 7 the quaternion of the normal, 8 to 11 the colour, 12 and 13 the first texture
/// coordinate, 14 and 15 the second, 16 the first one's w, 18 to 20 the view vector, 22 and 23 the third texture
/// coordinate. Slots without a source are 1. Colours are `min(|c|, 1)`, as the hardware does before it interpolates;
/// NaN gives 1. (3dbrew, "GPU/Internal Registers", `GPUREG_SH_OUTMAP`; the default and the colours as recorded on
/// hardware by Citra's authors.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RasterizerSlots {
    /// For each slot an output register and a component of it, 0 = x.
    pub sources: [Option<(u8, u8)>; RasterizerSlots::COUNT],
}

impl RasterizerSlots {
    /// Number of slots.
    pub const COUNT: usize = 24;
    /// What a slot without a source is.
    pub const DEFAULT: f32 = 1.0;

    /// Whether the slot is one of a colour, which is clamped.
    pub fn is_colour(slot: usize) -> bool {
        (8..12).contains(&slot)
    }

    /// The components of each output register that some slot comes from, bit 0 = x.
    pub fn components(&self) -> [u8; 16] {
        let mut components = [0; 16];
        for (register, component) in self.sources.into_iter().flatten() {
            if let Some(mask) = components.get_mut(usize::from(register)) {
                *mask |= 1u8.checked_shl(component.into()).unwrap_or(0) & 0xf;
            }
        }
        components
    }
}
