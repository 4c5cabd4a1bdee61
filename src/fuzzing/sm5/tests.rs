use super::{Sm5Case, sm5};
use crate::frontend::sm4::{Group, Opcode, Stage, runs};
use std::collections::BTreeMap;

/// Every opcode that lowering runs is in some generated program, and every generated program keeps the promises.
#[test]
fn generated_programs_have_every_opcode_that_runs() {
    let is_instruction = |opcode: &&Opcode| !matches!(opcode.group(), Group::Declaration | Group::CustomData);
    let mut reached: BTreeMap<Opcode, u32> = Opcode::ALL
        .iter()
        .filter(is_instruction)
        .filter(|&&opcode| [Stage::Vertex, Stage::Pixel].into_iter().any(|stage| runs(stage, opcode)))
        .map(|&opcode| (opcode, 0))
        .collect();
    assert!(reached.len() > 100, "{} opcodes run", reached.len());
    let mut programs = 0;
    let run = |u: &mut arbitrary::Unstructured<'_>| {
        let case: Sm5Case = u.arbitrary()?;
        sm5(&case);
        programs += 1;
        for instruction in case.program().instructions {
            reached.entry(instruction.opcode()).and_modify(|count| *count += 1);
        }
        Ok(())
    };
    let mut test = arbtest::arbtest(run).size_min(2_000).size_max(20_000);
    // The environment may ask for more.
    if std::env::var_os("ARBTEST_BUDGET_MS").is_none() {
        test = test.budget_ms(3_000);
    }
    drop(test);
    let missing: Vec<&str> =
        reached.iter().filter(|(_, count)| **count == 0).map(|(opcode, _)| opcode.mnemonic()).collect();
    println!("{programs} programs, {} opcodes", reached.len());
    assert!(missing.is_empty(), "{programs} programs have no {missing:?}");
}

#[test]
#[ignore]
fn statistics() {
    let mut n = 0;
    let run = |u: &mut arbitrary::Unstructured<'_>| {
        let case: Sm5Case = u.arbitrary()?;
        n += 1;
        if n % 10 == 5 && n < 60 {
            println!("{case:?}");
        }
        Ok(())
    };
    arbtest::arbtest(run).size_min(2_000).size_max(20_000).budget_ms(300);
}
