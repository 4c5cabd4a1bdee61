//! Regions made phases: each becomes the tile's block at its head, the blocks that its waves run, and the tile's block
//! behind them.

use super::cut::{CutError, Phase, Phases};
use super::records::{Kept, Records};
use super::regions::{Exit, Region, Regions};
use super::rewrite::rewrite;
use super::worklists::{Split, Worklists};
use crate::fuel::EdgeCosts;
use crate::function::{BlockCall, BlockData, Imm, Origin, Terminator};
use crate::{Block, Function, Inst, Op, Type, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use foldhash::{HashMap, HashMapExt};

/// What is known of a function that is cut.
pub struct Plan<'a> {
    pub order: &'a [Block],
    pub regions: &'a Regions,
    /// The values that a tile has once.
    pub tile: &'a EntitySet<Value>,
    pub worklists: &'a Worklists,
    pub records: &'a Records,
}

/// Makes phases of the regions of a function.
///
/// # Errors
/// [`CutError::Selector`].
pub fn write(func: &mut Function, costs: &mut EdgeCosts, plan: &Plan<'_>) -> Result<Phases, CutError> {
    let &Plan { order, regions, tile, worklists, records } = plan;
    let mut params = SecondaryMap::<Block, Vec<Value>>::new();
    let mut made = SecondaryMap::<Value, usize>::with_capacity(func.values.len());
    for (number, &block) in order.iter().enumerate() {
        let data = &func.blocks[block];
        params[block].clone_from(&data.params);
        let results = data.insts.iter().filter_map(|&inst| func.insts[inst].result);
        data.params.iter().copied().chain(results).for_each(|value| made[value] = regions.of[number]);
    }
    let mut cutter = Cutter {
        func,
        old_costs: costs,
        costs: EdgeCosts::none(costs.whole()),
        order,
        regions,
        tile,
        worklists,
        records,
        params,
        made,
        layout: Vec::new(),
        phases: Phases { worklists: worklists.count() as u32, ..Phases::default() },
    };
    for region in 0..regions.regions.len() {
        cutter.region(region)?;
    }
    let Cutter { layout, phases, costs: new_costs, .. } = cutter;
    (func.layout, *costs) = (layout, new_costs);
    Ok(phases)
}

/// Makes phases of regions.
struct Cutter<'a> {
    func: &'a mut Function,
    /// What edges cost before.
    old_costs: &'a EdgeCosts,
    costs: EdgeCosts,
    order: &'a [Block],
    regions: &'a Regions,
    tile: &'a EntitySet<Value>,
    worklists: &'a Worklists,
    records: &'a Records,
    /// The parameters that each block had.
    params: SecondaryMap<Block, Vec<Value>>,
    /// The region that makes each value.
    made: SecondaryMap<Value, usize>,
    layout: Vec<Block>,
    phases: Phases,
}

/// A region that becomes a phase.
struct Making<'a> {
    region: usize,
    exit: &'a Exit,
    split: Option<Split>,
    /// The blocks of the phase so far.
    blocks: Vec<Block>,
    /// Where the tile goes on.
    end: Block,
    /// Parameters of the head that have been loaded where the phase begins.
    entered: HashMap<Value, Value>,
}

/// A block of a phase.
#[derive(Clone, Default)]
struct Local {
    insts: Vec<Inst>,
    /// What it has loaded.
    loaded: HashMap<Value, Value>,
}

