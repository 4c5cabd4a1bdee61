//! `asm`: the native code as assembly.

use crate::options::{CompileArgs, ProgramArgs};
use crate::report::{Failure, Outcome, Report};
use crate::source::Source;
use iced_x86::{Decoder, DecoderOptions, Formatter, NasmFormatter, OpKind};
use shaderjit::{Backend, CompiledShader};
use std::collections::{BTreeMap, BTreeSet};
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
    /// Print above the code what it was made for: the source instruction and its byte offset
    #[arg(long)]
    source: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One machine instruction.
struct Instruction {
    length: usize,
    text: String,
    /// Where it branches to or loads from, if it says that by a distance.
    target: Option<usize>,
}

/// What stands above an instruction.
#[derive(Default)]
struct Notes {
    /// The names of what others branch to or load from, by its offset.
    labels: BTreeMap<usize, String>,
    /// What begins at an offset in the code.
    sources: BTreeMap<usize, String>,
}

pub fn run(args: &Args) -> Outcome {
    let (shader, code) = args.compile.compile(&args.shader, Backend::Jit)?;
    args.shader.require_native(&code)?;
    let source = args.source.then(|| Source::read(&shader, &args.shader)).transpose()?;
    Ok(Report::lines(&text(&code, source.as_ref(), args.bytes)?, args.json))
}

/// The code of a shader that has native code; with a source, what it was made for stands above it.
pub fn text(code: &CompiledShader, source: Option<&Source>, show_bytes: bool) -> Result<String, Failure> {
    let bytes = code.machine_code().expect("it was compiled for the JIT");
    // The machines that native code is made for.
    let instructions = if cfg!(target_arch = "aarch64") { aarch64(bytes) } else { x86_64(bytes) };
    let mut notes = Notes { labels: labels(&instructions), ..Notes::default() };
    if let Some(source) = source {
        for (at, origin) in code.origins()? {
            let text = origin.map_or("of no instruction".to_string(), |offset| source.comment(offset));
            notes.sources.insert(at as usize, text);
        }
    }
    Ok(listing(bytes, &instructions, &notes, show_bytes))
}

/// Names for what instructions branch to or load from, in the order of the offsets.
fn labels(instructions: &[Instruction]) -> BTreeMap<usize, String> {
    let targets: BTreeSet<usize> = instructions.iter().filter_map(|instruction| instruction.target).collect();
    targets.into_iter().zip(1..).map(|(target, number)| (target, format!("L{number}"))).collect()
}

/// Offset, bytes if asked for, instruction, and the label it names.
fn listing(code: &[u8], instructions: &[Instruction], notes: &Notes, show_bytes: bool) -> String {
    let mut out = String::new();
    let mut rest = code;
    for Instruction { length, text, target } in instructions {
        let offset = code.len() - rest.len();
        if let Some(label) = notes.labels.get(&offset) {
            let _ = writeln!(out, "{label}:");
        }
        if let Some(source) = notes.sources.get(&offset) {
            let _ = writeln!(out, "        ; {source}");
        }
        let _ = write!(out, "{offset:6x}  ");
        let bytes;
        (bytes, rest) = rest.split_at(*length);
        if show_bytes {
            let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = write!(out, "{bytes:<22}  ");
        }
        out.push_str(text);
        if let Some(label) = target.and_then(|target| notes.labels.get(&target)) {
            let _ = write!(out, "  ; {label}");
        }
        out.push('\n');
    }
    out
}

/// Constants lie behind all code, and instructions name them by their distance: the first of them ends the code.
fn x86_64(code: &[u8]) -> Vec<Instruction> {
    let mut formatter = NasmFormatter::new();
    formatter.options_mut().set_first_operand_char_index(10);
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let mut instructions = Vec::new();
    let mut constants = code.len();
    while decoder.position() < constants {
        let instruction = decoder.decode();
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let target =
            (instruction.op0_kind() == OpKind::NearBranch64).then(|| instruction.near_branch_target() as usize);
        if instruction.is_ip_rel_memory_operand() {
            // What it takes for a place in front of itself is no constant.
            let at = instruction.ip_rel_memory_address() as usize;
            constants = constants.min(at.max(decoder.position()));
        }
        instructions.push(Instruction { length: instruction.len(), text, target });
    }
    let rest = code.get(decoder.position()..).unwrap_or_default();
    instructions.extend(rest.chunks(4).map(|word| {
        let digits: String = word.iter().rev().map(|byte| format!("{byte:02X}")).collect();
        Instruction { length: word.len(), text: format!("dd        {digits}h"), target: None }
    }));
    instructions
}

fn aarch64(code: &[u8]) -> Vec<Instruction> {
    let decoder = InstDecoder::default();
    let decoded = |(number, word): (usize, &[u8])| {
        let Ok(instruction) = decoder.decode(&mut U8Reader::new(word)) else {
            let bytes: String = word.iter().rev().map(|byte| format!("{byte:02x}")).collect();
            return Instruction { length: word.len(), text: format!(".word     0x{bytes}"), target: None };
        };
        let text = instruction.to_string();
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
        let text = format!("{mnemonic:<10}{operands}").trim_end().to_string();
        let target = instruction.operands.iter().find_map(|operand| match operand {
            Operand::PCOffset(offset) => usize::try_from(number as i64 * 4 + offset).ok(),
            _ => None,
        });
        Instruction { length: word.len(), text, target }
    };
    code.chunks(4).enumerate().map(decoded).collect()
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
L1:
     c  0008404c                ld4       {v0.4s, v1.4s, v2.4s, v3.4s}, [x0]
    10  61000054                b.ne      $+0xc  ; L2
    14  feffff17                b         $-0x8  ; L1
    18  c0035fd6                ret
L2:
    1c  00000000                udf       #0x0
    20  0102                    .word     0x0201
";
        let instructions = aarch64(&code);
        let notes = Notes { labels: labels(&instructions), ..Notes::default() };
        assert_eq!(listing(&code, &instructions, &notes, true), expected);
    }

    #[test]
    fn constants_are_words() {
        let code = [0xc4, 0xe2, 0x7d, 0x18, 0x05, 1, 0, 0, 0, 0xc3, 0, 0, 0x80, 0x3f, 0xdb, 0x0f, 0x49, 0x40];
        let expected = "     0  vbroadcastss ymm0,[rel 0Ah]
     9  ret
     a  dd        3F800000h
     e  dd        40490FDBh
";
        assert_eq!(listing(&code, &x86_64(&code), &Notes::default(), false), expected);
    }

    #[test]
    fn x86_64_is_listed() {
        let code = [0x55, 0xc4, 0xe2, 0x71, 0xb8, 0xc2, 0x75, 0xf8, 0xc3, 0x0f];
        let expected = "L1:
     0  push      rbp
        ; 0x00000010: mad r0.x, r1.x, r2.x, r3.x
     1  vfmadd231ps xmm0,xmm1,xmm2
     6  jne       short 0  ; L1
        ; of no instruction
     8  ret
     9  (bad)
";
        let instructions = x86_64(&code);
        let sources = [(1, "0x00000010: mad r0.x, r1.x, r2.x, r3.x".to_string()), (8, "of no instruction".to_string())];
        let notes = Notes { labels: labels(&instructions), sources: sources.into() };
        assert_eq!(listing(&code, &instructions, &notes, false), expected);
    }
}
