//! Coalescing of what copies join: a value that other regions use and an edge gives to a parameter is stored to the
//! parameter's slot at once, as sums of a loop are that is cut.
//!
//! The parameter may still be used in the region that makes the value, in front of it, but nowhere from there up to the
//! edge.

use super::regions::{Exit, Regions};
use crate::cfg::Lists;
use crate::graph::Graph;
use crate::{Block, Value};
use foldhash::{HashMap, HashMapExt};

/// Where a value is live.
#[derive(Clone, Copy)]
pub struct Live<'l> {
    /// The region that makes it.
    pub own: usize,
    /// The others that begin with it.
    pub regions: &'l [usize],
}

/// A parameter that has one slot.
struct Target {
    /// The region that makes it.
    own: usize,
    /// The others that begin with it, in order.
    regions: Vec<usize>,
    stay: usize,
}

/// Finds parameters whose slots other values may have.
pub struct Coalescer<'a> {
    graph: &'a Graph<'a>,
    regions: &'a Regions,
    /// The regions that each may go on in.
    next: &'a Lists<usize>,
    targets: HashMap<Value, Target>,
    /// The parameter that each value is given to, the first if there are several.
    given: HashMap<Value, Value>,
}

impl<'a> Coalescer<'a> {
    pub fn new(graph: &'a Graph<'a>, regions: &'a Regions, next: &'a Lists<usize>) -> Coalescer<'a> {
        Coalescer { graph, regions, next, targets: HashMap::new(), given: HashMap::new() }
    }

    /// Adds a parameter of a head that one stay has where edges set it and where it is used.
    pub fn add(&mut self, param: Value, live: Live<'_>, stay: usize) {
        let args: Vec<Value> = self.args(self.regions.head(live.own), param).map(|(_, arg)| arg).collect();
        args.into_iter().for_each(|arg| _ = self.given.entry(arg).or_insert(param));
        let mut regions = live.regions.to_vec();
        regions.sort_unstable();
        self.targets.insert(param, Target { own: live.own, regions, stay });
    }

    /// The parameter whose slot a value may have, and which stay that is. No other value can have it then.
    pub fn param_for(
        &mut self,
        value: Value,
        live: Live<'_>,
        is_live: impl Fn(usize) -> bool,
    ) -> Option<(Value, usize)> {
        let param = *self.given.get(&value)?;
        let target = self.targets.get(&param)?;
        let is_needed = |region: usize| region == target.own || target.regions.binary_search(&region).is_ok();
        let is_free = |region: &usize| !is_needed(*region);
        // From where the value is made to the edges, all of which give it, nothing needs what the parameter was.
        let may_share = live.regions.iter().all(is_free)
            && self.next[live.own].iter().all(|next| *next == target.own || is_free(next))
            && self.is_behind_uses(param, value, live.own)
            && self.args(self.regions.head(target.own), param).all(|(from, arg)| {
                let from = self.regions.of[from];
                (arg == value) == (from == live.own || is_live(from))
            });
        let stay = target.stay;
        may_share.then(|| {
            self.targets.remove(&param);
            (param, stay)
        })
    }

    /// What edges to a head give a parameter, and from which blocks.
    fn args(&self, head: Block, param: Value) -> impl Iterator<Item = (Block, Value)> {
        let func = self.graph.func;
        let at = func.blocks[head].params.iter().position(|&other| other == param);
        self.graph.predecessors[head].iter().flat_map(move |&from| {
            let calls = func.blocks[from].terminator().calls().filter(move |call| call.block == head);
            calls.filter_map(move |call| Some((from, call.args[at?])))
        })
    }

    /// Whether a region that makes a value uses a parameter in front of that only: in the last of its blocks, up to the
    /// instruction, or in others.
    fn is_behind_uses(&self, param: Value, value: Value, region: usize) -> bool {
        let func = self.graph.func;
        let makes = |block: &Block| func.insts_in(*block).any(|inst| inst.result == Some(value));
        let block = match self.regions.exits[region] {
            Exit::To(head) => self.regions.leading_to(func, region, head).find(makes),
            Exit::Branch(block) => Some(block).filter(makes),
            Exit::Return => None,
        };
        let Some(block) = block else { return false };
        let others = &self.regions.blocks[region][1..];
        let is_last = self.graph.successors[block].iter().all(|next| !others.contains(next));
        let mut behind = func.insts_in(block).skip_while(|inst| inst.result != Some(value)).skip(1);
        let terminator = func.blocks[block].terminator();
        is_last
            && !behind.any(|inst| inst.args.contains(&param))
            && terminator.selector() != Some(param)
            && !terminator.calls().any(|call| call.args.contains(&param))
    }
}
