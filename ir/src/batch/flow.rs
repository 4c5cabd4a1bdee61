//! What flows from instruction to instruction, as their code will have it: what is made elsewhere is left out, rows
//! that become one come at once, and outputs go when they are complete.

use super::plan::Planner;
use super::{run_length, words_behind};
use crate::function::{Imm, InstData};
use crate::{Block, Function, Inst, Op, Value};
use cranelift_entity::SecondaryMap;
use std::ops::Range;

/// What it costs to make addresses of an index anew, in memory accesses.
const INDEX: u32 = 6;

/// A value that differs among lanes.
#[derive(Clone, Copy)]
pub struct Flowing {
    /// The block it is made in, by reverse postorder.
    pub block: u32,
    /// Number of the step that makes it.
    pub made: u32,
    /// Number of the last one in its block that uses it; [`ELSEWHERE`] if other blocks use it.
    pub last_use: u32,
    /// What it costs to have it in other code than what makes it, in memory accesses.
    pub fetching: u32,
}

/// Past all steps.
pub const ELSEWHERE: u32 = u32::MAX;

/// What the code of an instruction does, of a block's parameters, or of its end. Values are those of [`Flow::values`],
/// each once.
pub struct Step {
    /// About how many native instructions it is.
    pub weight: usize,
    /// How long what it makes takes, in sums.
    pub latency: usize,
    /// The first of the values it makes, and the one behind the last.
    makes: [u32; 2],
    /// The same of the values it uses, in [`Flow::used`].
    uses: [u32; 2],
}

impl Step {
    /// The values it makes.
    #[inline]
    pub fn makes(&self) -> Range<usize> {
        self.makes[0] as usize..self.makes[1] as usize
    }
}

/// What flows where.
pub struct Flow {
    /// For each block one for its parameters, one for each instruction, and one for its end.
    pub steps: Vec<Step>,
    /// The steps of each block, by reverse postorder.
    pub blocks: Vec<Range<usize>>,
    /// In the order in which they are made.
    pub values: Vec<Flowing>,
    used: Vec<u32>,
}

/// Looks through a function.
struct Finder<'a> {
    func: &'a Function,
    planner: &'a Planner,
    flow: Flow,
    /// The block at hand, by reverse postorder.
    block: u32,
    /// Numbers of values, plus 1.
    numbers: SecondaryMap<Value, u32>,
    /// For each of them the last step that uses it.
    used_by: Vec<u32>,
    /// For each output element, how many instructions have yet to set a component, and what others have set.
    outputs: Vec<(usize, Vec<Value>)>,
}

impl Flow {
    pub fn find(func: &Function, planner: &Planner) -> Flow {
        let mut finder = Finder {
            func,
            planner,
            flow: Flow {
                steps: Vec::with_capacity(func.size() + func.layout.len()),
                blocks: Vec::with_capacity(func.layout.len()),
                values: Vec::with_capacity(func.size()),
                used: Vec::with_capacity(2 * func.size()),
            },
            block: 0,
            numbers: func.value_map(),
            used_by: Vec::with_capacity(func.size()),
            outputs: vec![(0, Vec::new()); func.outputs as usize],
        };
        for (number, &block) in (0..).zip(&planner.program.order) {
            finder.block = number;
            finder.block(block);
        }
        finder.flow
    }

    /// The numbers of the values that a step uses.
    #[inline]
    pub fn uses(&self, step: &Step) -> impl Iterator<Item = usize> {
        let [first, end] = step.uses;
        self.used[first as usize..end as usize].iter().map(|&number| number as usize)
    }
}

