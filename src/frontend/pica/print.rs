//! Assembly text of a program, near to what the common assembler (picasso) reads: one line a word, with its address.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::decode::{Effect, Instruction, Program};
use super::names::{Names, Procedure};
use super::operand::{Address, Component, Descriptor, DescriptorIndex, Source};

/// Swizzle as assembly: nothing for the identity, one letter for a broadcast.
struct Swizzle([Component; 4]);

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let components =
            if self.0.iter().all(|&component| component == self.0[0]) { &self.0[..1] } else { &self.0[..] };
        if components == Component::ALL {
            return Ok(());
        }
        f.write_char('.')?;
        components.iter().try_for_each(|component| f.write_char(component.letter()))
    }
}

/// Write mask as assembly: nothing if all components are written.
struct Mask(Descriptor);

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.written().count() {
            4 => Ok(()),
            // Such an instruction computes nothing, which should be seen.
            0 => f.write_str("._"),
            _ => {
                f.write_char('.')?;
                self.0.written().try_for_each(|component| f.write_char(component.letter()))
            }
        }
    }
}

/// One instruction of a program, with the program's descriptors applied.
struct Line<'a> {
    program: &'a Program,
    names: &'a Names,
    instruction: &'a Instruction,
}

impl Line<'_> {
    fn source(&self, f: &mut fmt::Formatter<'_>, number: usize, source: Source, index: DescriptorIndex) -> fmt::Result {
        let source = self.names.source(source);
        match self.program.descriptor(index) {
            Some(descriptor) => {
                let sign = if descriptor.negates(number) { "-" } else { "" };
                let swizzle = Swizzle(Component::ALL.map(|component| descriptor.select(number, component)));
                write!(f, "{sign}{source}{swizzle}")
            }
            None => f.write_str(&source),
        }
    }

    /// Says so if the descriptor is not in the table.
    fn note(&self, f: &mut fmt::Formatter<'_>, index: DescriptorIndex) -> fmt::Result {
        if self.program.descriptor(index).is_some() {
            return Ok(());
        }
        write!(f, " ; descriptor {} is not in the table", index.0)
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(opcode) = self.instruction.opcode else {
            return write!(f, ".word {:#010x}", self.instruction.rest);
        };
        let names = self.names;
        f.write_str(opcode.mnemonic())?;
        match self.instruction.effect {
            Effect::Nop | Effect::End | Effect::Emit | Effect::Undefined | Effect::Break { test: None } => Ok(()),
            Effect::Arithmetic { destination, sources, descriptor } => {
                match destination {
                    Some(destination) => write!(f, " {}", names.destination(destination))?,
                    None => f.write_str(" a0")?,
                }
                if let Some(descriptor) = self.program.descriptor(descriptor) {
                    write!(f, "{}", Mask(descriptor))?;
                }
                for (number, source) in sources.iter().enumerate() {
                    f.write_str(", ")?;
                    self.source(f, number, source, descriptor)?;
                }
                self.note(f, descriptor)
            }
            Effect::Compare { comparisons: [x, y], sources, descriptor } => {
                for (number, source) in sources.iter().enumerate() {
                    f.write_str(if number == 0 { " " } else { ", " })?;
                    self.source(f, number, source, descriptor)?;
                    if number == 0 {
                        write!(f, ", {x}, {y}")?;
                    }
                }
                self.note(f, descriptor)
            }
            Effect::Break { test: Some(test) } => write!(f, " {}", names.test(test)),
            Effect::Call { test, target, end } => {
                if let Some(test) = test {
                    write!(f, " {},", names.test(test))?;
                }
                write!(f, " {}", names.address(target))?;
                // A procedure's own end needs no mention.
                match names.procedures_at(target).first() {
                    Some(procedure) if procedure.end == end => Ok(()),
                    _ => write!(f, " to {}", names.address(end)),
                }
            }
            Effect::If { test, otherwise, end } => {
                write!(f, " {}", names.test(test))?;
                if otherwise != end {
                    write!(f, ", else {}", names.address(otherwise))?;
                }
                write!(f, ", end {}", names.address(end))
            }
            Effect::Loop { uniform, last } => {
                write!(f, " {}, end {}", names.int(uniform), names.address(last.next()))
            }
            Effect::Jump { test, target } => write!(f, " {}, {}", names.test(test), names.address(target)),
            Effect::SetEmit { vertex, primitive, inverted } => {
                let primitive = if primitive { ", prim" } else { "" };
                let inverted = if inverted { ", inv" } else { "" };
                write!(f, " {vertex}{primitive}{inverted}")
            }
        }
    }
}

