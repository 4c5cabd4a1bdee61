//! Programs of shader model 4 and 5.

mod bindings;
mod declarations;
mod declared;
mod flow;
mod operands;
mod signatures;
mod statistics;

use super::Findings;
use crate::container::Dxbc;
use crate::frontend::sm4::{Body, Program};
use declared::Declared;

/// Checks the container's program, and what other parts say about it.
pub(super) fn check(dxbc: &Dxbc<'_>, findings: &mut Findings) {
    // Parts that are malformed were reported as such.
    let Ok(Some(part)) = dxbc.program() else { return };
    let program = match Program::from_container(&part) {
        Ok(program) => program,
        Err(error) => return findings.parse_error(error.offset(), &error),
    };
    check_program(&program, findings);
    signatures::check(&program, dxbc, findings);
    bindings::check(&program, dxbc, findings);
    statistics::check(&program, dxbc, findings);
}

/// The rules that need nothing but the program.
fn check_program(program: &Program, findings: &mut Findings) {
    let mut declared = Declared::new(program);
    for instruction in &program.instructions {
        match &instruction.body {
            Body::Declaration(declaration) => declared.declare(instruction, declaration, findings),
            Body::CustomData(data) => declared.data(instruction.offset, data, findings),
            Body::Operation(_) => {
                declared.begin_code();
                operands::check(instruction, &declared, findings);
            }
        }
    }
    declared.finish(findings);
    flow::check(program, findings);
}

#[cfg(test)]
mod tests {
    use super::testing::{VS_5_0, findings};
    use crate::validate::MAX_FINDINGS;

    /// Every instruction breaks several rules, and opens or calls something.
    #[test]
    fn large_programs_are_checked_to_their_end() {
        let lines = "mov o9.x, v9.w\n if_nz r9.x\n switch l(1)\n case l(7)\n mov x7[1].x, cb9[r9.x + 1].x\n call label9\n\
                     dcl_input v1.xyzw\n dcl_indexrange v1.x 30\n dcl_indexableTemp x1[9], 4\n";
        // With more than linear time this would not end.
        assert_eq!(findings(VS_5_0, &lines.repeat(20_000)).len(), MAX_FINDINGS + 1);
    }
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::container::digest::Signing;
    use crate::container::dxbc::{Builder, FourCc, SystemValue};
    use crate::frontend::sm4::testing::{assemble, bytes, program_of};
    use crate::validate::validate;

    /// Version tokens.
    pub const PS_5_0: u32 = 0x0000_0050;
    pub const VS_5_0: u32 = 0x0001_0050;
    pub const VS_5_1: u32 = 0x0001_0051;
    pub const GS_5_0: u32 = 0x0002_0050;
    pub const HS_5_0: u32 = 0x0003_0050;
    pub const DS_5_0: u32 = 0x0004_0050;
    pub const CS_4_0: u32 = 0x0005_0040;
    pub const CS_5_0: u32 = 0x0005_0050;

    /// What the rules find in a program of these lines.
    pub fn findings(model: u32, text: &str) -> Vec<String> {
        let program = program_of(model, &assemble(text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut findings = Findings::default();
        check_program(&program, &mut findings);
        findings.finish().iter().map(ToString::to_string).collect()
    }

    /// The program breaks one rule, at this instruction (counted from 0), with this message.
    pub fn breaks(model: u32, text: &str, line: usize, expected: &str) {
        let program = program_of(model, &assemble(text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let offset = program.instructions[line].offset;
        assert_eq!(findings(model, text), [format!("{expected} (at offset {offset:#x})")], "{text}");
    }

    /// The program breaks no rule.
    pub fn is_fine(model: u32, text: &str) {
        assert_eq!(findings(model, text), [""; 0], "{text}");
    }

    /// One element: semantic, register (`u32::MAX` for none), system value, mask, read or never-written mask.
    pub type Element = (&'static str, u32, SystemValue, u8, u8);

    /// The data of a signature part.
    pub fn signature(elements: &[Element]) -> Vec<u8> {
        let mut dwords = vec![elements.len() as u32, 8];
        let mut names = Vec::new();
        for &(semantic, register, SystemValue(value), mask, rw) in elements {
            let name = 8 + 24 * elements.len() + names.len();
            dwords.extend([name as u32, 0, value, 3, register, u32::from(mask) | u32::from(rw) << 8]);
            names.extend_from_slice(semantic.as_bytes());
            names.push(0);
        }
        names.resize(names.len().next_multiple_of(4), 0);
        [bytes(&dwords), names].concat()
    }

    /// What is found in a container of these parts and a program of these lines, offsets left out.
    pub fn findings_of(parts: &[(FourCc, Vec<u8>)], model: u32, text: &str) -> Vec<String> {
        let program = program_of(model, &assemble(text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let program = bytes(&program.encode());
        let builder = parts.iter().fold(Builder::new(), |builder, (name, data)| builder.part(*name, data));
        let file = builder.part(FourCc::SHEX, &program).build(Signing::Retail).unwrap();
        let findings = validate(&crate::container::Container::parse(&file).unwrap());
        findings.iter().map(|finding| format!("{}: {}", finding.severity, finding.message)).collect()
    }
}
