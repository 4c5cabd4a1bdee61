//! K2 to K4 at ten thousand vertices and at a million, on one thread and on all of them: feature `rayon`.

use crate::draw::{Draw, VERTICES};
use criterion::{Criterion, Throughput};
use shaderjit::{Backend, Call, CompiledShader, Engine, Lanes, OutputLayout};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the vertices of a draw call are repeated.
const REPEATS: [u32; 2] = [1, 100];
/// The fewest vertices that are timed at once: a batch of fewer is run more often.
const AT_ONCE: u32 = 200_000;
/// Rounds of the table.
const ROUNDS: usize = 15;

/// A draw call with many vertices, and room for what it gives.
pub struct Batch {
    draw: Draw,
    code: Arc<CompiledShader>,
    layout: OutputLayout,
    vertices: u32,
    outputs: Vec<u8>,
}

impl Batch {
    /// K2 to K4.
    pub fn all(engine: &Engine) -> Vec<Batch> {
        let draws = |repeats| Draw::kernels().into_iter().skip(1).map(move |draw| (draw, repeats));
        REPEATS.into_iter().flat_map(draws).map(|(draw, repeats)| Batch::new(draw, repeats, engine)).collect()
    }

    fn new(mut draw: Draw, repeats: u32, engine: &Engine) -> Batch {
        draw.vertices = draw.vertices.repeat(repeats as usize);
        let options = draw.options(Backend::Jit, Lanes::Four);
        let code = engine.compile(&draw.shader, &options).expect("the program is supported");
        let (layout, stride) = draw.layout(&code);
        let vertices = repeats * VERTICES;
        Batch { draw, code, layout, vertices, outputs: vec![0; vertices as usize * stride] }
    }

    fn run(&mut self, on_all_threads: bool) {
        let Batch { draw, code, layout, vertices, outputs } = self;
        let mut call: Call<'_> = code.call();
        draw.bind(&mut call).expect("the shader has what is bound");
        let ended = match on_all_threads {
            true => call.run_parallel_into(0..*vertices, layout, outputs),
            false => call.run_into(0..*vertices, layout, outputs),
        };
        ended.expect("everything is bound");
    }

    fn time(&mut self, on_all_threads: bool) -> Duration {
        let start = Instant::now();
        (0..self.runs()).for_each(|_| self.run(on_all_threads));
        start.elapsed()
    }

    /// How often it is run for a measurement.
    fn runs(&self) -> u32 {
        AT_ONCE.div_ceil(self.vertices)
    }

    /// Every thread shades the whole batch for itself, and nobody waits for anybody: as much as the processors have to
    /// give.
    fn time_apart(&mut self, outputs: &mut [Vec<u8>]) -> Duration {
        let (runs, Batch { draw, code, layout, vertices, .. }) = (self.runs(), &*self);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for outputs in outputs {
                scope.spawn(move || {
                    let call: Call<'_> = draw.call(code).expect("the shader has what is bound");
                    for _ in 0..runs {
                        call.run_into(0..*vertices, layout, outputs).expect("everything is bound");
                    }
                });
            }
        });
        start.elapsed()
    }
}

/// Checks that both give the same, then times both.
pub fn bench(criterion: &mut Criterion, batches: &mut [Batch]) {
    for batch in batches {
        batch.run(false);
        let expected = batch.outputs.clone();
        batch.outputs.fill(0);
        batch.run(true);
        assert!(batch.outputs == expected, "{}", batch.draw.name);
        let mut group = criterion.benchmark_group(format!("parallel/{}/{}", batch.draw.name, batch.vertices));
        group.throughput(Throughput::Elements(batch.vertices.into()));
        group.bench_function("run", |bencher| bencher.iter(|| batch.run(false)));
        group.bench_function("run_parallel", |bencher| bencher.iter(|| batch.run(true)));
        group.finish();
    }
}

/// All in turn, round after round.
pub fn print(batches: &mut [Batch]) {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!(
        "\nns/vertex on one thread and {threads}, medians of {ROUNDS} interleaved rounds. The bound is what the processors give"
    );
    println!("if each thread shades batches of its own:\n");
    println!("| kernel | vertices | run | run_parallel | ratio | bound |\n|---|---:|---:|---:|---:|---:|");
    for batch in batches {
        let mut apart = vec![vec![0; batch.outputs.len()]; threads];
        batch.time_apart(&mut apart);
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            times[0].push(batch.time(false));
            times[1].push(batch.time(true));
            times[2].push(batch.time_apart(&mut apart));
        }
        let [one, all, apart] = times.map(|mut times| {
            times.sort_unstable();
            times[ROUNDS / 2].as_nanos() as f64 / f64::from(batch.runs() * batch.vertices)
        });
        let (ratio, bound) = (one / all, one * threads as f64 / apart);
        println!("| {} | {} | {one:.2} | {all:.2} | {ratio:.2}x | {bound:.2}x |", batch.draw.name, batch.vertices);
    }
}
