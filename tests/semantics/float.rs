//! Single-precision arithmetic.

use crate::support::sections::check;
use shaderjit::frontend::sm4::Opcode;
use shaderjit::{CompileOptions, Config, Engine, Lanes, Shader};
use std::fmt::Write;

/// Direct3D 11.3 functional specification, 3.1.3.
#[test]
fn arithmetic_flushes_denormals_going_in_and_coming_out() {
    check(
        "mul o0.xyzw, v0.xyzw, l(1.0)
         add o1.xyzw, v0.xyzw, l(-0.0)
         mad o2.xyzw, v0.xyzw, l(1.0), l(-0.0)
         div o3.xyzw, v0.xyzw, l(1.0)
           {0x00000001, 0x80000001, 0x007fffff, 1.0} == {0.0, -0.0, 0.0, 1.0} {0.0, -0.0, 0.0, 1.0} {0.0, -0.0, 0.0, 1.0} {0.0, -0.0, 0.0, 1.0}
         mul o0.xyzw, v0.xyzw, l(0.5)
           {0x00800000, 0x80800000, 0x00ffffff, 0x01000000} == {0.0, -0.0, 0.0, 0x00800000}
         eq o0.xyzw, v0.xyzw, l(0.0)
         round_pi o1.xyzw, v0.xyzw
           {0x00000001, 0x80000001, 0x007fffff, 0x00800000} == {0xffffffff, 0xffffffff, 0xffffffff, 0} {0.0, -0.0, 0.0, 1.0}",
    );
}

/// Direct3D 11.3 functional specification, 3.1.3: what only moves bits is no arithmetic.
#[test]
fn moves_loads_and_bit_operations_keep_denormals() {
    check(
        "dcl_constantbuffer cb0[1], immediateIndexed
         dcl_resource_raw t0
         dcl_indexableTemp x0[2], 4
         dcl_immediateConstantBuffer {0x00000001, 0x80000001, 0x007fffff, 0x00400000}
         cb0 = {0x00000001, 0x80000001, 0x007fffff, 0x00400000}
         t0 = raw 01000000 01000080 ffff7f00 00004000
         mov x0[v1.x + 0].xyzw, v0.xyzw
         mov o0.xyzw, x0[0].xyzw
         movc o1.xyzw, v1.wwww, v0.xyzw, cb0[0].xyzw
         swapc o2.xyzw, o3.xyzw, v1.xxxx, cb0[0].xyzw, icb[v1.x + 0].xyzw
         ld_raw o4.xyzw, v1.x, t0.xyzw
         or o5.xyzw, v0.xyzw, l(0)
           {0x00000001, 0x80000001, 0x007fffff, 0x00400000} {0, 0, 0, 1} == {0x00000001, 0x80000001, 0x007fffff, 0x00400000} {0x00000001, 0x80000001, 0x007fffff, 0x00400000} {0x00000001, 0x80000001, 0x007fffff, 0x00400000} {0x00000001, 0x80000001, 0x007fffff, 0x00400000} {0x00000001, 0x80000001, 0x007fffff, 0x00400000} {0x00000001, 0x80000001, 0x007fffff, 0x00400000}
         mov o0.xyzw, -v0.xyzw
         mov o1.xyzw, |v0.xyzw|
           {0x00000001, 0x80000001, 0x007fffff, 0x80400000} == {0x80000001, 0x00000001, 0x807fffff, 0x00400000} {0x00000001, 0x00000001, 0x007fffff, 0x00400000}",
    );
}

