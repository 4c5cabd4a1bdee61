//! Partial evaluation, full unrolling, and scalar replacement of aggregates: a thread group whose ways and shared
//! addresses follow from the numbers of its threads becomes one wave, which does what all waves of the group do.
//!
//! Sums up a tree, prefix sums, networks that sort and tiles with their neighbours are of that kind. What their rounds
//! compute is little beside what goes through memory and waits there, because the words that a round has scattered are
//! gathered by the next. In the code of one wave the memory that a group shares is no memory: a word of it is a lane of
//! a value, and what a wave loads is a permutation of values ([`Op::LanePick`](crate::Op::LanePick)), if anything at
//! all. Loops that all waves leave together, nobody knows when, stay loops.
//!
//! `run` takes the waves from phase to phase, `wave` runs one of them with what is known of each lane, and `trace` is
//! what they have computed. `demand` finds which lanes of that matter to what is written in the end, and `write` makes
//! a function of them. Effects keep their order.

mod demand;
mod guards;
mod run;
mod trace;
mod wave;
mod write;

use crate::Function;
use crate::fuel::EdgeCosts;
use crate::function::ResourceData;
use crate::op::{Memory, Op};
use crate::pass::{dce, fold, gvn, simplify_params};

/// The most instructions of such a group: a machine of sixteen lanes compiles them in four milliseconds.
const INSTS: usize = 1 << 14;

/// The most for each lane of a vector: narrow ones have more to compile for the same group, and gain less.
const INSTS_OF_LANE: usize = 1 << 11;

/// The most instructions that a group of waves of so many lanes may have.
fn most_insts(lanes: usize) -> usize {
    INSTS.min(INSTS_OF_LANE * lanes)
}

/// The most values of all waves that a run keeps note of.
const VALUES: usize = 1 << 20;

/// A group as one wave.
pub struct Unrolled {
    /// What one wave does, whose lanes are all threads there are.
    pub func: Function,
    /// What it pays for all waves.
    pub costs: EdgeCosts,
    /// How many waves it stands for.
    pub waves: u32,
}

/// Unrolls a group of whole waves of so many lanes, of which the edges cost so much. None if a way or an address in
/// shared memory depends on more than the numbers of threads, or it is too much.
pub fn unroll(func: &Function, costs: &EdgeCosts, lanes: usize) -> Option<Unrolled> {
    let threads = func.threads.filter(|&threads| (threads as usize).is_multiple_of(lanes))?;
    if !waits_with_memory(func) || !func.arrays.is_empty() {
        return None;
    }
    let waves = threads / lanes as u32;
    if waves < 2 || func.values.len().saturating_mul(waves as usize) > VALUES {
        return None;
    }
    let trace = run::run(func, costs, lanes, waves)?;
    let demand = demand::find(func, &trace)?;
    let (mut func, costs) = write::write(func, costs, &trace, &demand)?;
    fold(&mut func);
    simplify_params(&mut func);
    gvn(&mut func);
    dce(&mut func);
    Some(Unrolled { func, costs, waves })
}

