//! Pixel shaders as far as each pixel is on its own, and the stages that do not run.

use crate::support::program::Source;
use crate::support::sections::check;
use crate::{all_refused, lower_error};
use shaderjit::error::LowerError;
use shaderjit::frontend::sm4::Opcode;

/// Direct3D 11.3 functional specification, derivatives: they need the three neighbours of a quad.
#[test]
fn derivatives_are_refused_by_name() {
    use Opcode::{DerivRtx, DerivRtxCoarse, DerivRtxFine, DerivRty, DerivRtyCoarse, DerivRtyFine};
    all_refused(&[DerivRtx, DerivRty, DerivRtxCoarse, DerivRtxFine, DerivRtyCoarse, DerivRtyFine]);
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

/// Direct3D 11.3 functional specification, instructions that evaluate attributes elsewhere in the pixel.
#[test]
fn evaluation_at_other_points_is_refused_by_name() {
    all_refused(&[Opcode::EvalSnapped, Opcode::EvalSampleIndex, Opcode::EvalCentroid]);
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

/// A program of a stage that does not run is refused by its profile, at its beginning.
fn refused_stage(profile: &str, text: &str) {
    let source = Source::new(&format!("{profile}\n{text}"));
    let expected = LowerError::Unsupported { what: format!("{profile} programs"), offset: source.program_offset() };
    assert_eq!(lower_error(&source), expected);
}

/// Direct3D 11.3 functional specification, geometry shaders.
#[test]
fn geometry_shaders_are_refused() {
    use Opcode::{Cut, CutStream, Emit, EmitStream, EmitThenCut, EmitThenCutStream};
    for opcode in [Emit, Cut, EmitThenCut, EmitStream, CutStream, EmitThenCutStream] {
        let source = crate::support::opcodes::program_with(opcode);
        let expected = LowerError::Unsupported { what: "gs_5_0 programs".to_string(), offset: source.program_offset() };
        assert_eq!(lower_error(&source), expected);
    }
}

/// Direct3D 11.3 functional specification, hull shaders.
#[test]
fn hull_shaders_are_refused() {
    refused_stage(
        "hs_5_0",
        "hs_decls
         dcl_input_control_point_count!0x1800
         dcl_output_control_point_count!0x1800
         dcl_tessellator_domain!0x1000
         dcl_tessellator_partitioning!0x800
         dcl_tessellator_output_primitive!0x1800
         hs_fork_phase
         dcl_hs_fork_phase_instance_count 3
         dcl_temps 1
         mov r0.x, l(1.0)
         ret",
    );
}

/// Direct3D 11.3 functional specification, domain shaders.
#[test]
fn domain_shaders_are_refused() {
    refused_stage(
        "ds_5_0",
        "dcl_input_control_point_count!0x1800
         dcl_tessellator_domain!0x1000
         dcl_input vDomain.xyz
         dcl_temps 1
         mov r0.xyz, vDomain.xyzx
         ret",
    );
}

/// Direct3D 11.3 functional specification, compute shaders and instruction `sync`.
#[test]
fn compute_shaders_are_refused_and_so_is_sync_where_it_may_be() {
    refused_stage(
        "cs_5_0",
        "dcl_input vThreadID.xyz
         dcl_temps 1
         dcl_tgsm_raw g0, 16
         dcl_thread_group 4, 1, 1
         mov r0.x, vThreadID.x
         store_raw g0.x, l(0), r0.x
         sync_g_t
         ret",
    );
    all_refused(&[Opcode::Sync]);
}

/// Direct3D 11.3 functional specification, `vCycleCounter`: a value that no two runs would share.
#[test]
fn the_cycle_counter_is_refused_where_it_is_read() {
    let source = Source::new("ps_5_0\ndcl_input vCycleCounter.x\nmov o0.x, v0.x\niadd o0.y, vCycleCounter.x, l(1)");
    let offset = source.offset(Opcode::IAdd);
    assert_eq!(lower_error(&source), LowerError::Unsupported { what: "operand vCycleCounter".to_string(), offset });
}
