//! The region tree: a reducible control-flow graph as nested scopes, loops and branches, and where its lanes diverge.
//!
//! The idea is Ramsey's (*Beyond Relooper*, ICFP 2022): the dominator tree says how code nests. It is changed for
//! execution under masks: what follows a loop is placed *after* the loop, not inside it, so that lanes that leave early
//! wait and go on together.
//!
//! The tree is kept as the sequence of [`Item`]s that a walk over it meets, openers and closers included, so that code
//! which consumes it is a loop with a stack of its own and cannot overflow the machine's.

use crate::cfg::{self, Edge};
use crate::dom::DominatorTree;
use crate::entity::{Block, Inst, Value};
use crate::function::{Function, Terminator, ValueDef};
use crate::set::EntitySet;
use crate::uniform::Analysis;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// One step of the walk. Every list of steps ends in `Break`, `Continue` or `Return`; nothing falls out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// The instructions of a block.
    Code(Block),
    /// The block's branch; one [`Item::Arm`] for each of its edges follows.
    Branch(Block),
    /// The start of what its `.1`-th edge leads to.
    Arm(Block, usize),
    /// The end of the block's last arm.
    EndBranch(Block),
    /// The start of a part whose [`Item::Break`]s to the block go on after its end.
    Scope(Block),
    /// Where they go on: the block's own steps follow.
    EndScope(Block),
    /// The start of a loop with that header; the header's own steps follow.
    Loop(Block),
    /// Where the lanes that continue go back to the header.
    EndLoop(Block),
    /// An edge straight to the block whose steps follow, its only forward edge.
    Inline(Edge, Block),
    /// An edge to the end of an open scope.
    Break(Edge, Block),
    /// An edge to the header of an open loop.
    Continue(Edge, Block),
    /// The invocation ends.
    Return(Block),
}

/// One scope or loop of the tree.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The scope's target or the loop's header.
    pub block: Block,
    /// Whether it is a loop.
    pub is_loop: bool,
    /// Positions of its opener and closer among the items.
    pub range: (u32, u32),
    /// The loop around it.
    pub outer_loop: Option<u32>,
    /// Whether something inside goes further out than the end of the scope. Loops always escape, or never end.
    pub escapes: bool,
    /// For a loop, the sources of the edges that go back to the header.
    pub continues: Vec<Block>,
}

/// The tree of a reducible function whose unreachable blocks are gone.
pub struct RegionTree {
    /// The walk.
    pub items: Vec<Item>,
    /// Scopes and loops, in the order of their openers.
    pub frames: Vec<Frame>,
    /// For each block that ends a scope, the frame.
    scope_of: SecondaryMap<Block, Option<u32>>,
    /// For each loop header, the frame.
    loop_of_header: SecondaryMap<Block, Option<u32>>,
    /// The innermost loop around each block.
    innermost_loop: SecondaryMap<Block, Option<u32>>,
    /// The item at which each block's code stands.
    position: SecondaryMap<Block, u32>,
    /// The block each instruction is in.
    block_of: SecondaryMap<Inst, PackedOption<Block>>,
}

/// What is still to be walked, last first.
enum Task {
    Tree(Block),
    Edge(Edge),
    Item(Item),
}

impl RegionTree {
    /// Builds the tree. Every cycle must have a single entry (see [`crate::pass::make_reducible`]), and at most one
    /// block may return, not the entry (see [`crate::pass::merge_returns`]).
    pub fn new(func: &Function) -> RegionTree {
        let plan = Plan::new(func);
        let mut tree = RegionTree {
            items: plan.walk(),
            frames: Vec::new(),
            scope_of: func.block_map(),
            loop_of_header: func.block_map(),
            innermost_loop: func.block_map(),
            position: func.block_map(),
            block_of: SecondaryMap::new(),
        };
        tree.block_of.resize(func.insts.len());
        for &block in &func.layout {
            for &inst in &func.blocks[block].insts {
                tree.block_of[inst] = block.into();
            }
        }
        tree.find_frames();
        tree
    }

