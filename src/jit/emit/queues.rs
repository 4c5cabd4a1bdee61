//! Which groups of a tile run a block.
//!
//! A tile takes each branch once. Where its groups may want to go different ways, which is where code asks whether any
//! lane ([`Op::Any`]) goes on, those with such a lane are *queued* and run what follows, while the others wait where
//! the groups meet again: behind the loop that they have left, or behind the branch that they do not take. So every
//! group does what it would do by itself, and nothing else.

use super::Emitter;
use super::graph::{BlockSet, Graph};
use super::plan::Plan;
use super::stages::TILE;
use super::tile::Tile;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};
use cranelift_frontend::Variable;
use shaderjit_ir::function::Terminator;
use shaderjit_ir::{Block, Function, Op, Value};

/// Blocks that only the groups of a queue run.
struct Queue {
    blocks: BlockSet,
    outer: Option<usize>,
}

/// A branch that groups take by themselves.
#[derive(Clone, Copy)]
pub struct Split {
    /// Groups with any such lane go on.
    pub mask: Value,
    /// What the branch asks for.
    pub any: Value,
    /// The queue that they go on in.
    pub queue: usize,
}

/// The queues of a function.
#[derive(Default)]
pub struct Queues {
    queues: Vec<Queue>,
    /// For each block its queue. The others are run by all groups.
    of: Vec<Option<usize>>,
    /// For each block, what its branch does to groups.
    splits: Vec<Option<Split>>,
    /// For each block, the queues of the loops that an edge of it enters.
    entered: Vec<Vec<usize>>,
}

impl Queues {
    /// Finds them; `None` if groups part otherwise than said above.
    pub fn find(func: &Function, plan: &Plan, graph: &Graph) -> Option<Queues> {
        let count = plan.order.len();
        let mut queues = Queues {
            queues: Vec::new(),
            of: vec![None; count],
            splits: vec![None; count],
            entered: vec![Vec::new(); count],
        };
        for block in 0..count {
            if let Some((any, mask)) = question(func, plan, block)? {
                let queue = queues.queues.len();
                let blocks = going_on(func, plan, graph, block)?;
                queues.queues.push(Queue { blocks, outer: None });
                queues.splits[block] = Some(Split { mask, any, queue });
            }
        }
        for queue in 0..queues.queues.len() {
            let blocks = queues.queues[queue].blocks;
            queues.queues[queue].outer = queues.innermost(|other| other != blocks && other & blocks == blocks)?;
        }
        for block in 0..count {
            queues.of[block] = queues.innermost(|blocks| blocks >> block & 1 == 1)?;
        }
        for block in 0..count {
            let Some(Split { queue, .. }) = queues.splits[block] else { continue };
            let is_loop = queues.queues[queue].blocks >> block & 1 == 1;
            // Who asks is who has come here.
            let asked = if is_loop { Some(queue) } else { queues.queues[queue].outer };
            if queues.of[block] != asked {
                return None;
            }
            if is_loop {
                let head = queues.queues[queue].blocks.trailing_zeros() as usize;
                for from in graph.iter(graph.predecessors[head] & !queues.queues[queue].blocks) {
                    queues.entered[from].push(queue);
                }
            }
        }
        Some(queues)
    }

