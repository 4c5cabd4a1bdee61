//! Tokens → instructions, for every stage.

use std::fmt;

use super::codes::Stage;
use super::custom_data::CustomData;
use super::declaration::Declaration;
use super::opcode::{Group, Opcode};
use super::operand::Operand;
use super::token::{Extended, OpcodeToken, TokenReader, opcode_token};
use crate::container::dxbc;
use crate::error::DecodeError;

/// A program's stage and shader model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// The stage it runs in.
    pub stage: Stage,
    /// Shader model, before the point: 4 or 5.
    pub major: u8,
    /// Shader model, after the point.
    pub minor: u8,
}

impl Version {
    fn decode(token: u32, offset: usize) -> Result<Self, DecodeError> {
        let reserved = token & 0xff00;
        if reserved != 0 {
            return Err(DecodeError::Invalid { what: "program version", value: token.into(), offset });
        }
        Self::new(token >> 16, (token >> 4 & 0xf) as u8, (token & 0xf) as u8, offset)
    }

    fn new(stage: u32, major: u8, minor: u8, offset: usize) -> Result<Self, DecodeError> {
        match (major, minor) {
            (4, 0 | 1) | (5, 0 | 1) => Ok(Version { stage: Stage::decode(stage, offset)?, major, minor }),
            _ => {
                let value = u64::from(major) << 4 | u64::from(minor);
                Err(DecodeError::Invalid { what: "shader model", value, offset })
            }
        }
    }

    /// Whether resources are declared as ranges in register spaces, as from shader model 5.1 on.
    pub const fn has_register_spaces(self) -> bool {
        self.major > 5 || self.major == 5 && self.minor >= 1
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_{}", self.stage.name(), self.major, self.minor)
    }
}

/// A decoded program.
///
/// ```
/// use shaderjit::frontend::sm4::{Body, Opcode, Program};
///
/// // vs_4_0: mov o0.xyzw, v0.xyzw; ret
/// let dwords = [0x0001_0040u32, 8, 0x0500_0036, 0x0010_20f2, 0, 0x0010_1e46, 0, 0x0100_003e];
/// let bytes: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
/// let program = Program::decode(&bytes, 0)?;
/// assert_eq!(program.instructions[0].opcode(), Opcode::Mov);
/// assert_eq!(program.to_string(), "vs_4_0\nmov o0.xyzw, v0.xyzw\nret \n");
/// # Ok::<(), shaderjit::error::DecodeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute byte offset of its version token.
    pub offset: usize,
    /// Stage and shader model.
    pub version: Version,
    /// Everything after the version, in order.
    pub instructions: Vec<Instruction>,
}

/// One instruction, declaration or block of custom data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Absolute byte offset of its opcode token.
    pub offset: usize,
    /// Opcode and controls.
    pub token: OpcodeToken,
    /// The rest.
    pub body: Body,
}

/// What follows an opcode token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// An instruction that runs.
    Operation(Operation),
    /// A declaration.
    Declaration(Declaration),
    /// A block of data.
    CustomData(Box<CustomData>),
}

/// What an instruction works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Texel offsets and the resource's type, if the instruction says them.
    pub extended: Option<Box<Extended>>,
    /// Operands in token order, as many as [`Opcode::slots`] says. `fcall` has a second one, an immediate: the number
    /// of the function in the interface's table.
    pub operands: Vec<Operand>,
    /// Dwords of no meaning behind the operands, which the instruction's length counts: zeros, or anything for the
    /// opcodes of [`Opcode::is_padded_with_anything`].
    pub padding: Box<[u32]>,
}

impl Instruction {
    /// Its opcode.
    pub fn opcode(&self) -> Opcode {
        self.token.opcode
    }

    /// The declaration, if it is one.
    pub fn declaration(&self) -> Option<&Declaration> {
        match &self.body {
            Body::Declaration(declaration) => Some(declaration),
            _ => None,
        }
    }

    /// Its operands; none for a declaration or custom data.
    pub fn operands(&self) -> &[Operand] {
        match &self.body {
            Body::Operation(operation) => &operation.operands,
            _ => &[],
        }
    }
}

/// Dwords before the first instruction: the version and the length.
const HEADER: usize = 2;

