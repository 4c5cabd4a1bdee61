//! Conversions between floats, integers, halves, doubles and what buffers store.

use crate::support::sections::check;

/// Direct3D 11.3 functional specification, instructions `ftoi` and `ftou`.
#[test]
fn floats_become_integers_toward_zero_clamped_and_nan_zero() {
    check(
        "ftoi o0.xyzw, v0.xyzw
         ftou o1.xyzw, v0.xyzw
           {1.9999999, -1.9999999, nan, -0.5} == {1, -1, 0, 0} {1, 0, 0, 0}
           {2147483520.0, 2147483648.0, 3e9, inf} == {2147483520, 0x7fffffff, 0x7fffffff, 0x7fffffff} {2147483520, 0x80000000, 3000000000, 0xffffffff}
           {-2147483648.0, -2147483904.0, -inf, 4294967296.0} == {0x80000000, 0x80000000, 0x80000000, 0x7fffffff} {0, 0, 0, 0xffffffff}
           {0x00000001, 0x80000001, 4294967040.0, 0x7f800001} == {0, 0, 0x7fffffff, 0} {0, 0, 4294967040, 0}",
    );
}

/// Direct3D 11.3 functional specification, instructions `itof` and `utof`.
#[test]
fn integers_become_the_nearest_floats_ties_to_even() {
    check(
        "itof o0.xyzw, v0.xyzw
         utof o1.xyzw, v0.xyzw
           {16777217, 16777219, 0x7fffffff, 0x80000000} == {16777216.0, 16777220.0, 2147483648.0, -2147483648.0} {16777216.0, 16777220.0, 2147483648.0, 2147483648.0}
           {0xffffffff, 0x80000080, 0x80000081, 0xffffff7f} == {-1.0, -2147483520.0, -2147483520.0, -129.0} {4294967296.0, 2147483648.0, 2147483904.0, 4294967040.0}",
    );
}

/// Direct3D 11.3 functional specification, 3.2.2, and instructions `f32tof16` and `f16tof32`.
#[test]
fn floats_become_halves_toward_zero_and_the_upper_bits_are_nothing() {
    check(
        "f32tof16 o0.xyzw, v0.xyzw
           {65519.0, 65520.0, -1e10, inf} == {0x7bff, 0x7bff, 0xfbff, 0x7c00}
           {1.0009764, -1.0009764, 9.5367432e-7, 0x80000001} == {0x3c00, 0xbc00, 0x0010, 0x8000}
         f16tof32 o0.xyzw, v0.xyzw
           {0xdead3c00, 0x0001, 0x83ff, 0xffff7c00} == {1.0, 5.9604645e-8, -6.097555e-5, inf}
         f32tof16 r0.xyzw, v0.xyzw
         f16tof32 o0.xyzw, r0.xyzw
           {nan, 0x7f800001, 0xffffffff, -0.0} == {nan, nan, nan, -0.0}",
    );
}

/// MSDN, shader model 5 assembly: the double instructions; Direct3D 11.3 functional specification, 3.1.4.
#[test]
fn doubles_are_pairs_and_results_of_32_bits_go_to_the_first_and_second_component_of_the_mask() {
    check(
        "dtof o0.zw, v0.xyzw
         dtoi o1.xw, v0.zwxy
         dtou o2.y, v0.xyzw
         deq o3.yz, v0.xyzw, d(1.5l, 0.0l)
         dlt o4.w, v0.zwzw, d(0.0l)
           {1.5l, -2.5l} == {0, 0, 1.5, -2.5} {-2, 0, 0, 1} {0, 1} {0, 0xffffffff, 0, 0} {0, 0, 0, 0xffffffff}
           {1e40l, nanl} == {0, 0, inf, nan} {0, 0, 0, 0x7fffffff} {0, 0xffffffff} {0, 0, 0, 0} {0, 0, 0, 0}
         dmovc o0.xyzw, v0.wzxy, v1.xyzw, v1.zwxy
         ftod o1.zw, v0.wxyz
         itod o2.xyzw, v0.zwxy
           {0, 0, 0, 1} {1.0l, 2.0l} == {1.0l, 1.0l} {0, 0, 0.0l} {0.0l, 1.0l}
           {1.5, 0, 7, 0} {1.0l, 2.0l} == {2.0l, 2.0l} {0, 0, 1.5l} {7.0l, 0.0l}
           {0, 0, 0, 1.5} {1.0l, 2.0l} == {1.0l, 1.0l} {0, 0, 0.0l} {0.0l, 1069547520.0l}",
    );
}

/// Direct3D 11.3 functional specification, 3.2.2 and instruction `dtof`.
#[test]
fn doubles_become_the_nearest_floats_and_denormal_floats_become_zero() {
    check(
        "dtof o0.xy, v0.xyzw
           {1e40l, -1e40l} == {inf, -inf}
           {1e-40l, -1e-40l} == {0.0, -0.0}
           {16777217.0l, 16777219.0l} == {16777216.0, 16777220.0}
         ftod o0.xyzw, v0.xyzw
           {0x00000001, 0x80000001} == {0.0l, -0.0l}
           {0.1, -inf} == {0.10000000149011612l, -infl}",
    );
}

/// Direct3D 11.3 functional specification, 3.2.3: a signed normalised code of -1 has a neighbour below it that means
/// the same.
#[test]
fn both_lowest_codes_of_signed_normalised_numbers_are_minus_one() {
    check(
        "dcl_resource_buffer (snorm,snorm,snorm,snorm) t0
         dcl_resource_buffer (snorm,snorm,snorm,snorm) t1
         t0 = rgba8s 80 81 7f 00
         t1 = rgba16s 0080 0180 ff7f 0000
         ld o0.xyzw, v0.xxxx, t0.xyzw
         ld o1.xyzw, v0.xxxx, t1.xyzw
           {0} == {-1.0, -1.0, 1.0, 0.0} {-1.0, -1.0, 1.0, 0.0}",
    );
}
