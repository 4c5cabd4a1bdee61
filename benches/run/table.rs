//! The table at the end: everybody in turn, round after round, so that whatever else the machine does hits all of them.
//! A run of the library is a whole call, so binding and copying the uniforms counts.

use crate::contender::{NAMES, NATIVE};
use crate::draw::VERTICES;
use crate::engines::{Engines, NATIVE_NAMES, NATIVE_WAYS};
use crate::measure::{measure, median};
use crate::race::{Race, Source};
use crate::row::{CODE, COMPILE, COPY, FIGURES, Row};
use crate::warm::warm_up;
use crate::{Contender, check, indexed};
use std::time::Instant;

/// Rounds over all draw calls and contenders, and over those of many vertices.
const ROUNDS: usize = 15;
const LARGE_ROUNDS: usize = 5;
/// Rounds over all ways to compile a program.
const COMPILATIONS: usize = 10;
/// In each of them so many compilations in one way follow each other, when it is warm.
const IN_TURN: usize = 5;

/// Measures everything.
pub fn rows(races: &mut [Race], engines: &Engines) -> Vec<Row> {
    let mut rows = time(races, ROUNDS);
    for (race, row) in races.iter().zip(&mut rows).filter(|(race, _)| race.vertices == VERTICES) {
        compile(race, engines, row);
    }
    for source in Source::large() {
        let mut races = [source.race(engines)];
        check::check(&mut races);
        rows.extend(time(&mut races, LARGE_ROUNDS));
    }
    // A kernel's rows follow each other, in the order of the kernels.
    let order: Vec<String> = rows.iter().map(|row| row.kernel.clone()).collect();
    rows.sort_by_key(|row| order.iter().position(|kernel| *kernel == row.kernel));
    rows
}

/// Nanoseconds a vertex.
fn time(races: &mut [Race], rounds: usize) -> Vec<Row> {
    let mut times = vec![[const { Vec::new() }; COPY + 1]; races.len()];
    for _ in 0..rounds {
        for (Race { vertices, contenders, copy, .. }, times) in races.iter_mut().zip(&mut times) {
            for (contender, times) in contenders.iter_mut().zip(times.iter_mut()) {
                if let Some(contender) = contender {
                    times.push(measure(*vertices, || contender.run()));
                }
            }
            times[COPY].push(measure(*vertices, || copy.run()));
        }
    }
    let row = |(race, times): (&Race, [Vec<f64>; COPY + 1])| {
        let mut figures = [None; FIGURES];
        for (figure, times) in figures.iter_mut().zip(times) {
            *figure = (!times.is_empty()).then(|| median(times));
        }
        Row { kernel: race.name.to_string(), vertices: race.vertices, figures }
    };
    races.iter().zip(times).map(row).collect()
}

/// Microseconds from the container's bytes to native code, warm, and how much code it is. Round after round in every
/// way.
fn compile(race: &Race, engines: &Engines, row: &mut Row) {
    let compile = |way: usize| {
        let engine = engines.of(NATIVE_WAYS[way].0)?;
        // What is compiled finds the cache empty.
        engine.clear_cache();
        let start = Instant::now();
        let code = engine.compile(race.shader, &race.options[way]).expect("the program is supported");
        Some((start.elapsed(), code))
    };
    let mut times = [const { Vec::new() }; NATIVE];
    for _ in 0..COMPILATIONS {
        for (way, times) in times.iter_mut().enumerate() {
            warm_up(|| drop(compile(way)));
            let in_turn = (0..IN_TURN).filter_map(|_| compile(way));
            times.extend(in_turn.map(|(time, _)| time.as_secs_f64() * 1e6));
        }
    }
    for (way, times) in times.into_iter().enumerate() {
        row.figures[COMPILE + way] = (!times.is_empty()).then(|| median(times));
        row.figures[CODE + way] = compile(way).and_then(|(_, code)| Some(code.machine_code()?.len() as f64));
    }
}

/// Prints rows; `origin` says where they come from.
pub fn print(rows: &[Row], origin: &str) {
    println!("\nns/vertex, one thread, {origin}.\n");
    println!("- memcpy reads and writes together as many bytes as inputs and outputs are.");
    println!("- Ratios are of times: 2 says that what stands first takes twice as long.");
    println!(
        "- At a million vertices the interpreter is left out: its time for a vertex does not depend on their number."
    );
    if !cfg!(target_feature = "avx2") {
        println!("- Plain Rust is built for any machine; RUSTFLAGS=-Ctarget-cpu=native builds it for this one.");
    }
    let head = |columns: &[String]| {
        println!("\n| kernel | vertices | {} |", columns.join(" | "));
        println!("|---|{}", "---:|".repeat(columns.len() + 1));
    };
    let line = |row: &Row, cells: &[String]| println!("| {} | {} | {} |", row.kernel, row.vertices, cells.join(" | "));

    let names = NAMES.into_iter().chain(["memcpy"]).map(str::to_string);
    head(&names.collect::<Vec<_>>());
    for row in rows {
        line(row, &row.figures[..=COPY].iter().map(|&time| cell(time, 2)).collect::<Vec<_>>());
    }
    head(&RATIOS.map(|(a, b)| format!("{} : {}", NAMES[a], NAMES[b])));
    for row in rows {
        line(row, &RATIOS.map(|(a, b)| cell(ratio(row.figures[a], row.figures[b]), 2)));
    }
    let columns = [("compile us", 0), ("ratio to the first", 2), ("code bytes", 0)];
    head(&columns.map(|(what, _)| NATIVE_NAMES.map(|name| format!("{name} {what}"))).concat());
    for row in rows.iter().filter(|row| row.figures[COMPILE].is_some()) {
        let times: [Option<f64>; NATIVE] = std::array::from_fn(|way| row.figures[COMPILE + way]);
        let sizes = std::array::from_fn(|way| row.figures[CODE + way]);
        let figures = [times, times.map(|time| ratio(time, times[0])), sizes];
        let cells = figures
            .into_iter()
            .zip(columns)
            .flat_map(|(figures, (_, digits))| figures.into_iter().map(move |figure| cell(figure, digits)));
        line(row, &cells.collect::<Vec<_>>());
    }
}

/// Whose times are set against each other, by their numbers in [`NAMES`].
const RATIOS: [(usize, usize); 8] = [(0, 1), (5, 1), (1, 3), (1, 4), (2, 4), (1, 6), (3, 7), (4, 8)];

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b?)
}

fn cell(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(|| "-".to_string(), |figure| format!("{figure:.digits$}"))
}

/// Says what the medians are of.
pub fn origin() -> String {
    format!("medians of {ROUNDS} interleaved rounds, {LARGE_ROUNDS} at a million vertices")
}

/// Measures and prints the draws of a mesh.
pub fn print_indexed(contenders: &mut [Box<dyn Contender + '_>; indexed::NAMES.len()]) {
    let mut times = [const { Vec::new() }; indexed::NAMES.len()];
    for _ in 0..ROUNDS {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            times.push(measure(VERTICES, || contender.run()));
        }
    }
    let times = times.map(median);
    println!("\nK2 on a mesh of {VERTICES} vertices and six indices a vertex, JIT N=1, ns/vertex:\n");
    println!("| {} |", indexed::NAMES.join(" | "));
    println!("|{}", "---:|".repeat(indexed::NAMES.len()));
    println!("| {} |", times.map(|time| format!("{time:.2} ({:.2}x)", time / times[0])).join(" | "));
}