/// Direct3D 11.3 functional specification, 3.1.3: a product with one flushes as any other, so that no pass may drop it.
#[test]
fn no_identity_of_real_numbers_is_folded_away() {
    check(
        "mul r0.xyzw, v0.xyzw, l(1.0)
         mov o0.xyzw, r0.xyzw
         add r1.xyzw, v0.xyzw, l(0.0)
         mov o1.xyzw, r1.xyzw
         max r2.xyzw, v0.xyzw, v0.xyzw
         mul o2.xyzw, r2.xyzw, l(8388608.0)
         mul r3.xyzw, v0.xyzw, l(-1.0)
         mul o3.xyzw, r3.xyzw, l(-1.0)
         div o4.xyzw, v0.xyzw, l(1.0)
           {0x00000001, 0x80000001, -0.0, 2.0} == {0.0, -0.0, -0.0, 2.0} {0.0, 0.0, 0.0, 2.0} {0.0, -0.0, -0.0, 16777216.0} {0.0, -0.0, -0.0, 2.0} {0.0, -0.0, -0.0, 2.0}
         mul o0.xyzw, v0.xyzw, l(0.0)
         add o1.xyzw, v0.xyzw, -v0.xyzw
         div o2.xyzw, v0.xyzw, v0.xyzw
         eq o3.xyzw, v0.xyzw, v0.xyzw
           {inf, nan, -1.0, 0.0} == {nan, nan, -0.0, 0.0} {nan, nan, 0.0, 0.0} {nan, nan, 1.0, nan} {0xffffffff, 0, 0xffffffff, 0xffffffff}",
    );
}

/// Direct3D 11.3 functional specification, 3.1.3 and 3.1.4: the float mode of the machine serves one kind of float
/// alone.
#[test]
fn floats_flush_beside_doubles_that_do_not() {
    check(
        "mul o0.x, v0.x, l(1.0)
         dmul o0.zw, v0.zwzw, d(0.5l)
         add o1.x, v0.x, v0.x
         ftoi o1.y, v0.x
         rsq o1.z, v0.x
         ftod o2.xy, v0.x
         dtof o2.z, v1.xyzw
         f16tof32 o3.x, l(1)
         sqrt o3.y, v0.y
         exp o3.z, v1.z
           {0x00000001, 0x80000001, 6, 0} {0, 0x37000000, -130.0} == {0.0, 0, 3, 0} {0.0, 0, inf} {0, 0, 0.0} {5.9604645e-8, -0.0, 0.0}",
    );
}

/// The float mode belongs to the caller: x86-64 calling conventions, MXCSR; AArch64 procedure call standard, FPCR.
#[test]
fn a_call_leaves_the_callers_float_mode_alone() {
    check("mul o0.x, v0.x, l(1.0)\n{0x00000001} == {0.0}");
    let tiny = std::hint::black_box(f32::from_bits(3));
    assert_eq!((std::hint::black_box(tiny) * 1.0).to_bits(), 3);
    check("dmul o0.xy, v0.xyxy, d(1.0l)\n{0x00000001} == {0x00000001, 0}");
    assert_eq!((std::hint::black_box(tiny) * 1.0).to_bits(), 3);
}

/// IEEE 754-2019, minimumNumber and maximumNumber; Direct3D 11.3 functional specification, instructions `min` and
/// `max`.
#[test]
fn minimum_and_maximum_prefer_numbers_to_nan() {
    check(
        "min o0.xyzw, v0.xyzw, v1.xyzw
         max o1.xyzw, v0.xyzw, v1.xyzw
         min o2.xyzw, v1.xyzw, v0.xyzw
         max o3.xyzw, v1.xyzw, v0.xyzw
           {nan, 0x7f800001, 0xffc00000, nan} {1.0, -inf, inf, nan} == {1.0, -inf, inf, nan} {1.0, -inf, inf, nan} {1.0, -inf, inf, nan} {1.0, -inf, inf, nan}
           {1.0, -2.0, inf, 3.0} {2.0, -1.0, -inf, 3.0} == {1.0, -2.0, -inf, 3.0} {2.0, -1.0, inf, 3.0} {1.0, -2.0, -inf, 3.0} {2.0, -1.0, inf, 3.0}
         ; Which of two equal ones the minimum is, the maximum is the other.
         min r0.xyzw, v0.xyzw, v1.xyzw
         max r1.xyzw, v0.xyzw, v1.xyzw
         xor o0.xyzw, r0.xyzw, r1.xyzw
           {0.0, -0.0, 0.0, -0.0} {-0.0, 0.0, 0.0, -0.0} == {0x80000000, 0x80000000, 0, 0}",
    );
}

