//! Operands: modifiers and immediates, and the registers of every file, by name and by index.

use super::{ONES, floats};
use crate::container::dxbc::SystemValue;
use crate::error::LowerError;
use crate::frontend::UniformKind;
use crate::frontend::sm4::testing::{
    Setup, assemble, error, is_invalid, lower_program, lower_text, o0, program, program_of, run, signature,
};
use crate::frontend::sm4::{Opcode, lower};

// ---- operands

#[test]
fn sources_are_read_before_anything_is_written() {
    assert_eq!(o0("mov r0.xyzw, v0.xyzw\nmov r0.xyzw, r0.wxyz\nmov o0.xyzw, r0.xyzw", [1, 2, 3, 4]), [4, 1, 2, 3]);
    // Quotient and remainder, each written over a source.
    assert_eq!(
        o0("mov r0.xy, v0.xyzw\nudiv r0.x, r0.y, r0.x, r0.y\nmov o0.xyzw, r0.xyzw", [17, 5, 0, 0]),
        [3, 2, 0, 0]
    );
    // The index of the second destination is that of before the first is written.
    let text = "dcl_indexableTemp x0[4], 4
        mov r0.xy, v0.xyzw
        udiv r0.x, x0[r0.x + 1].x, v0.z, r0.y
        mov o0.x, x0[3].x
        mov o0.y, r0.x";
    assert_eq!(o0(text, [2, 5, 17, 0]), [2, 3, 0, 0]);
}

#[test]
fn modifiers_edit_sign_bits_of_floats_and_negate_integers() {
    let nan = 0x7f80_0001;
    assert_eq!(o0("mov o0.xyzw, -v0.xyzw", [0, 1, nan, 5]), [1 << 31, 0x8000_0001, 0xff80_0001, 0x8000_0005]);
    assert_eq!(o0("mov o0.xyzw, -|v0.xyzw|", [1 << 31, 7, ONES, 0])[..3], [1 << 31, 0x8000_0007, ONES]);
    assert_eq!(o0("iadd o0.xyzw, -v0.xyzw, l(1)", [1, 2, 0, 1 << 31]), [0, ONES, 1, 0x8000_0001]);
    assert_eq!(o0("and o0.x, -v0.x, l(0xff)", [1, 0, 0, 0]), [0xff, 0, 0, 0]);
}

#[test]
fn saturate_clamps_and_kills_nan() {
    let values = floats([f32::NAN, -1.0, 0.5, 3.0]);
    assert_eq!(o0("mov_sat o0.xyzw, v0.xyzw", values), floats([0.0, 0.0, 0.5, 1.0]));
    assert_eq!(o0("itof_sat o0.xyzw, v0.xyzw", [-5i32 as u32, 0, 1, 7]), floats([0.0, 0.0, 1.0, 1.0]));
    assert_eq!(o0("sincos_sat o0.x, o0.y, v0.x", [0, 0, 0, 0]), floats([0.0, 1.0, 0.0, 0.0]));
}

#[test]
fn moves_keep_denormals_and_nans_that_arithmetic_does_not() {
    let values = [1, 0x8000_0001, 0x7f80_0001, 0x007f_ffff];
    assert_eq!(o0("mov r0.xyzw, v0.xyzw\nmovc o0.xyzw, v0.xyzw, r0.xyzw, l(0)", values), values);
    assert_eq!(o0("mul o0.xyw, v0.xyzw, l(1.0)", values), [0, 1 << 31, 0, 0]);
}

#[test]
fn immediates_broadcast_and_null_takes_anything() {
    assert_eq!(o0("mov o0.xyzw, l(7)", [0; 4]), [7; 4]);
    assert_eq!(o0("iadd o0.xyzw, l(1, 2, 3, 4), l(10)", [0; 4]), [11, 12, 13, 14]);
    assert_eq!(o0("imul null, o0.x, v0.x, v0.y", [6, 7, 0, 0]), [42, 0, 0, 0]);
    assert_eq!(o0("imul o0.x, null, v0.x, v0.y", [1 << 31, 4, 0, 0]), [-2i32 as u32, 0, 0, 0]);
}

// ---- registers

#[test]
fn constant_buffers_take_static_and_dynamic_rows() {
    let rows = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]];
    let text = "dcl_constantbuffer cb3[2]
        mov o0.x, cb3[1].y
        mov o0.y, cb3[v0.x + 1].z
        mov o0.z, cb3[v0.y + 1].z
        iadd o0.w, cb3[v0.z + 0].w, l(0)";
    let lowered = lower_text(text).unwrap();
    let declared = &lowered.interface.uniforms;
    assert_eq!((declared.len(), declared[0].rows), (1, 2));
    assert_eq!(declared[0].kind, UniformKind::ConstantBuffer { slot: 3, space: 0 });
    // The third row is bound though not declared; the index wraps; past what is bound lie zeros.
    let setup = Setup { inputs: &[[1, ONES, 100, 0]], uniforms: &[&rows], ..Setup::default() };
    assert_eq!(run(&lowered, &setup).unwrap()[0], [6, 11, 3, 0]);
    is_invalid("mov o0.x, cb3[0].x", "not declared");
    is_invalid("dcl_constantbuffer cb1[1]\ndcl_constantbuffer cb1[2]", "declared twice");
}

