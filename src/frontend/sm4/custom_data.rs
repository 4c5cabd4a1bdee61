//! Custom data: blocks among the instructions that are not instructions.

use super::operand::Operand;
use super::token::TokenReader;
use crate::error::DecodeError;

/// A block of custom data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CustomData {
    /// The rows of the immediate constant buffer.
    ImmediateConstants(Vec<[u32; 4]>),
    /// A message that a debug layer shows when execution reaches it.
    ShaderMessage(ShaderMessage),
    /// How Direct3D 9 clip planes map to constant buffers, for shaders translated from that interface.
    ClipPlanes(Vec<ClipPlane>),
    /// Comments, debug information and data of no stated meaning.
    Opaque {
        /// 0 comment, 1 debug information, 2 opaque, or a class this crate does not know.
        class: u32,
        /// Its content.
        words: Box<[u32]>,
    },
}

/// A message with values of the program in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShaderMessage {
    /// What kind of message it is: see [`ShaderMessage::name`].
    pub id: u32,
    /// 0 for text, 1 for a `printf` format.
    pub format: u32,
    /// The text, in no stated encoding, without the final NUL.
    pub text: Vec<u8>,
    /// What follows the text up to a whole dword, a NUL first; as many bytes of it as there are.
    pub padding: [u8; 4],
    /// The values.
    pub operands: Vec<Operand>,
}

impl ShaderMessage {
    /// What the reference disassembler prints for the kind of message.
    pub fn name(&self) -> Option<&'static str> {
        match self.id {
            0x0020_0102 => Some("printf"),
            0x0020_0103 => Some("errorf"),
            _ => None,
        }
    }
}

/// Where one Direct3D 9 clip plane's coefficients are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClipPlane {
    /// Bind slot of the constant buffer.
    pub buffer: u16,
    /// First element.
    pub first: u16,
    /// Number of elements.
    pub count: u16,
}

pub(super) mod class {
    pub const IMMEDIATE_CONSTANTS: u32 = 3;
    pub const SHADER_MESSAGE: u32 = 4;
    pub const CLIP_PLANES: u32 = 5;
}

impl CustomData {
    /// Reads a block's content; the reader holds what follows the two header dwords.
    pub(super) fn decode(class: u32, reader: &mut TokenReader) -> Result<Self, DecodeError> {
        match class {
            class::IMMEDIATE_CONSTANTS => immediate_constants(reader).map(CustomData::ImmediateConstants),
            class::SHADER_MESSAGE => shader_message(reader).map(CustomData::ShaderMessage),
            class::CLIP_PLANES => clip_planes(reader).map(CustomData::ClipPlanes),
            _ => {
                let words = (0..reader.remaining()).map(|_| reader.dword("custom data")).collect::<Result<_, _>>()?;
                Ok(CustomData::Opaque { class, words })
            }
        }
    }
}

fn immediate_constants(reader: &mut TokenReader) -> Result<Vec<[u32; 4]>, DecodeError> {
    let what = "immediate constant buffer";
    let mut rows = Vec::with_capacity(reader.remaining() / 4);
    while reader.remaining() != 0 {
        rows.push([reader.dword(what)?, reader.dword(what)?, reader.dword(what)?, reader.dword(what)?]);
    }
    Ok(rows)
}

fn shader_message(reader: &mut TokenReader) -> Result<ShaderMessage, DecodeError> {
    let what = "shader message";
    let id = reader.dword(what)?;
    let format = reader.dword(what)?;
    let length = reader.dword(what)?;
    let count = reader.dword(what)?;
    let operand_dwords = reader.dword(what)?;

    let operands_offset = reader.offset();
    let mut operand_reader = reader.split(operand_dwords as usize, "operands of a shader message")?;
    let mut operands = Vec::new();
    while operand_reader.remaining() != 0 {
        operands.push(Operand::decode(&mut operand_reader)?);
    }
    if operands.len() as u64 != u64::from(count) {
        let (what, value) = ("number of operands of a shader message", u64::from(count));
        return Err(DecodeError::Invalid { what, value, offset: operands_offset });
    }

    // The text is padded to whole dwords, and NUL-terminated within them.
    let dwords = (u64::from(length) + 1).div_ceil(4) as usize;
    let (text, rest) = reader.split(dwords, "text of a shader message")?.bytes().split_at(length as usize);
    let mut padding = [0; 4];
    padding[..rest.len()].copy_from_slice(rest);
    Ok(ShaderMessage { id, format, text: text.to_vec(), padding, operands })
}

