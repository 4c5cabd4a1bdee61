//! `RDEF` parts built by hand.

use super::*;
use crate::container::reader::truncated;

/// Absolute offset of the data in these tests.
const BASE: usize = 0x108;

fn bytes(dwords: &[u32]) -> Vec<u8> {
    dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
}

fn parse(data: &[u8]) -> Result<ResourceDefinitions<'_>, ContainerError> {
    ResourceDefinitions::parse(&Part { name: FourCc::RDEF, offset: BASE - 8, data })
}

/// Where [`model_4`] puts the record of `float4`.
const FLOAT4: u32 = 28 + 32 + 24;

/// A shader model 4 part with one constant buffer `cb` of `variable_records` and one binding for it.
fn model_4(variable_count: u32, variable_records: &[u32]) -> Vec<u8> {
    let binding = 28;
    let buffer = binding + 32;
    let variables = FLOAT4 + 16;
    let names = variables + 4 * variable_records.len() as u32;
    let mut dwords = vec![1, buffer, 1, binding, 0xfffe_0400, 0x100, names + 5];
    dwords.extend([names, 0, 0, 0, 0, 3, 1, 0]);
    dwords.extend([names, variable_count, variables, 64, 0, 0]);
    dwords.extend([0x0003_0001, 0x0004_0001, 0, 0]);
    dwords.extend(variable_records);
    let mut data = bytes(&dwords);
    data.extend_from_slice(b"cb\0m\0me\0");
    data
}

#[test]
fn shader_model_4_has_no_second_header() {
    let names = FLOAT4 + 16 + 24;
    let data = model_4(1, &[names + 3, 16, 4, 2, FLOAT4, names]);
    let rdef = parse(&data).unwrap();
    assert_eq!((rdef.version, rdef.kind, rdef.flags), ((4, 0), Some(ProgramKind::Vertex), 0x100));
    assert_eq!((rdef.creator, rdef.interface_slots), (Name::new(b"me"), 0));
    let [buffer] = rdef.constant_buffers.as_slice() else { panic!("one buffer") };
    assert_eq!((buffer.name, buffer.size, buffer.kind), (Name::new(b"cb"), 64, ConstantBufferType::CBUFFER));
    let variable = Variable {
        name: Name::new(b"m"),
        offset: 16,
        size: 4,
        flags: 2,
        ty: buffer.variables[0].ty,
        default: Some(b"cb\0m"),
        textures: None,
        samplers: None,
    };
    assert_eq!(buffer.variables, [variable]);
    assert!(variable.is_used());
    assert_eq!(rdef.type_of(variable.ty).to_string(), "float4");
    let [binding] = rdef.bindings.as_slice() else { panic!("one binding") };
    assert_eq!((binding.name, binding.input_type), (Name::new(b"cb"), InputType::CBUFFER));
    assert_eq!((binding.slots, binding.space, binding.id), (SlotRange { first: 3, count: 1 }, 0, None));
}

#[test]
fn a_shader_model_4_part_may_carry_the_records_of_model_5() {
    let names = FLOAT4 + 16 + 2 * 40;
    let none = u32::MAX;
    let first = [names + 3, 0, 16, 2, FLOAT4, 0, none, 0, none, 0];
    let second = [names + 5, 16, 16, 0, FLOAT4, 0, 7, 1, none, 0];
    let data = model_4(2, &[first, second].concat());
    let rdef = parse(&data).unwrap();
    let variables = &rdef.constant_buffers[0].variables;
    assert_eq!(variables.iter().map(|v| v.name.to_string()).collect::<Vec<_>>(), ["m", "me"]);
    assert_eq!(variables[1].textures, Some(SlotRange { first: 7, count: 1 }));
    assert_eq!(variables[1].samplers, None);
}

/// A shader model 5 part with one binding record and the strides (header, buffer, binding, variable, type, member).
fn model_5(minor: u32, strides: [u32; 6], binding: &[u32]) -> Vec<u8> {
    let names = 60 + 4 * binding.len() as u32;
    let mut dwords = vec![0, 0, 1, 60, 0x4353_0500 | minor, 0, names, 0x3131_4452];
    dwords.extend(strides);
    dwords.push(3);
    dwords.extend(binding);
    let mut data = bytes(&dwords);
    data.extend_from_slice(b"tex\0");
    data
}

