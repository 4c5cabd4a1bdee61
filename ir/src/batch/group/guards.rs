//! Guards: branches that skip code which no lane of the wave runs. `lockstep` puts them around code under exec masks,
//! where they save time and change nothing. Edges back cost fuel, so code with loops is not passed over in this way.

use crate::cfg;
use crate::fuel::EdgeCosts;
use crate::function::Terminator;
use crate::set::EntitySet;
use crate::{Block, Function, Op};
use cranelift_entity::SecondaryMap;

/// The most blocks that one skips. All are looked at, for each guard around them.
const BLOCKS: usize = 64;

/// Which blocks end with one, as far as somebody has asked.
#[derive(Default)]
pub struct Guards {
    found: SecondaryMap<Block, Option<bool>>,
}

impl Guards {
    /// Whether all ways from the first target of a block's branch lead to the other one, over code that may run for no
    /// lane at all and costs no fuel.
    pub fn is_guard(&mut self, func: &Function, costs: &EdgeCosts, block: Block) -> bool {
        *self.found[block].get_or_insert_with(|| skips(func, costs, block))
    }
}

fn skips(func: &Function, costs: &EdgeCosts, block: Block) -> bool {
    let Terminator::BrIf { then_call, else_call, .. } = func.blocks[block].terminator() else { return false };
    let mut seen = EntitySet::with_capacity(func.blocks.len());
    let (mut work, mut count) = (vec![then_call.block], 0);
    while let Some(next) = work.pop() {
        if next == else_call.block || !seen.insert(next) {
            continue;
        }
        count += 1;
        let waits = func.insts_in(next).any(|inst| inst.op == Op::Barrier);
        let pays = cfg::successors(func, next).any(|target| costs.edge(next, target) > 0);
        if count > BLOCKS || waits || pays || *func.blocks[next].terminator() == Terminator::Return {
            return false;
        }
        work.extend(cfg::successors(func, next));
    }
    true
}