#[test]
fn ranges_of_constant_buffers_name_their_registers() {
    // dcl_constantbuffer CB0[4:4][2], space=0 and CB1[1:3][5], space=7
    let length = 7 << 24;
    let declarations = [
        [Opcode::DclConstantBuffer.number() | length, 0x0030_8e46, 0, 4, 4, 2, 0],
        [Opcode::DclConstantBuffer.number() | length, 0x0030_8e46, 1, 1, 3, 5, 7],
    ];
    let lower = |text: &str| {
        let tokens = [declarations.concat(), assemble(text)].concat();
        lower_program(&program_of(0x0001_0051, &tokens).unwrap())
    };
    let lowered =
        lower("mov o0.x, cb0[4][1].x\nmov o0.y, cb1[3][v0.x + 0].y\nmov o0.z, cb1[2][0].x\nmov o0.w, cb1[3][0].x")
            .unwrap();
    let kinds: Vec<_> = lowered.interface.uniforms.iter().map(|uniform| (uniform.kind, uniform.rows)).collect();
    let buffer = |slot, space| UniformKind::ConstantBuffer { slot, space };
    assert_eq!(kinds, [(buffer(4, 0), 2), (buffer(3, 7), 5), (buffer(2, 7), 5)]);
    let setup = Setup {
        inputs: &[[1, 0, 0, 0]],
        uniforms: &[&[[0; 4], [7, 0, 0, 0]], &[[1, 2, 3, 4], [5, 6, 7, 8]], &[[9, 0, 0, 0]]],
        ..Setup::default()
    };
    assert_eq!(run(&lowered, &setup).unwrap()[0], [7, 6, 9, 1]);
    assert!(matches!(lower("mov o0.x, cb1[4][0].x"), Err(LowerError::Invalid { .. })));

    let lowered = lower("mov o0.x, cb1[v0.x + 1][0].x\nmov o0.y, cb1[v0.x + 1][v0.y + 1].y").unwrap();
    let slots: Vec<_> = lowered.interface.uniforms[1..].iter().map(|uniform| uniform.kind).collect();
    assert_eq!(slots, [buffer(1, 7), buffer(2, 7), buffer(3, 7)]);
    let rows = [[[1, 2, 0, 0], [3, 4, 0, 0]], [[5, 6, 0, 0], [7, 8, 0, 0]], [[9, 10, 0, 0], [11, 12, 0, 0]]];
    for (v0, expected) in
        [([0, 0], [1, 4]), ([1, ONES], [5, 6]), ([2, 0], [9, 12]), ([3, 0], [0, 0]), ([ONES, 0], [0, 0])]
    {
        let setup = Setup {
            inputs: &[[v0[0], v0[1], 0, 0]],
            uniforms: &[&[], &rows[0], &rows[1], &rows[2]],
            ..Setup::default()
        };
        assert_eq!(run(&lowered, &setup).unwrap()[0][..2], expected, "{v0:?}");
    }
}

#[test]
fn immediate_constants_are_a_table_of_the_program() {
    let rows = [5, 6, 7, 8, 9, 10, 11, 12];
    let custom_data = [&[53 | 3 << 11, 10][..], &rows].concat();
    let text = "mov o0.x, icb[1].y\nmov o0.y, icb[v0.x + 1].w\nmov o0.z, icb[v0.y + 0].x";
    let lowered = lower_program(&program(&[custom_data.clone(), assemble(text)].concat()).unwrap()).unwrap();
    assert_eq!(lowered.interface.uniforms[0].kind, UniformKind::Table);
    let setup = Setup { inputs: &[[ONES, 2, 0, 0]], uniforms: &[&[]], ..Setup::default() };
    assert_eq!(run(&lowered, &setup).unwrap()[0], [10, 8, 0, 0]);
    is_invalid("mov o0.x, icb[0].x", "icb is not declared");
    let twice = program(&[custom_data.clone(), custom_data].concat()).unwrap();
    assert!(matches!(lower_program(&twice), Err(LowerError::Invalid { offset: 48, .. })));
}

#[test]
fn indexable_temps_are_arrays() {
    let text = "dcl_indexableTemp x2[4], 2
        mov x2[v0.x + 1].xy, l(7, 8, 0, 0)
        mov x2[v0.y + 0].x, l(99)
        mov o0.xy, x2[3].xyxx
        mov o0.z, x2[v0.y + 0].x
        mov o0.w, x2[x2[3].x + -7].y";
    assert_eq!(o0(text, [2, 4, 0, 0]), [7, 8, 0, 0]);
    is_invalid("dcl_indexableTemp x0[4], 2\nmov x0[0].z, l(1)", "no component z");
    is_invalid("dcl_indexableTemp x0[4], 2\nmov o0.x, x0[0].w", "no component w");
    is_invalid("dcl_indexableTemp x0[0], 4", "0 registers");
    is_invalid("dcl_indexableTemp x0[1], 5", "5 components");
    is_invalid("mov o0.x, x0[0].x", "x0 is not declared");
    is_invalid("dcl_indexableTemp x0[4], 4\nmov o0.x, x0[r0.x + 0][0].x", "indices");
    assert!(matches!(error("dcl_indexableTemp x0[4097], 4"), LowerError::Limit { value: 4097, offset: 8, .. }));
    assert!(matches!(error("dcl_temps 4097"), LowerError::Limit { value: 4097, .. }));
}

