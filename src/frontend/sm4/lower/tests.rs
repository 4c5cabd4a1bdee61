use super::*;
use crate::container::dxbc::SystemValue;
use crate::frontend::sm4::opcode::DataClass;
use crate::frontend::sm4::testing::{
    Setup, assemble, bytes, error, is_invalid, lower_program, lower_text, o0, part, plain_signature, program,
    program_of, run, signature,
};
use crate::frontend::sm4::{Opcode, lower};
use crate::frontend::{Lowered, UniformKind};

const ONES: u32 = u32::MAX;

fn floats(values: [f32; 4]) -> [u32; 4] {
    values.map(f32::to_bits)
}

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

// ---- arithmetic

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

// ---- control flow

#[test]
fn conditions_test_all_bits() {
    let text = "if_nz v0.x\nmov o0.x, l(1)\nendif\nif_z v0.x\nmov o0.y, l(1)\nelse\nmov o0.y, l(2)\nendif";
    assert_eq!(o0(text, [0x8000_0000, 0, 0, 0]), [1, 2, 0, 0]);
    assert_eq!(o0(text, [0, 0, 0, 0]), [0, 1, 0, 0]);
}

#[test]
fn loops_break_and_continue() {
    // The sum of the odd numbers below v0.x, the loop left from inside an `if` at 9.
    let text = "loop
          uge r0.z, r0.x, v0.x
          breakc_nz r0.z
          mov r1.x, r0.x
          iadd r0.x, r0.x, l(1)
          and r0.z, r1.x, l(1)
          continuec_z r0.z
          ieq r0.z, r1.x, l(9)
          if_nz r0.z
            break
          endif
          iadd r0.y, r0.y, r1.x
        endloop
        mov o0.xy, r0.xyzw";
    assert_eq!(o0(text, [6, 0, 0, 0])[1], 1 + 3 + 5);
    assert_eq!(o0(text, [100, 0, 0, 0])[..2], [10, 1 + 3 + 5 + 7]);
}

#[test]
fn switches_fall_through_and_default_is_anywhere() {
    let text = "switch v0.x
          case l(1)
          iadd r0.x, r0.x, l(1)
          default
          iadd r0.x, r0.x, l(10)
          case l(2)
          case l(-3)
          iadd r0.x, r0.x, l(100)
          break
          case l(4)
          breakc_nz v0.y
          iadd r0.x, r0.x, l(1000)
        endswitch
        mov o0.x, r0.x";
    for (value, result) in [(1, 111), (2, 100), (-3i32 as u32, 100), (4, 1000), (5, 110)] {
        assert_eq!(o0(text, [value, 0, 0, 0])[0], result, "{value}");
    }
    assert_eq!(o0(text, [4, 1, 0, 0])[0], 0);
    // Without a default, other values go past it.
    assert_eq!(o0("switch v0.x\ncase l(1)\nmov o0.x, l(5)\nendswitch\nmov o0.y, l(6)", [7, 0, 0, 0]), [0, 6, 0, 0]);
}

#[test]
fn continue_inside_a_switch_is_the_loops() {
    let text = "loop
          iadd r0.x, r0.x, l(1)
          uge r0.z, r0.x, l(6)
          breakc_nz r0.z
          switch r0.x
            case l(2)
            continue
            case l(4)
            break
            default
            iadd r0.y, r0.y, l(1)
            break
          endswitch
          iadd r0.y, r0.y, l(10)
        endloop
        mov o0.xy, r0.xyzw";
    assert_eq!(o0(text, [0; 4])[..2], [6, 3 + 40]);
}

#[test]
fn returns_keep_what_was_written() {
    let text = "mov o0.x, l(1)
        loop
          retc_nz v0.x
          mov o0.x, l(2)
          if_z v0.y
            ret
          else
            break
          endif
          mov o0.x, l(77)
        endloop
        mov o0.x, l(3)
        ret
        mov o0.x, l(99)";
    assert_eq!(o0(text, [1, 0, 0, 0])[0], 1);
    assert_eq!(o0(text, [0, 0, 0, 0])[0], 2);
    assert_eq!(o0(text, [0, 1, 0, 0])[0], 3);
}

#[test]
fn an_endless_loop_runs_out_of_fuel() {
    let lowered = lower_text("loop\nendloop\nret").unwrap();
    assert!(run(&lowered, &Setup::default()).is_err());
    let lowered = lower_text("dcl_temps 1\nloop\niadd r0.x, r0.x, l(1)\nmov o0.x, r0.x\nendloop").unwrap();
    assert!(run(&lowered, &Setup::default()).is_err());
}

