//! Structured control flow: branches, loops, switches and returns, where they lead, and that they nest and end.

use crate::error::LowerError;
use crate::frontend::sm4::lower::MAX_NESTING;
use crate::frontend::sm4::testing::{Setup, error, is_invalid, lower_text, o0, run};

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
