//! A million threads on one thread of the processor and on all of them: feature `rayon`.

use crate::case::Case;
use crate::contender::{compile, words};
use crate::engines::Engines;
use crate::measure::median;
use shaderjit::{AtomicBuffer, Backend, Call, Vectors};
use std::time::Instant;

/// Rounds of the table.
const ROUNDS: usize = 7;

/// Case by case, because they are large. Calls are bound before.
///
/// # Panics
/// All threads leave something else than one.
pub fn print(engines: &Engines) {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let widest = Vectors::of_this_machine().into_iter().max_by_key(|vectors| vectors.lanes());
    let engine = widest.and_then(|vectors| engines.of(vectors)).expect("there is native code for this machine");
    println!(
        "\nns/thread on one thread of the processor and {threads}, medians of {ROUNDS} interleaved rounds. The bound is"
    );
    println!("what the processors give if each of their threads runs all groups for itself:\n");
    println!("| groups | threads | dispatch | dispatch_parallel | ratio | bound |\n|---|---:|---:|---:|---:|---:|");
    for case in Case::large() {
        let code = compile(&case, engine, Backend::Jit, None);
        let memory: Vec<Vec<AtomicBuffer>> = (0..threads).map(|_| case.memory()).collect();
        let bind = |memory| case.call(&code, memory).expect("the shader has what is bound");
        let calls: Vec<Call<'_>> = memory.iter().map(|memory| bind(memory)).collect();
        let one = || calls[0].dispatch(case.grid).expect("everything is bound");
        let all = || calls[0].dispatch_parallel(case.grid).expect("everything is bound");
        let apart = || {
            // This thread works, too, as it does for `dispatch_parallel`.
            std::thread::scope(|scope| {
                for call in &calls[1..] {
                    scope.spawn(|| call.dispatch(case.grid).expect("everything is bound"));
                }
                one();
            });
        };
        one();
        let wanted = words(&memory[0]);
        for (buffer, words) in memory[0].iter().zip(&wanted) {
            (0..words.len()).for_each(|word| buffer.set_word(word, 0));
        }
        all();
        assert!(words(&memory[0]) == wanted, "{}", case.name);
        apart();
        let time = |run: &dyn Fn()| {
            let start = Instant::now();
            run();
            start.elapsed().as_nanos() as f64 / f64::from(case.threads)
        };
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            for (times, run) in times.iter_mut().zip([&one as &dyn Fn(), &all, &apart]) {
                times.push(time(run));
            }
        }
        let [one, all, apart] = times.map(median);
        let (ratio, bound) = (one / all, one * threads as f64 / apart);
        println!("| {} | {} | {one:.2} | {all:.2} | {ratio:.2}x | {bound:.2}x |", case.name, case.threads);
    }
}
