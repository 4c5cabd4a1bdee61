//! Pixel shaders whose pixels are bound row by row, and the stages that do not run.

use crate::support::program::Source;
use crate::support::sections::check;
use crate::{lower_error, refused_by};
use shaderjit::error::{Error, LowerError};
use shaderjit::frontend::sm4::Opcode;
use shaderjit::{CompileOptions, Config, Engine, Shader};
use shaderjit_ir::pass::PassError;

/// Direct3D 11.3 functional specification, derivatives and evaluations: only pixels have neighbours and a primitive.
#[test]
fn what_is_about_pixels_is_refused_in_other_stages() {
    use Opcode::{DerivRtx, DerivRtxCoarse, DerivRtxFine, DerivRty, DerivRtyCoarse, DerivRtyFine};
    for opcode in [DerivRtx, DerivRty, DerivRtxCoarse, DerivRtxFine, DerivRtyCoarse, DerivRtyFine, Opcode::EvalCentroid]
    {
        refused_by(opcode, &format!("dcl_temps 1\n{} r0.x, r0.x", opcode.mnemonic()));
    }
}

/// Direct3D 11.3 functional specification, instruction `discard`: the pixel goes on, for its neighbours' derivatives.
#[test]
fn a_discarded_pixel_goes_on() {
    check(
        "ps_5_0
         discard_nz v0.x
         loop
           breakc_nz r0.x
           iadd r0.x, r0.x, l(1)
         endloop
         mov o0.x, r0.x
         mov oDepth, v0.y
         mov oMask, v0.z
           {0, 0.5, 3} == {1} {0.5} {3}
           {1, 0.25, 1} == {1} {0.25} {1} discarded",
    );
}

/// Direct3D 11.3 functional specification, depth outputs of either kind, coverage and stencil reference.
#[test]
fn depth_coverage_and_stencil_reference_are_outputs_of_their_own() {
    check(
        "ps_5_0
         mov oDepthGE, v0.x
         iadd oMask, v0.y, l(1)
           {0.5, 7} == {0.5} {8}
         ps_5_0
         mov o0.x, l(1)
         mov oDepthLE, v0.x
         mov oStencilRef, v0.y
           {0.75, 200} == {1} {0.75} {200}",
    );
}

/// Direct3D 11.3 functional specification, interpolation modes: whoever calls has interpolated already.
#[test]
fn interpolation_modes_change_nothing_for_one_pixel() {
    for mode in [
        "constant",
        "linear",
        "linear centroid",
        "linear noperspective",
        "linear noperspective centroid",
        "linear sample",
        "linear noperspective sample",
    ] {
        check(&format!(
            "ps_5_0
             dcl_input_ps {mode} v0.xyzw
             mov o0.xyzw, v0.xyzw
               {{1.5, -0.0, 0x7f800001, 7}} == {{1.5, -0.0, 0x7f800001, 7}}"
        ));
    }
}

