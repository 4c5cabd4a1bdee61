//! Calls of few vertices: K1 bound before, and made and bound in each call, which is what a draw of a handful of
//! vertices costs beside its shading.

use crate::draw::Draw;
use crate::engines::Engines;
use crate::measure::median;
use shaderjit::{Backend, Call, CompiledShader, Engine, Lanes, OutputLayout, Vectors};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Vertices of a call.
const COUNTS: [u32; 4] = [1, 4, 16, 64];
/// Calls between two looks at the clock.
const CALLS: u32 = 2000;
/// Rounds over all of them.
const ROUNDS: usize = 31;

/// K1, compiled for what is bound and one kind of vectors.
struct Few<'a> {
    draw: &'a Draw,
    vectors: Vectors,
    code: Arc<CompiledShader>,
    layout: OutputLayout,
    outputs: Vec<u8>,
}

impl<'a> Few<'a> {
    fn new(draw: &'a Draw, vectors: Vectors, engine: &Engine) -> Few<'a> {
        let one_a_value = Lanes::ALL.into_iter().find(|lanes| lanes.count() == u32::from(vectors.lanes()));
        let lanes = one_a_value.expect("code has as many lanes as vectors");
        let code = engine.compile(&draw.shader, &draw.options(Backend::Jit, lanes));
        let code = code.expect("the program is supported");
        let (layout, stride) = draw.layout(&code);
        Few { draw, vectors, code, layout, outputs: vec![0; COUNTS[COUNTS.len() - 1] as usize * stride] }
    }

    /// Nanoseconds a call: bound before, and made and bound each time.
    fn time(&mut self, count: u32) -> [f64; 2] {
        let Few { draw, code, layout, outputs, .. } = self;
        let mut run = |call: &Call<'_>| call.run_into(0..count, layout, outputs).expect("everything is bound");
        let bound = draw.call(code).expect("the shader has what is bound");
        let bound = time(|| run(black_box(&bound)));
        let made = time(|| {
            let mut call = black_box(&*code).call();
            draw.bind(&mut call).expect("the shader has what is bound");
            run(&call);
        });
        [bound, made]
    }
}

fn time(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..CALLS).for_each(|_| run());
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

/// All in turn, round after round, with every kind of vectors that this machine has, one a value.
pub fn print(draw: &Draw, engines: &Engines) {
    println!(
        "\nCalls of few vertices: {}, ns/call bound before / made and bound each time, medians of {ROUNDS} interleaved \
         rounds:\n",
        draw.name
    );
    let kinds = Vectors::ALL.into_iter().filter_map(|vectors| Some(Few::new(draw, vectors, engines.of(vectors)?)));
    let mut kinds: Vec<Few<'_>> = kinds.collect();
    let mut times = vec![COUNTS.map(|_| [const { Vec::new() }; 2]); kinds.len()];
    for _ in 0..ROUNDS {
        for (at, count) in COUNTS.into_iter().enumerate() {
            for (few, times) in kinds.iter_mut().zip(&mut times) {
                few.time(count).into_iter().zip(&mut times[at]).for_each(|(time, times)| times.push(time));
            }
        }
    }
    let columns = COUNTS.map(|count| format!(" {count} |")).concat();
    println!("| vertices |{columns}\n|---|{}", "---:|".repeat(COUNTS.len()));
    for (few, times) in kinds.iter().zip(times) {
        let cells = times.map(|[bound, made]| format!(" {:.0} / {:.0} |", median(bound), median(made)));
        println!("| {} |{}", few.vectors.name(), cells.concat());
    }
}
