//! A module as text: what `spirv-dis` prints, with friendly names.
//!
//! Which operands an opcode has and what they are called comes from `rspirv`'s grammar, through its parser. That one
//! ends in a panic on some modules, and looks through its table from the beginning for each instruction, so it is not
//! what lowering reads with: here [`Module::decode`] has found every instruction whole before, and what the parser
//! cannot stand is refused.

use std::fmt::Write;

use foldhash::HashSet;
use rspirv::binary::{Consumer, Disassemble, ParseAction, parse_words};
use rspirv::dr::{self, Operand};
use rspirv::grammar::GLSL_STD_450_INSTRUCTION_TABLE;
use spirv::Op;

use super::decode::Module;
use super::names::{Names, Number};
use super::opcode::{Class, class};
use crate::error::DecodeError;
use crate::printable::Printable;

/// The column that instructions begin in, behind what they define.
const COLUMN: usize = 15;

/// The instructions of a module as text.
///
/// ```
/// use shaderjit::frontend::spirv::{Listing, Module};
///
/// let words = [0x0723_0203, 0x0001_0000, 0, 2, 0, 0x0002_0011, 1, 0x0002_0013, 1];
/// let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
/// let text = Listing::new(&Module::decode(&bytes, 0)?)?.text(false, false);
/// assert!(text.ends_with("               OpCapability Shader\n       %void = OpTypeVoid\n"));
/// # Ok::<(), shaderjit::error::DecodeError>(())
/// ```
pub struct Listing<'m> {
    module: &'m Module,
    instructions: Vec<dr::Instruction>,
    names: Names,
    /// Ids of sets that are GLSL.std.450.
    glsl: HashSet<u32>,
}

/// Takes what the parser gives.
#[derive(Default)]
struct Instructions(Vec<dr::Instruction>);

impl Consumer for Instructions {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, _: dr::ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, instruction: dr::Instruction) -> ParseAction {
        self.0.push(instruction);
        ParseAction::Continue
    }
}

impl<'m> Listing<'m> {
    /// Reads the operands of all instructions.
    ///
    /// # Errors
    /// An instruction has an opcode that nobody knows, or operands that it cannot have.
    pub fn new(module: &'m Module) -> Result<Listing<'m>, DecodeError> {
        for instruction in module.instructions() {
            // The parser goes round in circles in operations on constants that are constants themselves.
            if instruction.opcode() == Some(Op::SpecConstantOp) {
                let inner = instruction.operands().get(2).and_then(|&opcode| Op::from_u32(opcode));
                let folds = |class| matches!(class, Class::Each | Class::Composite | Class::Memory | Class::Matrix);
                if !inner.and_then(class).is_some_and(folds) {
                    let (what, value) = ("operation on constants", inner.map_or(0, |opcode| opcode as u64));
                    return Err(DecodeError::Invalid { what, value, offset: instruction.offset });
                }
            }
        }
        let mut read = Instructions::default();
        if parse_words(module.words(), &mut read).is_err() {
            let instruction = module.get(read.0.len());
            let (value, offset) = instruction.map_or((0, module.offset), |i| (i.number().into(), i.offset));
            return Err(DecodeError::Invalid { what: "operands of opcode", value, offset });
        }
        let names = Names::new(&read.0);
        let imports = read.0.iter().filter(|import| import.class.opcode == Op::ExtInstImport);
        let is_glsl = |import: &&dr::Instruction| matches!(&import.operands[..], [Operand::LiteralString(name)] if name == "GLSL.std.450");
        let glsl = imports.filter(is_glsl).filter_map(|import| import.result_id).collect();
        Ok(Listing { module, instructions: read.0, names, glsl })
    }

    /// The text. `offsets` puts the byte offset in front of each instruction, `raw` its words below it.
    pub fn text(&self, offsets: bool, raw: bool) -> String {
        let (major, minor) = self.module.version();
        let generator = self.module.generator();
        let mut text = format!("; SPIR-V\n; Version: {major}.{minor}\n; Generator: {}\n", tool(generator));
        let _ = write!(text, "; Bound: {}\n; Schema: {}\n", self.module.bound(), self.module.schema());
        for (read, parsed) in self.module.instructions().zip(&self.instructions) {
            if offsets {
                let _ = write!(text, "{:#010x}: ", read.offset);
            }
            let result = parsed.result_id.map_or(String::new(), |id| format!("%{} = ", self.names.of(id)));
            let _ = write!(text, "{result:>width$}Op{}", parsed.class.opname, width = COLUMN);
            if let Some(ty) = parsed.result_type {
                let _ = write!(text, " %{}", self.names.of(ty));
            }
            self.operands(parsed, &mut text);
            text.push('\n');
            if raw {
                let words: Vec<String> =
                    [read.first()].iter().chain(read.operands()).map(|word| format!("{word:08x}")).collect();
                let _ = writeln!(text, "{:COLUMN$}; {}", "", words.join(" "));
            }
        }
        text
    }

    fn operands(&self, instruction: &dr::Instruction, text: &mut String) {
        let opcode = instruction.class.opcode;
        let number = match opcode {
            Op::Constant | Op::SpecConstant => instruction.result_type.and_then(|ty| self.names.number(ty)),
            Op::Switch => match instruction.operands.first() {
                Some(Operand::IdRef(selector)) => self.names.number_of_value(*selector),
                _ => None,
            },
            _ => None,
        };
        for operand in &instruction.operands {
            text.push(' ');
            match (operand, number) {
                (Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id), _) => {
                    let _ = write!(text, "%{}", self.names.of(*id));
                }
                (Operand::LiteralString(string), _) => {
                    let escaped = string.replace('\\', "\\\\").replace('"', "\\\"");
                    let _ = write!(text, "\"{}\"", Printable(&escaped));
                }
                (Operand::LiteralBit32(_) | Operand::LiteralBit64(_), Some(number)) => {
                    text.push_str(&literal(operand, number))
                }
                (Operand::LiteralExtInstInteger(number), _) => {
                    let known = GLSL_STD_450_INSTRUCTION_TABLE.lookup_opcode(*number);
                    match known.filter(|_| self.is_glsl(instruction)) {
                        Some(known) => text.push_str(known.opname),
                        None => text.push_str(&number.to_string()),
                    }
                }
                _ => text.push_str(&operand.disassemble()),
            }
        }
    }

