//! What holds for every generated program.

use super::Sm5Case;
use super::data::Data;
use crate::container::Container;
use crate::error::{CallError, Error, LowerError};
use crate::frontend::{Lowered, sm4};
use crate::validate::{Severity, validate};
use crate::{Config, Engine, Lanes, Outputs};
use shaderjit_ir::Function;
use shaderjit_ir::arbitrary::canonicalize_nans;
use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};
use std::sync::LazyLock;

/// Loop iterations a group of invocations may take.
const FUEL: u32 = 400;

/// `mad` rounds twice, or once if the machine has that; NaNs have the bits they have, or all the same.
static ENGINES: LazyLock<[[Engine; 2]; 2]> = LazyLock::new(|| {
    // A cache of nothing but what is in use.
    let config = Config::default().fuel(FUEL).cache_bytes(1 << 16);
    let engine = |config: &Config, canonical_nans| {
        let config = Config { canonical_nans, ..config.clone() };
        Engine::new(config).expect("nothing is asked of the machine")
    };
    [config.clone().fused(false), config].map(|config| [false, true].map(|canonical| engine(&config, canonical)))
});

/// The rows of every output element, an invocation after the other, or running out of fuel.
type Results = Result<Vec<Vec<[u32; 4]>>, OutOfFuel>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OutOfFuel;

/// Nothing is wrong with the container, the program lists and encodes to what it was, and it gives the same on both engines, in
/// groups of four and of eight lanes, as each invocation gives by itself before any pass.
pub fn sm5(case: &Sm5Case) {
    assert_well_formed(case);
    let shader = case.shader();
    let lowered = match shader.lower_with(&case.options()) {
        Ok(lowered) => lowered,
        Err(Error::Lower(LowerError::Limit { .. })) => return,
        Err(error) => panic!("{error}\n{case:?}"),
    };
    let data = Data::new(case.seed, &lowered.interface);
    // Programs can look at the bits of a NaN, which the IR leaves open: what differs counts if it does so, too, where all NaNs
    // have the same bits.
    let [as_they_are, canonical] = &ENGINES[usize::from(case.fused)];
    if let Err(Found { .. }) = compare(case, as_they_are, &lowered, &data) {
        let Lowered { mut function, interface } = lowered;
        canonicalize_nans(&mut function);
        let lowered = Lowered { function, interface };
        if let Err(Found { what, left, right }) = compare(case, canonical, &lowered, &data) {
            let function = &lowered.function;
            panic!("{what}: {left:x?} is not {right:x?}\n{case:?}\n{data:?}\nlowered to\n{function}");
        }
    }
}

/// A difference.
struct Found {
    what: String,
    left: Results,
    right: Results,
}

fn assert_well_formed(case: &Sm5Case) {
    let container = Container::parse(&case.container).expect("it was built as one");
    let findings = validate(&container);
    let wrong: Vec<String> =
        findings.iter().filter(|finding| finding.severity == Severity::Error).map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{case:?}");
    let Container::Dxbc(dxbc) = container else { panic!("it was built as another") };
    let part = dxbc.program().expect("it was built well").expect("it has a program");
    let program = sm4::Program::from_container(&part).unwrap_or_else(|error| panic!("{error}"));
    assert!(program.to_string().lines().count() >= program.instructions.len(), "{program}");
    let encoded: Vec<u8> = program.encode().into_iter().flat_map(u32::to_le_bytes).collect();
    let end = part.tokens_offset() + part.tokens.len();
    assert_eq!(encoded, dxbc.bytes()[part.offset..end], "decoding and encoding changed\n{program}");
}

/// Runs both engines, and every invocation of the function by itself.
fn compare(case: &Sm5Case, engine: &Engine, lowered: &Lowered, data: &Data) -> Result<(), Found> {
    let alone = run_alone(&lowered.function, lowered, data, engine.is_fused());
    let streams = data.streams(&lowered.interface);
    for lanes in [Lanes::Four, Lanes::Eight] {
        let code = match engine.compile(&case.shader(), &case.options().lanes(lanes)) {
            Ok(code) => code,
            Err(error) => panic!("{error}\n{case:?}\nlowered to\n{}", lowered.function),
        };
        let mut call = code.call();
        data.bind(&mut call, &lowered.interface, &streams);
        let [native, interpreted] = [call.run(0..data.count as u32), call.interpret(0..data.count as u32)]
            .map(|outputs| results(case, outputs));
        let count = lanes.count();
        if !is_same(&native, &interpreted) {
            let what = format!("native code and interpreter, {count} lanes");
            return Err(Found { what, left: native, right: interpreted });
        }
        // Lanes in lockstep take their loops one after the other at worst, and so may run out of fuel where one does not.
        if alone.is_ok() && interpreted.is_ok() && !is_same(&alone, &interpreted) {
            let what = format!("one invocation and {count} lanes");
            return Err(Found { what, left: alone, right: interpreted });
        }
    }
    Ok(())
}

/// What a call gives; all that may go wrong with it is that it takes too long.
fn results(case: &Sm5Case, outputs: Result<Outputs, CallError>) -> Results {
    match outputs {
        Ok(outputs) => {
            let elements = (0..outputs.elements().len()).filter_map(|element| outputs.element(element));
            Ok(elements.map(|view| view.iter().collect()).collect())
        }
        Err(CallError::OutOfFuel { .. }) => Err(OutOfFuel),
        Err(error) => panic!("{error}\n{case:?}"),
    }
}

/// Each invocation by itself, without any pass.
fn run_alone(function: &Function, lowered: &Lowered, data: &Data, fused: bool) -> Results {
    let (rows, resources) = (data.rows(), data.resource_bytes(&lowered.interface));
    let uniforms: Vec<&[[u32; 4]]> = rows.iter().map(Vec::as_slice).collect();
    let resources: Vec<&[u8]> = resources.iter().map(Vec::as_slice).collect();
    let mut interpreter = Interpreter::<1>::new(function);
    let options = InterpOptions { fuel: FUEL, fused };
    let mut all = vec![Vec::new(); lowered.interface.outputs.len()];
    for invocation in 0..data.count {
        let inputs: Vec<[[u32; 1]; 4]> = data.inputs.iter().map(|rows| rows[invocation].map(|word| [word])).collect();
        let bindings = Bindings {
            inputs: &inputs,
            vertex_id: [data.first + invocation as u32],
            instance_id: data.instance,
            uniforms: &uniforms,
            resources: &resources,
        };
        let outputs = match interpreter.run(&bindings, &options) {
            Ok(outputs) => outputs,
            Err(InterpError::OutOfFuel) => return Err(OutOfFuel),
            Err(error) => panic!("{error}\n{function}"),
        };
        for ((rows, output), element) in all.iter_mut().zip(outputs).zip(&lowered.interface.outputs) {
            let mut row = output.map(|[word]| word);
            // An element has as many components as it is stored with.
            row[element.components() as usize..].fill(0);
            rows.push(row);
        }
    }
    Ok(all)
}

/// Equal bits, or both a NaN: outputs do not say which of them are floats.
fn is_same(a: &Results, b: &Results) -> bool {
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    match (a, b) {
        (Ok(a), Ok(b)) => {
            let words = |rows: &[Vec<[u32; 4]>]| rows.iter().flatten().flatten().copied().collect::<Vec<u32>>();
            a.len() == b.len() && words(a).into_iter().zip(words(b)).all(|(a, b)| a == b || is_nan(a) && is_nan(b))
        }
        (Err(OutOfFuel), Err(OutOfFuel)) => true,
        _ => false,
    }
}
