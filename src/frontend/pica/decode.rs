//! Words → instructions. Every word decodes to something: what the hardware does not define is a value too, and is an
//! error only if the program can reach it.

use super::opcode::{Field, Opcode};
use super::operand::{
    Address, AddressRegister, BoolUniform, Comparison, Descriptor, DescriptorIndex, Destination, FlagTest, IntUniform,
    Source, Test,
};
use crate::container::limits;
use crate::error::DecodeError;

/// Words of program memory (geometry shaders; a vertex shader has 512 on hardware).
pub const MAX_WORDS: usize = limits::PICA_CODE_WORDS as usize;
/// Entries of the operand descriptor table.
pub const MAX_DESCRIPTORS: usize = limits::PICA_DESCRIPTORS as usize;

/// What an emulator's program memory, or the DVLP part of an SHBIN, holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
    descriptors: Vec<Descriptor>,
    offset: usize,
}

impl Program {
    /// The instruction at `address`, `None` past the end.
    pub fn get(&self, address: Address) -> Option<&Instruction> {
        self.instructions.get(usize::from(address.0))
    }

    /// All instructions, in order of address.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The address behind the last instruction.
    pub fn end(&self) -> Address {
        Address(self.instructions.len() as u16)
    }

    /// The descriptor `index`, `None` past the end of the table.
    pub fn descriptor(&self, index: DescriptorIndex) -> Option<Descriptor> {
        self.descriptors.get(usize::from(index.0)).copied()
    }

    /// Absolute byte offset of the word at `address`, for error messages.
    pub fn byte_offset(&self, address: Address) -> usize {
        self.offset.saturating_add(4 * usize::from(address.0))
    }
}

/// Decodes a whole program.
///
/// `descriptors` are the first words of the operand descriptor entries; `offset` is where the first word lies in the
/// file, 0 for bare program memory.
///
/// # Errors
///
/// [`DecodeError::Limit`] for more words or descriptors than the hardware has room for. No single word is an error.
pub fn decode(words: &[u32], descriptors: &[u32], offset: usize) -> Result<Program, DecodeError> {
    let limit = |what, len: usize, limit: usize| {
        if len <= limit {
            return Ok(());
        }
        Err(DecodeError::Limit { what, value: len as u64, limit: limit as u64, offset })
    };
    limit("number of program words", words.len(), MAX_WORDS)?;
    limit("number of operand descriptors", descriptors.len(), MAX_DESCRIPTORS)?;
    Ok(Program {
        instructions: words.iter().map(|&word| Instruction::decode(word)).collect(),
        descriptors: descriptors.iter().map(|&bits| Descriptor(bits)).collect(),
        offset,
    })
}

/// One decoded word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its opcode, `None` where the encoding is undefined.
    pub opcode: Option<Opcode>,
    /// What it does.
    pub effect: Effect,
    /// The bits of the word that say nothing, in place; where the encoding is undefined, the whole word.
    pub rest: u32,
}

/// What an instruction does, with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Computes a register. The opcode says how.
    Arithmetic {
        /// Where the result goes; `None` for MOVA, which writes `a0`.
        destination: Option<Destination>,
        /// The sources.
        sources: Sources,
        /// Swizzles, negations, mask.
        descriptor: DescriptorIndex,
    },
    /// CMP: sets the two flags.
    Compare {
        /// How `cmp.x` and `cmp.y` are found.
        comparisons: [Comparison; 2],
        /// The two sources.
        sources: Sources,
        /// Swizzles and negations.
        descriptor: DescriptorIndex,
    },
    /// NOP.
    Nop,
    /// END.
    End,
    /// BREAK and BREAKC.
    Break {
        /// The condition, if there is one.
        test: Option<Test>,
    },
    /// CALL, CALLC and CALLU.
    Call {
        /// The condition, if there is one.
        test: Option<Test>,
        /// First word of the procedure.
        target: Address,
        /// The word behind its last.
        end: Address,
    },
    /// IFC and IFU.
    If {
        /// The condition.
        test: Test,
        /// First word of the else part, or the word behind the `if` where there is none.
        otherwise: Address,
        /// The word behind the else part.
        end: Address,
    },
    /// LOOP.
    Loop {
        /// Number of further iterations, first value and increment of `aL`.
        uniform: IntUniform,
        /// Last word of the body.
        last: Address,
    },
    /// JMPC and JMPU.
    Jump {
        /// The condition.
        test: Test,
        /// Where to.
        target: Address,
    },
    /// EMIT.
    Emit,
    /// SETEMIT.
    SetEmit {
        /// Vertex slot, 0 to 3 (the hardware has 0 to 2).
        vertex: u8,
        /// The next vertex completes a primitive.
        primitive: bool,
        /// The primitive's winding is inverted.
        inverted: bool,
    },
    /// An encoding without a meaning.
    Undefined,
}

