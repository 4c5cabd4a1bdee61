//! One wave of the run: instruction by instruction, with what is known of each lane. What is computed in the same way
//! of the same is there once (value numbering), so what all waves have is one node.

use super::guards::Guards;
use super::most_insts;
use super::trace::{Cell, Cells, LANES, Node, NodeData, Source};
use crate::eval::{Lanes, eval};
use crate::fuel::EdgeCosts;
use crate::function::{BlockCall, Imm, InstData, Operands, Terminator};
use crate::op::{Attribute, Effect, ImmKind, Memory, Op, SysVal};
use crate::{Block, Function, Inst, Resource, Type, Value};
use cranelift_entity::SecondaryMap;
use foldhash::HashMap;

/// The most instructions that a run may have for each one that it may become, with those of known results.
const STEPS: usize = 8;

/// Instructions of unknown results that a group may have for each lane of a vector, whatever it does with memory.
const FEW: usize = 64;

/// A longer one may have so many for each access to shared memory: that is what it gains by.
const FOR_ACCESS: usize = 3;

/// Where a wave stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// At one of the barriers.
    Barrier(Inst),
    Return,
    /// At the end of a block, which leads nobody knows where.
    Branch(Block),
}

/// A wave on its way.
#[derive(Clone)]
pub struct Wave {
    number: u32,
    block: Block,
    /// The next instruction.
    at: usize,
    /// What it has computed; `Node::MAX` of values that it has not come to.
    pub values: SecondaryMap<Value, Node>,
    /// The first and the last block, by their numbers, that it has been in since somebody asked.
    visited: [usize; 2],
}

impl Wave {
    /// In front of everything.
    pub fn new(number: u32, block: Block) -> Wave {
        Wave { number, block, at: 0, values: SecondaryMap::with_default(Node::MAX), visited: [usize::MAX, 0] }
    }

    /// The first and the last block that it has come to since this was asked.
    pub fn take_visited(&mut self) -> [usize; 2] {
        std::mem::replace(&mut self.visited, [usize::MAX, 0])
    }
}

/// Runs waves.
pub struct Runner<'f> {
    func: &'f Function,
    costs: &'f EdgeCosts,
    guards: Guards,
    lanes: usize,
    pub nodes: Vec<NodeData>,
    /// What instructions have made of which operands.
    made: HashMap<(Inst, [Node; Operands::MAX]), Node>,
    /// What has these words in its lanes.
    same: HashMap<(Type, Lanes<LANES>), Node>,
    /// Blocks by their number in reverse postorder.
    pub numbers: SecondaryMap<Block, usize>,
    /// The block of the run that is being made, and those on the way to it.
    way: Vec<usize>,
    /// The words of what the group shares.
    pub shared: SecondaryMap<Resource, Vec<Cell>>,
    /// Whether a wave has accessed memory that is written since this was reset.
    pub touches_memory: bool,
    /// The fuel that waves have taken since this was reset.
    pub cost: u64,
    steps: usize,
    /// How many instructions have results that are not known.
    unknown: usize,
    /// How many access what is shared.
    accesses: usize,
}

