//! Buffers, textures and samplers, and what is said of writable views, which do not run yet.

use crate::refused_by;
use crate::support::sections::check;
use shaderjit::frontend::sm4::Opcode;

/// Direct3D 11.3 functional specification, instruction `ld`.
#[test]
fn elements_out_of_range_are_zero_and_absent_components_have_defaults() {
    check(
        "dcl_resource_buffer (float,float,float,float) t0
         dcl_resource_buffer (uint,uint,uint,uint) t1
         t0 = r32f 0100807f 01000080
         t1 = rg32u 05000000 06000000
         ld o0.xyzw, v0.xxxx, t0.xyzw
         ld o1.xyzw, v0.xxxx, t1.xyzw
         ld(1,0,0) o2.x, v0.xxxx, t0.xyzw
           {0} == {0x7f800001, 0.0, 0.0, 1.0} {5, 6, 0, 1} {0x80000001}
           {1} == {0x80000001, 0.0, 0.0, 1.0} {0, 0, 0, 1} {0}
           {2} == {0.0, 0.0, 0.0, 1.0} {0, 0, 0, 1} {0}
           {-1} == {0.0, 0.0, 0.0, 1.0} {0, 0, 0, 1} {0x7f800001}
           {0x10000000} == {0.0, 0.0, 0.0, 1.0} {0, 0, 0, 1} {0}
         ; Nothing is bound.
         dcl_resource_buffer (float,float,float,float) t0
         ld o0.xyzw, v0.xxxx, t0.xyzw
           {0} == {0, 0, 0, 0}
           {-1} == {0, 0, 0, 0}",
    );
}

/// Direct3D 11.3 functional specification, instruction `ld_raw`; an address whose low bits are set is that of its word.
#[test]
fn raw_loads_are_checked_word_by_word_and_take_whole_words() {
    check(
        "dcl_resource_raw t0
         t0 = raw 01000000 02000000 03000000 0400
         ld_raw o0.xyzw, v0.x, t0.xyzw
         ld_raw o1.xy, v0.x, t0.wxxx
           {0} == {1, 2, 3, 0} {0, 1}
           {1} == {1, 2, 3, 0} {0, 1}
           {3} == {1, 2, 3, 0} {0, 1}
           {4} == {2, 3, 0, 0} {0, 2}
           {8} == {3, 0, 0, 0} {0, 3}
           {12} == {0, 0, 0, 0} {0, 0}
           {-4} == {0, 0, 0, 0} {0, 0}
           {-8} == {0, 0, 0, 0} {0, 0}
           {0x7ffffffc} == {0, 0, 0, 0} {0, 0}",
    );
}

/// Direct3D 11.3 functional specification, instruction `ld_structured`; past the end of a structure counts as out of
/// range.
#[test]
fn structured_loads_end_with_their_structure() {
    check(
        "dcl_resource_structured t0, 8
         t0 = struct:8 01000000 02000000 03000000 04000000 05000000
         ld_structured o0.xyzw, v0.x, v0.y, t0.xyzw
           {0, 0} == {1, 2, 0, 0}
           {1, 0} == {3, 4, 0, 0}
           {0, 4} == {2, 0, 0, 0}
           {0, 5} == {2, 0, 0, 0}
           {0, 8} == {0, 0, 0, 0}
           {0, -4} == {0, 0, 0, 0}
           {2, 0} == {0, 0, 0, 0}
           {-1, 0} == {0, 0, 0, 0}
           {0x20000000, 0} == {0, 0, 0, 0}
           {0x20000001, 4} == {0, 0, 0, 0}",
    );
}

/// Direct3D 11.3 functional specification, instruction `bufinfo`.
#[test]
fn sizes_are_bytes_structures_and_elements() {
    check(
        "dcl_resource_raw t0
         dcl_resource_structured t1, 16
         dcl_resource_buffer (unorm,unorm,unorm,unorm) t2
         t0 = raw 0001020304
         t1 = struct:16 00000000000000000000000000000000 00000000
         t2 = rgba8 00000000 00000000 0000
         bufinfo o0.x, t0.xyzw
         bufinfo o0.y, t1.xyzw
         bufinfo o0.z, t2.xyzw
         bufinfo o1.xyzw, t2.xyzw
           == {5, 1, 2} {2, 2, 2, 2}
         dcl_resource_raw t0
         dcl_resource_structured t1, 16
         dcl_resource_buffer (unorm,unorm,unorm,unorm) t2
         bufinfo o0.x, t0.xyzw
         bufinfo o0.y, t1.xyzw
         bufinfo o0.z, t2.xyzw
           == {0, 0, 0}",
    );
}

