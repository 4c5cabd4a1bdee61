//! Integers and bits.

use crate::support::sections::check;

/// Direct3D 11.3 functional specification, instructions `ishl`, `ishr`, `ushr`.
#[test]
fn shift_counts_are_modulo_32() {
    check(
        "ishl o0.xyzw, v0.xxxx, v1.xyzw
         ishr o1.xyzw, v0.xxxx, v1.xyzw
         ushr o2.xyzw, v0.xxxx, v1.xyzw
           {0x80000003} {0, 31, 32, 33} == {0x80000003, 0x80000000, 0x80000003, 6} {0x80000003, 0xffffffff, 0x80000003, 0xc0000001} {0x80000003, 1, 0x80000003, 0x40000001}
           {0xf0000001} {-1, -28, 64, 0x80000004} == {0x80000000, 0x10, 0xf0000001, 0x10} {0xffffffff, 0xff000000, 0xf0000001, 0xff000000} {1, 0x0f000000, 0xf0000001, 0x0f000000}
         ishl o0.xy, v0.xyzw, l(33, 64, 0, 0)
           {1, 1} == {2, 1}",
    );
}

/// Direct3D 11.3 functional specification, instruction `udiv`.
#[test]
fn quotient_and_remainder_by_zero_are_all_ones() {
    check(
        "udiv o0.xyzw, o1.xyzw, v0.xyzw, v1.xyzw
           {0, 1, 0xffffffff, 7} {0, 0, 0, 2} == {0xffffffff, 0xffffffff, 0xffffffff, 3} {0xffffffff, 0xffffffff, 0xffffffff, 1}
           {0x80000000, 0xffffffff, 0x80000000, 5} {0xffffffff, 0xffffffff, 1, 0x80000000} == {0, 1, 0x80000000, 0} {0x80000000, 0, 0, 5}",
    );
}

/// Direct3D 11.3 functional specification, instructions `imul`, `umul`, `udiv`, `uaddc`, `usubb`, `swapc`.
#[test]
fn of_two_destinations_either_may_be_null_and_both_may_be_sources() {
    check(
        "imul null, o0.x, v0.x, v0.y
         imul o0.y, null, v0.x, v0.y
         umul o0.z, null, v0.x, v0.y
         udiv null, o0.w, v0.y, v0.z
         udiv o1.x, null, v0.y, v0.z
         uaddc null, o1.y, v0.x, v0.y
         usubb null, o1.z, v0.z, v0.y
         usubb o1.w, null, v0.z, v0.y
           {-3, 17, 5} == {-51, -1, 16, 2} {3, 1, 1, -12}
         mov r0.xy, v0.xyxx
         udiv r0.x, r0.y, r0.x, r0.y
         mov o0.xy, r0.xyxx
         mov r0.xy, v0.xyxx
         udiv r0.y, r0.x, r0.x, r0.y
         mov o0.zw, r0.xxxy
         mov r0.xy, v0.xyxx
         imul r0.y, r0.x, r0.x, r0.y
         mov o1.xy, r0.xyxx
         mov r0.xy, v0.xyxx
         swapc r0.x, r0.y, v0.z, r0.x, r0.y
         mov o1.zw, r0.xxxy
         mov r0.xyzw, v0.xyzw
         mov r0.xyzw, r0.yxwz
         mov o2.xyzw, r0.xyzw
           {17, 5, 1, 4} == {3, 2, 2, 3} {85, 0, 5, 17} {5, 17, 4, 1}",
    );
}

/// Direct3D 11.3 functional specification, instructions `imul`, `umul`, `imad`, `umad`.
#[test]
fn products_have_64_bits_and_sums_of_products_32() {
    check(
        "imul o0.xyzw, o1.xyzw, v0.xyzw, v1.xyzw
         umul o2.xyzw, o3.xyzw, v0.xyzw, v1.xyzw
         imad o4.xyzw, v0.xyzw, v1.xyzw, v1.xyzw
         umad o5.xyzw, v0.xyzw, v1.xyzw, v1.xyzw
           {0xffffffff, 0x80000000, 0x80000000, 0x7fffffff} {0xffffffff, 0x80000000, 2, 0x7fffffff} == {0, 0x40000000, 0xffffffff, 0x3fffffff} {1, 0, 0, 1} {0xfffffffe, 0x40000000, 1, 0x3fffffff} {1, 0, 0, 1} {0, 0x80000000, 2, 0x80000000} {0, 0x80000000, 2, 0x80000000}",
    );
}