/// Whether its waves wait for each other, and share words that they load and store.
fn waits_with_memory(func: &Function) -> bool {
    let mut insts = func.layout.iter().flat_map(|&block| func.insts_in(block));
    func.resources.values().any(ResourceData::is_shared)
        && insts.clone().any(|inst| inst.op == Op::Barrier)
        && !insts.any(|inst| {
            let is_shared = inst.imm.resource().is_some_and(|resource| func.resources[resource].is_shared());
            let is_plain = matches!(inst.op, Op::MemoryLoad | Op::MemoryStoreMasked);
            is_shared && inst.op.memory() == Some(Memory::Buffer) && !is_plain
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;
    use crate::verify::Verified;

    /// Whether a group of 32 threads with a word of shared memory each becomes one wave of 16 lanes. Values up to `v5`
    /// are there: the active lanes, the number of a thread, where its word is, and an unknown number that all have.
    fn is_unrolled(blocks: &str) -> bool {
        let text = format!(
            "function \"f\" inputs 0 outputs 0 threads 32 lockstep {{
            space0 \"cb0\" resource0 \"u0\" buffer resource1 \"g0\" shared 128
            block0:
                v0 = sysval active v1 = const.i32 0 v2 = ine v0, v1 v3 = sysval vertex_id v4 = const.i32 2
                v5 = ishl v3, v4 v6 = uniform_load.i32 space0[0].0
                memory_store_masked.i32 resource1[0], v5, v3, v2 {blocks} }}"
        );
        let func = parse(&text).unwrap();
        crate::verify::verify(&func).unwrap();
        let unrolled = unroll(&func, &EdgeCosts::new(&func), 16);
        unrolled.map(|unrolled| Verified::batch(unrolled.func, 16).unwrap()).is_some()
    }

    #[test]
    fn what_shared_memory_has_must_be_known() {
        let stored = "memory_store_masked.i32 resource0[0], v5, v9, v2 return";
        assert!(is_unrolled(&format!("barrier v9 = memory_load.i32 resource1[4], v5 {stored}")));
        assert!(!is_unrolled(&format!("barrier v9 = memory_load.i32 resource1[0], v6 {stored}")));
        assert!(!is_unrolled(&format!("v9 = memory_load.i32 resource1[4], v5 {stored}")), "there is no barrier");
    }

    #[test]
    fn waves_go_on_together_where_nobody_knows_where() {
        let ways = |before: &str, condition: &str| {
            is_unrolled(&format!(
                "barrier {before} v7 = ult v1, v6 v8 = any v2 br_if {condition}, block1, block2
                block1: v9 = memory_load.i32 resource1[4], v5 memory_store_masked.i32 resource0[0], v5, v9, v2 jump block2
                block2: return"
            ))
        };
        assert!(ways("", "v7"));
        // The other wave reads what the first one writes behind the branch.
        assert!(!ways("v10 = memory_load.i32 resource0[0], v1", "v7"));
        assert!(ways("v10 = memory_load.i32 resource0[0], v1", "v8"), "it is known");
    }

    #[test]
    fn waves_wait_at_one_barrier() {
        let barriers = |first: &str, second: &str| {
            is_unrolled(&format!(
                "v7 = const.i32 64 v8 = memory_load.i32 resource1[0], v7 v9 = const.i32 16 v10 = ult v8, v9
                br_if v10, block1, block2 block1: {first} jump block3 block2: {second} jump block3
                block3: barrier return"
            ))
        };
        // The second wave has stored there by the time that it loads.
        assert!(barriers("", "") && !barriers("barrier", "") && !barriers("barrier", "barrier"));
    }

    #[test]
    fn loops_without_end_come_to_one() {
        assert!(!is_unrolled("barrier jump block1 block1: jump block1"));
        assert!(!is_unrolled("barrier jump block1 block1: v9 = iadd v6, v6 jump block1"));
        let carried = "barrier jump block1(v1) block1(v9: i32): v10 = iadd v9, v4 v11 = ine v10, v10
            br_if v11, block2, block1(v10) block2: return";
        assert!(!is_unrolled(carried));
    }

    #[test]
    fn a_loop_that_nobody_knows_the_rounds_of_forgets_what_is_shared() {
        let rounds = |last: &str| {
            is_unrolled(&format!(
                "barrier jump block1(v1) block1(v9: i32): v10 = ult v9, v6 br_if v10, block2, block3
                block2: {last} barrier v12 = iadd v9, v4 jump block1(v12)
                block3: memory_store_masked.i32 resource0[0], v5, v9, v2 return"
            ))
        };
        let load = "v11 = memory_load.i32 resource1[0], v5 memory_store_masked.i32 resource0[0], v5, v11, v2";
        let store = "memory_store_masked.i32 resource1[0], v5, v9, v2 barrier";
        assert!(rounds("") && rounds(&format!("{store} {load}")));
        assert!(!rounds(load), "the first round has what was stored before, and others what rounds store");
    }
}
