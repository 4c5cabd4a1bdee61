//! How often values are used.

use crate::entity::{Block, Inst, Value};
use crate::function::Function;
use crate::op::Op;
use cranelift_entity::SecondaryMap;

/// The uses of a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uses {
    /// By [guards](Op::GuardOrdered).
    pub guards: u32,
    /// By other instructions and by branches.
    pub others: u32,
    /// The last of the instructions.
    pub last: Option<Inst>,
}

impl Uses {
    /// The uses of every value in some blocks.
    pub fn count(func: &Function, blocks: &[Block]) -> SecondaryMap<Value, Uses> {
        let mut uses = SecondaryMap::new();
        Uses::recount(&mut uses, func, blocks);
        uses
    }

    /// The same in a map that has others so far.
    pub fn recount(uses: &mut SecondaryMap<Value, Uses>, func: &Function, blocks: &[Block]) {
        uses.clear();
        uses.resize(func.values.len());
        for &block in blocks {
            for &inst in &func.blocks[block].insts {
                let is_guard = func.insts[inst].op == Op::GuardOrdered;
                for &arg in func.insts[inst].args.iter() {
                    let Uses { guards, others, last } = &mut uses[arg];
                    *if is_guard { guards } else { others } += 1;
                    *last = Some(inst);
                }
            }
            func.blocks[block].terminator().uses().for_each(|value| uses[value].others += 1);
        }
    }

    /// The one instruction that uses the value.
    pub fn only(self) -> Option<Inst> {
        if self.guards + self.others == 1 { self.last } else { None }
    }
}
