//! The groups of a case, and everybody who can run them, checked and timed.

use crate::case::Case;
use crate::contender::{self, Contenders, NAMES};
use crate::engines::Engines;
use crate::measure::{measure, median};
use crate::names::OURS;

/// Rounds over all cases and contenders.
const ROUNDS: usize = 15;
/// The largest error of a float, as a part of the largest value.
const TOLERANCE: f32 = 1e-4;
/// Where plain Rust stands in [`NAMES`].
const PLAIN: usize = OURS;

pub struct Race<'a> {
    pub case: &'a Case,
    pub contenders: Contenders<'a>,
}

impl<'a> Race<'a> {
    pub fn new(case: &'a Case, engines: &Engines) -> Race<'a> {
        Race { case, contenders: contender::all(case, engines) }
    }

    /// Runs everybody once.
    ///
    /// # Panics
    /// Somebody differs from plain Rust, or two engines differ in a bit.
    pub fn check(&mut self) {
        let mut results = Vec::new();
        for (name, contender) in NAMES.into_iter().zip(&mut self.contenders) {
            if let Some(contender) = contender {
                contender.run();
                results.push((name, contender.words()));
            }
        }
        let case = self.case;
        let plain = results.iter().find(|(name, _)| *name == NAMES[PLAIN]).expect("plain Rust is always there");
        for (name, words) in &results {
            assert!(is_close(words, &plain.1, case.has_floats), "{} by {name}", case.name);
            let differs = NAMES[..OURS].contains(name) && *words != results[0].1;
            assert!(!differs, "{}: {name} and the interpreter differ", case.name);
        }
    }
}

fn is_close(found: &[Vec<u32>], wanted: &[Vec<u32>], has_floats: bool) -> bool {
    let (found, wanted) = (found.iter().flatten(), wanted.iter().flatten());
    if !has_floats {
        return found.eq(wanted);
    }
    let largest = wanted.clone().map(|&word| f32::from_bits(word).abs()).fold(0.0, f32::max);
    let is_close = |(&a, &b): (&u32, &u32)| (f32::from_bits(a) - f32::from_bits(b)).abs() <= TOLERANCE * largest;
    found.clone().count() == wanted.clone().count() && found.zip(wanted).all(is_close)
}

/// Times all in turn, round after round, and prints a table.
pub fn print(races: &mut [Race]) {
    let mut times = vec![[const { Vec::new() }; NAMES.len()]; races.len()];
    for _ in 0..ROUNDS {
        for (Race { case, contenders }, times) in races.iter_mut().zip(&mut times) {
            for (contender, times) in contenders.iter_mut().zip(times) {
                if let Some(contender) = contender {
                    times.push(measure(case.threads, || contender.run()));
                }
            }
        }
    }
    let cell = |figure: Option<f64>| figure.map_or_else(|| "-".to_string(), |figure| format!("{figure:.2}"));
    let head = |columns: &[String]| {
        println!("\n| groups | threads | {} |\n|---|{}", columns.join(" | "), "---:|".repeat(columns.len() + 1));
    };
    println!("\nns/thread, one thread of the processor, medians of {ROUNDS} interleaved rounds.");
    head(&NAMES.map(str::to_string));
    let medians: Vec<[Option<f64>; NAMES.len()]> =
        times.into_iter().map(|times| times.map(|times| (!times.is_empty()).then(|| median(times)))).collect();
    for (race, medians) in races.iter().zip(&medians) {
        println!("| {} | {} | {} |", race.case.name, race.case.threads, medians.map(cell).join(" | "));
    }
    println!("\nHow many times as long plain Rust takes, by the same algorithm and by the other:");
    let natives = &NAMES[1..OURS];
    head(&[natives, natives].concat().iter().map(|name| name.to_string()).collect::<Vec<_>>());
    for (race, medians) in races.iter().zip(&medians) {
        let ratio = |plain: usize, way: usize| Some(medians[plain]? / medians[way]?);
        let ways = |plain| (1..OURS).map(move |way| cell(ratio(plain, way)));
        let cells: Vec<String> = ways(PLAIN).chain(ways(PLAIN + 1)).collect();
        println!("| {} | {} | {} |", race.case.name, race.case.threads, cells.join(" | "));
    }
}
