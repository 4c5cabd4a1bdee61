//! List scheduling: within a long block of a loop, what the end of the block waits for longest comes first.
//!
//! A processor looks ahead some hundred instructions. Where a front end has written one chain of dependent ones behind
//! the other, as it does for the corners of a lattice, few of the chains are in sight at once, and with sixteen lanes
//! there are not the rounds of other waves to fill the time. So of the instructions whose operands are there, that one
//! is next from which the longest chain leads on, as long as registers suffice; then one that frees some.

use super::Parts;
use super::live::{held, live};
use super::weights::of_inst;
use crate::function::InstData;
use crate::loops::Loops;
use crate::op::Effect;
use crate::pressure::intervals;
use crate::texture::is_access;
use crate::{Block, Inst, Op, Type, Value};
use cranelift_entity::SecondaryMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Blocks of fewer instructions are in sight as a whole.
const SHORT: usize = 48;

/// Of how many instructions that can be next one is chosen: the first of them, in the order that there was. It bounds
/// the time.
const WINDOW: usize = 48;

/// Registers that are left for literals, and for what instructions make by the way.
const SPARE: i32 = 4;

/// Time has so many units a cycle, and an instruction takes so many of them to be issued: four a cycle.
const CYCLE: f64 = 16.0;
const ISSUE: f64 = 4.0;

/// Schedules the long blocks of loops, for a machine of so many vector registers.
pub(super) fn schedule(program: &mut Parts, registers: u8) {
    // Of rows and doubles several registers are one value.
    let is_word = |value: Value| !matches!(program.func.ty(value), Type::Row | Type::F64);
    let is_chosen = |number: &usize| {
        let block = program.order[*number];
        program.func.blocks[block].insts.len() >= SHORT && program.func.defs_in(block).all(is_word)
    };
    let mut chosen: Vec<usize> = (0..program.order.len()).filter(is_chosen).collect();
    if chosen.is_empty() {
        return;
    }
    let loops = Loops::find(&program.func, &program.order).outermost();
    chosen.retain(|&number| loops[number].is_some());
    if chosen.is_empty() {
        return;
    }
    let intervals = intervals(&program.func, &program.order);
    let live = live(program, &intervals);
    let mut places = program.func.value_map();
    let (mut start, mut first) = (0, 0);
    for number in chosen {
        let ahead = program.order[first..number].iter().map(|&block| program.func.blocks[block].insts.len() + 1);
        (start, first) = (start + ahead.sum::<usize>(), number);
        let block = program.order[number];
        let end = (start + program.func.blocks[block].insts.len()) as u64;
        let mut scheduler = Scheduler::new(program, block, &mut places, |value| intervals[value].end >= end);
        (scheduler.alive, scheduler.limit) = (live[start], i32::from(registers) - SPARE);
        program.func.blocks[block].insts = scheduler.run();
    }
}

/// An instruction of the block.
struct Node {
    inst: Inst,
    is_literal: bool,
    /// How long it takes to be issued, and then until its result is there.
    issue: u32,
    latency: u32,
    /// Vectors that its result takes.
    makes: i32,
    /// How many instructions it has yet to wait for.
    waits: u32,
    /// The time from its beginning to the end of the longest chain, and when its operands are there.
    height: u32,
    ready: u32,
    /// Where its operands begin, each of them once, and its users. They end where those of the next one begin.
    args: u32,
    users: u32,
}

/// An instruction that can be next.
#[derive(Clone, Copy)]
struct Candidate {
    number: u32,
    height: u32,
    ready: u32,
}

/// A value that the block makes or uses.
struct Local {
    value: Value,
    /// The instruction that makes it, if one of the block does.
    made: Option<u32>,
    /// How many instructions have yet to use it, and how many vectors are free then.
    uses: u32,
    frees: i32,
}

/// A block on the way to its new order.
struct Scheduler {
    nodes: Vec<Node>,
    locals: Vec<Local>,
    args: Vec<u32>,
    users: Vec<u32>,
    /// What can be next: the first few, by their old order, and the others.
    window: Vec<Candidate>,
    others: BinaryHeap<Reverse<u32>>,
    /// The time, vectors that are alive, and how many of them may be.
    now: u32,
    alive: i32,
    limit: i32,
    order: Vec<Inst>,
}

/// Whether an instruction stays behind those like it that are in front of it.
fn is_fixed(inst: &InstData) -> bool {
    inst.op.effect() != Effect::Pure
        || inst.op.memory().is_some()
        || is_access(inst.op)
        || matches!(inst.op, Op::Input | Op::InputWord)
}