/// Width of an offset in front of a line.
const MARGIN: &str = "            ";

/// A program as text: one line a word with its address; labels and ends of procedures stand on lines of their own.
pub(crate) struct Listing<'a> {
    pub(crate) program: &'a Program,
    pub(crate) names: &'a Names,
    /// Whether each line of an instruction begins with its byte offset.
    pub(crate) offsets: bool,
    /// Whether each is followed by the instruction's word, and that of its descriptor.
    pub(crate) raw: bool,
}

impl Listing<'_> {
    fn margin(&self) -> &'static str {
        if self.offsets { MARGIN } else { "" }
    }

    /// The words that need a label.
    fn labels(&self) -> BTreeSet<Address> {
        let mut labels: BTreeSet<Address> = self.names.named().collect();
        for instruction in self.program.instructions() {
            match instruction.effect {
                Effect::Call { target, end, .. } => {
                    labels.insert(target);
                    if self.names.procedures_at(target).first().is_none_or(|procedure| procedure.end != end) {
                        labels.insert(end);
                    }
                }
                Effect::If { otherwise, end, .. } => labels.extend([otherwise, end]),
                Effect::Loop { last, .. } => labels.extend([last.next()]),
                Effect::Jump { target, .. } => labels.extend([target]),
                _ => {}
            }
        }
        labels
    }

    /// Ends the procedures that end at a word. Which one that is goes without saying if it is the last that began.
    fn end(&self, f: &mut fmt::Formatter<'_>, open: &mut Vec<&Procedure>, at: Address) -> fmt::Result {
        let margin = self.margin();
        while open.pop_if(|procedure| procedure.end == at).is_some() {
            writeln!(f, "{margin}.end")?;
        }
        for procedure in open.extract_if(.., |procedure| procedure.end == at) {
            writeln!(f, "{margin}.end ; {}", procedure.name)?;
        }
        Ok(())
    }

    /// The lines in front of a word that is named.
    fn label(&self, f: &mut fmt::Formatter<'_>, at: Address) -> fmt::Result {
        let (margin, names) = (self.margin(), self.names);
        let entry = if names.entry() == Some(at) { " ; entry point" } else { "" };
        for Procedure { name, .. } in names.procedures_at(at) {
            writeln!(f, "{margin}.proc {name}{entry}")?;
        }
        for name in names.labels_at(at) {
            writeln!(f, "{margin}{name}:{entry}")?;
        }
        if names.procedures_at(at).is_empty() && names.labels_at(at).is_empty() {
            writeln!(f, "{margin}{}:{entry}", names.address(at))?;
        }
        Ok(())
    }

    /// The word, and that of the descriptor.
    fn raw(&self, f: &mut fmt::Formatter<'_>, instruction: &Instruction) -> fmt::Result {
        let word = instruction.encode().expect("what was decoded is encoded again");
        write!(f, "{}         ; {word:08x}", self.margin())?;
        if let Effect::Arithmetic { descriptor: index, .. } | Effect::Compare { descriptor: index, .. } =
            instruction.effect
            && let Some(descriptor) = self.program.descriptor(index)
        {
            write!(f, ", descriptor {}: {:08x}", index.0, descriptor.0)?;
        }
        writeln!(f)
    }
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listing { program, names, .. } = *self;
        let labels = self.labels();
        let mut open: Vec<&Procedure> = Vec::new();
        let mut next = Address(0);
        for instruction in program.instructions() {
            self.end(f, &mut open, next)?;
            if labels.contains(&next) {
                self.label(f, next)?;
                open.extend(names.procedures_at(next));
            }
            if self.offsets {
                write!(f, "{:#010x}: ", program.byte_offset(next))?;
            }
            writeln!(f, "    {next}  {}", Line { program, names, instruction })?;
            if self.raw {
                self.raw(f, instruction)?;
            }
            next = next.next();
        }
        self.end(f, &mut open, next)?;
        for &at in labels.range(next..) {
            match at == next && names.procedures_at(at).is_empty() {
                true => self.label(f, at)?,
                false => writeln!(f, "{}; {} is behind the program", self.margin(), names.address(at))?,
            }
        }
        let margin = self.margin();
        open.iter()
            .rev()
            .try_for_each(|procedure| writeln!(f, "{margin}.end ; {}, at {}", procedure.name, procedure.end))
    }
}

