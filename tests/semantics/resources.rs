//! Buffers, and what is said of textures and writable views that do not run yet.

use crate::all_refused;
use crate::support::sections::check;
use shaderjit::frontend::sm4::{Group, Opcode};

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

/// Direct3D 11.3 functional specification, instruction `ld_structured`; past the end of a structure counts as out of range.
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

/// Direct3D 11.3 functional specification, unordered-access views: nothing is written yet, and nothing read that may be.
#[test]
fn writable_views_are_refused_by_name() {
    let writes = [Opcode::LdUavTyped, Opcode::StoreUavTyped, Opcode::StoreRaw, Opcode::StoreStructured];
    all_refused(&writes);
}

/// Direct3D 11.3 functional specification, atomic instructions.
#[test]
fn atomics_are_refused_by_name() {
    let atomics: Vec<Opcode> = Opcode::ALL.iter().copied().filter(|opcode| opcode.group() == Group::Atomic).collect();
    assert_eq!(atomics.len(), 21);
    all_refused(&atomics);
}

/// Direct3D 11.3 functional specification, texture instructions that need neighbouring pixels or samples.
#[test]
fn samples_whose_level_comes_from_derivatives_are_refused_by_name() {
    all_refused(&[Opcode::Sample, Opcode::SampleB, Opcode::SampleC, Opcode::Lod, Opcode::SamplePos]);
}
