//! `asm`: the native code as assembly.

use crate::options::{CompileArgs, ProgramArgs};
use crate::report::{Failure, Outcome, Report};
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, NasmFormatter};
use shaderjit::Backend;
use std::fmt::Write;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: ProgramArgs,
    #[command(flatten)]
    compile: CompileArgs,
    /// Print the bytes of each instruction
    #[arg(long)]
    bytes: bool,
}

pub fn run(args: &Args) -> Outcome {
    let (_, code) = args.compile.compile(&args.shader, Backend::Jit)?;
    args.shader.require_native(&code)?;
    if cfg!(not(target_arch = "x86_64")) {
        return Err(Failure::input("assembly is printed for x86-64 only"));
    }
    Ok(Report::text(listing(code.code().expect("it was compiled for the JIT"), args.bytes)))
}

/// Offset, bytes if asked for, instruction. Constants that follow the code print as instructions too.
fn listing(code: &[u8], show_bytes: bool) -> String {
    let mut out = String::new();
    let mut formatter = NasmFormatter::new();
    formatter.options_mut().set_first_operand_char_index(10);
    let mut instruction = Instruction::default();
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let at = instruction.ip() as usize;
        let _ = write!(out, "{at:6x}  ");
        if show_bytes {
            let bytes: String = code[at..at + instruction.len()].iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = write!(out, "{bytes:<22}  ");
        }
        formatter.format(&instruction, &mut out);
        out.push('\n');
    }
    out
}