#[test]
fn fuel_counts_what_the_turns_of_loops_execute() {
    // A hundred instructions or so a turn.
    let text = "loop
          uge r0.z, r0.x, l(1000)
          breakc_nz r0.z
          if_nz v0.x
            mov o0.y, l(1)
          else
            switch r0.x
              case l(0)
              default
              break
            endswitch
          endif
          iadd r0.x, r0.x, l(1)
        endloop
        mov o0.x, r0.x";
    assert_eq!(o0(text, [0; 4])[0], 1000);
}

#[test]
fn dead_code_may_be_anything_but_must_match() {
    let text = "mov o0.x, l(1)
        ret
        if_nz v0.x
          loop
            sync
            break
          endloop
        else
          switch v0.x
            case l(1)
            default
            abort
          endswitch
        endif
        mov r99.x, l(3)";
    assert_eq!(o0(text, [0; 4])[0], 1);
    is_invalid("ret\nif_nz v0.x\nendloop", "endloop");
    is_invalid("ret\nif_nz v0.x\nelse\nelse\nendif", "else");
    // Behind `ret`, a label ends the program.
    assert_eq!(o0("mov o0.x, l(4)\nret\nlabel label0\nendif\nret", [0; 4])[0], 4);
}

#[test]
fn structure_must_match() {
    for (text, what) in [
        ("endif", "endif"),
        ("else", "else"),
        ("loop\nendif", "endif"),
        ("if_nz v0.x\nendloop", "endloop"),
        ("if_nz v0.x\nelse\nelse\nendif", "else"),
        ("endswitch", "endswitch"),
        ("case l(1)", "case"),
        ("loop\ncase l(1)", "case"),
        ("default", "default"),
        ("break", "break"),
        ("if_nz v0.x\nbreakc_nz v0.x\nendif", "breakc"),
        ("switch v0.x\ncase l(1)\ncontinue\nendswitch", "continue"),
        ("switch v0.x\ncase l(1)\ncase l(1)\nendswitch", "case is repeated"),
        ("switch v0.x\ndefault\nbreak\ndefault\nendswitch", "default is repeated"),
        ("switch v0.x\ncase v0.x\nendswitch", "not an immediate"),
        ("if_nz v0.x", "no end"),
        ("loop\nret", "no end"),
        ("switch v0.x", "no end"),
    ] {
        is_invalid(text, what);
    }
    // The error of an unclosed construct is where it begins: behind the header and one `nop`.
    assert!(matches!(error("nop\nloop"), LowerError::Invalid { offset: 12, .. }));
}

