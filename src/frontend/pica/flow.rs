//! Control flow: from the words and the hardware's three rings to a control-flow graph.
//!
//! PICA200 has no stack. CALL, IF and LOOP each push an entry on a ring of their own (4, 8 and 4 entries; one more
//! drops the oldest), and *after every instruction* the entry on top of each ring is compared with the address of the
//! next word. What that does is simple for tidy code and strange for the rest:
//!
//! - LOOP wins over IF, IF over CALL, CALL over JMP: a JMP that is the last word of a body is never taken, a CALL there
//!   is lost (its entry stays on the ring);
//! - up to four CALL entries are popped at once, the fourth without effect on the program counter;
//! - only one IF and one LOOP entry is popped, so two bodies that end on the same word close only one;
//! - a JMP out of a body leaves its entry behind, which later words may still match;
//! - END ends the invocation wherever it stands; recursion works as far as the ring goes.
//!
//! Except for the loop counters and `aL`, the rings' contents depend only on the path taken through the program. So a
//! *state* here is a program counter with the contents of the three rings, and the graph of all states reachable from
//! the entry point is the program with every one of these rules applied. The counters and saved values of `aL` are
//! variables of the invocation, named by the depth of their entry.
//!
//! Facts: 3dbrew "GPU/Shader Instruction Set" (revisions 20746 to 20748) for the rings and their order. Where no
//! hardware record exists this follows what emulators agree on: BREAK adds the increment like the end of a body does,
//! and has no effect outside of a loop; code that runs off the end of the program ends the invocation.

use foldhash::{HashMap, HashMapExt};
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use super::decode::{Effect, Program};
use super::operand::{Address, IntUniform, Test};
use crate::error::LowerError;

/// Most states a program may have. Tidy programs have one a reachable word and call site; a ring full of left-behind
/// entries multiplies that by at most the ring's size.
pub const MAX_STATES: usize = 1 << 14;

/// Entries of the LOOP ring.
pub const LOOP_RING: usize = 4;
/// Entries of the CALL ring.
pub const CALL_RING: usize = 4;
/// Entries of the IF ring.
pub const IF_RING: usize = 8;

/// A block of the graph, an index into [`Flow::blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(u32);

impl BlockId {
    /// Position in [`Flow::blocks`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The program as a control-flow graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The blocks. Block 0 is the entry, all are reachable from it; it may have predecessors.
    pub blocks: Vec<FlowBlock>,
}

impl Flow {
    /// The entry block.
    pub const ENTRY: BlockId = BlockId(0);

    /// Number of steps in all blocks.
    pub fn steps(&self) -> usize {
        self.blocks.iter().map(|block| block.steps.len()).sum()
    }
}

/// Steps that follow each other without a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBlock {
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What comes then.
    pub exit: Exit,
    /// The words of control flow that the block passes: how many steps come before, and which word. Steps name the
    /// others.
    pub words: Vec<(usize, Address)>,
}

/// Number of the LOOP ring's entry a variable belongs to: 0 is the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoopDepth(u8);

impl LoopDepth {
    /// 0 to `LOOP_RING - 1`.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// One thing done on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Executes the word's arithmetic. The graph does not say whether the word is one that can be executed.
    Execute(Address),
    /// The LOOP ring is full: each entry's variables move down by one, the oldest are gone.
    DropOldestLoop,
    /// LOOP: `counter[depth] = i.x`, `saved[depth] = aL`, `aL = i.y`.
    EnterLoop {
        /// The new entry.
        depth: LoopDepth,
        /// `i`.
        uniform: IntUniform,
    },
    /// End of a body or BREAK: `aL += i.z`.
    Advance {
        /// `i`.
        uniform: IntUniform,
    },
    /// A loop inside another is left: `aL = saved[depth]`.
    Restore {
        /// The entry that was popped.
        depth: LoopDepth,
    },
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The invocation ends.
    End,
    /// Goes on.
    Jump(BlockId),
    /// Goes on in one of two places.
    Branch {
        /// What decides.
        choice: Choice,
        /// Where to if it holds.
        yes: BlockId,
        /// Where to if not.
        no: BlockId,
    },
}

impl Exit {
    /// The blocks it goes to; one that both sides of a branch go to counts twice.
    pub fn targets(self) -> impl Iterator<Item = BlockId> {
        match self {
            Exit::End => [None, None],
            Exit::Jump(to) => [Some(to), None],
            Exit::Branch { yes, no, .. } => [Some(yes), Some(no)],
        }
        .into_iter()
        .flatten()
    }
}

/// What a branch depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Flags or a bool uniform.
    Test(Test),
    /// Whether `counter[depth]` is not 0; it is decremented after the test.
    Again(LoopDepth),
}