impl Cutter<'_> {
    /// Makes a region the tile's block at its head, its phase, and the tile's block behind that; or only one of the
    /// tile, if waves have nothing to do.
    fn region(&mut self, number: usize) -> Result<(), CutError> {
        let regions = self.regions;
        let Region { blocks, exit } = &regions.regions[number];
        let head = self.order[blocks[0]];
        let split = if let Exit::Branch(block) = *exit { self.worklists.split(block) } else { None };
        let worklist = self.worklists.of(blocks[0]).map(|worklist| worklist as u32);
        let (of_tile, of_waves) = self.sorted(blocks, split);
        let terminators: Vec<Terminator> =
            blocks.iter().map(|&block| self.func.blocks[self.order[block]].terminator().clone()).collect();
        let sets_params = terminators.iter().flat_map(Terminator::calls).any(|call| self.sets_params(call));
        let tile = self.tile;
        self.func.blocks[head].params.retain(|&param| tile.contains(param));
        self.func.blocks[head].insts = of_tile;
        self.phases.comes[head] = worklist;
        self.layout.push(head);
        let is_moved = |&param: &Value| {
            let Kept { edge, slot } = self.records.of(param);
            edge.is_some() && slot.is_some() && edge != slot
        };
        let moves_params = self.params[head].iter().any(is_moved);
        let is_idle = blocks.len() == 1 && of_waves[0].is_empty() && !sets_params && !moves_params && split.is_none();
        let mut end = head;
        if !is_idle {
            let body = self.func.blocks.push(BlockData::default());
            end = self.func.blocks.push(BlockData::default());
            let entered = HashMap::new();
            let mut phase = Making { region: number, exit, split, blocks: Vec::new(), end, entered };
            for (at, insts) in of_waves.into_iter().enumerate() {
                let block = if at == 0 { body } else { self.order[blocks[at]] };
                self.block(&mut phase, blocks[at], block, insts, &terminators[at])?;
            }
            self.func.blocks[head].terminator = Some(jump(body));
            self.layout.extend(&phase.blocks);
            self.layout.push(end);
            self.phases.comes[end] = split.map(|split| split.worklist as u32).or(worklist);
            self.phases.phases.push(Phase { blocks: phase.blocks, next: end, worklist });
        }
        self.end_of_region(exit, blocks, &terminators, split, end);
        Ok(())
    }

    /// What a tile computes of the blocks of a region, and what waves do in each.
    fn sorted(&mut self, blocks: &[usize], split: Option<Split>) -> (Vec<Inst>, Vec<Vec<Inst>>) {
        let (mut of_tile, mut of_waves) = (Vec::new(), Vec::<Vec<Inst>>::new());
        for &block in blocks {
            let insts = std::mem::take(&mut self.func.blocks[self.order[block]].insts);
            let mut rest = Vec::with_capacity(insts.len());
            for inst in insts {
                let data = &self.func.insts[inst];
                if data.result.is_some_and(|result| self.tile.contains(result)) {
                    of_tile.push(inst);
                } else if matches!(data.op, Op::Input | Op::InputWord) && !of_waves.is_empty() {
                    // Elements are fetched where the phase begins.
                    of_waves[0].push(inst);
                } else if split.is_none_or(|split| split.any != inst) {
                    rest.push(inst);
                }
            }
            of_waves.push(rest);
        }
        (of_tile, of_waves)
    }

    /// Whether an edge sets parameters that waves keep.
    fn sets_params(&self, call: &BlockCall) -> bool {
        self.params[call.block].iter().any(|&param| self.records.of(param).edge.is_some())
    }

    /// What the tile does at the end of a region: the branch that ends it, or the way that all its edges lead.
    fn end_of_region(
        &mut self,
        exit: &Exit,
        blocks: &[usize],
        terminators: &[Terminator],
        split: Option<Split>,
        end: Block,
    ) {
        let of = |block: usize| &terminators[blocks.iter().position(|&other| other == block).expect("it is inside")];
        let (from, mut terminator) = match exit {
            Exit::Return => (blocks[0], Terminator::Return),
            Exit::Branch(block) => (*block, of(*block).clone()),
            Exit::To(to, leaving) => {
                // Where several blocks leave, what they give is what waves keep, and costs nothing.
                let call = of(leaving[0]).calls().find(|call| call.block == self.order[*to]);
                (leaving[0], Terminator::Jump(call.expect("it leads there").clone()))
            }
        };
        self.func.origin = Origin::default();
        for call in terminator.calls_mut() {
            self.costs.set(end, call.block, self.old_costs.edge(self.order[from], call.block));
            let mut params = self.params[call.block].iter();
            call.args.retain(|_| params.next().is_some_and(|&param| self.tile.contains(param)));
        }
        if let (Some(split), Terminator::BrIf { condition, .. }) = (split, &mut terminator) {
            let any = self.func.make_inst(Op::WorklistAny, Type::I1, &[], Imm::Worklist(split.worklist as u32));
            *condition = self.func.insts[any].result.expect("it has a result");
            self.func.blocks[end].insts.push(any);
        }
        for &worklist in blocks.iter().flat_map(|&block| self.worklists.entered(block)) {
            let outer = self.worklists.outer(worklist).map(|outer| outer as u32);
            let imm = Imm::Nested { worklist: worklist as u32, outer };
            let enter = self.func.make_inst(Op::WorklistEnter, Type::I32, &[], imm);
            self.func.blocks[end].insts.push(enter);
        }
        self.func.blocks[end].terminator = Some(terminator);
    }

    /// Makes a block of a phase: its instructions, with what comes from other phases and goes there, and its end.
    fn block(
        &mut self,
        phase: &mut Making<'_>,
        number: usize,
        block: Block,
        insts: Vec<Inst>,
        terminator: &Terminator,
    ) -> Result<(), CutError> {
        phase.blocks.push(block);
        let mut local = Local::default();
        self.func.origin = Origin::default();
        for param in self.params[self.order[number]].clone() {
            let Kept { edge, slot } = self.records.of(param);
            match (edge, slot) {
                (Some(edge), Some(slot)) if edge != slot => {
                    let value = self.load(&mut local.insts, param, edge);
                    phase.entered.insert(param, value);
                    self.store(&mut local.insts, slot, value);
                }
                (None, Some(slot)) => self.store(&mut local.insts, slot, param),
                _ => {}
            }
        }
        let Local { insts: mut new, mut loaded } = local;
        let used = |cutter: &mut Cutter<'_>, new: &mut Vec<Inst>, value| cutter.local(phase, new, &mut loaded, value);
        rewrite(self, &insts, &mut new, used, |cutter, new, inst| {
            let result = cutter.func.insts[inst].result;
            if let Some((result, slot)) = result.and_then(|result| Some((result, cutter.records.of(result).slot?))) {
                cutter.store(new, slot, result);
            }
        });
        let mut local = Local { insts: new, loaded };
        self.func.origin = Origin::default();
        let terminator = self.end_of_block(phase, &mut local, (number, block), terminator)?;
        let data = &mut self.func.blocks[block];
        (data.insts, data.terminator) = (local.insts, Some(terminator));
        Ok(())
    }

    /// How a block of a phase ends.
    fn end_of_block(
        &mut self,
        phase: &mut Making<'_>,
        local: &mut Local,
        (number, block): (usize, Block),
        terminator: &Terminator,
    ) -> Result<Terminator, CutError> {
        let leaves = |call: &BlockCall| match phase.exit {
            Exit::Return => false,
            Exit::Branch(end) => *end == number,
            Exit::To(head, _) => self.order[*head] == call.block,
        };
        let leaving: Vec<bool> = terminator.calls().map(leaves).collect();
        if !leaving.contains(&false) {
            if let Some(Split { mask, worklist, .. }) = phase.split.filter(|_| *phase.exit == Exit::Branch(number)) {
                let mask = self.local(phase, &mut local.insts, &mut local.loaded, mask);
                let imm = Imm::Worklist(worklist as u32);
                local.insts.push(self.func.make_inst(Op::WorklistPush, Type::I1, &[mask], imm));
            }
            let calls: Vec<&BlockCall> = terminator.calls().collect();
            self.pass_on(phase, local, &calls);
            return Ok(jump(phase.end));
        }
        let mut new = terminator.clone();
        match &mut new {
            Terminator::BrIf { condition, .. } => {
                // Lanes have the same of what has been kept, which only the wave knows.
                let kept = self.local(phase, &mut local.insts, &mut local.loaded, *condition);
                if kept != *condition {
                    let any = self.func.make_inst(Op::Any, Type::I1, &[kept], Imm::None);
                    local.insts.push(any);
                    *condition = self.func.insts[any].result.expect("it has a result");
                }
            }
            Terminator::Switch { value, .. } => {
                if self.local(phase, &mut local.insts, &mut local.loaded, *value) != *value {
                    return Err(CutError::Selector(self.order[number]));
                }
            }
            Terminator::Jump(_) | Terminator::Return => {}
        }
        for (call, leaves) in new.calls_mut().zip(leaving) {
            if leaves {
                let between = self.func.blocks.push(BlockData::default());
                let mut local = Local { insts: Vec::new(), loaded: local.loaded.clone() };
                self.pass_on(phase, &mut local, &[call]);
                self.func.blocks[between].insts = local.insts;
                self.func.blocks[between].terminator = Some(jump(phase.end));
                phase.blocks.push(between);
                *call = BlockCall { block: between, args: Vec::new() };
            } else {
                self.costs.set(block, call.block, self.old_costs.edge(self.order[number], call.block));
                for arg in &mut call.args {
                    *arg = self.local(phase, &mut local.insts, &mut local.loaded, *arg);
                }
            }
        }
        Ok(new)
    }

    /// Sets the parameters that edges which leave a phase give. All are read before any is set: a loop may swap two.
    fn pass_on(&mut self, phase: &Making<'_>, local: &mut Local, calls: &[&BlockCall]) {
        let mut set = Vec::new();
        for call in calls {
            for (at, &arg) in call.args.iter().enumerate() {
                let param = self.params[call.block][at];
                let Kept { edge: Some(edge), slot } = self.records.of(param) else { continue };
                if arg != param || slot != Some(edge) {
                    set.push((edge, self.local(phase, &mut local.insts, &mut local.loaded, arg)));
                }
            }
        }
        set.into_iter().for_each(|(slot, value)| self.store(&mut local.insts, slot, value));
    }

    /// What a block of a phase has of a value.
    fn local(
        &mut self,
        phase: &Making<'_>,
        insts: &mut Vec<Inst>,
        loaded: &mut HashMap<Value, Value>,
        value: Value,
    ) -> Value {
        if let Some(&local) = loaded.get(&value).or_else(|| phase.entered.get(&value)) {
            return local;
        }
        let Kept { edge, slot } = self.records.of(value);
        match slot {
            Some(slot) if edge.is_some() || self.made[value] != phase.region => {
                let local = self.load(insts, value, slot);
                loaded.insert(value, local);
                local
            }
            _ => value,
        }
    }

    fn load(&mut self, insts: &mut Vec<Inst>, value: Value, slot: u32) -> Value {
        let inst = self.func.make_inst(Op::SlotLoad, self.func.ty(value), &[], Imm::Slot(slot));
        insts.push(inst);
        self.func.insts[inst].result.expect("a load has a result")
    }

    fn store(&mut self, insts: &mut Vec<Inst>, slot: u32, value: Value) {
        insts.push(self.func.make_inst(Op::SlotStore, self.func.ty(value), &[value], Imm::Slot(slot)));
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
