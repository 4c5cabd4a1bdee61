//! Value range analysis: between which bounds an integer lies.
//!
//! A range is an interval of unsigned numbers and how many low bits are zero. Ranges are found by going over the
//! function until nothing changes, and widened where a loop keeps changing them. What a branch says of a value narrows
//! its range in the blocks behind the branch. All that is known holds in all lanes, whether they run or not.

use crate::cfg::{self, Edge, Lists};
use crate::dom::DominatorTree;
use crate::entity::{Block, Value};
use crate::function::{Function, Imm, InstData, Terminator};
use crate::op::{Op, SysVal};
use crate::types::Type;
use cranelift_entity::SecondaryMap;

/// What is known of an integer of at most 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest number.
    pub least: u32,
    /// The largest number.
    pub most: u32,
    /// How many of the lowest bits are zero; 32 for the number zero.
    pub zeros: u32,
}

/// The ranges of values.
pub struct Ranges {
    /// None of those of other types, nor where nothing is known yet.
    values: SecondaryMap<Value, Option<Range>>,
    /// What branches say.
    bounds: Vec<Bound>,
    /// What holds in a block: the number of the last bound, plus 1; 0 for none.
    last: SecondaryMap<Block, u32>,
}

/// That a value lies in a range behind a branch, and what was known there before.
#[derive(Clone, Copy)]
struct Bound {
    value: Value,
    range: Range,
    /// The number of the bound before, plus 1.
    before: u32,
}

/// How often a parameter's range may grow before it is widened: to a number that something is compared with, then to
/// all that have no sign.
const MAX_CHANGES: u8 = 3;

/// How often until it is all numbers.
const WIDENED: u8 = MAX_CHANGES + 1;

/// How often the function is gone over before all parameters are taken for anything. A range that loops hand on against
/// the order of the blocks takes a round for each of them.
const MAX_ROUNDS: u32 = 16;

/// How many bounds are looked at for one value, the last ones first.
const MAX_BOUNDS: usize = 8;

/// How many parts of a condition are looked at, one in the other.
const MAX_DEPTH: u32 = 4;

impl Ranges {
    /// Finds those of a function. Some values may be the `same` as others.
    pub fn of(func: &Function, tree: &DominatorTree, same: &SecondaryMap<Value, Option<Value>>) -> Ranges {
        let ranges = Ranges { values: SecondaryMap::new(), bounds: Vec::new(), last: SecondaryMap::new() };
        let predecessors = cfg::predecessors(func);
        let (changes, thresholds) = (SecondaryMap::new(), thresholds(func));
        let mut finder = Finder { func, tree, same, predecessors, ranges, changes, thresholds };
        for _ in 0..MAX_ROUNDS {
            if !finder.round() {
                return finder.ranges;
            }
        }
        for &param in tree.reverse_postorder().iter().flat_map(|&block| &func.blocks[block].params) {
            finder.ranges.values[param] = Range::any(func.ty(param));
        }
        let is_changed = finder.round();
        debug_assert!(!is_changed, "nothing is more than anything");
        finder.ranges
    }

    /// What is known of a value in a block that uses it; nothing of one that is no integer of at most 32 bits.
    pub fn within(&self, block: Block, value: Value) -> Option<Range> {
        let mut range = self.values[value]?;
        let mut at = self.last[block];
        for _ in 0..MAX_BOUNDS {
            let Some(bound) = at.checked_sub(1).map(|number| self.bounds[number as usize]) else { break };
            if bound.value == value {
                range = range.and(bound.range);
            }
            at = bound.before;
        }
        Some(range)
    }
}

struct Finder<'f> {
    func: &'f Function,
    tree: &'f DominatorTree,
    same: &'f SecondaryMap<Value, Option<Value>>,
    predecessors: Lists<Edge>,
    ranges: Ranges,
    /// How often the range of a parameter has grown.
    changes: SecondaryMap<Value, u8>,
    /// The numbers that something is compared with, by size.
    thresholds: Vec<u32>,
}

