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
            return write!(f, ".word {:#010x}", self.instruction.word);
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
