//! What instructions on textures ask for, and what they make of the answers.

use std::sync::Mutex;

use shaderjit_ir::texture::{Access, OPS, Rows, TextureShape, Textures};
use shaderjit_ir::{Op, Type};

use crate::error::LowerError;
use crate::frontend::sm4::testing::{
    Setup, assemble, error, is_invalid, lower_program, lower_text, program, program_of, run,
};
use crate::frontend::{ComponentType, Lowered, ResourceKind};

/// Declarations of `t0` as every shape, all components floats, by the dimension's number.
fn declared(dimension: u32) -> String {
    format!("dcl_resource!{:#x} t0, 0x5555\ndcl_sampler s3\n", dimension << 11)
}

/// Answers 100 to 103, and remembers what was asked.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<(Access, Vec<[u32; 4]>)>>);

impl Textures for Recorder {
    fn access(&self, access: &Access, lanes: usize, rows: &mut Rows) {
        assert_eq!(lanes, 1);
        let operands = (0..access.op.operands().len()).map(|operand| rows.get(operand, 0)).collect();
        self.0.lock().unwrap().push((*access, operands));
        rows.set(0, [100, 101, 102, 103]);
    }
}

/// Runs with `v0` = 1 to 4, `v1` = 5 to 8 and `v2` = 9 to 12; the only access, and `o0`.
fn asked(lowered: &Lowered) -> (Access, Vec<[u32; 4]>, [u32; 4]) {
    let recorder = Recorder::default();
    let inputs = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]];
    let resources = vec![&[][..]; lowered.interface.resources.len()];
    let setup = Setup { inputs: &inputs, resources: &resources, textures: Some(&recorder), ..Setup::default() };
    let outputs = run(lowered, &setup).unwrap();
    let asked = recorder.0.into_inner().unwrap();
    let [(access, operands)] = asked.try_into().unwrap();
    (access, operands, outputs[0])
}

fn ask(dimension: u32, text: &str) -> (Access, Vec<[u32; 4]>, [u32; 4]) {
    asked(&lower_text(&format!("{}dcl_temps 1\n{text}", declared(dimension))).unwrap())
}

#[test]
fn loads_take_the_coordinates_that_the_shape_has_and_the_level_from_w() {
    let address = |dimension| ask(dimension, "ld o0.xyzw, v0.yzwx, t0.xyzw").1[0];
    assert_eq!(address(2), [2, 0, 0, 1]);
    assert_eq!(address(7), [2, 3, 0, 1]);
    assert_eq!(address(3), [2, 3, 0, 1]);
    assert_eq!(address(8), [2, 3, 4, 1]);
    assert_eq!(address(5), [2, 3, 4, 1]);
    let sample = |dimension| ask(dimension, "ldms o0.xyzw, v0.yzwx, t0.xyzw, v1.z").1[0];
    assert_eq!(sample(4), [2, 3, 0, 7]);
    assert_eq!(sample(9), [2, 3, 4, 7]);
}

#[test]
fn answers_are_swizzled_by_the_view_and_masked_by_the_destination() {
    let o0 = |text: &str| ask(3, text).2;
    assert_eq!(o0("ld o0.xyzw, v0.xyzw, t0.xyzw"), [100, 101, 102, 103]);
    assert_eq!(o0("ld o0.xyzw, v0.xyzw, t0.wzxx"), [103, 102, 100, 100]);
    assert_eq!(o0("ld o0.yw, v0.xyzw, t0.xyzw"), [0, 101, 0, 103]);
    assert_eq!(o0("sample_l o0.zx, v0.xyzw, t0.yyww, s3, l(0)"), [101, 0, 103, 0]);
    // A comparison has one answer.
    assert_eq!(o0("sample_c_lz o0.xyz, v0.xyzw, t0.xxxx, s3, l(0)"), [100, 100, 100, 0]);
}

