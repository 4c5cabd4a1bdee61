//! Waves side by side do what the reference does with one after the other.

use super::{Bytecode, LANES, Machine, Shared};
use crate::arbitrary::{Config, Data, canonicalize_nans, function};
use crate::eval::Lanes;
use crate::fuel::{Fuel, Stop};
use crate::function::Function;
use crate::interp::{InterpError, InterpOptions, Interpreter};
use crate::parse::parse;
use crate::pass::{ExpandOptions, expand, lockstep};
use std::sync::atomic::AtomicU64;

/// What all waves set: each output component in all lanes, those of waves that do not run left out.
type Outputs = Vec<[Vec<u32>; 4]>;

/// Outputs, and what is left of the call's fuel.
type Ended = (Result<Outputs, Stop>, u64);

/// What lanes from `first` on see.
fn part<const L: usize>(data: &Data<LANES>, first: usize) -> Data<L> {
    let lanes = |all: &Lanes<LANES>| std::array::from_fn(|lane| all[first + lane]);
    Data {
        inputs: data.inputs.iter().map(|element| element.each_ref().map(lanes)).collect(),
        vertex_id: lanes(&data.vertex_id),
        instance_id: data.instance_id,
        uniforms: data.uniforms.clone(),
        resources: data.resources.clone(),
    }
}

fn reference<const L: usize>(func: &Function, data: &Data<LANES>, waves: usize, (wave, call): (u32, u64)) -> Ended {
    let left = AtomicU64::new(call);
    let options = InterpOptions { fuel: Fuel { call: Some(&left), ..Fuel::from(wave) }, fused: true };
    let mut interpreter = Interpreter::<L>::new(func);
    let mut outputs: Outputs = vec![Default::default(); func.outputs as usize];
    let result = (0..waves).try_for_each(|wave| {
        let part = part::<L>(data, wave * L);
        let (uniforms, resources) = (part.uniform_rows(), part.resource_bytes());
        match interpreter.run(&part.bindings(&uniforms, &resources), &options) {
            Ok(set) => {
                let lanes = outputs.iter_mut().flatten().zip(set.iter().flatten());
                lanes.for_each(|(all, lanes)| all.extend(lanes));
                Ok(())
            }
            Err(InterpError::Stopped(stop)) => Err(stop),
            Err(error) => panic!("{error}\n{func}"),
        }
    });
    (result.map(|()| outputs), left.into_inner())
}

fn fast(func: &Function, data: &Data<LANES>, lanes: usize, waves: usize, (wave, call): (u32, u64)) -> Ended {
    let left = AtomicU64::new(call);
    let (uniforms, resources) = (data.uniform_rows(), data.resource_bytes());
    let bindings = data.bindings(&uniforms, &resources);
    let uniforms: Vec<&[[u32; 4]]> = Shared::rows(func, uniforms.iter().copied()).collect();
    let shared = Shared { uniforms: &uniforms, resources: &resources, textures: bindings.textures };
    let code = Bytecode::new(func).unwrap();
    let mut machine = Machine::new(&code, lanes);
    machine.set_inputs(&bindings);
    machine.bind::<false>(&shared, data.instance_id);
    let result = machine.run::<false>(&shared, waves, Fuel { call: Some(&left), ..Fuel::from(wave) });
    let component = |element, component| machine.output(element, component)[..waves * lanes].to_vec();
    let outputs =
        (0..func.outputs as usize).map(|element| std::array::from_fn(|number| component(element, number))).collect();
    (result.map(|()| outputs), left.into_inner())
}

/// Asserts that both do the same, and gives what they set and what is left of the call's fuel.
fn assert_same(
    func: &Function,
    data: &Data<LANES>,
    lanes: usize,
    waves: usize,
    fuel: (u32, u64),
) -> Result<(Outputs, u64), Stop> {
    let run = [reference::<4>, reference::<8>, reference::<16>][lanes.ilog2() as usize - 2];
    let want = run(func, data, waves, fuel);
    let got = fast(func, data, lanes, waves, fuel);
    // What is left where a call ends early is nobody's concern.
    let is_same = got.0 == want.0 && (got.0.is_err() || got.1 == want.1);
    assert!(is_same, "{waves} waves of {lanes}: {got:x?}\nnot {want:x?}\nof {data:x?}\nin {func}");
    got.0.map(|outputs| (outputs, got.1))
}

#[test]
fn random_functions_do_what_the_reference_says_and_pay_as_much() {
    arbtest::arbtest(|u| {
        let mut func = function(u, &Config::default())?;
        canonicalize_nans(&mut func);
        if lockstep(&mut func).is_err() {
            return Ok(());
        }
        expand(&mut func, &ExpandOptions { fused: true });
        let data = Data::<LANES>::arbitrary(u, &func)?;
        for lanes in [4, 8, 16] {
            let waves = u.int_in_range(1..=LANES / lanes)?;
            let _ = assert_same(&func, &data, lanes, waves, (3_000, u.int_in_range(0..=10_000)?));
        }
        Ok(())
    })
    .budget_ms(3000);
}

/// Counts to the largest of a wave's inputs.
const COUNT: &str = r#"
function "count" inputs 1 outputs 1 lockstep {
block0:
    v0 = input.i32 0.0
    v1 = const.i32 0
    v2 = const.i32 1
    jump block1(v1)
block1(v3: i32):
    v4 = iadd v3, v2
    v5 = ult v4, v0
    v6 = any v5
    br_if v6, block1(v4), block2
block2:
    output.i32 0.0, v4
    return
}
"#;

#[test]
fn waves_that_part_pay_for_themselves_alone() {
    let func = parse(COUNT).unwrap_or_else(|error| panic!("{error}"));
    let counts: Lanes<LANES> = std::array::from_fn(|lane| [3, 100, 1, 40][lane / 4]);
    let data = Data {
        inputs: vec![[counts, [0; LANES], [0; LANES], [0; LANES]]],
        vertex_id: [0; LANES],
        instance_id: 0,
        uniforms: Vec::new(),
        resources: Vec::new(),
    };
    let all = (10_000, 10_000);
    let (outputs, left) = assert_same(&func, &data, 4, 4, all).unwrap();
    assert_eq!(outputs[0][0].as_slice(), counts);
    let taken = all.1 - left;
    assert_eq!(assert_same(&func, &data, 4, 4, (all.0, taken)).map(|(_, left)| left), Ok(0));
    assert_eq!(assert_same(&func, &data, 4, 4, (all.0, taken - 1)), Err(Stop::Call));
    assert_eq!(assert_same(&func, &data, 4, 4, (100, taken)), Err(Stop::Wave));
    assert!(assert_same(&func, &data, 8, 2, all).is_ok());
}