/// Direct3D 11.3 functional specification, `_sat`; compilers use it on conversions and moves of doubles as well.
#[test]
fn saturation_makes_zero_of_nan_on_every_result_that_is_a_float() {
    check(
        "mov_sat o0.xyzw, v0.xyzw
         movc_sat o1.xyzw, l(1), v0.xyzw, l(0.5)
         mul_sat o2.xyzw, v0.xyzw, l(1.0)
         div_sat o3.xyzw, v0.xyzw, v0.xyzw
           {nan, -1.0, 0.25, inf} == {0.0, 0.0, 0.25, 1.0} {0.0, 0.0, 0.25, 1.0} {0.0, 0.0, 0.25, 1.0} {0.0, 1.0, 1.0, 0.0}
         itof_sat o0.xyzw, v0.xyzw
         utof_sat o1.xyzw, v0.xyzw
           {-5, 0, 1, 9} == {0.0, 0.0, 1.0, 1.0} {1.0, 0.0, 1.0, 1.0}
         dmov_sat o0.xyzw, v0.xyzw
         dadd_sat o1.xyzw, v0.xyzw, d(0.25l)
         dtof_sat o2.xy, v0.xyzw
         ftod_sat o3.xyzw, l(nan, 3.0, 0, 0)
         itod_sat o4.xyzw, l(-1, 2, 0, 0)
           {nanl, 0.5l} == {0.0l, 0.5l} {0.0l, 0.75l} {0.0, 0.5} {0.0l, 1.0l} {0.0l, 1.0l}
           {-infl, 7.0l} == {0.0l, 1.0l} {0.0l, 1.0l} {0.0, 1.0} {0.0l, 1.0l} {0.0l, 1.0l}",
    );
}

/// Direct3D 11.3 functional specification, instructions `eq`, `ge`, `lt`, `ne`.
#[test]
fn comparisons_give_all_ones_and_only_inequality_holds_for_nan() {
    check(
        "eq o0.xyzw, v0.xyzw, v1.xyzw
         ne o1.xyzw, v0.xyzw, v1.xyzw
         lt o2.xyzw, v0.xyzw, v1.xyzw
         ge o3.xyzw, v0.xyzw, v1.xyzw
           {nan, 1.0, nan, -0.0} {1.0, nan, nan, 0.0} == {0, 0, 0, 0xffffffff} {0xffffffff, 0xffffffff, 0xffffffff, 0} {0, 0, 0, 0} {0, 0, 0, 0xffffffff}
           {1.0, 2.0, -inf, inf} {2.0, 1.0, inf, inf} == {0, 0, 0, 0xffffffff} {0xffffffff, 0xffffffff, 0xffffffff, 0} {0xffffffff, 0, 0xffffffff, 0} {0, 0xffffffff, 0, 0xffffffff}",
    );
}

/// Direct3D 11.3 functional specification, 3.1.3 and instruction `div`.
#[test]
fn sums_and_products_are_rounded_to_nearest_even_and_quotients_nearly() {
    check(
        "add o0.xyzw, v0.xyzw, v1.xyzw
           {16777216.0, 16777218.0, 1.0, 1.0} {1.0, 1.0, 0x33800000, 0x33800001} == {16777216.0, 16777220.0, 1.0, 0x3f800001}
         mul o0.xyzw, v0.xyzw, v1.xyzw
           {0x3f800001, 0x3f800003, 0x7f7fffff, 0x00800000} {0x3fc00000, 0x3fc00000, 2.0, 0.5} == {0x3fc00002, 0x3fc00004, inf, 0.0}
         within 1.5 ulp
         div o0.xyzw, v0.xyzw, v1.xyzw
           {1.0, 2.0, 1e30, -355.0} {3.0, 3.0, 7.0, 113.0} == {0.33333334, 0.6666667, 1.4285714e29, -3.1415930}
           {0.0, 1.0, -1.0, inf} {0.0, 0.0, 0.0, inf} == {nan, inf, -inf, nan}",
    );
}

/// What an instruction of one source gives for floats of every exponent, three in each, must be near a function of
/// doubles.
fn over_all_exponents(
    instruction: &str,
    bound: &str,
    sign: u32,
    exponents: std::ops::Range<u32>,
    exact: impl Fn(f64) -> f64,
) {
    let mut text = format!("within {bound}\n{instruction} o0.xyz, v0.xyzw\n");
    for exponent in exponents {
        let values =
            [0x00_0001, 0x35_04f3, 0x7f_ffff].map(|mantissa| f32::from_bits(sign << 31 | exponent << 23 | mantissa));
        let row = |values: [f32; 3]| values.map(|value| format!("{value:e}")).join(", ");
        let results = values.map(|value| exact(value.into()) as f32);
        // What has a denormal result belongs to other tests, as have zeros, which have no neighbours.
        if results.iter().all(|result| result.is_normal()) {
            writeln!(text, "{{{}}} == {{{}}}", row(values), row(results)).unwrap();
        }
    }
    check(&text);
}