    fn find_frames(&mut self) {
        let mut open: Vec<u32> = Vec::new();
        for index in 0..self.items.len() {
            let position = index as u32;
            let outer_loop = open.iter().rev().copied().find(|&frame| self.frames[frame as usize].is_loop);
            match self.items[index] {
                Item::Scope(block) | Item::Loop(block) => {
                    let is_loop = matches!(self.items[index], Item::Loop(_));
                    let number = self.frames.len() as u32;
                    let of = if is_loop { &mut self.loop_of_header } else { &mut self.scope_of };
                    of[block] = Some(number);
                    open.push(number);
                    let range = (position, position);
                    self.frames.push(Frame {
                        block,
                        is_loop,
                        range,
                        outer_loop,
                        escapes: false,
                        continues: Vec::new(),
                    });
                }
                Item::EndScope(_) | Item::EndLoop(_) => {
                    let frame = open.pop().expect("closers match openers");
                    self.frames[frame as usize].range.1 = position;
                }
                Item::Code(block) => {
                    self.innermost_loop[block] = outer_loop;
                    self.position[block] = position;
                }
                Item::Break(_, block) => self.mark_escapes(&open, self.scope_of[block]),
                Item::Continue(edge, block) => {
                    let target = self.loop_of_header[block];
                    self.mark_escapes(&open, target);
                    let target = target.expect("a continue goes to an open loop");
                    self.frames[target as usize].continues.push(edge.from);
                }
                Item::Return(_) => self.mark_escapes(&open, None),
                Item::Branch(_) | Item::Arm(..) | Item::EndBranch(_) | Item::Inline(..) => {}
            }
        }
    }

    /// A jump to `target` goes out of every open frame inside it.
    fn mark_escapes(&mut self, open: &[u32], target: Option<u32>) {
        for &frame in open.iter().rev().take_while(|&&frame| Some(frame) != target) {
            self.frames[frame as usize].escapes = true;
        }
    }

    /// The frame of the scope that ends at a block.
    pub fn scope(&self, block: Block) -> Option<u32> {
        self.scope_of[block]
    }

    /// The frame of the loop with that header.
    pub fn loop_of(&self, header: Block) -> Option<u32> {
        self.loop_of_header[header]
    }

    /// The block that defines a value.
    pub(crate) fn def_block(&self, func: &Function, value: Value) -> Block {
        match func.values[value].def {
            ValueDef::Param(block) => block,
            ValueDef::Inst(inst) => self.block_of[inst].expect("used values are defined in the layout"),
        }
    }

    /// The loops around a block that are not around `other`, from the inside out.
    #[inline]
    pub fn loops_left(&self, block: Block, other: Block) -> impl Iterator<Item = u32> {
        let position = self.position[other];
        let mut next = self.innermost_loop[block];
        std::iter::from_fn(move || {
            let number = next?;
            let frame = &self.frames[number as usize];
            if frame.range.0 < position && position < frame.range.1 {
                return None;
            }
            next = frame.outer_loop;
            Some(number)
        })
    }
}

/// Which blocks are loop headers and scope ends, and where the scopes stand.
struct Plan<'f> {
    func: &'f Function,
    dom: DominatorTree,
    is_header: EntitySet<Block>,
    is_label: EntitySet<Block>,
    /// For each block, the labels it dominates immediately and within the same loops, in reverse postorder.
    inner: SecondaryMap<Block, Vec<Block>>,
    /// For each header, the labels that stand after its loop, in reverse postorder.
    after: SecondaryMap<Block, Vec<Block>>,
    /// The returning block, if there is one: it stands after everything else, where all lanes have come together.
    exit: Option<Block>,
}

