//! List scheduling: within a long block of a loop, what the end of the block waits for longest comes first.
//!
//! A processor looks ahead some hundred instructions. Where a front end has written one chain of dependent ones behind
//! the other, as it does for the corners of a lattice, few of the chains are in sight at once, and with sixteen lanes
//! there are not the rounds of other waves to fill the time. So of the instructions whose operands are there, that one
//! is next from which the longest chain leads on, as long as registers suffice; then one that frees some.
//!
//! With few registers chains side by side would be spilled. There a block that keeps more alive than it has registers
//! for takes at each step what frees most, so that values are made next to their uses.
//!
//! A phase is a loop over waves. Its block is in sight as a whole, and rounds of other waves with it, unless it is
//! longer still. What it loads of slots comes in front of what needs it first, as an operand in memory.

use super::Parts;
use super::live::{held, live};
use super::weights::of_inst;
use crate::function::{Imm, InstData};
use crate::loops::Loops;
use crate::op::{Effect, Memory};
use crate::pressure::intervals;
use crate::set::EntitySet;
use crate::texture::is_access;
use crate::{Block, Inst, Op, Type, Value};
use cranelift_entity::SecondaryMap;
use foldhash::{HashMap, HashMapExt};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Blocks of fewer instructions are in sight as a whole, and those that are phases, with other waves of them.
const SHORT: usize = 48;
const SHORT_PHASE: usize = 100;

/// With few registers a block may have so many instructions: what a longer one keeps alive is seldom due to its order.
const LONG: usize = 128;

/// Of how many instructions that can be next one is chosen: the first of them, in the order that there was. It bounds
/// the time.
const WINDOW: usize = 48;

/// Registers that are left for literals, and for what instructions make by the way.
const SPARE: i32 = 4;

/// Time has so many units a cycle, and an instruction takes so many of them to be issued: four a cycle.
const CYCLE: f64 = 16.0;
const ISSUE: f64 = 4.0;

/// With fewer vector registers than that, chains side by side would be spilled.
const MANY: u8 = 32;

/// Schedules the long blocks of loops, for a machine of so many vector registers.
pub(super) fn schedule(program: &mut Parts, registers: u8) {
    let has_many = registers >= MANY;
    let length = |number: usize| program.func.blocks[program.order[number]].insts.len();
    // Of rows and doubles several registers are one value.
    let is_word = |value: Value| !matches!(program.func.ty(value), Type::Row | Type::F64);
    let is_of_words = |number: usize| program.func.defs_in(program.order[number]).all(is_word);
    let mut chosen: Vec<usize> =
        (0..program.order.len()).filter(|&number| length(number) >= SHORT && is_of_words(number)).collect();
    if chosen.is_empty() {
        return;
    }
    let mut alone = EntitySet::with_capacity(program.func.blocks.len());
    alone.extend(program.cut.phases.iter().filter(|phase| phase.blocks.len() == 1).map(|phase| phase.blocks[0]));
    let is_phase = |number: usize| alone.contains(program.order[number]);
    let loops = Loops::find(&program.func, &program.order).outermost();
    chosen.retain(|&number| match is_phase(number) {
        true => has_many && length(number) >= SHORT_PHASE,
        false => loops[number].is_some(),
    });
    if chosen.is_empty() {
        return;
    }
    let (phases, others): (Vec<usize>, Vec<usize>) = chosen.into_iter().partition(|&number| is_phase(number));
    let mut places = program.func.value_map();
    let limit = i32::from(registers) - SPARE;
    for number in phases {
        // What comes from other phases, or goes there, is in slots; what all share is in registers.
        let scheduler = Scheduler::new(program, program.order[number], &mut places, |_| false);
        let shared = scheduler.locals.iter().filter(|local| local.made.is_none());
        let alive = shared.map(|local| local.frees).sum();
        program.func.blocks[program.order[number]].insts = scheduler.run(alive, limit).0;
    }
    if others.is_empty() {
        return;
    }
    let intervals = intervals(&program.func, &program.order);
    let live = live(program, &intervals);
    let (mut start, mut first) = (0, 0);
    for number in others {
        let ahead = program.order[first..number].iter().map(|&block| program.func.blocks[block].insts.len() + 1);
        (start, first) = (start + ahead.sum::<usize>(), number);
        let block = program.order[number];
        let end = start + program.func.blocks[block].insts.len();
        let peak = live[start..=end].iter().copied().max().unwrap_or(0);
        if !has_many && (end - start > LONG || peak <= i32::from(registers)) {
            continue;
        }
        let limit = if has_many { limit } else { 0 };
        let scheduler = Scheduler::new(program, block, &mut places, |value| intervals[value].end >= end as u64);
        let (order, new_peak) = scheduler.run(live[start], limit);
        if has_many || new_peak < peak {
            program.func.blocks[block].insts = order;
        }
    }
}

