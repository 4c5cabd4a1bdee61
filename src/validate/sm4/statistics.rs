//! The compiler's statistics against the program: those counters that follow from its code alone and that compilers
//! agree on. Most others count what the compiler had before its last passes.

use crate::container::Dxbc;
use crate::container::dxbc::{Counters, FourCc, Statistics};
use crate::frontend::sm4::opcode::Group;
use crate::frontend::sm4::{Body, Declaration, Opcode, Program};
use crate::validate::Findings;

pub(super) fn check(program: &Program, dxbc: &Dxbc<'_>, findings: &mut Findings) {
    // Malformed statistics were reported as such.
    let Ok(Some(Statistics::Counters(stored))) = dxbc.statistics() else { return };
    let offset = dxbc.part(FourCc::STAT).map_or(0, |part| part.data_offset());
    let counted = count(program);
    for (n, ((name, stored), (_, counted))) in stored.counters().into_iter().zip(counted.counters()).enumerate() {
        if is_checked(name) && stored != counted {
            let message = format_args!("the statistics say that {name} is {stored}, in the program it is {counted}");
            findings.warning(offset + 4 * n, message);
        }
    }
}

/// Whether [`count`] counts it.
fn is_checked(counter: &str) -> bool {
    matches!(
        counter,
        "temps"
            | "max_output_vertices"
            | "gs_instances"
            | "cut_instructions"
            | "emit_instructions"
            | "interlocked_instructions"
    )
}

/// The counters of a program that are checked.
fn count(program: &Program) -> Counters {
    let mut counters = Counters::default();
    for instruction in &program.instructions {
        match (&instruction.body, instruction.opcode()) {
            (Body::Declaration(declaration), _) => match *declaration {
                // The phases of a hull shader do not run at the same time.
                Declaration::Temps(count) => counters.temps = counters.temps.max(count),
                Declaration::MaxOutputVertices(count) => counters.max_output_vertices = count,
                Declaration::GsInstances(count) => counters.gs_instances = count,
                _ => {}
            },
            (_, Opcode::Cut | Opcode::CutStream) => counters.cut_instructions += 1,
            (_, Opcode::Emit | Opcode::EmitStream) => counters.emit_instructions += 1,
            (_, opcode) if opcode.group() == Group::Atomic => counters.interlocked_instructions += 1,
            _ => {}
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::testing::bytes;
    use crate::validate::sm4::testing::*;

    fn found(counters: &[(&str, u32)], text: &str) -> Vec<String> {
        let value = |name: &&str| counters.iter().find(|(known, _)| known == name).map_or(0, |&(_, value)| value);
        let dwords: Vec<u32> = Counters::NAMES.iter().map(value).collect();
        findings_of(&[(FourCc::STAT, bytes(&dwords))], GS_5_0, text)
    }

    #[test]
    fn counters_agree_with_the_program() {
        let program = "dcl_inputprimitive!0x1800\n dcl_maxout 3\n dcl_stream m0\n dcl_temps 2\n emit_stream m0\n ret";
        let right = [("temps", 2), ("max_output_vertices", 3), ("emit_instructions", 1), ("mov_instructions", 9)];
        assert_eq!(found(&right, program), [""; 0]);
        let wrong = [("temps", 4), ("max_output_vertices", 3), ("emit_instructions", 1)];
        let expected = ["warning: the statistics say that temps is 4, in the program it is 2"];
        assert_eq!(found(&wrong, program), expected);
        let phases =
            "hs_fork_phase\n dcl_temps 1\n ret\n hs_fork_phase\n dcl_temps 5\n ret\n hs_join_phase\n dcl_temps 2\n ret";
        let tokens = crate::frontend::sm4::testing::assemble(phases);
        let program = crate::frontend::sm4::testing::program_of(HS_5_0, &tokens).unwrap();
        assert_eq!(count(&program).temps, 5);
    }
}
