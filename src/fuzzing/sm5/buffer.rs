//! Reads of buffers.

use super::Generator;
use super::declare::View;
use super::operand::Shape;
use crate::frontend::sm4::codes::Dimension;
use crate::frontend::sm4::declaration::Binding;
use crate::frontend::sm4::opcode::{DataClass, Role};
use crate::frontend::sm4::operand::{Components, Mask, Swizzle};
use crate::frontend::sm4::{Extended, Opcode, OpcodeToken, Operand, Operation, RegisterFile};
use arbitrary::Result;

impl Generator<'_, '_> {
    /// An access of what a view shows, or a question about it.
    pub fn view_access(&mut self) -> Result<()> {
        let index = self.u.choose_index(self.declared.views.len())?;
        let view = self.declared.views[index];
        match view.dimension {
            Dimension::Buffer | Dimension::RawBuffer | Dimension::StructuredBuffer => self.buffer_read(&view),
            _ => self.texture_access(&view),
        }
    }

    /// A read of a declared buffer, or a question about it.
    fn buffer_read(&mut self, view: &View) -> Result<()> {
        let read = match view.dimension {
            Dimension::RawBuffer => Opcode::LdRaw,
            Dimension::StructuredBuffer => Opcode::LdStructured,
            _ => Opcode::Ld,
        };
        let opcode = if self.has_model(5, 0) && self.one_in(5)? { Opcode::BufInfo } else { read };
        let mut operands = Vec::new();
        for (number, slot) in opcode.slots().iter().enumerate() {
            operands.push(match (slot.role, slot.class) {
                (Role::Destination, _) => self.destination(Shape::Any)?,
                (_, DataClass::View) => self.view_operand(view)?,
                // Bytes in a buffer or structure; else an element.
                _ => {
                    let bytes = opcode == Opcode::LdRaw || number == 2;
                    self.address(if bytes { 40 } else { 6 })?
                }
            });
        }
        let extended = self.extended(view, None)?;
        self.access(OpcodeToken::new(opcode), Operation { extended, operands, padding: Box::default() })
    }

    /// A number that is mostly below `bound`. Some have all four components, of which instructions read the first.
    pub fn address(&mut self, bound: u32) -> Result<Operand> {
        let address = self.small(bound)?;
        match address.components() {
            Components::Select(component) if self.u.arbitrary()? && address.file() == RegisterFile::Temp => {
                let swizzle = Swizzle::from_bits(component as u32 | 0b11_10_01 << 2);
                let indices = address.indices().map(|index| (index.immediate, None)).collect();
                Ok(Operand::new(RegisterFile::Temp, Components::Swizzle(swizzle), indices))
            }
            _ => Ok(address),
        }
    }

    /// The operand that names a view.
    pub fn view_operand(&mut self, view: &View) -> Result<Operand> {
        let components = self.view_swizzle()?;
        let dynamic = self.one_in(3)?;
        Ok(Operand::new(RegisterFile::Resource, components, self.register_of(view.binding, dynamic)?))
    }

    /// The components of a view that a load gives.
    pub fn view_swizzle(&mut self) -> Result<Components> {
        let mut swizzle = Swizzle::IDENTITY;
        if self.one_in(3)? {
            let bits = (0..4).try_fold(0, |bits, n| Ok(bits | (self.component(Mask::ALL)? as u32) << (2 * n)))?;
            swizzle = Swizzle::from_bits(bits);
        }
        Ok(Components::Swizzle(swizzle))
    }

    /// The indices of an operand that names a constant buffer, view or sampler: its number, and which register of a
    /// range.
    pub fn register_of(&mut self, binding: Binding, dynamic: bool) -> Result<Vec<(u32, Option<Operand>)>> {
        let mut indices = vec![(binding.id, None)];
        if self.version.has_register_spaces() {
            let (number, register) = self.index(binding.upper - binding.lower + 1, dynamic)?;
            indices.push((binding.lower + number, register));
        }
        Ok(indices)
    }

    /// Texel offsets, and what instructions of shader model 5.0 repeat of a view's declaration.
    pub fn extended(&mut self, view: &View, offsets: Option<[i8; 3]>) -> Result<Option<Box<Extended>>> {
        let says = (self.version.major, self.version.minor) == (5, 0) && !self.one_in(8)?;
        Ok(match says {
            true => Extended::new(offsets, Some((view.dimension, view.stride)), Some(view.return_types)),
            false => Extended::new(offsets, None, None),
        })
    }
}
