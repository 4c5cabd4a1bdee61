//! Which values are the same in every lane.

use crate::cfg;
use crate::entity::{Block, Value};
use crate::function::{Function, Imm};
use crate::op::Varies;
use crate::set::EntitySet;

/// The uniform values of a function in lockstep form.
///
/// There every branch is uniform, so which edge a parameter's value comes over is too, and a parameter is uniform if
/// all its incoming values are. Starts from "all uniform" and takes back what is not, until nothing changes.
pub fn uniform_values(func: &Function) -> EntitySet<Value> {
    let mut analysis = Analysis::new(func);
    // Where all blocks come behind what leads to them, nothing is used before its round: one says all.
    let is_forward = analysis.is_forward();
    while analysis.step(|_, _| false, |_| false) && !is_forward {}
    analysis.uniform()
}

/// The fixpoint, shared with [`crate::region`]'s analysis of code whose branches diverge.
pub(crate) struct Analysis<'f> {
    func: &'f Function,
    predecessors: cfg::Lists<cfg::Edge>,
    divergent: EntitySet<Value>,
}

impl<'f> Analysis<'f> {
    pub(crate) fn new(func: &'f Function) -> Analysis<'f> {
        Analysis { func, predecessors: cfg::predecessors(func), divergent: EntitySet::with_capacity(func.values.len()) }
    }

    /// Whether every edge leads to a later block of the layout, and one to each block but the entry.
    fn is_forward(&self) -> bool {
        let mut before = EntitySet::with_capacity(self.func.blocks.len());
        self.func.layout.iter().enumerate().all(|(at, &block)| {
            let edges = &self.predecessors[block];
            let is_forward = edges.is_empty() == (at == 0) && edges.iter().all(|edge| before.contains(edge.from));
            before.insert(block);
            is_forward
        })
    }

    /// One round over the function; whether anything changed. `is_divergent_use(value, block)` says that lanes see
    /// different iterations of `value` in `block` although each computed the same. Parameters of blocks for which
    /// `is_divergent_join` holds are divergent even if every incoming value is uniform, unless they are all the same.
    pub(crate) fn step(
        &mut self,
        is_divergent_use: impl Fn(Value, Block) -> bool,
        is_divergent_join: impl Fn(Block) -> bool,
    ) -> bool {
        let mut changed = false;
        let func = self.func;
        for &block in &func.layout {
            let data = &func.blocks[block];
            for (index, &param) in data.params.iter().enumerate() {
                if self.divergent.contains(param) {
                    continue;
                }
                let diverges = is_divergent_join(block)
                    || self.predecessors[block].iter().any(|edge| {
                        let value = func.edge(*edge).args[index];
                        self.divergent.contains(value) || is_divergent_use(value, edge.from)
                    });
                if diverges {
                    self.divergent.insert(param);
                    changed = true;
                }
            }
            for &inst in &data.insts {
                let inst = &func.insts[inst];
                let Some(result) = inst.result.filter(|&result| !self.divergent.contains(result)) else { continue };
                let is_uniform = match inst.op.varies() {
                    Varies::Follows => {
                        let is_uniform = |&arg: &Value| !self.divergent.contains(arg) && !is_divergent_use(arg, block);
                        inst.args.iter().all(is_uniform)
                    }
                    Varies::Differs => false,
                    Varies::Same => true,
                    Varies::ByImmediate => matches!(inst.imm, Imm::SysVal(sysval) if sysval.is_uniform()),
                };
                if !is_uniform {
                    self.divergent.insert(result);
                    changed = true;
                }
            }
        }
        changed
    }

    /// Whether a value is known to differ between lanes.
    pub(crate) fn is_divergent(&self, value: Value) -> bool {
        self.divergent.contains(value)
    }

    /// What is left: the uniform values.
    pub(crate) fn uniform(&self) -> EntitySet<Value> {
        self.divergent.others(self.func.values.len())
    }
}