/// An instruction of the block.
struct Node {
    inst: Inst,
    is_literal: bool,
    /// Whether it loads what only its users need, and comes in front of the first of them: as an operand in memory.
    is_operand: bool,
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
    /// The most that have been alive.
    peak: i32,
    order: Vec<Inst>,
}

/// Whether an instruction stays behind those like it that are in front of it. Slots change nothing but themselves.
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
            peak: 0,
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
        let (mut edges, mut fixed, mut slots) = (Vec::with_capacity(2 * insts.len()), None, HashMap::new());
        for (number, &inst) in (0u32..).zip(insts) {
            let data = &program.func.insts[inst];
            let args = this.args.len();
            for &arg in data.args.iter() {
                let arg = local(&mut this.locals, arg);
                if !this.args[args..].contains(&arg) {
                    this.args.push(arg);
                    this.locals[arg as usize].uses += 1;
                    edges.extend(this.locals[arg as usize].made.map(|made| (made, number)));
                }
            }
            let mut is_operand = data.op == Op::SlotLoad;
            match (data.op.memory(), data.imm) {
                (Some(Memory::Slot), Imm::Slot(slot)) => {
                    for last in (slot..slot + data.ty.words()).filter_map(|word| slots.insert(word, number)) {
                        (this.nodes[last as usize].is_operand, is_operand) = (false, false);
                        edges.push((last, number));
                    }
                }
                _ if is_fixed(data) => edges.extend(fixed.replace(number).map(|last| (last, number))),
                _ => {}
            }
            let weight = of_inst(program, data, false);
            this.nodes.push(Node {
                inst,
                is_literal: data.op == Op::Const,
                is_operand,
                issue: (ISSUE * weight.insts) as u32,
                latency: (CYCLE * weight.latency) as u32,
                makes: data.result.map_or(0, |result| held(program, result)),
                waits: 0,
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
        for local in &this.locals {
            places[local.value] = None;
            if let (Some(made), 0) = (local.made, local.uses) {
                this.nodes[made as usize].is_operand = false;
            }
        }
        edges.retain(|&(from, _)| !this.nodes[from as usize].is_operand);
        this.link(&edges);
        this
    }

    /// Sorts the edges by where they begin, and finds heights.
    fn link(&mut self, edges: &[(u32, u32)]) {
        for &(from, to) in edges {
            self.nodes[from as usize].users += 1;
            self.nodes[to as usize].waits += 1;
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

    /// The instructions in their new order, and how many vectors are alive at most. So many are in front of them, and
    /// so many may be.
    fn run(mut self, alive: i32, limit: i32) -> (Vec<Inst>, i32) {
        (self.alive, self.limit, self.peak) = (alive, limit, alive);
        let all = 0..self.nodes.len() as u32;
        for number in all.clone() {
            let Node { waits, is_literal, is_operand, .. } = self.nodes[number as usize];
            if waits == 0 && !is_literal && !is_operand {
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
        (self.order, self.peak)
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
        args.fold(self.nodes[number].makes, |growth, arg| {
            let loaded = self.operand(arg).map_or(0, |operand| self.nodes[operand].makes);
            growth + loaded - if arg.uses == 1 { arg.frees } else { 0 }
        })
    }

    /// The operand in memory that a value is, if it has not been loaded yet.
    fn operand(&self, local: &Local) -> Option<usize> {
        local.made.map(|made| made as usize).filter(|&made| self.nodes[made].is_operand)
    }

    /// Takes an instruction.
    fn put(&mut self, number: usize) {
        self.alive += self.growth(number);
        self.peak = self.peak.max(self.alive);
        for at in self.args_of(number) {
            let arg = self.args[at] as usize;
            self.locals[arg].uses -= 1;
            if let Some(operand) = self.operand(&self.locals[arg]) {
                self.nodes[operand].is_operand = false;
                self.order.push(self.nodes[operand].inst);
            }
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

    /// How many products are alive at most between the sums of a loop that multiplies first and adds then, for a
    /// machine of so many registers.
    fn products_alive(products: usize, registers: u8) -> usize {
        let mut text = "function \"f\" inputs 1 outputs 1 lockstep { space0 \"cb0\" block0:
                v0 = input.f32 0.0  v1 = const.i32 0  v2 = const.i32 1  v3 = uniform_load.i32 space0[0].0
                jump block1(v0, v1)
            block1(v4: f32, v5: i32):\n"
            .to_string();
        for number in 0..products {
            writeln!(
                text,
                "v{} = const.f32 {number}.5  v{} = fmul v4, v{}",
                6 + 2 * number,
                7 + 2 * number,
                6 + 2 * number
            )
            .unwrap();
        }
        let (mut sum, mut next) = (4, 6 + 2 * products);
        for number in 0..products {
            writeln!(text, "v{next} = fadd v{sum}, v{}", 7 + 2 * number).unwrap();
            (sum, next) = (next, next + 1);
        }
        write!(
            text,
            "v{next} = iadd v5, v2  v{} = slt v{next}, v3  br_if v{}, block1(v{sum}, v{next}), block2
            block2:
                output.f32 0.0, v{sum}  return }}",
            next + 1,
            next + 1
        )
        .unwrap();
        let machine = Machine { lanes: 8, vectors: 1, registers, has_powers: false };
        let program = BatchProgram::of(parse(&text).unwrap(), machine).unwrap();
        let block = program.order.iter().copied().max_by_key(|&block| program.blocks[block].insts.len()).unwrap();
        let (mut alive, mut most) = (0, 0);
        for inst in program.insts_in(block) {
            match inst.op {
                crate::Op::Fmul => alive += 1,
                crate::Op::Fadd => alive -= 1,
                _ => {}
            }
            most = most.max(alive);
        }
        most
    }

    #[test]
    fn what_few_registers_cannot_hold_is_made_where_it_is_used() {
        assert_eq!(products_alive(40, 16), 1);
        // Those fit, those are too many.
        assert_eq!(products_alive(12, 16), 12);
        assert_eq!(products_alive(80, 16), 80);
        assert!(products_alive(40, 32) > 8);
    }

    /// A phase of two chains of sums, each of which begins with a slot and ends in another, one behind the other: which
    /// slots it loads and stores, in turn, where the second chain ends in the slot that it is given.
    fn accesses(second_end: u32) -> Vec<(crate::Op, u32)> {
        let mut text = "lanes 16\nphase block1 next block2\nfunction \"f\" inputs 1 outputs 1 lockstep {
        block0:
            jump block1
        block1:\n"
            .to_string();
        let mut next = 0;
        for (begin, end) in [(0, 1), (2, second_end)] {
            writeln!(text, "v{next} = slot_load.f32 {begin}  v{} = fadd v{next}, v{next}", next + 1).unwrap();
            for value in next + 2..next + 60 {
                writeln!(text, "v{value} = fadd v{}, v{}", value - 1, value - 1).unwrap();
            }
            writeln!(text, "slot_store.f32 {end}, v{}", next + 59).unwrap();
            next += 60;
        }
        text += "jump block2\nblock2:\nreturn\n}\n";
        let mut program = BatchProgram::parse(&text).unwrap();
        super::schedule(&mut program.0, 32);
        let phase = program.cut.phases[0].blocks[0];
        let slots = program.insts_in(phase).filter_map(|inst| match inst.imm {
            crate::function::Imm::Slot(slot) => Some((inst.op, slot)),
            _ => None,
        });
        slots.collect()
    }

    #[test]
    fn chains_of_a_phase_pass_slots_of_others_and_not_their_own() {
        use crate::Op::{SlotLoad, SlotStore};
        let apart = accesses(3);
        assert_eq!(apart[..2], [(SlotLoad, 0), (SlotLoad, 2)], "{apart:?}");
        // The second chain ends where the first begins.
        let own = accesses(0);
        let place = |access| own.iter().position(|&other| other == access);
        assert!(place((SlotLoad, 0)) < place((SlotStore, 0)), "{own:?}");
        assert_eq!(own.len(), 4);
    }
}
