//! The control-flow graph of a function: its blocks, which of them can be reached, and which dominate which.
//!
//! Dominators are found by the two-finger method (Cooper, Harvey and Kennedy, *A Simple, Fast Dominance Algorithm*),
//! and asked for by an interval of each block's preorder number in their tree. Merge instructions are not looked at:
//! what a graph means does not depend on them.

use foldhash::{HashMap, HashMapExt};

use spirv::Op;

use super::declare::invalid;
use crate::error::LowerError;
use crate::frontend::spirv::decode::{Instruction, Module};

/// Most blocks of a function: finding dominators may take their square.
const MAX_BLOCKS: u64 = 1 << 13;

/// A block of a function.
pub(super) struct BasicBlock {
    /// The id of its label.
    pub label: u32,
    /// Number of the first instruction behind its label.
    pub first: usize,
    /// Number of the instruction that ends it.
    pub last: usize,
    /// Where it may go on, an edge for each way.
    pub successors: Vec<usize>,
    /// How many edges come from blocks that can be reached; none if it cannot be reached itself.
    pub entering: u32,
    /// The interval of preorder numbers of what it dominates.
    interval: (u32, u32),
}

/// The blocks of a function in the order of the module.
pub(super) struct Cfg {
    pub blocks: Vec<BasicBlock>,
    labels: HashMap<u32, usize>,
}

impl Cfg {
    /// Reads the blocks of the function whose first label is instruction `at`.
    pub fn new(module: &Module, at: usize) -> Result<Cfg, LowerError> {
        let mut cfg = Cfg { blocks: Vec::new(), labels: HashMap::new() };
        let mut open: Option<(u32, usize)> = None;
        let mut number = at;
        loop {
            let Some(instruction) = module.get(number) else { return Err(cfg.unended(module)) };
            match (instruction.opcode(), open) {
                (Some(Op::FunctionEnd), None) => break,
                (Some(Op::Label), None) => {
                    let &[label] = instruction.operands() else { return Err(invalid(&instruction, "has no id")) };
                    if cfg.labels.insert(label, cfg.blocks.len()).is_some() {
                        return Err(invalid(&instruction, "is there twice"));
                    }
                    open = Some((label, number + 1));
                }
                (Some(Op::Line | Op::NoLine), None) => {}
                (_, None) => return Err(invalid(&instruction, "is in no block")),
                (Some(Op::Label | Op::FunctionEnd | Op::Function), Some(_)) => {
                    return Err(invalid(&instruction, "is in a block that does not end"));
                }
                (opcode, Some((label, first))) => {
                    if opcode.is_some_and(is_terminator) {
                        let count = cfg.blocks.len() as u64 + 1;
                        if count > MAX_BLOCKS {
                            let (what, offset) = ("number of blocks of a function", instruction.offset);
                            return Err(LowerError::Limit { what, value: count, limit: MAX_BLOCKS, offset });
                        }
                        cfg.blocks.push(BasicBlock {
                            label,
                            first,
                            last: number,
                            successors: Vec::new(),
                            entering: 0,
                            interval: (0, 0),
                        });
                        open = None;
                    }
                }
            }
            number += 1;
        }
        for block in 0..cfg.blocks.len() {
            let instruction = module.get(cfg.blocks[block].last).expect("it was read");
            cfg.blocks[block].successors = cfg.targets(&instruction)?;
        }
        if !cfg.blocks.is_empty() {
            cfg.find_dominators(module)?;
        }
        Ok(cfg)
    }

    fn unended(&self, module: &Module) -> LowerError {
        let end = module.offset + 4 * module.words().len();
        LowerError::Invalid { what: "a function does not end".to_string(), offset: end }
    }

    /// The block of a label.
    pub fn block(&self, label: u32) -> Option<usize> {
        self.labels.get(&label).copied().filter(|&block| block < self.blocks.len())
    }