    /// The smallest queue of those whose blocks are fit; nothing if that is not one queue.
    fn innermost(&self, is_fit: impl Fn(BlockSet) -> bool) -> Option<Option<usize>> {
        let size = |queue: usize| self.queues[queue].blocks.count_ones();
        let fit = |&queue: &usize| is_fit(self.queues[queue].blocks);
        let Some(least) = (0..self.queues.len()).filter(fit).min_by_key(|&queue| size(queue)) else {
            return Some(None);
        };
        let is_one = (0..self.queues.len()).filter(fit).filter(|&queue| size(queue) == size(least)).count() == 1;
        is_one.then_some(Some(least))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// How many places they take: their own, and if there are any, that of all groups behind them.
    pub fn places(&self) -> usize {
        if self.queues.is_empty() { 0 } else { self.queues.len() + 1 }
    }

    /// The queue that a block is run by.
    pub fn of(&self, block: usize) -> Option<usize> {
        self.of.get(block).copied().flatten()
    }

    /// The queue that a queue's groups come from.
    pub fn outer(&self, queue: usize) -> Option<usize> {
        self.queues[queue].outer
    }

    /// What the branch of a block does to groups.
    pub fn split(&self, block: usize) -> Option<Split> {
        self.splits.get(block).copied().flatten()
    }

    /// The queues of the loops that an edge of a block enters.
    pub fn entered(&self, block: usize) -> &[usize] {
        self.entered.get(block).map_or(&[], Vec::as_slice)
    }
}

/// What a block asks of lanes and the lanes it asks; the inner `None` if nothing, the outer one if anything but its
/// branch uses the answer.
fn question(func: &Function, plan: &Plan, block: usize) -> Option<Option<(Value, Value)>> {
    let data = &func.blocks[plan.order[block]];
    let insts = data.insts.iter().map(|&inst| &func.insts[inst]);
    let mut asked = insts.clone().filter(|inst| inst.op == Op::Any && !plan.uniform.contains(inst.args[0]));
    let Some(inst) = asked.next() else { return Some(None) };
    let any = inst.result?;
    let is_branch = matches!(*data.terminator(), Terminator::BrIf { condition, .. } if condition == any);
    (asked.next().is_none() && is_branch && plan.uses[any].others == 1).then_some(Some((any, inst.args[0])))
}

/// The blocks that groups run which go on at a block's branch.
fn going_on(func: &Function, plan: &Plan, graph: &Graph, block: usize) -> Option<BlockSet> {
    let Terminator::BrIf { then_call, else_call, .. } = func.blocks[plan.order[block]].terminator() else {
        return None;
    };
    // Groups that do not go on would pay for that edge, the tile does not.
    if plan.costs.edge(plan.order[block], else_call.block) > 0 {
        return None;
    }
    let [inside, behind] = [then_call, else_call].map(|call| graph.number(call.block));
    // What is the same in all lanes would be that of the groups that come last.
    let is_uniform = |&param: &Value| plan.uniform.contains(param);
    if inside == behind || func.blocks[plan.order[behind]].params.iter().any(is_uniform) {
        return None;
    }
    let exits = |blocks: BlockSet| {
        let edges =
            graph.iter(blocks).flat_map(|from| graph.iter(graph.successors[from] & !blocks).map(move |to| (from, to)));
        edges.collect::<Vec<(usize, usize)>>()
    };
    if let Some(body) = graph.innermost_loop(block).filter(|body| body >> behind & 1 == 0) {
        let is_left_here = body >> inside & 1 == 1 && exits(body) == [(block, behind)];
        return (is_left_here && !uniforms_escape(func, plan, graph, body)).then_some(body);
    }
    let blocks = graph.dominated_by(inside);
    let returns = |block: usize| *func.blocks[plan.order[block]].terminator() == Terminator::Return;
    let is_branch = graph.predecessors[inside] == 1 << block
        && exits(blocks).iter().all(|&(_, to)| to == behind)
        && !graph.iter(blocks).any(returns);
    is_branch.then_some(blocks)
}

/// Whether anything behind a loop uses what is the same in all lanes in it.
fn uniforms_escape(func: &Function, plan: &Plan, graph: &Graph, body: BlockSet) -> bool {
    let mut made = SecondaryMap::<Value, bool>::with_capacity(func.values.len());
    for block in graph.iter(body) {
        let data = &func.blocks[plan.order[block]];
        let results = data.insts.iter().filter_map(|&inst| func.insts[inst].result);
        data.params.iter().copied().chain(results).for_each(|value| made[value] = true);
    }
    let escapes = |value: Value| {
        let is_same =
            plan.uniform.contains(value) && func.constant(value).is_none() && !plan.call_values.contains(value);
        made[value] && is_same
    };
    (0..plan.order.len()).filter(|block| body >> block & 1 == 0).any(|block| {
        let data = &func.blocks[plan.order[block]];
        let mut args = data.insts.iter().flat_map(|&inst| func.insts[inst].args.iter().copied());
        args.any(escapes) || data.terminator().uses().any(escapes)
    })
}

/// Groups of a tile, while it runs.
#[derive(Clone, Copy)]
pub(super) struct Members {
    /// Where their numbers are, 64 bits each.
    numbers: Variable,
    /// How many they are.
    count: Variable,
}

/// A round of a loop over queued groups.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    index: clif::Value,
    count: clif::Value,
    /// The group at hand.
    number: clif::Value,
}

/// The groups that go on at a split, as they are found.
#[derive(Clone, Copy)]
pub(super) struct GoingOn {
    split: Split,
    /// How many they are by now.
    count: Variable,
}

impl Emitter<'_, '_> {
    /// Writes down the numbers of all groups of a tile, if there are queues.
    pub(super) fn number_groups(&mut self) {
        if self.plan.queues.places() > 0 {
            let address = self.queue_address(self.plan.queues.len());
            for number in 0..TILE {
                let value = self.simd.ins().iconst(I64, number as i64);
                self.simd.store(value, address, 8 * number as i32);
            }
        }
    }

    /// Begins a tile: declares its queues, and all groups behind them. What no queue runs is for all.
    pub(super) fn declare_queues(&mut self, first: clif::Value, end: clif::Value) -> Vec<Members> {
        let builder = &mut self.simd.builder;
        let mut declare = |_| Members { numbers: builder.declare_var(I64), count: builder.declare_var(I64) };
        let groups: Vec<Members> = (0..self.plan.queues.places()).map(&mut declare).collect();
        if let Some(&all) = groups.last() {
            let numbers = self.queue_address(self.plan.queues.len());
            self.simd.builder.def_var(all.numbers, numbers);
            let count = self.groups_between(first, end);
            self.simd.builder.def_var(all.count, count);
        }
        groups
    }

    /// How many groups there are from one element to another.
    fn groups_between(&mut self, first: clif::Value, end: clif::Value) -> clif::Value {
        let elements = self.simd.ins().isub(end, first);
        self.simd.ins().ushr_imm_u(elements, i64::from(self.plan.step().ilog2()))
    }

