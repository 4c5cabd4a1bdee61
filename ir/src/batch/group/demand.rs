//! Demanded lanes, from the end backwards: what is computed in other lanes makes no difference. A value of which none
//! is demanded is not computed at all, and one whose demanded lanes are known is a literal or made of the lanes'
//! numbers.

use super::trace::{Cell, Cells, End, LANES, Node, Source, Trace};
use crate::op::{Effect, Memory, Op};
use crate::texture::is_texture_op;
use crate::{Function, Type};

/// Lanes, a bit each.
pub type Set = u16;

/// The numbers of these lanes.
pub fn members(lanes: Set) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| lanes >> lane & 1 == 1)
}

/// The most rounds over all nodes.
const ROUNDS: usize = 16;

/// How a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Not at all.
    Dead,
    /// A literal.
    Same(u32),
    /// A word that each lane has so much more of than the one before, from this one on.
    Steps { first: u32, step: u32 },
    /// A mask: the lanes from the first of these to in front of the second.
    Between(u32, u32),
    /// Its instruction.
    Inst,
    /// What edges give.
    Param,
    /// Its words, from where they have been found.
    Near,
    /// Its words, from what made them.
    Far,
}

impl Form {
    /// Where it has words from.
    pub fn cells(self, cells: &Cells) -> &[Cell; LANES] {
        if self == Form::Near { &cells.near } else { &cells.far }
    }
}

/// What the words of some lanes are in: literals, which are the same in all lanes, and lanes of nodes, the first ones
/// first.
pub fn sources(cells: &[Cell; LANES], lanes: Set) -> Vec<Cell> {
    let mut sources: Vec<Cell> = Vec::new();
    for source in members(lanes).map(|lane| cells[lane].source()) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources.sort_by_key(|of| match *of {
        Cell::Known(_) | Cell::Unknown => 0,
        Cell::Lane { node, .. } => node + 1,
    });
    sources
}

/// The forms of all nodes, and which lanes are demanded of them.
pub struct Demand {
    pub forms: Vec<Form>,
    pub lanes: Vec<Set>,
}

/// Finds them. None if a word is demanded that shared memory has from nobody knows where.
pub fn find(func: &Function, trace: &Trace) -> Option<Demand> {
    let count = trace.nodes.len();
    let mut demand = Demand { forms: vec![Form::Dead; count], lanes: vec![0; count] };
    let all = Set::MAX >> (LANES - trace.lanes);
    // What edges back give is computed behind what takes it: a round more for each loop, mostly.
    for _ in 0..ROUNDS {
        if !demand.round(func, trace, all)? {
            return Some(demand);
        }
    }
    None
}

impl Demand {
    fn demand(&mut self, node: Node, lanes: Set) {
        self.lanes[node as usize] |= lanes;
    }

    /// One round; whether there may be more to find.
    fn round(&mut self, func: &Function, trace: &Trace, all: Set) -> Option<bool> {
        let params = trace.blocks.iter().flat_map(|block| &block.params);
        let before: Vec<Set> = params.clone().map(|&param| self.lanes[param as usize]).collect();
        for block in &trace.blocks {
            match &block.end {
                Some(End::Branch(condition, _)) => self.demand(*condition, all),
                Some(End::Jump(target, args)) => {
                    for (&arg, &param) in args.iter().zip(&trace.blocks[*target].params) {
                        self.demand(arg, self.lanes[param as usize]);
                    }
                }
                Some(End::Return) | None => {}
            }
        }
        for node in (0..trace.nodes.len()).rev() {
            self.node(func, trace, node, all)?;
        }
        Some(!params.map(|&param| self.lanes[param as usize]).eq(before))
    }

