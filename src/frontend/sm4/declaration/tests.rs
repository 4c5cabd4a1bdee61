//! Declarations decoded from tokens written by hand, and what of them is refused.

use super::{Binding, Declaration};
use crate::error::DecodeError;
use crate::frontend::sm4::codes::{Dimension, Interpolation, ReturnType, SystemValue};
use crate::frontend::sm4::opcode::{Group, Opcode};
use crate::frontend::sm4::operand::RegisterFile;
use crate::frontend::sm4::{Body, Program};

/// Decodes one declaration: its opcode token without the length, and the dwords that follow.
fn decode(model: u32, bits: u32, rest: &[u32]) -> Result<Declaration, DecodeError> {
    let length = rest.len() as u32 + 1;
    let dwords = [&[0x0001_0000 | model, length + 2, bits | length << 24], rest].concat();
    let bytes: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
    let program = Program::decode(&bytes, 0)?;
    match program.instructions.into_iter().next().map(|instruction| instruction.body) {
        Some(Body::Declaration(declaration)) => Ok(declaration),
        other => panic!("{other:?}"),
    }
}

const T1: [u32; 2] = [0x0010_7000, 1];
const T_RANGE: [u32; 4] = [0x0030_7000, 1, 4, u32::MAX];

#[test]
fn a_resource_has_slot_or_range() {
    let bits = Opcode::DclResource.number() | 4 << 11 | 8 << 16;
    let declared = |binding| Declaration::Resource {
        binding,
        dimension: Dimension::Texture2dMs,
        samples: 8,
        return_types: [ReturnType::Float, ReturnType::Uint, ReturnType::Sint, ReturnType::Unorm],
    };
    let slot = Binding { id: 1, lower: 1, upper: 1, space: 0, token: T1[0] };
    assert_eq!(decode(0x50, bits, &[&T1[..], &[0x1345]].concat()), Ok(declared(slot)));
    let range = Binding { id: 1, lower: 4, upper: u32::MAX, space: 7, token: T_RANGE[0] };
    assert_eq!(decode(0x51, bits, &[&T_RANGE[..], &[0x1345, 7]].concat()), Ok(declared(range)));
    // The number of indices goes with the model.
    assert!(matches!(
        decode(0x50, bits, &[&T_RANGE[..], &[0x1345]].concat()),
        Err(DecodeError::Invalid { value: 3, .. })
    ));
    assert!(matches!(
        decode(0x51, bits, &[&T1[..], &[0x1345, 7]].concat()),
        Err(DecodeError::Invalid { value: 1, .. })
    ));
    assert!(matches!(decode(0x50, bits, &T1), Err(DecodeError::Truncated { .. })));
    assert!(matches!(
        decode(0x50, bits, &[&T1[..], &[0x1300]].concat()),
        Err(DecodeError::Invalid { what: "resource return type", .. })
    ));
}

#[test]
fn a_constant_buffer_has_rows() {
    let bits = Opcode::DclConstantBuffer.number() | 1 << 11;
    let binding = Binding { id: 2, lower: 2, upper: 2, space: 0, token: 0x0020_8e46 };
    assert_eq!(
        decode(0x40, bits, &[0x0020_8e46, 2, 14]),
        Ok(Declaration::ConstantBuffer { binding, rows: 14, dynamic: true })
    );
    let binding = Binding { id: 0, lower: 1, upper: 3, space: 9, token: 0x0030_8e46 };
    assert_eq!(
        decode(0x51, bits & !(1 << 11), &[0x0030_8e46, 0, 1, 3, 5, 9]),
        Ok(Declaration::ConstantBuffer { binding, rows: 5, dynamic: false })
    );
}

#[test]
fn registers_are_of_the_declared_file() {
    let bits = Opcode::DclSampler.number();
    assert!(matches!(
        decode(0x50, bits, &T1),
        Err(DecodeError::Invalid { what: "register file of a declaration", value: 7, .. })
    ));
    // `dcl_input v[r0.x]`
    let dynamic = [0x0010_1000 | 2 << 22, 0x0010_000a, 0];
    assert!(matches!(decode(0x50, Opcode::DclInput.number(), &dynamic), Err(DecodeError::Invalid { value: 1, .. })));
}

#[test]
fn system_values_and_modes_are_known_ones() {
    let input = [0x0010_1012, 0];
    let siv = |value| decode(0x50, Opcode::DclInputSgv.number(), &[&input[..], &[value]].concat());
    assert!(matches!(siv(6), Ok(Declaration::Input { system_value: Some(SystemValue::VertexId), .. })));
    assert!(matches!(siv(99), Err(DecodeError::Invalid { what: "system value", value: 99, offset: 0x14 })));
    let mode = |mode: u32| decode(0x50, Opcode::DclInputPs.number() | mode << 11, &input);
    assert!(matches!(mode(2), Ok(Declaration::Input { interpolation: Some(Interpolation::Linear), .. })));
    assert!(matches!(mode(8), Err(DecodeError::Invalid { what: "interpolation mode", value: 8, offset: 8 })));
}

#[test]
fn lists_are_as_long_as_they_say() {
    let table = |rest: &[u32]| decode(0x50, Opcode::DclFunctionTable.number(), rest);
    assert_eq!(table(&[3, 2, 7, 8]), Ok(Declaration::FunctionTable { id: 3, bodies: Box::new([7, 8]) }));
    assert!(matches!(table(&[3, 3, 7, 8]), Err(DecodeError::Truncated { .. })));
    assert!(matches!(table(&[3, u32::MAX]), Err(DecodeError::Truncated { .. })));
    assert!(matches!(table(&[3, 1, 7, 8]), Err(DecodeError::TrailingTokens { count: 1, .. })));
    let interface = decode(0x50, Opcode::DclInterface.number() | 1 << 11, &[4, 1, 0x0004_0002, 2, 3]);
    let Ok(Declaration::Interface(interface)) = interface else { panic!("{interface:?}") };
    assert_eq!((interface.id, interface.dynamic, interface.array_length), (4, true, 4));
    assert_eq!(interface.tables, Box::from([2, 3]));
}

#[test]
fn every_declaration_is_decoded() {
    let declarations = Opcode::ALL.iter().copied().filter(|opcode| opcode.group() == Group::Declaration);
    for opcode in declarations {
        let (file, indices) = match opcode {
            Opcode::DclConstantBuffer => (RegisterFile::ConstantBuffer, 2),
            Opcode::DclSampler => (RegisterFile::Sampler, 1),
            Opcode::DclStream => (RegisterFile::Stream, 1),
            Opcode::DclUavTyped | Opcode::DclUavRaw | Opcode::DclUavStructured => (RegisterFile::UnorderedAccess, 1),
            Opcode::DclTgsmRaw | Opcode::DclTgsmStructured => (RegisterFile::GroupShared, 1),
            _ => (RegisterFile::Resource, 1),
        };
        // What may follow the opcode token: an operand and a number, an operand and return types, or numbers. One
        // of them must do, at one length.
        let operand = indices << 20 | file.number() << 12;
        let follows = [[operand, 1, 1, 1, 1], [operand, 1, 0x5555, 1, 1], [0, 1, 1, 1, 1]];
        let decodes = follows.iter().any(|words| {
            (0..=words.len()).any(|length| decode(0x50, opcode.number() | 1 << 11, &words[..length]).is_ok())
        });
        assert!(decodes, "{opcode}");
    }
}
