use super::*;
use crate::dom::DominatorTree;
use crate::interp::{InterpError, InterpOptions, Interpreter};
use crate::memory::is_memory_op;
use crate::parse::parse;
use crate::verify::verify;
use std::collections::HashSet;

/// Seeds that need no search: bytes of a fixed generator.
fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Whether some backward edge leads to a block that does not dominate its source.
fn is_irreducible(func: &Function) -> bool {
    let tree = DominatorTree::new(func);
    let is_back = |from, to| tree.position(to) <= tree.position(from);
    let edges = func.layout.iter().flat_map(|&from| crate::cfg::successors(func, from).map(move |to| (from, to)));
    edges.into_iter().any(|(from, to)| is_back(from, to) && !tree.dominates(to, from))
}

#[test]
fn functions_are_valid_and_their_text_reads_back() {
    arbtest::arbtest(|u| {
        let func = function(u, &Config::default())?;
        verify(&func).unwrap_or_else(|errors| panic!("{errors}\n{func}"));
        let again = parse(&func.to_string()).unwrap_or_else(|error| panic!("{error}\n{func}"));
        assert_eq!(again, func);
        Ok(())
    })
    .budget_ms(1000);
}

#[test]
fn every_op_occurs_and_so_do_loops_with_several_entries() {
    let mut seen = HashSet::new();
    let mut irreducible = 0;
    for seed in 1..600 {
        let data = bytes(seed, 4096);
        let func = function(&mut Unstructured::new(&data), &Config::default()).unwrap();
        let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
        seen.extend(insts.map(|&inst| func.insts[inst].op));
        irreducible += u32::from(is_irreducible(&func));
    }
    for &op in Op::ALL.iter().filter(|op| !op.is_of_lockstep() && !op.is_of_batch(op.untyped()) && !is_of_groups(**op))
    {
        assert!(seen.contains(&op), "{op} never occurs");
    }
    assert!(irreducible > 30, "only {irreducible} are irreducible");
}

/// What invocations of a group do with each other is not generated: alone they do something else.
fn is_of_groups(op: Op) -> bool {
    op == Op::Barrier || is_memory_op(op)
}

#[test]
fn the_knobs_keep_out_what_they_name() {
    let config = Config { irreducible: false, composite: false, doubles: false, arrays: false, ..Config::default() };
    arbtest::arbtest(|u| {
        let func = function(u, &config)?;
        assert!(!is_irreducible(&func), "{func}");
        assert!(func.arrays.is_empty());
        assert!(func.values.values().all(|value| value.ty != Type::F64));
        assert!(func.insts.values().all(|inst| inst.op.attribute() != Attribute::Composite));
        Ok(())
    })
    .budget_ms(300);
}

#[test]
fn most_runs_end_and_their_outputs_differ() {
    let (mut ended, mut out_of_fuel) = (0, 0);
    let mut outputs = HashSet::new();
    for seed in 1..300 {
        let data = bytes(seed, 4096);
        let u = &mut Unstructured::new(&data);
        let func = function(u, &Config::default()).unwrap();
        let data = Data::<4>::arbitrary(u, &func).unwrap().lane(2);
        let (uniforms, resources) = (data.uniform_rows(), data.resource_bytes());
        let options = InterpOptions { fuel: 20_000.into(), fused: true };
        match Interpreter::new(&func).run(&data.bindings(&uniforms, &resources), &options) {
            Ok(result) => {
                ended += 1;
                outputs.insert(result.to_vec());
            }
            Err(InterpError::Stopped(_)) => out_of_fuel += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(out_of_fuel > 0 && ended > 5 * out_of_fuel, "{ended} ended, {out_of_fuel} did not");
    assert!(outputs.len() > 100, "{}", outputs.len());
}
