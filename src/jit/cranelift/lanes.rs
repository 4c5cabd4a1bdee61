//! Addresses that differ among lanes.
//!
//! Lanes' offsets go through memory: a vector is stored, and each lane's offset loaded where its address is used. That
//! is one instruction a use; taken out of the vector they would be two a lane, and sixteen addresses of a wave's rows
//! do not fit the registers.

use super::Emitter;
use crate::jit::offsets::KeptOffsets;
use cranelift_codegen::ir::types::{I32, I32X4};
use cranelift_codegen::ir::{self as clif, InstBuilder};

impl Emitter<'_, '_> {
    /// Keeps a vector's unsigned 32-bit offsets.
    pub(super) fn keep_offsets(&mut self, offsets: clif::Value) -> KeptOffsets {
        let kept = self.here.offsets.take();
        let memory = self.frame.expect("the plan saw that lanes have addresses of their own");
        self.simd.store(offsets, memory, (self.places.frame.own.start + 16 * kept.slot()) as i32);
        kept
    }

    /// `base` plus one lane's offset.
    pub(super) fn lane_address(&mut self, base: clif::Value, offsets: KeptOffsets, lane: u8) -> clif::Value {
        let memory = self.frame.expect("offsets are kept there");
        let offset = self
            .simd
            .load_word(memory, (self.places.frame.own.start + 16 * offsets.slot()) as i32 + i32::from(lane) * 4);
        self.simd.ins().iadd(base, offset)
    }

    /// The word of each lane: at `base`, its offset, and what `at` gives for it.
    pub(super) fn gather_lanes(
        &mut self,
        base: clif::Value,
        offsets: clif::Value,
        at: impl Fn(u8) -> i32,
    ) -> clif::Value {
        let offsets = self.keep_offsets(offsets);
        let [first, rest @ ..] = [0, 1, 2, 3].map(|lane| (lane, self.lane_address(base, offsets, lane)));
        let word = self.simd.load(I32, first.1, at(0));
        let mut lanes = self.simd.ins().scalar_to_vector(I32X4, word);
        for (lane, address) in rest {
            let word = self.simd.load(I32, address, at(lane));
            lanes = self.simd.ins().insertlane(lanes, word, lane);
        }
        lanes
    }
}