/// Follows the program from `entry`.
///
/// # Errors
///
/// [`LowerError::Invalid`] if `entry` is not in the program, [`LowerError::Limit`] if there are more than
/// [`MAX_STATES`] states.
pub fn follow(program: &Program, entry: Address) -> Result<Flow, LowerError> {
    follow_known(program, entry, None)
}

/// The same where the bool uniforms are known (bit n is `bn`): what they rule out is not in the graph.
///
/// # Errors
///
/// As [`follow`].
pub fn follow_known(program: &Program, entry: Address, bools: Option<u16>) -> Result<Flow, LowerError> {
    follow_within(program, entry, bools, MAX_STATES)
}

/// [`LowerError::Invalid`] if the entry point is not in the program.
pub(super) fn check_entry(program: &Program, entry: Address) -> Result<(), LowerError> {
    if program.get(entry).is_some() {
        return Ok(());
    }
    let what = format!("entry point {:#x} is past the program's {} words", entry.0, program.instructions().len());
    Err(LowerError::Invalid { what, offset: program.byte_offset(entry) })
}

/// For each word whether the program may get there, if the rings are not looked at: what may follow a word is the next
/// one, and what it says itself about where its scope begins, ends and leads.
pub(super) fn may_reach(program: &Program, entry: Address) -> Vec<bool> {
    let mut reached = vec![false; program.instructions().len()];
    let mut unvisited = vec![entry];
    while let Some(address) = unvisited.pop() {
        let Some(is_reached) = reached.get_mut(usize::from(address.0)) else { continue };
        if std::mem::replace(is_reached, true) {
            continue;
        }
        match program.instructions()[usize::from(address.0)].effect {
            Effect::End => continue,
            Effect::Jump { target, .. } | Effect::Call { target, .. } => unvisited.push(target),
            Effect::If { otherwise, end, .. } => unvisited.extend([otherwise, end]),
            Effect::Loop { last, .. } => unvisited.push(last.next()),
            _ => {}
        }
        unvisited.push(address.next());
    }
    reached
}

fn follow_within(program: &Program, entry: Address, bools: Option<u16>, max_states: usize) -> Result<Flow, LowerError> {
    check_entry(program, entry)?;
    let mut walker =
        Walker { program, bools, max_states, known: HashMap::new(), blocks: Vec::new(), unvisited: Vec::new() };
    walker.block_of(State { pc: entry, ..State::default() })?;
    while let Some((state, block)) = walker.unvisited.pop() {
        walker.visit(state, block)?;
    }
    Ok(Flow { blocks: merge_chains(walker.blocks) })
}

/// A ring: newest entry last; pushing on a full one drops the oldest. Unused slots hold the default, so that equal
/// rings are equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ring<T, const N: usize> {
    entries: [T; N],
    len: u8,
}

impl<T: Copy + Default, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Ring { entries: [T::default(); N], len: 0 }
    }
}

impl<T: Hash, const N: usize> Hash for Ring<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entries[..usize::from(self.len)].hash(state);
    }
}

impl<T: Copy + Default, const N: usize> Ring<T, N> {
    fn is_full(&self) -> bool {
        usize::from(self.len) == N
    }

    fn push(&mut self, entry: T) {
        if self.is_full() {
            self.entries.rotate_left(1);
            self.len -= 1;
        }
        self.entries[usize::from(self.len)] = entry;
        self.len += 1;
    }

    fn top(&self) -> Option<T> {
        let newest = self.len.checked_sub(1)?;
        Some(self.entries[usize::from(newest)])
    }

