//! Tokens against the text that Microsoft's assembler makes them of, and what is refused.

use super::*;
use crate::error::DecodeError;

const VS_2_0: u32 = 0xfffe_0200;
const VS_2_X: u32 = 0xfffe_0201;
const VS_3_0: u32 = 0xfffe_0300;
const PS_2_0: u32 = 0xffff_0200;
const PS_2_X: u32 = 0xffff_0201;
const PS_3_0: u32 = 0xffff_0300;

/// Absolute offset of the version token in these tests.
const BASE: usize = 0x40;

fn bytes(tokens: &[u32]) -> Vec<u8> {
    tokens.iter().flat_map(|token| token.to_le_bytes()).collect()
}

/// A program of these tokens between version and end.
fn decode(version: u32, tokens: &[u32]) -> Result<Program, DecodeError> {
    Program::decode(&bytes(&[&[version], tokens, &[0xffff]].concat()), BASE)
}

/// The tokens print as the text, indented as listings are, and are encoded again.
#[track_caller]
fn assert_text(version: u32, tokens: &[u32], text: &[&str]) {
    let program = decode(version, tokens).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let listing = program.to_string();
    assert_eq!(listing.lines().skip(1).collect::<Vec<_>>(), text);
    assert_eq!(program.encode(), [&[version], tokens, &[0xffff]].concat());
}

#[test]
fn profiles() {
    let profiles = [VS_2_0, VS_2_X, VS_3_0, PS_2_0, PS_2_X, PS_3_0, 0xfffe_02ff, 0xffff_03ff];
    let names = ["vs_2_0", "vs_2_x", "vs_3_0", "ps_2_0", "ps_2_x", "ps_3_0", "vs_2_sw", "ps_3_sw"];
    assert_eq!(profiles.map(|token| decode(token, &[]).unwrap().version.to_string()), names);
}

#[test]
fn registers_swizzles_and_masks() {
    assert_text(VS_2_0, &[0x0300_0009, 0xc00f_0000, 0x90e4_0000, 0xa0e4_0000], &["dp4 oPos, v0, c0"]);
    assert_text(VS_2_0, &[0x0200_0001, 0xc00f_0001, 0xa000_0000], &["mov oFog, c0.x"]);
    assert_text(VS_2_0, &[0x0200_0001, 0xc00f_0002, 0xa000_0000], &["mov oPts, c0.x"]);
    assert_text(VS_2_0, &[0x0200_0001, 0xe00f_0005, 0xa0e4_0000], &["mov oT5, c0"]);
    assert_text(VS_2_0, &[0x0200_0001, 0xd00f_0001, 0xa0e4_0000], &["mov oD1, c0"]);
    assert_text(VS_2_0, &[0x0300_0009, 0x8009_0000, 0x801b_0001, 0x80f0_0002], &["dp4 r0.xw, r1.wzyx, r2.xxww"]);
    assert_text(VS_2_0, &[0x0300_0002, 0x800f_0000, 0x8100_0000, 0x81e4_0001], &["add r0, -r0.x, -r1"]);
    assert_text(VS_3_0, &[0x0200_0001, 0x800f_0002, 0x8be4_0001], &["mov r2, r1_abs"]);
    assert_text(PS_3_0, &[0x0200_0001, 0x8001_0800, 0x8caa_0000], &["mov oC0.x, -r0_abs.z"]);
    assert_text(PS_2_0, &[0x0200_0001, 0x900f_0800, 0xa000_0000], &["mov oDepth, c0.x"]);
    assert_text(PS_3_0, &[0x0300_0002, 0x800f_0803, 0x80e4_0000, 0x80e4_0001], &["add oC3, r0, r1"]);
    assert_text(PS_3_0, &[0x0200_0001, 0x800f_0000, 0x90e4_1000], &["mov r0, vPos"]);
    assert_text(PS_3_0, &[0x0200_0001, 0x800f_0000, 0x90e4_1001], &["mov r0, vFace"]);
    // The second bank of float constants.
    assert_text(VS_2_0, &[0x0200_0001, 0x800f_0000, 0xb0e4_0801], &["mov r0, c2049"]);
}