impl fmt::Display for Program {
    /// One line a word: address, instruction. A word that an instruction names has a label.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Names::default();
        names.find_procedures(self);
        Listing { program: self, names: &names, offsets: false, raw: false }.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::pica::decode::decode;
    use crate::frontend::pica::opcode::{Field, Opcode};
    use crate::frontend::pica::testing::{PLAIN, word};

    /// Every shape of operand and instruction, one a line.
    #[test]
    fn listing() {
        // Descriptor 1: written .xw, sources -.wzyx, .y and .xxyy.
        let odd = 0b1001 | 1 << 4 | 0b11_10_01_00 << 5 | 0b01_01_01_01 << 14 | 0b00_00_01_01 << 23;
        let flags = [(Field::ReferenceX, 1), (Field::ReferenceY, 0), (Field::Combine, 1)];
        let to = |target, count| [(Field::Target, target), (Field::Count, count)];
        let words = [
            word(Opcode::Add, &[(Field::Destination, 2), (Field::Source1, 0x7f), (Field::Source2, 0x13)]),
            word(
                Opcode::Madi,
                &[
                    (Field::Destination, 0x1f),
                    (Field::Source1, 1),
                    (Field::Source3, 0x20),
                    (Field::Index, 1),
                    (Field::Descriptor, 1),
                ],
            ),
            word(Opcode::Mova, &[(Field::Source1, 0x2a), (Field::Index, 3), (Field::Descriptor, 2)]),
            word(
                Opcode::Cmp,
                &[(Field::CompareX, 2), (Field::CompareY, 7), (Field::Source1, 0x10), (Field::Source2, 1)],
            ),
            word(Opcode::Ifc, &[flags.as_slice(), &to(6, 1)].concat()),
            word(Opcode::Breakc, &flags),
            word(Opcode::Jmpu, &[(Field::Bool, 12), (Field::Target, 3), (Field::Invert, 1)]),
            word(Opcode::Loop, &[(Field::Int, 2), (Field::Target, 8)]),
            word(Opcode::Call, &to(0, 3)),
            word(Opcode::Callu, &[&[(Field::Bool, 3)], to(0x10, 0x10).as_slice()].concat()),
            word(Opcode::Ifu, &to(0xb, 0)),
            word(Opcode::Setemit, &[(Field::Vertex, 2), (Field::Primitive, 1), (Field::Winding, 1)]),
            word(Opcode::Emit, &[]),
            0x5000_1234,
            word(Opcode::Mov, &[(Field::Descriptor, 9)]),
            word(Opcode::End, &[]),
        ];
        let listing = "\
.proc proc_000
    000  add o2, c95, r3
    001  madi r15.xw, -v1.wzyx, v0.y, c0[a0.x].xxyy
    002  mova a0._, c10[aL].x
.end
label_003:
    003  cmp r0, lt, always7, v1
    004  ifc cmp.x && !cmp.y, else label_006, end label_007
    005  breakc cmp.x && !cmp.y
label_006:
    006  jmpu !b12, label_003
label_007:
    007  loop i2, end label_009
    008  call proc_000
label_009:
    009  callu b3, label_010 to label_020
    00a  ifu b0, end label_00b
label_00b:
    00b  setemit 2, prim, inv
    00c  emit
    00d  .word 0x50001234
    00e  mov o0, v0 ; descriptor 9 is not in the table
    00f  end
label_010:
; label_020 is behind the program
";
        assert_eq!(decode(&words, &[PLAIN, odd, 0], 0).unwrap().to_string(), listing);
    }
}
