//! The promises of this crate as checks, each shared by a fuzz target and by `cargo test`.
//!
//! A check panics where a promise is broken and returns otherwise. Feature `fuzzing`.

use crate::container::Container;
use crate::frontend::{pica, sm4};
use arbitrary::{Arbitrary, Unstructured};
use shaderjit_ir::Function;
use shaderjit_ir::arbitrary::{Config, Data, function};
use shaderjit_ir::interp::{InterpError, InterpOptions, Interpreter};
use shaderjit_ir::parse::parse;
use shaderjit_ir::pass::{self, ExpandOptions};
use shaderjit_ir::verify::verify;

/// Lanes that run together in the checks of passes.
const LANES: usize = 4;

/// Loop iterations after which the checks give a function up.
const FUEL: u32 = 300;

/// Any bytes are a container or a typed error, and every part of a container parses or is an error of its own.
pub fn container(bytes: &[u8]) {
    if let Ok(container) = Container::parse(bytes) {
        container.errors();
        container.listing();
    }
}

/// Any tokens decode or are a typed error; what decodes is listed, and lowers to a valid function or is a typed error.
pub fn sm4(tokens: &[u8]) {
    let Ok(program) = sm4::Program::decode(tokens, 0) else { return };
    let _ = program.to_string();
}

/// Any words decode; what is reachable lowers to a valid function or is a typed error.
pub fn pica(input: &PicaCase) {
    let Ok(program) = pica::decode(&input.words, &input.descriptors, 0) else { return };
    let _ = program.to_string();
    if let Ok(lowered) = pica::lower(&program, pica::operand::Address(input.entry)) {
        assert_valid(&lowered.function);
    }
}

/// A PICA200 program of any words.
#[derive(Debug, Arbitrary)]
pub struct PicaCase {
    /// Instruction words.
    pub words: Vec<u32>,
    /// Operand descriptors.
    pub descriptors: Vec<u32>,
    /// Where it starts.
    pub entry: u16,
}

/// Any text parses or is an error with a position; what parses and is valid prints and reads back as itself.
pub fn ir_text(text: &str) {
    let Ok(func) = parse(text) else { return };
    if verify(&func).is_ok() {
        assert_eq!(parse(&func.to_string()).as_ref(), Ok(&func), "printing and parsing changed\n{func}");
    }
}

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
        let func = function(u, &Config::default())?;
        let data = Data::arbitrary(u, &func)?;
        Ok(FunctionCase { func, data, fused: u.arbitrary()? })
    }
}

/// Passes on scalar code, and then lockstep form, keep what every invocation computes.
pub fn passes(case: &FunctionCase) {
    let options = InterpOptions { fuel: FUEL, fused: case.fused };
    let Some(want) = run_alone(&case.func, &case.data, &options) else { return };
    let mut func = case.func.clone();
    let expand: fn(&mut Function, bool) = |func, fused| pass::expand(func, &ExpandOptions { fused });
    let scalar: [(&str, fn(&mut Function, bool)); 5] = [
        //FOLD
        ("gvn", |func, _| pass::gvn(func)),
        ("dce", |func, _| pass::dce(func)),
        ("if_convert", |func, _| pass::if_convert(func)),
        ("straighten", |func, _| pass::straighten(func)),
        ("expand", expand),
    ];
    for (name, run) in scalar {
        let before = func.clone();
        run(&mut func, case.fused);
        assert_valid(&func);
        let got = run_alone(&func, &case.data, &options);
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

/// The lanes of every output component.
type Outputs = Vec<[[u32; LANES]; 4]>;

/// Each invocation by itself; `None` if one runs out of fuel.
fn run_alone(func: &Function, data: &Data<LANES>, options: &InterpOptions) -> Option<Outputs> {
    let mut outputs = vec![[[0; LANES]; 4]; func.outputs as usize];
    let mut interpreter = Interpreter::<1>::new(func);
    for lane in 0..LANES {
        let data = data.lane(lane);
        let uniforms = data.uniform_rows();
        let alone = interpreter.run(&data.bindings(&uniforms), options).ok()?;
        for (all, one) in outputs.iter_mut().flatten().zip(alone.iter().flatten()) {
            all[lane] = one[0];
        }
    }
    Some(outputs)
}

fn assert_together(func: &Function, case: &FunctionCase, want: &Outputs, name: &str) {
    let uniforms = case.data.uniform_rows();
    // Lanes in lockstep take their loops one after the other at worst.
    let options = InterpOptions { fuel: FUEL * FUEL, fused: case.fused };
    let mut interpreter = Interpreter::<LANES>::new(func);
    match interpreter.run(&case.data.bindings(&uniforms), &options) {
        Ok(got) => {
            assert!(is_same(got, want), "after {name}: {got:x?} is not {want:x?}\n{}\nbecame\n{func}", case.func)
        }
        Err(InterpError::OutOfFuel) => {}
        Err(error) => panic!("after {name}: {error}\n{}\nbecame\n{func}", case.func),
    }
}

fn assert_valid(func: &Function) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_keep_what_functions_compute() {
        arbtest::arbtest(|u| {
            passes(&u.arbitrary()?);
            Ok(())
        })
        .size_max(20_000)
        .budget_ms(60_000);
    }
}
