//! What is refused: stages, opcodes and sizes, each with an error that names it.

use crate::error::LowerError;
use crate::frontend::sm4::lower::MAX_INSTRUCTIONS;
use crate::frontend::sm4::opcode::DataClass;
use crate::frontend::sm4::testing::{assemble, error, lower_program, lower_text, plain_signature, program, program_of};
use crate::frontend::sm4::{Group, Opcode, lower};

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
