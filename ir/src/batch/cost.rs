//! Cost model: bounds of throughput and latency for each loop, as static analysers of machine code have them, put
//! together to an estimate of cycles.
//!
//! The code of a loop without that of the loops inside is a *stretch*; what is in none is the stretch of the loop over
//! waves, or of a phase. A round of it takes at least as long as its machine instructions take to issue, and as long as
//! what it has to wait for: the chain that each round hands to the next, and of the longest chain of its own what the
//! rounds that fit the processor's window do not hide. Machine instructions are those of the program's ops, with what
//! a vector of so many lanes adds: rows that are taken apart lane by lane, addresses that differ among lanes, values
//! that find no register. It is two walks over the program, and as exact as that: fitted to K1 to K4 and 190 shaders
//! (`docs/performance.md` has some of them), it tells which of two programs is faster where they differ by more than a
//! tenth. It knows neither caches nor which way branches go.

use super::live::{differs, held, live};
use super::weights::{ADDRESSED, ROW_IN, ROW_OUT, Weight, of_inst};
use super::{BatchProgram, Parts, run_length};
use crate::cfg;
use crate::function::{Imm, InstData};
use crate::pressure::intervals;
use crate::{Block, Op, Value};
use cranelift_entity::SecondaryMap;

/// Machine instructions that are issued in a cycle.
const WIDTH: f64 = 3.75;

/// How many of them the processor looks ahead.
const WINDOW: f64 = 600.0;

/// What a value that finds no register costs: a store and a load that is an operand.
const SPILLED: f64 = 1.0;

/// Rounds of a loop. Nothing is known of them; what counts is how much more loops weigh than what is around them.
const ROUNDS: f64 = 2.0;

/// Waves stay in a loop that lanes leave one by one as long as the last of them: each doubling of the lanes adds this
/// part of the rounds of a single one.
const STAYING: f64 = 0.1;

/// Loops inside so many others count as if they were in so many.
const DEEPEST: usize = 3;

/// No stretch.
const NONE: u32 = u32::MAX;

/// The code of one loop, without that of loops inside.
#[derive(Clone, Copy, Default)]
struct Stretch {
    /// Loops around its code, itself among them, and how many of those lanes leave one by one.
    depth: usize,
    left: usize,
    /// Machine instructions for all lanes together, and for each vector.
    shared: f64,
    each: f64,
    /// Values that find no register where values have one vector, and where they have two.
    spilled: [u32; 2],
    /// Cycles of the longest chain, and of the longest from a parameter of the loop to the value of its next round.
    chain: f64,
    carried: f64,
    /// Whether it is one of the program's own loops.
    is_loop: bool,
}

impl Stretch {
    /// How often a wave of so many lanes comes through.
    fn rounds(&self, lanes: f64) -> f64 {
        ROUNDS.powi(self.depth.min(DEEPEST) as i32) * (1.0 + STAYING * lanes.log2()).powi(self.left.min(DEEPEST) as i32)
    }

    /// Machine instructions, if what vectors have were there so many times.
    fn weight(&self, times: u8) -> f64 {
        self.shared + f64::from(times) * (self.each + SPILLED * f64::from(self.spilled[usize::from(times > 1)]))
    }
}

/// When a value is there, in cycles from the beginning of its stretch.
#[derive(Clone, Copy)]
struct Ready {
    stretch: u32,
    at: f64,
    /// The same, from a parameter of the loop; negative if it depends on none.
    carried: f64,
}

impl Default for Ready {
    fn default() -> Ready {
        Ready { stretch: NONE, at: 0.0, carried: -1.0 }
    }
}

impl BatchProgram {
    /// About how many cycles a vertex takes. Estimates are there to be compared with each other, for one function.
    pub fn cycles(&self) -> f64 {
        Costs::find(self).cycles(self, 1)
    }
}

/// What the loops of a program take.
pub(super) struct Costs {
    all: Vec<Stretch>,
    /// For each block of the order the stretch that it is of; [`NONE`] for blocks of the tile.
    of: Vec<u32>,
    /// The blocks' places in the order, and whether a loop begins there.
    number: SecondaryMap<Block, Option<u32>>,
    is_head: Vec<bool>,
}

impl Costs {
    /// Finds them, for a program on its way, too.
    pub fn find(program: &Parts) -> Costs {
        let mut costs = Costs::stretches(program);
        costs.weigh(program);
        costs
    }

    /// About how many cycles a vertex takes, if what vectors have were there so many times, once or twice.
    pub fn cycles(&self, program: &Parts, times: u8) -> f64 {
        // Rows have no second vector.
        let vectors = if program.by_rows { 1 } else { program.vectors * times };
        let lanes = f64::from(program.lanes) * f64::from(vectors);
        // Waves overlap as far as the window reaches over their loops.
        let loops = self.all.iter().filter(|one| one.is_loop && !program.is_cut());
        let inner: f64 = loops.map(|one| one.weight(times) * one.rounds(lanes)).sum();
        let cycles = self.all.iter().map(|one| {
            let weight = one.weight(times);
            let reach = weight + if one.is_loop { 0.0 } else { inner };
            let waits = one.carried.max(one.chain * (reach / WINDOW).min(1.0));
            // Neither bound is reached where both are near.
            (weight / WIDTH).hypot(waits) * one.rounds(lanes)
        });
        cycles.sum::<f64>() / lanes
    }

