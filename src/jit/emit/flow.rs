//! What flows from instruction to instruction in a function of one block, as its code will have it: what is made elsewhere is left out,
//! rows that become one come at once, and outputs go when they are complete.

use super::plan::Plan;
use cranelift_codegen::entity::SecondaryMap;
use foldhash::{HashMap, HashMapExt};
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::{Function, Inst, Op, Value};
use std::ops::Range;

/// What it costs to make addresses of an index anew, in memory accesses.
const INDEX: usize = 6;

/// A value that differs among lanes.
#[derive(Clone, Copy)]
pub struct Flowing {
    pub value: Value,
    /// Number of the instruction that makes it.
    pub made: u32,
    /// Number of the last one that uses it.
    pub last_use: u32,
    /// What it costs to have it in other code than what makes it, in memory accesses.
    pub fetching: usize,
}

/// What the code of an instruction does. Values are those of [`Flow::values`], each once.
pub struct Step {
    /// About how many native instructions it is.
    pub weight: usize,
    /// How long what it makes takes, in sums.
    pub latency: usize,
    /// The values it makes.
    pub makes: Range<usize>,
    /// The values it uses, in [`Flow::used`].
    uses: Range<usize>,
}

/// What flows where.
#[derive(Default)]
pub struct Flow {
    /// One for each instruction.
    pub steps: Vec<Step>,
    /// In the order in which they are made.
    pub values: Vec<Flowing>,
    used: Vec<u32>,
}

/// Looks through a function.
struct Finder<'a> {
    func: &'a Function,
    plan: &'a Plan,
    flow: Flow,
    /// Numbers of values, plus 1.
    numbers: SecondaryMap<Value, u32>,
    /// For each family of blends whether it has been made.
    blended: Vec<bool>,
    /// For each output element, how many instructions have yet to set a component, and what others have set.
    outputs: HashMap<u32, (usize, Vec<Value>)>,
}

impl Flow {
    pub fn find(func: &Function, insts: &[Inst], plan: &Plan) -> Flow {
        let mut finder = Finder {
            func,
            plan,
            flow: Flow::default(),
            numbers: SecondaryMap::with_capacity(func.values.len()),
            blended: vec![false; plan.blends.len()],
            outputs: HashMap::new(),
        };
        for data in insts.iter().map(|&inst| &func.insts[inst]) {
            if let (Op::Output, Imm::Element { element, .. }) = (data.op, data.imm) {
                finder.outputs.entry(element).or_default().0 += 1;
            }
        }
        for &inst in insts {
            let (used, made) = (finder.flow.used.len(), finder.flow.values.len());
            let (weight, latency) = finder.inst(&func.insts[inst]);
            let (uses, makes) = (used..finder.flow.used.len(), made..finder.flow.values.len());
            finder.flow.steps.push(Step { weight: weight * plan.groups, latency, makes, uses });
        }
        finder.flow
    }

    /// The numbers of the values that a step uses.
    pub fn uses(&self, step: &Step) -> impl Iterator<Item = usize> {
        self.used[step.uses.clone()].iter().map(|&number| number as usize)
    }
}

impl Finder<'_> {
    /// Notes what an instruction uses and makes, and gives its weight and its latency.
    fn inst(&mut self, inst: &InstData) -> (usize, usize) {
        if self.plan.is_made_elsewhere(inst) {
            return (0, 0);
        }
        let (used, made) = (self.flow.used.len(), self.flow.values.len());
        if let (Op::Output, Imm::Element { element, .. }) = (inst.op, inst.imm) {
            let (unset, set) = self.outputs.get_mut(&element).expect("outputs have been counted");
            set.push(inst.args[0]);
            *unset -= 1;
            if *unset == 0 {
                std::mem::take(set).into_iter().for_each(|value| self.uses(value, used));
            }
            return (4, 0);
        }
        let blends = &self.plan.blends;
        if let Some(result) = inst.result.filter(|&result| blends.cover(result)) {
            let Some(family) = blends.family(result).filter(|&family| !self.blended[family]) else { return (0, 0) };
            self.blended[family] = true;
            blends.leaves(family).for_each(|(leaf, is_index)| match is_index {
                true => self.indexes(leaf, used),
                false => self.uses(leaf, used),
            });
            blends.columns(family).for_each(|column| self.makes(column, made));
            return blends.weight(family);
        }
        inst.args.iter().for_each(|&arg| match inst.op {
            Op::UniformLoadAt => self.indexes(arg, used),
            _ => self.uses(arg, used),
        });
        inst.result.into_iter().for_each(|result| self.makes(result, made));
        match inst.op {
            Op::Input => (4, 2),
            Op::UniformLoadAt | Op::ResourceLoad => (6, 5),
            Op::Fdiv | Op::Fsqrt => (1, 3),
            _ => (1, 1),
        }
    }

    fn differs(&self, value: Value) -> bool {
        !self.plan.uniform.contains(value) && self.func.constant(value).is_none()
    }

    fn uses(&mut self, value: Value, since: usize) {
        if !self.differs(value) {
            return;
        }
        let number = self.numbers[value] - 1;
        self.flow.values[number as usize].last_use = self.flow.steps.len() as u32;
        if !self.flow.used[since..].contains(&number) {
            self.flow.used.push(number);
        }
    }

    /// Notes the use of an index.
    fn indexes(&mut self, value: Value, since: usize) {
        if self.differs(value) {
            self.flow.values[self.numbers[value] as usize - 1].fetching = INDEX;
            self.uses(value, since);
        }
    }

    fn makes(&mut self, value: Value, since: usize) {
        if self.differs(value) && self.flow.values[since..].iter().all(|made| made.value != value) {
            let made = self.flow.steps.len() as u32;
            self.flow.values.push(Flowing { value, made, last_use: made, fetching: 1 });
            self.numbers[value] = self.flow.values.len() as u32;
        }
    }
}
