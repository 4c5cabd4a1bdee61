//! Microseconds from a shader's bytes to something that runs, warm: to the IR, through every pass, to native code; and
//! how that grows with the length of the program.
//!
//! - `cargo bench --bench compile` times everything, and ends with a table of generated shaders of 100 to 10,000
//!   instructions, for each kind of vectors.
//! - `cargo bench --bench compile -- generated` times those alone; `-- table` prints the table alone.

#[path = "../asked/mod.rs"]
mod asked;
#[path = "../draw/mod.rs"]
#[expect(dead_code, reason = "nothing is drawn here")]
mod draw;
#[path = "../engines/mod.rs"]
mod engines;
mod generated;
#[path = "../measure/median.rs"]
mod median;
#[path = "../../tests/support/mod.rs"]
mod support;
#[path = "../measure/warm.rs"]
mod warm;

use criterion::{BatchSize, Criterion, criterion_group};
use draw::Draw;
use engines::{Engines, NATIVE_NAMES, NATIVE_WAYS};
use shaderjit::pipeline::{self, PassOptions};
use shaderjit::{Backend, CompileOptions, Lanes, Shader};
use std::time::Duration;

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = compile, lengths
}

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    if asked::times() {
        generated::print(&Engines::new());
    }
}

/// Straight-line shaders.
fn lengths(criterion: &mut Criterion) {
    let engines = Engines::new();
    let engine = engines.narrow();
    let mut group = criterion.benchmark_group("compile/generated");
    // The longest takes a while.
    group.sample_size(10);
    for length in generated::LENGTHS {
        let (shader, options) = (generated::shader(length), generated::options(Lanes::Four));
        group.bench_function(length.to_string(), |bencher| {
            let compile = |()| engine.compile(&shader, &options).expect("the program is supported");
            bencher.iter_batched(|| engine.clear_cache(), compile, BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn compile(criterion: &mut Criterion) {
    let engines = Engines::new();
    let engine = engines.narrow();
    let passes = PassOptions { fused: engine.is_fused(), guards: true };
    for draw in Draw::all() {
        let mut group = criterion.benchmark_group(format!("compile/{}", draw.name));
        let lower = || draw.shader.lower(&CompileOptions::default()).expect("the program is supported");
        group.bench_function("lower", |bencher| bencher.iter(lower));
        group.bench_function("lower and passes", |bencher| {
            bencher.iter(|| pipeline::run(lower().function, &passes, None).expect("the program is small"));
        });
        for (name, (vectors, lanes)) in NATIVE_NAMES.into_iter().zip(NATIVE_WAYS) {
            let Some(engine) = engines.of(vectors) else { continue };
            let options = draw.options(Backend::Jit, lanes);
            group.bench_function(name, |bencher| {
                let compile = |()| engine.compile(&draw.shader, &options).expect("the program is supported");
                // Each compilation finds the cache empty. What it made is freed outside the time.
                bencher.iter_batched(|| engine.clear_cache(), compile, BatchSize::PerIteration);
            });
        }
        group.finish();
    }

    // A geometry shader: two triangles an invocation.
    let shader = Shader::parse(&draw::data("pica/t31_geo_point.shbin")).expect("the container is well-formed");
    let mut group = criterion.benchmark_group("compile/t31");
    group.bench_function("lower", |bencher| {
        bencher.iter(|| shader.lower(&CompileOptions::default().entry(1)).expect("the program is supported"))
    });
    for (name, (vectors, lanes)) in NATIVE_NAMES.into_iter().zip(NATIVE_WAYS) {
        let Some(engine) = engines.of(vectors) else { continue };
        let options = CompileOptions::default().entry(1).lanes(lanes);
        group.bench_function(name, |bencher| {
            let compile = |()| engine.compile(&shader, &options).expect("the program is supported");
            bencher.iter_batched(|| engine.clear_cache(), compile, BatchSize::PerIteration);
        });
    }
    group.finish();
}