    /// What there is to weigh. Loops are intervals of the order, as in [`Loops`](crate::loops::Loops).
    fn stretches(program: &Parts) -> Costs {
        let order = &program.order;
        let mut number = SecondaryMap::<Block, Option<u32>>::with_capacity(program.blocks.len());
        (0..).zip(order).for_each(|(at, &block)| number[block] = Some(at));
        let (mut ends, mut asking) = (vec![0; order.len()], vec![0]);
        for (from, &block) in order.iter().enumerate() {
            for head in cfg::successors(program, block).filter_map(|target| number[target]) {
                if head as usize <= from {
                    ends[head as usize] = from + 1;
                }
            }
            let asks = |inst: &InstData| inst.op == Op::Any && !program.uniform.contains(inst.args[0]);
            asking.push(asking[from] + u32::from(program.insts_in(block).any(asks)));
        }
        let phases = program.cut.phases.len().max(1);
        let mut all = vec![Stretch::default(); phases];
        let mut of = Vec::with_capacity(order.len());
        // Loops around the block at hand: head, end, and number of the stretch.
        let mut around: Vec<(usize, usize, usize)> = Vec::new();
        for (at, &block) in order.iter().enumerate() {
            while around.last().is_some_and(|&(_, end, _)| end <= at) {
                around.pop();
            }
            if ends[at] > 0 {
                let Stretch { depth, left, .. } = around.last().map_or(Stretch::default(), |&(.., outer)| all[outer]);
                let leaves = asking[ends[at]] > asking[at];
                around.push((at, ends[at], all.len()));
                let (depth, left) = (depth + 1, left + usize::from(leaves));
                all.push(Stretch { depth, left, is_loop: true, ..Stretch::default() });
            }
            let innermost = around.last().copied();
            of.push(match program.phase_of(block) {
                None if program.is_cut() => NONE,
                None => innermost.map_or(0, |(.., stretch)| stretch as u32),
                Some(phase) => {
                    let is_inside = |at: usize| program.phase_of(order[at]) == Some(phase);
                    match innermost {
                        Some((head, end, stretch)) if is_inside(head) && is_inside(end - 1) => stretch as u32,
                        _ => {
                            let Stretch { depth, left, .. } =
                                innermost.map_or(Stretch::default(), |(.., stretch)| all[stretch]);
                            (all[phase].depth, all[phase].left) = (depth, left);
                            phase as u32
                        }
                    }
                }
            });
        }
        let is_head = ends.into_iter().map(|end| end > 0).collect();
        Costs { all, of, number, is_head }
    }

    /// Adds up machine instructions and follows chains.
    fn weigh(&mut self, program: &Parts) {
        let live = live(program, &intervals(program, &program.order));
        let registers = if program.lanes == 16 { 32 } else { 16 };
        let vectors = usize::from(program.vectors);
        // For each row the stretch that has it last, plus 1.
        let mut fetched = vec![0; program.inputs as usize * vectors];
        let mut stored = vec![0; program.outputs as usize * vectors];
        let mut ready = SecondaryMap::<Value, Ready>::with_capacity(program.values.len());
        let mut at = 0;
        for (number, &block) in program.order.iter().enumerate() {
            let data = &program.blocks[block];
            let mine = self.of[number];
            let Some(stretch) = self.all.get_mut(mine as usize) else {
                at += data.insts.len() + 1;
                continue;
            };
            if self.is_head[number] {
                data.params.iter().for_each(|&param| ready[param] = Ready { stretch: mine, at: 0.0, carried: 0.0 });
            }
            let mut run_end = 0;
            for (place, &inst) in data.insts.iter().enumerate() {
                at += 1;
                if place >= run_end {
                    run_end = place + run_length(program, &data.insts[place..]);
                }
                let inst = &program.insts[inst];
                let Weight { mut insts, latency } = of_inst(program, inst, place < run_end);
                if let Imm::Element { element, .. } = inst.imm {
                    let row = element as usize * vectors + usize::from(inst.vector);
                    let (rows, lane) =
                        if inst.op == Op::Output { (&mut stored, ROW_OUT) } else { (&mut fetched, ROW_IN) };
                    let is_first = insts > 0.0 && std::mem::replace(&mut rows[row], mine + 1) != mine + 1;
                    insts = if is_first { lane * f64::from(program.lanes) + ADDRESSED } else { 0.0 };
                }
                let is_shared = inst.result.is_some_and(|result| program.uniform.contains(result));
                *if is_shared { &mut stretch.shared } else { &mut stretch.each } += insts;
                let (mut from, mut carried) = (0.0f64, -1.0f64);
                for arg in inst.args.iter().map(|&arg| ready[arg]).filter(|arg| arg.stretch == mine) {
                    (from, carried) = (from.max(arg.at), carried.max(arg.carried));
                }
                let there = from + latency;
                stretch.chain = stretch.chain.max(there);
                if let Some(result) = inst.result {
                    let carried = if carried < 0.0 { carried } else { carried + latency };
                    ready[result] = Ready { stretch: mine, at: there, carried };
                    if held(program, result) > 0 {
                        let crowded = [1, 2].map(|times| u32::from(times * live[at] > registers));
                        std::iter::zip(&mut stretch.spilled, crowded).for_each(|(spilled, more)| *spilled += more);
                    }
                }
            }
            // Its end, and half of the moves there.
            at += 1;
            stretch.shared += 1.0;
            for call in data.terminator().calls() {
                let goes_back = self.number[call.block].is_some_and(|target| target as usize <= number);
                for (&param, &arg) in program.blocks[call.block].params.iter().zip(&call.args) {
                    if param != arg && differs(program, param) {
                        stretch.each += 0.5;
                    }
                    let passed = ready[arg];
                    if passed.stretch != mine {
                        continue;
                    }
                    if goes_back {
                        stretch.carried = stretch.carried.max(passed.carried);
                    } else {
                        let Ready { at, carried, .. } = ready[param];
                        ready[param] =
                            Ready { stretch: mine, at: passed.at.max(at), carried: passed.carried.max(carried) };
                    }
                }
            }
        }
    }
}