/// Shader model 5.1: an index chooses a register of a range, and what the range does not have reads as what is not
/// bound.
#[test]
fn an_index_chooses_among_the_buffers_of_a_range() {
    check(
        "vs_5_1
         dcl_resource_raw t0[0][2], 9
         dcl_resource_structured t1[10][11], 8, 7
         dcl_resource_buffer (uint,uint,uint,uint) t2[4][5], 0
         t0:9 = raw 01000000 02000000
         t1:9 = raw 03000000
         t10:7 = struct:8 04000000 05000000 06000000 07000000
         t11:7 = struct:8 08000000 09000000
         t4 = rg32u 0a000000 0b000000
         t5 = rg32u 0c000000 0d000000 0e000000 0f000000
         ld_raw o0.xyw, l(0), t0[v0.x + 0].xyzw
         ld_structured o1.xy, v0.y, l(0), t1[v0.x + 10].yxzw
         ld o2.xyzw, v0.yyyy, t2[v0.x + 4].xyzw
         bufinfo o3.x, t0[v0.x + 0].xyzw
         bufinfo o3.y, t1[v0.x + 10].xyzw
         bufinfo o3.z, t2[v0.x + 4].xyzw
           {0, 0} == {1, 2, 0, 0} {5, 4} {10, 11, 0, 1} {8, 2, 1}
           {0, 1} == {1, 2, 0, 0} {7, 6} {0, 0, 0, 1} {8, 2, 1}
           {1, 0} == {3, 0, 0, 0} {9, 8} {12, 13, 0, 1} {4, 1, 2}
           {1, 1} == {3, 0, 0, 0} {0, 0} {14, 15, 0, 1} {4, 1, 2}
           {2, 0} == {0, 0, 0, 0} {0, 0} {0, 0, 0, 0} {0, 0, 0}
           {3, 0} == {0, 0, 0, 0} {0, 0} {0, 0, 0, 0} {0, 0, 0}
           {-1, 0} == {0, 0, 0, 0} {0, 0} {0, 0, 0, 0} {0, 0, 0}
           {0x80000000, 0} == {0, 0, 0, 0} {0, 0} {0, 0, 0, 0} {0, 0, 0}
         ; The index is the destination, in a loop that lanes leave at different times.
         vs_5_1
         dcl_resource_raw t0[0][3], 0
         t0 = raw 02000000
         t1 = raw 03000000
         t2 = raw 01000000
         t3 = raw 09000000
         mov r0.x, v0.x
         loop
           ige r0.y, r0.x, l(4)
           breakc_nz r0.y
           ld_raw r0.x, l(0), t0[r0.x + 0].xyzw
           iadd r0.z, r0.z, l(1)
         endloop
         mov o0.xy, r0.xzxx
           {0} == {9, 4}
           {1} == {9, 2}
           {2} == {9, 3}
           {3} == {9, 1}
           {4} == {4, 0}",
    );
}

