//! `asm`: the native code as assembly.

use crate::options::{CompileArgs, ProgramArgs};
use crate::report::{Outcome, Report};
use iced_x86::{Decoder, DecoderOptions, Formatter, NasmFormatter};
use shaderjit::Backend;
use std::fmt::Write;
use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Operand};

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
    let code = code.machine_code().expect("it was compiled for the JIT");
    // The machines that native code is made for.
    let instructions = if cfg!(target_arch = "aarch64") { aarch64(code) } else { x86_64(code) };
    Ok(Report::text(listing(code, &instructions, args.bytes)))
}

/// Offset, bytes if asked for, instruction. Constants that follow the code print as instructions too.
fn listing(code: &[u8], instructions: &[(usize, String)], show_bytes: bool) -> String {
    let mut out = String::new();
    let mut rest = code;
    for (length, text) in instructions {
        let _ = write!(out, "{:6x}  ", code.len() - rest.len());
        let bytes;
        (bytes, rest) = rest.split_at(*length);
        if show_bytes {
            let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = write!(out, "{bytes:<22}  ");
        }
        out.push_str(text);
        out.push('\n');
    }
    out
}

/// Length and text of each instruction.
fn x86_64(code: &[u8]) -> Vec<(usize, String)> {
    let mut formatter = NasmFormatter::new();
    formatter.options_mut().set_first_operand_char_index(10);
    let text = |instruction: iced_x86::Instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        (instruction.len(), text)
    };
    Decoder::with_ip(64, code, 0, DecoderOptions::NONE).iter().map(text).collect()
}

/// Length and text of each instruction, and where branches and addresses go.
fn aarch64(code: &[u8]) -> Vec<(usize, String)> {
    let decoder = InstDecoder::default();
    let text = |(number, word): (usize, &[u8])| {
        let Ok(instruction) = decoder.decode(&mut U8Reader::new(word)) else {
            let bytes: String = word.iter().rev().map(|byte| format!("{byte:02x}")).collect();
            return (word.len(), format!(".word     0x{bytes}"));
        };
        let text = instruction.to_string();
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
        let mut text = format!("{mnemonic:<10}{operands}").trim_end().to_string();
        let offset = instruction.operands.iter().find_map(|operand| match operand {
            Operand::PCOffset(offset) => Some(*offset),
            _ => None,
        });
        if let Some(offset) = offset {
            let _ = write!(text, "  ; {:x}", number as i64 * 4 + offset);
        }
        (word.len(), text)
    };
    code.chunks(4).enumerate().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What GNU objdump prints for these words, but for the spelling of numbers.
    #[test]
    fn aarch64_is_listed() {
        let words = [0xa9bf_7bfd_u32, 0x4e22_cc20, 0x6ea2_e420, 0x4c40_0800, 0x5400_0061, 0x17ff_fffe, 0xd65f_03c0, 0];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).chain([1, 2]).collect();
        let expected = "     0  fd7bbfa9                stp       x29, x30, [sp, #-0x10]!
     4  20cc224e                fmla      v0.4s, v1.4s, v2.4s
     8  20e4a26e                fcmgt     v0.4s, v1.4s, v2.4s
     c  0008404c                ld4       {v0.4s, v1.4s, v2.4s, v3.4s}, [x0]
    10  61000054                b.ne      $+0xc  ; 1c
    14  feffff17                b         $-0x8  ; c
    18  c0035fd6                ret
    1c  00000000                udf       #0x0
    20  0102                    .word     0x0201
";
        assert_eq!(listing(&code, &aarch64(&code), true), expected);
    }

    #[test]
    fn x86_64_is_listed() {
        let code = [0x55, 0xc4, 0xe2, 0x71, 0xb8, 0xc2, 0x75, 0xf8, 0xc3, 0x0f];
        let expected = "     0  push      rbp
     1  vfmadd231ps xmm0,xmm1,xmm2
     6  jne       short 0
     8  ret
     9  (bad)
";
        assert_eq!(listing(&code, &x86_64(&code), false), expected);
    }
}