impl Finder<'_> {
    fn block(&mut self, block: Block) {
        let data = &self.func.blocks[block];
        let insts = self.func.insts_in(block);
        for inst in insts.clone() {
            if let (Op::Output, Imm::Element { element, .. }) = (inst.op, inst.imm) {
                self.outputs[element as usize].0 += 1;
            }
        }
        let first = self.flow.steps.len();
        self.step(|this| {
            data.params.iter().for_each(|&param| this.makes(param));
            (0, 0)
        });
        // Instructions that a run has come with.
        let mut come = 0;
        for (at, &inst) in data.insts.iter().enumerate() {
            let run = if at < come { 0 } else { run_length(self.func, &data.insts[at..]) };
            if run > 0 {
                come = at + run + words_behind(self.func, &data.insts[at + run..]);
                self.step(|this| this.run(&data.insts[at..come], run));
            } else if at < come {
                self.step(|_| (0, 0));
            } else {
                self.step(|this| this.inst(&this.func.insts[inst]));
            }
        }
        self.step(|this| {
            let mut copies = 0;
            for (param, arg) in this.func.passed(block) {
                if this.differs(param) {
                    this.uses(arg);
                    copies += usize::from(param != arg);
                }
            }
            // Whether any lane goes on is asked last of all.
            insts.filter(|inst| inst.op == Op::Any).for_each(|inst| this.uses(inst.args[0]));
            (copies, 0)
        });
        self.flow.blocks.push(first..self.flow.steps.len());
    }

    /// Adds a step, noting what it uses and makes, of the weight and latency that gives.
    fn step(&mut self, note: impl FnOnce(&mut Self) -> (usize, usize)) {
        let (used, made) = (self.flow.used.len(), self.flow.values.len());
        let (weight, latency) = note(self);
        let [uses, makes] =
            [(used, self.flow.used.len()), (made, self.flow.values.len())].map(|(from, to)| [from as u32, to as u32]);
        self.flow.steps.push(Step { weight: weight * usize::from(self.planner.machine.vectors), latency, makes, uses });
    }

    /// Notes what an instruction uses and makes, and gives its weight and its latency.
    fn inst(&mut self, inst: &InstData) -> (usize, usize) {
        // What is the same in all lanes is computed once a tile.
        if self.planner.is_made_elsewhere(inst) || inst.result.is_some_and(|result| !self.differs(result)) {
            return (0, 0);
        }
        if let (Op::Output, Imm::Element { element, .. }) = (inst.op, inst.imm) {
            let (unset, set) = &mut self.outputs[element as usize];
            set.push(inst.args[0]);
            *unset -= 1;
            if *unset == 0 {
                std::mem::take(set).into_iter().for_each(|value| self.uses(value));
            }
            return (4, 0);
        }
        inst.args.iter().for_each(|&arg| match inst.op {
            Op::UniformLoadAt => self.indexes(arg),
            _ => self.uses(arg),
        });
        inst.result.into_iter().for_each(|result| self.makes(result));
        match inst.op {
            Op::Input | Op::InputWord => (4, 2),
            Op::UniformLoadAt | Op::ResourceLoad => (6, 5),
            Op::Fdiv | Op::Fsqrt => (1, 3),
            _ => (1, 1),
        }
    }

    /// Notes what a run of so many instructions uses, and makes by the words behind it. Runs that set an output are
    /// made of what the call has.
    fn run(&mut self, insts: &[Inst], run: usize) -> (usize, usize) {
        let insts = insts.iter().map(|&inst| &self.func.insts[inst]);
        let (words, mut sums) = (insts.clone().skip(run), 0);
        for inst in insts.take(run) {
            match inst.op {
                Op::OutputRow => return (0, 0),
                Op::RowAt => self.indexes(inst.args[0]),
                Op::RowEach => self.uses(inst.args[0]),
                _ => sums += 1,
            }
        }
        let mut rows = 0;
        let mut last = None;
        for inst in words {
            rows += usize::from(last.replace(inst.args[0]) != Some(inst.args[0]));
            inst.result.into_iter().for_each(|result| self.makes(result));
        }
        (4 * run + 8 * rows, sums / rows.max(1) + 5)
    }

    fn differs(&self, value: Value) -> bool {
        !self.planner.program.uniform.contains(value) && self.func.constant(value).is_none()
    }

    fn uses(&mut self, value: Value) {
        // What is the same in all lanes has no number.
        let Some(number) = self.numbers[value].checked_sub(1) else { return };
        let step = self.flow.steps.len() as u32;
        let flowing = &mut self.flow.values[number as usize];
        if flowing.block == self.block {
            flowing.last_use = step;
        } else {
            flowing.last_use = ELSEWHERE;
        }
        if std::mem::replace(&mut self.used_by[number as usize], step) != step {
            self.flow.used.push(number);
        }
    }

    /// Notes the use of an index.
    fn indexes(&mut self, value: Value) {
        if self.differs(value) {
            self.flow.values[self.numbers[value] as usize - 1].fetching = INDEX;
            self.uses(value);
        }
    }

    fn makes(&mut self, value: Value) {
        // A row of three components has one of them twice.
        if self.differs(value) && self.numbers[value] == 0 {
            let made = self.flow.steps.len() as u32;
            self.flow.values.push(Flowing { block: self.block, made, last_use: made, fetching: 1 });
            self.used_by.push(made);
            self.numbers[value] = self.flow.values.len() as u32;
        }
    }
}
