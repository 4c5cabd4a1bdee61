use super::check::well_formed;
use super::data::random;
use super::{Sm5Case, sm5};
use crate::frontend::sm4::{Group, Opcode, Stage, runs};
use arbitrary::{Arbitrary, Unstructured};
use std::collections::BTreeMap;

/// Programs that are the same each time.
fn programs() -> impl Iterator<Item = Sm5Case> {
    (0..200).map(|seed| Sm5Case::arbitrary(&mut Unstructured::new(&random(seed, 8_000))).unwrap())
}

#[test]
fn every_opcode_that_runs_is_generated() {
    let is_instruction = |opcode: &&Opcode| !matches!(opcode.group(), Group::Declaration | Group::CustomData);
    let runs = |opcode: &&Opcode| [Stage::Vertex, Stage::Pixel].into_iter().any(|stage| runs(stage, **opcode));
    // No version that is generated has tiled resources. What writes memory is compared function by function
    // (`fuzzing::groups`).
    let is_left_out = |opcode: &Opcode| match opcode.group() {
        Group::Atomic | Group::TiledFeedback => true,
        Group::Memory => !matches!(opcode, Opcode::LdRaw | Opcode::LdStructured),
        _ => *opcode == Opcode::Sync,
    };
    let runs = |opcode: &&Opcode| !is_left_out(opcode) && runs(opcode);
    let mut counts: BTreeMap<Opcode, u32> =
        Opcode::ALL.iter().filter(is_instruction).filter(runs).map(|&opcode| (opcode, 0)).collect();
    for case in programs() {
        well_formed(&case).expect("these are not too large");
        for instruction in case.program().instructions {
            counts.entry(instruction.opcode()).and_modify(|count| *count += 1);
        }
    }
    let missing: Vec<&str> =
        counts.iter().filter(|(_, count)| **count == 0).map(|(opcode, _)| opcode.mnemonic()).collect();
    assert!(missing.is_empty(), "no program has {missing:?}");
    println!("{} opcodes, the rarest {:?}", counts.len(), counts.iter().min_by_key(|(_, count)| **count));
}

/// `ARBTEST_BUDGET_MS` says for how long, `ARBTEST_SEED` which one.
#[test]
fn generated_programs_do_on_both_engines_what_they_do_alone() {
    let mut count = 0;
    let run = |u: &mut Unstructured<'_>| {
        sm5(&u.arbitrary()?);
        count += 1;
        Ok(())
    };
    let mut test = arbtest::arbtest(run).size_min(1_000).size_max(20_000);
    if std::env::var_os("ARBTEST_BUDGET_MS").is_none() {
        test = test.budget_ms(1_500);
    }
    test.run();
    println!("{count} programs");
}
