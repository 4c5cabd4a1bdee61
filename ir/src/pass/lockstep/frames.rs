//! Scopes, loops and branches that are open, and how each is opened and closed.

use super::{Mask, Writer};
use crate::entity::{Block, Value, Variable};
use crate::function::Terminator;
use crate::types::Type;

/// What is open.
pub(super) enum Frame {
    Scope(Scope),
    Loop(Loop),
    Branch(Branch),
    /// A part that is skipped to this block if its mask holds in no lane.
    Guard(Block),
}

/// An open scope.
pub(super) struct Scope {
    /// Its frame in the region tree.
    frame: u32,
    end: End,
    /// The mask at its start, which holds again at its end if nothing escapes.
    mask: Mask,
}

/// An open loop.
pub(super) struct Loop {
    /// Its frame in the region tree.
    frame: u32,
    /// The new header.
    header: Block,
    end: End,
    /// The mask outside.
    mask: Mask,
    /// The register of the mask of lanes still in the loop, if it is divergent.
    active: Option<Variable>,
}

/// How lanes arrive at the end of a scope or of an iteration.
enum End {
    /// All together, by a jump to this block.
    Together(Block),
    /// At different times. They wait while the code goes on for the others.
    Apart {
        /// The register of the mask of those that have arrived; `None` if it will be everyone.
        arrived: Option<Variable>,
        /// Whether no code that lets lanes arrive has been written yet.
        none_yet: bool,
    },
}

/// An open branch.
pub(super) enum Branch {
    /// On a uniform value: the arms' blocks, and the block where those that go on under masks meet.
    Uniform { arms: Vec<Block>, join: Block, mask: Mask },
    /// On a divergent one: the arms' masks.
    Divergent { masks: Vec<Value>, mask: Mask },
}

impl Frame {
    pub(super) fn is_scope(&self, number: u32) -> bool {
        matches!(self, Frame::Scope(scope) if scope.frame == number)
    }

    pub(super) fn is_loop(&self, number: u32) -> bool {
        matches!(self, Frame::Loop(open) if open.frame == number)
    }

    pub(super) fn is_divergent_loop(&self) -> bool {
        matches!(self, Frame::Loop(open) if open.active.is_some())
    }

    fn end(&mut self) -> &mut End {
        match self {
            Frame::Scope(Scope { end, .. }) | Frame::Loop(Loop { end, .. }) => end,
            Frame::Branch(_) | Frame::Guard(_) => unreachable!("edges go to scopes and loops"),
        }
    }

    /// The block to jump to, if all lanes arrive together.
    pub(super) fn direct_target(&mut self) -> Option<Block> {
        match self.end() {
            End::Together(block) => Some(*block),
            End::Apart { .. } => None,
        }
    }

    /// Whether this is the first code that lets lanes arrive; from now on it is not.
    pub(super) fn take_first_arrival(&mut self) -> bool {
        match self.end() {
            End::Apart { none_yet, .. } => std::mem::replace(none_yet, false),
            End::Together(_) => false,
        }
    }

    /// The register of the mask of lanes that have arrived, if it is needed.
    pub(super) fn arrived(&mut self) -> Option<Variable> {
        match self.end() {
            End::Apart { arrived, .. } => *arrived,
            End::Together(_) => None,
        }
    }
}

