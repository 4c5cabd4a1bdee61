//! The listing: what the reference disassembler prints for a program, without the margin and the count of slots around
//! it. Comments are not shown.

use std::fmt::{self, Display, Formatter};

use super::codes::{RegisterFile, Stage};
use super::decode::{Body, Declaration, Instruction, Operation, Program, Version};
use super::opcode::{Opcode, Slot};
use super::operand::Operand;
use crate::frontend::component::{Component, Mask, Swizzle};

/// Deeper nesting is not indented further, so that a hostile program cannot make the listing quadratic.
const MAX_INDENT: usize = 64;

impl Program {
    /// The instructions that the reference shows, each with the number of constructs it stands in and its text.
    pub fn lines(&self) -> impl Iterator<Item = (&Instruction, usize, impl Display + '_)> {
        let mut depth = 0usize;
        let opcodes = self.instructions.iter().filter_map(|instruction| Some((instruction, instruction.opcode()?)));
        opcodes.map(move |(instruction, opcode)| {
            if let Opcode::EndIf | Opcode::EndLoop | Opcode::EndRep = opcode {
                depth = depth.saturating_sub(1);
            }
            let level = depth.saturating_sub(usize::from(opcode == Opcode::Else)).min(MAX_INDENT);
            if let Opcode::If | Opcode::IfC | Opcode::Loop | Opcode::Rep = opcode {
                depth += 1;
            }
            (instruction, level, Line { version: self.version, instruction })
        })
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.version)?;
        for (_, level, line) in self.lines() {
            writeln!(f, "{:width$}{line}", "", width = 2 * level)?;
        }
        Ok(())
    }
}

/// One instruction of a program of a version.
struct Line<'a> {
    version: Version,
    instruction: &'a Instruction,
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.instruction.body {
            Body::Operation(operation) => self.operation(operation, f),
            Body::Declaration(declaration) => self.declaration(declaration, f),
            Body::Constant { opcode, register, words } => self.constant(*opcode, register, words, f),
            Body::Comment(_) => Ok(()),
        }
    }
}

