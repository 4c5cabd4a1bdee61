//! Nobody is timed on wrong results.

use crate::contender::{Contender, NAMES, WAYS};
use crate::draw::{data, floats, relative_difference};
use crate::plain::pica::{Machine, Program};
use crate::plain::vertex::Vec4;
use crate::{Race, indexed};
use shaderjit::container::Shbin;
use std::fs;

/// The largest error, as a part of the channel's largest value.
const TOLERANCE: f32 = 1e-4;

/// Runs everybody once.
///
/// # Panics
/// Somebody is wrong, or two engines differ in a bit.
pub fn check(races: &mut [Race]) {
    for Race { name: race, vertices, reference, contenders, .. } in races {
        let channels = reference.len() / *vertices as usize;
        let mut ours: Option<Vec<u32>> = None;
        for (number, contender) in contenders.iter_mut().enumerate() {
            let Some(contender) = contender else { continue };
            contender.run();
            let outputs = contender.outputs();
            let difference = relative_difference(&outputs, reference, channels);
            assert!(difference <= TOLERANCE, "{race} by {}: off by {difference:e}", NAMES[number]);
            if number < WAYS.len() {
                let bits = outputs.into_iter().map(f32::to_bits).collect();
                assert!(*ours.get_or_insert_with(|| Vec::clone(&bits)) == bits, "{race}: the engines differ");
            }
        }
    }
}

/// Runs everybody who draws the mesh once.
///
/// # Panics
/// Somebody computes something else than the others.
pub fn check_indexed(contenders: &mut [Box<dyn Contender + '_>]) {
    let outputs = contenders.iter_mut().map(|contender| {
        contender.run();
        contender.outputs().into_iter().map(f32::to_bits).collect::<Vec<_>>()
    });
    let outputs: Vec<_> = outputs.collect();
    for (name, other) in indexed::NAMES.iter().zip(&outputs) {
        assert!(*other == outputs[0], "the mesh by {name}: not its vertices");
    }
}

/// The plain evaluator reproduces the whole corpus of vertex programs.
///
/// # Panics
/// It does not.
pub fn plain_pica() {
    let directory = format!("{}/tests/data/pica", env!("CARGO_MANIFEST_DIR"));
    let files = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{directory}: {error}"));
    let names =
        files.map(|file| file.expect("the directory is readable").file_name().into_string().expect("names are ASCII"));
    let mut references = 0;
    for name in names.filter(|name| name.ends_with(".ref.out")) {
        let [program, entry, input, ..] = name.split('.').collect::<Vec<_>>()[..] else {
            unreachable!("t01.d0.input.ref.out")
        };
        let container = data(&format!("pica/{program}.shbin"));
        let shbin = Shbin::parse(&container).expect("the corpus is well-formed");
        let number = entry[1..].parse().expect("d and a number");
        let program = Program::new(&shbin, number, &data(&format!("pica/{program}.{entry}.uni.bin")));
        let mut machine = Machine::new(&program);
        let vertices = floats(&data(&format!("pica/inputs/{input}.bin")));
        let vertices: &[[Vec4; 16]] = vertices.as_chunks().0.as_chunks().0;
        let outputs: Vec<f32> =
            vertices.iter().flat_map(|inputs| *program.shade(&mut machine, inputs)).flatten().collect();
        let reference = floats(&data(&format!("pica/{name}")));
        let difference = relative_difference(&outputs, &reference, 64);
        assert!(difference <= TOLERANCE, "{name}: the plain evaluator is off by {difference:e}");
        references += 1;
    }
    assert!(references > 0, "{directory} has no references");
}