/// Shader model 5.1: what `ls_spaces` does with ranges of everything, each `sample` at a level of its own.
#[test]
fn an_index_chooses_among_constant_buffers_textures_and_samplers() {
    check(
        "vs_5_1
         dcl_constantbuffer cb0[1][1], dynamicIndexed, 2, 0
         dcl_constantbuffer cb1[3][6], dynamicIndexed, 2, 1
         dcl_constantbuffer cb2[0][0], immediateIndexed, 1, 2
         dcl_sampler s0[0][0], mode_comparison, 0
         dcl_sampler s1[4][5], mode_default, 1
         dcl_resource_texture2darray (uint,uint,uint,uint) t0[0][2], 0
         dcl_resource_texture2d (float,float,float,float) t1[9][9], 1
         dcl_resource_texture2d (float,float,float,float) t2[2][6], 3
         dcl_resource_structured t3[10][11], 20, 7
         cb1 = {100.0} {200.0}
         cb3:1 = {0} {2}
         cb4:1 = {0} {4}
         cb5:1 = {3.0} {8}
         cb0:2 = {0.5}
         s0 = point:clamp:less
         s4:1 = point:wrap
         s5:1 = point:clamp
         t0 = tex2darr:r32u:1x1x1 {7}
         t1 = tex2darr:r32u:1x1x2 {8, 9}
         t9:1 = tex2d:r32f:1x1 {1.0}
         t2:3 = tex2d:r32f:1x1 {0.125}
         t3:3 = tex2d:r32f:1x1 {0.25}
         t6:3 = tex2d:r32f:1x1 {4.0}
         t10:7 = struct:20 {1000.0} {0}
         t11:7 = struct:20 {0, 0, 0, 0} {0, 2000.0, 0, 0} {0, 0, 0, 0}
         mov r0.x, v1.x
         utof r0.y, cb1[r0.x + 3][1].x
         mad r1.xyzw, cb1[5][0].xyzw, r0.yyyy, cb2[0][0].xyzw
         and r0.y, v1.x, l(1)
         add r1.xyzw, r1.xyzw, cb0[1][r0.y + 0].xyzw
         sample_l r2.xyzw, v2.xyxx, t2[3].xyzw, s1[4], l(0.0)
         sample_l r3.xyzw, v2.xyxx, t2[r0.x + 2].xyzw, s1[r0.y + 4], l(1.0)
         add r2.xyzw, r2.xyzw, r3.xyzw
         add r1.xyzw, r1.xyzw, r2.xyzw
         udiv null, r0.x, v1.x, l(3)
         ftoi r2.xy, v0.xyxx
         mov r2.z, v1.x
         mov r2.w, l(0)
         ld r0.x, r2.xyzw, t0[r0.x + 0].xyzw
         utof r0.x, r0.x
         sample_c_lz r0.z, v2.xyxx, t1[9].xxxx, s0[0], l(0.5)
         add r0.x, r0.z, r0.x
         ld_structured r2.xyzw, v1.x, l(0), t3[r0.y + 10].xyzw
         add r0.xyzw, r0.xxxx, r2.xyzw
         add o0.xyzw, r0.xyzw, r1.xyzw
         ; 0.5 + 3 * b + l[i & 1], then t[1] + t[i], ta[i % 3] and the comparison, and last the structure.
           {0.5, 0.5} {0} {0.5, 0.5} == {1114.875, 8.0, 8.0, 10.0}
           {0.5, 0.5} {1} {0.5, 0.5} == {2223.0, 10.0, 10.0, 12.0}
           {0.5, 0.5} {4} {0.5, 0.5} == {105.75, 1.0, 1.0, 3.0}
           {0.5, 0.5} {5} {0.5, 0.5} == {201.75, 1.0, 1.0, 2.0}
         ; The sampler alone tells them apart: outside of the texture it wraps, clamps, or is not bound.
         vs_5_1
         dcl_sampler s0[1][3], mode_default, 0
         dcl_resource_texture2d (float,float,float,float) t0[0][0], 0
         s1 = point:wrap
         s2 = point:clamp
         t0 = tex2d:r32f:2x1 {1.0, 2.0}
         sample_l o0.x, v0.yyyy, t0[0].xyzw, s0[v0.x + 1], l(0.0)
         gather4 o1.xyzw, v0.zyyy, t0[0].xyzw, s0[v0.x + 1].x
           {0, 1.25, 1.0} == {1.0} {2.0, 1.0, 1.0, 2.0}
           {1, 1.25, 1.0} == {2.0} {2.0, 2.0, 2.0, 2.0}
           {3, 1.25, 1.0} == {0.0} {0.0, 0.0, 0.0, 0.0}
         ; Sizes and samples, and where the textures differ.
         vs_5_1
         dcl_resource_texture2d (float,float,float,float) t0[0][1], 0
         dcl_resource_texture2dms (float,float,float,float) t1[2][3], 0
         t0 = tex2d:r32f:4x2 {0, 0, 0, 0} {0, 0, 0, 0}
         t1 = tex2d:r32f:1x1 {0}
         t2 = tex2dms:r8:1x1:4 00000000
         t3 = tex2dms:r8:1x1:2 0000
         resinfo_uint o0.xyw, l(0), t0[v0.x + 0].xyzw
         sampleinfo_uint o1.xy, t1[v0.x + 2].xyzw
           {0} == {4, 2, 0, 1} {4, 0}
           {1} == {1, 1, 0, 1} {2, 0}
           {2} == {0, 0, 0, 0} {0, 0}",
    );
}

/// Texels of 4 by 4 are x + 10 * y, those of the next level 100 more, the last is 1000.
const PYRAMID: &str = "dcl_resource_texture2d (float,float,float,float) t0
    t0 = tex2d:r32f:4x4:3 {0.0, 1.0, 2.0, 3.0} {10.0, 11.0, 12.0, 13.0} {20.0, 21.0, 22.0, 23.0} {30.0, 31.0, 32.0, 33.0} {100.0, 101.0, 110.0, 111.0} {1000.0}
    ";

