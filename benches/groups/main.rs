//! Nanoseconds a thread of thread groups: interpreter, native code of all widths and plain Rust, first by criterion and
//! then side by side in one table.
//!
//! - `cargo bench --bench groups` times everything; `-- sort` leaves criterion only what has `sort` in its name, and
//!   `-- table` leaves it nothing.
//! - `cargo bench --bench groups -- --test` runs everything once.
//! - `--features rayon` adds a million threads on one thread of the processor and on all.
//!
//! All results are checked before anything is timed.

#[path = "../asked/mod.rs"]
mod asked;
#[path = "../engines/mod.rs"]
mod engines;
#[path = "../measure/mod.rs"]
mod measure;
#[path = "../engines/names.rs"]
mod names;
#[path = "../../tests/support/mod.rs"]
mod support;

mod aligned;
mod case;
mod contender;
mod motion;
mod network;
#[cfg(feature = "rayon")]
mod parallel;
mod plain;
mod race;

use case::Case;
use criterion::{Criterion, Throughput};
use engines::Engines;
use race::Race;
use std::time::Duration;

fn main() {
    let (engines, cases) = (Engines::new(), Case::small());
    let mut races: Vec<Race> = cases.iter().map(|case| Race::new(case, &engines)).collect();
    races.iter_mut().for_each(Race::check);

    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for Race { case, contenders } in &mut races {
        let mut group = criterion.benchmark_group(format!("groups/{}", case.name));
        group.throughput(Throughput::Elements(case.threads.into()));
        for (name, contender) in contender::NAMES.into_iter().zip(contenders) {
            if let Some(contender) = contender {
                group.bench_function(name, |bencher| bencher.iter(|| contender.run()));
            }
        }
        group.finish();
    }
    criterion.final_summary();

    if asked::times() {
        race::print(&mut races);
        #[cfg(feature = "rayon")]
        parallel::print(&engines);
    }
}

/// A file of the tests.
fn data(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/dxbc/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