impl Finder<'_> {
    /// Goes over the function once; says whether anything new is known of a parameter.
    fn round(&mut self) -> bool {
        let Finder { func, tree, same, .. } = *self;
        let mut is_changed = false;
        self.ranges.bounds.clear();
        for &block in tree.reverse_postorder() {
            self.ranges.last[block] = tree.idom(block).map_or(0, |idom| self.ranges.last[idom]);
            self.learn_from_branch(block);
            for &inst in &func.blocks[block].insts {
                let data = &func.insts[inst];
                if let Some(result) = data.result {
                    self.ranges.values[result] = match same[result] {
                        Some(same) => self.ranges.values[same],
                        None => Range::of(func, &|value| self.ranges.within(block, value), data),
                    };
                }
            }
            for call in func.blocks[block].terminator().calls() {
                for (&param, &arg) in func.blocks[call.block].params.iter().zip(&call.args) {
                    if let Some(given) = self.ranges.within(block, arg) {
                        is_changed |= self.give(param, given);
                    }
                }
            }
        }
        is_changed
    }

    /// A parameter may be in a range; says whether that is new.
    fn give(&mut self, param: Value, given: Range) -> bool {
        let (range, changes) = (&mut self.ranges.values[param], &mut self.changes[param]);
        let thresholds = &self.thresholds;
        let known = range.map_or(given, |known| known.or(given));
        if *range == Some(known) {
            return false;
        }
        *range = match *changes {
            ..MAX_CHANGES => Some(known),
            // What counts up to something stays below it.
            MAX_CHANGES if thresholds.last().is_some_and(|&last| last >= known.most) => {
                let most = thresholds[thresholds.partition_point(|&threshold| threshold < known.most)];
                Some(Range { most, ..known })
            }
            ..=WIDENED if known.has_no_sign() => Some(Range { most: i32::MAX as u32, ..known }),
            _ => Range::any(self.func.ty(param)),
        };
        *changes += 1;
        true
    }

    /// What the branch says that alone leads to a block.
    fn learn_from_branch(&mut self, block: Block) {
        let &[Edge { from, .. }] = &self.predecessors[block] else { return };
        if let Terminator::BrIf { condition, then_call, .. } = self.func.blocks[from].terminator() {
            self.learn(block, *condition, then_call.block == block, MAX_DEPTH);
        }
    }

    /// A condition holds in a block, or does not, in all lanes.
    fn learn(&mut self, block: Block, condition: Value, holds: bool, depth: u32) {
        let func = self.func;
        let Some(inst) = func.def_inst(condition).filter(|_| depth > 0) else { return };
        let args = &inst.args;
        match (inst.op, holds) {
            // If it holds in any lane, others may differ.
            (Op::Any, false) => self.learn(block, args[0], false, depth - 1),
            (Op::Not, _) => self.learn(block, args[0], !holds, depth - 1),
            (Op::And, true) | (Op::Or, false) => {
                args.iter().for_each(|&arg| self.learn(block, arg, holds, depth - 1));
            }
            (Op::Ult | Op::Ule | Op::Slt | Op::Sle | Op::Ieq | Op::Ine, _) => {
                let [Some(a), Some(b)] = [0, 1].map(|arg| self.ranges.within(block, args[arg])) else { return };
                let is_signed = matches!(inst.op, Op::Slt | Op::Sle);
                if is_signed && !(a.has_no_sign() && b.has_no_sign()) {
                    return;
                }
                let [a, b] = match (inst.op, holds) {
                    (Op::Ult | Op::Slt, true) => Range::ordered(a, b, 1),
                    (Op::Ule | Op::Sle, true) => Range::ordered(a, b, 0),
                    (Op::Ult | Op::Slt, false) => Range::swapped(Range::ordered(b, a, 0)),
                    (Op::Ule | Op::Sle, false) => Range::swapped(Range::ordered(b, a, 1)),
                    (Op::Ieq, true) | (Op::Ine, false) => [a.and(b); 2],
                    _ => return,
                };
                for (&value, range) in args.iter().zip([a, b]) {
                    if self.ranges.within(block, value) != Some(range) {
                        let last = &mut self.ranges.last[block];
                        self.ranges.bounds.push(Bound { value, range, before: *last });
                        *last = self.ranges.bounds.len() as u32;
                    }
                }
            }
            _ => {}
        }
    }
}

