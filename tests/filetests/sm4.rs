//! The files of opcodes of shader model 4 and 5.

use crate::support::opcodes::{file, is_instruction, runs};
use crate::support::sections::sections;
use libtest_mimic::Failed;
use shaderjit::frontend::sm4::Opcode;
use std::path::Path;

/// Runs a file.
pub fn check(path: &Path) -> Result<(), Failed> {
    let opcode = opcode_of(path)?;
    let text = std::fs::read_to_string(path)?;
    if text.lines().next() != Some(&format!("; opcode: {opcode}")) {
        return Err(format!("the first line is not `; opcode: {opcode}`").into());
    }
    let sections = sections(&text)?;
    if let Some(section) = sections.iter().find(|section| section.source.opcodes().all(|it| it != opcode)) {
        return Err(format!("a program without {opcode}:\n{:?}", section.source).into());
    }
    let failures: String = sections.iter().filter_map(|section| section.check().err()).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.into()) }
}

/// The opcode that a file has the name of.
pub fn opcode_of(path: &Path) -> Result<Opcode, Failed> {
    let name = path.file_stem().unwrap_or_default();
    let opcode = Opcode::ALL.iter().find(|opcode| name == opcode.mnemonic());
    Ok(*opcode.ok_or_else(|| format!("there is no opcode {}", name.display()))?)
}

/// Whatever lowering does not refuse as unsupported has a file.
pub fn every_opcode_has_a_file() -> Result<(), Failed> {
    let opcodes = Opcode::ALL.iter().copied().filter(|opcode| is_instruction(opcode) && runs(*opcode));
    let missing: Vec<&str> = opcodes.filter(|&opcode| !file(opcode).exists()).map(Opcode::mnemonic).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no file says what {missing:?} compute").into()) }
}
