//! Programs written by hand: words from fields, with the operand descriptors they need.

use shaderjit::Shader;
use shaderjit::frontend::pica::opcode::{Field, Opcode};

/// `xyzw`.
pub const XYZW: [u32; 4] = [0, 1, 2, 3];

/// A source with its swizzle and sign.
#[derive(Clone, Copy)]
pub struct Source {
    /// Its number in the field: v0 is 0, r0 is 0x10, c0 is 0x20.
    pub register: u32,
    pub swizzle: [u32; 4],
    pub negate: bool,
}

impl Source {
    pub fn new(register: u32) -> Source {
        Source { register, swizzle: XYZW, negate: false }
    }

    /// One component, to all.
    pub fn component(register: u32, component: usize) -> Source {
        Source { swizzle: [component as u32; 4], ..Source::new(register) }
    }

    pub fn negated(self) -> Source {
        Source { negate: !self.negate, ..self }
    }
}

/// What is written: a register's number in the field (o0 is 0, r0 is 0x10) and the components.
#[derive(Clone, Copy)]
pub struct Destination {
    pub register: u32,
    pub mask: [bool; 4],
}

impl Destination {
    pub fn new(register: u32) -> Destination {
        Destination { register, mask: [true; 4] }
    }

    pub fn component(register: u32, component: usize) -> Destination {
        Destination { register, mask: std::array::from_fn(|at| at == component) }
    }
}

/// A program being written.
#[derive(Default)]
pub struct Program {
    pub words: Vec<u32>,
    pub descriptors: Vec<u32>,
}

impl Program {
    /// Appends an instruction of these fields.
    pub fn word(&mut self, opcode: Opcode, fields: &[(Field, u32)]) {
        let place = |&(field, value)| opcode.picture().place(field, value).expect("the instruction has the field");
        self.words.push(fields.iter().map(place).fold(opcode.picture().fixed(), |word, bits| word | bits));
    }

    /// Appends an arithmetic instruction.
    pub fn op(&mut self, opcode: Opcode, to: Destination, sources: &[Source]) {
        // Masks have x at the top, and so do selectors.
        let mask = to.mask.iter().fold(0, |mask, &written| mask << 1 | u32::from(written));
        let mut descriptor = mask;
        for (number, source) in sources.iter().enumerate() {
            let selector = source.swizzle.iter().fold(0, |selector, &component| selector << 2 | component);
            descriptor |= (u32::from(source.negate) | selector << 1) << (4 + 9 * number);
        }
        let known = self.descriptors.iter().position(|&known| known == descriptor);
        let index = known.unwrap_or(self.descriptors.len());
        if known.is_none() {
            self.descriptors.push(descriptor);
        }
        let fields = [Field::Source1, Field::Source2, Field::Source3];
        let mut fields: Vec<(Field, u32)> =
            fields.into_iter().zip(sources).map(|(field, source)| (field, source.register)).collect();
        fields.push((Field::Descriptor, index as u32));
        if opcode.picture().width(Field::Destination) > 0 {
            fields.push((Field::Destination, to.register));
        }
        self.word(opcode, &fields);
    }

    /// The program with an END, from word 0.
    pub fn finish(mut self) -> Shader {
        self.word(Opcode::End, &[]);
        Shader::from_pica_words(&self.words, &self.descriptors, 0)
    }
}
