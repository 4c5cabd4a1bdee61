//! Tokens → instructions.
//!
//! ```text
//! version        11111111 SSSSSSSS MMMMMMMM NNNNNNNN    S stage, M and N shader model
//! instruction    000 P LLLL CCCCCCCC OOOOOOOOOOOOOOOO   P predicated, L tokens that follow, C controls, O opcode
//! comment        0 LLLLLLLLLLLLLLL 1111111111111110     L tokens that follow
//! end            0000000000000000 1111111111111111
//! ```

use std::fmt;

use super::RegisterFile;
use super::codes::{Comparison, SamplerType, Stage, TextureLoad, Usage};
use super::opcode::{Controls, InstructionSlots, Model, Opcode, Slot};
use super::operand::{Operand, Role, operand_token};
use crate::container::dxbc::Level9Program;
use crate::error::DecodeError;
use crate::frontend::token::{Field, TokenReader};

/// A program's stage and shader model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// The stage it runs in.
    pub stage: Stage,
    /// Shader model, before the point: 2 or 3.
    pub major: u8,
    /// Shader model, after the point: 0; 1 for 2.x; 255 for what only software runs.
    pub minor: u8,
}

impl Version {
    /// The uppermost byte of every version token.
    const MAGIC: u8 = 0xff;

    /// Splits the first token of a program, which lies at `offset`.
    fn decode(token: u32, offset: usize) -> Result<Self, DecodeError> {
        let [minor, major, stage, magic] = token.to_le_bytes();
        if magic != Self::MAGIC {
            return Err(DecodeError::Invalid { what: "program version", value: token.into(), offset });
        }
        let stage = Stage::decode(stage.into(), offset)?;
        match (major, minor) {
            (2, 0 | 1 | 255) | (3, 0 | 255) => Ok(Version { stage, major, minor }),
            _ => Err(DecodeError::Invalid { what: "shader model", value: (token & 0xffff).into(), offset }),
        }
    }

    /// The version of a program that the container stage has found, whose other tokens are not looked at.
    ///
    /// # Errors
    /// The program has no token, or the first one is of no version from 2.0 to 3.0.
    pub fn from_container(program: &Level9Program<'_>) -> Result<Self, DecodeError> {
        let mut reader = TokenReader::new(program.tokens, program.tokens_offset);
        Self::decode(reader.dword("program version")?, program.tokens_offset)
    }

    pub(super) fn encode(self) -> u32 {
        u32::from_le_bytes([self.minor, self.major, self.stage as u8, Self::MAGIC])
    }

    /// Where it stands among those that introduce opcodes.
    const fn model(self) -> Model {
        match (self.major, self.minor) {
            (2, 0) => Model::M20,
            (2, _) => Model::M2x,
            _ => Model::M30,
        }
    }
}

/// The profile, such as `vs_2_x`.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minor = match self.minor {
            0 => "0",
            255 => "sw",
            _ => "x",
        };
        write!(f, "{}_{}_{minor}", self.stage.name(), self.major)
    }
}

/// A decoded program.
///
/// ```
/// use shaderjit::frontend::d3d9::{Opcode, Program};
///
/// // vs_2_0: dcl_texcoord v0; mov oPos, v0
/// let dwords = [0xfffe_0200u32, 0x0200_001f, 0x8000_0005, 0x900f_0000, 0x0200_0001, 0xc00f_0000, 0x90e4_0000, 0xffff];
/// let bytes: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
/// let program = Program::decode(&bytes, 0)?;
/// assert_eq!(program.instructions[1].opcode(), Some(Opcode::Mov));
/// assert_eq!(program.to_string(), "vs_2_0\ndcl_texcoord v0\nmov oPos, v0\n");
/// # Ok::<(), shaderjit::error::DecodeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute byte offset of its version token.
    pub offset: usize,
    /// Stage and shader model.
    pub version: Version,
    /// Everything between the version and the end, in order.
    pub instructions: Vec<Instruction>,
}

/// One instruction, declaration or comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Absolute byte offset of its first token.
    pub offset: usize,
    /// Its first token. Bits that mean nothing are kept.
    pub(super) token: u32,
    /// What follows it.
    pub body: Body,
}

/// What an instruction token introduces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// An instruction that runs.
    Operation(Operation),
    /// What a register is for.
    Declaration(Declaration),
    /// The value of a constant register: four words, or one for a truth value.
    Constant {
        /// What gives it: `def`, `defi` or `defb`.
        opcode: Opcode,
        /// The register.
        register: Operand,
        /// The value; only the first word of a truth value counts.
        words: [u32; 4],
    },
    /// Words for tools, the first of which often is a name: `CTAB` is a constant table, `DBUG` debug information.
    Comment(Box<[u32]>),
}

