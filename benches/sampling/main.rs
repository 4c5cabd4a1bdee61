//! Nanoseconds a sample: textures on all lanes at once, as shaders access them, and the scalar twin in plain Rust,
//! first by criterion and then side by side in one table.
//!
//! - `cargo bench --bench sampling` times everything; `-- table` leaves criterion nothing.
//! - `cargo bench --bench sampling -- --test` runs everything once.
//!
//! What both give is compared before anything is timed.

#[path = "../asked/mod.rs"]
mod asked;
#[path = "../measure/mod.rs"]
mod measure;

mod case;
mod plain;

use case::{Case, SAMPLES};
use criterion::{Criterion, Throughput};
use std::hint::black_box;
use std::time::Duration;

/// How often each is timed for the table, in turns.
const ROUNDS: usize = 9;

fn main() {
    let cases = Case::all();
    cases.iter().for_each(Case::check);

    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    for case in &cases {
        let mut group = criterion.benchmark_group(format!("sampling/{}", case.name));
        group.throughput(Throughput::Elements(SAMPLES as u64));
        group.bench_function("lanes", |bencher| bencher.iter(|| case.lanes()));
        if let Some(twin) = case.twin() {
            group.bench_function("plain", |bencher| bencher.iter(|| case.plain(black_box(&twin))));
        }
        group.finish();
    }
    criterion.final_summary();

    if asked::times() {
        print(&cases);
    }
}

/// The table.
fn print(cases: &[Case]) {
    println!("{:<34} {:>9} {:>9} {:>7}", "ns a sample", "lanes", "plain", "ratio");
    for case in cases {
        let twin = case.twin();
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            times[0].push(measure::measure(SAMPLES as u32, || case.lanes()));
            if let Some(twin) = &twin {
                times[1].push(measure::measure(SAMPLES as u32, || case.plain(black_box(twin))));
            }
        }
        let [lanes, plain] = times.map(|times| (!times.is_empty()).then(|| measure::median(times)));
        let lanes = lanes.unwrap_or_default();
        match plain {
            Some(plain) => println!("{:<34} {lanes:>9.2} {plain:>9.2} {:>6.1}x", case.name, plain / lanes),
            None => println!("{:<34} {lanes:>9.2}", case.name),
        }
    }
}