/// The literals that comparisons have, by size.
fn thresholds(func: &Function) -> Vec<u32> {
    let insts = func.layout.iter().flat_map(|&block| func.insts_in(block));
    let compares = insts.filter(|inst| matches!(inst.op, Op::Ult | Op::Ule | Op::Slt | Op::Sle | Op::Ieq | Op::Ine));
    let args = compares.flat_map(|inst| inst.args.iter()).filter(|&&arg| func.ty(arg) == Type::I32);
    let mut thresholds: Vec<u32> = args.filter_map(|&arg| func.constant(arg)).map(|bits| bits as u32).collect();
    thresholds.sort_unstable();
    thresholds.dedup();
    thresholds
}

impl Range {
    const BITS: Range = Range { least: 0, most: u32::MAX, zeros: 0 };
    const TRUTH: Range = Range { least: 0, most: 1, zeros: 0 };

    /// What is known of any value of a type.
    fn any(ty: Type) -> Option<Range> {
        match ty {
            Type::I1 => Some(Range::TRUTH),
            Type::I32 => Some(Range::BITS),
            _ => None,
        }
    }

    fn exactly(word: u32) -> Range {
        Range { least: word, most: word, zeros: word.trailing_zeros() }
    }

    /// The one number that it has.
    pub fn literal(self) -> Option<u32> {
        (self.least == self.most).then_some(self.least)
    }

    /// Whether all bits that may be set are among those of a mask.
    pub fn is_within(self, mask: u32) -> bool {
        let above = self.most.leading_zeros();
        let bits = u32::MAX.checked_shr(above).unwrap_or(0) & u32::MAX.checked_shl(self.zeros).unwrap_or(0);
        bits & !mask == 0
    }

    /// Whether no number has the highest bit, which is the sign.
    fn has_no_sign(self) -> bool {
        self.most <= i32::MAX as u32
    }

    /// Numbers of both. Where there are none, nothing runs: then any range is right.
    fn and(self, other: Range) -> Range {
        let (least, most) = (self.least.max(other.least), self.most.min(other.most));
        if least > most { self } else { Range { least, most, zeros: self.zeros.max(other.zeros) } }
    }

    /// What two numbers are if the first is below the second by at least so much.
    fn ordered(a: Range, b: Range, distance: u32) -> [Range; 2] {
        let at_most = Range { most: b.most.saturating_sub(distance), ..Range::BITS };
        let at_least = Range { least: a.least.saturating_add(distance), ..Range::BITS };
        [a.and(at_most), b.and(at_least)]
    }

    fn swapped([a, b]: [Range; 2]) -> [Range; 2] {
        [b, a]
    }

    /// Numbers of either.
    pub fn or(self, other: Range) -> Range {
        Range {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            zeros: self.zeros.min(other.zeros),
        }
    }

    /// The lowest 32 bits of the integers from one to another. Where these wrap around in between, they may be
    /// anything.
    fn wrapped(least: i64, most: i64, zeros: u32) -> Range {
        let (least_turn, most_turn) = (least >> 32, most >> 32);
        let (least, most) = if least_turn == most_turn { (least as u32, most as u32) } else { (0, u32::MAX) };
        Range { least, most, zeros }
    }