/// What an instruction does, to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The opcode.
    pub opcode: Opcode,
    /// The components for which it happens, if not for all.
    pub predicate: Option<Operand>,
    /// Operands in token order, the predicate apart, as many as [`Opcode::slots`] says.
    pub operands: Vec<Operand>,
}

/// What a register is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its fields hold known values.
    pub(super) token: u32,
    /// The register.
    pub register: Operand,
}

/// Fields of a declaration's own token.
mod declaration_token {
    use super::Field;

    pub const USAGE: Field = Field::new(0, 5);
    pub const USAGE_INDEX: Field = Field::new(16, 4);
    pub const SAMPLER_TYPE: Field = Field::new(27, 4);
}

impl Declaration {
    /// What an input or output is for.
    pub fn usage(&self) -> Usage {
        Usage::from_number(declaration_token::USAGE.get(self.token)).expect("decoding has checked it")
    }

    /// The number of the usage, such as 1 of `texcoord1`.
    pub fn usage_index(&self) -> u32 {
        declaration_token::USAGE_INDEX.get(self.token)
    }

    /// The shape of the texture that a sampler reads, if it declares a sampler.
    pub fn sampler_type(&self) -> Option<SamplerType> {
        let number = declaration_token::SAMPLER_TYPE.get(self.token);
        let sampler = self.register.file() == RegisterFile::Sampler;
        sampler.then(|| SamplerType::from_number(number).expect("decoding has checked it"))
    }

    fn decode(reader: &mut TokenReader, version: Version) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        let token = reader.dword("declaration")?;
        if !operand_token::OPERAND.is_set(token) {
            return Err(DecodeError::Invalid { what: "declaration token", value: token.into(), offset });
        }
        let register = Operand::decode(reader, version, Role::Destination)?;
        match register.file() {
            RegisterFile::Sampler => {
                _ = SamplerType::decode(declaration_token::SAMPLER_TYPE.get(token), offset)?;
            }
            _ => _ = Usage::decode(declaration_token::USAGE.get(token), offset)?,
        }
        Ok(Declaration { token, register })
    }
}

/// Fields of the instruction token.
pub(super) mod instruction_token {
    use super::Field;

    pub const OPCODE: Field = Field::new(0, 16);
    pub const CONTROLS: Field = Field::new(16, 8);
    pub const LENGTH: Field = Field::new(24, 4);
    pub const PREDICATED: Field = Field::new(28, 1);
    /// Of a comment, which has nothing else.
    pub const COMMENT_LENGTH: Field = Field::new(16, 15);

    /// In place of an opcode: the token begins a comment.
    pub const COMMENT: u32 = 0xfffe;
    /// The whole token that ends a program.
    pub const END: u32 = 0xffff;
}

impl Instruction {
    /// Its opcode; a comment has none.
    pub fn opcode(&self) -> Option<Opcode> {
        match &self.body {
            Body::Operation(operation) => Some(operation.opcode),
            Body::Declaration(_) => Some(Opcode::Dcl),
            Body::Constant { opcode, .. } => Some(*opcode),
            Body::Comment(_) => None,
        }
    }

    /// How the operands are compared, if they are.
    pub fn comparison(&self) -> Option<Comparison> {
        let number = instruction_token::CONTROLS.get(self.token);
        let compares = self.opcode().is_some_and(|opcode| opcode.controls() == Controls::Comparison);
        compares.then(|| Comparison::from_number(number).expect("decoding has checked it"))
    }

    /// What a texture load does with the fourth coordinate, if it is one.
    pub fn texture_load(&self) -> Option<TextureLoad> {
        let number = instruction_token::CONTROLS.get(self.token);
        let loads = self.opcode().is_some_and(|opcode| opcode.controls() == Controls::TextureLoad);
        loads.then(|| TextureLoad::from_number(number).expect("decoding has checked it"))
    }