/// Direct3D 11.3 functional specification, 13.10: the vertices of a primitive are indexed, neighbours and control
/// points among them.
#[test]
fn geometry_shaders_see_the_vertices_of_their_primitive() {
    // Line with neighbours, triangle with neighbours, patch of 3.
    for (primitive, vertices) in [(6, 4), (7, 6), (10, 3)] {
        let rows: Vec<String> = (0..vertices).map(|vertex| format!("{{{}, {}}}", 10 * vertex, vertex % 3)).collect();
        let expected: Vec<String> =
            (0..vertices).map(|vertex| format!("{{{}, {}}}", 10 * vertex, 10 * (vertex % 3))).collect();
        check(&format!(
            "gs_5_0
             dcl_inputprimitive!{:#x}
             dcl_outputtopology!0x800
             dcl_maxout {vertices}
             dcl_temps 1
             dcl_input v[{vertices}][0].xyzw
             dcl_output o0.xyzw
             loop
               uge r0.y, r0.x, l({vertices})
               breakc_nz r0.y
               mov o0.x, v[r0.x + 0][0].x
               mov r0.z, v[r0.x + 0][0].y
               mov o0.y, v[r0.z + 0][0].x
               emit
               iadd r0.x, r0.x, l(1)
             endloop
             primitive {} == m0 {}",
            primitive << 11,
            rows.join(" "),
            expected.join(" ")
        ));
    }
}

/// Direct3D 11.3 functional specification, 13.3: strips end with their invocation, and an instance is one.
#[test]
fn instances_emit_one_after_the_other() {
    check(
        "gs_5_0
         dcl_inputprimitive!0x800
         dcl_gsinstances 3
         dcl_input vGSInstanceID
         dcl_outputtopology!0x1800
         dcl_maxout 2
         dcl_input v[1][0].xyzw
         dcl_output o0.xyzw
         iadd o0.x, v[0][0].x, vGSInstanceID.x
         emit
         if_nz vGSInstanceID.x
           mov o0.x, l(9)
           emit
         endif
         primitive {5} == m0 {6} {9} {7} {9}",
    );
}

/// Direct3D 11.3 functional specification, instruction `sync`: "_t" has all threads of a group come before any goes on,
/// and is not allowed in flow control that differs among them.
#[test]
fn a_barrier_where_threads_part_is_an_error_with_its_offset() {
    let head = "cs_5_0\ndcl_thread_group 4, 1, 1\ndcl_input vThreadIDInGroupFlattened\ndcl_temps 1";
    let source = Source::new(&format!("{head}\nif_nz vThreadIDInGroupFlattened.x\nsync_t\nendif"));
    let shader = Shader::parse(&source.container()).unwrap();
    let refused = Engine::new(Config::default()).unwrap().compile(&shader, &CompileOptions::default()).unwrap_err();
    let offset = Some(source.offset(Opcode::Sync) as u32);
    assert_eq!(refused, Error::Pass(PassError::DivergentBarrier { offset }));
}

/// The same where waves part, which is seen when they run: the group's memory says whether to go on.
#[test]
fn waves_that_part_before_a_barrier_are_an_error() {
    check(
        "cs_5_0
         dcl_thread_group 64, 1, 1
         dcl_input vThreadIDInGroupFlattened
         dcl_uav_raw u0
         dcl_tgsm_raw g0, 4
         u0 = raw {0}
         ult r0.x, vThreadIDInGroupFlattened.x, l(16)
         if_nz r0.x
         store_raw g0.x, l(0), l(1)
         endif
         uge r0.x, vThreadIDInGroupFlattened.x, l(48)
         if_nz r0.x
         store_raw g0.x, l(0), l(0)
         endif
         ld_raw r0.x, l(0), g0.xxxx
         if_nz r0.x
         sync_g_t
         endif
         dispatch 1 1 1 == parted_at_barrier",
    );
}

/// Direct3D 11.3 functional specification, 7.6: the numbers of a thread, x running first, in groups of any shape.
#[test]
fn threads_have_numbers_in_every_direction() {
    check(
        "cs_5_0
         dcl_thread_group 3, 1, 2
         dcl_input vThreadID
         dcl_input vThreadGroupID
         dcl_input vThreadIDInGroup
         dcl_input vThreadIDInGroupFlattened
         dcl_uav_structured u0, 16
         u0 = struct:16 {0} {0} {0} {0} {0} {0} {0} {0} {0} {0} {0} {0}
         imad r0.x, vThreadGroupID.y, l(6), vThreadIDInGroupFlattened.x
         mov r1.xyz, vThreadID.xyzx
         imad r1.w, vThreadIDInGroup.z, l(10), vThreadIDInGroup.x
         store_structured u0.xyzw, r0.x, l(0), r1.xyzw
         dispatch 1 2 1 == u0 {0,0,0,0} {1,0,0,1} {2,0,0,2} {0,0,1,10} {1,0,1,11} {2,0,1,12} {0,1,0,0} {1,1,0,1} {2,1,0,2} {0,1,1,10} {1,1,1,11} {2,1,1,12}",
    );
    check(
        "cs_4_1
         dcl_thread_group 2, 2, 1
         dcl_input vThreadIDInGroup
         dcl_input vThreadIDInGroupFlattened
         dcl_uav_structured u0, 8
         u0 = struct:8 {0, 0, 0, 0} {0, 0, 0, 0}
         store_structured u0.xy, vThreadIDInGroupFlattened.x, l(0), vThreadIDInGroup.xyxx
         dispatch 1 1 1 == u0 {0, 0, 1, 0} {0, 1, 1, 1}",
    );
}

/// Direct3D 11.3 functional specification, `vCycleCounter`: a value that no two runs would share.
#[test]
fn the_cycle_counter_is_refused_where_it_is_read() {
    let source = Source::new("ps_5_0\ndcl_input vCycleCounter.x\nmov o0.x, v0.x\niadd o0.y, vCycleCounter.x, l(1)");
    let offset = source.offset(Opcode::IAdd);
    assert_eq!(lower_error(&source), LowerError::Unsupported { what: "operand vCycleCounter".to_string(), offset });
}