impl Scheduler {
    /// Looks at a block, of which some values are used behind it. `places` has nothing, and will have nothing again.
    fn new(
        program: &Parts,
        block: Block,
        places: &mut SecondaryMap<Value, Option<u32>>,
        lasts: impl Fn(Value) -> bool,
    ) -> Scheduler {
        let insts = &program.func.blocks[block].insts;
        let mut this = Scheduler {
            nodes: Vec::with_capacity(insts.len() + 1),
            locals: Vec::with_capacity(2 * insts.len()),
            args: Vec::with_capacity(3 * insts.len()),
            users: Vec::new(),
            window: Vec::with_capacity(WINDOW + 1),
            others: BinaryHeap::new(),
            now: 0,
            alive: 0,
            limit: 0,
            order: Vec::with_capacity(insts.len()),
        };
        let mut local = |locals: &mut Vec<Local>, value: Value| {
            *places[value].get_or_insert_with(|| {
                let frees = if lasts(value) { 0 } else { held(program, value) };
                locals.push(Local { value, made: None, uses: 0, frees });
                locals.len() as u32 - 1
            })
        };
        // Who waits for whom.
        let (mut edges, mut fixed) = (Vec::with_capacity(2 * insts.len()), None);
        for (number, &inst) in (0u32..).zip(insts) {
            let data = &program.func.insts[inst];
            let (args, before) = (this.args.len(), edges.len());
            for &arg in data.args.iter() {
                let arg = local(&mut this.locals, arg);
                if !this.args[args..].contains(&arg) {
                    this.args.push(arg);
                    this.locals[arg as usize].uses += 1;
                    edges.extend(this.locals[arg as usize].made.map(|made| (made, number)));
                }
            }
            if is_fixed(data) {
                edges.extend(fixed.replace(number).map(|last| (last, number)));
            }
            let weight = of_inst(program, data, false);
            this.nodes.push(Node {
                inst,
                is_literal: data.op == Op::Const,
                issue: (ISSUE * weight.insts) as u32,
                latency: (CYCLE * weight.latency) as u32,
                makes: data.result.map_or(0, |result| held(program, result)),
                waits: (edges.len() - before) as u32,
                height: 0,
                ready: 0,
                args: args as u32,
                users: 0,
            });
            if let Some(result) = data.result {
                let result = local(&mut this.locals, result);
                this.locals[result as usize].made = Some(number);
            }
        }
        this.locals.iter().for_each(|local| places[local.value] = None);
        this.link(&edges);
        this
    }

    /// Sorts the edges by where they begin, and finds heights.
    fn link(&mut self, edges: &[(u32, u32)]) {
        for &(from, _) in edges {
            self.nodes[from as usize].users += 1;
        }
        let mut end = 0;
        for node in &mut self.nodes {
            end += node.users;
            node.users = end;
        }
        self.users = vec![0; edges.len()];
        for &(from, to) in edges.iter().rev() {
            let begin = &mut self.nodes[from as usize].users;
            *begin -= 1;
            self.users[*begin as usize] = to;
        }
        for number in (0..self.nodes.len()).rev() {
            let users = self.users[self.users_of(number)].iter();
            let highest = users.map(|&user| self.nodes[user as usize].height).max().unwrap_or(0);
            self.nodes[number].height = highest.saturating_add(self.nodes[number].latency);
        }
    }

    fn users_of(&self, number: usize) -> Range<usize> {
        let end = self.nodes.get(number + 1).map_or(self.users.len(), |next| next.users as usize);
        self.nodes[number].users as usize..end
    }

    fn args_of(&self, number: usize) -> Range<usize> {
        let end = self.nodes.get(number + 1).map_or(self.args.len(), |next| next.args as usize);
        self.nodes[number].args as usize..end
    }

    /// The instructions in their new order.
    fn run(mut self) -> Vec<Inst> {
        let all = 0..self.nodes.len() as u32;
        for number in all.clone() {
            if self.nodes[number as usize].waits == 0 && !self.nodes[number as usize].is_literal {
                self.offer(number);
            }
        }
        // They are operands of what uses them.
        for number in all {
            if self.nodes[number as usize].is_literal {
                self.put(number as usize);
            }
        }
        while let Some(at) = self.next() {
            let number = self.window.remove(at).number;
            self.put(number as usize);
            if let Some(Reverse(other)) = self.others.pop() {
                self.offer(other);
            }
        }
        self.order
    }

    /// Something can be next.
    fn offer(&mut self, number: u32) {
        let Node { height, ready, .. } = self.nodes[number as usize];
        let at = self.window.partition_point(|other| other.number < number);
        self.window.insert(at, Candidate { number, height, ready });
        if self.window.len() > WINDOW {
            self.others.extend(self.window.pop().map(|last| Reverse(last.number)));
        }
    }

    /// What is next, by its place in the window.
    fn next(&self) -> Option<usize> {
        let candidates = self.window.iter().enumerate();
        let next = if self.alive >= self.limit {
            candidates.min_by_key(|(_, candidate)| self.growth(candidate.number as usize))
        } else {
            // The shortest wait, then the greatest height.
            let key = |height: u32, wait: u32| u64::from(wait) << 32 | u64::from(u32::MAX - height);
            candidates.min_by_key(|(_, candidate)| key(candidate.height, candidate.ready.saturating_sub(self.now)))
        };
        next.map(|(at, _)| at)
    }

