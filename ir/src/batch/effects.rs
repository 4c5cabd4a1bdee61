//! Dependence between phases: what regions do with memory that waves share.
//!
//! Effects happen by phase, wave and lane, and a phase ends at a barrier. Where a function is cut elsewhere besides,
//! because control flow around barriers is the tile's, all waves do one region before any does the next. That is the
//! same only where regions without a barrier between them do not write what the other reads or writes.

use super::cut::CutError;
use super::regions::Regions;
use crate::function::InstData;
use crate::op::Memory;
use crate::set::EntitySet;
use crate::{Block, Function, Op, Resource};

/// What a region does with memory. Two views may show the same bytes, and a call says which they do when this is long
/// settled; so all that is bound counts as one.
#[derive(Default)]
struct Effect {
    reads: Vec<Option<Resource>>,
    writes: Vec<Option<Resource>>,
}

impl Effect {
    fn is_none(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    /// Whether one writes what the other reads or writes.
    fn conflicts(&self, other: &Effect) -> bool {
        let meet = |a: &[Option<Resource>], b: &[Option<Resource>]| a.iter().any(|resource| b.contains(resource));
        meet(&self.writes, &other.writes) || meet(&self.writes, &other.reads) || meet(&self.reads, &other.writes)
    }
}

/// What each region does.
pub struct Effects(Vec<Effect>);

/// The memory of the group that an instruction is about; none for what is bound.
fn shared(func: &Function, inst: &InstData) -> Option<Resource> {
    inst.imm.resource().filter(|&resource| func.resources[resource].is_shared())
}

impl Effects {
    /// Looks at the instructions of each region.
    pub fn find(func: &Function, regions: &Regions) -> Effects {
        let of_region = |blocks: &[Block]| {
            let mut effect = Effect::default();
            for inst in blocks.iter().flat_map(|&block| func.insts_in(block)) {
                if inst.op.memory() == Some(Memory::Buffer) {
                    let list = if inst.op.writes_buffers() { &mut effect.writes } else { &mut effect.reads };
                    let resource = shared(func, inst);
                    if !list.contains(&resource) {
                        list.push(resource);
                    }
                }
            }
            effect
        };
        Effects(regions.blocks.iter().map(of_region).collect())
    }

    /// Whether an instruction of a region reads a word that all waves share and none of them writes meanwhile.
    pub fn is_still(&self, func: &Function, region: usize, inst: &InstData) -> bool {
        let is_unwritten = |resource| !self.0[region].writes.contains(&Some(resource));
        inst.op == Op::MemoryLoad && shared(func, inst).is_some_and(is_unwritten)
    }

    /// That no region does with memory what another one depends on that follows it without a barrier between.
    pub fn check(
        &self,
        func: &Function,
        regions: &Regions,
        behind_barriers: &EntitySet<Block>,
    ) -> Result<(), CutError> {
        let next = |region: usize| {
            let heads = regions.next(func, region).filter(|&head| !behind_barriers.contains(head));
            heads.map(|head| regions.of[head])
        };
        for first in (0..self.0.len()).filter(|&region| !self.0[region].is_none()) {
            let mut seen = vec![false; self.0.len()];
            let mut work: Vec<usize> = next(first).collect();
            while let Some(region) = work.pop() {
                if std::mem::replace(&mut seen[region], true) {
                    continue;
                }
                if self.0[first].conflicts(&self.0[region]) {
                    return Err(CutError::Effects(regions.head(region)));
                }
                work.extend(next(region));
            }
        }
        Ok(())
    }
}