    fn decode(reader: &mut TokenReader, version: Version) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        let token = reader.dword("instruction token")?;
        let invalid = |what, value: u32| DecodeError::Invalid { what, value: value.into(), offset };
        let number = instruction_token::OPCODE.get(token);
        if operand_token::OPERAND.is_set(token) {
            return Err(invalid("instruction token", token));
        }
        if number == instruction_token::COMMENT {
            let length = instruction_token::COMMENT_LENGTH.get(token) as usize;
            let mut words = reader.split(length, "comment")?;
            let words = (0..length).map(|_| words.dword("comment")).collect::<Result<_, _>>()?;
            return Ok(Instruction { offset, token, body: Body::Comment(words) });
        }
        let opcode = Opcode::from_number(number).ok_or_else(|| invalid("opcode", number))?;
        if opcode.introduced(version.stage) > version.model() {
            return Err(invalid("opcode of another shader model", number));
        }
        let controls = instruction_token::CONTROLS.get(token);
        match opcode.controls() {
            Controls::None => {}
            Controls::Comparison => _ = Comparison::decode(controls, offset)?,
            Controls::TextureLoad => _ = TextureLoad::decode(controls, offset)?,
        }
        let mut rest = reader.split(instruction_token::LENGTH.get(token) as usize, "instruction")?;
        let predicated = instruction_token::PREDICATED.is_set(token);
        let body = match opcode.slots(version) {
            _ if !predicated && opcode == Opcode::Dcl => Body::Declaration(Declaration::decode(&mut rest, version)?),
            [Slot::Destination, values @ ..] if matches!(values, [Slot::Float | Slot::Int | Slot::Bool, ..]) => {
                if predicated {
                    return Err(invalid("predicated declaration", token));
                }
                let register = Operand::decode(&mut rest, version, Role::Destination)?;
                let mut words = [0; 4];
                for word in &mut words[..values.len()] {
                    *word = rest.dword("value of a constant")?;
                }
                Body::Constant { opcode, register, words }
            }
            [Slot::Declared, ..] => return Err(invalid("predicated declaration", token)),
            slots => Body::Operation(Operation::decode(opcode, slots, predicated, &mut rest, version)?),
        };
        match rest.remaining() {
            0 => Ok(Instruction { offset, token, body }),
            count => Err(DecodeError::TrailingTokens { what: opcode.mnemonic(), count, offset }),
        }
    }
}

impl Operation {
    /// The operand that says which components of which register are written. That of `texkill` is read.
    pub fn destination(&self) -> Option<&Operand> {
        self.operands.first().filter(|_| self.opcode.has_destination())
    }

    /// The operands that are read, the predicate apart.
    pub fn sources(&self) -> &[Operand] {
        &self.operands[usize::from(self.opcode.has_destination())..]
    }

    fn decode(
        opcode: Opcode,
        slots: &[Slot],
        predicated: bool,
        reader: &mut TokenReader,
        version: Version,
    ) -> Result<Self, DecodeError> {
        let mut operands = Vec::with_capacity(slots.len());
        if opcode.has_destination() {
            operands.push(Operand::decode(reader, version, Role::Destination)?);
        }
        // A predicate stands between the destination, if there is one, and the sources.
        let offset = reader.offset();
        let predicate = predicated.then(|| Operand::decode(reader, version, Role::Source)).transpose()?;
        if let Some(file) = predicate.map(|predicate| predicate.file()).filter(|&file| file != RegisterFile::Predicate)
        {
            let value = file.number().into();
            return Err(DecodeError::Invalid { what: "register file of a predicate", value, offset });
        }
        while operands.len() < slots.len() {
            operands.push(Operand::decode(reader, version, Role::Source)?);
        }
        Ok(Operation { opcode, predicate, operands })
    }
}

impl Program {
    /// Decodes tokens, the first of which lies at the absolute byte offset `base_offset`. What follows the end token is
    /// not read.
    ///
    /// # Errors
    /// The first token that the format does not allow, with its absolute byte offset. Nothing larger than a small
    /// multiple of the input is allocated.
    pub fn decode(tokens: &[u8], base_offset: usize) -> Result<Self, DecodeError> {
        let mut reader = TokenReader::new(tokens, base_offset);
        let version = Version::decode(reader.dword("program version")?, base_offset)?;
        let mut instructions = Vec::new();
        while reader.peek() != Some(instruction_token::END) {
            instructions.push(Instruction::decode(&mut reader, version)?);
        }
        Ok(Program { offset: base_offset, version, instructions })
    }

    /// Decodes a program that the container stage has found.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn from_container(program: &Level9Program<'_>) -> Result<Self, DecodeError> {
        Self::decode(program.tokens, program.tokens_offset)
    }

    /// The instruction slots it takes, as the reference disassembler counts them.
    pub fn instruction_slots(&self) -> InstructionSlots {
        let opcodes = self.instructions.iter().filter_map(Instruction::opcode);
        opcodes.map(Opcode::instruction_slots).fold(InstructionSlots::default(), |sum, slots| sum + slots)
    }
}
