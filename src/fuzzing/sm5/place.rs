//! What operands name: registers, elements of arrays and rows of buffers, with their indices.

use super::Generator;
use super::declare::{Array, ConstantBuffer, IndexRange, Register};
use crate::frontend::sm4::opcode::DataClass;
use crate::frontend::sm4::operand::{Component, Components, Mask};
use crate::frontend::sm4::{Opcode, OpcodeToken, Operand, RegisterFile};
use arbitrary::Result;

/// An operand without its components.
pub struct Place {
    pub file: RegisterFile,
    pub indices: Vec<(u32, Option<Operand>)>,
    /// The components there are.
    pub has: Mask,
}

/// What a source can be.
#[derive(Clone, Copy)]
enum Readable {
    Temp,
    Array(u32, Array),
    Input(Register),
    IndexedInput(IndexRange),
    Buffer(ConstantBuffer),
    /// A buffer whose number is dynamic.
    ChosenBuffer,
    Table,
    This,
}

/// What a destination can be.
#[derive(Clone, Copy)]
enum Writable {
    Temp,
    Array(u32, Array),
    Output(Register),
    IndexedOutput(IndexRange),
}

impl Generator<'_, '_> {
    /// A component of a temporary register, as destination and as source.
    pub fn scratch(&mut self) -> Result<(Operand, Operand)> {
        let register = self.u.int_in_range(0..=self.declared.temps - 1)?;
        let component = *self.u.choose(&Component::ALL)?;
        Ok(scalar_temp(register, component))
    }

    /// One component that is mostly below `bound`: a source, or what an instruction makes of one.
    pub fn small(&mut self, bound: u32) -> Result<Operand> {
        // Its own indices need no more instructions.
        let nested = std::mem::replace(&mut self.preparing, true);
        let source = self.scalar(DataClass::Uint)?;
        self.preparing = nested;
        // Other bits are seldom in any range, and must do no harm.
        if self.one_in(5)? {
            return Ok(source);
        }
        let (destination, result) = self.scratch()?;
        let (opcode, most) = match self.one_in(3)? {
            true => (Opcode::UMin, bound),
            false => (Opcode::And, bound.next_power_of_two() - 1),
        };
        let most = Operand::immediate_words(RegisterFile::Immediate32, &[most]);
        self.emit(OpcodeToken::new(opcode), vec![destination, source, most]);
        Ok(result)
    }

    /// An index of `count` things: a number among them, or a register plus such a number.
    pub fn index(&mut self, count: u32, dynamic: bool) -> Result<(u32, Option<Operand>)> {
        let number = self.u.int_in_range(0..=count - 1)?;
        if !dynamic {
            return Ok((number, None));
        }
        let register = self.index_register(count)?;
        Ok((if self.one_in(3)? { number } else { 0 }, Some(register)))
    }

    /// What an index can be relative to: a component of `r#` or of an element of `x#`.
    pub fn index_register(&mut self, count: u32) -> Result<Operand> {
        let mut operand = self.small(count)?;
        if operand.file() != RegisterFile::Temp {
            operand = self.scratch()?.1;
        }
        if self.declared.arrays.is_empty() || !self.one_in(4)? {
            return Ok(operand);
        }
        let number = self.u.choose_index(self.declared.arrays.len())?;
        let Array { size, mask } = self.declared.arrays[number];
        let (component, element) = (self.component(mask)?, self.u.int_in_range(0..=size - 1)?);
        let indices = vec![(number as u32, None), (element, None)];
        if self.one_in(2)? {
            let components = Components::Mask(Mask::from_bits(1 << component as u32));
            let element = Operand::new(RegisterFile::IndexableTemp, components, indices.clone());
            self.emit(OpcodeToken::new(Opcode::Mov), vec![element, operand]);
        }
        Ok(Operand::new(RegisterFile::IndexableTemp, Components::Select(component), indices))
    }

    /// An `r#`.
    pub fn temp(&mut self) -> Result<Place> {
        let register = self.u.int_in_range(0..=self.declared.temps - 1)?;
        Ok(Place { file: RegisterFile::Temp, indices: vec![(register, None)], has: Mask::ALL })
    }