#[test]
fn shader_model_5_states_its_strides() {
    let record = [92, 2, 5, 4, u32::MAX, 1, 2, 0xc];
    let data = model_5(0, [60, 24, 32, 40, 36, 12], &record);
    let rdef = parse(&data).unwrap();
    assert_eq!((rdef.version, rdef.kind, rdef.interface_slots), ((5, 0), Some(ProgramKind::Compute), 3));
    let binding = rdef.bindings[0];
    assert_eq!((binding.name, binding.input_type, binding.flags), (Name::new(b"tex"), InputType::TEXTURE, 0xc));
    assert_eq!((binding.return_type, binding.dimension), (ReturnType::FLOAT, Dimension::TEXTURE_2D));
    assert_eq!((binding.slots, binding.id), (SlotRange { first: 1, count: 2 }, None));

    let longer = [108, 2, 5, 4, u32::MAX, 1, 0, 0, 9, 5, 0xdead, 0xbeef];
    let data = model_5(1, [60, 24, 48, 40, 36, 12], &longer);
    let binding = parse(&data).unwrap().bindings[0];
    assert_eq!((binding.name, binding.space, binding.id), (Name::new(b"tex"), 9, Some(5)));
}

#[test]
fn a_stride_below_the_known_record_is_refused() {
    let record = [92, 2, 5, 4, u32::MAX, 1, 2, 0];
    let error = |minor, strides| parse(&model_5(minor, strides, &record)).unwrap_err();
    assert_eq!(error(1, [60, 24, 32, 40, 36, 12]), invalid("RDEF binding stride", 32, BASE + 40));
    assert_eq!(error(0, [60, 0, 32, 40, 36, 12]), invalid("RDEF constant buffer stride", 0, BASE + 36));
    assert_eq!(error(0, [60, 24, 32, 40, 36, u32::MAX]), invalid("RDEF member stride", u32::MAX.into(), BASE + 52));
}

#[test]
fn constant_buffers_cannot_multiply_one_table() {
    let count = 200;
    let (buffers, variables) = (28, 28 + 24 * count);
    let names = variables + 24 * count;
    let mut dwords = vec![count, buffers, 0, 0, 0xfffe_0400, 0, 0];
    for _ in 0..count {
        dwords.extend([names, count, variables, 16, 0, 0]);
    }
    for _ in 0..count {
        dwords.extend([names, 0, 16, 0, variables, 0]);
    }
    let mut data = bytes(&dwords);
    data.extend_from_slice(b"x\0");
    let room = data.len() as u64 / 24;
    // The second buffer's 200 still fit the part, the third's do not.
    let third = BASE + buffers as usize + 2 * 24 + 4;
    assert_eq!(parse(&data), Err(over_limit("variable count", 3 * u64::from(count), room, third)));
}

#[test]
fn a_record_without_a_name_is_left_out() {
    let data = bytes(&[1, 28, 0, 0, 0xffff_0400, 0, 0, 0, 99, 99, 99, 99, 99]);
    assert_eq!(parse(&data).unwrap().constant_buffers, []);
}

#[test]
fn tables_and_names_outside_the_part_are_errors() {
    let names = FLOAT4 + 16 + 24;
    let mut data = model_4(1, &[names + 3, 16, 4, 2, FLOAT4, 0]);
    data[28..32].copy_from_slice(&5000u32.to_le_bytes());
    assert_eq!(parse(&data), Err(truncated("binding name", BASE + 5000, 1, 0)));
    let data = model_4(1, &[names + 3, 16, 4, 2, FLOAT4, 5000]);
    assert_eq!(parse(&data), Err(truncated("variable default", BASE + 5000, 4, 0)));
    let data = model_4(1, &[names + 3, 16, 4, 2, u32::MAX - 34, 0]);
    assert_eq!(parse(&data), Err(truncated("type", BASE + u32::MAX as usize - 34, 16, 0)));
    assert_eq!(parse(&data[..20]), Err(truncated("RDEF flags", BASE + 20, 4, 0)));
    assert_eq!(parse(&data[..40]), Err(truncated("RDEF creator", BASE + names as usize + 5, 1, 0)));
}