#[test]
fn samples_take_coordinates_slice_and_what_else_they_need() {
    let operands = |dimension, text: &str| {
        let (access, operands, _) = ask(dimension, text);
        (access.op, operands)
    };
    let first = |operands: &[[u32; 4]]| operands[1][0];
    for (dimension, count) in [(2, 1), (7, 2), (3, 2), (8, 3), (5, 3), (6, 3), (10, 4)] {
        let (op, found) = operands(dimension, "sample_l o0.xyzw, v0.wzyx, t0.xyzw, s3, v1.y");
        let mut coordinates = [4, 3, 2, 1];
        coordinates[count..].fill(0);
        assert_eq!((op, found[0], first(&found)), (Op::SampleLevel, coordinates, 6));
        let (op, found) = operands(dimension, "sample_c_lz o0.xyzw, v0.wzyx, t0.xxxx, s3, v1.z");
        assert_eq!((op, found[0], first(&found)), (Op::SampleCompare, coordinates, 7));
        let (op, found) = operands(dimension, "sample_d o0.xyzw, v0.wzyx, t0.xyzw, s3, v1.xyzw, v2.xyzw");
        let change = |row: [u32; 4]| {
            // A slice has no derivative.
            let count = if matches!(dimension, 7 | 8 | 10) { count - 1 } else { count };
            std::array::from_fn(|word| if word < count { row[word] } else { 0 })
        };
        let changes = [change([5, 6, 7, 8]), change([9, 10, 11, 12])];
        assert_eq!((op, found[0], [found[1], found[2]]), (Op::SampleGradients, coordinates, changes));
    }
}

#[test]
fn gathers_take_a_component_offsets_and_a_reference() {
    let (access, operands, _) = ask(8, "gather4 o0.xyzw, v0.xyzw, t0.xyzw, s3.z");
    assert_eq!((access.op, access.component, operands), (Op::Gather, 2, vec![[1, 2, 3, 0]]));
    let (access, operands, _) = ask(3, "gather4 o0.xyzw, v0.xyzw, t0.xyzw, s3");
    assert_eq!((access.component, operands), (0, vec![[1, 2, 0, 0]]));
    let (access, operands, _) = ask(3, "gather4_po o0.xyzw, v0.xyzw, v1.wzxy, t0.xyzw, s3.w");
    assert_eq!((access.op, access.component, operands), (Op::GatherAt, 3, vec![[1, 2, 0, 0], [8, 7, 0, 0]]));
    let (access, operands, _) = ask(10, "gather4_c o0.xyzw, v0.xyzw, t0.xyzw, s3.x, v1.w");
    assert_eq!((access.op, operands[0], operands[1][0]), (Op::GatherCompare, [1, 2, 3, 4], 8));
    let (access, operands, _) = ask(3, "gather4_po_c o0.xyzw, v0.xyzw, v2.yxzw, t0.xyzw, s3.x, v1.w");
    assert_eq!((access.op, operands[0], operands[1][0]), (Op::GatherCompareAt, [1, 2, 0, 0], 8));
    assert_eq!(operands[2], [10, 9, 0, 0]);
}

/// The last instruction of the text with texel offsets.
fn with_offsets(text: &str, [u, v, w]: [i32; 3]) -> Vec<u32> {
    let (head, last) = text.rsplit_once('\n').unwrap();
    let mut tokens = assemble(last);
    let nibble = |value: i32, bit: u32| (value as u32 & 0xf) << bit;
    tokens[0] = (tokens[0] | 1 << 31) + (1 << 24);
    tokens.insert(1, 1 | nibble(u, 9) | nibble(v, 13) | nibble(w, 17));
    [assemble(head), tokens].concat()
}

#[test]
fn texel_offsets_go_with_the_access() {
    let lower = |dimension, text: &str, offsets| {
        let text = format!("{}{text}", declared(dimension));
        lower_program(&program(&with_offsets(&text, offsets)).unwrap())
    };
    for text in [
        "ld o0.x, v0.xyzw, t0.xyzw",
        "sample_l o0.x, v0.xyzw, t0.xyzw, s3, l(0)",
        "gather4 o0.x, v0.xyzw, t0.xyzw, s3.x",
    ] {
        let (access, ..) = asked(&lower(3, text, [-8, 7, 0]).unwrap());
        assert_eq!(access.offsets, [-8, 7, 0], "{text}");
    }
    let refused = lower(6, "sample_l o0.x, v0.xyzw, t0.xyzw, s3, l(0)", [1, 0, 0]).map(drop);
    assert!(
        matches!(refused, Err(LowerError::Invalid { ref what, .. }) if what.contains("no texel offsets")),
        "{refused:?}"
    );
}

