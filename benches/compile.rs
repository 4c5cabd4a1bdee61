//! Microseconds from a shader's bytes to something that runs, warm: to the IR, through every pass, to native code.

#[path = "draw/mod.rs"]
#[expect(dead_code, reason = "nothing is drawn here")]
mod draw;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use draw::Draw;
use shaderjit::pipeline::{self, PassOptions};
use shaderjit::{Backend, CompileOptions, Config, Engine, Lanes, Shader};
use std::time::Duration;

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = compile
}
criterion_main!(benches);

fn compile(criterion: &mut Criterion) {
    let engine = Engine::new(Config::default()).expect("the default configuration asks for nothing special");
    let passes = PassOptions { fused: engine.is_fused(), guards: true };
    for draw in Draw::all() {
        let mut group = criterion.benchmark_group(format!("compile/{}", draw.name));
        let lower = || draw.shader.lower(0).expect("the program is supported");
        group.bench_function("lower", |bencher| bencher.iter(lower));
        group.bench_function("lower and passes", |bencher| {
            bencher.iter(|| {
                let mut lowered = lower();
                pipeline::run(&mut lowered.function, &passes).expect("the program is small");
                lowered
            });
        });
        for (name, lanes) in [("native N=1", Lanes::Four), ("native N=2", Lanes::Eight)] {
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
    group.bench_function("lower", |bencher| bencher.iter(|| shader.lower(1).expect("the program is supported")));
    for (name, lanes) in [("native N=1", Lanes::Four), ("native N=2", Lanes::Eight)] {
        let options = CompileOptions::default().entry(1).lanes(lanes);
        group.bench_function(name, |bencher| {
            let compile = |()| engine.compile(&shader, &options).expect("the program is supported");
            bencher.iter_batched(|| engine.clear_cache(), compile, BatchSize::PerIteration);
        });
    }
    group.finish();
}