/// Direct3D 11.3 functional specification, instruction `ld`: coordinates, slice and level are unsigned and each has its
/// range.
#[test]
fn texels_out_of_range_in_any_direction_are_zero_with_defaults() {
    check(&format!(
        "{PYRAMID}ld o0.xyzw, v0.xyzw, t0.xyzw
         ld(-1,1,0) o1.x, v0.xyzw, t0.xxxx
           {{1, 2, 77, 0}} == {{21.0, 0.0, 0.0, 1.0}} {{30.0}}
           {{1, 1, 0, 1}} == {{111.0, 0.0, 0.0, 1.0}} {{0.0}}
           {{4, 0, 0, 0}} == {{0.0, 0.0, 0.0, 1.0}} {{13.0}}
           {{0, -1, 0, 0}} == {{0.0, 0.0, 0.0, 1.0}} {{0.0}}
           {{2, 0, 0, 1}} == {{0.0, 0.0, 0.0, 1.0}} {{111.0}}
           {{0, 0, 0, 3}} == {{0.0, 0.0, 0.0, 1.0}} {{0.0}}
           {{0, 0, 0, -1}} == {{0.0, 0.0, 0.0, 1.0}} {{0.0}}
         dcl_resource_texture2darray (uint,uint,uint,uint) t0
         t0 = tex2darr:rg32u:1x1x2 {{0x7f800001, 1, 3, 4}}
         ld o0.xyzw, v0.xyzw, t0.xyzw
           {{0, 0, 0, 0}} == {{0x7f800001, 1, 0, 1}}
           {{0, 0, 1, 0}} == {{3, 4, 0, 1}}
           {{0, 0, 2, 0}} == {{0, 0, 0, 1}}
           {{0, 0, -1, 0}} == {{0, 0, 0, 1}}
         ; Nothing is bound.
         dcl_resource_texture2darray (uint,uint,uint,uint) t0
         ld o0.xyzw, v0.xyzw, t0.xyzw
           {{0, 0, 0, 0}} == {{0, 0, 0, 0}}"
    ));
}

/// Direct3D 11.3 functional specification, instructions `resinfo` and `sampleinfo`.
#[test]
fn a_level_that_is_not_there_has_no_size_and_levels_are_counted_all_the_same() {
    check(&format!(
        "{PYRAMID}resinfo_uint o0.xyzw, v0.x, t0.xyzw
         resinfo_rcpFloat o1.xyzw, v0.x, t0.xyzw
         resinfo o2.xyzw, v0.x, t0.xyzw
           {{0}} == {{4, 4, 0, 3}} {{0.25, 0.25, 0.0, 3.0}} {{4.0, 4.0, 0.0, 3.0}}
           {{2}} == {{1, 1, 0, 3}} {{1.0, 1.0, 0.0, 3.0}} {{1.0, 1.0, 0.0, 3.0}}
           {{3}} == {{0, 0, 0, 3}} {{inf, inf, 0.0, 3.0}} {{0.0, 0.0, 0.0, 3.0}}
           {{-1}} == {{0, 0, 0, 3}} {{inf, inf, 0.0, 3.0}} {{0.0, 0.0, 0.0, 3.0}}
         dcl_resource_texture2darray (float,float,float,float) t0
         t0 = tex2darr:r8:2x4x3:2 000000000000000000000000000000000000000000000000000000000000
         resinfo_uint o0.xyzw, v0.x, t0.xyzw
         resinfo_rcpFloat o1.xyzw, v0.x, t0.xyzw
           {{1}} == {{1, 2, 3, 2}} {{1.0, 0.5, 3.0, 2.0}}
         dcl_resource_texture2dms!0x40000 (float,float,float,float) t0
         t0 = tex2dms:r8:1x1:4 00000000
         sampleinfo_uint o0.xyzw, t0.xyzw
         sampleinfo o1.xyzw, t0.xyzw
           == {{4, 0, 0, 0}} {{4.0, 0, 0, 0}}"
    ));
}

