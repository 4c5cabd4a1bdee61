//! Instruction selection by tree patterns: where one machine instruction does what several ops of the program do.
//!
//! The ops below the root of a pattern are selected with it: nothing else uses them.

use super::logic::Pairs;
use super::table::Op as X;
use super::truncate::{Finder, SideBySide};
use super::{Here, Selector};
use foldhash::{HashMap, HashSet};
use shaderjit_ir::batch::BatchProgram;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Block, Op, Type, Value};

/// The patterns that are found in a block.
#[derive(Default)]
pub struct Patterns {
    /// What is selected with a root.
    covered: HashSet<Value>,
    /// Conversions to signed integers whose results for NaN and for what is too large nobody sees.
    unsaturated: HashSet<Value>,
    /// What words are rotated to the left by, by the result.
    rotations: HashMap<Value, Rotation>,
    pairs: Pairs,
    /// Whether words have bits in common, or have none, by the result.
    tests: HashMap<Value, Test>,
    /// Words whose signs are conditions, by the condition.
    signs: HashMap<Value, Value>,
    /// Conversions to signed integers that are selected with the first of them, by that.
    conversions: HashMap<Value, SideBySide>,
}

/// A question about the bits that two words have in common.
#[derive(Clone, Copy)]
struct Test {
    words: [Value; 2],
    /// Whether there is one, or none.
    asks_any: bool,
}

/// A word rotated to the left.
#[derive(Clone, Copy)]
struct Rotation {
    word: Value,
    by: u32,
}

impl Patterns {
    /// Finds those of a block. Only machines with masks have instructions for rotations, for tests of bits, and for two
    /// bitwise ops; only others select by the signs of words.
    pub fn of(program: &BatchProgram, block: Block, has_masks: bool) -> Patterns {
        let mut patterns = Patterns::default();
        let mut made_here = HashSet::default();
        let mut selections = HashMap::default();
        let mut conversions = Finder::default();
        for inst in program.insts_in(block) {
            conversions.next(inst, |value| !program.uniform.contains(value));
            if inst.op == Op::Select {
                patterns.find_unsaturated(program, inst);
                if !has_masks {
                    patterns.find_sign(program, &mut selections, inst);
                }
            }
            if inst.op == Op::Fma {
                patterns.find_negations(program, &made_here, inst);
            }
            if has_masks && matches!(inst.op, Op::Or | Op::Xor | Op::Iadd) {
                patterns.find_rotation(program, &made_here, inst);
            }
            if has_masks && matches!(inst.op, Op::Ieq | Op::Ine) {
                patterns.find_test(program, &made_here, inst);
            }
            // What a pattern has inside.
            if matches!(inst.op, Op::Fneg | Op::Ishl | Op::Ushr | Op::And) {
                made_here.extend(inst.result);
            }
        }
        let Patterns { unsaturated, covered, conversions: side_by_side, .. } = &mut patterns;
        for conversions in conversions.found(|conversion| unsaturated.contains(&conversion)) {
            covered.extend(&conversions[1..]);
            side_by_side.insert(conversions[0], conversions);
        }
        if has_masks {
            let Patterns { covered, rotations, .. } = &patterns;
            let is_taken = |value| covered.contains(&value) || rotations.contains_key(&value);
            patterns.pairs = Pairs::of(program, block, is_taken);
        }
        patterns
    }

    /// A conversion that counts only inside of a range: `n + offset < limit ? n : 0`, where `n` is a truncated float.
    /// What does not fit is 0 by this, be it saturated or, as the machine has it, the smallest integer.
    fn find_unsaturated(&mut self, program: &BatchProgram, root: &InstData) -> Option<()> {
        let [is_inside, number, other] = [0, 1, 2].map(|arg| root.args[arg]);
        let word = |value: Value| program.constant(value).map(|bits| bits as u32);
        let def = |value: Value, op: Op| program.def_inst(value).filter(|def| def.op == op);
        let test = def(is_inside, Op::Ult)?;
        let (limit, sum) = (word(test.args[1])?, def(test.args[0], Op::Iadd)?);
        let offset = word(sum.args[1])?;
        let is_outside = |number: i32| (number as u32).wrapping_add(offset) >= limit;
        let uses = program.uses[number];
        let is_unsaturated = def(number, Op::Ftoi).is_some()
            && sum.args[0] == number
            && word(other) == Some(0)
            && [i32::MIN, i32::MAX].into_iter().all(is_outside)
            && uses.guards + uses.others == 2;
        is_unsaturated.then(|| _ = self.unsaturated.insert(number))
    }