impl<'f> Plan<'f> {
    fn new(func: &'f Function) -> Plan<'f> {
        let dom = DominatorTree::new(func);
        let predecessors = cfg::predecessors(func);
        let mut plan = Plan {
            func,
            is_header: EntitySet::with_capacity(func.blocks.len()),
            is_label: EntitySet::with_capacity(func.blocks.len()),
            inner: func.block_map(),
            after: func.block_map(),
            exit: func.layout.iter().copied().find(|&block| *func.blocks[block].terminator() == Terminator::Return),
            dom,
        };
        if let Some(exit) = plan.exit {
            plan.is_label.insert(exit);
        }
        // Headers in reverse postorder: outer loops before inner ones.
        let mut loops: Vec<(Block, EntitySet<Block>)> = Vec::new();
        for &header in plan.dom.reverse_postorder() {
            let mut work: Vec<Block> = predecessors[header].iter().map(|edge| edge.from).collect();
            work.retain(|&from| plan.dom.dominates(header, from));
            if work.is_empty() {
                continue;
            }
            plan.is_header.insert(header);
            let mut body = EntitySet::with_capacity(func.blocks.len());
            body.insert(header);
            while let Some(block) = work.pop() {
                if body.insert(block) {
                    work.extend(predecessors[block].iter().map(|edge| edge.from));
                }
            }
            loops.push((header, body));
        }
        for index in 1..plan.dom.reverse_postorder().len() {
            let block = plan.dom.reverse_postorder()[index];
            if Some(block) == plan.exit {
                continue;
            }
            let idom = plan.dom.idom(block).expect("only the entry has no dominator");
            let left = loops.iter().find(|(_, body)| body.contains(idom) && !body.contains(block));
            let forward = predecessors[block].iter().filter(|edge| !plan.dom.dominates(block, edge.from)).count();
            if let Some(&(header, _)) = left {
                plan.is_label.insert(block);
                plan.after[header].push(block);
            } else if forward > 1 {
                plan.is_label.insert(block);
                plan.inner[idom].push(block);
            }
        }
        plan
    }

    fn walk(&self) -> Vec<Item> {
        let mut items = Vec::new();
        let mut tasks = Vec::new();
        if let Some(exit) = self.exit {
            items.push(Item::Scope(exit));
            tasks.extend([Task::Tree(exit), Task::Item(Item::EndScope(exit))]);
        }
        tasks.push(Task::Tree(self.func.entry()));
        while let Some(task) = tasks.pop() {
            match task {
                Task::Item(item) => items.push(item),
                Task::Tree(block) => {
                    let first = tasks.len();
                    self.push_tree(block, &mut tasks);
                    tasks[first..].reverse();
                }
                Task::Edge(edge) => {
                    let target = self.func.edge(edge).block;
                    if self.is_header.contains(target) && self.dom.dominates(target, edge.from) {
                        items.push(Item::Continue(edge, target));
                    } else if self.is_label.contains(target) {
                        items.push(Item::Break(edge, target));
                    } else {
                        items.push(Item::Inline(edge, target));
                        tasks.push(Task::Tree(target));
                    }
                }
            }
        }
        items
    }

    /// The steps of a block and of everything it dominates, in order.
    fn push_tree(&self, block: Block, tasks: &mut Vec<Task>) {
        let item = Task::Item;
        tasks.extend(self.after[block].iter().rev().map(|&label| item(Item::Scope(label))));
        if self.is_header.contains(block) {
            tasks.push(item(Item::Loop(block)));
        }
        tasks.extend(self.inner[block].iter().rev().map(|&label| item(Item::Scope(label))));
        tasks.push(item(Item::Code(block)));
        let edge = |call| Task::Edge(Edge { from: block, call });
        match self.func.blocks[block].terminator() {
            Terminator::Return => tasks.push(item(Item::Return(block))),
            Terminator::Jump(_) => tasks.push(edge(0)),
            branch => {
                tasks.push(item(Item::Branch(block)));
                for call in 0..branch.calls().count() {
                    tasks.push(item(Item::Arm(block, call)));
                    tasks.push(edge(call));
                }
                tasks.push(item(Item::EndBranch(block)));
            }
        }
        for &label in &self.inner[block] {
            tasks.push(item(Item::EndScope(label)));
            tasks.push(Task::Tree(label));
        }
        if self.is_header.contains(block) {
            tasks.push(item(Item::EndLoop(block)));
        }
        for &label in &self.after[block] {
            tasks.push(item(Item::EndScope(label)));
            tasks.push(Task::Tree(label));
        }
    }
}

/// Where lanes diverge in code that is not in lockstep form yet.
pub struct Divergence {
    /// For each frame, whether its lanes arrive at its end (or leave the loop) at different times.
    pub frames: Vec<bool>,
    /// Values that are the same in all lanes that compute them together.
    pub uniform: EntitySet<Value>,
}

impl Divergence {
    /// Finds the least divergence that explains itself: values make branches divergent, branches make frames divergent,
    /// and frames make the values that join in them or leave them divergent.
    pub fn new(func: &Function, tree: &RegionTree) -> Divergence {
        let mut analysis = Analysis::new(func);
        let mut frames = vec![false; tree.frames.len()];
        loop {
            let is_divergent_use = |value, block| leaves_divergent_loop(func, tree, &frames, value, block);
            let is_divergent_join = |block| {
                let scope = tree.scope(block).is_some_and(|frame| frames[frame as usize]);
                let header = tree.loop_of(block).is_some_and(|frame| {
                    // Lanes come back together only over a single edge that no loop inside lets them take at different
                    // times.
                    let continues = &tree.frames[frame as usize].continues;
                    let apart = |&from: &Block| tree.loops_left(from, block).any(|inner| frames[inner as usize]);
                    frames[frame as usize] && (continues.len() > 1 || continues.iter().any(apart))
                });
                scope || header
            };
            while analysis.step(is_divergent_use, is_divergent_join) {}
            let is_divergent_branch = |block: Block| {
                let selector = func.blocks[block].terminator().selector();
                selector.is_some_and(|value| analysis.is_divergent(value) || is_divergent_use(value, block))
            };
            let next = divergent_frames(tree, is_divergent_branch);
            if next == frames {
                return Divergence { frames, uniform: analysis.uniform() };
            }
            frames = next;
        }
    }

