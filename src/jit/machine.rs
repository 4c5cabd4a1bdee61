//! The IR's fast interpreter, compiled once for each kind of machine: its loops over lanes become the vector
//! instructions that the machine has.

use shaderjit_ir::fuel::{Fuel, Meter, Stop};
use shaderjit_ir::vm::{Machine, PhaseEnd, Shared};

/// Whether machines of this architecture that have nothing optional can round a sum and product once.
const HAS_FMA: bool = cfg!(target_arch = "aarch64");

/// What the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// What every machine of the architecture has.
    Least,
    /// AVX2 and FMA. AVX-512 was no faster where it was tried.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

/// Proof that this machine has what the loops are compiled for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loops(Level);

impl Loops {
    /// The widest that run here.
    pub fn detect() -> Loops {
        Loops::available().next().unwrap_or(Loops(Level::Least))
    }

    /// All that run here, the widest first.
    pub fn available() -> impl Iterator<Item = Loops> {
        #[cfg(target_arch = "x86_64")]
        let optional = (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Level::Avx2);
        #[cfg(not(target_arch = "x86_64"))]
        let optional = None;
        optional.into_iter().chain([Level::Least]).map(Loops)
    }

    /// [`Machine::bind`].
    pub fn bind(self, machine: &mut Machine<'_>, shared: &Shared<'_>, instance_id: u32) {
        match self.0 {
            Level::Least => machine.bind::<HAS_FMA>(shared, instance_id),
            // SAFETY: `detect` has found the features, and nothing else makes the value.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::bind(machine, shared, instance_id) },
        }
    }

    /// [`Machine::run_phase`].
    ///
    /// # Errors
    /// As there.
    pub fn run_phase(
        self,
        machine: &mut Machine<'_>,
        shared: &Shared<'_>,
        place: u32,
        meter: &mut Meter<'_>,
    ) -> Result<PhaseEnd, Stop> {
        match self.0 {
            Level::Least => machine.run_phase::<HAS_FMA>(shared, place, meter),
            // SAFETY: as in `bind`.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::run_phase(machine, shared, place, meter) },
        }
    }

    /// [`Machine::run`].
    ///
    /// # Errors
    /// As there.
    pub fn run(self, machine: &mut Machine<'_>, shared: &Shared<'_>, waves: usize, fuel: Fuel<'_>) -> Result<(), Stop> {
        match self.0 {
            Level::Least => machine.run::<HAS_FMA>(shared, waves, fuel),
            // SAFETY: as in `bind`.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::run(machine, shared, waves, fuel) },
        }
    }
}

/// The interpreter's functions compiled for AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;

    #[target_feature(enable = "avx2,fma")]
    pub fn bind(machine: &mut Machine<'_>, shared: &Shared<'_>, instance_id: u32) {
        machine.bind::<true>(shared, instance_id);
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn run_phase(
        machine: &mut Machine<'_>,
        shared: &Shared<'_>,
        place: u32,
        meter: &mut Meter<'_>,
    ) -> Result<PhaseEnd, Stop> {
        machine.run_phase::<true>(shared, place, meter)
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn run(machine: &mut Machine<'_>, shared: &Shared<'_>, waves: usize, fuel: Fuel<'_>) -> Result<(), Stop> {
        machine.run::<true>(shared, waves, fuel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shaderjit_ir::interp::{Bindings, InterpOptions, Interpreter};
    use shaderjit_ir::texture::NoTextures;
    use shaderjit_ir::vm::{Bytecode, LANES};
    use shaderjit_ir::{FunctionBuilder, Type};

    /// Results around the smallest normal number are rounded exactly whatever the loops are compiled for.
    #[test]
    fn results_at_the_edge_of_denormals_are_those_of_the_reference() {
        let mut b = FunctionBuilder::new("edge", 1, 1);
        let [x, y, z] = [0, 1, 2].map(|component| b.input(Type::F32, 0, component));
        let results = [b.fmul([x, y]), b.fdiv([y, x]), b.fma([x, y, z]), b.fadd([y, z])];
        (0..4).zip(results).for_each(|(component, result)| b.output(0, component, result));
        b.ret();
        let func = b.finish();
        let code = Bytecode::new(&func).unwrap();
        let mut reference = Interpreter::<LANES>::new(&func);
        let options = InterpOptions { fuel: 0.into(), fused: true };
        let shared = Shared { uniforms: &[], resources: &[], textures: &NoTextures };
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        for _ in 0..2_000 {
            let x = [(); LANES].map(|()| 0x3f7f_fff0 + (random() & 0x1f));
            let y = [(); LANES].map(|()| (0x007f_fff8 + (random() & 0xf)) | (random() & 0x8000_0000));
            let z = [(); LANES].map(|()| if random() & 1 == 0 { random() & 0x80ff_ffff } else { 0 });
            let bindings = Bindings {
                inputs: &[[x, y, z, [0; LANES]]],
                vertex_id: [0; LANES],
                instance_id: 0,
                uniforms: &[],
                resources: &[],
                textures: &NoTextures,
            };
            let want = reference.run(&bindings, &options).unwrap()[0];
            for loops in Loops::available() {
                let mut machine = Machine::new(&code, 4);
                machine.set_inputs(&bindings);
                loops.bind(&mut machine, &shared, 0);
                loops.run(&mut machine, &shared, 4, 0.into()).unwrap();
                let got: [_; 4] = std::array::from_fn(|component| *machine.output(0, component));
                assert!(got == want, "{loops:?}: {got:x?} is not {want:x?} for {bindings:x?}");
            }
        }
    }
}