    /// Conditions `word < 0` that only blends ask for, so many `selections` each: a blend looks at nothing but signs.
    fn find_sign(
        &mut self,
        program: &BatchProgram,
        selections: &mut HashMap<Value, u32>,
        root: &InstData,
    ) -> Option<()> {
        let [condition, yes, no] = [0, 1, 2].map(|arg| root.args[arg]);
        let is_zero = |value: Value| program.constant(value) == Some(0);
        let is_mask = |value: Value| program.constant(value).is_some_and(|bits| matches!(bits as u32, 0 | u32::MAX));
        let test = program.def_inst(condition).filter(|def| def.op == Op::Slt && is_zero(def.args[1]))?;
        let is_blend = matches!(root.ty, Type::F32 | Type::I32) && !is_mask(yes) && !is_mask(no);
        if !is_blend || program.uniform.contains(condition) {
            return None;
        }
        let (selections, uses) = (selections.entry(condition).or_default(), program.uses[condition]);
        *selections += 1;
        if *selections == uses.guards + uses.others {
            self.signs.insert(condition, test.args[0]);
            self.covered.insert(condition);
        }
        Some(())
    }

    /// Operands of a multiplication with addition that are negated for it alone: there are instructions for that.
    fn find_negations(&mut self, program: &BatchProgram, made_here: &HashSet<Value>, root: &InstData) {
        for &arg in root.args.iter() {
            if inner(program, made_here, arg, Op::Fneg).is_some() && !program.uniform.contains(arg) {
                self.covered.insert(arg);
            }
        }
    }

    /// Two shifts of a word, to either side, by 32 bits in all, joined.
    fn find_rotation(&mut self, program: &BatchProgram, made_here: &HashSet<Value>, root: &InstData) -> Option<()> {
        let result = root.result.filter(|&result| !program.uniform.contains(result))?;
        let shift = |op: Op| {
            let (value, def) = root.args.iter().find_map(|&arg| Some((arg, inner(program, made_here, arg, op)?)))?;
            Some((value, def.args[0], program.constant(def.args[1])? as u32 & 31))
        };
        let ((left, word, by), (right, other, back)) = (shift(Op::Ishl)?, shift(Op::Ushr)?);
        if word == other && by + back == 32 {
            self.rotations.insert(result, Rotation { word, by });
            self.covered.extend([left, right]);
        }
        Some(())
    }

    /// A comparison of `a & b` with zero.
    fn find_test(&mut self, program: &BatchProgram, made_here: &HashSet<Value>, root: &InstData) -> Option<()> {
        let result = root.result.filter(|&result| !program.uniform.contains(result))?;
        let [bits, other] = [root.args[0], root.args[1]];
        let is_test = program.constant(other) == Some(0) && !program.uniform.contains(bits);
        let def = inner(program, made_here, bits, Op::And).filter(|def| is_test && def.ty == Type::I32)?;
        self.tests.insert(result, Test { words: [def.args[0], def.args[1]], asks_any: root.op == Op::Ine });
        self.covered.insert(bits);
        Some(())
    }

    /// Whether an op is selected with the root of its pattern.
    pub fn is_covered(&self, value: Value) -> bool {
        self.covered.contains(&value) || self.pairs.is_inner(value)
    }

    /// What such an operand is the negative of.
    pub fn negated(&self, program: &BatchProgram, operand: Value) -> Option<Value> {
        let def = program.def_inst(operand).filter(|def| def.op == Op::Fneg)?;
        self.covered.contains(&operand).then_some(def.args[0])
    }

    /// The word whose sign a condition is.
    pub fn sign(&self, condition: Value) -> Option<Value> {
        self.signs.get(&condition).copied()
    }

    /// Whether a conversion to signed integers need not saturate.
    pub fn is_unsaturated(&self, conversion: Value) -> bool {
        self.unsaturated.contains(&conversion)
    }
}

impl Selector<'_> {
    /// Selects for an instruction that is part of a pattern or put off; false if it is neither.
    pub(super) fn pattern(&mut self, inst: &InstData) -> bool {
        let Some(value) = inst.result else { return false };
        let Here { patterns, bounded, leaders, .. } = &self.here;
        if patterns.is_covered(value) || bounded.is_put_off(value) || leaders.is_put_off(value) {
            return true;
        }
        if let Some(conversions) = self.here.patterns.conversions.remove(&value) {
            self.set_origin(inst.origin);
            self.truncate_side_by_side(&conversions);
            return true;
        }
        let Patterns { pairs, rotations, tests, .. } = &self.here.patterns;
        let vector = if let Some(pair) = pairs.get(value) {
            self.logic(pair)
        } else if let Some(&Rotation { word, by }) = rotations.get(&value) {
            let word = self.source(word);
            self.simd.op_imm(X::Prold, &[], word, by)
        } else if let Some(&Test { words: [a, b], asks_any }) = tests.get(&value) {
            let (a, b) = (self.vector(a), self.source(b));
            self.simd.op(if asks_any { X::PtestMask } else { X::PtestNoneMask }, &[a], b)
        } else {
            return false;
        };
        self.define_vector(value, vector);
        true
    }
}

/// What makes a value, if it is of an op, in the block at hand, and for one use alone: it can be selected with that.
fn inner<'p>(program: &'p BatchProgram, made_here: &HashSet<Value>, value: Value, op: Op) -> Option<&'p InstData> {
    let is_inner = made_here.contains(&value) && program.uses[value].only().is_some();
    program.def_inst(value).filter(|def| is_inner && def.op == op)
}
