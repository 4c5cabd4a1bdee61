//! Live intervals: the stretch of code in which each virtual register is needed, and where it is used next.
//!
//! Positions are numbers of instructions, in the order of the code. Intervals have no holes; one that a loop needs
//! from outside covers the loop.

use super::super::code::{Code, Definition, NOWHERE, number_of};
use regalloc2::OperandKind;

/// What is behind all positions.
pub const NEVER: u32 = u32::MAX;

/// Steps through nested loops that an operand or block may take, on average: programs that people write take one or
/// two. Where more are needed, all of this would take quadratic time.
const NESTING: usize = 32;

/// No loop.
const NONE: u32 = u32::MAX;

/// Where a register is needed, in half positions.
#[derive(Clone, Copy)]
pub struct Interval {
    /// Twice the position of the instruction that defines it, or of the first in the block that it is a parameter of.
    pub start: u32,
    /// Twice the position of its last use, or one more than twice the last position of a loop.
    pub end: u32,
    /// The first use.
    pub first: u32,
}

/// Where a register is used.
#[derive(Clone, Copy)]
struct Position {
    /// The innermost loop around it.
    around: u32,
    inst: u32,
}

/// Blocks that lie between the two ends of an edge that goes backwards.
struct Loop {
    head: u32,
    last: u32,
    parent: u32,
    /// Its first instruction, and one behind its last, in half positions.
    start: u32,
    end: u32,
}

/// Intervals and uses. Its memory is used again for the next code.
#[derive(Default)]
pub struct Live {
    /// By register.
    pub intervals: Vec<Interval>,
    /// For each operand, where its register is used next.
    pub next: Vec<u32>,
    /// The same for the arguments of jumps.
    pub arg_next: Vec<u32>,
    /// For each block, the last block of the loop that it begins.
    pub last: Vec<Option<u32>>,
    /// For each block, how many registers of a class are needed at once at most; four places are one word.
    pub pressure: Vec<[i16; 4]>,
    loops: Vec<Loop>,
    innermost: Vec<u32>,
    /// Steps through nested loops that are left.
    budget: usize,
    steps: Vec<[i16; 4]>,
}

impl Live {
    /// Looks at code; none if a register is used ahead of its definition, in the order of the code, or loops are nested
    /// too deeply.
    pub fn find(&mut self, code: &Code) -> Option<()> {
        self.budget = NESTING * (code.operands.len() + code.blocks.len());
        self.find_loops(code)?;
        let blocks = self.loops.iter().map(|Loop { head, last, .. }| (last - head + 1) as usize);
        self.budget = self.budget.checked_sub(blocks.sum())?;
        self.find_starts(code);
        self.find_uses(code)?;
        self.find_pressure(code);
        Some(())
    }

    fn find_loops(&mut self, code: &Code) -> Option<()> {
        self.last.clear();
        self.last.resize(code.blocks.len(), None);
        for (number, block) in (0..).zip(&code.blocks) {
            for head in block.successors.iter().map(|successor| successor.index()).filter(|&to| to <= number as usize) {
                self.last[head] = self.last[head].max(Some(number));
            }
        }
        self.loops.clear();
        self.innermost.clear();
        let mut around = NONE;
        for (number, last) in (0..).zip(&self.last) {
            while around != NONE && self.loops[around as usize].last < number {
                around = self.loops[around as usize].parent;
            }
            if let &Some(last) = last {
                let start = 2 * code.blocks[number as usize].insts.start;
                self.loops.push(Loop { head: number, last, parent: around, start, end: 0 });
                // Loops that overlap become one inside of the other.
                let mut outer = around;
                while outer != NONE && self.loops[outer as usize].last < last {
                    self.budget = self.budget.checked_sub(1)?;
                    self.loops[outer as usize].last = last;
                    outer = self.loops[outer as usize].parent;
                }
                around = self.loops.len() as u32 - 1;
            }
            self.innermost.push(around);
        }
        for Loop { head, last, end, .. } in &mut self.loops {
            *end = 2 * code.blocks[*last as usize].insts.end - 1;
            self.last[*head as usize] = Some(*last);
        }
        Some(())
    }

    fn find_starts(&mut self, code: &Code) {
        self.intervals.clear();
        self.intervals.extend(code.definitions.iter().map(|&Definition { inst, block, .. }| {
            let start = if block == NOWHERE { NEVER } else { 2 * inst };
            Interval { start, end: start, first: NEVER }
        }));
    }

    fn find_uses(&mut self, code: &Code) -> Option<()> {
        self.arg_next.clear();
        self.arg_next.resize(code.args.len(), NEVER);
        self.next.clear();
        self.next.resize(code.operands.len(), NEVER);
        let mut end = code.operands.len();
        for (number, block) in code.blocks.iter().enumerate().rev() {
            let at = Position { around: self.innermost[number], inst: block.insts.end - 1 };
            for (place, arg) in (block.args.start as usize..).zip(code.args_of(block)) {
                self.arg_next[place] = self.used(arg.vreg(), at)?;
            }
            for position in block.insts.clone().rev() {
                let start = if position == 0 { 0 } else { code.insts[position as usize - 1].end as usize };
                while end > start {
                    end -= 1;
                    let operand = code.operands[end];
                    if operand.kind() == OperandKind::Use {
                        self.next[end] = self.used(number_of(operand), Position { inst: position, ..at })?;
                    }
                }
            }
        }
        Some(())
    }

    /// Notes a use, which comes ahead of all that were noted, and gives the use behind it.
    #[inline(always)]
    fn used(&mut self, register: usize, at: Position) -> Option<u32> {
        let interval = &mut self.intervals[register];
        let mut end = 2 * at.inst;
        if interval.start > end {
            return None;
        }
        let mut around = at.around;
        while let Some(&Loop { start, end: behind, parent, .. }) = self.loops.get(around as usize)
            && start > interval.start
        {
            self.budget = self.budget.checked_sub(1)?;
            (end, around) = (behind, parent);
        }
        interval.end = interval.end.max(end);
        Some(std::mem::replace(&mut interval.first, at.inst))
    }

    fn find_pressure(&mut self, code: &Code) {
        self.steps.clear();
        self.steps.resize(code.insts.len() + 1, [0; 4]);
        for (interval, definition) in self.intervals.iter().zip(&code.definitions) {
            if definition.block == NOWHERE {
                continue;
            }
            let class = usize::from(definition.class);
            let [start, end] = [interval.start, interval.end].map(|half| half as usize / 2);
            let begins = &mut self.steps[start][class];
            *begins = begins.saturating_add(1);
            let ends = &mut self.steps[end + 1][class];
            *ends = ends.saturating_sub(1);
        }
        self.pressure.clear();
        let mut live = [0i16; 4];
        for block in &code.blocks {
            let mut most = live;
            for steps in &self.steps[block.insts.start as usize..block.insts.end as usize] {
                live = std::array::from_fn(|class| live[class].saturating_add(steps[class]));
                most = std::array::from_fn(|class| most[class].max(live[class]));
            }
            self.pressure.push(most);
        }
    }
}