    /// Whether all ways to `b` come through `a`. Both can be reached.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        let (first, last) = self.blocks[a].interval;
        (first..last).contains(&self.blocks[b].interval.0)
    }

    /// Whether every way through the function comes to a block, and never twice. It can be reached.
    pub fn is_passed_once(&self, block: usize) -> bool {
        let mut seen = vec![false; self.blocks.len()];
        // From the block back to it, and around it to an end.
        let mut open = self.blocks[block].successors.clone();
        while let Some(next) = open.pop() {
            if next == block {
                return false;
            }
            if !std::mem::replace(&mut seen[next], true) {
                open.extend(&self.blocks[next].successors);
            }
        }
        seen.fill(false);
        open.push(0);
        while let Some(next) = open.pop() {
            if next == block || std::mem::replace(&mut seen[next], true) {
                continue;
            }
            if self.blocks[next].successors.is_empty() {
                return false;
            }
            open.extend(&self.blocks[next].successors);
        }
        true
    }

    /// Where a terminator goes on.
    fn targets(&self, instruction: &Instruction<'_>) -> Result<Vec<usize>, LowerError> {
        let find = |label: &u32| self.block(*label).ok_or_else(|| invalid(instruction, "goes to no block"));
        let short = || invalid(instruction, "is too short");
        match (instruction.opcode(), instruction.operands()) {
            (Some(Op::Branch), [target]) => Ok(vec![find(target)?]),
            (Some(Op::BranchConditional), [_, then, other, ..]) => Ok(vec![find(then)?, find(other)?]),
            (Some(Op::Switch), [_, default, cases @ ..]) => {
                if cases.len() % 2 != 0 {
                    return Err(short());
                }
                [default].into_iter().chain(cases.iter().skip(1).step_by(2)).map(find).collect()
            }
            (Some(Op::Branch | Op::BranchConditional | Op::Switch), _) => Err(short()),
            _ => Ok(Vec::new()),
        }
    }

    fn find_dominators(&mut self, module: &Module) -> Result<(), LowerError> {
        let order = self.postorder();
        let mut position = vec![usize::MAX; self.blocks.len()];
        order.iter().enumerate().for_each(|(n, &block)| position[block] = n);
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for &block in &order {
            for &successor in &self.blocks[block].successors {
                predecessors[successor].push(block);
            }
        }
        if !predecessors[0].is_empty() {
            let last = module.get(self.blocks[predecessors[0][0]].last).expect("it was read");
            return Err(invalid(&last, "goes to the first block of the function"));
        }
        let mut parent = vec![usize::MAX; self.blocks.len()];
        parent[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev().skip(1) {
                let mut found = usize::MAX;
                for &predecessor in predecessors[block].iter().filter(|&&block| parent[block] != usize::MAX) {
                    found = match found {
                        usize::MAX => predecessor,
                        _ => meet(&parent, &position, found, predecessor),
                    };
                }
                changed |= std::mem::replace(&mut parent[block], found) != found;
            }
        }
        // Reverse postorder has parents before children; sizes of subtrees give the intervals.
        let mut size = vec![1u32; self.blocks.len()];
        for &block in order.iter().filter(|&&block| block != 0) {
            size[parent[block]] += size[block];
        }
        let mut next = vec![0u32; self.blocks.len()];
        for &block in order.iter().rev() {
            let first = if block == 0 { 0 } else { next[parent[block]] };
            if block != 0 {
                next[parent[block]] += size[block];
            }
            next[block] = first + 1;
            self.blocks[block].interval = (first, first + size[block]);
            self.blocks[block].entering = predecessors[block].len() as u32 + u32::from(block == 0);
        }
        Ok(())
    }

    /// The blocks that can be reached, each behind those that it leads to, loops apart.
    fn postorder(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.blocks.len());
        let mut seen = vec![false; self.blocks.len()];
        let mut stack = vec![(0, 0)];
        seen[0] = true;
        while let Some((block, next)) = stack.last_mut() {
            match self.blocks[*block].successors.get(*next) {
                Some(&successor) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[successor], true) {
                        stack.push((successor, 0));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order
    }
}

/// The nearest block that dominates both.
fn meet(parent: &[usize], position: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while position[a] < position[b] {
            a = parent[a];
        }
        while position[b] < position[a] {
            b = parent[b];
        }
    }
    a
}

/// Whether an opcode ends a block.
fn is_terminator(opcode: Op) -> bool {
    matches!(
        opcode,
        Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Return
            | Op::ReturnValue
            | Op::Kill
            | Op::Unreachable
            | Op::TerminateInvocation
            | Op::IgnoreIntersectionKHR
            | Op::TerminateRayKHR
            | Op::EmitMeshTasksEXT
    )
}

/// A function's head: what is in front of its blocks.
pub(super) struct Head {
    /// The id of its result's type.
    pub result: u32,
    /// The ids of its parameters, with those of their types.
    pub parameters: Vec<(u32, u32)>,
    /// Number of the instruction behind the parameters.
    pub first: usize,
    /// Absolute byte offset.
    pub offset: usize,
}

/// The functions of a module by id.
pub(super) fn functions(module: &Module) -> Result<HashMap<u32, Head>, LowerError> {
    let mut heads = HashMap::new();
    let mut number = 0;
    while let Some(instruction) = module.get(number) {
        number += 1;
        if instruction.opcode() != Some(Op::Function) {
            continue;
        }
        let &[result, id, _, _] = instruction.operands() else { return Err(invalid(&instruction, "is too short")) };
        let mut head = Head { result, parameters: Vec::new(), first: number, offset: instruction.offset };
        while let Some(parameter) = module.get(head.first) {
            match (parameter.opcode(), parameter.operands()) {
                (Some(Op::FunctionParameter), &[ty, id]) => head.parameters.push((id, ty)),
                (Some(Op::FunctionParameter), _) => return Err(invalid(&parameter, "is too short")),
                (Some(Op::Line | Op::NoLine), _) => {}
                _ => break,
            }
            head.first += 1;
        }
        number = head.first;
        if heads.insert(id, head).is_some() {
            return Err(invalid(&instruction, "is there twice"));
        }
    }
    Ok(heads)
}
