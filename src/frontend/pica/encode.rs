//! Instructions → words: the inverse of [`decode`](mod@super::decode), by the same pictures.

use super::decode::{Effect, Instruction, Program, Sources, ignored};
use super::opcode::{Field, Opcode};
use super::operand::{Address, Source, Test};

impl Instruction {
    /// The word. Of a decoded instruction it is the one that was decoded, with every bit.
    ///
    /// `None` if there is no such instruction: the opcode cannot have this effect, or an operand does not fit its
    /// field.
    pub fn encode(&self) -> Option<u32> {
        let word = match self.opcode {
            None => self.rest,
            Some(opcode) => {
                let mut word = Word { opcode, bits: opcode.picture().fixed() };
                word.effect(&self.effect)?;
                word.bits | self.rest & ignored(opcode, &self.effect)
            }
        };
        // What the fields leave open, such as whether the opcode has this effect at all, decoding knows.
        let decoded = Instruction::decode(word);
        (decoded.opcode == self.opcode && decoded.effect == self.effect).then_some(word)
    }
}

impl Program {
    /// The words it was decoded from.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u32> {
        self.instructions().iter().map(|instruction| instruction.encode().expect("what was decoded is encoded again"))
    }
}

/// A word that is being filled.
struct Word {
    opcode: Opcode,
    bits: u32,
}

impl Word {
    fn has(&self, field: Field) -> bool {
        self.opcode.picture().width(field) != 0
    }

    fn place(&mut self, field: Field, value: u32) -> Option<()> {
        self.bits |= self.opcode.picture().place(field, value)?;
        Some(())
    }

    fn effect(&mut self, effect: &Effect) -> Option<()> {
        match *effect {
            Effect::Arithmetic { destination, sources, descriptor } => {
                if let Some(destination) = destination {
                    self.place(Field::Destination, destination.to_field())?;
                }
                self.sources(&sources)?;
                self.place(Field::Descriptor, descriptor.0.into())
            }
            Effect::Compare { comparisons: [x, y], sources, descriptor } => {
                self.place(Field::CompareX, x.to_field())?;
                self.place(Field::CompareY, y.to_field())?;
                self.sources(&sources)?;
                self.place(Field::Descriptor, descriptor.0.into())
            }
            Effect::Nop | Effect::End | Effect::Emit | Effect::Undefined => Some(()),
            Effect::Break { test } => self.test(test),
            Effect::Call { test, target, end } => {
                self.test(test)?;
                self.range(target, end)
            }
            Effect::If { test, otherwise, end } => {
                self.test(Some(test))?;
                self.range(otherwise, end)
            }
            Effect::Loop { uniform, last } => {
                self.place(Field::Int, uniform.0.into())?;
                self.place(Field::Target, last.0.into())
            }
            Effect::Jump { test, target } => {
                self.test(Some(test))?;
                self.place(Field::Target, target.0.into())
            }
            Effect::SetEmit { vertex, primitive, inverted } => {
                self.place(Field::Vertex, vertex.into())?;
                self.place(Field::Primitive, primitive.into())?;
                self.place(Field::Winding, inverted.into())
            }
        }
    }

    fn sources(&mut self, sources: &Sources) -> Option<()> {
        for (source, field) in sources.iter().zip([Field::Source1, Field::Source2, Field::Source3]) {
            self.place(field, source.to_field())?;
            if let Source::Uniform { relative: Some(register), .. } = source {
                self.place(Field::Index, register.to_field())?;
            }
        }
        Some(())
    }

    fn test(&mut self, test: Option<Test>) -> Option<()> {
        match test {
            None => Some(()),
            Some(Test::Flags(flags)) => {
                self.place(Field::ReferenceX, flags.x.into())?;
                self.place(Field::ReferenceY, flags.y.into())?;
                self.place(Field::Combine, flags.combine.to_field())
            }
            Some(Test::Bool { uniform, value }) => {
                if self.has(Field::Invert) {
                    self.place(Field::Invert, (!value).into())?;
                }
                self.place(Field::Bool, uniform.0.into())
            }
        }
    }

