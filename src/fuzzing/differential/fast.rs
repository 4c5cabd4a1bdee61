//! The fast interpreter on a case, with all loops that this machine can run.

use super::{CALL_FUEL, DifferentialCase, Ended, FUEL, Rows, Seen, is_same, wave};
use crate::jit::Loops;
use shaderjit_ir::fuel::{Fuel, Stop};
use shaderjit_ir::vm::{Bytecode, LANES, Machine, Shared};
use shaderjit_ir::{Function, Op};
use std::sync::atomic::AtomicU64;

/// Asserts that waves of so many lanes set what the reference says, or end as that does, and take as much fuel.
pub(super) fn check(
    func: &Function,
    case: &DifferentialCase,
    lanes: usize,
    want: &Result<Rows, Ended>,
    taken: impl FnOnce() -> u64,
) {
    let code = Bytecode::new(func).expect("what the passes make can be translated");
    let has_guards = func.insts.values().any(|inst| inst.op == Op::GuardOrdered);
    let taken = taken();
    for loops in Loops::available() {
        let left = AtomicU64::new(CALL_FUEL);
        let got = run(func, &code, case, lanes, loops, Fuel { call: Some(&left), ..Fuel::from(FUEL) });
        let same = match (&got, want) {
            (Ok(got), Ok(want)) => is_same(got, want) && CALL_FUEL - left.into_inner() == taken,
            // A wave may stop because it or one beside it went astray behind a guard.
            (Err(Ended::Fuel(_)), Err(Ended::Guard(_))) => has_guards,
            (got, want) => got == want,
        };
        assert!(same, "{lanes} lanes, {loops:?}: {got:x?} is not {want:x?}\n{func}\n{code:#?}\n{:x?}", case.data);
    }
}

fn run(
    func: &Function,
    code: &Bytecode,
    case: &DifferentialCase,
    lanes: usize,
    loops: Loops,
    fuel: Fuel<'_>,
) -> Result<Rows, Ended> {
    let (uniforms, resources) = (case.data.uniform_rows(), case.data.resource_bytes());
    let uniforms: Vec<&[[u32; 4]]> = Shared::rows(func, uniforms.iter().copied()).collect();
    let mut machine = Machine::new(code, lanes);
    let mut rows = vec![[0; 4]; func.outputs as usize * case.count];
    for first in (0..case.count).step_by(LANES) {
        let (count, data) = (LANES.min(case.count - first), wave::<LANES>(case, first, Seen::Components));
        let bindings = data.bindings(&uniforms, &resources);
        let shared = Shared { uniforms: &uniforms, resources: &resources, textures: bindings.textures };
        machine.set_inputs(&bindings);
        if first == 0 {
            loops.bind(&mut machine, &shared, bindings.instance_id);
        }
        let waves = count.div_ceil(lanes);
        loops.run(&mut machine, &shared, waves, fuel).map_err(|stop: Stop| Ended::Fuel(stop))?;
        if let Some(wave) = (0..waves).find(|&wave| !machine.guards_hold(wave)) {
            return Err(Ended::Guard(first + wave * lanes));
        }
        for element in 0..func.outputs as usize {
            for lane in 0..count {
                rows[element * case.count + first + lane] =
                    std::array::from_fn(|component| machine.output(element, component)[lane]);
            }
        }
    }
    Ok(rows)
}
