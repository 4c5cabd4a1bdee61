//! Sources and destinations.

use super::Generator;
use crate::frontend::sm4::codes::MinPrecision;
use crate::frontend::sm4::opcode::DataClass;
use crate::frontend::sm4::operand::{Component, Components, Mask, Modifiers, Swizzle};
use crate::frontend::sm4::{Operand, RegisterFile};
use arbitrary::Result;
use shaderjit_ir::Type;
use shaderjit_ir::arbitrary::edge_bits;

/// Which components of a destination an instruction may write.
#[derive(Clone, Copy, PartialEq)]
pub enum Shape {
    /// Any.
    Any,
    /// One double or two.
    Doubles,
    /// A component for each of one or two doubles.
    OfDoubles,
}

impl Generator<'_, '_> {
    /// A source of 32-bit components, of which an instruction reads `reads` before they are swizzled.
    pub fn source(&mut self, class: DataClass, reads: Mask, modifiers: bool) -> Result<Operand> {
        if self.one_in(4)? {
            let one = self.one_in(2)?;
            let words = self.words(class)?;
            return Ok(Operand::immediate_words(RegisterFile::Immediate32, &words[..if one { 1 } else { 4 }]));
        }
        let place = self.readable()?;
        let components = match place.file {
            RegisterFile::InputCoverage
            | RegisterFile::InnerCoverage
            | RegisterFile::PrimitiveId
            | RegisterFile::GsInstanceId
            | RegisterFile::OutputControlPointId
            | RegisterFile::ForkInstanceId
            | RegisterFile::JoinInstanceId => Components::Select(Component::X),
            _ if reads.components().count() == 1 && self.u.arbitrary()? => {
                Components::Select(self.component(place.has)?)
            }
            _ if !self.one_in(3)? && reads.bits() & !place.has.bits() == 0 => Components::Swizzle(Swizzle::IDENTITY),
            _ => {
                let mut swizzle = 0;
                for position in 0..4 {
                    swizzle |= (self.component(place.has)? as u32) << (2 * position);
                }
                Components::Swizzle(Swizzle::from_bits(swizzle))
            }
        };
        let operand = Operand::new(place.file, components, place.indices);
        self.modified(operand, class, modifiers)
    }

    /// One component of a source.
    pub fn scalar(&mut self, class: DataClass) -> Result<Operand> {
        if self.one_in(6)? {
            let [word, ..] = self.words(class)?;
            return Ok(Operand::immediate_words(RegisterFile::Immediate32, &[word]));
        }
        let place = self.readable()?;
        let component = self.component(place.has)?;
        Ok(Operand::new(place.file, Components::Select(component), place.indices))
    }

    /// A source of doubles, of which an instruction reads the first (x), the second (y) or both.
    pub fn doubles(&mut self, reads: Mask) -> Result<Operand> {
        if self.one_in(4)? {
            let mut words = [0; 4];
            for pair in words.as_chunks_mut::<2>().0 {
                let bits = edge_bits(self.u, Type::F64)?;
                *pair = [bits as u32, (bits >> 32) as u32];
            }
            let count = if self.one_in(2)? { 2 } else { 4 };
            return Ok(Operand::immediate_words(RegisterFile::Immediate64, &words[..count]));
        }
        let mut place = self.readable()?;
        if pairs(place.has).is_empty() {
            place = self.temp()?;
        }
        // The compiler's swizzles: each double is one of the register's two.
        let mut swizzle = 0;
        for (number, identity) in [(0, Component::X), (1, Component::Y)] {
            let pair = match pairs(place.has) {
                both if both.bits() == 3 && !self.one_in(2)? => identity,
                has => self.component(has)?,
            };
            swizzle |= [0b0100, 0b1110][pair as usize] << (4 * number);
        }
        debug_assert!(!reads.is_empty());
        let operand = Operand::new(place.file, Components::Swizzle(Swizzle::from_bits(swizzle)), place.indices);
        self.modified(operand, DataClass::Double, true)
    }

    /// A destination.
    pub fn destination(&mut self, shape: Shape) -> Result<Operand> {
        let mut place = self.writable()?;
        if shape == Shape::Doubles && pairs(place.has).is_empty() {
            place = self.temp()?;
        }
        let mask = match shape {
            Shape::Any if self.one_in(2)? => place.has,
            Shape::Any => self.mask(place.has)?,
            Shape::Doubles => {
                let pairs = pairs(place.has);
                let pairs = if self.one_in(2)? { pairs } else { self.mask(pairs)? };
                Mask::from_bits(pairs.components().fold(0, |mask, pair| mask | 0b11 << (2 * pair as u32)))
            }
            Shape::OfDoubles => {
                let (one, other) = (self.component(place.has)?, self.component(place.has)?);
                Mask::from_bits(1 << one as u32 | 1 << other as u32)
            }
        };
        let components = match place.file {
            RegisterFile::Temp | RegisterFile::IndexableTemp | RegisterFile::Output => Components::Mask(mask),
            _ => Components::One,
        };
        Ok(Operand::new(place.file, components, place.indices))
    }

    /// A component of a mask that has any.
    pub fn component(&mut self, of: Mask) -> Result<Component> {
        let components: Vec<Component> = of.components().collect();
        Ok(*self.u.choose(&components)?)
    }

    /// Four words of a class.
    fn words(&mut self, class: DataClass) -> Result<[u32; 4]> {
        let types: &[Type] = match class {
            DataClass::Float => &[Type::F32],
            DataClass::Int | DataClass::Uint => &[Type::I32],
            _ => &[Type::F32, Type::I32],
        };
        let ty = *self.u.choose(types)?;
        let mut words = [0; 4];
        for word in &mut words {
            *word = edge_bits(self.u, ty)? as u32;
        }
        Ok(words)
    }

    /// The operand with modifiers that its class has, where it may have any, and with a precision.
    fn modified(&mut self, operand: Operand, class: DataClass, may: bool) -> Result<Operand> {
        let may = may && self.one_in(3)?;
        let modifiers = match class {
            DataClass::Float | DataClass::Double | DataClass::Untyped if may => {
                Modifiers { absolute: self.u.arbitrary()?, negate: self.u.arbitrary()? }
            }
            // Integers have no absolute value.
            DataClass::Int if may => Modifiers { absolute: false, negate: true },
            _ => Modifiers::default(),
        };
        let precision = match class {
            _ if !self.has_model(5, 0) || !self.one_in(20)? => MinPrecision::Default,
            DataClass::Float => *self.u.choose(&[MinPrecision::Float16, MinPrecision::Float2_8])?,
            DataClass::Int => MinPrecision::Sint16,
            DataClass::Uint => MinPrecision::Uint16,
            _ => MinPrecision::Default,
        };
        if modifiers == Modifiers::default() && precision == MinPrecision::Default {
            return Ok(operand);
        }
        Ok(operand.extended(modifiers, precision))
    }
}

/// The doubles that a register with these components holds: x is the first, y the second.
fn pairs(has: Mask) -> Mask {
    let has = |pair: u8| u32::from(has.bits() & pair == pair);
    Mask::from_bits(has(0b0011) | has(0b1100) << 1)
}
