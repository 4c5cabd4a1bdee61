//! Numbers: what hardware tests record, and how far 24 bits are from 32.

use crate::assembler::{Destination, Program, Source};
use crate::{VERTEX, engine, run_everywhere};
use shaderjit::frontend::pica::opcode::Opcode;
use shaderjit::{CompileOptions, FloatPrecision};

const R0: u32 = 0x10;
/// The result of a step.
const RESULT: u32 = R0 + 15;

/// The cases `tests/data/pica/hardware_float.txt` says that a mode gets wrong.
fn misses(mode: FloatPrecision) -> Vec<u32> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/hardware_float.txt");
    let text = std::fs::read_to_string(path).expect("the file is there");
    let engine = engine();
    let mut misses = Vec::new();
    let mut count = 0;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (case, class) = line.split_once('=').expect("a case has a result");
        let (number, steps) = case.split_once(' ').expect("a case has a number");
        let mut constants = Vec::new();
        let mut program = Program::default();
        for step in steps.split(';') {
            assemble(&mut program, &mut constants, step);
        }
        program.op(Opcode::Mov, Destination::new(0), &[Source::new(RESULT)]);
        let mut vertex = vec![0; VERTEX];
        for (bytes, value) in vertex.as_chunks_mut::<4>().0.iter_mut().zip(&constants) {
            *bytes = f32::to_le_bytes(*value);
        }
        let options = CompileOptions::default().float_precision(mode);
        let outputs = run_everywhere(&engine, &program.finish(), &options, &vertex);
        let [x, ..]: [f32; 4] = outputs.output("o0", 0).expect("there is one").vec4(0).expect("there is a vertex");
        let as_recorded = match class.trim() {
            "nan" => x.is_nan(),
            "finite" => x.is_finite() && x != 0.0 && x != 1.0,
            value => x == value.parse::<f32>().expect("a class is a number"),
        };
        if !as_recorded {
            misses.push(number.parse().expect("cases are numbered"));
        }
        count += 1;
    }
    assert_eq!(count, 41);
    misses
}

/// One step. Numbers are put into `v0` and on as `constants`; what is none is computed, as it was on the console.
fn assemble(program: &mut Program, constants: &mut Vec<f32>, step: &str) {
    let mut words = step.split_whitespace();
    let name = words.next().expect("a step has an opcode");
    let mut sources = Vec::new();
    for (number, operand) in (0..).zip(words) {
        let register = R0 + number;
        let values: Vec<&str> = operand.split(',').collect();
        for component in 0..4 {
            let value = values[component % values.len()];
            let (from, negate) = match value {
                "nan" => (-1.0, false),
                "inf" => (0.0, false),
                "-inf" => (0.0, true),
                number => (number.parse().expect("an operand is a number"), false),
            };
            let at = constants.iter().position(|&constant| constant == from).unwrap_or(constants.len());
            if at == constants.len() {
                constants.push(from);
            }
            let to = Destination::component(register, component);
            let constant = Source::component(at as u32 / 4, at % 4);
            let opcode = match value {
                "nan" => Opcode::Rsq,
                "inf" | "-inf" => Opcode::Rcp,
                _ => Opcode::Mov,
            };
            program.op(opcode, to, &[constant]);
            if negate {
                program.op(Opcode::Mov, to, &[Source::new(register).negated()]);
            }
        }
        sources.push(Source::new(register));
    }
    if sources.is_empty() {
        sources.push(Source::new(RESULT));
    }
    let opcode = match name {
        "neg" | "sub" => {
            let last = sources.last_mut().expect("it has an operand");
            *last = last.negated();
            if name == "neg" { Opcode::Mov } else { Opcode::Add }
        }
        name => *Opcode::ALL.iter().find(|opcode| opcode.mnemonic() == name).expect("it is an opcode"),
    };
    program.op(opcode, Destination::new(RESULT), &sources);
}

#[test]
fn float24_gives_every_class_that_hardware_does() {
    assert_eq!(misses(FloatPrecision::Float24), [0; 0]);
}

#[test]
fn fast_numbers_have_a_negative_zero() {
    assert_eq!(misses(FloatPrecision::Fast), [37]);
}