fn clip_planes(reader: &mut TokenReader) -> Result<Vec<ClipPlane>, DecodeError> {
    let what = "clip-plane mapping";
    let count = reader.dword(what)?;
    if u64::from(count) * 2 > reader.remaining() as u64 {
        return Err(DecodeError::Truncated { what, offset: reader.offset() });
    }
    (0..count)
        .map(|_| {
            let low = reader.dword(what)?;
            let offset = reader.offset();
            let high = reader.dword(what)?;
            match u16::try_from(high) {
                Ok(count) => Ok(ClipPlane { buffer: low as u16, first: (low >> 16) as u16, count }),
                Err(_) => Err(DecodeError::Invalid { what, value: high.into(), offset }),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::Body;
    use crate::frontend::sm4::testing::program;

    fn decode(class: u32, content: &[u32]) -> Result<CustomData, DecodeError> {
        let program = program(&[&[53 | class << 11, content.len() as u32 + 2], content].concat())?;
        match program.instructions.into_iter().next().map(|instruction| instruction.body) {
            Some(Body::CustomData(data)) => Ok(*data),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn immediate_constants_come_in_rows() {
        assert_eq!(
            decode(3, &[1, 2, 3, 4, 5, 6, 7, 8]),
            Ok(CustomData::ImmediateConstants(vec![[1, 2, 3, 4], [5, 6, 7, 8]]))
        );
        assert!(matches!(decode(3, &[1, 2, 3, 4, 5]), Err(DecodeError::Truncated { offset: 0x24, .. })));
    }

    #[test]
    fn a_message_has_text_and_values() {
        let text = [u32::from_le_bytes(*b"lane"), u32::from_le_bytes(*b" %d\0")];
        let message = |length, count, operands: &[u32]| {
            let header = [0x0020_0102, 1, length, count, operands.len() as u32];
            decode(4, &[&header[..], operands, &text].concat())
        };
        let Ok(CustomData::ShaderMessage(decoded)) = message(7, 1, &[0x4001, 9]) else { panic!() };
        assert_eq!((decoded.name(), &decoded.text[..]), (Some("printf"), &b"lane %d"[..]));
        assert_eq!(decoded.operands[0].immediates(), Some(&[9][..]));
        assert!(matches!(message(7, 2, &[0x4001, 9]), Err(DecodeError::Invalid { value: 2, offset: 0x24, .. })));
        assert!(matches!(message(8, 0, &[]), Err(DecodeError::Truncated { what: "text of a shader message", .. })));
        assert!(matches!(message(u32::MAX, 0, &[]), Err(DecodeError::Truncated { .. })));
        assert!(matches!(message(3, 0, &[]), Err(DecodeError::TrailingTokens { count: 1, .. })));
    }

    #[test]
    fn clip_planes_map_to_constant_buffers() {
        let planes = vec![ClipPlane { buffer: 1, first: 2, count: 3 }];
        assert_eq!(decode(5, &[1, 0x0002_0001, 3]), Ok(CustomData::ClipPlanes(planes)));
        assert!(matches!(decode(5, &[u32::MAX, 0, 0]), Err(DecodeError::Truncated { .. })));
        assert!(matches!(decode(5, &[1, 0, 0x1_0000]), Err(DecodeError::Invalid { offset: 0x18, .. })));
    }

    #[test]
    fn other_classes_are_opaque() {
        for class in [0, 1, 2, 6, 0x1f_ffff] {
            assert_eq!(decode(class, &[7, 8]), Ok(CustomData::Opaque { class, words: Box::new([7, 8]) }));
        }
    }

    #[test]
    fn a_length_that_does_not_cover_its_own_header_is_malformed() {
        for length in [0, 1] {
            assert!(matches!(
                program(&[53, length]),
                Err(DecodeError::Invalid { what: "instruction length", offset: 8, .. })
            ));
        }
        assert!(matches!(program(&[53, u32::MAX]), Err(DecodeError::Truncated { .. })));
        assert!(matches!(program(&[53]), Err(DecodeError::Truncated { .. })));
    }
}