impl Program {
    /// Decodes the content of a `SHDR` or `SHEX` part that begins at the absolute byte offset `base_offset`. Bytes
    /// after the length that the program states are not read.
    ///
    /// # Errors
    /// The first token that the format does not allow, with its absolute byte offset. Nothing larger than a small
    /// multiple of the input is allocated.
    pub fn decode(tokens: &[u8], base_offset: usize) -> Result<Self, DecodeError> {
        let mut header = TokenReader::new(tokens, base_offset);
        let version = Version::decode(header.dword("program version")?, base_offset)?;
        let length_offset = header.offset();
        let length = header.dword("program length")?;
        let Some(body) = (length as usize).checked_sub(HEADER) else {
            return Err(DecodeError::Invalid { what: "program length", value: length.into(), offset: length_offset });
        };
        if body > header.remaining() {
            return Err(DecodeError::Truncated { what: "program", offset: base_offset });
        }
        Self::decode_body(version, base_offset, header.split(body, "program")?)
    }

    /// Decodes a program that the container stage has found.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn from_container(program: &dxbc::Program<'_>) -> Result<Self, DecodeError> {
        let version = Version::new(program.kind as u32, program.major, program.minor, program.offset)?;
        Self::decode_body(version, program.offset, TokenReader::new(program.tokens, program.tokens_offset()))
    }

    fn decode_body(version: Version, offset: usize, mut reader: TokenReader) -> Result<Self, DecodeError> {
        let mut instructions = Vec::with_capacity(count_instructions(reader.clone()));
        while reader.remaining() != 0 {
            instructions.push(Instruction::decode(&mut reader, version)?);
        }
        Ok(Program { offset, version, instructions })
    }
}

/// How many instructions there are up to the first malformed length, so that they are stored without spare room.
fn count_instructions(mut reader: TokenReader) -> usize {
    let mut count = 0;
    while reader.remaining() != 0 && instruction(&mut reader).is_ok() {
        count += 1;
    }
    count
}

/// The opcode token of the next instruction and a reader of the dwords after it, to its end.
fn instruction<'a>(reader: &mut TokenReader<'a>) -> Result<(OpcodeToken, TokenReader<'a>), DecodeError> {
    let offset = reader.offset();
    let mut header = reader.clone();
    let token = OpcodeToken::decode(header.dword("opcode token")?, offset)?;
    let (length, least) = match token.opcode {
        Opcode::CustomData => (header.dword("length of custom data")?, 2),
        _ => (token.length(), 1),
    };
    if length < least {
        return Err(DecodeError::Invalid { what: "instruction length", value: length.into(), offset });
    }
    let mut whole = reader.split(length as usize, "instruction")?;
    whole.split(least as usize, "instruction")?;
    Ok((token, whole))
}

impl Instruction {
    fn decode(reader: &mut TokenReader, version: Version) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        let (token, mut rest) = instruction(reader)?;
        let body = match token.opcode.group() {
            Group::CustomData => Body::CustomData(Box::new(CustomData::decode(
                opcode_token::CUSTOM_DATA_CLASS.get(token.bits),
                &mut rest,
            )?)),
            group => {
                let extended = Extended::decode(token, &mut rest)?;
                match group {
                    Group::Declaration if extended.is_some() => {
                        let (what, value) = ("extended opcode token of a declaration", token.bits.into());
                        return Err(DecodeError::Invalid { what, value, offset });
                    }
                    Group::Declaration => Body::Declaration(Declaration::decode(token, offset, &mut rest, version)?),
                    _ => {
                        let operands = operands(token.opcode, &mut rest)?;
                        let padding = padding(token.opcode, &mut rest)?;
                        Body::Operation(Operation { extended, operands, padding })
                    }
                }
            }
        };
        match rest.remaining() {
            0 => Ok(Instruction { offset, token, body }),
            count => Err(DecodeError::TrailingTokens { what: token.opcode.mnemonic(), count, offset }),
        }
    }
}

/// What is left of the instruction, if that can be padding; else nothing, so that the caller finds tokens left over.
fn padding(opcode: Opcode, reader: &mut TokenReader) -> Result<Box<[u32]>, DecodeError> {
    let mut rest = reader.clone();
    let dwords = (0..rest.remaining()).map(|_| rest.dword("padding")).collect::<Result<Box<[u32]>, _>>()?;
    match opcode.is_padded_with_anything() || dwords.iter().all(|&dword| dword == 0) {
        true => {
            *reader = rest;
            Ok(dwords)
        }
        false => Ok(Box::default()),
    }
}