#[test]
fn nesting_ends() {
    let nested = |depth: usize| format!("{}{}", "if_nz v0.x\n".repeat(depth), "endif\n".repeat(depth));
    assert!(lower_text(&nested(MAX_NESTING)).is_ok());
    assert!(matches!(error(&nested(MAX_NESTING + 1)), LowerError::Limit { what: "nesting of control flow", .. }));
    assert!(matches!(error(&format!("ret\n{}", nested(MAX_NESTING + 1))), LowerError::Limit { .. }));
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

// ---- what is refused

#[test]
fn stages_between_vertices_and_pixels_declare_what_they_are() {
    for stage in [2, 3, 4] {
        let program = program_of(stage << 16 | 0x50, &[]).unwrap();
        let refused = lower(&program, &plain_signature(), &plain_signature());
        assert!(matches!(refused, Err(LowerError::Invalid { what, offset: 0 }) if what.contains("not declared")));
    }
}

#[test]
fn opcodes_are_lowered_or_refused_by_name() {
    let mut lowered = 0;
    for &opcode in Opcode::ALL {
        if matches!(opcode.group(), Group::Declaration | Group::CustomData) || opcode == Opcode::InterfaceCall {
            continue;
        }
        // Operands of a kind that everything accepts, as far as it goes.
        let has_doubles = opcode.slots().iter().any(|slot| slot.class == DataClass::Double);
        let register = if has_doubles { 0x0010_0032 } else { 0x0010_00f2 };
        let operands: Vec<u32> = opcode.slots().iter().flat_map(|_| [register, 0]).collect();
        let token = opcode.number() | (1 + operands.len() as u32) << 24;
        let program = program(&[assemble("dcl_temps 1"), vec![token], operands].concat()).unwrap();
        match lower_program(&program) {
            Ok(_) => lowered += 1,
            Err(LowerError::Unsupported { what, offset }) => {
                assert_eq!((what.as_str(), offset), (opcode.mnemonic(), 16));
            }
            // Structure without what it belongs to, or a label or a view where a register is.
            Err(LowerError::Invalid { .. }) => {
                use Opcode::*;
                let reads_buffers =
                    matches!(opcode, Ld | LdRaw | LdStructured | BufInfo | LdS | LdRawS | LdStructuredS | LdUavTypedS);
                let reads_textures = matches!(
                    opcode,
                    LdMs | SampleL
                        | SampleD
                        | SampleCLz
                        | Gather4
                        | Gather4C
                        | Gather4Po
                        | Gather4PoC
                        | ResInfo
                        | SampleInfo
                        | SamplePos
                        | LdMsS
                        | SampleLS
                        | SampleCLzS
                        | SampleDClS
                        | Gather4S
                        | Gather4CS
                        | Gather4PoS
                        | Gather4PoCS
                );
                let is_other = matches!(opcode.group(), Group::Flow | Group::Memory | Group::Atomic);
                assert!(is_other || reads_buffers || reads_textures, "{opcode}");
            }
            Err(error) => panic!("{opcode}: {error}"),
        }
    }
    // The float, bit, int, uint and double groups without the nine that need neighbours; `nop`, `ret`, `retc` and
    // `sync`; the debug group; what looks at a status.
    assert_eq!(lowered, 40 + 12 + 14 + 13 + 17 - 9 + 4 + 2 + 1);
}

#[test]
fn size_is_bounded() {
    let nops = vec![Opcode::Nop.number() | 1 << 24; MAX_INSTRUCTIONS as usize + 1];
    let refused = lower_program(&program(&nops).unwrap());
    assert!(matches!(refused, Err(LowerError::Limit { what: "number of instructions", .. })));
    // Many registers that may all be live across many blocks.
    let writes: String = (0..1000).map(|register| format!("mov r{register}.xyzw, v0.xyzw\n")).collect();
    let branchy = format!("dcl_temps 4096\n{writes}{}", "retc_nz v0.x\n".repeat(300));
    assert!(matches!(error(&branchy), LowerError::Limit { what: "registers times blocks", .. }));
    // Registers that are only declared, or only read, cost nothing.
    let reads = "dcl_temps 4096\nmov o0.xyzw, r77.xyzw\n".to_string() + &"retc_nz v0.x\n".repeat(300);
    assert!(lower_text(&reads).is_ok());
}

// ---- real programs

fn corpus(container: &[u8]) -> Lowered {
    let dxbc = crate::container::Dxbc::parse(container).unwrap();
    let program = Program::from_container(&dxbc.program().unwrap().unwrap()).unwrap();
    let signature = |signature: Result<Option<_>, _>| signature.unwrap().unwrap();
    let (inputs, outputs) = (signature(dxbc.input_signature()), signature(dxbc.output_signature()));
    lower(&program, &inputs, &outputs).unwrap()
}

#[test]
fn a_transform_reads_and_writes_by_signature() {
    let lowered = corpus(include_bytes!("../../../../tests/data/dxbc/vs_transform/VS.vs_4_0.fxc101.dxbc"));
    let semantics: Vec<_> = lowered.interface.inputs.iter().map(|element| element.semantic.as_str()).collect();
    assert_eq!(semantics[0], "POSITION");
    let position = lowered.interface.outputs.iter().find(|element| element.semantic == "SV_Position").unwrap();
    assert_eq!((position.register, position.mask), (0, 0xf));
}

#[test]
fn mutated_programs_lower_or_are_refused() {
    let containers: [&[u8]; 4] = [
        include_bytes!("../../../../tests/data/dxbc/vs_calls/VS.vs_5_0.fxc101.dxbc"),
        include_bytes!("../../../../tests/data/dxbc/vs_switch/VS.vs_5_0.fxc101.dxbc"),
        include_bytes!("../../../../tests/data/dxbc/vs_indextemp/VS.vs_5_0.fxc101.dxbc"),
        include_bytes!("../../../../tests/data/dxbc/vs_bits/VS.vs_5_0.fxc101.dxbc"),
    ];
    arbtest::arbtest(|u| {
        let (tokens, offset) = part(u.choose(&containers)?);
        let mut tokens: Vec<u32> =
            tokens.chunks_exact(4).map(|token| u32::from_le_bytes(token.try_into().unwrap())).collect();
        for _ in 0..u.int_in_range(1..=4)? {
            let at = u.choose_index(tokens.len())?;
            match u.int_in_range(0..=2)? {
                0 => tokens[at] ^= 1 << u.int_in_range(0..=31)?,
                1 => tokens[at] = u.int_in_range(0..=64)?,
                _ => tokens[at] = tokens[u.choose_index(tokens.len())?],
            }
        }
        let Ok(program) = Program::decode(&bytes(&tokens), offset) else { return Ok(()) };
        if let Ok(lowered) = lower_program(&program) {
            // Whatever it has become, it ends or runs out of fuel.
            let uniforms: Vec<&[[u32; 4]]> = vec![&[]; lowered.interface.uniforms.len()];
            let resources: Vec<&[u8]> = vec![&[]; lowered.interface.resources.len()];
            _ = run(&lowered, &Setup { uniforms: &uniforms, resources: &resources, ..Setup::default() });
        }
        Ok(())
    });
}