#[test]
fn sizes_are_integers_floats_or_reciprocals() {
    let o0 = |dimension, controls: u32, swizzle: &str| {
        let text = format!("resinfo!{:#x} o0.xyzw, v1.y, t0.{swizzle}", controls << 11);
        let (access, operands, o0) = ask(dimension, &text);
        assert_eq!((access.op, operands[0][0]), (Op::TextureSize, 6));
        o0
    };
    let float = |value: f32| value.to_bits();
    assert_eq!(o0(3, 2, "xyzw"), [100, 101, 102, 103]);
    assert_eq!(o0(3, 2, "wwyx"), [103, 103, 101, 100]);
    assert_eq!(o0(3, 0, "xyzw"), [100.0, 101.0, 102.0, 103.0].map(float));
    assert_eq!(o0(8, 1, "xyzw"), [1.0 / 100.0, 1.0 / 101.0, 102.0, 103.0].map(float));
    assert_eq!(o0(7, 1, "xyzw"), [1.0 / 100.0, 101.0, 102.0, 103.0].map(float));
    assert_eq!(o0(5, 1, "wzyx"), [103.0, 1.0 / 102.0, 1.0 / 101.0, 1.0 / 100.0].map(float));
    assert_eq!(o0(6, 1, "xyzw"), [1.0 / 100.0, 1.0 / 101.0, 102.0, 103.0].map(float));
    // Of a level that there is not.
    let text = format!("{}resinfo!0x800 o0.xyzw, l(9), t0.xyzw", declared(3));
    let lowered = lower_text(&text).unwrap();
    let resources: [&[u8]; 1] = [&[]];
    let outputs = run(&lowered, &Setup { resources: &resources, ..Setup::default() }).unwrap();
    assert_eq!(outputs[0], [f32::INFINITY, f32::INFINITY, 0.0, 0.0].map(float));
}

#[test]
fn sample_counts_are_of_textures_or_of_the_pixel() {
    let (access, operands, o0) = ask(4, "sampleinfo!0x800 o0.xyzw, t0.xyxx");
    assert_eq!((access.op, operands.len(), o0), (Op::TextureSamples, 0, [100, 0, 100, 100]));
    assert_eq!(ask(9, "sampleinfo o0.xyzw, t0.yxzw").2, [0, 100.0f32.to_bits(), 0, 0]);
    let lowered = lower_text("sampleinfo o0.xyzw, rasterizer.xyzw\nsampleinfo!0x800 o1.xy, rasterizer.x").unwrap();
    let outputs = run(&lowered, &Setup::default()).unwrap();
    assert_eq!(outputs[..2], [[1.0f32.to_bits(), 0, 0, 0], [1, 1, 0, 0]]);
}

// ---- declarations and ranges

#[test]
fn the_interface_says_what_to_bind() {
    let text = "dcl_resource!0x1800 t3, 0x4444\ndcl_resource_raw t1\ndcl_resource!0x3000 t2, 0x5555\ndcl_sampler s0
        dcl_sampler!0x800 s7";
    let interface = lower_text(text).unwrap().interface;
    let found: Vec<_> = interface.resources.iter().map(|decl| (decl.slot, decl.space, decl.kind)).collect();
    let texture = |shape, ty| ResourceKind::Texture { shape, ty };
    let expected = [
        (3, 0, texture(TextureShape::D2, ComponentType::U32)),
        (1, 0, ResourceKind::RawBuffer),
        (2, 0, texture(TextureShape::Cube, ComponentType::F32)),
    ];
    assert_eq!(found, expected);
    let found: Vec<_> = interface.samplers.iter().map(|decl| (decl.slot, decl.space, decl.compares)).collect();
    assert_eq!(found, [(0, 0, false), (7, 0, true)]);
}

#[test]
fn registers_of_ranges_become_textures_and_samplers_when_they_are_named() {
    // vs_5_1. Instructions name the range and the register.
    let lower = |text: &str| {
        let text = format!("dcl_resource!0x1800 t[2][4][9], 0x5555, 1\ndcl_sampler s[7][0][0xffffffff], 3\n{text}");
        lower_program(&program_of(0x0001_0051, &assemble(&text)).unwrap())
    };
    let lowered = lower("sample_l o0.xyzw, v0.xyzw, t[2][5].xyzw, s[7][300], l(0)").unwrap();
    let textures: Vec<_> = lowered.interface.resources.iter().map(|decl| (decl.slot, decl.space)).collect();
    let samplers: Vec<_> = lowered.interface.samplers.iter().map(|decl| (decl.slot, decl.space)).collect();
    assert_eq!((textures, samplers), (vec![(5, 1)], vec![(300, 3)]));
    for outside in ["t[2][3].xyzw, s[7][0]", "t[2][4].xyzw, s[6][0]"] {
        let error = lower(&format!("sample_l o0.xyzw, v0.xyzw, {outside}, l(0)")).map(drop);
        assert!(matches!(error, Err(LowerError::Invalid { .. })), "{outside}: {error:?}");
    }
    let many: String =
        (0..300).map(|register| format!("sample_l o0.x, v0.xyzw, t[2][5].xyzw, s[7][{register}], l(0)\n")).collect();
    assert!(matches!(lower(&many).map(drop), Err(LowerError::Limit { limit: 256, .. })));
}

