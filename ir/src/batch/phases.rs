//! Regions made phases: each becomes the tile's block at its head, the blocks that its waves run, and the tile's block
//! behind them.

use super::cut::{CutError, Phase, Phases};
use super::records::{Kept, Records};
use super::regions::{Exit, Regions};
use super::rewrite::{load, rewrite, store};
use super::worklists::{Split, Worklists};
use crate::fuel::EdgeCosts;
use crate::function::{BlockCall, BlockData, Imm, Origin, Terminator};
use crate::set::EntitySet;
use crate::{Block, Function, Inst, Op, Type, Value};
use foldhash::{HashMap, HashMapExt};

/// What is known of a function that is cut.
pub struct Plan {
    pub regions: Regions,
    /// The values that a tile has once.
    pub tile: EntitySet<Value>,
    pub worklists: Worklists,
    pub records: Records,
}

/// Makes phases of the regions of a function.
///
/// # Errors
/// [`CutError::Selector`].
pub fn write(func: &mut Function, costs: &mut EdgeCosts, plan: &Plan) -> Result<Phases, CutError> {
    let phases = Phases { worklists: plan.worklists.count(), ..Phases::default() };
    let whole = costs.whole();
    let reads_memory = func.accesses_memory();
    let (costs_of_phases, layout, follows) = (EdgeCosts::none(whole), Vec::new(), following(func, plan));
    let loaded = Loaded::new();
    let mut cutter =
        Cutter { func, old_costs: costs, costs: costs_of_phases, plan, layout, phases, reads_memory, follows, loaded };
    for region in 0..plan.regions.exits.len() {
        cutter.region(region)?;
    }
    let Cutter { layout, phases, costs: new_costs, .. } = cutter;
    (func.layout, *costs) = (layout, new_costs);
    for blocks in plan.regions.blocks.iter() {
        func.blocks[blocks[0]].params.retain(|&param| plan.tile.contains(param));
    }
    Ok(phases)
}

/// The values that are kept, and all that is computed of them, up to what asks all lanes. Nothing is looked for where
/// nothing branches.
fn following(func: &Function, plan: &Plan) -> EntitySet<Value> {
    if func.layout.iter().all(|&block| func.blocks[block].terminator().selector().is_none()) {
        return EntitySet::new();
    }
    let mut follows = EntitySet::with_capacity(func.values.len());
    let is_kept = |value: Value| {
        let Kept { edge, slot, .. } = plan.records.of(value);
        edge.is_some() || slot.is_some()
    };
    for &block in &func.layout {
        follows.extend(func.defs_in(block).filter(|&value| is_kept(value)));
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &func.layout {
            for inst in func.insts_in(block).filter(|inst| inst.op != Op::Any) {
                let Some(result) = inst.result else { continue };
                changed |= inst.args.iter().any(|&arg| follows.contains(arg)) && follows.insert(result);
            }
            for call in func.blocks[block].terminator().calls() {
                for (&arg, &param) in call.args.iter().zip(&func.blocks[call.block].params) {
                    changed |= follows.contains(arg) && follows.insert(param);
                }
            }
        }
    }
    follows
}

/// Makes phases of regions. Blocks keep their parameters until all are made.
struct Cutter<'a> {
    func: &'a mut Function,
    /// What edges cost before.
    old_costs: &'a EdgeCosts,
    costs: EdgeCosts,
    plan: &'a Plan,
    layout: Vec<Block>,
    phases: Phases,
    /// Whether it reads memory that waves write.
    reads_memory: bool,
    /// What may have gone through memory.
    follows: EntitySet<Value>,
    /// Working memory: what the block at hand has loaded.
    loaded: Loaded,
}

/// A region that becomes a phase.
struct Making {
    region: usize,
    exit: Exit,
    split: Option<Split>,
    /// The blocks of the phase so far.
    blocks: Vec<Block>,
    /// Where the tile goes on.
    end: Block,
    /// Parameters of the head that have been loaded where the phase begins.
    entered: Loaded,
}

