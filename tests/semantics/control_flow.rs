//! Control flow: every invocation on its own way.

use crate::support::sections::check;
use shaderjit::error::LowerError;

/// Direct3D 11.3 functional specification, instructions `if`, `breakc`, `continuec`, `retc`, `callc`, `discard`.
#[test]
fn conditions_are_bits_not_floats() {
    check(
        "ps_5_0
         if_nz v0.x
           mov o0.x, l(1)
         endif
         loop
           breakc_nz v0.x
           mov o0.y, l(1)
           break
         endloop
         loop
           uge r0.y, r0.x, l(1)
           breakc_nz r0.y
           iadd r0.x, r0.x, l(1)
           continuec_z v0.x
           mov o0.z, l(1)
         endloop
         callc_nz v0.x, label0
         discard_nz v0.x
         retc_z v0.x
         mov o1.x, l(1)
         ret
         label label0
         mov o0.w, l(1)
         ret
           {0} == {0, 1, 0, 0} {0}
           {-0.0} == {1, 0, 1, 1} {1} discarded
           {0x00000001} == {1, 0, 1, 1} {1} discarded
           {nan} == {1, 0, 1, 1} {1} discarded
           {1.0} == {1, 0, 1, 1} {1} discarded",
    );
}

/// Direct3D 11.3 functional specification, instructions `switch`, `case`, `default`.
#[test]
fn cases_fall_through_and_the_default_stands_anywhere() {
    check(
        "switch v0.x
           default
             iadd r0.x, r0.x, l(1)
           case l(1)
             iadd r0.x, r0.x, l(10)
           case l(2)
           case l(3)
             iadd r0.x, r0.x, l(100)
             break
           case l(0x80000000)
             iadd r0.x, r0.x, l(1000)
         endswitch
         mov o0.x, r0.x
           {0} == {111}
           {1} == {110}
           {2} == {100}
           {3} == {100}
           {-0.0} == {1000}
           {99} == {111}",
    );
}

/// Direct3D 11.3 functional specification, instructions `break` and `continue`.
#[test]
fn break_leaves_the_innermost_loop_or_switch_and_continue_passes_switches() {
    check(
        "loop
           uge r0.w, r0.x, l(6)
           breakc_nz r0.w
           iadd r0.x, r0.x, l(1)
           switch v0.x
             case l(0)
               continue
             case l(1)
               ieq r0.w, r0.x, l(2)
               breakc_nz r0.w
               switch r0.x
                 case l(3)
                   continue
                 case l(4)
                   break
                 default
                   loop
                     iadd r0.z, r0.z, l(1)
                     break
                   endloop
               endswitch
               iadd r0.y, r0.y, l(1)
           endswitch
           iadd r0.y, r0.y, l(10)
         endloop
         mov o0.xyz, r0.xyzx
           {0} == {6, 0, 0}
           {1} == {6, 54, 3}
           {2} == {6, 60, 0}",
    );
}

/// Direct3D 11.3 functional specification, instruction `ret`: it ends the invocation or subroutine that gets there.
#[test]
fn a_return_ends_its_own_invocation_and_subroutine() {
    check(
        "loop
           uge r0.y, r0.x, v0.x
           breakc_nz r0.y
           call label0
           iadd r0.x, r0.x, l(1)
           if_nz v0.z
             ret
           endif
         endloop
         mov o0.y, l(7)
         ret
         label label0
         loop
           retc_nz v0.y
           iadd r0.z, r0.z, l(1)
           mov o0.x, r0.z
           ret
         endloop
         ret
           {3, 0, 0} == {3, 7}
           {3, 1, 0} == {0, 7}
           {3, 0, 1} == {1, 0}
           {0, 0, 1} == {0, 7}
           {1, 0, 0} == {1, 7}",
    );
}

/// Code behind a `ret` is dead up to the next label, which ends the program in front of it
/// (`d3d11TokenizedProgramFormat.hpp`).
#[test]
fn what_stands_behind_a_return_does_not_run() {
    check(
        "mov o0.x, l(1)
         ret
         mov o0.x, l(2)
         if_nz v0.x
           mov o0.x, l(3)
         endif
         ret
         label label5
         mov o0.x, l(4)
         ret
           {0} == {1}
           {1} == {1}",
    );
}

/// A program of `length` subroutines, of which each adds one and calls the next.
fn chain(length: u32) -> String {
    let subroutine = |label: u32| {
        let next = if label + 1 < length { format!("call label{}\n", label + 1) } else { String::new() };
        format!("label label{label}\niadd r0.x, r0.x, l(1)\n{next}ret\n")
    };
    let subroutines: String = (0..length).map(subroutine).collect();
    format!("call label0\nmov o0.x, r0.x\nret\n{subroutines}")
}

/// Direct3D 11.3 functional specification, instruction `call`: the 33rd nested call does nothing.
#[test]
fn the_call_at_depth_33_is_skipped() {
    for (length, depth) in [(1, 1), (31, 31), (32, 32), (33, 32), (40, 32)] {
        check(&format!("{}== {{{depth}}}", chain(length)));
    }
}

/// Direct3D 11.3 functional specification, instruction `call`: no subroutine calls itself.
#[test]
fn recursion_is_refused() {
    for text in [
        "call label0\nret\nlabel label0\ncall label0\nret",
        "call label0\nret\nlabel label0\ncall label1\nret\nlabel label1\ncallc_nz v0.x, label0\nret",
    ] {
        let error = crate::parse::error(text);
        assert!(matches!(&error, LowerError::Invalid { what, .. } if what == "label0 calls itself"), "{error:?}");
    }
}

/// Direct3D 11.3 functional specification, instruction `fcall`: an element that the interface does not have calls
/// nothing.
#[test]
fn an_interface_calls_the_function_of_the_bound_class() {
    check(
        "dcl_constantbuffer cb1[4], dynamicIndexed
         dcl_function_body 0
         dcl_function_body 1
         dcl_function_table 0, 1, 0
         dcl_function_table 1, 1, 1
         dcl_interface!0x800 0, 1, 0x00020002, 0, 1
         cb1 = {1} {2} {30} {40}
         fp0 = ft1 cb1[2]
         fp1 = ft0 cb1[3]
         fcall fp0[v0.x + 0][0]
         mov o0.xy, r0.xyxx
         ret
         label fb0
         mov r0.x, l(5)
         mov r0.z, this[1].y
         mov r0.y, cb1[r0.z + 0].x
         ret
         label fb1
         mov r0.x, l(6)
         mov r0.z, this[0].y
         mov r0.y, cb1[r0.z + 0].x
         ret
           {0} == {6, 30}
           {1} == {5, 40}
           {2} == {0, 0}
           {-1} == {0, 0}",
    );
}

/// Loops without an end are legal; what a caller sees of one is an error, on either engine.
#[test]
fn a_loop_without_an_end_ends_the_call() {
    check(
        "loop
           iadd r0.x, r0.x, l(1)
           breakc_nz v0.x
         endloop
         mov o0.x, r0.x
           {1} == {1}
           {0} == out_of_fuel
         loop
           loop
             continue
           endloop
         endloop
           == out_of_fuel",
    );
}