/// Direct3D 11.3 functional specification, instructions `rcp`, `rsq` and `sqrt`.
#[test]
fn reciprocals_and_roots_are_within_their_bounds_at_every_exponent() {
    for sign in [0, 1] {
        over_all_exponents("rcp", "2^-21 relative", sign, 1..254, |x| 1.0 / x);
    }
    over_all_exponents("rsq", "2^-21 relative", 0, 1..255, |x| 1.0 / x.sqrt());
    over_all_exponents("sqrt", "1 ulp", 0, 1..255, f64::sqrt);
    check(
        "rcp o0.xyzw, v0.xyzw
         rsq o1.xyzw, v0.xyzw
         sqrt o2.xyzw, v0.xyzw
           {0.0, -0.0, inf, nan} == {inf, -inf, 0.0, nan} {inf, -inf, 0.0, nan} {0.0, -0.0, inf, nan}
           {-1.0, -inf, 0x00000001, 0x80000001} == {-1.0, -0.0, inf, -inf} {nan, nan, inf, -inf} {nan, nan, 0.0, -0.0}",
    );
}

/// Direct3D 11.3 functional specification, instructions `exp` and `log`.
#[test]
fn powers_and_logarithms_are_within_their_bounds_at_every_exponent() {
    for sign in [0, 1] {
        over_all_exponents("exp", "2^-21 relative", sign, 90..133, f64::exp2);
    }
    over_all_exponents("log", "2^-21 relative", 0, 1..126, f64::log2);
    over_all_exponents("log", "2^-21 absolute", 0, 126..128, f64::log2);
    over_all_exponents("log", "2^-21 relative", 0, 128..255, f64::log2);
    check(
        "within 2^-21 relative
         exp o0.xyzw, v0.xyzw
         log o1.xyzw, v0.xyzw
           {inf, -inf, nan, 1000.0} == {inf, 0.0, nan, inf} {inf, nan, nan, 9.965784}
           {0.0, -0.0, 0x00000001, 0x80000001} == {1.0, 1.0, 1.0, 1.0} {-inf, -inf, -inf, -inf}
           {-1000.0, -1.0, 128.0, -127.0} == {0.0, 0.5, inf, 0.0} {nan, nan, 7.0, nan}",
    );
}

/// Direct3D 11.3 functional specification, instruction `sincos`.
#[test]
fn sine_and_cosine_are_within_0_0008_for_a_hundred_half_turns() {
    let mut text = "within 0.0008 absolute\nsincos o0.xyzw, o1.xyzw, v0.xyzw\n".to_string();
    for step in -400..=400 {
        let angles = [0.1, 0.3, 0.6, 0.7].map(|part| ((f64::from(step) + part) * std::f64::consts::FRAC_PI_4) as f32);
        let row = |values: [f64; 4]| values.map(|value| format!("{:e}", value as f32)).join(", ");
        let exact = angles.map(f64::from);
        let (sines, cosines) = (exact.map(f64::sin), exact.map(f64::cos));
        writeln!(text, "{{{}}} == {{{}}} {{{}}}", row(exact), row(sines), row(cosines)).unwrap();
    }
    check(&text);
    check(
        "sincos o0.xyzw, o1.xyzw, v0.xyzw
           {0.0, -0.0, inf, nan} == {0.0, -0.0, nan, nan} {1.0, 1.0, nan, nan}",
    );
}

