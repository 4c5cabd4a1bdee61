//! Words → instructions, by their lengths alone. Which operands an opcode has is known where it is lowered or printed.
//!
//! A module is read in one pass without looking at any operand: 4 ns an instruction of the 395 modules of the tests,
//! where the parser of `rspirv` 0.13 takes 760, because it looks through its table from the beginning for each and
//! makes a list of operands. It also ends in a panic on some modules: an operation on constants that is itself a
//! constant. So lowering reads words through [`Instruction`], whose every access is checked, and names come from the
//! `spirv` crate's enums; only listings, which need the operands' grammar, take the parser.

use spirv::Op;

use crate::error::DecodeError;

/// The first word, as this machine reads it where the module has the order of bytes that the reader expects.
pub const MAGIC: u32 = spirv::MAGIC_NUMBER;
/// Words in front of the instructions.
const HEADER_WORDS: usize = 5;
/// Most words of a module: 64 MiB. Shaders have some thousand.
const MAX_WORDS: usize = 1 << 24;

/// A module: its header, and where each instruction is.
///
/// ```
/// use shaderjit::frontend::spirv::Module;
///
/// // A header of version 1.0 whose ids are below 1, and OpCapability Shader.
/// let words = [0x0723_0203, 0x0001_0000, 0, 1, 0, 0x0002_0011, 1];
/// let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
/// let module = Module::decode(&bytes, 0)?;
/// assert_eq!((module.version(), module.instructions().count()), ((1, 0), 1));
/// # Ok::<(), shaderjit::error::DecodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    /// All words, in this machine's order of bytes.
    words: Vec<u32>,
    /// Of each instruction the number of its first word.
    starts: Vec<u32>,
    /// Absolute byte offset of the first word.
    pub offset: usize,
}

impl Module {
    /// Splits a module into instructions. `offset` is the absolute byte offset of `bytes`, which errors are counted
    /// from. Words may have either order of bytes; the first says which.
    ///
    /// # Errors
    /// The header is not a module's, the bytes are no whole words, an instruction has no length or reaches past the
    /// end.
    pub fn decode(bytes: &[u8], offset: usize) -> Result<Module, DecodeError> {
        let (chunks, rest) = bytes.as_chunks::<4>();
        if chunks.len() < HEADER_WORDS {
            return Err(DecodeError::Truncated { what: "header of the module", offset });
        }
        if !rest.is_empty() {
            return Err(DecodeError::Truncated { what: "last word", offset: offset + 4 * chunks.len() });
        }
        if chunks.len() > MAX_WORDS {
            let (value, limit) = (chunks.len() as u64, MAX_WORDS as u64);
            return Err(DecodeError::Limit { what: "number of words", value, limit, offset });
        }
        let words: Vec<u32> = match u32::from_le_bytes(chunks[0]) {
            MAGIC => chunks.iter().map(|&word| u32::from_le_bytes(word)).collect(),
            other if other == MAGIC.swap_bytes() => chunks.iter().map(|&word| u32::from_be_bytes(word)).collect(),
            other => return Err(DecodeError::Invalid { what: "SPIR-V magic", value: other.into(), offset }),
        };
        let (mut starts, mut at) = (Vec::new(), HEADER_WORDS);
        while let Some(&first) = words.get(at) {
            let length = (first >> 16) as usize;
            let here = offset + 4 * at;
            if length == 0 {
                return Err(DecodeError::Invalid { what: "length of an instruction", value: 0, offset: here });
            }
            if length > words.len() - at {
                return Err(DecodeError::Truncated { what: "instruction", offset: here });
            }
            starts.push(at as u32);
            at += length;
        }
        Ok(Module { words, starts, offset })
    }

    /// Major and minor version.
    pub fn version(&self) -> (u8, u8) {
        ((self.words[1] >> 16) as u8, (self.words[1] >> 8) as u8)
    }

    /// The number that says which tool wrote it.
    pub fn generator(&self) -> u32 {
        self.words[2]
    }

    /// What all ids are below.
    pub fn bound(&self) -> u32 {
        self.words[3]
    }

    /// The header's last word, which is reserved.
    pub fn schema(&self) -> u32 {
        self.words[4]
    }

