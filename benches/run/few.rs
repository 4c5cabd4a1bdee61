//! Calls of few vertices: K1 bound before, and made and bound in each call, which is what a draw of a handful of
//! vertices costs beside its shading.

use crate::draw::Draw;
use crate::row::median;
use shaderjit::{Backend, Call, CompiledShader, Engine, Lanes, OutputLayout};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Vertices of a call.
const COUNTS: [u32; 4] = [1, 4, 16, 64];
/// Calls between two looks at the clock.
const CALLS: u32 = 2000;
/// Rounds over all of them.
const ROUNDS: usize = 31;

/// K1, compiled for what is bound.
pub struct Few<'a> {
    draw: &'a Draw,
    code: Arc<CompiledShader>,
    layout: OutputLayout,
    outputs: Vec<u8>,
}

impl<'a> Few<'a> {
    pub fn new(draw: &'a Draw, engine: &Engine) -> Few<'a> {
        let code = engine.compile(&draw.shader, &draw.options(Backend::Jit, Lanes::Four));
        let code = code.expect("the program is supported");
        let (layout, stride) = draw.layout(&code);
        Few { draw, code, layout, outputs: vec![0; COUNTS[COUNTS.len() - 1] as usize * stride] }
    }

    /// Nanoseconds a call: bound before, and made and bound each time.
    fn time(&mut self, count: u32) -> [f64; 2] {
        let Few { draw, code, layout, outputs } = self;
        let make = || draw.call(black_box(code)).expect("the shader has what is bound");
        let mut run = |call: &Call<'_>| call.run_into(0..count, layout, outputs).expect("everything is bound");
        let bound = make();
        [time(|| run(black_box(&bound))), time(|| run(&make()))]
    }
}

fn time(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..CALLS).for_each(|_| run());
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

/// All in turn, round after round.
pub fn print(few: &mut Few<'_>) {
    println!(
        "\nCalls of few vertices: {} with four lanes, ns/call, medians of {ROUNDS} interleaved rounds:\n",
        few.draw.name
    );
    println!("| vertices | bound before | made and bound each time |\n|---:|---:|---:|");
    let mut times = COUNTS.map(|_| [const { Vec::new() }; 2]);
    for _ in 0..ROUNDS {
        for (count, times) in COUNTS.into_iter().zip(&mut times) {
            for (time, times) in few.time(count).into_iter().zip(times) {
                times.push(time);
            }
        }
    }
    for (count, times) in COUNTS.into_iter().zip(times) {
        let [bound, made] = times.map(median);
        println!("| {count} | {bound:.0} | {made:.0} |");
    }
}
