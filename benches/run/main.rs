//! Nanoseconds a vertex: interpreter, native code of both widths and plain Rust on the same draw calls, first by criterion and
//! then side by side in one table; and a mesh with indices against its vertices alone.
//!
//! - `cargo bench --bench run` times everything.
//! - `cargo bench --bench run -- K3` leaves criterion only what has `K3` in its name; `-- table` leaves it nothing.
//! - `cargo bench --bench run -- --test` runs everything once.
//! - `--features rayon` adds a million vertices on one thread and on all.
//!
//! All results are checked before anything is timed.

#[path = "../draw/mod.rs"]
mod draw;
#[path = "../plain/mod.rs"]
mod plain;

mod check;
mod contender;
mod geometry;
mod indexed;
#[cfg(feature = "rayon")]
mod parallel;
mod table;

use contender::Contender;
use criterion::{Criterion, Throughput};
use draw::{Draw, VERTICES};
use shaderjit::{Config, Engine};
use std::time::Duration;

/// One draw call and everybody who can do it.
struct Race<'a> {
    name: &'a str,
    /// What it should compute.
    reference: &'a [f32],
    /// In the order of [`contender::NAMES`].
    contenders: [Box<dyn Contender + 'a>; contender::NAMES.len()],
}

fn main() {
    let engine = Engine::new(Config::default()).expect("the default configuration asks for nothing special");
    let draws = Draw::all();
    let triangles = geometry::Primitives::new();
    let mut races = Vec::new();
    for draw in &draws {
        let Draw { name, reference, .. } = draw;
        races.push(Race { name, reference, contenders: contender::all(draw, &engine) });
    }
    races.push(Race { name: "t31", reference: &triangles.reference, contenders: geometry::all(&triangles, &engine) });

    let k2 = draws.iter().find(|draw| draw.name == "K2").expect("it is one of the kernels");
    let mut indexed = indexed::all(k2, &engine);

    check::check(&mut races);
    check::check_indexed(&mut indexed);

    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for race in &mut races {
        let mut group = criterion.benchmark_group(format!("run/{}", race.name));
        group.throughput(Throughput::Elements(VERTICES.into()));
        for (name, contender) in contender::NAMES.into_iter().zip(&mut race.contenders) {
            group.bench_function(name, |bencher| bencher.iter(|| contender.run()));
        }
        group.finish();
    }
    let mut group = criterion.benchmark_group("indexed/K2");
    group.throughput(Throughput::Elements(VERTICES.into()));
    for (name, contender) in indexed::NAMES.into_iter().zip(&mut indexed) {
        group.bench_function(name, |bencher| bencher.iter(|| contender.run()));
    }
    group.finish();
    #[cfg(feature = "rayon")]
    let mut batches = parallel::Batch::all(&engine);
    #[cfg(feature = "rayon")]
    parallel::bench(&mut criterion, &mut batches);
    criterion.final_summary();

    // `cargo bench` says `--bench`, `cargo test` does not.
    let said = |option: &str| std::env::args().any(|argument| argument == option);
    if said("--bench") && !["--test", "--list", "--profile-time"].into_iter().any(said) {
        table::print(&mut races);
        table::print_indexed(&mut indexed);
        #[cfg(feature = "rayon")]
        parallel::print(&mut batches);
    }
}
