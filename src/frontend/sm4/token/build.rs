//! Opcode tokens and their extensions from what they say, for programs that are generated.

use super::{Extended, MAX_EXTENDED, OpcodeToken, Test, extended_token, opcode_token};
use crate::frontend::sm4::codes::{Dimension, InfoReturn, ReturnType, SyncFlags};
use crate::frontend::sm4::opcode::Opcode;
use crate::frontend::sm4::operand::Mask;

impl OpcodeToken {
    /// The token of an opcode without controls. Encoding adds the length.
    pub(crate) fn new(opcode: Opcode) -> Self {
        OpcodeToken { bits: opcode_token::OPCODE.set(0, opcode.number()), opcode }
    }

    /// The same with float results clamped.
    pub(crate) fn saturated(self) -> Self {
        OpcodeToken { bits: opcode_token::SATURATE.set(self.bits, 1), ..self }
    }

    /// The same with a test.
    pub(crate) fn tested(self, test: Test) -> Self {
        OpcodeToken { bits: opcode_token::TEST.set(self.bits, (test == Test::NonZero).into()), ..self }
    }

    /// The same with these destination components precise.
    pub(crate) fn exact(self, mask: Mask) -> Self {
        OpcodeToken { bits: opcode_token::PRECISE.set(self.bits, mask.bits().into()), ..self }
    }

    /// The same with what it waits for.
    pub(crate) fn waiting(self, flags: SyncFlags) -> Self {
        OpcodeToken { bits: flags.set(self.bits), ..self }
    }

    /// The same with what it returns.
    pub(crate) fn returning(self, info: InfoReturn) -> Self {
        // `sampleinfo` has no reciprocals.
        let number = match self.opcode {
            Opcode::SampleInfo => (info == InfoReturn::Uint).into(),
            _ => info.number(),
        };
        OpcodeToken { bits: opcode_token::INFO_RETURN.set(self.bits, number), ..self }
    }
}

impl Extended {
    /// The tokens that say this, in the order compilers write them; none if there is nothing to say.
    pub(crate) fn new(
        texel_offsets: Option<[i8; 3]>,
        resource: Option<(Dimension, u16)>,
        return_types: Option<[ReturnType; 4]>,
    ) -> Option<Box<Self>> {
        let kind = |kind| extended_token::TYPE.set(0, kind);
        let offsets = texel_offsets.map(|offsets| {
            let fields = extended_token::OFFSETS.iter().zip(offsets);
            fields.fold(kind(extended_token::TEXEL_OFFSETS), |token, (field, offset)| field.set(token, offset as u32))
        });
        let resource = resource.map(|(dimension, stride)| {
            let token = extended_token::DIMENSION.set(kind(extended_token::RESOURCE), dimension.number());
            extended_token::STRIDE.set(token, stride.into())
        });
        let types = return_types.map(|types| {
            let types = types.iter().rev().fold(0, |types, ty| types << 4 | ty.number());
            extended_token::RETURN_TYPES.set(kind(extended_token::RESOURCE_RETURN_TYPES), types)
        });
        let mut extended = Extended { tokens: [0; MAX_EXTENDED], count: 0 };
        for token in [offsets, resource, types].into_iter().flatten() {
            extended.tokens[usize::from(extended.count)] = token;
            extended.count += 1;
        }
        let (last, others) = extended.tokens[..usize::from(extended.count)].split_last_mut()?;
        others.iter_mut().for_each(|token| *token = extended_token::CONTINUED.set(*token, 1));
        *last = extended_token::CONTINUED.set(*last, 0);
        Some(Box::new(extended))
    }
}
