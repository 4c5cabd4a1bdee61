use super::super::MAX_RESOURCES;
use crate::error::LowerError;
use crate::frontend::sm4::testing::{
    Setup, assemble, error, is_invalid, lower_program, lower_text, program, program_of, run,
};
use crate::frontend::{ComponentType, Lowered, ResourceKind};

const RAW: &str = "dcl_resource_raw t0";
const STRUCTURED: &str = "dcl_resource_structured t0, 12";
/// Of dimension `buffer`; all components read as floats.
const TYPED: &str = "dcl_resource!0x800 t0, 0x5555";

fn little_endian(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn run_on(lowered: &Lowered, v0: [u32; 4], resources: &[&[u8]]) -> [u32; 4] {
    run(lowered, &Setup { inputs: &[v0], resources, ..Setup::default() }).unwrap()[0]
}

/// One instruction's `o0`, of `v0` and of `t0` with these words.
fn o0(declaration: &str, text: &str, v0: [u32; 4], words: &[u32]) -> [u32; 4] {
    let lowered = lower_text(&format!("{declaration}\ndcl_temps 2\n{text}")).unwrap();
    run_on(&lowered, v0, &[&little_endian(words)])
}

// ---- raw

#[test]
fn raw_loads_take_words_from_an_address_on() {
    let words = [10, 11, 12, 13, 14, 15];
    let ld = |text: &str, address| o0(RAW, text, [address, 0, 0, 0], &words);
    assert_eq!(ld("ld_raw o0.xyzw, v0.x, t0.xyzw", 4), [11, 12, 13, 14]);
    assert_eq!(ld("ld_raw o0.xyzw, v0.x, t0.wzyx", 0), [13, 12, 11, 10]);
    assert_eq!(ld("ld_raw o0.yw, v0.x, t0.xyzx", 0), [0, 11, 0, 10]);
    assert_eq!(ld("ld_raw o0.xyzw, l(8), t0.yyyy", 0), [13; 4]);
}

#[test]
fn raw_addresses_are_aligned_downwards() {
    for low in 0..4 {
        assert_eq!(o0(RAW, "ld_raw o0.xy, v0.x, t0.xyzw", [4 | low, 0, 0, 0], &[1, 2, 3]), [2, 3, 0, 0]);
    }
}

#[test]
fn raw_words_out_of_range_are_zero_one_by_one() {
    let ld = |address| o0(RAW, "ld_raw o0.xyzw, v0.x, t0.xyzw", [address, 0, 0, 0], &[1, 2, 3, 4, 5]);
    assert_eq!(ld(8), [3, 4, 5, 0]);
    assert_eq!(ld(16), [5, 0, 0, 0]);
    assert_eq!(ld(20), [0; 4]);
    // The address of the second word is not 0 again.
    assert_eq!(ld(0xffff_fffc), [0; 4]);
    assert_eq!(ld(0xffff_ffff), [0; 4]);
    assert_eq!(o0(RAW, "ld_raw o0.xyzw, v0.x, t0.xyzw", [0; 4], &[]), [0; 4]);
}

#[test]
fn loads_move_bits() {
    let words = [1, 0x8000_0001, 0x7f80_0001, 0xffff_ffff];
    assert_eq!(o0(RAW, "ld_raw r0.xyzw, l(0), t0.xyzw\nmov o0.xyzw, r0.xyzw", [0; 4], &words), words);
}

#[test]
fn the_address_is_read_before_it_is_overwritten() {
    let text = "mov r0.x, v0.x\nld_raw r0.xy, r0.x, t0.xyzw\nmov o0.xy, r0.xyxx";
    assert_eq!(o0(RAW, text, [4, 0, 0, 0], &[1, 2, 3]), [2, 3, 0, 0]);
}

// ---- structured

#[test]
fn structured_loads_stay_in_their_structure() {
    let words: Vec<u32> = (0..9).collect();
    let ld = |index, byte| o0(STRUCTURED, "ld_structured o0.xyzw, v0.x, v0.y, t0.xyzw", [index, byte, 0, 0], &words);
    assert_eq!(ld(0, 0), [0, 1, 2, 0]);
    assert_eq!(ld(1, 0), [3, 4, 5, 0]);
    assert_eq!(ld(1, 8), [5, 0, 0, 0]);
    assert_eq!(ld(1, 11), [5, 0, 0, 0], "aligned downwards");
    assert_eq!(ld(1, 12), [0; 4]);
    assert_eq!(ld(0, 0xffff_fffc), [0; 4]);
    assert_eq!(ld(2, 0), [6, 7, 8, 0]);
    assert_eq!(ld(3, 0), [0; 4]);
    // 12 * 0x15555556 = 2^32 + 8, and 12 * 0x40000000 = 3 * 2^32.
    for index in [0x1555_5555, 0x1555_5556, 0x4000_0000, 0x8000_0000, u32::MAX] {
        assert_eq!(ld(index, 0), [0; 4], "{index:#x}");
        assert_eq!(ld(index, 8), [0; 4], "{index:#x}");
    }
}

#[test]
fn structured_loads_swizzle() {
    let text = "ld_structured o0.xw, v0.x, l(4), t0.yxxx";
    assert_eq!(o0(STRUCTURED, text, [1, 0, 0, 0], &[0, 1, 2, 3, 4, 5]), [5, 0, 0, 4]);
}

#[test]
fn strides_are_whole_words() {
    for stride in [0, 2, 13] {
        is_invalid(&format!("dcl_resource_structured t0, {stride}"), "structures of");
    }
}

// ---- typed

#[test]
fn typed_loads_give_rows_and_the_last_one_out_of_range() {
    let rows = [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0x3f80_0000];
    let ld = |text: &str, index| o0(TYPED, text, [index, 0, 0, 0], &rows);
    assert_eq!(ld("ld o0.xyzw, v0.xxxx, t0.xyzw", 0), [1, 2, 3, 4]);
    assert_eq!(ld("ld o0.xyz, v0.xxxx, t0.wzyx", 1), [8, 7, 6, 0]);
    assert_eq!(ld("ld o0.x, v0.xxxx, t0.xyzw\nld o0.y, v0.xxxx, t0.xwzy", 1), [5, 8, 0, 0]);
    for index in [2, 3, 0x1000_0000, 0x8000_0000, u32::MAX] {
        assert_eq!(ld("ld o0.xyzw, v0.xxxx, t0.xyzw", index), [0, 0, 0, 0x3f80_0000], "{index:#x}");
    }
    // Nothing is bound.
    for index in [0, 1, 0x1000_0000, u32::MAX] {
        assert_eq!(o0(TYPED, "ld o0.xyzw, v0.xxxx, t0.xyzw", [index, 0, 0, 0], &[]), [0; 4]);
    }
}

#[test]
fn typed_loads_of_some_components_give_shorter_rows_and_zeros_out_of_range() {
    let words = [1, 2, 3, 4, 5, 6, 7, 8];
    let ld = |text: &str, index| o0(TYPED, text, [index, 0, 0, 0], &words);
    let [one, two, three] = ["ld o0.yz, v0.xxxx, t0.xxxx", "ld o0.xy, v0.xxxx, t0.yxyw", "ld o0.x, v0.xxxx, t0.zxyw"];
    assert_eq!([0, 7].map(|index| ld(one, index)), [[0, 1, 1, 0], [0, 8, 8, 0]]);
    assert_eq!([0, 3].map(|index| ld(two, index)), [[2, 1, 0, 0], [8, 7, 0, 0]]);
    assert_eq!([0, 1].map(|index| ld(three, index)), [[3, 0, 0, 0], [7, 0, 0, 0]]);
    for (text, count) in [(one, 8), (two, 4), (three, 2)] {
        // Some of these times the size of a row are a small number modulo 2^32.
        for index in [count, count + 1, 0x1000_0000, 0x2000_0000, 0x4000_0000, 0x4000_0001, 0x8000_0000, u32::MAX] {
            assert_eq!(ld(text, index), [0; 4], "{text} {index:#x}");
        }
        assert_eq!(o0(TYPED, text, [0; 4], &[]), [0; 4], "nothing is bound");
        let info = format!("{text}\nbufinfo o0.x, t0.xyzw");
        assert_eq!(o0(TYPED, &info, [0; 4], &words)[0], count);
        assert_eq!(o0(TYPED, &info, [0; 4], &[])[0], 0);
    }
}

// ---- sizes

#[test]
fn bufinfo_counts_bytes_structures_and_elements() {
    let info = |declaration, words| o0(declaration, "bufinfo o0.xz, t0.xyzw", [0; 4], &vec![0; words]);
    assert_eq!(info(RAW, 7), [28, 0, 28, 0]);
    assert_eq!(info(STRUCTURED, 9), [3, 0, 3, 0]);
    assert_eq!(info(TYPED, 12), [12, 0, 12, 0]);
    let info_of_rows = |words| {
        let text = "ld o0.xyzw, l(0), t0.xyzw\nbufinfo o0.xz, t0.xyzw";
        let [x, _, z, _] = o0(TYPED, text, [0; 4], &vec![0; words]);
        [x, z]
    };
    assert_eq!([12, 4, 0].map(info_of_rows), [[2; 2], [0; 2], [0; 2]]);
    for declaration in [RAW, STRUCTURED, TYPED] {
        assert_eq!(info(declaration, 0), [0; 4]);
    }
}

// ---- declarations and ranges

#[test]
fn the_interface_says_what_to_bind() {
    let text = "dcl_resource!0x800 t3, 0x4444\ndcl_resource!0x800 t4, 0x3333
        dcl_resource_raw t1\ndcl_resource_structured t9, 52";
    let resources = lower_text(text).unwrap().interface.resources;
    let found: Vec<_> = resources.iter().map(|decl| (decl.slot, decl.space, decl.kind)).collect();
    let typed = |ty| ResourceKind::TypedBuffer { ty, components: 1 };
    assert_eq!(
        found,
        [
            (3, 0, typed(ComponentType::U32)),
            (4, 0, typed(ComponentType::I32)),
            (1, 0, ResourceKind::RawBuffer),
            (9, 0, ResourceKind::StructuredBuffer { stride: 52 }),
        ]
    );
}

#[test]
fn registers_of_ranges_become_resources_when_they_are_named() {
    // vs_5_1. Range 2 is t4 to t9 of space 1; instructions name the range and the register.
    let lower = |text: &str| {
        let text = format!("dcl_resource_raw t[2][4][9], 1\ndcl_resource_raw t[7][0][0xffffffff], 0\n{text}");
        lower_program(&program_of(0x0001_0051, &assemble(&text)).unwrap())
    };
    let lowered =
        lower("ld_raw o0.x, l(0), t[2][5].xyzw\nld_raw o0.y, l(0), t[7][200].xxxx\nbufinfo o0.z, t[2][5].x").unwrap();
    let found: Vec<_> = lowered.interface.resources.iter().map(|decl| (decl.slot, decl.space)).collect();
    assert_eq!(found, [(5, 1), (200, 0)]);
    let resources: [&[u8]; 2] = [&little_endian(&[6, 7]), &little_endian(&[8])];
    assert_eq!(run_on(&lowered, [0; 4], &resources), [6, 8, 8, 0]);
    for outside in ["t[2][3].x", "t[2][10].x", "t[3][5].x"] {
        let error = lower(&format!("bufinfo o0.x, {outside}")).map(drop);
        assert!(matches!(error, Err(LowerError::Invalid { .. })), "{outside}: {error:?}");
    }
    let many: String = (0..1100).map(|register| format!("bufinfo o0.x, t[7][{register}].x\n")).collect();
    assert!(matches!(lower(&many).map(drop), Err(LowerError::Limit { limit: MAX_RESOURCES, .. })));
}

#[test]
fn what_is_no_buffer_is_refused_with_the_opcode() {
    let texture = "dcl_resource!0x1800 t0, 0x5555";
    let unsupported = |text: &str, opcode: &str| match error(text) {
        LowerError::Unsupported { what, offset } => {
            let start = 4 * (2 + assemble(text.rsplit_once('\n').map_or("", |(head, _)| head)).len());
            assert_eq!((what.as_str(), offset), (opcode, start), "{text}");
        }
        other => panic!("{text}: {other:?}"),
    };
    unsupported(&format!("{texture}\nbufinfo o0.x, t0.xyzw"), "bufinfo");
    unsupported(&format!("{TYPED}\nresinfo o0.xyzw, l(0), t0.xyzw"), "resinfo");
    unsupported(&format!("{RAW}\nld_raw o0.x, l(0), t[v0.x + 0].xyzw"), "a dynamic choice of resource");
}

#[test]
fn loads_and_declarations_must_agree() {
    is_invalid("ld_raw o0.x, l(0), t0.xyzw", "not declared");
    is_invalid(&format!("{RAW}\n{RAW}"), "declared twice");
    is_invalid(&format!("{RAW}\nld o0.x, v0.xxxx, t0.xyzw"), "ld of a raw buffer");
    is_invalid(&format!("{TYPED}\nld_structured o0.x, l(0), l(0), t0.xyzw"), "ld_structured of a typed buffer");
    is_invalid(&format!("{STRUCTURED}\nld_raw o0.x, l(0), t0.xyzw"), "structures of 12 bytes");
    is_invalid(&format!("{RAW}\nld_raw o0.x, l(0), v0.xyzw"), "no resource");
    assert!(program(&assemble("ld_raw o0.x, l(0), t0.xyzw")).is_ok());
}

#[test]
fn mutated_programs_lower_or_are_refused() {
    let text = "dcl_resource_raw t0
        dcl_resource_structured t1, 12
        dcl_resource!0x800 t2, 0x5555
        dcl_temps 2
        ld_raw r0.xyzw, v0.x, t0.xyzw
        ld_structured r1.xyzw, r0.x, r0.y, t1.xyzw
        ld o0.xyzw, r1.xxxx, t2.xyzw
        bufinfo o1.x, t0.xyzw
        bufinfo o1.y, t1.xyzw
        bufinfo o1.z, t2.xyzw";
    let tokens = assemble(text);
    let words = little_endian(&[4, 0, 1, 8, u32::MAX, 5]);
    arbtest::arbtest(|u| {
        let mut tokens = tokens.clone();
        for _ in 0..u.int_in_range(1..=4)? {
            let at = u.choose_index(tokens.len())?;
            match u.int_in_range(0..=2)? {
                0 => tokens[at] ^= 1 << u.int_in_range(0..=31)?,
                1 => tokens[at] = u.int_in_range(0..=64)?,
                _ => tokens[at] = tokens[u.choose_index(tokens.len())?],
            }
        }
        let model = *u.choose(&[0x0001_0040, 0x0001_0050, 0x0001_0051])?;
        let Ok(program) = program_of(model, &tokens) else { return Ok(()) };
        if let Ok(lowered) = lower_program(&program) {
            let interface = &lowered.interface;
            let uniforms: Vec<&[[u32; 4]]> = vec![&[]; interface.uniforms.len()];
            let resources: Vec<&[u8]> = vec![&words[..u.int_in_range(0..=words.len())?]; interface.resources.len()];
            // Whatever it has become, it ends or runs out of fuel.
            let v0 = [u.arbitrary()?, 0, 0, 0];
            let setup = Setup { inputs: &[v0], uniforms: &uniforms, resources: &resources, ..Setup::default() };
            _ = run(&lowered, &setup);
        }
        Ok(())
    })
    .budget_ms(500);
}
