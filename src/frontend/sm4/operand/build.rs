//! Operands from what they say, for programs that are generated.

use super::{Components, Mask, Modifiers, Operand, RegisterFile, extended_token, operand_token};
use crate::frontend::sm4::codes::MinPrecision;

impl Operand {
    /// An operand that is no immediate value. An index is its constant part and the operand whose component is added to
    /// it.
    pub(crate) fn new(file: RegisterFile, components: Components, indices: Vec<(u32, Option<Operand>)>) -> Self {
        let token = operand_token::FILE.set(components_token(components), file.number());
        let token = operand_token::INDICES.set(token, indices.len() as u32);
        let mut operand = Operand::from_words(token, [0; 4]);
        for (n, (immediate, relative)) in indices.into_iter().enumerate() {
            let representation = match (immediate, &relative) {
                (_, None) => 0,
                (0, Some(_)) => 2,
                (_, Some(_)) => 3,
            };
            operand.token = operand_token::REPRESENTATIONS[n].set(operand.token, representation);
            operand.words[n] = immediate;
            if relative.is_some() {
                operand.relative.get_or_insert_default()[n] = relative;
            }
        }
        operand
    }

    /// An immediate of one or four dwords, or of one or two doubles as two or four.
    ///
    /// # Panics
    /// If there are other numbers of them.
    pub(crate) fn immediate_words(file: RegisterFile, words: &[u32]) -> Self {
        let components = match (file, words.len()) {
            (RegisterFile::Immediate32, 1) | (RegisterFile::Immediate64, 2) => Components::One,
            (_, 4) => Components::Mask(Mask::NONE),
            (_, count) => panic!("an immediate of {count} dwords"),
        };
        let mut operand = Operand::new(file, components, Vec::new());
        operand.words[..words.len()].copy_from_slice(words);
        operand
    }

    /// The same operand with an extended token that says this.
    pub(crate) fn extended(mut self, modifiers: Modifiers, precision: MinPrecision) -> Self {
        let modifier = u32::from(modifiers.negate) | u32::from(modifiers.absolute) << 1;
        let extended = extended_token::TYPE.set(0, extended_token::MODIFIERS);
        let extended = extended_token::MODIFIER.set(extended, modifier);
        self.extended = extended_token::MIN_PRECISION.set(extended, precision.number());
        self.token = operand_token::EXTENDED.set(self.token, 1);
        self
    }
}

/// The fields of the operand token that name components.
fn components_token(components: Components) -> u32 {
    let (count, mode, selection) = match components {
        Components::None => (0, 0, 0),
        Components::One => (1, 0, 0),
        Components::Mask(mask) => (2, 0, u32::from(mask.bits())),
        Components::Swizzle(swizzle) => (2, 1, u32::from(swizzle.bits())),
        Components::Select(component) => (2, 2, component as u32),
    };
    let token = operand_token::COMPONENTS.set(0, count);
    operand_token::SELECTION.set(operand_token::MODE.set(token, mode), selection)
}
