//! Nanoseconds a vertex: interpreter, native code of all widths, plain Rust and hand-written SIMD on the same draw
//! calls, first by criterion and then side by side in one table, with compile times and code sizes; a mesh with indices
//! against its vertices alone; and calls of few vertices.
//!
//! - `cargo bench --bench run` times everything.
//! - `cargo bench --bench run -- K3` leaves criterion only what has `K3` in its name; `-- table` leaves it nothing.
//! - `cargo bench --bench run -- --processes 5` runs five processes one after the other, each with the table only, and
//!   prints the table of their medians.
//! - `cargo bench --bench run -- --spirv` prints K1 to K4 as SPIR-V beside their DXBC and nothing else.
//! - `cargo bench --bench run -- --test` runs everything once.
//! - `--features rayon` adds many vertices on one thread and on all.
//!
//! All results are checked before anything is timed.

#[path = "../asked/mod.rs"]
mod asked;
#[path = "../draw/mod.rs"]
mod draw;
#[path = "../engines/mod.rs"]
mod engines;
#[path = "../hand/mod.rs"]
mod hand;
#[path = "../measure/mod.rs"]
mod measure;
#[path = "../engines/names.rs"]
mod names;
#[path = "../plain/mod.rs"]
mod plain;
#[path = "../measure/warm.rs"]
mod warm;

mod check;
mod contender;
mod few;
mod geometry;
mod indexed;
#[cfg(feature = "rayon")]
mod parallel;
mod processes;
mod race;
mod row;
mod spirv;
mod table;

use contender::Contender;
use criterion::{Criterion, Throughput};
use draw::{Draw, VERTICES};
use engines::Engines;
use race::{Race, Source};
use std::time::Duration;

fn main() {
    if let Some(count) = processes::asked() {
        let origin = format!("medians over {count} processes of {}", table::origin());
        return table::print(&processes::medians(count), &origin);
    }

    let engines = Engines::new();
    if asked::said("--spirv") {
        return spirv::race(&Draw::kernels(), &engines, true);
    }
    let engine = engines.narrow();
    check::plain_pica();
    let sources = Source::all();
    let mut races: Vec<Race> = sources.iter().map(|source| source.race(&engines)).collect();
    check::check(&mut races);
    if processes::is_asked() {
        return table::rows(&mut races, &engines).iter().for_each(|row| println!("{}", row.to_text()));
    }

    let kernels = Draw::kernels();
    let k2 = kernels.iter().find(|draw| draw.name == "K2").expect("it is one of the kernels");
    let mut indexed = indexed::all(k2, engine);
    check::check_indexed(&mut indexed);
    spirv::race(&kernels, &engines, false);

    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for race in races.iter_mut().filter(|race| race.vertices == VERTICES) {
        let mut group = criterion.benchmark_group(format!("run/{}", race.name));
        group.throughput(Throughput::Elements(VERTICES.into()));
        for (name, contender) in contender::NAMES.into_iter().zip(&mut race.contenders) {
            if let Some(contender) = contender {
                group.bench_function(name, |bencher| bencher.iter(|| contender.run()));
            }
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
    let mut batches = parallel::Batch::all(engine);
    #[cfg(feature = "rayon")]
    parallel::bench(&mut criterion, &mut batches);
    criterion.final_summary();

    if asked::times() {
        table::print(&table::rows(&mut races, &engines), &table::origin());
        table::print_indexed(&mut indexed);
        few::print(&kernels[0], &engines);
        spirv::race(&kernels, &engines, true);
        #[cfg(feature = "rayon")]
        parallel::print(&mut batches);
    }
}