    /// Whether lanes that are together in `block` may see different values of `value`, because each left a loop that
    /// computes it after an iteration of its own.
    pub fn is_divergent_use(&self, func: &Function, tree: &RegionTree, value: Value, block: Block) -> bool {
        leaves_divergent_loop(func, tree, &self.frames, value, block)
    }

    /// Whether lanes that are together at the end of `block` go on together.
    pub fn is_uniform_branch(&self, func: &Function, tree: &RegionTree, block: Block) -> bool {
        func.blocks[block].terminator().selector().is_none_or(|selector| {
            self.uniform.contains(selector) && !self.is_divergent_use(func, tree, selector, block)
        })
    }
}

fn leaves_divergent_loop(func: &Function, tree: &RegionTree, frames: &[bool], value: Value, block: Block) -> bool {
    let from = tree.def_block(func, value);
    from != block && tree.loops_left(from, block).any(|frame| frames[frame as usize])
}

/// A divergent branch makes every frame around it divergent, up to the first scope in which all lanes meet again.
fn divergent_frames(tree: &RegionTree, is_divergent_branch: impl Fn(Block) -> bool) -> Vec<bool> {
    let mut divergent = vec![false; tree.frames.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut next = 0;
    for item in &tree.items {
        match *item {
            Item::Scope(_) | Item::Loop(_) => {
                open.push(next);
                next += 1;
            }
            Item::EndScope(_) | Item::EndLoop(_) => {
                open.pop();
            }
            Item::Branch(block) if is_divergent_branch(block) => {
                for &frame in open.iter().rev() {
                    divergent[frame] = true;
                    if !tree.frames[frame].is_loop && !tree.frames[frame].escapes {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    divergent
}
