//! Guards: values that must not be NaN. They are noted as they come and looked at once a wave.

use super::Emitter;
use crate::jit::abi::{self, offset};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder};
use cranelift_frontend::Variable;

/// What a function with guards keeps of them.
pub struct Guards {
    /// All ones in each lane in which some value of the wave was NaN.
    failed: Variable,
    /// Whether any code since the beginning of the wave or of its phase has said so.
    is_noted: bool,
    /// A vector of this block that has yet to be looked at: two take one comparison.
    pending: Option<clif::Value>,
    /// In phases: the first element of the tile whose wave has such a lane, or the number of elements.
    stopped: Option<Variable>,
}

impl Emitter<'_, '_> {
    /// Begins a wave: no guard has failed.
    pub(super) fn begin_guards(&mut self) {
        if self.program.facts.guards {
            let simd = &mut self.simd;
            let guards = self.guards.get_or_insert_with(|| {
                let failed = simd.builder.declare_var(I32X4);
                Guards { failed, is_noted: false, pending: None, stopped: None }
            });
            let none = simd.word(I32X4, 0);
            simd.builder.def_var(guards.failed, none);
            guards.is_noted = false;
        }
    }

    /// Notes a vector, in whatever lanes it is NaN.
    pub(super) fn guard(&mut self, vector: clif::Value) {
        let Some(guards) = &mut self.guards else { unreachable!("the plan has found every guard") };
        match guards.pending.take() {
            Some(other) => self.note_unordered(other, vector),
            None => guards.pending = Some(vector),
        }
    }

    /// Ends a block: what is pending is looked at.
    pub(super) fn flush_guards(&mut self) {
        if let Some(vector) = self.guards.as_mut().and_then(|guards| guards.pending.take()) {
            self.note_unordered(vector, vector);
        }
    }

    fn note_unordered(&mut self, a: clif::Value, b: clif::Value) {
        let Some(Guards { failed, is_noted, .. }) = &mut self.guards else { unreachable!("there are guards") };
        *is_noted = true;
        let failed = *failed;
        let unordered = self.simd.fcmp(FloatCC::Unordered, a, b);
        let before = self.simd.builder.use_var(failed);
        let after = self.simd.ins().bor(before, unordered);
        self.simd.builder.def_var(failed, after);
    }

    /// Ends a wave: goes on in a new block if no guard has failed, else stops.
    pub(super) fn check_guards(&mut self) {
        let Some(Guards { failed, .. }) = self.guards else { return };
        let failed = self.simd.builder.use_var(failed);
        let any = self.simd.ins().vany_true(failed);
        self.stop_if(any, self.wave.element);
    }

    /// Ends the function if a guard has failed in the wave that begins with an element, else goes on in a new block.
    fn stop_if(&mut self, failed: clif::Value, element: clif::Value) {
        let [stop, go_on] = [(); 2].map(|()| self.simd.builder.create_block());
        self.simd.ins().brif(failed, stop, &[], go_on, &[]);
        self.simd.builder.switch_to_block(stop);
        let status = self.simd.iconst(abi::GUARD_FAILED);
        self.stop(element, status);
        self.simd.builder.switch_to_block(go_on);
    }

    /// Ends the function at the wave or the tile that begins with an element.
    fn stop(&mut self, element: clif::Value, status: clif::Value) {
        let element = self.simd.ins().ireduce(I32, element);
        self.simd.store(element, self.args, offset::STOPPED);
        self.simd.ins().return_(&[status]);
    }

    /// What happens where fuel runs out. With guards a wave stops, since it may have gone astray. A tile that runs out
    /// of it says where it begins: some wave of it may have run out, or all together.
    pub(super) fn run_out_of_fuel(&mut self) {
        self.simd.builder.switch_to_block(self.out_of_fuel);
        let failed = if self.program.facts.guards { abi::GUARD_FAILED } else { abi::OUT_OF_FUEL };
        let failed = self.simd.iconst(failed);
        match &self.tile {
            None => self.stop(self.wave.element, failed),
            Some(tile) => {
                let first = tile.first;
                let step = self.simd.ins().iconst(I64, self.step as i64);
                let is_one = self.simd.icmp(IntCC::UnsignedLessThanOrEqual, self.count, step);
                let out_of_fuel = self.simd.iconst(abi::OUT_OF_FUEL);
                let status = self.simd.ins().select(is_one, failed, out_of_fuel);
                self.stop(first, status);
            }
        }
    }

    // ---- in phases: a wave of the tile may fail in any of them, and those before it go on to the last

    /// Begins a tile: no guard has failed.
    pub(super) fn begin_tile(&mut self) {
        self.begin_guards();
        if let Some(guards) = &mut self.guards {
            let stopped = self.simd.builder.declare_var(I64);
            self.simd.builder.def_var(stopped, self.count);
            guards.stopped = Some(stopped);
        }
    }

    /// Ends a wave of a phase: notes whether a guard has failed, if there are any in it.
    pub(super) fn note_wave(&mut self) {
        let Some(Guards { failed, is_noted: true, stopped: Some(stopped), .. }) = self.guards else { return };
        let failed = self.simd.builder.use_var(failed);
        let any = self.simd.ins().vany_true(failed);
        let before = self.simd.builder.use_var(stopped);
        let this = self.simd.ins().select(any, self.wave.element, before);
        let is_first = self.simd.icmp(IntCC::UnsignedLessThan, this, before);
        let after = self.simd.ins().select(is_first, this, before);
        self.simd.builder.def_var(stopped, after);
    }

    /// Ends a tile: goes on in a new block if no guard has failed, else stops.
    pub(super) fn check_tile(&mut self) {
        let Some(Guards { stopped: Some(stopped), .. }) = self.guards else { return };
        let element = self.simd.builder.use_var(stopped);
        let failed = self.simd.icmp(IntCC::UnsignedLessThan, element, self.count);
        self.stop_if(failed, element);
    }
}
