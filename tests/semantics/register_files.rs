//! What registers, constants, inputs and outputs are, and what lies behind their ends.

use crate::support::program::{Element, Source};
use crate::support::sections::{check, check_with};
use shaderjit::container::dxbc::SystemValue;
use shaderjit::error::LowerError;

/// Direct3D 11.3 functional specification, constant buffers: what is bound counts, not what is declared.
#[test]
fn constants_are_zero_past_what_is_bound_and_real_up_to_there() {
    check(
        "dcl_constantbuffer cb0[2], dynamicIndexed
         dcl_constantbuffer cb13[4096], dynamicIndexed
         cb0 = {1, 2, 3, 4} {5, 6, 7, 8} {9, 10, 11, 12}
         cb13 = {21} {22}
         mov o0.xyzw, cb0[v0.x + 0].xyzw
         mov o1.x, cb0[v0.y + 1].y
         mov o1.y, cb13[1].x
         mov o1.z, cb13[2].x
         mov o1.w, cb13[4095].x
           {0, -1} == {1, 2, 3, 4} {2, 22, 0, 0}
           {2, 1} == {9, 10, 11, 12} {10, 22, 0, 0}
           {3, 2} == {0, 0, 0, 0} {0, 22, 0, 0}
           {-1, -2} == {0, 0, 0, 0} {0, 22, 0, 0}
           {0x10000000, 0x0fffffff} == {0, 0, 0, 0} {0, 22, 0, 0}
           {0x80000000, 0x7fffffff} == {0, 0, 0, 0} {0, 22, 0, 0}
         ; Nothing is bound.
         dcl_constantbuffer cb3[4], dynamicIndexed
         mov o0.xyzw, cb3[0].xyzw
         mov o1.xyzw, cb3[v0.x + 0].xyzw
           {0} == {0, 0, 0, 0} {0, 0, 0, 0}
           {1} == {0, 0, 0, 0} {0, 0, 0, 0}",
    );
}

/// Direct3D 11.3 functional specification, the immediate constant buffer.
#[test]
fn immediate_constants_are_zero_past_their_end() {
    check(
        "dcl_immediateConstantBuffer {1, 2, 3, 4}, {5, 6, 7, 0x7f800001}
         mov o0.xyzw, icb[v0.x + 0].xyzw
         mov o1.x, icb[v0.y + 1].z
           {0, 0} == {1, 2, 3, 4} {7}
           {1, -1} == {5, 6, 7, 0x7f800001} {3}
           {2, 1} == {0, 0, 0, 0} {0}
           {-1, -2} == {0, 0, 0, 0} {0}
           {0x10000000, 0x80000000} == {0, 0, 0, 0} {0}",
    );
}

/// Direct3D 11.3 functional specification, indexable temporaries: what is out of range must not reach anything else.
#[test]
fn arrays_read_zero_and_keep_nothing_out_of_range() {
    check(
        "dcl_temps 1
         dcl_indexableTemp x0[2], 4
         dcl_indexableTemp x1[2], 4
         mov x1[0].x, l(5)
         mov x1[1].x, l(6)
         mov r0.x, l(7)
         mov x0[v0.x + 0].x, l(9)
         mov o0.x, x0[0].x
         mov o0.y, x0[1].x
         mov o0.z, x0[v0.x + 0].x
         mov o0.w, r0.x
         mov o1.x, x1[0].x
         mov o1.y, x1[1].x
         mov o1.z, x0[v0.x + 1].x
           {0} == {9, 0, 9, 7} {5, 6, 0}
           {1} == {0, 9, 9, 7} {5, 6, 0}
           {2} == {0, 0, 0, 7} {5, 6, 0}
           {-1} == {0, 0, 0, 7} {5, 6, 0}
           {0x40000000} == {0, 0, 0, 7} {5, 6, 0}
           {0x80000000} == {0, 0, 0, 7} {5, 6, 0}",
    );
}

/// Direct3D 11.3 functional specification, `dcl_indexRange`; out of its range as for arrays.
#[test]
fn indexed_inputs_and_outputs_stay_within_their_ranges() {
    check(
        "dcl_indexrange v1.xyzw 2
         mov o0.xyzw, v[v0.x + 1].xyzw
           {0} {1, 2, 3, 4} {5, 6, 7, 8} == {1, 2, 3, 4}
           {1} {1, 2, 3, 4} {5, 6, 7, 8} == {5, 6, 7, 8}
           {2} {1, 2, 3, 4} {5, 6, 7, 8} == {0, 0, 0, 0}
           {-1} {1, 2, 3, 4} {5, 6, 7, 8} == {0, 0, 0, 0}
         dcl_indexrange o1.xyzw 2
         mov o0.x, l(1)
         mov o3.x, l(3)
         mov o[v0.x + 1].xyzw, l(9, 8, 7, 6)
           {0} == {1} {9, 8, 7, 6} {0} {3}
           {1} == {1} {0} {9, 8, 7, 6} {3}
           {2} == {1} {0} {0} {3}
           {-1} == {1} {0} {0} {3}",
    );
    let outside = crate::parse::error("dcl_temps 1\ndcl_indexrange v1.xyzw 2\nmov r0.x, o[r0.x + 1].x");
    assert!(matches!(outside, LowerError::Invalid { .. }), "{outside:?}");
}