#[test]
fn result_modifiers() {
    assert_text(VS_3_0, &[0x0300_0002, 0x801f_0000, 0x80e4_0000, 0x80e4_0001], &["add_sat r0, r0, r1"]);
    assert_text(PS_3_0, &[0x0300_0002, 0x802f_0000, 0x80e4_0000, 0x80e4_0001], &["add_pp r0, r0, r1"]);
    assert_text(PS_3_0, &[0x0300_0002, 0x8031_0001, 0x80ff_0000, 0x80ff_0000], &["add_sat_pp r1.x, r0.w, r0.w"]);
    let texldd = [0x0500_005d, 0x802f_0000, 0x80e4_0001, 0xa0e4_0802, 0x80e4_0003, 0x80e4_0004];
    assert_text(PS_3_0, &texldd, &["texldd_pp r0, r1, s2, r3, r4"]);
}

#[test]
fn relative_operands() {
    assert_text(VS_2_0, &[0x0200_002e, 0xb002_0000, 0xa0aa_0000], &["mova a0.y, c0.z"]);
    assert_text(VS_2_0, &[0x0300_0001, 0x800f_0000, 0xa0e4_2000, 0xb0ff_0000], &["mov r0, c0[a0.w]"]);
    assert_text(VS_2_0, &[0x0300_0001, 0x800f_0000, 0xa100_2005, 0xb0ff_0000], &["mov r0, -c5[a0.w].x"]);
    assert_text(VS_3_0, &[0x0300_0001, 0xe00f_200c, 0xb000_0000, 0x80e4_0000], &["mov o12[a0.x], r0"]);
    assert_text(VS_3_0, &[0x0400_0002, 0x800f_0000, 0x90e4_2014, 0xf0e4_0800, 0x80e4_0002], &["add r0, v20[aL], r2"]);
    let two = [0x0500_0002, 0x800f_0000, 0xa0e4_2000, 0xb000_0000, 0xa0e4_2001, 0xb055_0000];
    assert_text(VS_2_0, &two, &["add r0, c0[a0.x], c1[a0.y]"]);
}

#[test]
fn control_flow_indents() {
    let tokens = [0x0200_001b, 0xf0e4_0800, 0xf0e4_0000, 0x0300_0001, 0x800f_0000, 0xa0e4_2000, 0xf0e4_0800, 0x1d];
    assert_text(VS_2_0, &tokens, &["loop aL, i0", "  mov r0, c0[aL]", "endloop"]);
    assert_text(VS_2_0, &[0x0100_0028, 0xede4_0800, 0x2a, 0x0000_0000, 0x2b], &["if !b0", "else", "  nop", "endif"]);
    assert_text(VS_2_X, &[0x0203_0029, 0x80e4_0000, 0x80e4_0001, 0x2b], &["if_ge r0, r1", "endif"]);
    assert_text(VS_2_0, &[0x0100_0026, 0xf0e4_0000, 0x27], &["rep i0", "endrep"]);
    let tokens = [0x0100_0026, 0xf0e4_0000, 0x2c, 0x0205_002d, 0x80e4_0000, 0x80e4_0001, 0x27];
    assert_text(VS_2_X, &tokens, &["rep i0", "  break", "  break_ne r0, r1", "endrep"]);
    let tokens =
        [0x0200_001a, 0xa0e4_1000, 0xe0e4_0800, 0x0100_0019, 0xa0e4_17ff, 0x1c, 0x0100_001e, 0xa0e4_1000, 0x1c];
    assert_text(VS_2_0, &tokens, &["callnz l0, b0", "call l2047", "ret", "label l0", "ret"]);
}

#[test]
fn predicates() {
    let tokens = [0x0301_005e, 0xb00f_1000, 0x80e4_0000, 0x80e4_0001, 0x1400_0002];
    let tokens = [&tokens[..], &[0x800f_0002, 0xbde4_1000, 0x80e4_0002, 0x80e4_0003]].concat();
    assert_text(VS_2_X, &tokens, &["setp_gt p0, r0, r1", "(!p0) add r2, r2, r3"]);
    assert_text(VS_2_X, &[0x0100_0028, 0xb000_1000, 0x2b], &["if p0.x", "endif"]);
    assert_text(PS_2_X, &[0x0200_001a, 0xa0e4_1000, 0xbdaa_1000], &["callnz l0, !p0.z"]);
    assert_text(PS_2_X, &[0x0100_0060, 0xb0ff_1000], &["breakp p0.w"]);
}

