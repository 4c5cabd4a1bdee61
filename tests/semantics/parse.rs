//! Programs that are read before they are run: limits, and what may stand where.

use crate::support::assembler::assemble;
use crate::support::program::{Source, bytes};
use crate::support::sections::check;
use shaderjit::container::dxbc::{FourCc, Signature};
use shaderjit::error::{DecodeError, LowerError};
use shaderjit::frontend::sm4::{Program, lower};

/// The program of some lines, whatever rules they break.
pub fn program(text: &str) -> Result<Program, DecodeError> {
    let tokens = assemble(text);
    Program::decode(&bytes(&[&[0x0001_0050, tokens.len() as u32 + 2], &tokens[..]].concat()), 0)
}

/// Why the program of some lines is not lowered.
pub fn error(text: &str) -> LowerError {
    let signature = |part| Signature { part, elements: Vec::new() };
    let lowered = lower(&program(text).unwrap(), &signature(FourCc::ISGN), &signature(FourCc::OSGN));
    lowered.map(|lowered| lowered.function.to_string()).unwrap_err()
}

/// Direct3D 11.3 functional specification, limits of flow control: 64 levels, and a depth that costs the reader no
/// stack.
#[test]
fn nesting_has_an_end_in_every_construct() {
    let nested = |open: &str, close: &str, depth| format!("dcl_temps 1\n{}{}", open.repeat(depth), close.repeat(depth));
    for (open, close) in [
        ("if_nz l(1)\n", "endif\n"),
        ("loop\n", "break\nendloop\n"),
        ("switch l(1)\ncase l(1)\n", "break\nendswitch\n"),
    ] {
        check(&format!("{}mov o0.x, l(1)\nret\n== {{1}}", nested(open, close, 64)));
        for depth in [65, 10_000] {
            let refused = error(&nested(open, close, depth));
            assert!(matches!(refused, LowerError::Limit { what: "nesting of control flow", limit: 64, .. }));
        }
    }
}

/// Indices in indices: four levels are twice what compilers write, and an instruction of 127 dwords has room for ten
/// times that.
#[test]
fn indices_nest_four_deep_and_no_deeper() {
    let nested = |depth: usize| format!("mov o0.x, {}r0.x{}", "x0[".repeat(depth), " + 1].x".repeat(depth));
    check(&format!(
        "dcl_indexableTemp x0[4], 4
         mov x0[1].x, l(2)
         mov x0[3].x, l(1)
         mov x0[2].x, l(-1)
         mov x0[0].x, l(7)
         {}
           == {{7}}",
        nested(4)
    ));
    for depth in [5, 38] {
        let refused = program(&nested(depth)).map(drop);
        assert!(matches!(refused, Err(DecodeError::Limit { what: "nesting of indices", limit: 4, .. })), "{refused:?}");
    }
}

/// Direct3D 11, limits: 4096 temporary registers in all, 4096 rows of constants.
#[test]
fn register_counts_have_an_end() {
    check("dcl_temps 4096\nmov r4095.x, l(3)\nmov o0.x, r4095.x\n== {3}");
    for (text, value) in [
        ("dcl_temps 4097", 4097),
        ("dcl_indexableTemp x0[4097], 4", 4097),
        ("dcl_indexableTemp x0[4000], 4\ndcl_indexableTemp x1[97], 1", 4097),
        ("dcl_temps 0xffffffff", u64::from(u32::MAX)),
    ] {
        let refused = error(text);
        assert!(
            matches!(refused, LowerError::Limit { what: "number of temporary registers", value: v, .. } if v == value),
            "{refused:?}"
        );
    }
}

/// Direct3D 11, limits: 14 slots of constant buffers for the application.
#[test]
fn every_slot_of_constant_buffers_can_be_bound() {
    let mut text = String::new();
    for slot in 0..14 {
        text += &format!("dcl_constantbuffer cb{slot}[1], immediateIndexed\ncb{slot} = {{{}}}\n", slot + 1);
    }
    for slot in 0..14 {
        text += &format!("iadd r0.x, r0.x, cb{slot}[0].x\n");
    }
    check(&format!("{text}mov o0.x, r0.x\n== {{105}}"));
}

/// What is opened is closed, and nothing else; each error has the place of its instruction.
#[test]
fn structure_that_does_not_match_is_refused_where_it_is() {
    // The offset is that of the instruction behind two dwords of header.
    let offset_of = |text: &str, line: usize| {
        let before: Vec<&str> = text.lines().take(line).collect();
        8 + 4 * assemble(&before.join("\n")).len()
    };
    for (text, line) in [
        ("nop\nendif", 1),
        ("if_nz l(1)\nelse\nelse\nendif", 2),
        ("loop\nendif", 1),
        ("switch l(0)\ncase l(1)\nbreak\ncase l(1)\nbreak\nendswitch", 3),
        ("switch l(0)\ndefault\nbreak\ndefault\nbreak\nendswitch", 3),
        ("nop\nbreak", 1),
        ("switch l(0)\ncase l(1)\ncontinue\nendswitch", 2),
        ("nop\nnop\ncase l(1)", 2),
        ("nop\nloop", 1),
        ("call label7\nret", 0),
        ("nop\nlabel label0\nret", 1),
    ] {
        let refused = error(text);
        let LowerError::Invalid { offset, .. } = refused else { panic!("{text}: {refused:?}") };
        assert_eq!(offset, offset_of(text, line), "{text}: {refused}");
    }
}

/// Microsoft's compiler writes programs whose last instruction is a `ret`, but labels may follow, and constructs need
/// not end in their arms (`d3d11TokenizedProgramFormat.hpp`).
#[test]
fn labels_and_returns_may_stand_where_compilers_put_them() {
    let source =
        Source::new("call label1\nret\nlabel label0\nret\nlabel label1\nif_nz v0.x\nret\nelse\nret\nendif\nret");
    assert!(
        shaderjit::Shader::parse(&source.container()).unwrap().interface(&shaderjit::CompileOptions::default()).is_ok()
    );
}

/// The bits of an instruction's controls that it has no use for mean nothing (`d3d11TokenizedProgramFormat.hpp`).
#[test]
fn control_bits_belong_to_their_opcodes() {
    check(
        "iadd!0x2000 o0.x, v0.x, l(1)
         mov!0x40000 o0.y, v0.x
         nop!0x780000
           {-5} == {-4, -5}",
    );
}
