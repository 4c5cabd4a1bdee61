//! Arithmetic: what instructions compute, at the edges of their domains above all.

use super::{ONES, floats};
use crate::frontend::sm4::testing::{Setup, lower_text, o0, run};

#[test]
fn comparisons_give_masks() {
    let (nan, one, two) = (f32::NAN, 1.0, 2.0);
    let test = |opcode: &str| o0(&format!("{opcode} o0.xyzw, v0.xyzw, l(1.0)"), floats([one, two, 0.5, nan]));
    assert_eq!(test("eq"), [ONES, 0, 0, 0]);
    assert_eq!(test("ne"), [0, ONES, ONES, ONES]);
    assert_eq!(test("lt"), [0, 0, ONES, 0]);
    assert_eq!(test("ge"), [ONES, ONES, 0, 0]);
    let test = |opcode: &str| o0(&format!("{opcode} o0.xyzw, v0.xyzw, l(1)"), [1, ONES, 2, 0]);
    assert_eq!(test("ilt"), [0, ONES, 0, ONES]);
    assert_eq!(test("ige"), [ONES, 0, ONES, 0]);
    assert_eq!(test("ult"), [0, 0, 0, ONES]);
    assert_eq!(test("uge"), [ONES, ONES, ONES, 0]);
    assert_eq!(test("ieq"), [ONES, 0, 0, 0]);
    assert_eq!(test("ine"), [0, ONES, ONES, ONES]);
}

#[test]
fn fractions_stay_below_one() {
    let values = floats([-1e-10, 1.75, f32::INFINITY, -0.25]);
    let fractions = o0("frc o0.xyzw, v0.xyzw", values).map(f32::from_bits);
    assert_eq!([fractions[0], fractions[1], fractions[3]], [1.0f32.next_down(), 0.75, 0.75]);
    assert!(fractions[2].is_nan());
}

#[test]
fn roots_and_reciprocals_have_their_limits() {
    let inf = f32::INFINITY;
    assert_eq!(o0("rsq o0.xyzw, v0.xyzw", floats([0.0, -0.0, 4.0, inf])), floats([inf, -inf, 0.5, 0.0]));
    assert_eq!(o0("rcp o0.xyzw, v0.xyzw", floats([0.0, -0.0, 4.0, inf])), floats([inf, -inf, 0.25, 0.0]));
}

#[test]
fn dot_products_take_as_many_components_as_they_say() {
    let v0 = floats([1.0, 2.0, 4.0, 8.0]);
    for (opcode, sum) in [("dp2", 5.0), ("dp3", 21.0), ("dp4", 85.0)] {
        assert_eq!(o0(&format!("{opcode} o0.xz, v0.xyzw, v0.xyzw"), v0), floats([sum, 0.0, sum, 0.0]));
    }
}

#[test]
fn only_what_is_not_precise_may_fuse() {
    // x * x - 1 for x = 1 + 2^-12: the square needs more than 24 bits.
    let x = 1.0 + 2f32.powi(-12);
    let (once, twice) = (x.mul_add(x, -1.0).to_bits(), (x * x - 1.0).to_bits());
    assert_ne!(once, twice);
    let run = |text: &str, unfused| {
        let lowered = lower_text(text).unwrap();
        run(&lowered, &Setup { inputs: &[[x.to_bits(); 4]], unfused, ..Setup::default() }).unwrap()[0]
    };
    let mad = "mad [precise(y)] o0.xy, v0.xyzw, v0.xyzw, l(-1.0)";
    assert_eq!(run(mad, false), [once, twice, 0, 0]);
    assert_eq!(run(mad, true), [twice, twice, 0, 0]);
    let separate = "dcl_temps 1\nmul r0.x, v0.x, v0.x\nadd o0.x, r0.x, l(-1.0)";
    assert_eq!(run(separate, false), [twice, 0, 0, 0]);
    // -1 * 1 + x * x
    let dot = "dcl_temps 1\nmov r0.x, l(-1.0)\nmov r0.y, v0.x\nmov r1.x, l(1.0)\nmov r1.y, v0.x";
    let dot = dot.replace("dcl_temps 1", "dcl_temps 2");
    assert_eq!(run(&format!("{dot}\ndp2 o0.x, r0.xyzw, r1.xyzw"), false), [once, 0, 0, 0]);
    assert_eq!(run(&format!("{dot}\ndp2 [precise(x)] o0.x, r0.xyzw, r1.xyzw"), false), [twice, 0, 0, 0]);
}

