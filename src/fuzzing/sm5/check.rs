//! What holds for every generated program.

use super::Sm5Case;
use super::compare::compare_effects;
use super::data::Data;
use super::stages::compare_stages;
use super::traced::compare_traced;
use crate::container::Container;
use crate::error::{CallError, Error, LowerError};
use crate::frontend::Lowered;
use crate::fuzzing::fenced;
use crate::pipeline::{PASSES, PassOptions, run_passes};
use crate::validate::validate;
use crate::{Config, Engine, Outputs, Vectors};
use shaderjit_ir::Function;
use shaderjit_ir::arbitrary::canonicalize_nans;
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};
use std::sync::LazyLock;

/// Instructions that the loops of a wave may take.
pub(super) const FUEL: u32 = 20_000;

/// For each kind of vectors: `mad` rounds twice, or once if the machine has that; NaNs have the bits they have, or all
/// the same.
static ENGINES: LazyLock<Vec<[[Engine; 2]; 2]>> = LazyLock::new(|| {
    // A cache of nothing but what is in use.
    let config = |vectors| Config::default().vectors(vectors).fuel(FUEL).cache_bytes(1 << 16);
    let engine = |config: &Config, canonical_nans| {
        let config = Config { canonical_nans, ..config.clone() };
        Engine::new(config).expect("nothing is asked of the machine")
    };
    let engines = |config: Config| [false, true].map(|canonical| engine(&config, canonical));
    let both = |config: Config| [config.clone().fused_mad(false), config].map(engines);
    Vectors::of_this_machine().into_iter().map(config).map(both).collect()
});

/// The rows of every output element, an invocation after the other, or running out of fuel.
pub(super) type Results = Result<Vec<Vec<[u32; 4]>>, OutOfFuel>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfFuel;

/// Nothing is wrong with the container, the program lists and encodes to what it was, and it gives the same on both
/// engines as each invocation gives by itself before any pass.
pub fn sm5(case: &Sm5Case) {
    let Some(lowered) = well_formed(case) else { return };
    let data = fenced(|| Data::new(case.seed, &lowered.interface, !case.own));
    // Programs can look at the bits of a NaN, which the IR leaves open: what differs counts if it does so, too, where
    // all NaNs have the same bits.
    let compare = match &lowered.interface.primitive {
        Some(_) => compare_stages,
        None if has_effects(&lowered) => compare_effects,
        None => compare,
    };
    let [as_they_are, canonical] = &case.way.of(&ENGINES)[usize::from(case.fused)];
    if compare(case, as_they_are, &lowered, &data).is_err() {
        let Lowered { stage, mut function, interface, debug } = lowered;
        canonicalize_nans(&mut function);
        let lowered = Lowered { stage, function, interface, debug };
        if let Err(difference) = compare(case, canonical, &lowered, &data) {
            panic!("{difference}\n{case:?}\n{data:?}\nlowered to\n{}", lowered.function);
        }
    }
}

/// Whether a program has memory that is written, or a thread group is all there is to run.
fn has_effects(Lowered { function, interface, .. }: &Lowered) -> bool {
    interface.thread_group.is_some() || function.resources.values().any(|resource| resource.memory.is_some())
}

/// Whether some pixels of a quad may take a derivative and others not. Of what these have, passes find out more than a
/// trace knows, which runs the program before them.
pub(super) fn may_part_quads(function: &Function) -> bool {
    has_branches(function) && function.insts.values().any(|inst| inst.op.is_derivative())
}

/// Whether invocations may part.
pub(super) fn has_branches(function: &Function) -> bool {
    function.layout.iter().any(|&block| function.blocks[block].terminator().selector().is_some())
}

/// Checks the container and the program, and lowers it; none if that grows too large.
pub(super) fn well_formed(case: &Sm5Case) -> Option<Lowered> {
    let container = Container::parse(&case.container).expect("it was built as one");
    // Not even a warning.
    let findings: Vec<String> = validate(&container).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}\n{case:?}");

    let program = case.program();
    assert!(program.to_string().lines().count() >= program.instructions.len(), "{program}");
    let encoded: Vec<u8> = program.encode().into_iter().flat_map(u32::to_le_bytes).collect();
    let code = &case.container[program.offset..];
    assert!(code.starts_with(&encoded), "decoding and encoding changed\n{program}");

    match case.shader().lower_for(&case.options()) {
        Ok(lowered) => Some(lowered),
        Err(Error::Lower(LowerError::Limit { .. })) => None,
        Err(error) => panic!("{error}\n{case:?}"),
    }
}