/// Direct3D 11.3 functional specification leaves open what registers start as; zero makes runs repeatable.
#[test]
fn registers_and_arrays_start_as_zero() {
    check(
        "dcl_temps 5
         dcl_indexableTemp x0[3], 4
         mov o0.xyzw, r4.xyzw
         mov o1.xyzw, x0[v0.x + 0].xyzw
         if_nz v0.y
           mov r0.x, l(1)
         endif
         mov o2.x, r0.x
         loop
           breakc_nz r1.x
           iadd r1.y, r1.y, l(1)
           mov r1.x, l(1)
         endloop
         mov o2.y, r1.y
           {0, 0} == {0, 0, 0, 0} {0, 0, 0, 0} {0, 1}
           {2, 1} == {0, 0, 0, 0} {0, 0, 0, 0} {1, 1}",
    );
}

/// Direct3D 11.3 functional specification leaves outputs open that nothing writes; zero makes runs repeatable.
#[test]
fn outputs_that_nothing_writes_are_zero_component_by_component() {
    let outputs = [
        Element::register("A", 0).mask(0b0111),
        Element::register("B", 0).mask(0b1000),
        Element { rw_mask: 0xf, ..Element::register("C", 1) },
        Element { rw_mask: 0b1101, ..Element::register("D", 2) },
    ];
    check_with(
        "mov o0.x, v0.x
         mov o2.y, v0.y
         if_nz v0.z
           mov o0.zw, v0.xxxy
         endif
           {1, 2, 0} == {1} {0} {0} {0, 2}
           {3, 4, 1} == {3, 0, 3} {4} {0} {0, 4}",
        &[Element::register("V", 0)],
        &outputs,
    );
}

/// Direct3D 11.3 functional specification, packing of signatures: an element's first component is where its mask
/// begins.
#[test]
fn elements_share_registers_by_component() {
    let inputs =
        [Element::register("A", 0).mask(0b0011), Element { index: 0, ..Element::register("B", 0).mask(0b1100) }];
    let outputs = [Element::register("P", 0).mask(0b0110), Element::register("Q", 0).mask(0b1001)];
    check_with(
        "mov o0.xyzw, v0.wzyx
           {1, 2} {3, 4} == {3, 2} {4, 1}
           {5, 6} {7, 8} == {7, 6} {8, 5}",
        &inputs,
        &outputs,
    );
}

/// Direct3D 11.3 functional specification, system values: numbers of vertices and instances are integers.
#[test]
fn vertex_and_instance_numbers_are_integers() {
    check(
        "dcl_input_sgv v0.x, vertex_id
         dcl_input_sgv v1.x, instance_id
         mov o0.x, v0.x
         utof o0.y, v0.x
         mov o0.z, v1.x
         == {0, 0.0, 0}
         == {1, 1.0, 0}
         == {2, 2.0, 0}
         == {3, 3.0, 0}
         == {4, 4.0, 0}",
    );
    let source = Source::new("dcl_input_sgv v0.x, instance_id\nmov o0.x, v0.x");
    let shader = shaderjit::Shader::parse(&source.container()).unwrap();
    let engine = shaderjit::Engine::new(shaderjit::Config::default()).unwrap();
    let code = engine.compile(&shader, &shaderjit::CompileOptions::default()).unwrap();
    let mut call = code.call();
    for outputs in [call.instance(7).run(0..3).unwrap(), call.interpret(0..3).unwrap()] {
        assert!(outputs.output("O", 0).unwrap().iter().all(|row| row[0] == 7));
    }
}

/// Direct3D 11.3 functional specification, system values of pixel shaders: a position's w is w, not its reciprocal, and
/// a triangle's front all ones.
#[test]
fn a_pixels_position_and_front_are_passed_as_they_are() {
    let inputs = [
        Element::register("SV_Position", 0).value(SystemValue::POSITION),
        Element { index: 0, ..Element::register("SV_IsFrontFace", 1).mask(1).value(SystemValue::IS_FRONT_FACE) },
    ];
    check_with(
        "ps_5_0
         dcl_input_ps_siv linear noperspective v0.xyzw, position
         dcl_input_ps_sgv constant v1.x, is_front_face
         mov o0.xyzw, v0.xyzw
         if_nz v1.x
           mov o1.x, v1.x
         endif
           {10.5, 20.5, 0.25, 4.0} {0xffffffff} == {10.5, 20.5, 0.25, 4.0} {0xffffffff}
           {0.5, 1.5, 1.0, 0.5} {0} == {0.5, 1.5, 1.0, 0.5} {0}",
        &inputs,
        &[0, 1].map(|register| Element::register("SV_Target", register)),
    );
}