#[test]
fn textures() {
    assert_text(PS_2_0, &[0x0300_0042, 0x800f_0000, 0xb0e4_0001, 0xa0e4_0802], &["texld r0, t1, s2"]);
    assert_text(PS_2_0, &[0x0301_0042, 0x800f_0000, 0xb0e4_0001, 0xa0e4_0802], &["texldp r0, t1, s2"]);
    assert_text(PS_2_0, &[0x0302_0042, 0x800f_0000, 0xb0e4_0001, 0xa0e4_0802], &["texldb r0, t1, s2"]);
    assert_text(PS_2_0, &[0x0100_0041, 0xb00f_0000], &["texkill t0"]);
    assert_text(VS_3_0, &[0x0300_005f, 0x800f_0000, 0x90e4_0000, 0xa0e4_0800], &["texldl r0, v0, s0"]);
}

#[test]
fn sincos_loses_its_coefficients() {
    let tokens = [0x0400_0025, 0x8003_0000, 0x8000_0001, 0xa0e4_0017, 0xa0e4_0018];
    assert_text(VS_2_0, &tokens, &["sincos r0.xy, r1.x, c23, c24"]);
    assert_text(VS_3_0, &[0x0200_0025, 0x8002_0001, 0x8000_0000], &["sincos r1.y, r0.x"]);
}

#[test]
fn declarations() {
    assert_text(VS_2_0, &[0x0200_001f, 0x8000_0000, 0x900f_0001], &["dcl_position v1"]);
    assert_text(VS_2_0, &[0x0200_001f, 0x800c_0003, 0x900f_000f], &["dcl_normal12 v15"]);
    assert_text(VS_3_0, &[0x0200_001f, 0x800c_0005, 0xe003_000b], &["dcl_texcoord12 o11.xy"]);
    assert_text(VS_3_0, &[0x0200_001f, 0x9000_0000, 0xa00f_0800], &["dcl_2d s0"]);
    assert_text(PS_2_0, &[0x0200_001f, 0x9800_0000, 0xa00f_0801], &["dcl_cube s1"]);
    assert_text(PS_2_0, &[0x0200_001f, 0xa000_0000, 0xa00f_0802], &["dcl_volume s2"]);
    assert_text(PS_2_0, &[0x0200_001f, 0x8000_0000, 0xb043_0000], &["dcl_centroid t0.xy"]);
    assert_text(PS_2_0, &[0x0200_001f, 0x8000_0000, 0x900f_0000], &["dcl v0"]);
    assert_text(PS_3_0, &[0x0200_001f, 0x8002_0005, 0x902f_0001], &["dcl_texcoord2_pp v1"]);
    assert_text(PS_3_0, &[0x0200_001f, 0x8000_0000, 0x9003_1000], &["dcl vPos.xy"]);
    assert_text(PS_3_0, &[0x0200_001f, 0x9000_0000, 0xa02f_0800], &["dcl_2d_pp s0"]);
}

#[test]
fn constants() {
    let tokens = [0x0200_002f, 0xe00f_0800, 1, 0x0200_002f, 0xe00f_0801, 0];
    assert_text(VS_2_0, &tokens, &["defb b0, true", "defb b1, false"]);
    let tokens = [0x0500_0030, 0xf00f_0000, u32::MAX, 1, 10, 0];
    assert_text(VS_2_0, &tokens, &["defi i0, -1, 1, 10, 0"]);
}

/// Numbers of listings that Microsoft's tools made of shaders in the wild.
#[test]
fn floats_have_nine_digits() {
    let numbers = [
        "0.159154937",
        "6.28318548",
        "-3.14159274",
        "-1.55009923e-006",
        "0.00026041668",
        "-2.17013894e-005",
        "9.99999975e-005",
        "-0",
        "0",
        "255",
        "1024",
        "-0.0208333340",
        "0.600000024",
        "100000000",
        "1e+009",
        "999999",
    ];
    for number in numbers {
        let bits = number.parse::<f32>().unwrap().to_bits();
        let program = decode(VS_2_0, &[0x0500_0051, 0xa00f_0004, bits, 0x7f80_0000, 0xff80_0000, 0]).unwrap();
        let number = number.strip_suffix("333340").map_or(number.to_string(), |start| format!("{start}33334"));
        assert_eq!(program.to_string(), format!("vs_2_0\ndef c4, {number}, 1.#INF, -1.#INF, 0\n"));
    }
}