    fn range(&mut self, target: Address, end: Address) -> Option<()> {
        self.place(Field::Target, target.0.into())?;
        self.place(Field::Count, end.0.checked_sub(target.0)?.into())
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::container::Shbin;
    use crate::frontend::pica::decode::decode;
    use crate::frontend::pica::operand::{BoolUniform, Combine, Comparison, Destination, FlagTest};
    use crate::frontend::pica::testing::{Random, word};

    fn check(word: u32) {
        let instruction = Instruction::decode(word);
        assert_eq!(instruction.encode(), Some(word), "{word:#010x} {instruction:?}");
        if let Some(opcode) = instruction.opcode {
            assert_eq!(instruction.rest & !ignored(opcode, &instruction.effect), 0, "{word:#010x}");
            let clean = Instruction { rest: 0, ..instruction };
            let without = Instruction::decode(clean.encode().unwrap());
            assert_eq!(without, clean, "the rest of {word:#010x} has no effect");
        }
    }

    #[test]
    fn any_word_is_encoded_again() {
        arbtest::arbtest(|u| {
            check(u.arbitrary()?);
            Ok(())
        })
        .budget_ms(500);
        let mut random = Random(1);
        for top in 0..64 {
            let opcode = top << 26;
            [0, 0x03ff_ffff].into_iter().for_each(|low| check(opcode | low));
            (0..2000).for_each(|_| check(opcode | random.word() & 0x03ff_ffff));
            (0..26).for_each(|bit| check(opcode | 1 << bit));
        }
    }

    #[test]
    fn every_real_program_is_encoded_again() {
        let files = crate::test_data::containers(&["shbin"]);
        for (path, bytes) in &files {
            let dvlp = Shbin::parse(bytes).unwrap().dvlp().unwrap();
            let program = decode(&dvlp.code, &dvlp.descriptors, dvlp.code_offset).unwrap();
            assert!(program.words().eq(dvlp.code.iter().copied()), "{}", path.display());
            // A real program has no bits that mean nothing.
            assert!(program.instructions().iter().all(|i| i.rest == 0 || i.opcode.is_none()), "{}", path.display());
        }
        assert!(files.len() >= 39, "only {} programs", files.len());
    }

    #[test]
    fn an_instruction_can_be_changed_and_encoded() {
        let add = word(Opcode::Add, &[(Field::Source1, 0x20), (Field::Index, 2), (Field::Descriptor, 5)]);
        let Instruction { opcode, effect, .. } = Instruction::decode(add);
        let Effect::Arithmetic { sources, descriptor, .. } = effect else { panic!() };
        let destination = Some(Destination::Temporary(3));
        let changed = Instruction { opcode, effect: Effect::Arithmetic { destination, sources, descriptor }, rest: 0 };
        assert_eq!(changed.encode(), Some(add | 0x13 << 21));
        // Bits that mean something are the effect's, whatever the rest says.
        assert_eq!(Instruction { rest: u32::MAX, ..changed }.encode(), changed.encode());
    }

    #[test]
    fn what_no_word_says_is_not_encoded() {
        let instruction = |opcode, effect| Instruction { opcode: Some(opcode), effect, rest: 0 };
        let call = |test, target, end| Effect::Call { test, target: Address(target), end: Address(end) };
        assert!(instruction(Opcode::Call, call(None, 5, 260)).encode().is_some());
        let flags = Test::Flags(FlagTest { x: true, y: false, combine: Combine::Or });
        let uniform = |value| Test::Bool { uniform: BoolUniform(3), value };
        let none = [
            instruction(Opcode::Call, call(None, 5, 261)),
            instruction(Opcode::Call, call(None, 5, 4)),
            instruction(Opcode::Call, call(None, 4096, 4096)),
            instruction(Opcode::Call, call(Some(flags), 0, 0)),
            instruction(Opcode::Callc, call(None, 0, 0)),
            instruction(Opcode::Callu, call(Some(uniform(false)), 0, 0)),
            instruction(Opcode::End, Effect::Nop),
            instruction(Opcode::Add, Effect::Nop),
            Instruction { opcode: None, effect: Effect::Undefined, rest: 0 },
        ];
        for instruction in none {
            assert_eq!(instruction.encode(), None, "{instruction:?}");
        }
        let jump = Effect::Jump { test: uniform(false), target: Address(9) };
        assert_eq!(instruction(Opcode::Jmpu, jump).encode(), Some(0x2d << 26 | 3 << 22 | 9 << 10 | 1));
    }

    #[test]
    fn both_encodings_of_always_are_told_apart() {
        let words = [6, 7].map(|op| word(Opcode::Cmp, &[(Field::CompareX, op)]));
        let comparisons = words.map(|word| match Instruction::decode(word).effect {
            Effect::Compare { comparisons, .. } => comparisons[0],
            other => panic!("{other:?}"),
        });
        assert_eq!(comparisons, [Comparison::Always6, Comparison::Always7]);
        assert_eq!(words.map(|word| Instruction::decode(word).encode()), words.map(Some));
    }
}
