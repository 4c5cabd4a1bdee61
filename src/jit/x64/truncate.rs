//! Conversions of floats to integers, which saturate: what is too large becomes the largest integer, NaN zero.
//!
//! For both the machine gives the smallest integer. To correct that takes four instructions a vector, half of which
//! wait for the conversion. So conversions that stand side by side, as those of coordinates do, are speculated on: they
//! are taken as the machine gives them, and one branch goes to the corrections if any is the smallest integer.

use super::Selector;
use super::encode::Condition;
use super::simd::{float, wanted_words};
use super::table::Op as X;
use regalloc2::VReg;
use shaderjit_ir::function::InstData;
use shaderjit_ir::{Op, Value};
use smallvec::SmallVec;

/// The most conversions that one branch is for: what they convert is kept up to there.
const MOST: usize = 4;

/// Conversions to signed integers that follow each other.
pub type SideBySide = SmallVec<[Value; MOST]>;

/// Finds them while a block is walked through.
#[derive(Default)]
pub struct Finder {
    runs: Vec<SideBySide>,
    is_open: bool,
}

impl Finder {
    /// The next instruction of the block, and whether it converts what differs among lanes.
    pub fn next(&mut self, inst: &InstData, differs: impl Fn(Value) -> bool) {
        match inst.result.filter(|&result| inst.op == Op::Ftoi && differs(result)) {
            Some(conversion) => match self.runs.last_mut().filter(|run| self.is_open && run.len() < MOST) {
                Some(run) => run.push(conversion),
                None => self.runs.push(SideBySide::from_slice(&[conversion])),
            },
            None if inst.op == Op::Const => return,
            None => {}
        }
        self.is_open = inst.op == Op::Ftoi;
    }

    /// Those that are worth a branch, without conversions that need not saturate.
    pub fn found(self, is_unsaturated: impl Fn(Value) -> bool) -> impl Iterator<Item = SideBySide> {
        let saturated = move |mut run: SideBySide| {
            run.retain(|conversion| !is_unsaturated(*conversion));
            run
        };
        self.runs.into_iter().map(saturated).filter(|run| run.len() > 1)
    }
}

impl Selector<'_> {
    /// Selects for conversions that stand side by side.
    pub(super) fn truncate_side_by_side(&mut self, conversions: &[Value]) {
        let program = self.program;
        let number = |conversion| program.def_inst(conversion).expect("an instruction converts").args[0];
        let numbers: SmallVec<[VReg; MOST]> = conversions.iter().map(|&to| self.vector(number(to))).collect();
        let quick: SmallVec<[VReg; MOST]> =
            numbers.iter().map(|&number| self.simd.op(X::Cvttps2dq, &[], number)).collect();
        let least = quick[1..].iter().fold(quick[0], |least, &other| self.simd.op(X::Pminsd, &[least], other));
        let smallest = self.simd.word_source(i32::MIN as u32);
        let is_any_special = self.equal(least, smallest);
        self.simd.test_mask(is_any_special);
        let all = (1 << conversions.len()) - 1;
        let made = self.likely_words(
            Condition::Equal,
            all,
            |_| wanted_words(all, |at| quick[usize::from(at)]),
            |this| wanted_words(all, |at| this.truncate_signed(numbers[usize::from(at)])),
        );
        for (&conversion, result) in conversions.iter().zip(made) {
            self.define_vector(conversion, result);
        }
    }

    /// Truncates floats to signed integers: what is too large becomes the largest, NaN zero.
    pub(super) fn truncate_signed(&mut self, value: VReg) -> VReg {
        let limit = self.simd.word_source(2147483648.0f32.to_bits());
        let is_large = self.simd.compare_floats(float::GREATER_EQUAL, value, limit);
        let is_ordered = self.simd.compare_floats(float::ORDERED, value, value);
        // What does not fit becomes the smallest integer: right for what is too small.
        if self.simd.has_masks() {
            let size = self.simd.size();
            let converted = self.simd.code.inst(X::Cvttps2dq, size, &[value], None, Some(is_ordered), 0);
            let largest = self.simd.word_source(i32::MAX as u32);
            return self.simd.blend(is_large, largest, converted.expect("it has a result"));
        }
        let converted = self.simd.op(X::Cvttps2dq, &[], value);
        let saturated = self.simd.op(X::Pxor, &[converted], is_large);
        self.simd.keep(is_ordered, saturated.into())
    }

    /// Truncates floats to unsigned integers: what is too large becomes the largest, what is negative or NaN zero.
    pub(super) fn truncate_unsigned(&mut self, value: VReg) -> VReg {
        let zero = self.simd.word(0);
        // The second operand where the first is NaN.
        let positive = self.simd.op(X::Maxps, &[value], zero);
        if self.simd.has_masks() {
            return self.simd.op(X::Cvttps2udq, &[], positive);
        }
        let half = self.simd.word(2147483648.0f32.to_bits());
        let is_large = self.simd.op_imm(X::Cmpps, &[half], positive, float::LESS_EQUAL);
        let taken = self.simd.op(X::Pand, &[is_large], half);
        let rest = self.simd.op(X::Subps, &[positive], taken);
        let converted = self.simd.op(X::Cvttps2dq, &[], rest);
        let top = self.shift(Op::Ishl, is_large, 31);
        let whole = self.simd.op(X::Pxor, &[converted], top);
        let end = self.simd.word(4294967296.0f32.to_bits());
        let is_over = self.simd.op_imm(X::Cmpps, &[end], positive, float::LESS_EQUAL);
        self.simd.op(X::Por, &[whole], is_over)
    }
}