#[test]
fn comments_stay_and_are_not_shown() {
    let tokens = [0x0002_fffe, 0x4247_5544, 7, 0x0000_0000];
    assert_text(PS_2_0, &tokens, &["nop"]);
    let program = decode(PS_2_0, &tokens).unwrap();
    assert_eq!(program.instructions[0].body, Body::Comment([0x4247_5544, 7].into()));
}

/// Counts of the reference for programs whose opcodes take several slots: `dsx dsy mul`, and a loop of one instruction.
#[test]
fn instruction_slots() {
    let tokens = [0x0200_005b, 0x800f_0000, 0x90e4_0000, 0x0200_005c, 0x800f_0001, 0x90e4_0000];
    let tokens = [&tokens[..], &[0x0300_0005, 0x800f_0800, 0x80e4_0000, 0x80e4_0001]].concat();
    let slots = decode(PS_3_0, &tokens).unwrap().instruction_slots();
    assert_eq!((slots.texture, slots.arithmetic), (0, 5));
    let slots = decode(VS_2_0, &[0x0200_001b, 0xf0e4_0800, 0xf0e4_0000, 0x1d]).unwrap().instruction_slots();
    assert_eq!(slots.total(), 5);
}

#[test]
fn each_error_names_its_token() {
    let invalid = |what, value: u32, offset| Err(DecodeError::Invalid { what, value: value.into(), offset });
    let truncated = |what, offset| Err(DecodeError::Truncated { what, offset });
    let mov = [0x0200_0001, 0x800f_0000, 0x80e4_0000];
    let with = |at: usize, token: u32| {
        let mut tokens = mov;
        tokens[at] = token;
        tokens
    };
    assert_eq!(decode(0xfffe_0101, &[]), invalid("shader model", 0x101, BASE));
    assert_eq!(decode(0xffff_0301, &[]), invalid("shader model", 0x301, BASE));
    assert_eq!(decode(0xfffd_0200, &[]), invalid("shader stage", 0xfd, BASE));
    assert_eq!(decode(0x7ffe_0200, &[]), invalid("program version", 0x7ffe_0200, BASE));
    assert_eq!(Program::decode(&[0, 2, 0xfe], BASE), truncated("program version", BASE));
    assert_eq!(Program::decode(&bytes(&[VS_2_0]), BASE), truncated("instruction token", BASE + 4));
    assert_eq!(decode(VS_2_0, &[0x0000_0040]), invalid("opcode", 0x40, BASE + 4));
    assert_eq!(decode(VS_2_0, &[0x8000_0001]), invalid("instruction token", 0x8000_0001, BASE + 4));
    assert_eq!(decode(PS_2_0, &[0x0000_002c]), invalid("opcode of another shader model", 0x2c, BASE + 4));
    assert_eq!(decode(VS_2_0, &with(0, 0x0f00_0001)), truncated("instruction", BASE + 8));
    assert_eq!(decode(VS_2_0, &with(0, 0x0100_0001)), truncated("operand", BASE + 12));
    let trailing = Err(DecodeError::TrailingTokens { what: "mov", count: 1, offset: BASE + 4 });
    assert_eq!(decode(VS_2_0, &[&with(0, 0x0300_0001)[..], &[0]].concat()), trailing);
    assert_eq!(decode(VS_2_0, &with(1, 0x000f_0000)), invalid("operand token", 0x000f_0000, BASE + 8));
    assert_eq!(decode(VS_2_0, &with(1, 0xc00f_1800)), invalid("register file", 28, BASE + 8));
    assert_eq!(decode(VS_2_0, &with(1, 0xc00f_0003)), invalid("rasterizer output", 3, BASE + 8));
    assert_eq!(decode(VS_2_0, &with(1, 0x810f_0000)), invalid("result shift", 1, BASE + 8));
    assert_eq!(decode(VS_2_0, &with(2, 0x8ee4_0000)), invalid("source modifier", 14, BASE + 12));
    assert_eq!(decode(PS_3_0, &with(2, 0x90e4_1002)), invalid("miscellaneous register", 2, BASE + 12));
    let relative = invalid("relative operand of a pixel shader", 1, BASE + 12);
    assert_eq!(decode(PS_2_0, &with(2, 0xa0e4_2000)), relative);
    assert_eq!(decode(VS_2_0, &with(2, 0xa0e4_2000)), truncated("index", BASE + 16));
    let index = [0x0300_0001, 0x800f_0000, 0xa0e4_2000, 0x80e4_0000];
    assert_eq!(decode(VS_2_0, &index), invalid("register file of an index", 0, BASE + 16));
    let predicated = [0x1300_0001, 0x800f_0000, 0x80e4_0000, 0x80e4_0000];
    assert_eq!(decode(VS_2_X, &predicated), invalid("register file of a predicate", 0, BASE + 12));
    let declaration = |usage, register| decode(VS_2_0, &[0x0200_001f, usage, register]);
    assert_eq!(declaration(0x8000_000e, 0x900f_0000), invalid("usage", 14, BASE + 8));
    assert_eq!(declaration(0x8800_0000, 0xa00f_0800), invalid("sampler type", 1, BASE + 8));
    assert_eq!(declaration(0, 0x900f_0000), invalid("declaration token", 0, BASE + 8));
    assert_eq!(decode(VS_2_0, &[0x1000_001f]), invalid("predicated declaration", 0x1000_001f, BASE + 4));
    assert_eq!(decode(VS_2_X, &[0x0201_002d]), truncated("instruction", BASE + 8));
    assert_eq!(decode(VS_2_X, &[0x0007_002d]), invalid("comparison", 7, BASE + 4));
    assert_eq!(decode(PS_2_0, &[0x0303_0042]), invalid("texture load", 3, BASE + 4));
    assert_eq!(decode(PS_2_0, &[0x7fff_fffe]), truncated("comment", BASE + 8));
}

