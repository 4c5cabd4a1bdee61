//! Partial evaluation: a run of all waves of a group, phase by phase, in which the numbers of threads are known and
//! nothing else. Loops go round as often as they are known to. What is not known and the same for all waves decides
//! branches of the run, and loops that go round an unknown number of times are loops of it.

use super::trace::{BlockTrace, Cell, End, Node, Source, Trace};
use super::wave::{Runner, Stop, Wave};
use crate::cfg;
use crate::fuel::EdgeCosts;
use crate::function::Terminator;
use crate::loops::Loops;
use crate::memory::MemoryKind;
use crate::set::EntitySet;
use crate::uniform::uniform_values;
use crate::{Block, Function, Resource, Type, Value};
use cranelift_entity::SecondaryMap;

/// The most branches of a run: what follows one is there twice.
const BRANCHES: usize = 16;

/// A place of the run from which it goes on.
#[derive(Clone)]
struct State {
    waves: Vec<Wave>,
    /// The words of what the group shares.
    shared: SecondaryMap<Resource, Vec<Cell>>,
    /// The block of the run that is being made, and those on the way to it.
    way: Vec<usize>,
    /// The loops around it.
    open: Vec<Open>,
}

/// A loop that goes round an unknown number of times, and is known by a branch in it.
#[derive(Clone)]
struct Open {
    /// The block that the branch is at the end of.
    branch: Block,
    /// The block of the run that begins with it.
    head: usize,
    /// The values that are other ones each time, and the waves that have one each; of none all waves have the same.
    carried: Vec<(Value, Option<usize>)>,
    /// The first and the last block of the loop, by their number in reverse postorder.
    extent: (usize, usize),
}

/// Finds the way of a group.
struct Explorer<'f> {
    func: &'f Function,
    runner: Runner<'f>,
    loops: Loops,
    uniform: EntitySet<Value>,
    blocks: Vec<BlockTrace>,
    branches: usize,
}

/// Runs a group. None if something has to be known that is not, the run is too long, or its waves part.
pub fn run(func: &Function, costs: &EdgeCosts, lanes: usize, waves: u32) -> Option<Trace> {
    let order = cfg::reverse_postorder(func);
    let mut shared = SecondaryMap::new();
    for (resource, data) in &func.resources {
        if let Some(MemoryKind::Shared(bytes)) = data.memory {
            shared[resource] = vec![Cell::Known(0); bytes as usize / 4];
        }
    }
    let mut explorer = Explorer {
        func,
        runner: Runner::new(func, costs, &order, lanes),
        loops: Loops::find(func, &order),
        uniform: uniform_values(func),
        blocks: Vec::new(),
        branches: 0,
    };
    let waves = (0..waves).map(|number| Wave::new(number, func.entry())).collect();
    let first = explorer.block();
    let mut states = vec![State { waves, shared, way: vec![first], open: Vec::new() }];
    while let Some(state) = states.pop() {
        explorer.follow(state, &mut states)?;
    }
    let Explorer { runner, blocks, .. } = explorer;
    Some(Trace { nodes: runner.nodes, blocks, lanes })
}