/// What values have been loaded as.
type Loaded = HashMap<Value, Value>;

impl Cutter<'_> {
    /// Makes a region the tile's block at its head, its phase, and the tile's block behind that; or only one of the
    /// tile, if waves have nothing to do.
    fn region(&mut self, region: usize) -> Result<(), CutError> {
        let Plan { regions, worklists, .. } = self.plan;
        let (blocks, exit) = (&regions.blocks[region], regions.exits[region]);
        let head = blocks[0];
        let split = if let Exit::Branch(block) = exit { worklists.splits[block] } else { None };
        let worklist = worklists.of[head];
        let (from, terminator) = self.way_out(region);
        let (of_tile, of_waves) = self.sorted(blocks, split);
        self.phases.comes[head] = worklist;
        self.layout.push(head);
        let is_idle = blocks.len() == 1 && of_waves[0].is_empty() && split.is_none() && !self.has_moves(head);
        let mut end = head;
        if !is_idle {
            let body = self.func.blocks.push(BlockData::default());
            end = self.func.blocks.push(BlockData::default());
            let mut phase = Making { region, exit, split, blocks: Vec::new(), end, entered: Loaded::new() };
            for (&old, insts) in blocks.iter().zip(of_waves) {
                self.block(&mut phase, old, if old == head { body } else { old }, &insts)?;
            }
            self.func.blocks[head].terminator = Some(jump(body));
            self.layout.extend(&phase.blocks);
            self.layout.push(end);
            self.phases.comes[end] = split.map(|split| split.worklist).or(worklist);
            self.phases.phases.push(Phase { blocks: phase.blocks, next: end, worklist });
        }
        self.func.blocks[head].insts = of_tile;
        self.end_of_region(blocks, split, (from, end), terminator);
        Ok(())
    }

    /// How the tile goes on behind a region: the branch that ends it, or the way that all its edges lead, and whose
    /// block's that is.
    fn way_out(&self, region: usize) -> (Block, Terminator) {
        let regions = &self.plan.regions;
        match regions.exits[region] {
            Exit::Return => (regions.head(region), Terminator::Return),
            Exit::Branch(from) => (from, self.func.blocks[from].terminator().clone()),
            Exit::To(to) => {
                // Where several blocks leave, what they give is what waves keep, and costs nothing.
                let from = regions.leading_to(self.func, region, to).next().expect("one leads there");
                let mut calls = self.func.blocks[from].terminator().calls();
                let call = calls.find(|call| call.block == to).expect("it leads there");
                (from, Terminator::Jump(call.clone()))
            }
        }
    }

    /// What a tile computes of the blocks of a region, and what waves do in each.
    fn sorted(&mut self, blocks: &[Block], split: Option<Split>) -> (Vec<Inst>, Vec<Vec<Inst>>) {
        let (mut of_tile, mut of_waves) = (Vec::new(), Vec::<Vec<Inst>>::with_capacity(blocks.len()));
        for &block in blocks {
            let mut insts = std::mem::take(&mut self.func.blocks[block].insts);
            insts.retain(|&inst| {
                let data = &self.func.insts[inst];
                if data.result.is_some_and(|result| self.plan.tile.contains(result)) {
                    of_tile.push(inst);
                    return false;
                }
                // Elements are fetched where the phase begins.
                if matches!(data.op, Op::Input | Op::InputWord)
                    && let Some(first) = of_waves.first_mut()
                {
                    first.push(inst);
                    return false;
                }
                split.is_none_or(|split| split.any != inst)
            });
            of_waves.push(insts);
        }
        (of_tile, of_waves)
    }

    /// Whether waves move parameters for a block: its own to where others have them from, or those that its edges set.
    fn has_moves(&self, block: Block) -> bool {
        let blocks = &self.func.blocks;
        let is_moved = |param: &Value| {
            let Kept { edge, slot, .. } = self.plan.records.of(*param);
            edge.is_some() && slot.is_some() && edge != slot
        };
        let is_given = |call: &BlockCall| {
            let mut given = call.args.iter().zip(&blocks[call.block].params);
            given.any(|(&arg, &param)| self.is_set(arg, param).is_some())
        };
        blocks[block].params.iter().any(is_moved) || blocks[block].terminator().calls().any(is_given)
    }

    /// What the tile does at the end of a region, which was the end of block `from` and is that of block `end` now.
    fn end_of_region(
        &mut self,
        blocks: &[Block],
        split: Option<Split>,
        (from, end): (Block, Block),
        mut terminator: Terminator,
    ) {
        self.func.origin = Origin::default();
        for call in terminator.calls_mut() {
            self.costs.set(end, call.block, self.old_costs.edge(from, call.block));
            let mut params = self.func.blocks[call.block].params.iter();
            call.args.retain(|_| params.next().is_some_and(|&param| self.plan.tile.contains(param)));
        }
        if let (Some(split), Terminator::BrIf { condition, .. }) = (split, &mut terminator) {
            let any = self.func.make_inst(Op::WorklistAny, Type::I1, &[], Imm::Worklist(split.worklist));
            *condition = self.func.insts[any].result.expect("it has a result");
            self.func.blocks[end].insts.push(any);
        }
        for &worklist in blocks.iter().flat_map(|&block| &self.plan.worklists.entered[block]) {
            let imm = Imm::Nested { worklist, outer: self.plan.worklists.outer(worklist) };
            let enter = self.func.make_inst(Op::WorklistEnter, Type::I32, &[], imm);
            self.func.blocks[end].insts.push(enter);
        }
        self.func.blocks[end].terminator = Some(terminator);
    }

    /// Makes a block of a phase: its instructions, with what comes from other phases and goes there, and its end.
    fn block(&mut self, phase: &mut Making, old: Block, block: Block, insts: &[Inst]) -> Result<(), CutError> {
        phase.blocks.push(block);
        // With room for loads and stores.
        let mut new = Vec::with_capacity(2 * insts.len() + 8);
        self.func.origin = Origin::default();
        for param in self.func.blocks[old].params.clone() {
            let Kept { edge, slot, .. } = self.plan.records.of(param);
            match (edge, slot) {
                (Some(edge), Some(slot)) if edge != slot => {
                    let value = load(self.func, &mut new, edge, param);
                    phase.entered.insert(param, value);
                    store(self.func, &mut new, slot, value);
                }
                (None, Some(slot)) => store(self.func, &mut new, slot, param),
                _ => {}
            }
        }
        let mut loaded = std::mem::take(&mut self.loaded);
        loaded.clear();
        loaded.extend(&phase.entered);
        let region = phase.region;
        let used = |cutter: &mut Cutter<'_>, new: &mut _, value| cutter.local(region, new, &mut loaded, value);
        rewrite(self, insts, &mut new, used, |cutter, new, inst| {
            let result = cutter.func.insts[inst].result;
            if let Some((result, slot)) = result.and_then(|result| Some((result, cutter.plan.records.of(result).slot?)))
            {
                store(cutter.func, new, slot, result);
            }
        });
        self.func.origin = Origin::default();
        let terminator = self.end_of_block(phase, &mut new, &mut loaded, (old, block))?;
        let data = &mut self.func.blocks[block];
        (data.insts, data.terminator) = (new, Some(terminator));
        self.loaded = loaded;
        Ok(())
    }

    /// How a block of a phase ends.
    fn end_of_block(
        &mut self,
        phase: &mut Making,
        insts: &mut Vec<Inst>,
        loaded: &mut Loaded,
        (old, block): (Block, Block),
    ) -> Result<Terminator, CutError> {
        let &mut Making { region, exit, end, .. } = phase;
        let leaves = |call: &BlockCall| match exit {
            Exit::Return => false,
            Exit::Branch(last) => last == old,
            Exit::To(head) => head == call.block,
        };
        let mut terminator = self.func.blocks[old].terminator().clone();
        if terminator.calls().all(leaves) {
            if let Some(Split { mask, worklist, .. }) = phase.split {
                let mask = self.local(region, insts, loaded, mask);
                insts.push(self.func.make_inst(Op::WorklistPush, Type::I1, &[mask], Imm::Worklist(worklist)));
            }
            self.pass_on(region, insts, loaded, terminator.calls());
            return Ok(jump(end));
        }
        match &mut terminator {
            Terminator::BrIf { condition, .. } => {
                // Lanes have the same of what has been kept, and of what follows from that, which only the wave knows.
                let kept = self.local(region, insts, loaded, *condition);
                if kept != *condition || self.may_follow_from_kept(kept) {
                    let any = self.func.make_inst(Op::Any, Type::I1, &[kept], Imm::None);
                    insts.push(any);
                    *condition = self.func.insts[any].result.expect("it has a result");
                }
            }
            Terminator::Switch { value, .. } => {
                if self.local(region, insts, loaded, *value) != *value || self.may_follow_from_kept(*value) {
                    return Err(CutError::Selector(old));
                }
            }
            Terminator::Jump(_) | Terminator::Return => {}
        }
        for call in terminator.calls_mut() {
            if leaves(call) {
                let mut insts = Vec::new();
                self.pass_on(region, &mut insts, &mut loaded.clone(), [&*call]);
                let between = BlockData { insts, terminator: Some(jump(end)), ..BlockData::default() };
                *call = BlockCall { block: self.func.blocks.push(between), args: Vec::new() };
                phase.blocks.push(call.block);
            } else {
                self.costs.set(block, call.block, self.old_costs.edge(old, call.block));
                call.args.iter_mut().for_each(|arg| *arg = self.local(region, insts, loaded, *arg));
            }
        }
        Ok(terminator)
    }

    /// Whether a value that all lanes of a wave have may be computed from what the wave has kept, or of words that
    /// waves share, which a wave reads by itself.
    fn may_follow_from_kept(&self, value: Value) -> bool {
        let is_any = self.func.def_inst(value).is_some_and(|inst| inst.op == Op::Any);
        (self.reads_memory || self.follows.contains(value)) && !is_any && !self.plan.tile.contains(value)
    }

    /// Sets the parameters that edges which leave a phase give. All are read before any is set: a loop may swap two.
    fn pass_on<'c>(
        &mut self,
        region: usize,
        insts: &mut Vec<Inst>,
        loaded: &mut Loaded,
        calls: impl IntoIterator<Item = &'c BlockCall>,
    ) {
        let mut set = Vec::new();
        for call in calls {
            for (at, &arg) in call.args.iter().enumerate() {
                let param = self.func.blocks[call.block].params[at];
                if let Some(edge) = self.is_set(arg, param) {
                    set.push((edge, self.local(region, insts, loaded, arg)));
                }
            }
        }
        set.into_iter().for_each(|(slot, value)| store(self.func, insts, slot, value));
    }

    /// The slot that an edge sets to give a parameter a value that is not in it already.
    fn is_set(&self, arg: Value, param: Value) -> Option<u32> {
        let edge = self.plan.records.of(param).edge?;
        (self.plan.records.of(arg).slot != Some(edge)).then_some(edge)
    }

    /// What a block of a region has of a value.
    fn local(&mut self, region: usize, insts: &mut Vec<Inst>, loaded: &mut Loaded, value: Value) -> Value {
        let source = self.plan.records.source(value, region);
        // Only parameters that edges set are loaded ahead.
        if source.is_none() && self.plan.records.of(value).edge.is_none() {
            return value;
        }
        match (loaded.get(&value), source) {
            (Some(&local), _) => local,
            (None, Some(slot)) => {
                let local = load(self.func, insts, slot, value);
                loaded.insert(value, local);
                local
            }
            (None, None) => value,
        }
    }
}

impl AsMut<Function> for Cutter<'_> {
    fn as_mut(&mut self) -> &mut Function {
        self.func
    }
}

fn jump(block: Block) -> Terminator {
    Terminator::Jump(BlockCall { block, args: Vec::new() })
}