/// A shader model 4 part with a constant buffer whose variables have the types at these positions, counted from the end
/// of the variables, where `types` begin.
fn with_types(positions: &[u32], types: &[u32]) -> (Vec<u8>, u32) {
    let variables = 28 + 24;
    let start = variables + 24 * positions.len() as u32;
    let name = start + 4 * types.len() as u32;
    let mut dwords = vec![1, 28, 0, 0, 0xfffe_0400, 0, 0, name, positions.len() as u32, variables, 16, 0, 0];
    for position in positions {
        dwords.extend([name, 0, 16, 0, start + position, 0]);
    }
    dwords.extend(types.iter().map(|&dword| if dword >= HERE { dword - HERE + start } else { dword }));
    let mut data = bytes(&dwords);
    data.extend_from_slice(b"v\0");
    (data, start)
}

/// Marks a position in the `types` of [`with_types`].
const HERE: u32 = 0x8000_0000;

const STRUCT: u32 = 5;

#[test]
fn types_are_read_once_and_print_as_hlsl() {
    let types = [
        // A struct at 0 with two members, whose records follow at 16: the matrix at 56 and an array of it at 40.
        [STRUCT, 0x0001_0001, 0x0002_0000, HERE + 16].as_slice(),
        &[HERE + 88, HERE + 56, 0, HERE + 88, HERE + 40, 48],
        &[0x0003_0002, 0x0004_0003, 7, 0],
        &[0x0003_0002, 0x0004_0003, 0, 0],
        &[0x0013_0000, 0x0001_0001, 0, 0],
        &[u32::from(b'm')],
    ];
    let (data, _) = with_types(&[0, 72, 0], &types.concat());
    let rdef = parse(&data).unwrap();
    let variables = &rdef.constant_buffers[0].variables;
    assert_eq!(variables[0].ty, variables[2].ty);
    assert_eq!(rdef.type_of(variables[1].ty).to_string(), "uint");
    let outer = rdef.type_of(variables[0].ty);
    assert_eq!((outer.to_string().as_str(), outer.members.len()), ("struct", 2));
    let Member { name, ty, offset } = outer.members[1];
    assert_eq!((name, offset), (Name::new(b"m"), 48));
    let array = rdef.type_of(ty);
    assert_eq!(
        (array.to_string().as_str(), array.rows, array.columns, array.elements),
        ("row_major float3x4", 3, 4, 7)
    );
    assert_eq!(rdef.types.len(), 4);
}

#[test]
fn a_type_cannot_contain_itself() {
    let types = [STRUCT, 0x0001_0001, 0x0001_0000, HERE + 16, HERE + 28, HERE, 0, 0];
    let (data, start) = with_types(&[0], &types);
    let start = start as usize;
    assert_eq!(parse(&data), Err(invalid("type that contains itself", start as u64, BASE + start)));
}

/// Structs of `width` members, each of which is the next struct, `depth` deep.
fn nested(depth: u32, width: u32) -> Vec<u32> {
    let size = 16 + 12 * width;
    let name = HERE + size * depth + 16;
    let mut types = Vec::new();
    for level in 0..depth {
        types.extend([STRUCT, 0x0001_0001, width << 16, HERE + level * size + 16]);
        (0..width).for_each(|_| types.extend([name, HERE + (level + 1) * size, 0]));
    }
    types.extend([0, 0x0001_0001, 0, 0, 0]);
    types
}

#[test]
fn types_nest_to_a_limit() {
    let limit = limits::TYPE_DEPTH;
    assert!(parse(&with_types(&[0], &nested(limit, 1)).0).is_ok());
    let (data, start) = with_types(&[0], &nested(limit + 1, 1));
    let deepest = BASE + (start + 28 * (limit + 1)) as usize;
    assert_eq!(parse(&data), Err(over_limit("nesting of types", 65, 64, deepest)));
    // What was read from the inside out is as deep as what is read from the outside in.
    let (data, start) = with_types(&[28 * 40, 28 * 20, 0], &nested(limit + 1, 1));
    let reached = BASE + (start + 28 * 20) as usize;
    assert_eq!(parse(&data), Err(over_limit("nesting of types", 65, 64, reached)));
}

#[test]
fn a_listing_of_shared_structs_is_bounded() {
    let (data, start) = with_types(&[0], &nested(30, 2));
    let needed = (1 << 31) - 2;
    let error = over_limit("members of all variables", needed, limits::LISTED_MEMBERS, BASE + start as usize);
    assert_eq!(parse(&data), Err(error));
}