impl Writer<'_> {
    fn frame_is_divergent(&self, frame: u32) -> bool {
        self.divergence.frames[frame as usize]
    }

    /// A register that holds false: no lane has arrived.
    fn nobody(&mut self) -> Variable {
        let variable = self.b.declare_var(Type::I1);
        let nobody = self.b.i1(false);
        self.b.def_var(variable, nobody);
        variable
    }

    pub(super) fn open_scope(&mut self, label: Block) {
        let frame = self.tree.scope(label).expect("the tree has a frame for every scope");
        let end = if !self.frame_is_divergent(frame) {
            End::Together(self.b.create_block())
        } else {
            let arrived = self.tree.frames[frame as usize].escapes.then(|| self.nobody());
            End::Apart { arrived, none_yet: true }
        };
        self.frames.push(Frame::Scope(Scope { frame, end, mask: self.mask }));
    }

    pub(super) fn close_scope(&mut self) {
        self.end_guards();
        let Some(Frame::Scope(scope)) = self.frames.pop() else { unreachable!("closers match openers") };
        match scope.end {
            End::Together(block) => {
                // Where all lanes went further out and wait there, what follows here is skipped.
                if !self.b.is_terminated() {
                    let skip = self.b.create_block();
                    self.b.jump(skip);
                    self.frames.push(Frame::Guard(skip));
                }
                self.b.seal_block(block);
                self.b.switch_to_block(block);
                self.mask = scope.mask;
            }
            End::Apart { arrived, .. } => {
                self.begin_if_ended();
                let Some(arrived) = arrived else {
                    self.mask = scope.mask;
                    return;
                };
                let mask = self.b.use_var(arrived);
                self.mask = Some(mask);
                self.guard(mask);
            }
        }
    }

    pub(super) fn open_loop(&mut self, block: Block) {
        let frame = self.tree.loop_of(block).expect("the tree has a frame for every loop");
        let outside = self.mask;
        let header = self.b.create_block();
        let active = self.frame_is_divergent(frame).then(|| {
            let active = self.b.declare_var(Type::I1);
            let mask = self.lanes_or_all();
            self.b.def_var(active, mask);
            active
        });
        self.b.jump(header);
        self.b.switch_to_block(header);
        let end = match active {
            None => End::Together(header),
            Some(active) => {
                self.mask = Some(self.b.use_var(active));
                End::Apart { arrived: Some(self.nobody()), none_yet: true }
            }
        };
        self.frames.push(Frame::Loop(Loop { frame, header, end, mask: outside, active }));
    }

    pub(super) fn close_loop(&mut self) {
        self.end_guards();
        let Some(Frame::Loop(open)) = self.frames.pop() else { unreachable!("closers match openers") };
        match (open.end, open.active) {
            (End::Apart { arrived: Some(arrived), .. }, Some(active)) => {
                self.begin_if_ended();
                let again = self.b.use_var(arrived);
                self.b.def_var(active, again);
                let any = self.b.any([again]);
                let after = self.b.create_block();
                self.b.br_if(any, open.header, after);
                self.b.seal_block(open.header);
                self.b.seal_block(after);
                self.b.switch_to_block(after);
            }
            _ => {
                // If the current block has not ended, all lanes went further out and wait there.
                self.b.seal_block(open.header);
            }
        }
        self.mask = open.mask;
    }

    /// Goes on in a block that nothing leads to if the current one has ended, so that there is a place for code.
    fn begin_if_ended(&mut self) {
        if self.b.is_terminated() {
            let nowhere = self.b.create_block();
            self.b.seal_block(nowhere);
            self.b.switch_to_block(nowhere);
        }
    }

    pub(super) fn open_branch(&mut self, block: Block) {
        let terminator = self.terminator(block);
        let selector = terminator.selector().expect("a branch has a selector");
        let selector = self.value(selector, block);
        let edges = terminator.calls().count();
        let branch = if self.divergence.is_uniform_branch(self.func, self.tree, block) {
            let arms: Vec<Block> = (0..edges).map(|_| self.b.create_block()).collect();
            let join = self.b.create_block();
            match terminator {
                Terminator::Switch { cases, .. } => {
                    let targets: Vec<(u32, Block)> =
                        cases.iter().map(|&(case, _)| case).zip(arms.iter().copied()).collect();
                    self.b.switch(selector, &targets, arms[edges - 1]);
                }
                _ => self.b.br_if(selector, arms[0], arms[1]),
            }
            Branch::Uniform { arms, join, mask: self.mask }
        } else {
            let masks = match terminator {
                Terminator::Switch { cases, .. } => self.case_masks(selector, cases.iter().map(|&(case, _)| case)),
                _ => {
                    let not = self.b.not([selector]);
                    vec![self.and_mask(selector), self.and_mask(not)]
                }
            };
            Branch::Divergent { masks, mask: self.mask }
        };
        self.frames.push(Frame::Branch(branch));
    }

    /// The masks of a switch's edges, the default's last.
    fn case_masks(&mut self, selector: Value, cases: impl Iterator<Item = u32>) -> Vec<Value> {
        let mut masks = Vec::new();
        let mut taken: Option<Value> = None;
        for case in cases {
            let case = self.b.i32(case);
            let equal = self.b.ieq([selector, case]);
            masks.push(self.and_mask(equal));
            taken = Some(match taken {
                None => equal,
                Some(taken) => self.b.or([taken, equal]),
            });
        }
        let rest = match taken {
            None => self.b.i1(true),
            Some(taken) => self.b.not([taken]),
        };
        masks.push(self.and_mask(rest));
        masks
    }

    /// Starts an arm. One that is only an edge costs a few selects, not a guard.
    pub(super) fn open_arm(&mut self, call: usize, is_direct: bool) {
        self.end_arm();
        let Some(Frame::Branch(branch)) = self.frames.last() else { unreachable!("arms are inside branches") };
        match branch {
            Branch::Uniform { arms, mask, .. } => {
                let (arm, mask) = (arms[call], *mask);
                self.mask = mask;
                self.b.seal_block(arm);
                self.b.switch_to_block(arm);
            }
            Branch::Divergent { masks, .. } => {
                let mask = masks[call];
                self.mask = Some(mask);
                if !is_direct {
                    self.guard(mask);
                }
            }
        }
    }

    /// Ends the arm before this point, if there is one.
    fn end_arm(&mut self) {
        self.end_guards();
        if let Some(Frame::Branch(Branch::Uniform { join, .. })) = self.frames.last()
            && !self.b.is_terminated()
        {
            let join = *join;
            self.b.jump(join);
        }
    }

    pub(super) fn close_branch(&mut self) {
        self.end_arm();
        match self.frames.pop() {
            Some(Frame::Branch(Branch::Uniform { join, mask, .. })) => {
                self.mask = mask;
                self.b.seal_block(join);
                // Without an edge to it, every arm has gone on by itself and nothing follows here.
                if self.b.has_predecessors(join) {
                    self.b.switch_to_block(join);
                }
            }
            Some(Frame::Branch(Branch::Divergent { mask, .. })) => self.mask = mask,
            _ => unreachable!("closers match openers"),
        }
    }
}
