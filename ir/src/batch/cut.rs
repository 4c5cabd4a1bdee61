//! Work-item loops and context arrays (the terms are POCL's): a function is cut at some of its points, and each part
//! between them becomes a *phase*, which all waves of a tile run before any goes on.
//!
//! The [regions](super::regions) between the cuts are the phases. A phase is its blocks, entered by the first of them;
//! all ways out of it lead to one block. What lies between phases is the *tile's*: it runs once for all its waves. So
//!
//! * what is the same in all waves is computed by the tile, in front of the phase that it was in;
//! * what goes on from one phase to another lies in [slots](super::records) of the wave meanwhile, and so do the
//!   parameters that edges between phases set;
//! * branches between phases are the tile's. Where they depend on the lanes of a wave, waves part: see
//!   [worklists](super::worklists).

use super::graph::Graph;
use super::phases;
use super::records::Records;
use super::regions::{Exit, Region, Regions};
use super::split::split;
use super::worklists::Worklists;
use crate::fuel::EdgeCosts;
use crate::function::{BlockCall, BlockData, Terminator};
use crate::op::Effect;
use crate::{Block, Function, Inst, Op, Type, Value, cfg};
use cranelift_entity::{EntitySet, SecondaryMap};
use thiserror::Error;

/// Where a function is cut.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    /// Blocks that are cut inside, and the numbers of the instructions that begin a part of them, ascending.
    pub inside: Vec<(Block, Vec<usize>)>,
    /// Whether each block is a phase of its own, or several.
    pub around_blocks: bool,
}

/// What cutting may cost.
#[derive(Clone, Copy, Debug)]
pub struct CutLimits {
    /// The most blocks that are looked at.
    pub blocks: usize,
    /// The most slots of a wave.
    pub slots: u32,
}

/// Why a function cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CutError {
    /// It has more blocks than the limit.
    #[error("{0} blocks are too many to be cut")]
    Blocks(usize),
    /// Waves would keep more than the limit.
    #[error("a wave would keep {0} slots")]
    Slots(u32),
    /// A loop has several entries.
    #[error("a loop has several entries")]
    Irreducible,
    /// Waves never leave what begins with a block.
    #[error("no way leads out of {0}")]
    Endless(Block),
    /// Waves part at the end of a block in a way that no worklist describes.
    #[error("waves part at the end of {0}")]
    Branch(Block),
    /// What a wave alone decides has gone through memory to the end of a block.
    #[error("a number that each wave has of its own decides at the end of {0}")]
    Selector(Block),
    /// A row would go on from one phase to another.
    #[error("{0} is a row that is used behind a cut")]
    Row(Value),
}

/// A loop over the waves of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its blocks. The first one is where it begins.
    pub blocks: Vec<Block>,
    /// Where the tile goes on when all waves have left it.
    pub next: Block,
    /// The worklist of its waves; none if all run it.
    pub worklist: Option<u32>,
}

/// What a function is cut into.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// How many worklists there are.
    pub worklists: u32,
    /// For blocks of the tile, the worklist of the waves that come there; none if that is all.
    pub comes: SecondaryMap<Block, Option<u32>>,
}

/// The cuts that barriers ask for.
pub fn required(func: &Function) -> Cuts {
    let is_barrier = |inst: &Inst| func.insts[*inst].op == Op::Barrier;
    let points = |&block: &Block| -> Option<(Block, Vec<usize>)> {
        let insts = func.blocks[block].insts.iter().enumerate();
        let points: Vec<usize> = insts.filter(|(_, inst)| is_barrier(inst)).map(|(at, _)| at).collect();
        (!points.is_empty()).then_some((block, points))
    };
    Cuts { inside: func.layout.iter().filter_map(points).collect(), around_blocks: false }
}

/// Cuts a function in lockstep form, of which the [uniform](crate::uniform) values are known. Its blocks are in an
/// order then in which each phase is in one piece, each block after those that dominate it.
///
/// # Errors
/// [`CutError`]; the function is not what it was then.
pub fn cut(
    func: &mut Function,
    uniform: &EntitySet<Value>,
    costs: &mut EdgeCosts,
    cuts: &Cuts,
    limits: CutLimits,
) -> Result<Phases, CutError> {
    let pieces = func.layout.len() + cuts.inside.iter().map(|(_, points)| points.len()).sum::<usize>();
    if pieces > limits.blocks {
        return Err(CutError::Blocks(pieces));
    }
    let heads = split(func, costs, cuts)?;
    let order = cfg::reverse_postorder(func);
    let graph = Graph::new(func, &order).ok_or(CutError::Irreducible)?;
    let is_head = |number: &usize| cuts.around_blocks || heads.contains(order[*number]);
    let heads = (0..order.len()).filter(is_head).collect();
    let regions = Regions::find(func, &order, &graph, costs, heads)?;
    let mut parted = EntitySet::new();
    let (tile, worklists) = loop {
        let tile = tile_values(func, uniform, &order, &graph, &regions, &parted);
        let branches: Vec<usize> =
            regions.regions.iter().filter_map(|region| branch(func, &order, region, &tile)).collect();
        let worklists = Worklists::find(func, &order, &graph, costs, &branches)?;
        let is_same = |value: Value| tile.contains(value) && func.constant(value).is_none();
        let new = worklists.parted(func, &order, &branches, is_same);
        if new.is_empty() {
            break (tile, worklists);
        }
        new.into_iter().for_each(|value| _ = parted.insert(value));
    };
    let is_kept = |value: Value| !tile.contains(value) && func.ty(value) != Type::Row;
    let records = Records::find(func, &order, &graph, &regions, is_kept);
    if records.slots > limits.slots {
        return Err(CutError::Slots(records.slots));
    }
    let plan = phases::Plan { order: &order, regions: &regions, tile: &tile, worklists: &worklists, records: &records };
    let mut phases = phases::write(func, costs, &plan)?;
    join_tile_blocks(func, costs, &mut phases);
    Ok(phases)
}

