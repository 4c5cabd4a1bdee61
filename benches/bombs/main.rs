//! Programs written to take long: what compiling one takes, and what a call of eight vertices takes on either engine
//! before it ends or runs out of fuel. Their limits are in `src/jit/limits.rs` and `shaderjit::Config::fuel`.
//!
//! `cargo bench --bench bombs` prints the table; files named behind `--` are measured as well.

#[path = "../asked/mod.rs"]
mod asked;
#[path = "../../tests/support/mod.rs"]
mod support;

use shaderjit::error::CallError;
use shaderjit::{Backend, CompileOptions, CompiledShader, Config, Engine, Shader};
use std::fmt::Write;
use std::time::Instant;
use support::program::Source;

/// Vertices of a call.
const VERTICES: u32 = 8;

fn main() {
    if !asked::times() {
        return;
    }
    let mut bombs: Vec<(String, Vec<u8>)> = vec![
        ("values read in another order, 700".to_string(), container(&crossed(700))),
        ("values read in another order, 1 400".to_string(), container(&crossed(1_400))),
        ("values read in another order, 2 700".to_string(), container(&crossed(2_700))),
        (
            "endless loop of 1 500 sums".to_string(),
            container(&endless(1_500, "mad r{}.xyz, r{}.xyzw, r{}.yzwx, r0.xyzw")),
        ),
        (
            "endless loop of 4 000 sums".to_string(),
            container(&endless(4_000, "mad r{}.xyz, r{}.xyzw, r{}.yzwx, r0.xyzw")),
        ),
        ("endless loop of 300 quotients".to_string(), container(&endless(300, "div r{}.xyz, r{}.xyzw, r{}.yzwx"))),
        ("loop with 200 exits that carries 100 registers".to_string(), container(&exits(100, 200))),
        ("switch of 15 000 cases".to_string(), container(&cases(15_000))),
    ];
    for path in std::env::args().skip(1).filter(|argument| !argument.starts_with('-')) {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        bombs.push((path, bytes));
    }
    println!("| program | KB | compile, ms | native code | {VERTICES} vertices, ms | interpreted, ms |");
    println!("|---|---:|---:|---|---:|---:|");
    for (name, bytes) in &bombs {
        let engine = Engine::new(Config::default()).expect("nothing is asked of the machine");
        let start = Instant::now();
        let compile = |backend| {
            let shader = Shader::parse(bytes).expect("the container is well-formed");
            engine.compile(&shader, &CompileOptions::default().backend(backend))
        };
        let compiled = compile(Backend::Jit);
        let compile_time = start.elapsed().as_secs_f64() * 1e3;
        let size = bytes.len() / 1024;
        match &compiled {
            Err(error) => println!("| {name} | {size} | {compile_time:.0} | {error} | | |"),
            Ok(code) => {
                let native = if code.is_native() { run(code) } else { String::new() };
                let interpreted = run(&compile(Backend::Interpreter).expect("the other engine took it"));
                let is_native = if code.is_native() { "yes" } else { "too large" };
                println!("| {name} | {size} | {compile_time:.0} | {is_native} | {native} | {interpreted} |");
            }
        }
    }
}

/// How long a call takes, and how it ends.
fn run(code: &CompiledShader) -> String {
    let mut call = code.call();
    call.unbound_as_zero(true);
    let start = Instant::now();
    let ended = match call.run(0..VERTICES) {
        Ok(_) => "",
        Err(CallError::OutOfFuel { .. }) => ", out of fuel",
        Err(error) => panic!("{error}"),
    };
    format!("{:.0}{ended}", start.elapsed().as_secs_f64() * 1e3)
}

fn container(text: &str) -> Vec<u8> {
    Source::new(text).container()
}

/// Each register is made of the one before; then all of them are read again, in another order.
fn crossed(registers: usize) -> String {
    let mut text = format!("vs_5_0\ndcl_temps {registers}\nmov r0.xyzw, v0.xyzw\n");
    for register in 1..registers {
        line(&mut text, format_args!("mul r{register}.xyzw, r{}.xyzw, r0.yzwx", register - 1));
    }
    for register in (1..registers).rev().cycle().take(2 * registers) {
        line(&mut text, format_args!("mad r0.xyzw, r0.xyzw, r{register}.xyzw, r{}.xyzw", register * 37 % registers));
    }
    text + "mov o0.xyzw, r0.xyzw\n"
}

/// A loop that no lane leaves, of so many instructions on eight registers.
fn endless(length: usize, instruction: &str) -> String {
    let mut text = "vs_5_0\ndcl_temps 9\nmov r0.xyzw, v0.xyzw\nloop\nbreakc_nz r8.w\n".to_string();
    for number in 0..length {
        let mut registers = [number, number + 3, number * 5].map(|register| (register % 8).to_string()).into_iter();
        let pieces: Vec<String> =
            instruction.split("{}").map(|piece| piece.to_string() + &registers.next().unwrap_or_default()).collect();
        line(&mut text, format_args!("{}", pieces.concat()));
    }
    text + "endloop\nmov o0.xyzw, r0.xyzw\n"
}

/// Every way out of a loop leaves all registers to what comes behind it.
fn exits(registers: usize, ways: usize) -> String {
    let mut text = format!("vs_5_0\ndcl_temps {}\nmov r0.xyzw, v0.xyzw\nloop\n", registers + 1);
    (1..registers).for_each(|r| line(&mut text, format_args!("add r{r}.xyzw, r{r}.xyzw, r0.xyzw")));
    (0..ways).for_each(|way| line(&mut text, format_args!("breakc_nz r{registers}.{}", ["x", "y", "z", "w"][way % 4])));
    text += "endloop\n";
    (1..registers).for_each(|r| line(&mut text, format_args!("add r0.xyzw, r0.xyzw, r{r}.xyzw")));
    text + "mov o0.xyzw, r0.xyzw\n"
}

/// One switch.
fn cases(count: usize) -> String {
    let mut text = "vs_5_0\ndcl_temps 1\nmov r0.xyzw, v0.xyzw\nswitch r0.x\n".to_string();
    (0..count).for_each(|case| line(&mut text, format_args!("case l({})", 7 * case)));
    text + "add r0.xyzw, r0.xyzw, r0.xyzw\nbreak\nendswitch\nmov o0.xyzw, r0.xyzw\n"
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("strings take text");
}
