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

use super::effects::Effects;
use super::phases;
use super::records::Records;
use super::regions::{Exit, Regions};
use super::split::split;
use super::worklists::Worklists;
use crate::fuel::EdgeCosts;
use crate::graph::Graph;
use crate::op::Effect;
use crate::pass::join_blocks;
use crate::set::EntitySet;
use crate::{Block, Function, Op, Type, Value};
use cranelift_entity::SecondaryMap;
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
    /// Two phases without a barrier between them write what the other reads or writes: waves one after the other would
    /// do so in another order.
    #[error("waves would write memory in another order at {0}")]
    Effects(Block),
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
    let points = |&block: &Block| -> Option<(Block, Vec<usize>)> {
        let insts = func.insts_in(block).enumerate();
        let points: Vec<usize> = insts.filter(|(_, inst)| inst.op == Op::Barrier).map(|(at, _)| at).collect();
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
    let mut heads = split(func, costs, cuts)?;
    let behind_barriers = heads.clone();
    if func.layout.len() > limits.blocks {
        return Err(CutError::Blocks(func.layout.len()));
    }
    if cuts.around_blocks {
        heads.extend(func.layout.iter().copied());
    }
    let graph = Graph::new(func).ok_or(CutError::Irreducible)?;
    let regions = Regions::find(&graph, costs, heads)?;
    let effects = Effects::find(func, &regions);
    effects.check(func, &regions, &behind_barriers)?;
    let mut parted = EntitySet::new();
    let (tile, worklists) = loop {
        let tile = tile_values(&graph, uniform, (&regions, &effects), &parted);
        // Where a region ends with a branch that each wave takes by itself.
        let branches = regions.exits.iter().filter_map(|exit| match *exit {
            Exit::Branch(block) => func.blocks[block].terminator().selector().map(|selector| (block, selector)),
            _ => None,
        });
        let branches: Vec<Block> =
            branches.filter(|&(_, selector)| !tile.contains(selector)).map(|(block, _)| block).collect();
        let worklists = Worklists::find(&graph, costs, &branches)?;
        let mut new = worklists.parted(&graph);
        new.retain(|&value| tile.contains(value) && func.constant(value).is_none());
        if new.is_empty() {
            break (tile, worklists);
        }
        parted.extend(new);
    };
    let is_kept = |value: Value| !tile.contains(value) && func.ty(value) != Type::Row;
    let records = Records::find(&graph, &regions, is_kept);
    if records.slots > limits.slots {
        return Err(CutError::Slots(records.slots));
    }
    let mut phases = phases::write(func, costs, &phases::Plan { regions, tile, worklists, records })?;
    // Where two phases follow each other, so do blocks of the tile. Who pays on the way keeps the way.
    let mut of_phases = EntitySet::<Block>::with_capacity(func.blocks.len());
    of_phases.extend(phases.phases.iter().flat_map(|phase| phase.blocks.iter().copied()));
    let paid = costs.paid_targets();
    let may_be_joined = |block, next| !of_phases.contains(block) && !of_phases.contains(next) && !paid.contains(next);
    for (block, joined) in join_blocks(func, may_be_joined) {
        costs.move_edges(joined, block);
        phases.comes[block] = phases.comes[joined];
    }
    Ok(phases)
}

/// The values that a tile has once: what is the same in all lanes of all its waves, and is not made where waves go
/// their own ways. Among it are words of what a group shares, where no wave of the phase writes any of that.
fn tile_values(
    graph: &Graph<'_>,
    uniform: &EntitySet<Value>,
    (regions, effects): (&Regions, &Effects),
    parted: &EntitySet<Value>,
) -> EntitySet<Value> {
    let func = graph.func;
    let mut tile = uniform.clone();
    // Passes before this one make literals.
    let insts = func.layout.iter().flat_map(|&block| func.insts_in(block));
    tile.extend(insts.filter(|inst| inst.op == Op::Const).filter_map(|inst| inst.result));
    let is_one = |(region, exit): (usize, &Exit)| match *exit {
        Exit::Return => false,
        Exit::To(head) => regions.leading_to(func, region, head).nth(1).is_none(),
        Exit::Branch(_) => true,
    };
    let has_one_way_out: Vec<bool> = regions.exits.iter().enumerate().map(is_one).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for &block in regions.blocks.iter().flatten() {
            for (at, &param) in func.blocks[block].params.iter().enumerate() {
                let is_head = regions.head(regions.of[block]) == block;
                let is_same = |from: &Block| {
                    let mut calls = func.blocks[*from].terminator().calls().filter(|call| call.block == block);
                    has_one_way_out[regions.of[*from]] && calls.all(|call| tile.contains(call.args[at]))
                };
                if !is_head || parted.contains(param) || !graph.predecessors[block].iter().all(is_same) {
                    changed |= tile.remove(param);
                }
            }
            for inst in func.insts_in(block) {
                let Some(result) = inst.result.filter(|&result| tile.contains(result)) else { continue };
                let is_still = effects.is_still(func, regions.of[block], inst);
                let is_once = (matches!(inst.op.effect(), Effect::Pure | Effect::Convergent) || is_still)
                    && inst.args.iter().all(|&arg| tile.contains(arg));
                if !is_once || func.ty(result) == Type::Row || parted.contains(result) {
                    changed |= tile.remove(result);
                }
            }
        }
    }
    tile
}