/// Direct3D 11.3 functional specification, 7.18: slices, offsets, levels and filters.
#[test]
fn samplers_round_slices_hold_levels_and_offset_before_the_edge() {
    check(&format!(
        "dcl_sampler s0
         dcl_resource_texture2darray (float,float,float,float) t0
         t0 = tex2darr:r32f:1x1x4 {{0.0, 1.0, 2.0, 3.0}}
         s0 = point:clamp
         sample_l o0.x, v0.xxyx, t0.xxxx, s0, l(0.0)
           {{0.5, 0.5}} == {{0.0}}
           {{0.5, 1.5}} == {{2.0}}
           {{0.5, 2.5}} == {{2.0}}
           {{0.5, 99.0}} == {{3.0}}
           {{0.5, -1.0}} == {{0.0}}
         dcl_sampler s0
         dcl_sampler s1
         dcl_sampler s2
         {PYRAMID}s0 = point:wrap:min_lod=2.0:max_lod=0.0
         s1 = linear:clamp:mag=point:mip=point
         s2 = point:wrap
         sample_l o0.x, v0.xyxx, t0.xxxx, s0, v0.z
         sample_l o0.y, v0.xyxx, t0.xxxx, s1, v0.z
         sample_l(1,0,0) o0.z, v0.xyxx, t0.xxxx, s2, v0.z
           {{0.25, 0.125, 0.0}} == {{1000.0, 1.0, 2.0}}
           {{0.25, 0.125, -9.0}} == {{1000.0, 1.0, 2.0}}
           {{0.25, 0.125, 0.25}} == {{1000.0, 0.5, 2.0}}
           {{0.875, 0.125, 0.0}} == {{1000.0, 3.0, 0.0}}
           {{0.875, 0.125, 1.0}} == {{1000.0, 101.0, 100.0}}"
    ));
}

/// Direct3D 11.3 functional specification, 7.18 and instructions `sample_c_lz`, `gather4`, `gather4_po`.
#[test]
fn references_stand_on_the_left_and_gathers_go_around_from_below_left() {
    check(&format!(
        "dcl_sampler s0, mode_comparison
         dcl_sampler s1, mode_comparison
         {PYRAMID}s0 = point:clamp:less
         s1 = linear:clamp:gequal
         sample_c_lz o0.x, l(0.375, 0.375, 0.0, 0.0), t0.xxxx, s0, v0.x
         sample_c_lz o0.y, l(0.5, 0.5, 0.0, 0.0), t0.xxxx, s1, v0.x
         gather4_c o1.xyzw, l(0.5, 0.5, 0.0, 0.0), t0.xyzw, s0.x, v0.x
           {{10.0}} == {{1.0, 0.0}} {{1.0, 1.0, 1.0, 1.0}}
           {{11.0}} == {{0.0, 0.25}} {{1.0, 1.0, 1.0, 0.0}}
           {{12.0}} == {{0.0, 0.5}} {{1.0, 1.0, 0.0, 0.0}}
           {{22.0}} == {{0.0, 1.0}} {{0.0, 0.0, 0.0, 0.0}}
         dcl_sampler s0
         {PYRAMID}s0 = point:wrap
         gather4 o0.xyzw, l(0.5, 0.5, 0.0, 0.0), t0.xyzw, s0.x
         gather4_po o1.xyzw, l(0.5, 0.5, 0.0, 0.0), v0.xyxx, t0.xyzw, s0.x
           {{0, 0}} == {{21.0, 22.0, 12.0, 11.0}} {{21.0, 22.0, 12.0, 11.0}}
           {{63, 65}} == {{21.0, 22.0, 12.0, 11.0}} {{30.0, 31.0, 21.0, 20.0}}
           {{32, 31}} == {{21.0, 22.0, 12.0, 11.0}} {{11.0, 12.0, 2.0, 1.0}}
         ; Nothing is bound.
         dcl_sampler s0
         dcl_resource_texture2d (float,float,float,float) t0
         sample_l o0.xyzw, v0.xyxx, t0.xyzw, s0, l(0.0)
         gather4 o1.xyzw, v0.xyxx, t0.xyzw, s0.w
           {{0.5, 0.5}} == {{0, 0, 0, 0}} {{0, 0, 0, 0}}"
    ));
}

/// Direct3D 11.3 functional specification, texture instructions whose level neighbouring pixels give: only pixel
/// shaders have them.
#[test]
fn samples_whose_level_comes_from_derivatives_are_refused_in_other_stages() {
    for (opcode, behind) in
        [(Opcode::Sample, ""), (Opcode::SampleB, ", l(0)"), (Opcode::SampleC, ", l(0)"), (Opcode::Lod, "")]
    {
        let mode = if opcode == Opcode::SampleC { "mode_comparison" } else { "mode_default" };
        let text = format!(
            "dcl_temps 1
            dcl_resource_texture2d (float,float,float,float) t0
            dcl_sampler s0, {mode}
            {} r0.x, r0.xyxx, t0.xyzw, s0{behind}",
            opcode.mnemonic()
        );
        refused_by(opcode, &text);
    }
}