/// Direct3D 11.3 functional specification, instruction `sincos`.
#[test]
fn sine_and_cosine_come_from_the_source_before_either_is_written() {
    check(
        "within 0.0008 absolute
         mov r0.x, v0.x
         sincos r0.x, r0.y, r0.x
         mov o0.xy, r0.xyxx
         mov r0.x, v0.x
         sincos r0.y, r0.x, r0.x
         mov o0.zw, r0.xxxy
         sincos null, o1.x, v0.x
         sincos o1.y, null, v0.x
           {0.5} == {0.47942555, 0.87758255, 0.87758255, 0.47942555} {0.87758255, 0.47942555}
           {-2.0} == {-0.9092974, -0.41614684, -0.41614684, -0.9092974} {-0.41614684, -0.9092974}",
    );
}

/// Direct3D 11.3 functional specification, instruction `frc`: the result is below one.
#[test]
fn fractions_of_the_least_negative_numbers_stay_below_one() {
    check(
        "frc r0.xyzw, v0.xyzw
         mov o0.xyzw, r0.xyzw
         lt o1.xyzw, r0.xyzw, l(1.0)
           {-1e-10, 0x80800000, -0.0, 0x80000001} == {0x3f7fffff, 0x3f7fffff, 0.0|-0.0, 0.0|-0.0} {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}
           {inf, -inf, nan, -1.75} == {nan, nan, nan, 0.25} {0, 0, 0, 0xffffffff}",
    );
}

/// Direct3D 11.3 functional specification, instructions `round_ne`, `round_ni`, `round_pi`, `round_z`.
#[test]
fn halves_round_to_even_and_zeros_keep_their_sign() {
    check(
        "round_ne o0.xyzw, v0.xyzw
         round_ni o1.xyzw, v0.xyzw
         round_pi o2.xyzw, v0.xyzw
         round_z o3.xyzw, v0.xyzw
           {0.5, 1.5, 2.5, -0.5} == {0.0, 2.0, 2.0, -0.0} {0.0, 1.0, 2.0, -1.0} {1.0, 2.0, 3.0, -0.0} {0.0, 1.0, 2.0, -0.0}
           {-0.0, -1.5, -2.5, 8388607.5} == {-0.0, -2.0, -2.0, 8388608.0} {-0.0, -2.0, -3.0, 8388607.0} {-0.0, -1.0, -2.0, 8388608.0} {-0.0, -1.0, -2.0, 8388607.0}",
    );
}

/// x * x - 1 for x = 1 + 2^-12, rounded once and twice: the square needs more than 24 bits.
const ONCE: u32 = 0x3a00_0400;
const TWICE: u32 = 0x3a00_0000;

/// Direct3D 11.3 functional specification, instructions `mad` and `dp2`: one rounding or two, but the same every time.
#[test]
fn a_multiply_add_rounds_alike_on_both_engines_wherever_it_is() {
    let source = crate::support::program::Source::new(
        "dcl_temps 2
         mad o0.x, v0.x, v0.x, l(-1.0)
         mul r0.x, l(-1.0), v0.y
         mad o0.y, v0.x, v0.x, r0.x
         loop
           mad r1.x, v0.x, v0.x, l(-1.0)
           breakc_nz v0.y
         endloop
         mov o0.z, r1.x
         mov r0.xy, l(-1.0, 0, 0, 0)
         mov r0.y, v0.x
         mov r1.x, l(1.0)
         mov r1.y, v0.x
         dp2 o0.w, r0.xyxx, r1.xyxx",
    );
    let shader = Shader::parse(&source.container()).unwrap();
    let inputs: Vec<u8> = [0x3f80_0800, 0x3f80_0000, 0, 0].into_iter().flat_map(u32::to_le_bytes).collect();
    for config in [Config::default(), Config::default().fused_mad(false)] {
        let engine = Engine::new(config).unwrap();
        let expected = if engine.is_fused() { ONCE } else { TWICE };
        for lanes in Lanes::ALL {
            let code = engine.compile(&shader, &CompileOptions::default().lanes(lanes)).unwrap();
            let mut call = code.call();
            call.input("V", 0, shaderjit::VertexBufferView::f32x4(&inputs, 16)).unwrap();
            for outputs in [call.run(0..1).unwrap(), call.interpret(0..1).unwrap()] {
                assert_eq!(outputs.output("O", 0).unwrap().bits(0), Some([expected; 4]));
            }
        }
    }
}