#[test]
fn bit_fields() {
    // Width, offset: ordinary, nothing, past the top, all but the lowest bit.
    let value = 0xf234_5678u32;
    let fields =
        |opcode: &str| o0(&format!("{opcode} o0.xyzw, l(8, 0, 8, 31), l(4, 4, 28, 1), v0.xxxx"), [value, 0, 0, 0]);
    assert_eq!(fields("ubfe"), [0x67, 0, 0xf, value >> 1]);
    assert_eq!(fields("ibfe"), [0x67, 0, ONES, (value as i32 >> 1) as u32]);
    assert_eq!(
        o0("ibfe o0.xy, l(4, 36, 0, 0), l(0, 32, 0, 0), v0.xxxx", [0x8, 0, 0, 0]),
        [-8i32 as u32, -8i32 as u32, 0, 0]
    );
    assert_eq!(
        o0("bfi o0.xyzw, l(8, 0, 8, 40), l(4, 4, 28, 36), v0.xxxx, v0.yyyy", [0xab, 0x1234_5678, 0, 0]),
        [0x1234_5ab8, 0x1234_5678, 0xb234_5678, 0x1234_5ab8]
    );
}

#[test]
fn bits_are_counted_and_found() {
    let values = [0, 1, 0x8000_0000, 0x00f0_0000];
    assert_eq!(o0("countbits o0.xyzw, v0.xyzw", values), [0, 1, 1, 4]);
    assert_eq!(o0("firstbit_hi o0.xyzw, v0.xyzw", values), [ONES, 31, 0, 8]);
    assert_eq!(o0("firstbit_lo o0.xyzw, v0.xyzw", values), [ONES, 0, 31, 20]);
    assert_eq!(o0("firstbit_shi o0.xyzw, v0.xyzw", [0, ONES, 0x8000_0000, 0x00f0_0000]), [ONES, ONES, 1, 8]);
    assert_eq!(o0("bfrev o0.xyzw, v0.xyzw", values), values.map(u32::reverse_bits));
}

#[test]
fn integers_wrap_carry_and_divide_by_zero() {
    assert_eq!(o0("uaddc o0.x, o0.y, v0.x, v0.y", [ONES, 2, 0, 0]), [1, 1, 0, 0]);
    assert_eq!(o0("uaddc o0.x, o0.y, v0.x, v0.y", [ONES, 0, 0, 0]), [ONES, 0, 0, 0]);
    assert_eq!(o0("usubb o0.x, o0.y, v0.x, v0.y", [1, 2, 0, 0]), [ONES, 1, 0, 0]);
    assert_eq!(o0("usubb o0.x, o0.y, v0.x, v0.y", [2, 2, 0, 0]), [0, 0, 0, 0]);
    assert_eq!(o0("udiv o0.xy, o0.zw, v0.xyxy, l(5, 0, 5, 0)", [17, 17, 0, 0]), [3, ONES, 2, ONES]);
    assert_eq!(o0("umul o0.x, o0.y, v0.x, v0.y", [ONES, ONES, 0, 0]), [0xffff_fffe, 1, 0, 0]);
    assert_eq!(o0("imul o0.x, o0.y, v0.x, v0.y", [ONES, ONES, 0, 0]), [0, 1, 0, 0]);
    assert_eq!(o0("imad o0.x, v0.x, v0.y, v0.z", [ONES, 3, 10, 0]), [7, 0, 0, 0]);
    assert_eq!(o0("ishl o0.xyzw, v0.x, l(0, 31, 32, 33)", [3, 0, 0, 0]), [3, 1 << 31, 3, 6]);
    assert_eq!(o0("ishr o0.xy, v0.x, l(4, 36, 0, 0)", [0x8000_0000, 0, 0, 0]), [0xf800_0000, 0xf800_0000, 0, 0]);
    assert_eq!(o0("ushr o0.xy, v0.x, l(4, 36, 0, 0)", [0x8000_0000, 0, 0, 0]), [0x0800_0000, 0x0800_0000, 0, 0]);
    assert_eq!(o0("ineg o0.xy, v0.xyzw", [5, 0, 0, 0]), [-5i32 as u32, 0, 0, 0]);
}

#[test]
fn masked_differences_skip_zero_references_and_do_not_overflow() {
    let msad = |accumulator| o0("msad o0.x, v0.x, v0.y, v0.z", [0x10_00_20_ff, 0x20_77_10_00, accumulator, 0])[0];
    assert_eq!(msad(5), 5 + 0x10 + 0x10 + 0xff);
    assert_eq!(msad(u32::MAX - 3), u32::MAX);
}

#[test]
fn swapc_exchanges_where_the_condition_holds() {
    let text = "mov r0.xy, l(1, 2, 0, 0)\nmov r1.xy, l(3, 4, 0, 0)
        swapc r0.xy, r1.xy, v0.xyzw, r0.xyzw, r1.xyzw
        mov o0.xy, r0.xyzw\nmov o0.zw, r1.xxxy";
    assert_eq!(o0(text, [0x8000_0000, 0, 0, 0]), [3, 2, 1, 4]);
}