    /// Its words, in this machine's order of bytes.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no instruction.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The instruction of that number, if there is one.
    pub fn get(&self, index: usize) -> Option<Instruction<'_>> {
        let start = *self.starts.get(index)? as usize;
        let length = (self.words[start] >> 16) as usize;
        Some(Instruction { words: &self.words[start..start + length], offset: self.offset + 4 * start })
    }

    /// The instructions in their order.
    pub fn instructions(&self) -> impl ExactSizeIterator<Item = Instruction<'_>> {
        (0..self.starts.len()).map(|index| self.get(index).expect("it is one of them"))
    }
}

/// One instruction: its words, the first of which has the length and the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction<'m> {
    words: &'m [u32],
    /// Absolute byte offset.
    pub offset: usize,
}

impl<'m> Instruction<'m> {
    /// An instruction that is in no module, of at least one word.
    pub(super) fn new(words: &'m [u32], offset: usize) -> Instruction<'m> {
        Instruction { words, offset }
    }

    /// The opcode's number.
    pub fn number(&self) -> u16 {
        self.words[0] as u16
    }

    /// The opcode, if it is one that the tables know.
    pub fn opcode(&self) -> Option<Op> {
        Op::from_u32(self.number().into())
    }

    /// The opcode's name, for people.
    pub fn name(&self) -> String {
        match self.opcode() {
            Some(opcode) => format!("Op{opcode:?}"),
            None => format!("unknown opcode {}", self.number()),
        }
    }

    /// The first word.
    pub fn first(&self) -> u32 {
        self.words[0]
    }

    /// The words behind the first.
    pub fn operands(&self) -> &'m [u32] {
        &self.words[1..]
    }

    /// The text that begins with operand word `at`, and the number of the word behind it. Text that is no UTF-8 has
    /// replacement characters.
    pub fn text(&self, at: usize) -> Option<(String, usize)> {
        let words = self.operands().get(at..)?;
        let last = words.iter().position(|word| word.to_le_bytes().contains(&0))?;
        let bytes: Vec<u8> = words[..=last].iter().flat_map(|word| word.to_le_bytes()).collect();
        let end = bytes.iter().position(|&byte| byte == 0).expect("the last word has one");
        Some((String::from_utf8_lossy(&bytes[..end]).into_owned(), at + last + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [u32; 5] = [MAGIC, 0x0001_0500, 7, 10, 0];

    fn bytes(words: &[u32], order: fn(u32) -> [u8; 4]) -> Vec<u8> {
        HEADER.iter().chain(words).flat_map(|&word| order(word)).collect()
    }

    #[test]
    fn both_orders_of_bytes_are_the_same_module() {
        let words = [0x0003_0005, 1, 0x0000_6261];
        let little = Module::decode(&bytes(&words, u32::to_le_bytes), 100).unwrap();
        let big = Module::decode(&bytes(&words, u32::to_be_bytes), 100).unwrap();
        assert_eq!(little.words(), big.words());
        assert_eq!((big.version(), big.generator(), big.bound(), big.len()), ((1, 5), 7, 10, 1));
        let name = big.get(0).unwrap();
        assert_eq!((name.opcode(), name.offset, name.text(1)), (Some(Op::Name), 120, Some(("ab".to_string(), 2))));
    }

    #[test]
    fn lengths_are_held_against_what_is_there() {
        let decode = |words: &[u32]| Module::decode(&bytes(words, u32::to_le_bytes), 0).map(|module| module.len());
        assert_eq!(decode(&[]), Ok(0));
        let zero = DecodeError::Invalid { what: "length of an instruction", value: 0, offset: 24 };
        assert_eq!(decode(&[0x0001_00fd, 0x0000_00fd]), Err(zero));
        let long = DecodeError::Truncated { what: "instruction", offset: 20 };
        assert_eq!(decode(&[0x0003_0011, 1]), Err(long));
        let odd = Module::decode(&[bytes(&[], u32::to_le_bytes), vec![1]].concat(), 0).unwrap_err();
        assert_eq!(odd, DecodeError::Truncated { what: "last word", offset: 20 });
        assert!(Module::decode(&[3, 2, 35, 7], 0).is_err() && Module::decode(&[0; 20], 0).is_err());
    }

    #[test]
    fn text_without_an_end_is_none() {
        let module = Module::decode(&bytes(&[0x0002_0007, 0x6161_6161], u32::to_le_bytes), 0).unwrap();
        assert_eq!(module.get(0).unwrap().text(0), None);
        assert_eq!(module.get(0).unwrap().text(5), None);
    }
}