/// Direct3D 11.3 functional specification, refactoring; the bits are those of `d3d11TokenizedProgramFormat.hpp`.
#[test]
fn what_is_precise_rounds_twice_component_by_component() {
    check(
        "dcl_globalFlags refactoringAllowed
         mad [precise(x)] o0.x, v0.x, v0.x, l(-1.0)
         mad [precise(yz)] o0.yz, v0.xxxx, v0.xxxx, l(-1.0)
         mov r0.x, l(-1.0)
         mov r0.y, v0.x
         mov r1.x, l(1.0)
         mov r1.y, v0.x
         dp2 [precise(w)] o0.w, r0.xyxx, r1.xyxx
           {0x3f800800} == {0x3a000000, 0x3a000000, 0x3a000000, 0x3a000000}",
    );
}

/// Direct3D 11.3 functional specification, refactoring: even where it is allowed, nothing is gained by it here.
#[test]
fn a_product_and_a_sum_are_never_made_one_and_sums_not_reordered() {
    for flags in ["", "dcl_globalFlags refactoringAllowed\n"] {
        check(&format!(
            "{flags}mul r0.x, v0.x, v0.x
             add o0.x, r0.x, l(-1.0)
             add r0.y, v0.y, v0.z
             add o0.y, r0.y, v0.w
               {{0x3f800800, 1e20, 1.0, -1e20}} == {{0x3a000000, 0.0}}"
        ));
    }
}

/// Direct3D 11.3 functional specification, 3.1.3 and instruction `mov`.
#[test]
fn moves_keep_signalling_nans_and_their_payload() {
    check(
        "dcl_indexableTemp x0[2], 4
         mov x0[1].xyzw, v0.xyzw
         if_nz v0.x
           mov r0.xyzw, x0[1].xyzw
         else
           mov r0.xyzw, l(0x7f800002)
         endif
         mov o0.xyzw, r0.xyzw
         movc o1.xyzw, v0.wwww, v0.xyzw, r0.xyzw
         mov o2.xyzw, l(0xff812345)
         mov o3.xyzw, -|v0.xyzw|
           {0x7f800001, 0xff800001, 0x7fffffff, 0xffc12345} == {0x7f800001, 0xff800001, 0x7fffffff, 0xffc12345} {0x7f800001, 0xff800001, 0x7fffffff, 0xffc12345} {0xff812345, 0xff812345, 0xff812345, 0xff812345} {0xff800001, 0xff800001, 0xffffffff, 0xffc12345}
           {0, 0x7f800001, 0, 0} == {0x7f800002, 0x7f800002, 0x7f800002, 0x7f800002} {0x7f800002, 0x7f800002, 0x7f800002, 0x7f800002} {0xff812345, 0xff812345, 0xff812345, 0xff812345} {0x80000000, 0xff800001, 0x80000000, 0x80000000}",
    );
}

/// Direct3D 11.1, minimum precision: an implementation may use more.
#[test]
fn operands_of_minimum_precision_are_computed_with_32_bits() {
    check(
        "dcl_globalFlags enableMinimumPrecision
         mul o0.x {min16f}, v0.x {min16f}, v0.y {min16f}
         add o0.y {min2_8f}, -v0.x {min2_8f}, v0.y {min2_8f}
         iadd o0.z {min16i}, v0.z {min16i}, l(1)
         umul null, o0.w {min16u}, v0.z {min16u}, v0.z {min16u}
           {1.0009765, 100000.0, 0x00012345} == {100097.64, 99999.0, 0x00012346, 0x4b65f099}",
    );
}

/// No saturation where there is no float: bit 13 of `sync` says what it waits for (`d3d11TokenizedProgramFormat.hpp`).
#[test]
fn the_saturate_bit_is_that_of_float_results_alone() {
    use shaderjit::frontend::sm4::Program;
    let token = |opcode: Opcode| {
        let tokens = [0x0005_0050, 3, opcode.number() | 1 << 13 | 1 << 24];
        let bytes: Vec<u8> = tokens.into_iter().flat_map(u32::to_le_bytes).collect();
        Program::decode(&bytes, 0).unwrap().instructions[0].token
    };
    let sync = token(Opcode::Sync);
    assert!(!sync.saturate() && sync.sync().unwrap().names().eq(["_ugroup"]));
    assert!(!token(Opcode::Nop).saturate());
}
