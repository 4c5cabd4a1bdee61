//! `shaderjit`: looks into compiled shaders and runs them. One file a subcommand; the rest is shared by several.
//!
//! Exit codes: 0 done; 1 the input is invalid or unsupported, or the engines differ; 2 usage. Data goes to stdout,
//! messages go to stderr, and nothing goes to stdout before a subcommand has succeeded.

mod alone;
mod asm;
mod batch;
mod bench;
mod bindings;
mod cases;
mod clif;
mod compare;
mod completions;
mod diff;
mod dis;
mod dxgi;
mod explore;
mod extract;
mod format;
mod generate;
mod geometry;
mod groups;
mod ir;
mod json;
mod layout;
mod man;
mod options;
mod parts;
mod picture;
mod pipeline;
mod progress;
mod reflect;
mod render;
mod report;
mod resources;
mod run;
mod scan;
mod scene;
mod sign;
mod source;
mod spreadsheet;
mod stages;
mod test;
mod trace;
mod val;
mod values;

use clap::{Parser, Subcommand};
use report::Outcome;
use std::process::ExitCode;

/// Looks into compiled GPU shaders (DXBC, SHBIN) and runs them on the CPU.
#[derive(Parser)]
#[command(
    version,
    after_help = "FILE may be `-` for standard input. Exit codes: 0 done, 1 invalid input or difference, 2 usage."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the parts of a container
    Parts(parts::Args),
    /// Print what is wrong with a container
    Val(val::Args),
    /// Write the data of one part
    Extract(extract::Args),
    /// Compute the digest anew and write the container
    Sign(sign::Args),
    /// Find containers inside any files
    Scan(scan::Args),
    /// Print a program's instructions
    Dis(dis::Args),
    /// Print what a shader declares: signatures, buffers, bindings
    Reflect(reflect::Args),
    /// Print the IR, after any pass
    Ir(ir::Args),
    /// Print the batch program: what native code does for a whole batch
    Batch(batch::Args),
    /// Print Cranelift's form of the native code
    Clif(clif::Args),
    /// Print the native code
    Asm(asm::Args),
    /// Write a page that shows what becomes of each instruction, from bytes to native code
    Explore(explore::Args),
    /// Run a vertex shader on raw vertices, or a pixel shader on raw pixels, and print the outputs
    Run(run::Args),
    /// Run as `run` does, and print what one invocation does, instruction by instruction
    Trace(trace::Args),
    /// Run unit tests of shaders, and print a line for each
    Test(test::Args),
    /// Draw a scene, or with a vertex and a pixel shader, and write the picture as PNG
    Render(render::Args),
    /// Run two shaders, or both engines, on the same inputs and print the first difference
    Diff(diff::Args),
    /// Measure how fast a vertex shader compiles and runs
    Bench(bench::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Write manual pages
    Man(man::Args),
}

impl Command {
    fn run(&self) -> Outcome {
        match self {
            Command::Parts(args) => parts::run(args),
            Command::Val(args) => val::run(args),
            Command::Extract(args) => extract::run(args),
            Command::Sign(args) => sign::run(args),
            Command::Scan(args) => scan::run(args),
            Command::Dis(args) => dis::run(args),
            Command::Reflect(args) => reflect::run(args),
            Command::Ir(args) => ir::run(args),
            Command::Batch(args) => batch::run(args),
            Command::Clif(args) => clif::run(args),
            Command::Asm(args) => asm::run(args),
            Command::Explore(args) => explore::run(args),
            Command::Run(args) => run::run(args),
            Command::Trace(args) => trace::run(args),
            Command::Test(args) => test::run(args),
            Command::Render(args) => render::run(args),
            Command::Diff(args) => diff::run(args),
            Command::Bench(args) => bench::run(args),
            Command::Completions(args) => completions::run(args),
            Command::Man(args) => man::run(args),
        }
    }
}

fn main() -> ExitCode {
    report::finish(Cli::parse().command.run())
}
