//! Outputs as the rasteriser's slots.

use super::Lowering;
use crate::frontend::pica::slots::RasterizerSlots;
use crate::frontend::{ComponentType, Element};

/// Four slots an element.
pub(super) fn elements() -> Vec<Element> {
    let element = |number: usize| Element {
        semantic: "slots".to_string(),
        index: number as u32,
        register: u32::MAX,
        mask: 0xf,
        ty: ComponentType::F32,
    };
    (0..RasterizerSlots::COUNT / 4).map(element).collect()
}

impl Lowering<'_> {
    /// Sets the output elements from the output registers, as the rasteriser reads them.
    pub(super) fn store_slots(&mut self, slots: &RasterizerSlots) {
        for (slot, source) in slots.sources.into_iter().enumerate() {
            let value = match source {
                None => self.b.f32(RasterizerSlots::DEFAULT),
                Some((register, component)) => {
                    match self.registers.output(usize::from(register & 0xf), usize::from(component & 3)) {
                        Some(variable) => self.b.use_var(variable),
                        None => self.b.f32(0.0),
                    }
                }
            };
            let value = if source.is_some() && RasterizerSlots::is_colour(slot) {
                let (magnitude, one) = (self.b.fabs([value]), self.b.f32(1.0));
                self.b.pmin([magnitude, one])
            } else {
                value
            };
            self.b.output((slot / 4) as u32, (slot % 4) as u8, value);
        }
    }
}