impl Effect {
    /// The sources of an instruction that has some.
    pub fn sources(&self) -> Option<&Sources> {
        match self {
            Effect::Arithmetic { sources, .. } | Effect::Compare { sources, .. } => Some(sources),
            _ => None,
        }
    }
}

/// Up to three sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources([Option<Source>; 3]);

impl Sources {
    /// The sources in order.
    pub fn iter(&self) -> impl Iterator<Item = Source> {
        self.0.into_iter().flatten()
    }

    /// Source `number` (0 to 2), if the instruction has so many.
    pub fn get(&self, number: usize) -> Option<Source> {
        self.0.get(number).copied().flatten()
    }
}

impl Instruction {
    /// Decodes one word. Total: a word that is no instruction is [`Effect::Undefined`].
    pub fn decode(word: u32) -> Instruction {
        let opcode = Opcode::of(word);
        let effect = opcode.map_or(Effect::Undefined, |opcode| Fields { opcode, word }.effect());
        let rest = opcode.map_or(word, |opcode| word & ignored(opcode, &effect));
        Instruction { opcode, effect, rest }
    }

    /// The opcode's mnemonic, or what an undefined word is called.
    pub fn mnemonic(&self) -> String {
        match self.opcode {
            Some(opcode) => opcode.mnemonic().to_owned(),
            None => format!("undefined opcode {:#04x}", self.rest >> 26),
        }
    }
}

/// The fields of one word.
struct Fields {
    opcode: Opcode,
    word: u32,
}

impl Fields {
    /// The field's value, 0 if the instruction lacks it.
    fn get(&self, field: Field) -> u32 {
        self.opcode.picture().get(field, self.word).unwrap_or(0)
    }

    fn effect(&self) -> Effect {
        match self.opcode {
            Opcode::Nop => Effect::Nop,
            Opcode::End => Effect::End,
            Opcode::Emit => Effect::Emit,
            Opcode::Setemit => Effect::SetEmit {
                vertex: self.get(Field::Vertex) as u8,
                primitive: self.get(Field::Primitive) != 0,
                inverted: self.get(Field::Winding) != 0,
            },
            Opcode::Break => Effect::Break { test: None },
            Opcode::Breakc => Effect::Break { test: Some(self.flags()) },
            Opcode::Call => self.call(None),
            Opcode::Callc => self.call(Some(self.flags())),
            Opcode::Callu => self.call(Some(self.bool())),
            Opcode::Ifc => Effect::If { test: self.flags(), otherwise: self.target(), end: self.end() },
            Opcode::Ifu => Effect::If { test: self.bool(), otherwise: self.target(), end: self.end() },
            Opcode::Loop => Effect::Loop { uniform: IntUniform(self.get(Field::Int) as u8), last: self.target() },
            Opcode::Jmpc => Effect::Jump { test: self.flags(), target: self.target() },
            Opcode::Jmpu => Effect::Jump { test: self.bool(), target: self.target() },
            Opcode::Cmp => Effect::Compare {
                comparisons: [Field::CompareX, Field::CompareY].map(|field| Comparison::of_field(self.get(field))),
                sources: self.sources(),
                descriptor: self.descriptor(),
            },
            _ => Effect::Arithmetic {
                destination: self.opcode.picture().get(Field::Destination, self.word).map(Destination::of_field),
                sources: self.sources(),
                descriptor: self.descriptor(),
            },
        }
    }

    fn sources(&self) -> Sources {
        let picture = self.opcode.picture();
        let index = AddressRegister::of_field(self.get(Field::Index));
        Sources(
            [Field::Source1, Field::Source2, Field::Source3]
                .map(|field| picture.get(field, self.word).map(|bits| Source::of_field(bits, index))),
        )
    }

    fn descriptor(&self) -> DescriptorIndex {
        DescriptorIndex(self.get(Field::Descriptor) as u8)
    }

    fn call(&self, test: Option<Test>) -> Effect {
        Effect::Call { test, target: self.target(), end: self.end() }
    }

    fn flags(&self) -> Test {
        Test::Flags(FlagTest::of_fields(
            self.get(Field::ReferenceX),
            self.get(Field::ReferenceY),
            self.get(Field::Combine),
        ))
    }

    fn bool(&self) -> Test {
        Test::Bool { uniform: BoolUniform(self.get(Field::Bool) as u8), value: self.get(Field::Invert) == 0 }
    }