    /// What a source names.
    pub fn readable(&mut self) -> Result<Place> {
        let declared = &self.declared;
        let mut choices = vec![Readable::Temp; 4];
        choices.extend((0..).zip(&declared.arrays).map(|(number, &array)| Readable::Array(number, array)));
        choices.extend(declared.inputs.iter().map(|&register| Readable::Input(register)));
        let dynamic = !self.preparing;
        choices.extend(declared.input_range.filter(|_| dynamic).map(Readable::IndexedInput));
        choices.extend(declared.buffers.iter().map(|&buffer| Readable::Buffer(buffer)));
        choices.extend((declared.table_rows != 0).then_some(Readable::Table));
        if declared.interface.is_some() {
            choices.push(Readable::This);
            let has_slots = !self.version.has_register_spaces() && !declared.buffers.is_empty();
            choices.extend((dynamic && has_slots).then_some(Readable::ChosenBuffer));
        }
        let dynamic = dynamic && self.one_in(3)?;
        let choice = *self.u.choose(&choices)?;
        let (file, indices, has) = match choice {
            Readable::Temp => return self.temp(),
            Readable::Array(number, Array { size, mask }) => {
                (RegisterFile::IndexableTemp, vec![(number, None), self.index(size, dynamic)?], mask)
            }
            Readable::Input(Register { file, number, mask }) => {
                let mut indices: Vec<_> = number.map(|number| (number, None)).into_iter().collect();
                if let Some(points) = self.declared.points_of(file) {
                    indices.insert(0, self.index(points, dynamic)?);
                }
                (file, indices, mask)
            }
            Readable::IndexedInput(range) => (range.file, vec![self.index_of_range(range)?], range.mask),
            Readable::Buffer(ConstantBuffer { binding, rows }) => {
                let mut indices = self.register_of(binding, dynamic)?;
                indices.push(self.index(rows, dynamic)?);
                (RegisterFile::ConstantBuffer, indices, Mask::ALL)
            }
            Readable::ChosenBuffer => {
                let buffer = (0, Some(self.index_register(4)?));
                let row = (self.u.int_in_range(0..=2)?, Some(self.index_register(4)?));
                (RegisterFile::ConstantBuffer, vec![buffer, row], Mask::ALL)
            }
            Readable::Table => {
                (RegisterFile::ImmediateConstants, vec![self.index(self.declared.table_rows, dynamic)?], Mask::ALL)
            }
            Readable::This => {
                let slots = self.declared.interface.as_ref().map_or(1, |interface| interface.slots);
                (RegisterFile::ThisPointer, vec![self.index(slots, dynamic)?], Mask::ALL)
            }
        };
        Ok(Place { file, indices, has })
    }

    /// What a destination names.
    pub fn writable(&mut self) -> Result<Place> {
        let declared = &self.declared;
        let mut choices = vec![Writable::Temp; 6];
        choices.extend((0..).zip(&declared.arrays).map(|(number, &array)| Writable::Array(number, array)));
        choices.extend(declared.outputs.iter().map(|&register| Writable::Output(register)));
        choices.extend(declared.output_range.map(Writable::IndexedOutput));
        let choice = *self.u.choose(&choices)?;
        let (file, indices, has) = match choice {
            Writable::Temp => return self.temp(),
            Writable::Array(number, Array { size, mask }) => {
                let dynamic = self.one_in(3)?;
                (RegisterFile::IndexableTemp, vec![(number, None), self.index(size, dynamic)?], mask)
            }
            Writable::Output(Register { file, number, mask }) => {
                (file, number.map(|number| (number, None)).into_iter().collect(), mask)
            }
            Writable::IndexedOutput(range) => (range.file, vec![self.index_of_range(range)?], range.mask),
        };
        Ok(Place { file, indices, has })
    }

    fn index_of_range(&mut self, IndexRange { first, count, .. }: IndexRange) -> Result<(u32, Option<Operand>)> {
        let (number, register) = self.index(count, true)?;
        Ok((first + number, register))
    }
}

/// A component of a temporary register, as destination and as source.
pub fn scalar_temp(register: u32, component: Component) -> (Operand, Operand) {
    let operand = |components| Operand::new(RegisterFile::Temp, components, vec![(register, None)]);
    (operand(Components::Mask(Mask::from_bits(1 << component as u32))), operand(Components::Select(component)))
}