#[test]
fn inputs_are_indexed_within_their_range() {
    let text = "dcl_indexrange v1.xyzw 3
        mov o0.x, v[v0.x + 1].x
        mov o0.y, v[v0.y + 1].y
        mov o0.z, v[v0.z + 1].z
        mov o0.w, v2.w";
    let lowered = lower_text(text).unwrap();
    let inputs = [[0, 2, 3, 0], [1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]];
    assert_eq!(run(&lowered, &Setup { inputs: &inputs, ..Setup::default() }).unwrap()[0], [1, 10, 0, 8]);
    is_invalid("mov o0.x, v[v0.x + 1].x", "outside the declared index ranges");
    is_invalid("dcl_indexrange v1.x 2\nmov o0.x, v[v0.x + 1].y", "outside the declared index ranges");
    assert!(matches!(error("dcl_indexrange v1.x 32"), LowerError::Limit { value: 33, .. }));
    assert!(matches!(error("dcl_indexrange v4294967295.x 4294967295"), LowerError::Limit { .. }));
    is_invalid("dcl_indexrange v1.x 0", "empty");
    is_invalid("dcl_indexrange r1.x 2", "something else");
}

#[test]
fn outputs_are_indexed_within_their_ranges() {
    // Two ranges of different components, and registers written by name as well.
    let text = "dcl_indexrange o1.xy 2
        dcl_indexrange o4.x 2
        mov o1.xyzw, l(1, 2, 3, 4)
        mov o[v0.x + 1].xy, l(7, 8, 0, 0)
        mov o[v0.y + 4].x, l(9)
        mov o[v0.z + 1].x, l(99)
        mov o0.x, l(5)";
    let lowered = lower_text(text).unwrap();
    let outputs = run(&lowered, &Setup { inputs: &[[1, 1, 100, 0]], ..Setup::default() }).unwrap();
    assert_eq!(outputs[..7], [[5, 0, 0, 0], [1, 2, 3, 4], [7, 8, 0, 0], [0; 4], [0; 4], [9, 0, 0, 0], [0; 4]]);
    is_invalid("dcl_indexrange o1.xy 2\nmov o[v0.x + 1].xyz, l(0)", "outside the declared index ranges");
}

#[test]
fn packed_elements_and_system_values() {
    let inputs = signature(&[
        ("SV_VertexID", 0, 0b0001, SystemValue::VERTEX_ID),
        ("A", 1, 0b0011, SystemValue::NONE),
        ("B", 1, 0b1100, SystemValue::NONE),
        ("SV_InstanceID", 2, 0b0001, SystemValue::INSTANCE_ID),
    ]);
    let outputs = signature(&[("P", 0, 0b0110, SystemValue::POSITION), ("Q", 0, 0b1000, SystemValue::NONE)]);
    let text = "dcl_input_sgv v0.x, vertex_id\nmov o0.y, v1.w\niadd o0.z, v1.x, v0.x\nutof o0.w, v2.x";
    let program = program(&assemble(text)).unwrap();
    let lowered = lower(&program, &inputs, &outputs).unwrap();
    let names = |elements: &[crate::frontend::Element]| -> Vec<_> {
        elements.iter().map(|element| element.semantic.clone()).collect()
    };
    assert_eq!(names(&lowered.interface.inputs), ["A", "B"]);
    assert_eq!(names(&lowered.interface.outputs), ["P", "Q"]);
    let setup = Setup { inputs: &[[10, 11, 0, 0], [12, 13, 0, 0]], vertex: [100, 3], ..Setup::default() };
    assert_eq!(run(&lowered, &setup).unwrap(), [[13, 110, 0, 0], [3f32.to_bits(), 0, 0, 0]]);
    assert!(matches!(error("dcl_input_sgv v0.x, primitive_id"), LowerError::Unsupported { .. }));
}

#[test]
fn registers_must_be_declared() {
    is_invalid("mov o0.x, r0.x", "r0 is not declared");
    is_invalid("dcl_temps 1\nmov r1.x, l(0)", "r1 is not declared");
    is_invalid("mov o0.x, v8.x", "v8.x is not in the input signature");
    is_invalid("mov o8.z, v0.x", "o8.z is not in the output signature");
    is_invalid("mov o0.x, o0.x", "o is read");
    is_invalid("dcl_temps 1\nmov o0.x, r[v0.x + 0].x", "one constant index");
}

#[test]
fn what_is_never_written_is_not_set() {
    let lowered = lower_text("mov o2.y, l(1)").unwrap();
    let text = lowered.function.to_string();
    assert_eq!(text.matches("output.").count(), 1, "{text}");
    assert_eq!(lowered.interface.outputs.len(), 8);
}