/// Direct3D 11.3 functional specification, instructions `bfi`, `ubfe`, `ibfe`.
#[test]
fn bit_fields_have_widths_and_offsets_modulo_32_and_end_at_the_top() {
    check(
        "ubfe o0.xyzw, v0.xyzw, v1.xyzw, v2.xxxx
         ibfe o1.xyzw, v0.xyzw, v1.xyzw, v2.xxxx
         bfi o2.xyzw, v0.xyzw, v1.xyzw, v2.yyyy, v2.zzzz
           {8, 0, 8, 31} {4, 4, 28, 1} {0xf2345678, 0xab, 0x12345678} == {0x67, 0, 0xf, 0x791a2b3c} {0x67, 0, 0xffffffff, 0xf91a2b3c} {0x12345ab8, 0x12345678, 0xb2345678, 0x00000156}
           {32, 40, 4, 31} {8, 36, 63, 31} {0xf2345678, 0xab, 0x12345678} == {0, 0x67, 1, 1} {0, 0x67, 0xffffffff, 0xffffffff} {0x12345678, 0x12345ab8, 0x92345678, 0x92345678}",
    );
}

/// Direct3D 11.3 functional specification, instructions `firstbit_hi`, `firstbit_lo`, `firstbit_shi`.
#[test]
fn first_bits_are_counted_from_their_own_end_and_all_ones_where_there_is_none() {
    check(
        "firstbit_hi o0.xyzw, v0.xyzw
         firstbit_lo o1.xyzw, v0.xyzw
         firstbit_shi o2.xyzw, v0.xyzw
           {0, 1, 0x80000000, 0x00f00000} == {-1, 31, 0, 8} {-1, 0, 31, 20} {-1, 31, 1, 8}
           {0xffffffff, 0xfffffffe, 0x7fffffff, 0xff000000} == {0, 0, 1, 0} {0, 1, 0, 24} {-1, 31, 1, 8}",
    );
}

/// Direct3D 11.1, instruction `msad`.
#[test]
fn masked_differences_leave_zero_references_out_and_stay_at_the_largest_number() {
    check(
        "msad o0.xyzw, v0.xyzw, v1.xyzw, v2.xyzw
         countbits o1.xyzw, v0.xyzw
         bfrev o2.xyzw, v0.xyzw
           {0x100020ff, 0, 0xffffffff, 0x01010101} {0x20771000, 0xffffffff, 0, 0} {5, 7, 0xfffffff0, 0xfffffffb} == {0x124, 7, 0xffffffff, 0xffffffff} {10, 0, 32, 4} {0xff040008, 0, 0xffffffff, 0x80808080}",
    );
}

/// Direct3D 11.3 functional specification, source modifiers.
#[test]
fn negation_is_twos_complement_of_integers_and_flips_the_sign_bit_of_what_moves() {
    check(
        "iadd o0.xyzw, -v0.xyzw, l(0)
         and o1.xyzw, -v0.xyzw, l(0xffffffff)
         mov o2.xyzw, -v0.xyzw
         movc o3.xyzw, l(1), -v0.xyzw, l(0)
         mov o4.xyzw, -|v0.xyzw|
         add o5.x, -|v1.x|, |v1.y|
           {1, 0x80000000, 0, 0x7f800001} {2.0, -5.0} == {0xffffffff, 0x80000000, 0, 0x807fffff} {0xffffffff, 0x80000000, 0, 0x807fffff} {0x80000001, 0, 0x80000000, 0xff800001} {0x80000001, 0, 0x80000000, 0xff800001} {0x80000001, 0x80000000, 0x80000000, 0xff800001} {3.0}",
    );
}

/// Direct3D 11.3 functional specification, instructions `uaddc`, `usubb`, `ieq`, `ine`, `ige`, `ilt`, `uge`, `ult`.
#[test]
fn carries_are_one_and_comparisons_all_ones() {
    check(
        "uaddc o0.xy, o0.zw, v0.xyxy, v1.xyxy
         usubb o1.xy, o1.zw, v0.xyxy, v1.xyxy
         ieq o2.x, v0.x, v1.x
         ine o2.y, v0.x, v1.x
         ilt o2.z, v0.x, v1.x
         ige o2.w, v0.x, v1.x
         ult o3.x, v0.x, v1.x
         uge o3.y, v0.x, v1.x
           {0xffffffff, 1} {1, 1} == {0, 2, 1, 0} {0xfffffffe, 0, 0, 0} {0, 0xffffffff, 0xffffffff, 0} {0, 0xffffffff}
           {5, 1} {5, 2} == {10, 3, 0, 0} {0, 0xffffffff, 0, 1} {0xffffffff, 0, 0, 0xffffffff} {0, 0xffffffff}",
    );
}