impl Line<'_> {
    fn operation(&self, operation: &Operation, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(predicate) = &operation.predicate {
            write!(f, "({}) ", self.source(predicate))?;
        }
        f.write_str(operation.opcode.mnemonic())?;
        f.write_str(self.instruction.texture_load().map_or("", |load| load.name()))?;
        f.write_str(self.instruction.comparison().map_or("", |comparison| comparison.name()))?;
        let mut separator = " ";
        if let Some(destination) = operation.destination() {
            destination.result_modifiers().suffixes().try_for_each(|suffix| f.write_str(suffix))?;
            write!(f, " {}{}", self.register(destination), Written(destination.mask()))?;
            separator = ", ";
        }
        for source in operation.sources() {
            write!(f, "{separator}{}", self.source(source))?;
            separator = ", ";
        }
        Ok(())
    }

    fn declaration(&self, declaration: &Declaration, f: &mut Formatter<'_>) -> fmt::Result {
        let register = &declaration.register;
        f.write_str(Opcode::Dcl.mnemonic())?;
        // The inputs of pixel shaders are told apart by their registers up to version 2, as these two are later on.
        let by_register = self.version.stage == Stage::Pixel && self.version.major < 3
            || register.file() == RegisterFile::Miscellaneous;
        match declaration.sampler_type().map(|sampler| sampler.name()) {
            Some("") => {}
            Some(name) => write!(f, "_{name}")?,
            None if by_register => {}
            None => {
                write!(f, "_{}", declaration.usage().name())?;
                if declaration.usage_index() != 0 {
                    write!(f, "{}", declaration.usage_index())?;
                }
            }
        }
        register.result_modifiers().suffixes().try_for_each(|suffix| f.write_str(suffix))?;
        write!(f, " {}{}", self.register(register), Written(register.mask()))
    }

    fn constant(&self, opcode: Opcode, register: &Operand, words: &[u32], f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{opcode} {}", self.register(register))?;
        for (slot, &word) in opcode.slots(self.version)[1..].iter().zip(words) {
            match slot {
                Slot::Float => write!(f, ", {}", Float(word))?,
                Slot::Bool => write!(f, ", {}", word != 0)?,
                _ => write!(f, ", {}", word as i32)?,
            }
        }
        Ok(())
    }

    /// A register that is read, with its modifier and its components.
    fn source(&self, operand: &Operand) -> impl Display {
        let (register, swizzle) = (self.register(operand), Read(operand.swizzle()));
        let (before, behind) = operand.source_modifier().name().split_once('$').expect("the register stands in it");
        format!("{before}{register}{behind}{swizzle}")
    }

    /// The name of a register, its index included.
    fn register(&self, operand: &Operand) -> String {
        let (file, number) = (operand.file(), operand.number());
        let pixel = self.version.stage == Stage::Pixel;
        let name = match file {
            RegisterFile::AddressOrTexture if pixel => format!("t{number}"),
            RegisterFile::RasterizerOutput => ["oPos", "oFog", "oPts"][number as usize].to_string(),
            RegisterFile::Output if pixel || self.version.major < 3 => format!("oT{number}"),
            RegisterFile::PixelDepth | RegisterFile::Loop => file.name().to_string(),
            RegisterFile::Constant2 => format!("c{}", 2048 + number),
            RegisterFile::Constant3 => format!("c{}", 4096 + number),
            RegisterFile::Constant4 => format!("c{}", 6144 + number),
            RegisterFile::Miscellaneous => ["vPos", "vFace"][number as usize].to_string(),
            // There is one of them.
            RegisterFile::Predicate if number == 0 => "p0".to_string(),
            _ => format!("{}{number}", file.name()),
        };
        match operand.relative() {
            Some(relative) => format!("{name}[{}{}]", self.register(&relative), Read(relative.swizzle())),
            None => name,
        }
    }
}

/// A write mask: nothing if all components are written.
struct Written(Mask);

impl Display for Written {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Mask::ALL => Ok(()),
            // Such an instruction computes nothing, which should be seen.
            Mask::NONE => f.write_str("._"),
            mask => write!(f, ".{mask}"),
        }
    }
}

/// A swizzle: nothing for the identity, one letter if all components are the same.
struct Read(Swizzle);

impl Display for Read {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let first = self.0.get(Component::X);
        match self.0 {
            Swizzle::IDENTITY => Ok(()),
            swizzle if Component::ALL.iter().all(|&component| swizzle.get(component) == first) => {
                write!(f, ".{}", first.letter())
            }
            swizzle => write!(f, ".{swizzle}"),
        }
    }
}

/// Significant digits of a float, which tell any two of them apart.
const DIGITS: usize = 9;

/// A float as C's `%.9g` prints it in Microsoft's library: as few digits as there are, exponents of three digits at
/// least.
struct Float(u32);

impl Display for Float {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let value = f32::from_bits(self.0);
        let sign = if value.is_sign_negative() { "-" } else { "" };
        if value.is_nan() {
            return write!(f, "{sign}1.#QNAN");
        }
        if value.is_infinite() {
            return write!(f, "{sign}1.#INF");
        }
        let scientific = format!("{:.*e}", DIGITS - 1, value.abs());
        let (digits, exponent) = scientific.split_once('e').expect("so it is printed");
        let exponent: i32 = exponent.parse().expect("so it is printed");
        let trimmed = |digits: &str| digits.trim_end_matches('0').trim_end_matches('.').to_string();
        if (-4..DIGITS as i32).contains(&exponent) {
            let decimals = (DIGITS as i32 - 1 - exponent) as usize;
            let fixed = format!("{:.decimals$}", value.abs());
            return write!(f, "{sign}{}", if decimals == 0 { fixed } else { trimmed(&fixed) });
        }
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        write!(f, "{sign}{}e{exponent_sign}{:03}", trimmed(digits), exponent.abs())
    }
}
