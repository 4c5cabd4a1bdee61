//! Metering: edges that go backwards pay with the wave's fuel, or with that of all waves of a tile, which go together.
//!
//! What a wave has left is counted in a register. When that is used up, a call says whether there is more
//! ([`crate::jit::refuel`]); it keeps all registers, so the loop around it is what it would be without the call.

use super::Emitter;
use crate::jit::abi::offset;
use crate::jit::mode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{self as clif, AbiParam, BlockArg, InstBuilder, Signature};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::Variable;
use shaderjit_ir::{Block, cfg};

/// What is kept of a wave's fuel, or of a tile's.
#[derive(Clone, Copy)]
pub(super) struct Meter {
    /// What is left of what was given.
    left: Variable,
    /// In phases, what the waves of the tile have taken, each for itself.
    spent: Option<Variable>,
    /// In a phase with such edges, what is left of it to the wave at hand, and to the one that has least.
    of_wave: Option<[Variable; 2]>,
}

impl Emitter<'_, '_> {
    /// Begins a wave or a tile: fills up its fuel.
    pub(super) fn begin_fuel(&mut self) {
        if !self.program.facts.pays {
            return;
        }
        let left = self.simd.builder.declare_var(I32);
        let first = self.simd.load(I32, self.args, offset::FUEL);
        self.simd.builder.def_var(left, first);
        let spent = self.program.is_cut().then(|| {
            let spent = self.simd.builder.declare_var(I64);
            let none = self.simd.ins().iconst(I64, 0);
            self.simd.builder.def_var(spent, none);
            spent
        });
        self.meter = Some(Meter { left, spent, of_wave: None });
    }

    /// Ends a wave or a tile: adds what it has taken to what others have.
    pub(super) fn end_fuel(&mut self) {
        let Some(Meter { left, spent, .. }) = self.meter else { return };
        let taken = match spent {
            Some(spent) => self.simd.builder.use_var(spent),
            None => {
                let granted = self.simd.load(I32, self.args, offset::GRANTED);
                let left = self.simd.builder.use_var(left);
                let taken = self.simd.ins().isub(granted, left);
                self.simd.ins().uextend(I64, taken)
            }
        };
        let before = self.simd.load(I64, self.args, offset::SPENT);
        let after = self.simd.ins().iadd(before, taken);
        self.simd.store(after, self.args, offset::SPENT);
        let first = self.simd.load(I32, self.args, offset::FUEL);
        self.simd.store(first, self.args, offset::GRANTED);
    }

    /// Whether waves pay in a phase, each for itself.
    pub(super) fn pays(&self, phase: usize) -> bool {
        let blocks = &self.program.cut.phases[phase].blocks;
        blocks.iter().any(|&block| cfg::successors(self.func, block).any(|to| self.program.costs.edge(block, to) > 0))
    }

    /// In front of a phase.
    pub(super) fn begin_phase_fuel(&mut self) {
        let pays = self.phase.as_ref().is_some_and(|phase| self.pays(phase.number));
        if let Some(meter) = &mut self.meter
            && pays
        {
            let [own, least] = [(); 2].map(|()| self.simd.builder.declare_var(I32));
            meter.of_wave = Some([own, least]);
            let left = self.simd.builder.use_var(meter.left);
            self.simd.builder.def_var(least, left);
        }
    }

    /// Begins a wave of a phase: it has what the tile has.
    pub(super) fn begin_wave_fuel(&mut self) {
        if let Some(Meter { left, of_wave: Some([own, _]), .. }) = self.meter {
            let left = self.simd.builder.use_var(left);
            self.simd.builder.def_var(own, left);
        }
    }

    /// Ends a wave of a phase.
    pub(super) fn end_wave_fuel(&mut self) {
        if let Some(Meter { of_wave: Some(of_wave), .. }) = self.meter {
            let [own, least] = of_wave.map(|variable| self.simd.builder.use_var(variable));
            let least = self.simd.ins().smin(own, least);
            self.simd.builder.def_var(of_wave[1], least);
        }
    }

    /// Behind a phase: a tile has left what the wave has left that took most. It runs out of fuel no later than one of
    /// its waves would.
    pub(super) fn end_phase_fuel(&mut self) {
        if let Some(meter) = &mut self.meter
            && let Some([_, least]) = meter.of_wave.take()
        {
            let left = self.simd.builder.use_var(least);
            self.simd.builder.def_var(meter.left, left);
        }
    }

    /// Ends the current block with an edge that costs fuel.
    pub(super) fn pay_and_jump(&mut self, from: Block, cost: u32, (target, args): (clif::Block, &[BlockArg])) {
        let Meter { left, spent, of_wave } = self.meter.expect("a function with such an edge has loops");
        let left = of_wave.map_or(left, |[own, _]| own);
        if let Some(spent) = spent {
            let cost = match self.phase {
                Some(_) => self.simd.ins().iconst(I64, i64::from(cost)),
                None => {
                    let waves = self.waves_at(from);
                    self.simd.ins().imul_imm_s(waves, i64::from(cost))
                }
            };
            let before = self.simd.builder.use_var(spent);
            let after = self.simd.ins().iadd(before, cost);
            self.simd.builder.def_var(spent, after);
        }
        let cost = self.simd.iconst(cost.min(i32::MAX as u32));
        let before = self.simd.builder.use_var(left);
        let after = self.simd.ins().isub(before, cost);
        self.simd.builder.def_var(left, after);
        let none = self.simd.iconst(0);
        let is_lacking = self.simd.icmp(IntCC::SignedLessThan, after, none);
        let refuel = self.simd.builder.create_block();
        self.simd.builder.set_cold_block(refuel);
        self.simd.ins().brif(is_lacking, refuel, &[], target, args);

        self.simd.builder.switch_to_block(refuel);
        self.simd.store(after, self.args, offset::LEFT);
        let mut signature = Signature::new(CallConv::PreserveAll);
        signature.params = vec![AbiParam::new(I64)];
        let signature = self.simd.builder.func.import_signature(signature);
        let callee = mode::refuel_wave as *const () as usize;
        let callee = self.simd.ins().iconst(I64, callee as i64);
        self.simd.ins().call_indirect(signature, callee, &[self.args]);
        let after = self.simd.load(I32, self.args, offset::LEFT);
        self.simd.builder.def_var(left, after);
        let none = self.simd.iconst(0);
        let is_lacking = self.simd.icmp(IntCC::SignedLessThan, after, none);
        self.simd.ins().brif(is_lacking, self.out_of_fuel, &[], target, args);
    }
}