fn operands(opcode: Opcode, reader: &mut TokenReader) -> Result<Vec<Operand>, DecodeError> {
    if opcode == Opcode::InterfaceCall {
        // The number of the function precedes the interface, as a bare dword.
        let function = Operand::immediate(reader.dword("function of an interface call")?);
        return Ok(vec![Operand::decode(reader)?, function]);
    }
    let mut operands = Vec::with_capacity(opcode.slots().len());
    for _ in opcode.slots() {
        Operand::decode_behind(&mut operands, reader)?;
    }
    Ok(operands)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::testing::program;

    const RET: u32 = Opcode::Ret.number() | 1 << 24;

    /// The opcode with a length and nothing else.
    fn token(opcode: Opcode, length: u32) -> u32 {
        opcode.number() | length << 24
    }

    #[test]
    fn offsets_are_absolute() {
        let dwords = [0x0000_0040, 5, token(Opcode::Nop, 1), RET, token(Opcode::Break, 1), 0xdead_beef];
        let bytes: Vec<u8> = dwords.iter().flat_map(|dword: &u32| dword.to_le_bytes()).collect();
        let program = Program::decode(&bytes, 0x100).unwrap();
        assert_eq!(program.version, Version { stage: Stage::Pixel, major: 4, minor: 0 });
        assert_eq!(program.instructions.iter().map(|i| i.offset).collect::<Vec<_>>(), [0x108, 0x10c, 0x110]);
    }

    #[test]
    fn headers_are_checked() {
        let decode = |dwords: &[u32]| {
            Program::decode(&dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect::<Vec<_>>(), 0x10)
        };
        assert!(matches!(decode(&[]), Err(DecodeError::Truncated { what: "program version", offset: 0x10 })));
        assert!(matches!(decode(&[0x0001_0050]), Err(DecodeError::Truncated { what: "program length", .. })));
        assert!(matches!(decode(&[0x0001_0050, 1]), Err(DecodeError::Invalid { value: 1, offset: 0x14, .. })));
        assert!(matches!(decode(&[0x0001_0050, 3]), Err(DecodeError::Truncated { what: "program", offset: 0x10 })));
        assert!(matches!(decode(&[0x0001_0050, u32::MAX]), Err(DecodeError::Truncated { what: "program", .. })));
        assert!(matches!(decode(&[0x0006_0050, 2]), Err(DecodeError::Invalid { what: "stage", value: 6, .. })));
        for model in [0x00, 0x30, 0x42, 0x52, 0x60] {
            let result = decode(&[0x0001_0000 | model, 2]);
            assert!(matches!(result, Err(DecodeError::Invalid { what: "shader model", .. })));
        }
        assert!(matches!(decode(&[0x0001_0150, 2]), Err(DecodeError::Invalid { what: "program version", .. })));
        assert!(decode(&[0x0001_0051, 2]).unwrap().instructions.is_empty());
    }

    #[test]
    fn an_instruction_is_as_long_as_it_says() {
        let mov = |length| [token(Opcode::Mov, length), 0x0010_00f2, 0, 0x0010_0e46, 1, RET];
        assert_eq!(program(&mov(5)).unwrap().instructions.len(), 2);
        assert_eq!(program(&mov(6)), Err(DecodeError::TrailingTokens { what: "mov", count: 1, offset: 8 }));
        assert_eq!(program(&mov(4)), Err(DecodeError::Truncated { what: "index", offset: 0x18 }));
        assert_eq!(program(&mov(0)), Err(DecodeError::Invalid { what: "instruction length", value: 0, offset: 8 }));
        assert_eq!(program(&mov(7)), Err(DecodeError::Truncated { what: "instruction", offset: 8 }));
    }

    #[test]
    fn padding_is_zeros_or_what_compilers_leave_there() {
        let operands = [0x0010_00f2, 0, 0x0010_0012, 1, 0x0010_1046, 0, 0x0010_7e46, 0, 0x0010_6000, 0, 0x4001, 0];
        let sample = |opcode, padding: &[u32]| {
            let length = 1 + operands.len() + padding.len();
            program(&[&[token(opcode, length as u32)], &operands[..], padding].concat())
        };
        let accepted = [
            (Opcode::SampleLS, &[][..]),
            (Opcode::SampleLS, &[0]),
            (Opcode::SampleLS, &[0, 0]),
            (Opcode::SampleCLzS, &[7]),
            (Opcode::SampleCLzS, &[0, 7]),
        ];
        for (opcode, padding) in accepted {
            let program = sample(opcode, padding).unwrap();
            let Body::Operation(operation) = &program.instructions[0].body else { panic!("{program}") };
            assert_eq!(*operation.padding, *padding);
        }
        assert!(matches!(sample(Opcode::SampleLS, &[7]), Err(DecodeError::TrailingTokens { count: 1, .. })));
        assert!(matches!(sample(Opcode::SampleLS, &[0, 7]), Err(DecodeError::TrailingTokens { count: 2, .. })));
        // A declaration has none.
        let temps =
            |padding: &[u32]| program(&[&[token(Opcode::DclTemps, 2 + padding.len() as u32), 4], padding].concat());
        assert!(temps(&[]).is_ok());
        assert!(matches!(temps(&[0]), Err(DecodeError::TrailingTokens { count: 1, .. })));
    }

    #[test]
    fn every_operation_takes_the_operands_of_its_slots() {
        for &opcode in Opcode::ALL {
            let is_operation = !matches!(opcode.group(), Group::Declaration | Group::CustomData);
            if !is_operation || opcode == Opcode::InterfaceCall {
                continue;
            }
            let count = opcode.slots().len();
            let tokens: Vec<u32> = [token(opcode, 1 + 2 * count as u32)]
                .into_iter()
                .chain((0..count as u32).flat_map(|register| [0x0010_00f2, register]))
                .collect();
            let program = program(&tokens).unwrap_or_else(|error| panic!("{opcode}: {error}"));
            assert_eq!(program.instructions[0].operands().len(), count, "{opcode}");
        }
    }

    #[test]
    fn an_interface_call_names_its_function() {
        let tokens = [token(Opcode::InterfaceCall, 5), 9, 0x0021_3000, 4, 2];
        let program = program(&tokens).unwrap();
        assert_eq!(program.to_string(), "vs_5_0\nfcall fp4[2][9]\n");
    }

    #[test]
    fn instructions_stay_small() {
        // What a program may cost in memory, for each of its bytes, follows from this: an instruction has at least
        // four.
        assert!(size_of::<Instruction>() <= 64, "{}", size_of::<Instruction>());
    }

    #[test]
    fn any_bytes_decode_or_are_refused() {
        arbtest::arbtest(|u| {
            let length = u.int_in_range(0..=200)?;
            let mut dwords = vec![u32::from(u.int_in_range(0..=6u16)?) << 16 | 0x40 | u.int_in_range(0..=0x11)?, 0];
            for _ in 0..length {
                // Mostly opcode tokens and operand tokens with plausible fields, so that decoding gets far.
                dwords.push(match u.int_in_range(0..=7)? {
                    0..=2 => u.int_in_range(0..=235)? | u.int_in_range(0..=12)? << 24,
                    3..=5 => 0x0010_0002 | u.int_in_range(0..=43)? << 12 | u.arbitrary::<u32>()? & 0xf1c0_0ffc,
                    6 => u.int_in_range(0..=8)?,
                    _ => u.arbitrary()?,
                });
            }
            dwords[1] = dwords.len() as u32;
            let bytes: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
            let end = 0x40 + bytes.len();
            match Program::decode(&bytes, 0x40) {
                Ok(program) => {
                    assert!(program.instructions.len() <= bytes.len() / 4);
                    assert_eq!(program.encode(), dwords);
                    let listing = program.to_string();
                    assert!(listing.starts_with(&program.version.to_string()));
                }
                Err(
                    DecodeError::Truncated { offset, .. }
                    | DecodeError::Invalid { offset, .. }
                    | DecodeError::Limit { offset, .. }
                    | DecodeError::TrailingTokens { offset, .. },
                ) => assert!((0x40..=end).contains(&offset)),
            }
            Ok(())
        });
    }
}