#[test]
fn accesses_and_shapes_must_agree() {
    let invalid = |dimension, text: &str, rule: &str| is_invalid(&format!("{}{text}", declared(dimension)), rule);
    invalid(6, "ld o0.x, v0.xyzw, t0.xyzw", "no integer addresses");
    invalid(4, "ld o0.x, v0.xyzw, t0.xyzw", "ld of a texture2dms");
    invalid(3, "ldms o0.x, v0.xyzw, t0.xyzw, l(0)", "ldms of a texture2d");
    invalid(4, "sample_l o0.x, v0.xyzw, t0.xyzw, s3, l(0)", "several samples");
    invalid(2, "gather4 o0.x, v0.xyzw, t0.xyzw, s3.x", "only rectangles and cubes");
    invalid(5, "gather4_c o0.x, v0.xyzw, t0.xyzw, s3.x, l(0)", "only rectangles and cubes");
    invalid(6, "gather4_po o0.x, v0.xyzw, v0.xyzw, t0.xyzw, s3.x", "no texel offsets");
    invalid(3, "sampleinfo o0.x, t0.xyzw", "one sample");
    invalid(3, "sample_l o0.x, v0.xyzw, t0.xyzw, s4, l(0)", "not declared");
    invalid(3, "sample_l o0.x, v0.xyzw, t0.xyzw, r0, l(0)", "r is no sampler");
    invalid(3, "dcl_sampler s3", "declared twice");
    is_invalid("dcl_resource!0 t0, 0x5555", "dimension unknown");
}

#[test]
fn what_needs_derivatives_is_refused_outside_of_pixel_shaders() {
    let unsupported =
        |dimension, text: &str, opcode: &str| match error(&format!("{}dcl_temps 1\n{text}", declared(dimension))) {
            LowerError::Unsupported { what, .. } => assert_eq!(what, opcode, "{text}"),
            other => panic!("{text}: {other:?}"),
        };
    unsupported(3, "sample o0.xyzw, v0.xyzw, t0.xyzw, s3", "sample");
    unsupported(3, "sample_b o0.xyzw, v0.xyzw, t0.xyzw, s3, l(0)", "sample_b");
    unsupported(3, "sample_c o0.xyzw, v0.xyzw, t0.xxxx, s3, l(0)", "sample_c");
    unsupported(3, "lod o0.x, v0.xyzw, t0.xyzw, s3", "lod");
    is_invalid("dcl_resource!0x1800 t0, 0x5555\nsamplepos o0.xy, t0.xyzw, l(0)", "samplepos of a texture2d");
    unsupported(3, "bufinfo o0.x, t0.xyzw", "bufinfo");
    unsupported(1, "resinfo o0.xyzw, l(0), t0.xyzw", "resinfo");
    unsupported(3, "sample_l o0.x, v0.xyzw, t[r0.x + 0].xyzw, s3, l(0)", "a dynamic choice of resource");
    unsupported(3, "sample_l o0.x, v0.xyzw, t0.xyzw, s[r0.x + 0], l(0)", "a dynamic choice of sampler");
}

/// The same in a pixel shader, by itself: nothing changes from pixel to pixel.
fn ask_pixel(dimension: u32, text: &str) -> (Access, Vec<[u32; 4]>) {
    let program = program_of(0x50, &assemble(&format!("{}dcl_temps 1\n{text}", declared(dimension)))).unwrap();
    let (access, operands, _) = asked(&lower_program(&program).unwrap());
    (access, operands)
}