    fn target(&self) -> Address {
        Address(self.get(Field::Target) as u16)
    }

    fn end(&self) -> Address {
        self.target().plus(self.get(Field::Count) as u16)
    }
}

/// The bits of a word that say nothing: those the hardware ignores, and the address register of a source that is no
/// uniform.
pub(super) fn ignored(opcode: Opcode, effect: &Effect) -> u32 {
    let picture = opcode.picture();
    let uniform = effect.sources().is_some_and(|sources| sources.iter().any(|s| matches!(s, Source::Uniform { .. })));
    if uniform { !picture.used() } else { !picture.used() | picture.bits(Field::Index) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::pica::operand::Combine;

    #[test]
    #[expect(clippy::unusual_byte_groupings, reason = "grouped by field")]
    fn arithmetic_formats() {
        // A zero word is `add o0, v0, v0`.
        let Effect::Arithmetic { destination, sources, descriptor } = Instruction::decode(0).effect else { panic!() };
        assert_eq!(destination, Some(Destination::Output(0)));
        assert_eq!(sources.iter().collect::<Vec<_>>(), [Source::Input(0), Source::Input(0)]);
        assert_eq!(descriptor, DescriptorIndex(0));

        // madi r1, r2, v3, c[aL+8], descriptor 5
        let word = 0b110_10001_11_10010_00011_0101000_00101;
        let Effect::Arithmetic { destination, sources, descriptor } = Instruction::decode(word).effect else {
            panic!()
        };
        assert_eq!(destination, Some(Destination::Temporary(1)));
        assert_eq!(sources.get(0), Some(Source::Temporary(2)));
        assert_eq!(sources.get(1), Some(Source::Input(3)));
        assert_eq!(sources.get(2), Some(Source::Uniform { base: 8, relative: Some(AddressRegister::Loop) }));
        assert_eq!(descriptor, DescriptorIndex(5));
    }

    #[test]
    fn the_index_counts_only_for_uniforms() {
        // mov o0, v1 with index a0.y
        let word = 0x13 << 26 | 2 << 19 | 1 << 12;
        let Effect::Arithmetic { sources, .. } = Instruction::decode(word).effect else { panic!() };
        assert_eq!(sources.iter().collect::<Vec<_>>(), [Source::Input(1)]);
    }

    #[test]
    fn cmp_has_five_opcode_bits() {
        for op in 0..8 {
            let word = 0b10111 << 27 | op << 24 | (7 - op) << 21;
            let Effect::Compare { comparisons, .. } = Instruction::decode(word).effect else { panic!() };
            assert_eq!(comparisons, [Comparison::of_field(op), Comparison::of_field(7 - op)]);
        }
    }

    #[test]
    fn flow_formats() {
        // callc !cmp.x && cmp.y, 0x123..0x223 (the largest count is 255)
        let word = 0x25 << 26 | 1 << 24 | 1 << 22 | 0x123 << 10 | 0xff;
        let test = Some(Test::Flags(FlagTest { x: false, y: true, combine: Combine::And }));
        let call = Effect::Call { test, target: Address(0x123), end: Address(0x222) };
        assert_eq!(Instruction::decode(word).effect, call);

        // jmpu !b9: bit 0 of the count inverts the test.
        let word = 0x2d << 26 | 9 << 22 | 0xfff << 10 | 0x1;
        let test = Test::Bool { uniform: BoolUniform(9), value: false };
        assert_eq!(Instruction::decode(word).effect, Effect::Jump { test, target: Address(0xfff) });

        // loop i3: two bits of the identifier count.
        let word = 0x29 << 26 | 0xf << 22 | 0x10 << 10;
        assert_eq!(Instruction::decode(word).effect, Effect::Loop { uniform: IntUniform(3), last: Address(0x10) });

        // setemit 2, prim
        let word = 0x2b << 26 | 2 << 24 | 1 << 23;
        let setemit = Effect::SetEmit { vertex: 2, primitive: true, inverted: false };
        assert_eq!(Instruction::decode(word).effect, setemit);
    }

    #[test]
    fn sizes_are_limited() {
        assert!(decode(&vec![0; MAX_WORDS], &[0; MAX_DESCRIPTORS], 0).is_ok());
        let error = decode(&vec![0; MAX_WORDS + 1], &[], 0x28).unwrap_err();
        assert_eq!(error.to_string(), "number of program words is 4097, over the limit of 4096 (at offset 0x28)");
        assert!(matches!(decode(&[], &[0; MAX_DESCRIPTORS + 1], 0), Err(DecodeError::Limit { .. })));
    }
}