    /// How many more vectors are alive behind an instruction.
    fn growth(&self, number: usize) -> i32 {
        let args = self.args[self.args_of(number)].iter().map(|&arg| &self.locals[arg as usize]);
        self.nodes[number].makes - args.filter(|arg| arg.uses == 1).map(|arg| arg.frees).sum::<i32>()
    }

    /// Takes an instruction.
    fn put(&mut self, number: usize) {
        self.alive += self.growth(number);
        for at in self.args_of(number) {
            self.locals[self.args[at] as usize].uses -= 1;
        }
        let Node { inst, issue, latency, ready, .. } = self.nodes[number];
        self.order.push(inst);
        self.now = self.now.max(ready).saturating_add(issue);
        for at in self.users_of(number) {
            let user = self.users[at];
            let node = &mut self.nodes[user as usize];
            node.waits -= 1;
            node.ready = node.ready.max(self.now.saturating_add(latency));
            if node.waits == 0 && !node.is_literal {
                self.offer(user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::batch::{BatchProgram, Machine};
    use crate::parse::parse;
    use std::fmt::Write;

    /// So many chains of 24 sums, one behind the other in a loop, and stores between them: which chain each sum of the
    /// finished program is of, and the stores.
    fn scheduled(chains: usize) -> (Vec<usize>, Vec<u32>) {
        let mut text = "function \"chains\" inputs 1 outputs 1 lockstep {
            space0 \"cb0\"
            array0 [64 x 1]
        block0:
            v0 = input.f32 0.0  v1 = const.i32 0  v2 = const.i32 1  v3 = uniform_load.i32 space0[0].0
            jump block1(v0, v1)
        block1(v4: f32, v5: i32):\n"
            .to_string();
        let (mut next, mut ends) = (6, Vec::new());
        for chain in 0..chains {
            writeln!(text, "v{next} = const.f32 {chain}.5  v{} = fadd v4, v{next}", next + 1).unwrap();
            for value in next + 2..next + 25 {
                writeln!(text, "v{value} = fadd v{}, v{next}", value - 1).unwrap();
            }
            writeln!(text, "array_store.f32 array0.0, v5, v{}", next + 1).unwrap();
            ends.push(next + 24);
            next += 25;
        }
        let mut sum = ends[0];
        for end in &ends[1..] {
            writeln!(text, "v{next} = fmul v{sum}, v{end}").unwrap();
            (sum, next) = (next, next + 1);
        }
        write!(
            text,
            "v{next} = iadd v5, v2  v{} = slt v{next}, v3
            br_if v{}, block1(v{sum}, v{next}), block2
        block2:
            output.f32 0.0, v{sum}
            return
        }}",
            next + 1,
            next + 1
        )
        .unwrap();
        let machine = Machine { lanes: 16, vectors: 1, registers: 32, has_powers: true };
        let program = BatchProgram::of(parse(&text).unwrap(), machine).unwrap();
        let block = program.order.iter().copied().max_by_key(|&block| program.blocks[block].insts.len()).unwrap();
        let (mut sums, mut stores) = (Vec::new(), Vec::new());
        let chain_of = |value| match program.constant(value) {
            Some(bits) => f32::from_bits(bits as u32) as usize,
            None => unreachable!("{program}"),
        };
        for inst in program.insts_in(block) {
            match inst.op {
                crate::Op::Fadd => sums.push(chain_of(inst.args[1])),
                crate::Op::ArrayStore => {
                    let made = program.def_inst(inst.args[1]).expect("a sum is stored");
                    stores.push(chain_of(made.args[1]) as u32);
                }
                _ => {}
            }
        }
        (sums, stores)
    }

    #[test]
    fn chains_go_on_side_by_side_as_far_as_registers_suffice() {
        for chains in [2, 8, 20] {
            let (sums, stores) = scheduled(chains);
            assert_eq!(sums.len(), 24 * chains);
            assert!(stores.is_sorted(), "{stores:?}");
            // The last of the chains begins before the first of them ends.
            let (last_begins, first_ends) =
                (sums.iter().position(|&chain| chain == chains - 1), sums.iter().rposition(|&chain| chain == 0));
            assert!(last_begins < first_ends, "{sums:?}");
        }
        // More of them than registers: some end before others begin.
        let (sums, stores) = scheduled(60);
        assert!(stores.is_sorted(), "{stores:?}");
        let begun_first = |end: usize| (0..60).filter(|chain| sums[..end].contains(chain)).count();
        let first_end = (0..60).filter_map(|chain| sums.iter().rposition(|&of| of == chain)).min().unwrap();
        assert!((8..40).contains(&begun_first(first_end)), "{} of {sums:?}", begun_first(first_end));
    }
}