/// Joins blocks of the tile that follow each other, which is what is left where two phases do.
fn join_tile_blocks(func: &mut Function, costs: &mut EdgeCosts, phases: &mut Phases) {
    let mut of_phases = EntitySet::<Block>::with_capacity(func.blocks.len());
    phases.phases.iter().flat_map(|phase| &phase.blocks).for_each(|&block| _ = of_phases.insert(block));
    let mut edges = SecondaryMap::<Block, u32>::with_capacity(func.blocks.len());
    for &block in &func.layout {
        cfg::successors(func, block).for_each(|target| edges[target] += 1);
    }
    let mut joined = EntitySet::<Block>::new();
    for block in func.layout.clone() {
        if of_phases.contains(block) || joined.contains(block) {
            continue;
        }
        while let Terminator::Jump(BlockCall { block: next, args }) = func.blocks[block].terminator() {
            let next = *next;
            if of_phases.contains(next) || edges[next] != 1 || !args.is_empty() || next == block {
                break;
            }
            let BlockData { insts, terminator, .. } = std::mem::take(&mut func.blocks[next]);
            let data = &mut func.blocks[block];
            data.insts.extend(insts);
            data.terminator = terminator;
            costs.move_edges(next, block);
            phases.comes[block] = phases.comes[next];
            joined.insert(next);
        }
    }
    func.layout.retain(|&block| !joined.contains(block));
}

/// The values that a tile has once: what is the same in all lanes of all its waves, and is not made where waves go
/// their own ways.
fn tile_values(
    func: &Function,
    uniform: &EntitySet<Value>,
    order: &[Block],
    graph: &Graph,
    regions: &Regions,
    parted: &EntitySet<Value>,
) -> EntitySet<Value> {
    let mut tile = uniform.clone();
    // Passes before this one make literals.
    let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts).map(|&inst| &func.insts[inst]);
    tile.extend(insts.filter(|inst| inst.op == Op::Const).filter_map(|inst| inst.result));
    let mut changed = true;
    while changed {
        changed = false;
        for region in &regions.regions {
            for &number in &region.blocks {
                let data = &func.blocks[order[number]];
                let is_head = number == region.blocks[0];
                for (at, &param) in data.params.iter().enumerate() {
                    if !tile.contains(param) {
                        continue;
                    }
                    let is_same = |&from: &usize| {
                        let ends_it = match &regions.regions[regions.of[from]].exit {
                            Exit::Return => false,
                            Exit::To(_, leaving) => leaving.len() == 1,
                            Exit::Branch(_) => true,
                        };
                        let calls = func.blocks[order[from]].terminator().calls();
                        let mut given = calls.filter(|call| call.block == order[number]).map(|call| call.args[at]);
                        ends_it && given.all(|arg| tile.contains(arg))
                    };
                    if !is_head || parted.contains(param) || !graph.predecessors[number].iter().all(is_same) {
                        tile.remove(param);
                        changed = true;
                    }
                }
                for inst in data.insts.iter().map(|&inst| &func.insts[inst]) {
                    let Some(result) = inst.result.filter(|&result| tile.contains(result)) else { continue };
                    let is_once = matches!(inst.op.effect(), Effect::Pure | Effect::Convergent)
                        && inst.args.iter().all(|&arg| tile.contains(arg))
                        && func.ty(result) != Type::Row
                        && !parted.contains(result);
                    if !is_once {
                        tile.remove(result);
                        changed = true;
                    }
                }
            }
        }
    }
    tile
}

/// The block that ends a region with a branch that each wave takes by itself.
fn branch(func: &Function, order: &[Block], region: &Region, tile: &EntitySet<Value>) -> Option<usize> {
    let Exit::Branch(block) = region.exit else { return None };
    let selector = func.blocks[order[block]].terminator().selector()?;
    (!tile.contains(selector)).then_some(block)
}