    fn pop(&mut self) {
        if let Some(newest) = self.len.checked_sub(1) {
            self.entries[usize::from(newest)] = T::default();
            self.len = newest;
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct CallEntry {
    end: Address,
    back: Address,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct IfEntry {
    otherwise: Address,
    end: Address,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct LoopEntry {
    start: Address,
    end: Address,
    uniform: IntUniform,
}

/// Where the program is, but for loop counters and `aL`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    pc: Address,
    calls: Ring<CallEntry, CALL_RING>,
    ifs: Ring<IfEntry, IF_RING>,
    loops: Ring<LoopEntry, LOOP_RING>,
}

struct Walker<'a> {
    program: &'a Program,
    /// The bool uniforms, if they are known.
    bools: Option<u16>,
    max_states: usize,
    known: HashMap<State, BlockId>,
    /// One block a state, and the small ones of loop ends.
    blocks: Vec<FlowBlock>,
    unvisited: Vec<(State, BlockId)>,
}

impl Walker<'_> {
    fn new_block(&mut self, steps: Vec<Step>, exit: Exit) -> BlockId {
        // Each state makes at most two blocks besides its own for each of two ways on.
        let id = BlockId(u32::try_from(self.blocks.len()).expect("the number of states is limited"));
        self.blocks.push(FlowBlock { steps, exit, words: Vec::new() });
        id
    }

    /// The block of a state, to be visited if it is new.
    fn block_of(&mut self, state: State) -> Result<BlockId, LowerError> {
        let states = self.known.len();
        let Entry::Vacant(slot) = self.known.entry(state) else { return Ok(self.known[&state]) };
        if states == self.max_states {
            return Err(LowerError::Limit {
                what: "number of control-flow states",
                value: states as u64 + 1,
                limit: self.max_states as u64,
                offset: self.program.byte_offset(state.pc),
            });
        }
        let id = BlockId(u32::try_from(self.blocks.len()).expect("the number of states is limited"));
        slot.insert(id);
        self.blocks.push(FlowBlock { steps: Vec::new(), exit: Exit::End, words: Vec::new() });
        self.unvisited.push((state, id));
        Ok(id)
    }

    /// Fills the block of `state`: executes one instruction in the abstract.
    fn visit(&mut self, state: State, block: BlockId) -> Result<(), LowerError> {
        let pc = state.pc;
        let next = state.at(pc.next());
        let mut steps = Vec::new();
        let exit = match self.program.get(pc).map(|instruction| instruction.effect) {
            // `None`: off the end of the program.
            None | Some(Effect::End) => Exit::End,
            Some(Effect::Nop) => self.go_on(pc, next)?,
            Some(
                Effect::Arithmetic { .. }
                | Effect::Compare { .. }
                | Effect::Emit
                | Effect::SetEmit { .. }
                | Effect::Undefined,
            ) => {
                steps.push(Step::Execute(pc));
                self.go_on(pc, next)?
            }
            Some(Effect::Jump { test, target }) => {
                self.choose(Some(test), state.at(target).settle(pc), next.settle(pc))?
            }
            Some(Effect::If { test, otherwise, end }) => {
                let mut inside = next;
                inside.ifs.push(IfEntry { otherwise, end });
                self.choose(Some(test), inside.settle(pc), state.at(otherwise).settle(pc))?
            }
            Some(Effect::Call { test, target, end }) => {
                let mut inside = state.at(target);
                inside.calls.push(CallEntry { end, back: next.pc });
                self.choose(test, inside.settle(pc), next.settle(pc))?
            }
            Some(Effect::Break { test }) => self.choose(test, next.settle_break(pc), next.settle(pc))?,
            Some(Effect::Loop { uniform, last }) => {
                if state.loops.is_full() {
                    steps.push(Step::DropOldestLoop);
                }
                let mut inside = next;
                inside.loops.push(LoopEntry { start: next.pc, end: last.next(), uniform });
                steps.push(Step::EnterLoop { depth: inside.loop_depth(), uniform });
                self.go_on(pc, inside)?
            }
        };
        let is_control = !matches!(steps.first(), Some(Step::Execute(_))) && self.program.get(pc).is_some();
        let words = if is_control { vec![(0, pc)] } else { Vec::new() };
        self.blocks[block.index()] = FlowBlock { steps, exit, words };
        Ok(())
    }

    fn go_on(&mut self, executed: Address, state: State) -> Result<Exit, LowerError> {
        Ok(Exit::Jump(self.place(state.settle(executed))?))
    }

    /// Goes to `yes` if the test holds or there is none, else to `no`.
    fn choose(&mut self, test: Option<Test>, yes: Landing, no: Landing) -> Result<Exit, LowerError> {
        let (test, yes) = match test.and_then(|test| test.known(self.bools)) {
            None => (test, yes),
            Some(holds) => (None, if holds { yes } else { no }),
        };
        let to = self.place(yes)?;
        Ok(match test {
            Some(test) if yes != no => Exit::Branch { choice: Choice::Test(test), yes: to, no: self.place(no)? },
            _ => Exit::Jump(to),
        })
    }

    /// The block at which to land.
    fn place(&mut self, landing: Landing) -> Result<BlockId, LowerError> {
        match landing {
            Landing::At(state) => self.block_of(state),
            Landing::LoopEnd { inside, top } => {
                let yes = self.block_of(inside.at(top.start))?;
                let no = self.behind_loop(inside, top)?;
                let exit = Exit::Branch { choice: Choice::Again(inside.loop_depth()), yes, no };
                Ok(self.new_block(vec![Step::Advance { uniform: top.uniform }], exit))
            }
            Landing::Broken { inside, top } => {
                let exit = Exit::Jump(self.behind_loop(inside, top)?);
                Ok(self.new_block(vec![Step::Advance { uniform: top.uniform }], exit))
            }
        }
    }

    /// The block behind the innermost loop. `aL` keeps its last value unless there is a loop around it.
    fn behind_loop(&mut self, inside: State, top: LoopEntry) -> Result<BlockId, LowerError> {
        let mut outside = inside.at(top.end);
        outside.loops.pop();
        let block = self.block_of(outside)?;
        if outside.loops.top().is_none() {
            return Ok(block);
        }
        Ok(self.new_block(vec![Step::Restore { depth: inside.loop_depth() }], Exit::Jump(block)))
    }
}

/// Where an instruction leads once the rings have been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Landing {
    /// To a state.
    At(State),
    /// To the end of the innermost loop's body; the counter decides.
    LoopEnd { inside: State, top: LoopEntry },
    /// Out of the innermost loop by BREAK.
    Broken { inside: State, top: LoopEntry },
}

impl State {
    /// The same rings at another program counter.
    fn at(self, pc: Address) -> State {
        State { pc, ..self }
    }