impl Explorer<'_> {
    fn block(&mut self) -> usize {
        self.blocks.push(BlockTrace { params: Vec::new(), cost: 0, end: None });
        self.blocks.len() - 1
    }

    /// Follows one way up to its next branch, or to its end; `states` gets what follows.
    fn follow(&mut self, mut state: State, states: &mut Vec<State>) -> Option<()> {
        self.runner.enter(&state.way);
        self.runner.shared = std::mem::take(&mut state.shared);
        let stop = loop {
            self.runner.touches_memory = false;
            let mut stops = Vec::with_capacity(state.waves.len());
            for wave in &mut state.waves {
                stops.push(self.runner.run(wave)?);
                let [first, last] = wave.take_visited();
                // Whoever has been elsewhere has left a loop.
                state.open.retain(|open| open.extent.0 <= first && last <= open.extent.1);
            }
            // Waves that come to different barriers part.
            if stops.iter().any(|stop| *stop != stops[0]) {
                return None;
            }
            if !matches!(stops[0], Stop::Barrier(_)) {
                break stops[0];
            }
        };
        state.shared = std::mem::take(&mut self.runner.shared);
        let here = *state.way.last()?;
        self.blocks[here].cost += std::mem::take(&mut self.runner.cost);
        match stop {
            Stop::Branch(branch) => {
                // What one wave does behind it must not change what the next one has seen before.
                if self.runner.touches_memory { None } else { self.branch(state, branch, states) }
            }
            _ => {
                self.blocks[here].end = Some(End::Return);
                Some(())
            }
        }
    }

    /// All waves are at the end of a block where nobody knows where they go on.
    fn branch(&mut self, mut state: State, branch: Block, states: &mut Vec<State>) -> Option<()> {
        let Terminator::BrIf { condition, then_call, else_call } = self.func.blocks[branch].terminator() else {
            return None;
        };
        self.branches += 1;
        if self.branches > BRANCHES {
            return None;
        }
        if let Some(open) = state.open.iter().find(|open| open.branch == branch) {
            let args = self.args(&state.waves, &open.carried)?;
            self.blocks[*state.way.last()?].end = Some(End::Jump(open.head, args));
            return Some(());
        }
        if let Some(extent) = self.loops.innermost(self.runner.numbers[branch]) {
            self.begin_loop(&mut state, branch, extent)?;
        }
        let condition = self.carried(&state.waves, *condition, None)?;
        let targets = [self.block(), self.block()];
        self.blocks[*state.way.last()?].end = Some(End::Branch(condition, targets));
        // The last one is followed first.
        for (call, target) in [(else_call, targets[1]), (then_call, targets[0])] {
            let mut next = state.clone();
            next.way.push(target);
            next.waves.iter_mut().for_each(|wave| self.runner.go(wave, call));
            self.blocks[target].cost = std::mem::take(&mut self.runner.cost);
            states.push(next);
        }
        Some(())
    }

    /// What a loop is given.
    fn args(&self, waves: &[Wave], carried: &[(Value, Option<usize>)]) -> Option<Vec<Node>> {
        carried.iter().map(|&(value, wave)| self.carried(waves, value, wave)).collect()
    }

    /// What a wave has, or all of them if none is said.
    fn carried(&self, waves: &[Wave], value: Value, wave: Option<usize>) -> Option<Node> {
        let node = waves[wave.unwrap_or(0)].values[value];
        let is_same = wave.is_some() || waves.iter().all(|wave| wave.values[value] == node);
        is_same.then_some(node)
    }

    /// Begins a loop with a branch in it: what its blocks have computed so far is something else each time.
    fn begin_loop(&mut self, state: &mut State, branch: Block, extent: (usize, usize)) -> Option<()> {
        let head = self.block();
        let mut carried = Vec::new();
        let order = &self.func.layout;
        let inside = order.iter().filter(|&&block| (extent.0..=extent.1).contains(&self.runner.numbers[block]));
        for value in inside.flat_map(|&block| self.func.defs_in(block)) {
            let nodes = state.waves.iter().map(|wave| wave.values[value]);
            // What has not been computed yet nobody uses before it is. Literals stay what they are, and rows in the
            // block that makes them.
            let is_left = self.func.constant(value).is_some() || self.func.ty(value) == Type::Row;
            if is_left || nodes.clone().any(|node| node == Node::MAX) {
                continue;
            }
            // What is not the same in all lanes will not be the same in all waves.
            let is_same = nodes.clone().all(|node| node == state.waves[0].values[value]);
            if is_same && self.uniform.contains(value) {
                carried.push((value, None));
            } else {
                carried.extend((0..state.waves.len()).map(|wave| (value, Some(wave))));
            }
        }
        let args = self.args(&state.waves, &carried)?;
        self.blocks[*state.way.last()?].end = Some(End::Jump(head, args));
        state.way.push(head);
        self.runner.enter(&state.way);
        for &(value, wave) in &carried {
            let param = self.runner.push(Source::Param, self.func.ty(value), None);
            self.blocks[head].params.push(param);
            match wave {
                Some(wave) => state.waves[wave].values[value] = param,
                None => state.waves.iter_mut().for_each(|wave| wave.values[value] = param),
            }
        }
        for resource in self.func.resources.keys() {
            state.shared[resource].fill(Cell::Unknown);
        }
        state.open.push(Open { branch, head, carried, extent });
        Some(())
    }
}