    /// Whether an extended instruction is one of GLSL.std.450.
    fn is_glsl(&self, instruction: &dr::Instruction) -> bool {
        matches!(instruction.operands.first(), Some(Operand::IdRef(set)) if self.glsl.contains(set))
    }
}

/// A constant as `spirv-dis` prints it, which reads back as the same bits.
pub(super) fn literal(operand: &Operand, number: Number) -> String {
    let bits = match *operand {
        Operand::LiteralBit32(bits) => u64::from(bits),
        Operand::LiteralBit64(bits) => bits,
        _ => return operand.to_string(),
    };
    match number {
        Number { is_float: false, signed: false, .. } => bits.to_string(),
        Number { is_float: false, width: 64, .. } => (bits as i64).to_string(),
        // Narrow ones are extended by their sign.
        Number { is_float: false, .. } => (bits as u32 as i32).to_string(),
        Number { width: 64, .. } => match f64::from_bits(bits) {
            float if float.is_normal() || float == 0.0 => shortest(float, 17),
            _ => hexadecimal(bits, 11, 52),
        },
        Number { width: 32, .. } => match f32::from_bits(bits as u32) {
            float if float.is_normal() || float == 0.0 => shortest(float.into(), 9),
            _ => hexadecimal(bits, 8, 23),
        },
        _ => hexadecimal(bits, 5, 10),
    }
}

/// A float with so many significant digits, as C's `%g` prints it.
fn shortest(float: f64, digits: usize) -> String {
    if float == 0.0 {
        return if float.is_sign_negative() { "-0" } else { "0" }.to_string();
    }
    let scientific = format!("{float:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("the form has an exponent");
    let exponent: i32 = exponent.parse().expect("it is a number");
    let trimmed = |number: &str| match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => number.to_string(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    trimmed(&format!("{float:.*}", (digits as i32 - 1 - exponent) as usize))
}

/// A float's bits as a hexadecimal float, denormal and infinite ones and NaNs among them.
fn hexadecimal(bits: u64, exponent_bits: u32, mantissa_bits: u32) -> String {
    let field = (1u64 << exponent_bits) - 1;
    let bias = (field >> 1) as i64;
    let (mut mantissa, exponent) = (bits & ((1 << mantissa_bits) - 1), bits >> mantissa_bits & field);
    let sign = if bits >> (mantissa_bits + exponent_bits) & 1 != 0 { "-" } else { "" };
    if mantissa == 0 && exponent == 0 {
        return format!("{sign}0x0p+0");
    }
    let mut power = exponent as i64 - bias;
    if exponent == 0 {
        // A denormal: its first bit is the one in front of the point.
        power += 1;
        while mantissa >> mantissa_bits == 0 {
            mantissa <<= 1;
            power -= 1;
        }
        mantissa &= (1 << mantissa_bits) - 1;
    }
    let digits = mantissa_bits.div_ceil(4);
    let fraction = format!("{:0width$x}", mantissa << (4 * digits - mantissa_bits), width = digits as usize);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}0x1{point}{fraction}p{power:+}")
}

/// What a generator's number says.
fn tool(generator: u32) -> String {
    let (tool, version) = (generator >> 16, generator & 0xffff);
    // Those of Khronos's registry whose modules are read here.
    let name = match tool {
        0 => "Khronos",
        6 => "Khronos LLVM/SPIR-V Translator",
        7 => "Khronos SPIR-V Tools Assembler",
        8 => "Khronos Glslang Reference Front End",
        13 => "Google Shaderc over Glslang",
        14 => "Google spiregg",
        15 => "Google rspirv",
        18 => "Wine VKD3D Shader Compiler",
        _ => return format!("Unknown({tool}); {version}"),
    };
    format!("{name}; {version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_nine_digits_or_a_hexadecimal_form() {
        let number = |width| Number { width, is_float: true, signed: true };
        let text = |float: f32| literal(&Operand::LiteralBit32(float.to_bits()), number(32));
        let cases = [(0.01, "0.00999999978"), (4_294_967_295.0, "4.2949673e+09"), (1.0, "1"), (-2.5, "-2.5")];
        for (float, expected) in cases {
            assert_eq!(text(float), expected);
        }
        assert_eq!((text(f32::INFINITY), text(-0.0)), ("0x1p+128".to_string(), "-0".to_string()));
        assert_eq!(text(f32::from_bits(1)), "0x1p-149");
        assert_eq!(literal(&Operand::LiteralBit32(0x3c01), number(16)), "0x1.004p+0");
        assert_eq!(literal(&Operand::LiteralBit64(0.1f64.to_bits()), number(64)), "0.10000000000000001");
    }
}
