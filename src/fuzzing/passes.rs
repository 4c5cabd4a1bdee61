//! Passes keep what functions compute.

use arbitrary::{Arbitrary, Unstructured};
use shaderjit_ir::Function;
use shaderjit_ir::arbitrary::{Config, Data, canonicalize_nans, function};
use shaderjit_ir::interp::{InterpError, InterpOptions, Interpreter};
use shaderjit_ir::pass::{self, ExpandOptions};
use shaderjit_ir::verify::verify;

/// Lanes that run together.
const LANES: usize = 4;

/// Instructions in loops after which a function is given up.
const FUEL: u32 = 5_000;

/// How many times as many passes may make of them, with lanes in lockstep taking their loops one after the other.
const AMPLE: u32 = 10_000;

/// A function and what four invocations of it see.
#[derive(Debug)]
pub struct FunctionCase {
    /// Valid, not in lockstep form.
    pub func: Function,
    /// For each lane.
    pub data: Data<LANES>,
    /// Whether `fmad` rounds once.
    pub fused: bool,
}

impl<'a> Arbitrary<'a> for FunctionCase {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<FunctionCase> {
        let mut func = function(u, &Config { quads: false, ..Config::default() })?;
        canonicalize_nans(&mut func);
        let data = Data::arbitrary(u, &func)?;
        Ok(FunctionCase { func, data, fused: u.arbitrary()? })
    }
}

/// Passes on scalar code, and then lockstep form, keep what every invocation computes.
pub fn passes(case: &FunctionCase) {
    let [options, ample] = [FUEL, FUEL * AMPLE].map(|fuel| InterpOptions { fuel: fuel.into(), fused: case.fused });
    let Some(want) = run_alone(&case.func, &case.data, &options) else { return };
    let mut func = case.func.clone();
    let scalar: [(&str, Pass); 9] = [
        ("fold", |func, _| pass::fold(func)),
        ("retype", |func, _| pass::retype(func)),
        ("gvn", |func, _| pass::gvn(func)),
        ("dce", |func, _| pass::dce(func)),
        ("if_convert", |func, _| pass::if_convert(func)),
        ("straighten", |func, _| pass::straighten(func)),
        ("fields", |func, _| pass::fields(func)),
        ("carry", |func, _| pass::carry(func)),
        ("expand", |func, fused| pass::expand(func, &ExpandOptions { fused })),
    ];
    for (name, run) in scalar {
        let before = func.clone();
        run(&mut func, case.fused);
        assert_valid(&func);
        let got = run_alone(&func, &case.data, &ample);
        assert!(got.is_some_and(|got| is_same(&got, &want)), "{name} changed the result of\n{before}\nto\n{func}");
    }
    // The same passes in another order, after lockstep.
    for start in [&case.func, &func] {
        let mut func = start.clone();
        if pass::lockstep(&mut func).is_err() {
            return;
        }
        assert_valid(&func);
        assert_together(&func, case, &want, "lockstep");
        for (name, run) in scalar.into_iter().rev() {
            run(&mut func, case.fused);
            assert_valid(&func);
            assert_together(&func, case, &want, name);
        }
    }
}

/// A pass; some ask whether `fmad` rounds once.
type Pass = fn(&mut Function, bool);

/// The lanes of every output component.
type Outputs = Vec<[[u32; LANES]; 4]>;

/// Each invocation by itself; `None` if one runs out of fuel.
fn run_alone(func: &Function, data: &Data<LANES>, options: &InterpOptions<'_>) -> Option<Outputs> {
    let mut outputs = vec![[[0; LANES]; 4]; func.outputs as usize];
    let mut interpreter = Interpreter::<1>::new(func);
    for lane in 0..LANES {
        let data = data.lane(lane);
        let (uniforms, resources) = (data.uniform_rows(), data.resource_bytes());
        let alone = interpreter.run(&data.bindings(&uniforms, &resources), options).ok()?;
        for (all, one) in outputs.iter_mut().flatten().zip(alone.iter().flatten()) {
            all[lane] = one[0];
        }
    }
    Some(outputs)
}

fn assert_together(func: &Function, case: &FunctionCase, want: &Outputs, name: &str) {
    let (uniforms, resources) = (case.data.uniform_rows(), case.data.resource_bytes());
    let options = InterpOptions { fuel: (FUEL * AMPLE).into(), fused: case.fused };
    let mut interpreter = Interpreter::<LANES>::new(func);
    match interpreter.run(&case.data.bindings(&uniforms, &resources), &options) {
        Ok(got) => {
            assert!(is_same(got, want), "after {name}: {got:x?} is not {want:x?}\n{}\nbecame\n{func}", case.func)
        }
        Err(InterpError::Stopped(_)) => {}
        Err(error) => panic!("after {name}: {error}\n{}\nbecame\n{func}", case.func),
    }
}

pub(super) fn assert_valid(func: &Function) {
    if let Err(errors) = verify(func) {
        panic!("{errors}\n{func}");
    }
}

/// Equal bits, or both a NaN: outputs do not say which of them are floats.
fn is_same(a: &[[[u32; LANES]; 4]], b: &[[[u32; LANES]; 4]]) -> bool {
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    let lanes = |outputs: &[[[u32; LANES]; 4]]| outputs.iter().flatten().flatten().copied().collect::<Vec<_>>();
    a.len() == b.len() && lanes(a).into_iter().zip(lanes(b)).all(|(a, b)| a == b || (is_nan(a) && is_nan(b)))
}
