use super::check::well_formed;
use super::{STAGES, Sm5Case, sm5};
use crate::error::Error;
use crate::frontend::sm4::codes::SyncFlags;
use crate::frontend::sm4::{Group, Opcode, Stage, runs};
use crate::fuzzing::random::random;
use crate::{Config, Engine};
use arbitrary::{Arbitrary, Unstructured};
use shaderjit_ir::pass::PassError;
use std::collections::BTreeMap;

/// Programs that are the same each time.
fn programs() -> impl Iterator<Item = Sm5Case> {
    (0..).map(|seed| Sm5Case::arbitrary(&mut Unstructured::new(&random(seed, 8_000))).unwrap())
}

#[test]
fn every_opcode_that_runs_is_generated() {
    let is_instruction = |opcode: &&Opcode| !matches!(opcode.group(), Group::Declaration | Group::CustomData);
    let runs = |opcode: &&Opcode| STAGES.into_iter().any(|stage| runs(stage, **opcode));
    let mut counts: BTreeMap<Opcode, u32> =
        Opcode::ALL.iter().filter(is_instruction).filter(runs).map(|&opcode| (opcode, 0)).collect();
    // Some are rare: it goes on until all were there.
    for case in programs().take(6000) {
        well_formed(&case).expect("these are not too large");
        for instruction in case.program().instructions {
            counts.entry(instruction.opcode()).and_modify(|count| *count += 1);
        }
        if counts.values().all(|&count| count > 0) {
            break;
        }
    }
    let missing: Vec<&str> =
        counts.iter().filter(|(_, count)| **count == 0).map(|(opcode, _)| opcode.mnemonic()).collect();
    assert!(missing.is_empty(), "no program has {missing:?}");
    println!("{} opcodes, the rarest {:?}", counts.len(), counts.iter().min_by_key(|(_, count)| **count));
}

#[test]
fn most_thread_groups_with_barriers_run_as_native_code() {
    let engine = Engine::new(Config::default()).unwrap();
    let (mut groups, mut barriers, mut native, mut apart, mut own) = (0, 0, 0, 0, 0);
    for case in programs().take(600).filter(|case| case.program().version.stage == Stage::Compute) {
        let waits = |flags: SyncFlags| flags.contains(SyncFlags::THREADS);
        groups += 1;
        own += u32::from(case.own);
        if !case.program().instructions.iter().any(|instruction| instruction.token.sync().is_some_and(waits)) {
            continue;
        }
        barriers += 1;
        match engine.compile(&case.shader(), &case.options()) {
            Ok(code) => native += u32::from(code.is_native()),
            Err(error) => {
                assert!(matches!(error, Error::Pass(PassError::DivergentBarrier { .. })), "{error}");
                apart += 1;
            }
        }
    }
    println!("{groups} groups, {own} keep to themselves, {barriers} wait, {native} of them native, {apart} refused");
    assert!(own * 8 > groups && barriers * 4 > groups && native * 4 > barriers);
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