    fn node(&mut self, func: &Function, trace: &Trace, node: usize, all: Set) -> Option<()> {
        let data = &trace.nodes[node];
        let lanes = self.lanes[node];
        if let Source::Inst { inst, args } = &data.source {
            let inst = &func.insts[*inst];
            if inst.op.effect() == Effect::Write {
                self.forms[node] = Form::Inst;
                let mask_at = inst.op.is_masked().then(|| inst.args.len() - 1);
                let writing = mask_at.map_or(all, |at| mask(trace, args[at], all));
                for (at, &arg) in args.iter().enumerate().take(inst.args.len()) {
                    self.demand(arg, if Some(at) == mask_at { all } else { writing });
                }
                return Some(());
            }
        }
        if lanes == 0 {
            return Some(());
        }
        self.forms[node] = known_form(trace, node, lanes).unwrap_or(match data.source {
            Source::Inst { .. } => Form::Inst,
            Source::Param => Form::Param,
            Source::Cells(ref cells) => {
                let count = |cells: &[Cell; LANES]| sources(cells, lanes).len();
                if count(&cells.near) < count(&cells.far) { Form::Near } else { Form::Far }
            }
        });
        match (&data.source, self.forms[node]) {
            (Source::Inst { inst, args }, Form::Inst) => {
                let inst = &func.insts[*inst];
                let needed = if is_lane_by_lane(inst.op) { lanes } else { all };
                args[..inst.args.len()].iter().for_each(|&arg| self.demand(arg, needed));
            }
            (Source::Cells(cells), form @ (Form::Near | Form::Far)) => {
                for lane in members(lanes) {
                    match form.cells(cells)[lane] {
                        Cell::Lane { node, lane } => self.demand(node, 1 << lane),
                        Cell::Known(_) => {}
                        Cell::Unknown => return None,
                    }
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// The lanes that a mask has; all that there are, if it is not known.
fn mask(trace: &Trace, mask: Node, all: Set) -> Set {
    let known = trace.nodes[mask as usize].known;
    known.map_or(all, |words| (0..).zip(words).fold(0, |set, (lane, word)| set | Set::from(word != 0) << lane))
}

/// Whether a lane's result is made of what the operands have in that lane.
fn is_lane_by_lane(op: Op) -> bool {
    let looks_around = op.is_of_lockstep() || is_texture_op(op) || op.memory() == Some(Memory::Buffer);
    op == Op::MemoryLoad || op.effect() == Effect::Pure && !looks_around
}

/// The form of a node whose demanded lanes are known, if there is one that needs no operands.
fn known_form(trace: &Trace, node: usize, lanes: Set) -> Option<Form> {
    let data = &trace.nodes[node];
    let mut words = [0; LANES];
    let demanded: Vec<usize> = members(lanes).collect();
    for &lane in &demanded {
        words[lane] = match (&data.known, &data.source) {
            (Some(known), _) => known[lane],
            (None, Source::Cells(cells)) if let Cell::Known(word) = cells.far[lane] => word,
            _ => return None,
        };
    }
    let first = *demanded.first()?;
    if demanded.iter().all(|&lane| words[lane] == words[first]) {
        return Some(Form::Same(words[first]));
    }
    match data.ty {
        Type::I1 => {
            let set: Vec<usize> = demanded.iter().copied().filter(|&lane| words[lane] != 0).collect();
            let (begin, end) = (*set.first()?, *set.last()? + 1);
            let is_one_piece = demanded.iter().all(|&lane| (begin..end).contains(&lane) == (words[lane] != 0));
            // Open to a side on which nothing is demanded that does not hold.
            let begin = if demanded.iter().all(|&lane| lane >= begin) { 0 } else { begin };
            let end = if demanded.iter().all(|&lane| lane < end) { trace.lanes } else { end };
            is_one_piece.then_some(Form::Between(begin as u32, end as u32))
        }
        Type::I32 => {
            let second = *demanded.get(1)?;
            let (grown, distance) = (words[second].wrapping_sub(words[first]) as i32, (second - first) as i32);
            let step = (grown % distance == 0).then_some(grown / distance)? as u32;
            let of_lane =
                |lane: usize| words[first].wrapping_add(step.wrapping_mul((lane as u32).wrapping_sub(first as u32)));
            let fits = demanded.iter().all(|&lane| words[lane] == of_lane(lane));
            fits.then(|| Form::Steps { first: of_lane(0), step })
        }
        _ => None,
    }
}