/// Runs both engines, and every invocation of the function by itself. What differs is the error.
fn compare(case: &Sm5Case, engine: &Engine, lowered: &Lowered, data: &Data) -> Result<(), String> {
    let alone = alone(lowered, data, engine.is_fused());
    let streams = fenced(|| data.streams(&lowered.interface));
    let options = case.options();
    let code = match engine.compile(&case.shader(), &options) {
        Ok(code) => code,
        Err(error) => panic!("{error}\n{case:?}\nlowered to\n{}", lowered.function),
    };
    let mut call = code.call();
    let buffers = data.buffers();
    fenced(|| data.bind(&mut call, &lowered.interface, &streams, &buffers));
    let native = results(case, fenced(|| call.run(data.range())));
    let interpreted = results(case, call.interpret(data.range()));
    if let Some(difference) = difference(&native, &interpreted) {
        return Err(format!("native code and interpreter, {:?}: {difference}", case.way));
    }
    if !may_part_quads(&lowered.function) {
        compare_traced(case, &call, &lowered.interface, data, &interpreted)?;
    }
    // Lanes in lockstep take their loops one after the other at worst, and so may run out of fuel where one does not.
    match alone.as_ref().and_then(|alone| difference(alone, &interpreted).filter(|_| alone.is_ok())) {
        Some(difference) if interpreted.is_ok() => {
            Err(format!("invocations alone and {:?} lanes: {difference}", case.way.lanes))
        }
        _ => Ok(()),
    }
}

/// What a call gives; all that may go wrong with it is that it takes too long.
pub(super) fn results(case: &Sm5Case, outputs: Result<Outputs, CallError>) -> Results {
    match outputs {
        Ok(outputs) => {
            let elements = (0..outputs.elements().len()).filter_map(|element| outputs.element(element));
            Ok(elements.map(|view| view.iter().collect()).collect())
        }
        Err(CallError::OutOfFuel { .. }) => Err(OutOfFuel),
        Err(error) => panic!("{error}\n{case:?}"),
    }
}

/// Each invocation by itself, without any pass; of a program with derivatives each quad, as soon as its lanes run in
/// lockstep, which no function can that grows too large.
fn alone(lowered: &Lowered, data: &Data, fused: bool) -> Option<Results> {
    let mut function = lowered.function.clone();
    let has_derivatives = |func: &Function| func.insts.values().any(|inst| inst.op.is_derivative());
    if !has_derivatives(&function) {
        return Some(run_lanes::<1>(&function, lowered, data, fused));
    }
    let end = PASSES.iter().position(|pass| pass.name == "lockstep").expect("it is one of them");
    run_passes(&mut function, &PASSES[..=end], &PassOptions { fused, guards: false }).ok()?;
    Some(run_lanes::<4>(&function, lowered, data, fused))
}

/// So many invocations at a time on the reference interpreter. What comes after the last of them repeats it.
fn run_lanes<const L: usize>(function: &Function, lowered: &Lowered, data: &Data, fused: bool) -> Results {
    let (rows, resources) = (data.rows(), data.resource_bytes(&lowered.interface));
    let uniforms: Vec<&[[u32; 4]]> = rows.iter().map(Vec::as_slice).collect();
    let resources: Vec<&[u8]> = resources.iter().map(Vec::as_slice).collect();
    let textures = data.textures();
    let mut interpreter = Interpreter::<L>::new(function);
    let options = InterpOptions { fuel: FUEL.into(), fused };
    let mut all = vec![Vec::new(); lowered.interface.outputs.len()];
    let range = data.range();
    for first in range.clone().step_by(L) {
        let invocations: [u32; L] = std::array::from_fn(|lane| (first + lane as u32).min(range.end - 1));
        let inputs = data.lanes(&lowered.interface, invocations);
        let bindings = Bindings {
            inputs: &inputs,
            vertex_id: invocations.map(|invocation| data.first.wrapping_add(invocation)),
            instance_id: data.instance,
            uniforms: &uniforms,
            resources: &resources,
            textures: &textures,
        };
        let outputs = match interpreter.run(&bindings, &options) {
            Ok(outputs) => outputs,
            Err(InterpError::Stopped(_)) => return Err(OutOfFuel),
            Err(error) => panic!("{error}\n{function}"),
        };
        for ((rows, output), element) in all.iter_mut().zip(outputs).zip(&lowered.interface.outputs) {
            for lane in 0..L.min((range.end - first) as usize) {
                let mut row = output.map(|lanes| lanes[lane]);
                // An element has as many components as it is stored with.
                row[element.components() as usize..].fill(0);
                rows.push(row);
            }
        }
    }
    Ok(all)
}

/// Where two results differ first. Bits are equal if both are a NaN: outputs do not say which of them are floats.
pub(super) fn difference(a: &Results, b: &Results) -> Option<String> {
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    let (Ok(a), Ok(b)) = (a, b) else {
        return (a.is_err() != b.is_err()).then(|| format!("fuel: {} and {}", a.is_ok(), b.is_ok()));
    };
    assert_eq!(a.len(), b.len());
    for (element, (a, b)) in a.iter().zip(b).enumerate() {
        for (invocation, (a, b)) in a.iter().zip(b).enumerate() {
            if a.iter().zip(b).any(|(&a, &b)| a != b && !(is_nan(a) && is_nan(b))) {
                return Some(format!("output {element} of invocation {invocation}: {a:08x?} and {b:08x?}"));
            }
        }
    }
    None
}
