//! A vertex shader that reads buffers, which none of the test data does without reading textures as well.

/// `vs_5_0`: vertex i loads what lies from byte 2 * i of t0 on, member 4 of structure i of t1, and element i of t2, and
/// gives the buffers' sizes.
#[rustfmt::skip]
const TOKENS: &[u32] = &[
    // dcl_resource_raw t0
    0x0300_00a1, 0x0010_7000, 0x0000_0000,
    // dcl_resource_structured t1, 12
    0x0400_00a2, 0x0010_7000, 0x0000_0001, 0x0000_000c,
    // dcl_resource_buffer (float,float,float,float) t2
    0x0400_0858, 0x0010_7000, 0x0000_0002, 0x0000_5555,
    // dcl_input_sgv v0.x, vertex_id
    0x0400_0060, 0x0010_1012, 0x0000_0000, 0x0000_0006,
    // dcl_output o0.xyzw
    0x0300_0065, 0x0010_20f2, 0x0000_0000,
    // dcl_output o1.xyzw
    0x0300_0065, 0x0010_20f2, 0x0000_0001,
    // dcl_output o2.xyzw
    0x0300_0065, 0x0010_20f2, 0x0000_0002,
    // dcl_output o3.xyzw
    0x0300_0065, 0x0010_20f2, 0x0000_0003,
    // dcl_temps 1
    0x0200_0068, 0x0000_0001,
    // ishl r0.x, v0.x, l(1)
    0x0700_0029, 0x0010_0012, 0x0000_0000, 0x0010_100a, 0x0000_0000, 0x0000_4001, 0x0000_0001,
    // ld_raw o0.xyzw, r0.x, t0.xyzw
    0x0700_00a5, 0x0010_20f2, 0x0000_0000, 0x0010_000a, 0x0000_0000, 0x0010_7e46, 0x0000_0000,
    // ld_structured o1.xyzw, v0.x, l(4), t1.xyzw
    0x0900_00a7, 0x0010_20f2, 0x0000_0001, 0x0010_100a, 0x0000_0000, 0x0000_4001, 0x0000_0004, 0x0010_7e46, 0x0000_0001,
    // ld o2.xyzw, v0.xxxx, t2.xyzw
    0x0700_002d, 0x0010_20f2, 0x0000_0002, 0x0010_1006, 0x0000_0000, 0x0010_7e46, 0x0000_0002,
    // bufinfo o3.x, t0.xyzw
    0x0500_0079, 0x0010_2012, 0x0000_0003, 0x0010_7e46, 0x0000_0000,
    // bufinfo o3.y, t1.xyzw
    0x0500_0079, 0x0010_2022, 0x0000_0003, 0x0010_7e46, 0x0000_0001,
    // bufinfo o3.z, t2.xyzw
    0x0500_0079, 0x0010_2042, 0x0000_0003, 0x0010_7e46, 0x0000_0002,
    // ret
    0x0100_003e,
];

/// Names of the container's outputs: what was loaded from each buffer, and the sizes.
pub const OUTPUTS: [&str; 4] = ["RAW", "STRUCTURED", "TYPED", "SIZES"];

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A signature part of one whole register an element: its name and system value.
fn signature(elements: &[(&str, u32)]) -> Vec<u8> {
    const UINT: u32 = 1;
    let mut part = words(&[elements.len() as u32, 8]);
    let mut names = Vec::new();
    for (register, &(name, system_value)) in elements.iter().enumerate() {
        let name_at = 8 + 24 * elements.len() + names.len();
        part.extend(words(&[name_at as u32, 0, system_value, UINT, register as u32, 0xf]));
        names.extend(name.bytes().chain([0]));
    }
    part.extend(names);
    part.resize(part.len().next_multiple_of(4), 0);
    part
}

/// The container. It is not signed.
pub fn container() -> Vec<u8> {
    const VERTEX_ID: u32 = 6;
    let program = [&[0x0001_0050, TOKENS.len() as u32 + 2], TOKENS].concat();
    let parts = [
        (b"ISGN", signature(&[("SV_VertexID", VERTEX_ID)])),
        (b"OSGN", signature(&OUTPUTS.map(|name| (name, 0)))),
        (b"SHEX", words(&program)),
    ];
    let mut offset = 32 + 4 * parts.len();
    let mut offsets = Vec::new();
    let mut body = Vec::new();
    for (name, part) in &parts {
        offsets.push(offset as u32);
        body.extend([&name[..], &(part.len() as u32).to_le_bytes(), part].concat());
        offset += 8 + part.len();
    }
    let head = [1, offset as u32, parts.len() as u32];
    [b"DXBC".to_vec(), vec![0; 16], words(&head), words(&offsets), body].concat()
}
