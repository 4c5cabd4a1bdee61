//! The table at the end: everybody in turn, round after round, so that whatever else the machine does hits all of them.
//! A run of the library is a whole call, so binding and copying the uniforms counts.

use crate::contender::NAMES;
use crate::draw::VERTICES;
use crate::{Contender, Race, indexed};
use std::time::{Duration, Instant};

/// Rounds over all draw calls and contenders.
const ROUNDS: usize = 15;
/// What a measurement takes at least.
const AT_LEAST: Duration = Duration::from_millis(3);

/// Measures and prints.
pub fn print(races: &mut [Race]) {
    let mut times = vec![[const { Vec::new() }; NAMES.len()]; races.len()];
    for _ in 0..ROUNDS {
        for (race, times) in races.iter_mut().zip(&mut times) {
            for (contender, times) in race.contenders.iter_mut().zip(times) {
                times.push(measure(&mut **contender));
            }
        }
    }
    println!("\nns/vertex at {VERTICES} vertices, one thread, medians of {ROUNDS} interleaved rounds:\n");
    if !cfg!(target_feature = "avx2") {
        println!("Plain Rust is built for any machine; RUSTFLAGS=-Ctarget-cpu=native builds it for this one.\n");
    }
    println!("| kernel | {} | N=1 vs interpreter | N=1 vs plain | N=2 vs plain |", NAMES.join(" | "));
    println!("|---|{}", "---:|".repeat(NAMES.len() + 3));
    for (race, times) in races.iter().zip(times) {
        let [interpreter, narrow, wide, plain] = times.map(median);
        let ratios = [interpreter / narrow, plain / narrow, plain / wide].map(|ratio| format!("{ratio:.2}x"));
        let times = [interpreter, narrow, wide, plain].map(|time| format!("{time:.2}"));
        println!("| {} | {} | {} |", race.name, times.join(" | "), ratios.join(" | "));
    }
}

/// Measures and prints the draws of a mesh.
pub fn print_indexed(contenders: &mut [Box<dyn Contender + '_>; indexed::NAMES.len()]) {
    let mut times = [const { Vec::new() }; indexed::NAMES.len()];
    for _ in 0..ROUNDS {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            times.push(measure(&mut **contender));
        }
    }
    let times = times.map(median);
    println!("\nK2 on a mesh of {VERTICES} vertices and six indices a vertex, JIT N=1, ns/vertex:\n");
    println!("| {} |", indexed::NAMES.join(" | "));
    println!("|{}", "---:|".repeat(indexed::NAMES.len()));
    println!("| {} |", times.map(|time| format!("{time:.2} ({:.2}x)", time / times[0])).join(" | "));
}

/// Nanoseconds a vertex: the median run, so that those which were interrupted do not count.
fn measure(contender: &mut dyn Contender) -> f64 {
    // The first run finds the caches as somebody else left them.
    contender.run();
    let start = Instant::now();
    let mut runs = Vec::new();
    while start.elapsed() < AT_LEAST {
        let start = Instant::now();
        contender.run();
        runs.push(start.elapsed().as_nanos() as f64 / f64::from(VERTICES));
    }
    median(runs)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