    fn of(func: &Function, known: &dyn Fn(Value) -> Option<Range>, data: &InstData) -> Option<Range> {
        let ty = func.ty(data.result?);
        let any = Range::any(ty)?;
        let arg = |index: usize| known(data.args[index]).unwrap_or(Range::BITS);
        let wide = |index: usize| {
            let Range { least, most, zeros } = arg(index);
            (i64::from(least), i64::from(most), zeros)
        };
        let of_i32 = |index: usize| func.ty(data.args[index]) == Type::I32;
        Some(match (data.op, data.imm) {
            (Op::Const, Imm::Bits(bits)) => Range::exactly(bits as u32),
            (Op::Sysval, Imm::SysVal(SysVal::VertexId)) => match func.threads {
                Some(threads) => Range { most: threads.saturating_sub(1), ..Range::BITS },
                None => Range::BITS,
            },
            (Op::Iadd, _) => {
                let ((a, b, zeros), (c, d, others)) = (wide(0), wide(1));
                Range::wrapped(a + c, b + d, zeros.min(others))
            }
            (Op::Isub, _) => {
                let ((a, b, zeros), (c, d, others)) = (wide(0), wide(1));
                // What is a part of the other does not take it below zero.
                let least = if is_part(func, known, data.args[1], data.args[0]) { 0.max(a - d) } else { a - d };
                Range::wrapped(least, b - c, zeros.min(others))
            }
            (Op::Imul, _) => arg(0).times(arg(1)),
            (Op::Ishl, _) => match arg(1).literal() {
                Some(by) => arg(0).times(Range::exactly(1 << (by & 31))),
                None => Range::BITS,
            },
            (Op::Ushr, _) => match arg(1).literal() {
                Some(by) => arg(0).shifted_right(by & 31),
                None => Range { most: arg(0).most, ..Range::BITS },
            },
            (Op::And, _) => {
                let (a, b) = (arg(0), arg(1));
                let least = if a.least == 1 && b.least == 1 && ty == Type::I1 { 1 } else { 0 };
                Range { least, most: a.most.min(b.most), zeros: a.zeros.max(b.zeros) }
            }
            (Op::Or | Op::Xor, _) => {
                let (a, b) = (arg(0), arg(1));
                let most = u32::MAX.checked_shr((a.most | b.most).leading_zeros()).unwrap_or(0);
                let least = if data.op == Op::Or { a.least.max(b.least) } else { 0 };
                Range { least, most, zeros: a.zeros.min(b.zeros) }
            }
            (Op::Umin, _) => {
                let (a, b) = (arg(0), arg(1));
                Range { least: a.least.min(b.least), most: a.most.min(b.most), zeros: a.zeros.min(b.zeros) }
            }
            (Op::Umax, _) => {
                let (a, b) = (arg(0), arg(1));
                Range { least: a.least.max(b.least), most: a.most.max(b.most), zeros: a.zeros.min(b.zeros) }
            }
            (Op::Select, _) => match arg(0).literal() {
                Some(0) => arg(2),
                Some(_) => arg(1),
                None => arg(1).or(arg(2)),
            },
            (Op::Ult, _) if of_i32(0) => arg(0).is_below(arg(1)),
            (Op::Ule, _) if of_i32(0) => arg(1).is_below(arg(0)).not(),
            (Op::Ieq, _) if of_i32(0) => arg(0).is(arg(1)),
            (Op::Ine, _) if of_i32(0) => arg(0).is(arg(1)).not(),
            _ => any,
        })
    }

    fn times(self, other: Range) -> Range {
        let zeros = (self.zeros + other.zeros).min(32);
        match self.most.checked_mul(other.most) {
            Some(most) => Range { least: self.least * other.least, most, zeros },
            None => Range { zeros, ..Range::BITS },
        }
    }

    fn shifted_right(self, by: u32) -> Range {
        Range { least: self.least >> by, most: self.most >> by, zeros: self.zeros.saturating_sub(by) }
    }

    fn is_below(self, other: Range) -> Range {
        Range { least: (self.most < other.least).into(), most: (self.least < other.most).into(), zeros: 0 }
    }

    fn is(self, other: Range) -> Range {
        let is_one = self.literal().is_some() && self == other;
        Range { least: is_one.into(), most: (self.least <= other.most && other.least <= self.most).into(), zeros: 0 }
    }

    /// The opposite of a truth.
    fn not(self) -> Range {
        Range { least: 1 - self.most, most: 1 - self.least, zeros: 0 }
    }
}

/// Whether some bits of a number, or the number shifted to the right, are no more than another, which is that number or
/// a multiple of it: `t & m` and `2 * t`, as in the indices of butterflies.
fn is_part(func: &Function, known: &dyn Fn(Value) -> Option<Range>, part: Value, whole: Value) -> bool {
    let is_of = |number: Value| match func.def_inst(whole) {
        _ if number == whole => true,
        Some(InstData { op: Op::Ishl, args, .. }) if args[0] == number => {
            let (by, number) = (known(args[1]).and_then(Range::literal), known(number));
            by.zip(number).is_some_and(|(by, number)| u64::from(number.most) << (by & 31) <= u64::from(u32::MAX))
        }
        _ => false,
    };
    match func.def_inst(part) {
        Some(InstData { op: Op::And, args, .. }) => args.iter().any(|&arg| is_of(arg)),
        Some(InstData { op: Op::Ushr, args, .. }) => is_of(args[0]),
        _ => false,
    }
}