impl<'f> Runner<'f> {
    /// For a function of which the blocks are in an order.
    pub fn new(func: &'f Function, costs: &'f EdgeCosts, order: &[Block], lanes: usize) -> Runner<'f> {
        let mut numbers = SecondaryMap::new();
        order.iter().enumerate().for_each(|(number, &block)| numbers[block] = number);
        Runner {
            func,
            costs,
            guards: Guards::default(),
            lanes,
            nodes: Vec::new(),
            made: HashMap::default(),
            same: HashMap::default(),
            numbers,
            way: Vec::new(),
            shared: SecondaryMap::new(),
            touches_memory: false,
            cost: 0,
            steps: 0,
            unknown: 0,
            accesses: 0,
        }
    }

    /// Makes nodes in the last one of some blocks from now on, which the others lead to.
    pub fn enter(&mut self, way: &[usize]) {
        self.way.clear();
        self.way.extend_from_slice(way);
    }

    /// Runs a wave to where it stops. None if something has to be known that is not, or there is too much to do.
    pub fn run(&mut self, wave: &mut Wave) -> Option<Stop> {
        while !self.is_too_long() {
            let data = &self.func.blocks[wave.block];
            while let Some(&inst) = data.insts.get(wave.at) {
                wave.at += 1;
                self.steps += 1;
                if self.is_too_long() {
                    return None;
                }
                if self.func.insts[inst].op == Op::Barrier {
                    return Some(Stop::Barrier(inst));
                }
                self.step(wave, inst)?;
            }
            let call = match data.terminator() {
                Terminator::Return => return Some(Stop::Return),
                Terminator::Jump(call) => call,
                Terminator::BrIf { condition, then_call, else_call } => match self.uniform_word(wave, *condition) {
                    Some(0) => else_call,
                    Some(_) => then_call,
                    // What only skips code that no lane runs may be left out.
                    None if self.is_any(wave, *condition)
                        && self.guards.is_guard(self.func, self.costs, wave.block) =>
                    {
                        then_call
                    }
                    None => return Some(Stop::Branch(wave.block)),
                },
                Terminator::Switch { value, cases, default } => {
                    let value = self.uniform_word(wave, *value)?;
                    cases.iter().find(|(case, _)| *case == value).map_or(default, |(_, call)| call)
                }
            };
            self.go(wave, call);
        }
        None
    }

    /// Whether the run is too long, or cannot be worth it.
    fn is_too_long(&self) -> bool {
        let most = most_insts(self.lanes);
        // Nearly all that is not known is computed, and words are picked for it besides.
        let is_dear = self.unknown > FEW * self.lanes && self.unknown > FOR_ACCESS * self.accesses;
        self.steps > STEPS * most || self.unknown > most / 3 * 2 || is_dear
    }

    /// Takes an edge.
    pub fn go(&mut self, wave: &mut Wave, call: &BlockCall) {
        self.steps += 1;
        self.cost += u64::from(self.costs.edge(wave.block, call.block));
        let given: Vec<Node> = call.args.iter().map(|&arg| wave.values[arg]).collect();
        for (&param, node) in self.func.blocks[call.block].params.iter().zip(given) {
            wave.values[param] = node;
        }
        (wave.block, wave.at) = (call.block, 0);
        let number = self.numbers[call.block];
        wave.visited = [wave.visited[0].min(number), wave.visited[1].max(number)];
    }

    /// What all lanes have, if it is known.
    fn uniform_word(&self, wave: &Wave, value: Value) -> Option<u32> {
        Some(self.known(wave.values[value])?[0])
    }

    /// Whether a value says whether something holds in any lane.
    fn is_any(&self, wave: &Wave, value: Value) -> bool {
        let source = &self.nodes[wave.values[value] as usize].source;
        matches!(source, Source::Inst { inst, .. } if self.func.insts[*inst].op == Op::Any)
    }

    fn step(&mut self, wave: &mut Wave, inst: Inst) -> Option<()> {
        let data = &self.func.insts[inst];
        let mut args = [Node::MAX; Operands::MAX];
        args.iter_mut().zip(data.args.iter()).for_each(|(to, &arg)| *to = wave.values[arg]);
        self.touches_memory |= data.op.memory() == Some(Memory::Buffer);
        let node = match (data.op, data.imm) {
            (Op::MemoryLoad, Imm::ResourceByte { resource, offset }) if self.is_shared(resource) => {
                self.accesses += 1;
                let cells = self.load(resource, offset, self.known(args[0])?);
                self.cells(cells, data.ty)
            }
            (Op::MemoryStoreMasked, Imm::ResourceByte { resource, offset }) if self.is_shared(resource) => {
                self.accesses += 1;
                self.store(resource, offset, self.known(args[0])?, args[1], self.known(args[2])?);
                return Some(());
            }
            (Op::Input | Op::Output, _) => return None,
            (Op::Sysval, Imm::SysVal(SysVal::VertexId)) => {
                let first = wave.number * self.lanes as u32;
                self.words(|lane| first + lane as u32, data.ty)
            }
            (Op::Sysval, Imm::SysVal(SysVal::Active)) => self.words(|_| 1, data.ty),
            (Op::Any, _) if let Some(words) = self.known(args[0]) => {
                let any = words.iter().any(|&word| word != 0);
                self.words(|_| any.into(), Type::I1)
            }
            (Op::Select, _) if let Some(node) = self.select(data, args) => node,
            // The words of a row that was made of words.
            (Op::RowWord, Imm::Component(component)) if let Some(word) = self.word_of_row(args[0], component) => word,
            _ if data.op.is_masked() && self.known(*args[..data.args.len()].last()?) == Some([0; LANES]) => {
                // No lane writes, and what atomics give to the others is zero.
                match data.result {
                    Some(_) => self.words(|_| 0, data.ty),
                    None => return Some(()),
                }
            }
            _ => self.inst(inst, args),
        };
        if let Some(result) = data.result {
            wave.values[result] = node;
        }
        Some(())
    }

    fn known(&self, node: Node) -> Option<Lanes<LANES>> {
        self.nodes[node as usize].known
    }

    fn is_shared(&self, resource: Resource) -> bool {
        self.func.resources[resource].is_shared()
    }

    /// Makes a node, unless there is one with the same known words.
    pub fn push(&mut self, source: Source, ty: Type, known: Option<Lanes<LANES>>) -> Node {
        let block = self.way.last().copied().unwrap_or(0);
        if let Some(words) = known
            && let Some(&node) = self.same.get(&(ty, words))
            && self.is_here(node)
        {
            return node;
        }
        let node = self.nodes.len() as Node;
        self.nodes.push(NodeData { source, ty, known, block });
        if let Some(words) = known {
            self.same.insert((ty, words), node);
        }
        node
    }

    /// Whether a node has been made on the way to where nodes are made now.
    fn is_here(&self, node: Node) -> bool {
        self.way.contains(&self.nodes[node as usize].block)
    }

    /// Known words.
    fn words(&mut self, word: impl Fn(usize) -> u32, ty: Type) -> Node {
        let cells = std::array::from_fn(|lane| Cell::Known(if lane < self.lanes { word(lane) } else { 0 }));
        self.cells(cells, ty)
    }

    fn cells(&mut self, near: [Cell; LANES], ty: Type) -> Node {
        let far = near.map(|cell| match cell {
            Cell::Lane { node, lane } => match &self.nodes[node as usize].source {
                Source::Cells(cells) => cells.far[usize::from(lane)],
                Source::Inst { .. } | Source::Param => cell,
            },
            other => other,
        });
        let is_known = far.iter().all(|cell| matches!(cell, Cell::Known(_)));
        let known = is_known.then(|| {
            far.map(|cell| match cell {
                Cell::Known(word) => word,
                Cell::Lane { .. } | Cell::Unknown => 0,
            })
        });
        self.push(Source::Cells(Box::new(Cells { near, far })), ty, known)
    }

    /// An instruction, with its result where all that it is made of is known.
    fn inst(&mut self, inst: Inst, args: [Node; Operands::MAX]) -> Node {
        let data = &self.func.insts[inst];
        let is_pure = data.op.effect() == Effect::Pure;
        let ty = data.result.map_or(data.ty, |result| self.func.ty(result));
        // Rows stay in the block that makes them.
        let is_near = |node: Node| ty != Type::Row || self.way.last() == Some(&self.nodes[node as usize].block);
        if is_pure
            && let Some(&node) = self.made.get(&(inst, args))
            && self.is_here(node)
            && is_near(node)
        {
            return node;
        }
        let is_plain = is_pure
            && data.op.imm() == ImmKind::None
            && data.op.attribute() != Attribute::Composite
            && matches!(ty, Type::I1 | Type::I32 | Type::F32);
        let mut words = [[0; LANES]; Operands::MAX];
        let operands = args.iter().zip(&mut words).take(data.args.len());
        let mut are_known = operands.map(|(&arg, words)| self.known(arg).map(|known| *words = known).is_some());
        let known = match data.imm {
            Imm::Bits(bits) if data.op == Op::Const && ty != Type::F64 => Some([bits as u32; LANES]),
            _ if is_plain && are_known.all(|is_known| is_known) => {
                Some(eval(data.op, data.ty, &words[..data.args.len()], true))
            }
            _ => None,
        };
        let known = known.map(|mut known| {
            known[self.lanes..].fill(0);
            known
        });
        self.unknown += usize::from(known.is_none());
        let node = self.push(Source::Inst { inst, args }, ty, known);
        if is_pure {
            self.made.insert((inst, args), node);
        }
        node
    }

    /// A choice by a known mask: one of the two, or words of both.
    fn select(&mut self, data: &InstData, args: [Node; Operands::MAX]) -> Option<Node> {
        let mask = self.known(args[0])?;
        let mask = &mask[..self.lanes];
        if mask.iter().all(|&lane| lane == mask[0]) {
            return Some(args[if mask[0] != 0 { 1 } else { 2 }]);
        }
        let is_known = [args[1], args[2]].iter().all(|&arg| self.known(arg).is_some());
        if is_known || !matches!(data.ty, Type::I32 | Type::F32) {
            return None;
        }
        let word = |lane: usize| match mask.get(lane) {
            Some(0) => self.cell(args[2], lane),
            Some(_) => self.cell(args[1], lane),
            None => Cell::Known(0),
        };
        let cells = std::array::from_fn(word);
        Some(self.cells(cells, data.ty))
    }

    /// The word of a lane of a node, before it became a float or an integer.
    fn cell(&self, mut node: Node, lane: usize) -> Cell {
        loop {
            let data = &self.nodes[node as usize];
            match (&data.known, &data.source) {
                (Some(known), _) => return Cell::Known(known[lane]),
                (None, Source::Inst { inst, args })
                    if matches!(self.func.insts[*inst].op, Op::BitcastI32 | Op::BitcastF32) =>
                {
                    node = args[0];
                }
                (None, _) => return Cell::Lane { node, lane: lane as u8 },
            }
        }
    }

    fn word_of_row(&self, row: Node, component: u8) -> Option<Node> {
        match &self.nodes[row as usize].source {
            Source::Inst { inst, args } if self.func.insts[*inst].op == Op::RowJoin => {
                Some(args[usize::from(component)])
            }
            _ => None,
        }
    }

    /// The number of the word at an address, if there is one: the low two bits do not count, and sums do not wrap.
    fn index(&self, resource: Resource, offset: u32, address: u32) -> Option<usize> {
        let byte = u64::from(address & !3) + u64::from(offset & !3);
        let index = usize::try_from(byte / 4).ok()?;
        (index < self.shared[resource].len()).then_some(index)
    }

    fn load(&self, resource: Resource, offset: u32, addresses: Lanes<LANES>) -> [Cell; LANES] {
        std::array::from_fn(|lane| {
            let index = self.index(resource, offset, addresses[lane]).filter(|_| lane < self.lanes);
            index.map_or(Cell::Known(0), |index| self.shared[resource][index])
        })
    }

    /// Lane by lane: what a later one stores stays.
    fn store(&mut self, resource: Resource, offset: u32, addresses: Lanes<LANES>, value: Node, mask: Lanes<LANES>) {
        for lane in (0..self.lanes).filter(|&lane| mask[lane] != 0) {
            if let Some(index) = self.index(resource, offset, addresses[lane]) {
                self.shared[resource][index] = self.cell(value, lane);
            }
        }
    }
}
