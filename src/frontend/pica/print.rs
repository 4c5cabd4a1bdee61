//! Assembly text of a program, near to what the common assembler (picasso) reads: one line a word, with its address.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::decode::{Effect, Instruction, Program};
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
    instruction: &'a Instruction,
}

impl Line<'_> {
    fn source(&self, f: &mut fmt::Formatter<'_>, number: usize, source: Source, index: DescriptorIndex) -> fmt::Result {
        match self.program.descriptor(index) {
            Some(descriptor) => {
                let sign = if descriptor.negates(number) { "-" } else { "" };
                let swizzle = Swizzle(Component::ALL.map(|component| descriptor.select(number, component)));
                write!(f, "{sign}{source}{swizzle}")
            }
            None => write!(f, "{source}"),
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
        f.write_str(opcode.mnemonic())?;
        match self.instruction.effect {
            Effect::Nop | Effect::End | Effect::Emit | Effect::Undefined | Effect::Break { test: None } => Ok(()),
            Effect::Arithmetic { destination, sources, descriptor } => {
                match destination {
                    Some(destination) => write!(f, " {destination}")?,
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
            Effect::Break { test: Some(test) } => write!(f, " {test}"),
            Effect::Call { test: None, target, end } => write!(f, " {target} to {end}"),
            Effect::Call { test: Some(test), target, end } => write!(f, " {test}, {target} to {end}"),
            Effect::If { test, otherwise, end } if otherwise == end => write!(f, " {test}, end {end}"),
            Effect::If { test, otherwise, end } => write!(f, " {test}, else {otherwise}, end {end}"),
            Effect::Loop { uniform, last } => write!(f, " {uniform}, end {}", last.next()),
            Effect::Jump { test, target } => write!(f, " {test}, {target}"),
            Effect::SetEmit { vertex, primitive, inverted } => {
                let primitive = if primitive { ", prim" } else { "" };
                let inverted = if inverted { ", inv" } else { "" };
                write!(f, " {vertex}{primitive}{inverted}")
            }
        }
    }
}

impl fmt::Display for Program {
    /// One line a word: address, instruction. An address that an instruction names stands on a line of its own first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut named = BTreeSet::new();
        for instruction in self.instructions() {
            match instruction.effect {
                Effect::Call { target, end, .. } => named.extend([target, end]),
                Effect::If { otherwise, end, .. } => named.extend([otherwise, end]),
                Effect::Loop { last, .. } => named.extend([last.next()]),
                Effect::Jump { target, .. } => named.extend([target]),
                _ => {}
            }
        }
        for (address, instruction) in (0..).map(Address).zip(self.instructions()) {
            if named.contains(&address) {
                writeln!(f, "{address}:")?;
            }
            writeln!(f, "    {address}  {}", Line { program: self, instruction })?;
        }
        Ok(())
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
000:
    000  add o2, c95, r3
    001  madi r15.xw, -v1.wzyx, v0.y, c[a0.x].xxyy
    002  mova a0._, c[aL+10].x
003:
    003  cmp r0, lt, always7, v1
    004  ifc cmp.x && !cmp.y, else 006, end 007
    005  breakc cmp.x && !cmp.y
006:
    006  jmpu !b12, 003
007:
    007  loop i2, end 009
    008  call 000 to 003
009:
    009  callu b3, 010 to 020
    00a  ifu b0, end 00b
00b:
    00b  setemit 2, prim, inv
    00c  emit
    00d  .word 0x50001234
    00e  mov o0, v0 ; descriptor 9 is not in the table
    00f  end
";
        assert_eq!(decode(&words, &[PLAIN, odd, 0], 0).unwrap().to_string(), listing);
    }
}