    /// The variables of the innermost loop.
    fn loop_depth(&self) -> LoopDepth {
        LoopDepth(self.loops.len.checked_sub(1).expect("only asked inside of a loop"))
    }

    /// What the rings make of a state reached by the instruction at `executed`: CALL first, then IF, then LOOP, so that
    /// the last to match has the last word on where to go.
    fn settle(mut self, executed: Address) -> Landing {
        let next = executed.next();
        self.end_calls(next);
        self.end_if(next);
        match self.loops.top() {
            Some(top) if top.end == next => Landing::LoopEnd { inside: self.at(top.end), top },
            _ => Landing::At(self),
        }
    }

    /// What the rings make of a BREAK.
    fn settle_break(mut self, executed: Address) -> Landing {
        self.end_calls(executed.next());
        self.end_if(executed.next());
        match self.loops.top() {
            Some(top) => Landing::Broken { inside: self.at(top.end), top },
            None => Landing::At(self),
        }
    }

    /// Returns from procedures that end before the word at `next`. The fourth in a row is forgotten, not returned from.
    fn end_calls(&mut self, next: Address) {
        let mut end = next;
        for popped in 0..CALL_RING {
            let Some(top) = self.calls.top().filter(|top| top.end == end) else { break };
            if popped < CALL_RING - 1 {
                end = top.back;
                self.pc = top.back;
            }
            self.calls.pop();
        }
    }

    /// Skips the else part if the then part ends before the word at `next`.
    fn end_if(&mut self, next: Address) {
        if let Some(top) = self.ifs.top().filter(|top| top.otherwise == next) {
            self.pc = top.end;
            self.ifs.pop();
        }
    }
}

/// Joins each block to the one it jumps to where that has no other predecessor, and numbers what is left in reverse
/// postorder.
fn merge_chains(blocks: Vec<FlowBlock>) -> Vec<FlowBlock> {
    let mut predecessors = vec![0u32; blocks.len()];
    // The entry has one that is not in the graph.
    predecessors[Flow::ENTRY.index()] = 1;
    for to in blocks.iter().flat_map(|block| block.exit.targets()) {
        predecessors[to.index()] += 1;
    }

    // The chain that begins at `head`: all its steps, and how its last block ends.
    let chain = |head: BlockId| {
        let mut merged = blocks[head.index()].clone();
        while let Exit::Jump(to) = merged.exit
            && predecessors[to.index()] == 1
        {
            let before = merged.steps.len();
            merged.words.extend(blocks[to.index()].words.iter().map(|&(steps, word)| (before + steps, word)));
            merged.steps.extend_from_slice(&blocks[to.index()].steps);
            merged.exit = blocks[to.index()].exit;
        }
        merged
    };

    // Depth first, children before parents.
    let mut merged: Vec<Option<FlowBlock>> = vec![None; blocks.len()];
    let mut postorder = Vec::new();
    let mut open = vec![(Flow::ENTRY, false)];
    while let Some((head, children_done)) = open.pop() {
        if children_done {
            postorder.push(head);
        } else if merged[head.index()].is_none() {
            let block = chain(head);
            open.push((head, true));
            // The `no` side is visited first and so comes out last: fall-through code ends up behind what it skips.
            open.extend(block.exit.targets().map(|to| (to, false)));
            merged[head.index()] = Some(block);
        }
    }

    let mut number = vec![None; blocks.len()];
    for (new, &old) in postorder.iter().rev().enumerate() {
        number[old.index()] = Some(BlockId(u32::try_from(new).expect("there are no more blocks than before")));
    }
    let renumber = |old: BlockId| number[old.index()].expect("successors are visited");
    postorder
        .iter()
        .rev()
        .map(|old| {
            let mut block = merged[old.index()].take().expect("each block is numbered once");
            block.exit = match block.exit {
                Exit::End => Exit::End,
                Exit::Jump(to) => Exit::Jump(renumber(to)),
                Exit::Branch { choice, yes, no } => Exit::Branch { choice, yes: renumber(yes), no: renumber(no) },
            };
            block
        })
        .collect()
}

#[cfg(test)]
mod tests;
