//! The machine: waves side by side, which go on together as long as they go the same way.

use super::bytecode::{Bytecode, Code, Instruction};
use super::dispatch::Together;
use super::memory::Arrays;
pub use super::memory::Shared;
use super::{LANES, Register};
use crate::entity::Array;
use crate::eval::{Lanes, map2};
use crate::fuel::{Fuel, Meter, Stop};
use crate::interp::{self, Bindings};

/// Most waves side by side: those of four lanes.
pub(super) const WAVES: usize = LANES / 4;

/// Where a wave is that has ended.
const ENDED: u32 = u32::MAX;

/// Where a phase of a wave ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseEnd {
    /// The function.
    Return,
    /// A barrier.
    Barrier {
        /// Where it goes on.
        place: u32,
        /// Byte offset of the source instruction, if it has one.
        offset: Option<u32>,
    },
}

/// Runs one function; keeps its memory from run to run.
#[derive(Debug)]
pub struct Machine<'c> {
    pub(super) code: &'c Bytecode,
    pub(super) registers: Vec<Register>,
    pub(super) arrays: Arrays,
    /// Lanes of a wave.
    pub(super) lanes: usize,
    /// Where a guard has failed in this run.
    pub(super) unordered: Register,
}

impl<'c> Machine<'c> {
    /// A machine for waves of 4, 8 or 16 lanes.
    pub fn new(code: &'c Bytecode, lanes: usize) -> Machine<'c> {
        let mut registers = vec![Register::ZERO; code.registers as usize];
        for (register, &literal) in registers.iter_mut().zip(&code.literals) {
            *register = Register([literal; LANES]);
        }
        Machine { code, registers, arrays: Arrays::new(code), lanes, unordered: Register::ZERO }
    }

    /// What lanes read of a component of an input element, to be set before a run; none if nothing reads it. Lanes
    /// behind the last wave's are best set to what that one has.
    pub fn input(&mut self, element: usize, component: usize) -> Option<&mut Lanes<LANES>> {
        let register = self.code.inputs.get(element)?[component]?;
        Some(&mut self.registers[register as usize].0)
    }

    /// Sets everything that lanes read to what the reference is given.
    pub fn set_inputs(&mut self, bindings: &Bindings<'_, LANES>) {
        for (element, components) in bindings.inputs.iter().enumerate() {
            for (component, lanes) in components.iter().enumerate() {
                if let Some(to) = self.input(element, component) {
                    *to = *lanes;
                }
            }
        }
        self.set_vertex_id(bindings.vertex_id);
    }

    /// Sets the invocations' numbers. Lanes of the tail repeat the last.
    pub fn set_vertex_id(&mut self, numbers: Lanes<LANES>) {
        if let Some(register) = self.code.vertex_id {
            self.registers[register as usize].0 = numbers;
        }
        if let Some(register) = self.code.active {
            self.registers[register as usize].0 = interp::active(&numbers);
        }
    }

    /// Begins a call, or the part of one for which what is shared stays the same: does what needs no wave.
    ///
    /// `FMA` says that the caller is compiled for machines with an instruction for a sum and product rounded once.
    #[inline(always)]
    pub fn bind<const FMA: bool>(&mut self, shared: &Shared<'_>, instance_id: u32) {
        if let Some(register) = self.code.instance_id {
            self.registers[register as usize].0 = [instance_id; LANES];
        }
        let code = self.code;
        let mut nobody = Together { waves: 0, mask: Register::ZERO, meters: [const { None }; WAVES] };
        // It has no edges that cost anything.
        let _ = self.go::<FMA, false>(&code.prologue, 0, shared, &mut nobody);
    }

    /// Runs so many waves to their end, as if one after the other. `FMA` is as in [`bind`](Self::bind).
    ///
    /// # Errors
    /// What stops one of them.
    #[inline(always)]
    pub fn run<const FMA: bool>(&mut self, shared: &Shared<'_>, waves: usize, fuel: Fuel<'_>) -> Result<(), Stop> {
        // All together, and if one of them stops one after the other: only then it shows which one does, and of what.
        let mut running = 0..waves;
        let mut is_retry = false;
        loop {
            match self.attempt::<FMA>(shared, waves, running.clone(), fuel) {
                Ok(()) if running.end == waves => return Ok(()),
                Ok(()) => running = running.end..running.end + 1,
                Err(stop) if is_retry || waves == 1 || stop == Stop::Cancelled => return Err(stop),
                Err(_) => (running, is_retry) = (0..1, true),
            }
        }
    }

    /// Runs some of the waves together.
    #[inline(always)]
    fn attempt<const FMA: bool>(
        &mut self,
        shared: &Shared<'_>,
        waves: usize,
        running: std::ops::Range<usize>,
        fuel: Fuel<'_>,
    ) -> Result<(), Stop> {
        let code = self.code;
        let mut meters = [const { None }; WAVES];
        let mut places = [ENDED; WAVES];
        for wave in running {
            (meters[wave], places[wave]) = (Some(Meter::new(fuel)?), 0);
        }
        self.begin(&places, waves);
        loop {
            let here = places.into_iter().min().unwrap_or(ENDED);
            if here == ENDED {
                break;
            }
            let is_here = |wave: usize| places[wave] == here;
            let is_all = (0..waves).all(is_here);
            let mask = self.mask(is_here, waves);
            let mut together = Together { waves, mask, meters: [const { None }; WAVES] };
            for (wave, meter) in meters.iter_mut().enumerate() {
                together.meters[wave] = meter.as_mut().filter(|_| is_here(wave));
            }
            let end = if is_all {
                self.go::<FMA, false>(&code.code, here, shared, &mut together)?
            } else {
                self.go::<FMA, true>(&code.code, here, shared, &mut together)?
            };
            for (wave, meter) in together.meters.into_iter().enumerate() {
                if let Some(meter) = meter {
                    places[wave] = self.leave(end, wave, meter)?;
                }
            }
        }
        meters.iter_mut().flatten().try_for_each(Meter::end)
    }

    /// Begins a run: what it stores in its midst is zero, and no guard has failed in the waves that run.
    fn begin(&mut self, places: &[u32; WAVES], waves: usize) {
        self.arrays.clear();
        let mask = self.mask(|wave| places[wave] != ENDED, waves);
        for &register in &self.code.zeroed {
            let lanes = &mut self.registers[register as usize].0;
            *lanes = map2(*lanes, mask.0, |lane, mask| lane & !mask);
        }
        self.unordered.0 = map2(self.unordered.0, mask.0, |lane, mask| lane & !mask);
    }

    /// The lanes of some waves. Those behind the last wave are as that.
    fn mask(&self, of: impl Fn(usize) -> bool, waves: usize) -> Register {
        Register(std::array::from_fn(|lane| if of((lane / self.lanes).min(waves - 1)) { u32::MAX } else { 0 }))
    }

    /// Where a wave goes on behind the end of a block.
    fn leave(&self, end: usize, wave: usize, meter: &mut Meter<'_>) -> Result<u32, Stop> {
        let Some(inst) = self.code.code.get(end) else { return Ok(ENDED) };
        // In lockstep form all lanes of a wave agree.
        let value = || self.registers[inst.a as usize].0[wave * self.lanes];
        Ok(match inst.code {
            Code::Jump => {
                meter.pay(inst.c)?;
                inst.a
            }
            Code::Branch => {
                if value() != 0 {
                    inst.b
                } else {
                    inst.c
                }
            }
            Code::Switch => self.code.switches[inst.b as usize].target(value()),
            // A wave by itself comes wherever it goes.
            Code::Barrier => end as u32 + 1,
            _ => ENDED,
        })
    }

    /// Begins the run of one wave, which [`run_phase`](Self::run_phase) goes on with.
    pub fn begin_wave(&mut self) {
        let mut places = [ENDED; WAVES];
        places[0] = 0;
        self.begin(&places, 1);
    }

    /// Goes on with a wave, from the place where it stands: 0 at first. It comes to the end of the function, or to a
    /// [barrier](crate::Op::Barrier). `FMA` is as in [`bind`](Self::bind).
    ///
    /// # Errors
    /// What stops it.
    #[inline(always)]
    pub fn run_phase<const FMA: bool>(
        &mut self,
        shared: &Shared<'_>,
        mut place: u32,
        meter: &mut Meter<'_>,
    ) -> Result<PhaseEnd, Stop> {
        let code = self.code;
        let mask = self.mask(|_| true, 1);
        loop {
            let mut together = Together { waves: 1, mask, meters: [const { None }; WAVES] };
            together.meters[0] = Some(meter);
            let end = self.go::<FMA, false>(&code.code, place, shared, &mut together)?;
            if let Some(Instruction { code: Code::Barrier, a, .. }) = code.code.get(end) {
                return Ok(PhaseEnd::Barrier { place: end as u32 + 1, offset: a.checked_sub(1) });
            }
            place = self.leave(end, 0, meter)?;
            if place == ENDED {
                return Ok(PhaseEnd::Return);
            }
        }
    }

    /// Whether no guard has failed in a wave of the last run.
    pub fn guards_hold(&self, wave: usize) -> bool {
        let lanes = self.unordered.0.iter().skip(wave * self.lanes).take(self.lanes);
        lanes.fold(0, |all, lane| all | lane) == 0
    }

    /// What the last run left in a component of an output element.
    pub fn output(&self, element: usize, component: usize) -> &Lanes<LANES> {
        &self.registers[self.code.outputs[element][component] as usize].0
    }

    /// A register array as the last run left it, `[element][component]`. Made for those that are kept.
    pub fn array(&self, array: Array) -> &[Register] {
        self.arrays.cells(array.as_u32() as usize)
    }
}