#[test]
fn instructions_stay_small() {
    // What a program may cost in memory, for each of its bytes, follows from this: an instruction has at least four.
    assert!(size_of::<Instruction>() <= 64, "{}", size_of::<Instruction>());
}

/// Every program of the test data.
#[test]
fn real_programs_survive() {
    use crate::container::Dxbc;
    use crate::container::dxbc::PartContent;
    let mut count = 0;
    for (path, file) in crate::test_data::containers(&["dxbc"]) {
        for part in Dxbc::parse(&file).unwrap().parts() {
            if let Ok(PartContent::Level9Program(level9)) = part.content() {
                let program = Program::from_container(&level9).unwrap();
                assert_eq!(bytes(&program.encode()), level9.tokens, "{}", path.display());
                count += 1;
            }
        }
    }
    assert_eq!(count, 12);
}

#[test]
fn any_tokens_decode_or_are_refused() {
    let (mut accepted, mut cases) = (0, 0);
    arbtest::arbtest(|u| {
        let mut tokens = vec![*u.choose(&[VS_2_0, VS_2_X, VS_3_0, PS_2_0, PS_2_X, PS_3_0])?];
        for _ in 0..u.int_in_range(0..=8)? {
            let opcode = *u.choose(Opcode::ALL)?;
            let version = decode(tokens[0], &[]).unwrap().version;
            let slots = opcode.slots(version);
            let predicated: bool = u.ratio(1, 8)?;
            let length = slots.len() as u32 + u32::from(predicated);
            let controls = u.int_in_range(0..=7)?;
            tokens.push(opcode.number() | controls << 16 | length << 24 | u32::from(predicated) << 28);
            // Mostly plausible operands, so that decoding gets far.
            for _ in 0..length {
                tokens.push(match u.int_in_range(0..=9)? {
                    0 => u.arbitrary()?,
                    _ => 0x8000_0000 | u.arbitrary::<u32>()? & 0x70ff_0803,
                });
            }
        }
        tokens.push(0xffff);
        let bytes = bytes(&tokens);
        cases += 1;
        match Program::decode(&bytes, BASE) {
            Ok(program) => {
                assert_eq!(program.encode(), tokens, "{program}");
                accepted += 1;
            }
            Err(error) => assert!((BASE..=BASE + bytes.len()).contains(&error.offset()), "{error}"),
        }
        Ok(())
    })
    .budget_ms(1000);
    assert!(accepted * 20 > cases, "{accepted} of {cases}");
}
