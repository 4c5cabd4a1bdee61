//! Straight-line vertex shaders of any length, to see how compile time grows with it.
//!
//! Six registers are alive at any time, as in what compilers make of ordinary shaders. Every instruction reads all of
//! what the one before it has written, so nothing is dead, and nothing is computed twice.

use crate::engines::{Engines, NATIVE_NAMES, NATIVE_WAYS};
use crate::median::median;
use crate::support::program::Source;
use crate::warm::warm_up;
use shaderjit::{Backend, CompileOptions, CompiledShader, Lanes, NativeStatus, Shader};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Instructions of the shaders.
pub const LENGTHS: [usize; 4] = [100, 200, 1_000, 10_000];

/// Registers, and rows of the constant buffer.
const REGISTERS: usize = 6;
const ROWS: u64 = 64;

/// Rounds over the shaders; fewer if they take too long.
const ROUNDS: usize = 9;
const LONG: Duration = Duration::from_secs(15);

/// A shader of so many instructions, `ret` not among them.
pub fn shader(length: usize) -> Shader {
    let text = text(length);
    let source = Source::new(&text);
    assert_eq!(source.opcodes().count(), length);
    Shader::parse(&source.container()).expect("the container is well-formed")
}

fn text(length: usize) -> String {
    let mut text = format!("vs_5_0\ndcl_constantbuffer CB0[{ROWS}], immediateIndexed\n");
    let mut line = |line: String| writeln!(text, "{line}").expect("strings take text");
    for register in 0..REGISTERS {
        line(format!("mul r{register}.xyzw, v{register}.xyzw, cb0[{register}].xyzw"));
    }
    let sums = REGISTERS / 2;
    let mut random = 1;
    for number in 0..length - REGISTERS - sums {
        let to = number % REGISTERS;
        // The register written last, one of the others, and a row.
        let last = (to + REGISTERS - 1) % REGISTERS;
        let other = (to + 1 + below(&mut random, REGISTERS as u64 - 2) as usize) % REGISTERS;
        let row = below(&mut random, ROWS);
        line(match below(&mut random, 10) {
            0..4 => format!("mad r{to}.xyzw, r{last}.xyzw, cb0[{row}].xyzw, r{other}.wxyz"),
            4 => format!("mul r{to}.xyzw, r{last}.yzwx, cb0[{row}].xyzw"),
            5 => format!("mul r{to}.xyzw, r{last}.xyzw, r{other}.xyzw"),
            6 => format!("dp4 r{to}.{}, r{last}.xyzw, cb0[{row}].xyzw", ["x", "y", "z", "w"][number % 4]),
            7 => format!("min r{to}.xyzw, r{last}.xyzw, cb0[{row}].wzyx"),
            8 => format!("max r{to}.xyzw, r{last}.xyzw, -r{other}.xyzw"),
            _ => format!("add r{to}.xyzw, r{last}.xyzw, -r{other}.yzwx"),
        });
    }
    for output in 0..sums {
        line(format!("add o{output}.xyzw, r{}.xyzw, r{}.xyzw", 2 * output, 2 * output + 1));
    }
    text
}

/// A number below another (Knuth's MMIX).
fn below(random: &mut u64, bound: u64) -> u64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*random >> 33) % bound
}

/// What to compile them with.
pub fn options(lanes: Lanes) -> CompileOptions {
    CompileOptions::default().backend(Backend::Jit).lanes(lanes)
}

/// Compiles every shader in every way in turn, round after round, and prints how long it takes: against the first way,
/// and against the shader before.
pub fn print(engines: &Engines) {
    println!("\nGenerated shaders, microseconds, medians of at most {ROUNDS} interleaved rounds:\n");
    println!("| instructions | vectors | compile | : JIT 128 | : shorter | lower | passes | native | code bytes |");
    println!("|---:|---|{}", "---:|".repeat(7));
    let mut shorter = [None; NATIVE_WAYS.len()];
    for length in LENGTHS {
        let shader = shader(length);
        let compile = |way: usize| -> Option<(f64, Arc<CompiledShader>)> {
            let (vectors, lanes) = NATIVE_WAYS[way];
            let engine = engines.of(vectors)?;
            engine.clear_cache();
            let start = Instant::now();
            let code = engine.compile(&shader, &options(lanes)).expect("the program is supported");
            Some((1e6 * start.elapsed().as_secs_f64(), code))
        };
        let mut times = NATIVE_WAYS.map(|_| [const { Vec::new() }; 4]);
        let begin = Instant::now();
        for _ in (0..ROUNDS).take_while(|&round| round == 0 || begin.elapsed() < LONG) {
            for (way, times) in times.iter_mut().enumerate() {
                warm_up(|| drop(compile(way)));
                let Some((total, code)) = compile(way) else { continue };
                let stages = code.times();
                let stages = [stages.lower, stages.passes, stages.native].map(|time| 1e6 * time.as_secs_f64());
                for (times, time) in times.iter_mut().zip([total, stages[0], stages[1], stages[2]]) {
                    times.push(time);
                }
            }
        }
        let mut first = None;
        for (way, times) in times.into_iter().enumerate() {
            let Some((_, code)) = compile(way) else { continue };
            let [total, lower, passes, native] = times.map(median);
            let to_first = total / *first.get_or_insert(total);
            let longer =
                shorter[way].replace(total).map_or_else(|| "-".to_string(), |last| format!("{:.2}", total / last));
            let name = NATIVE_NAMES[way];
            let bytes = match code.native_status() {
                NativeStatus::Refused(reason) => format!("refused: {reason}"),
                _ => code.machine_code().map_or(0, <[u8]>::len).to_string(),
            };
            println!(
                "| {length} | {name} | {total:.0} | {to_first:.2} | {longer} | {lower:.0} | {passes:.0} | {native:.0} | {bytes} |"
            );
        }
    }
}