    /// How many groups of the tile leave a block by the edge at hand, as a number of 64 bits: those of the block's
    /// queue. Where its branch has asked them, they are by now those that go on, and the other edge costs nothing
    /// ([`going_on`]).
    pub(super) fn waves_at(&mut self, block: Block) -> clif::Value {
        let number = self.plan.order.iter().position(|&other| other == block).expect("the block is in the order");
        let queue = self.plan.queues.split(number).map(|split| split.queue).or(self.plan.queues.of(number));
        match queue {
            Some(queue) => {
                let count = self.tile().groups[queue].count;
                self.simd.builder.use_var(count)
            }
            None => {
                let &Tile { first, end, .. } = self.tile();
                self.groups_between(first, end)
            }
        }
    }

    fn queue_address(&mut self, queue: usize) -> clif::Value {
        let memory = self.hoisted.expect("queues are there");
        self.simd.ins().iadd_imm_s(memory, i64::from(self.plan.queue_place(queue)))
    }

    /// Enters the loops behind a block: all that come there run them.
    pub(super) fn enter_queues(&mut self, block: usize) {
        for index in 0..self.plan.queues.entered(block).len() {
            let queue = self.plan.queues.entered(block)[index];
            let outer = self.plan.queues.outer(queue).unwrap_or(self.plan.queues.len());
            let [queue, outer] = [queue, outer].map(|queue| self.tile().groups[queue]);
            for (to, from) in [(queue.numbers, outer.numbers), (queue.count, outer.count)] {
                let value = self.simd.builder.use_var(from);
                self.simd.builder.def_var(to, value);
            }
        }
    }

    /// Begins a loop over the groups of a queue.
    pub(super) fn begin_turns(&mut self, queue: usize) -> Turn {
        let &Tile { first, records, ref groups, .. } = self.tile();
        let Members { numbers, count } = groups[queue];
        let [numbers, count] = [numbers, count].map(|variable| self.simd.builder.use_var(variable));
        let none = self.simd.ins().iconst(I64, 0);
        self.simd.ins().jump(self.group, &[BlockArg::from(none)]);
        let index = self.simd.builder.append_block_param(self.group, I64);
        self.simd.builder.switch_to_block(self.group);
        let offset = self.simd.shl(index, 3);
        let address = self.simd.ins().iadd(numbers, offset);
        let number = self.simd.load(I64, address, 0);
        let elements = self.simd.shl(number, self.plan.step().ilog2());
        self.element = self.simd.ins().iadd(first, elements);
        self.record = records.map(|records| {
            let bytes = self.simd.ins().iconst(I64, self.plan.record_bytes() as i64);
            let offset = self.simd.ins().imul(number, bytes);
            self.simd.ins().iadd(records, offset)
        });
        self.first_rows.clear();
        self.strides.clear();
        Turn { index, count, number }
    }

    /// Goes on to the next queued group, if there is one, else to another block.
    pub(super) fn next_turn(&mut self, Turn { index, count, .. }: Turn, behind: clif::Block) {
        let next = self.simd.ins().iadd_imm_s(index, 1);
        let more = self.simd.icmp(IntCC::UnsignedLessThan, next, count);
        self.simd.ins().brif(more, self.group, &[BlockArg::from(next)], behind, &[]);
    }

    /// In front of a loop that asks its groups whether they go on.
    pub(super) fn begin_split(&mut self, split: Split) -> GoingOn {
        let count = self.simd.builder.declare_var(I64);
        let none = self.simd.ins().iconst(I64, 0);
        self.simd.builder.def_var(count, none);
        GoingOn { split, count }
    }

    /// Queues the group at hand if any of its lanes goes on. Where a queue asks its own groups, those that stay move
    /// up.
    pub(super) fn go_on_if_any(&mut self, GoingOn { split, count }: GoingOn, turn: Option<Turn>) {
        let any = self.any_lane(split.mask);
        let number = match turn {
            Some(turn) => turn.number,
            None => self.groups_between(self.tile().first, self.element),
        };
        let any = self.simd.ins().uextend(I64, any);
        let before = self.simd.builder.use_var(count);
        let numbers = self.queue_address(split.queue);
        let offset = self.simd.shl(before, 3);
        let address = self.simd.ins().iadd(numbers, offset);
        self.simd.store(number, address, 0);
        let after = self.simd.ins().iadd(before, any);
        self.simd.builder.def_var(count, after);
    }

    /// Behind that loop: those that go on are the queue, and the tile goes on if there are any.
    pub(super) fn end_split(&mut self, GoingOn { split, count }: GoingOn) {
        let members = self.tile().groups[split.queue];
        let numbers = self.queue_address(split.queue);
        self.simd.builder.def_var(members.numbers, numbers);
        let count = self.simd.builder.use_var(count);
        self.simd.builder.def_var(members.count, count);
        let none = self.simd.ins().iconst(I64, 0);
        let any = self.simd.icmp(IntCC::NotEqual, count, none);
        self.define_scalar(split.any, any);
    }
}