#[test]
fn implicit_samples_take_derivatives_a_bias_and_the_least_level() {
    let at = [1, 2, 0, 0];
    let asked = |text: &str| {
        let (access, operands) = ask_pixel(3, text);
        (access.op, operands)
    };
    let (zero, gradients) = ([0; 4], Op::SampleGradients);
    assert_eq!(asked("sample o0.xyzw, v0.xyzw, t0.xyzw, s3"), (gradients, vec![at, zero, zero]));
    let with_bias = vec![at, zero, [0, 0, 0, 6]];
    assert_eq!(asked("sample_b o0.xyzw, v0.xyzw, t0.xyzw, s3, v1.y"), (gradients, with_bias));
    let bounded = vec![at, [0, 0, 0, 7], zero];
    assert_eq!(asked("sample_cl_s o0.xyzw, r0.x, v0.xyzw, t0.xyzw, s3, v1.z"), (gradients, bounded));
    let both = vec![at, [0, 0, 0, 7], [0, 0, 0, 6]];
    assert_eq!(asked("sample_b_cl_s o0.xyzw, r0.x, v0.xyzw, t0.xyzw, s3, v1.y, v1.z"), (gradients, both));
    let explicit = vec![at, [5, 6, 0, 12], [9, 10, 0, 0]];
    let text = "sample_d_cl_s o0.xyzw, r0.x, v0.xyzw, t0.xyzw, s3, v1.xyzw, v2.xyzw, v2.w";
    assert_eq!(asked(text), (gradients, explicit));
    let reference = |operands: Vec<[u32; 4]>| (operands[0], operands[1][0], operands[2], operands[3]);
    let (op, found) = asked("sample_c o0.x, v0.xyzw, t0.xxxx, s3, v1.w");
    assert_eq!((op, reference(found)), (Op::SampleCompareGradients, (at, 8, zero, zero)));
    let (op, found) = asked("sample_c_cl_s o0.x, r0.x, v0.xyzw, t0.xxxx, s3, v1.w, v1.z");
    assert_eq!((op, reference(found)), (Op::SampleCompareGradients, (at, 8, [0, 0, 0, 7], zero)));
    assert_eq!(asked("lod o0.xy, v0.xyzw, t0.xyzw, s3"), (Op::TextureLod, vec![at, zero, zero]));
}

#[test]
fn every_texture_op_of_the_ir_is_some_opcodes() {
    let texts = [
        (3, "ld o0.x, v0.xyzw, t0.xyzw"),
        (3, "sample_l o0.x, v0.xyzw, t0.xyzw, s3, l(0)"),
        (3, "sample_d o0.x, v0.xyzw, t0.xyzw, s3, v0.xyzw, v0.xyzw"),
        (3, "sample_c_lz o0.x, v0.xyzw, t0.xxxx, s3, l(0)"),
        (3, "sample_c o0.x, v0.xyzw, t0.xxxx, s3, l(0)"),
        (3, "lod o0.x, v0.xyzw, t0.xyzw, s3"),
        (3, "gather4 o0.x, v0.xyzw, t0.xyzw, s3.x"),
        (3, "gather4_po o0.x, v0.xyzw, v0.xyzw, t0.xyzw, s3.x"),
        (3, "gather4_c o0.x, v0.xyzw, t0.xyzw, s3.x, l(0)"),
        (3, "gather4_po_c o0.x, v0.xyzw, v0.xyzw, t0.xyzw, s3.x, l(0)"),
        (3, "resinfo o0.x, l(0), t0.xyzw"),
        (4, "sampleinfo o0.x, t0.xyzw"),
    ];
    let found = texts.map(|(dimension, text)| ask_pixel(dimension, text).0.op);
    assert_eq!(found, OPS);
    assert!(OPS.iter().all(|op| op.result().fixed() != Some(Type::F64)));
}

#[test]
fn mutated_programs_lower_or_are_refused() {
    let text = format!(
        "{}dcl_resource!0x4000 t1, 0x5555\ndcl_resource!0x2000 t2, 0x5555\ndcl_temps 2
        ld r0.xyzw, v0.xyzw, t0.xyzw
        sample_d r1.xyzw, r0.xyzw, t1.xyzw, s3, v0.xyzw, v1.xyzw
        gather4_po_c r0.xyzw, r1.xyzw, v1.xyzw, t0.xyzw, s3.x, r0.x
        resinfo r1.xyzw, r0.x, t1.xyzw
        ldms o0.xyzw, r1.xyzw, t2.xyzw, r0.y
        sampleinfo o1.xyzw, t2.xyzw",
        declared(3)
    );
    let tokens = assemble(&text);
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
            let resources: Vec<&[u8]> = vec![&[]; interface.resources.len()];
            // Whatever it has become, it ends or runs out of fuel.
            let setup = Setup { uniforms: &uniforms, resources: &resources, ..Setup::default() };
            _ = run(&lowered, &setup);
        }
        Ok(())
    })
    .budget_ms(500);
}
