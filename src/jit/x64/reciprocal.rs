//! Reciprocals without the divider: an estimate, a step of Newton's, and Markstein's rounding by the residual, which a
//! fused multiply-add gives exactly.
//!
//! It gives the bits of `vdivps`, which keeps the one divider busy for twice as long as this takes the two units that
//! multiply, whatever estimate a machine makes within 2^-14 of the reciprocal. Numbers that it does not hold for go
//! through the divider.

use super::encode::Condition;
use super::simd::{Simd, float};
use super::table::{Class, Op};
use regalloc2::VReg;

/// The residual of a number whose bits are all ones: how far its product with the power of two next to its reciprocal
/// is below 1. The reciprocal is so near the middle of two floats that the last step cannot tell which is nearer.
const ALL_ONES: f32 = f32::from_bits((127 - 24) << 23);

impl Simd {
    /// 1 / x, rounded. Where registers of masks are.
    pub fn reciprocal(&mut self, x: VReg) -> VReg {
        let one = 1f32.to_bits();
        let estimate = self.op(Op::Rcp14ps, &[], x);
        // Each residual takes the register of the one that it is the rest of.
        let rest = self.word(one);
        let residual = self.op(Op::Fnma231, &[rest, x], estimate);
        let better = self.op(Op::Fma213, &[residual, estimate], estimate);
        // Two terms of a geometric series are all that one float more can hold.
        let rest = self.word(one);
        let residual = self.op(Op::Fnma231, &[rest, x], better);
        let correction = self.op(Op::Fma213, &[residual, residual], residual);
        let quick = self.op(Op::Fma213, &[correction, better], better);

        // NaN is the residual of zero, of infinity and of NaN.
        let all_ones = self.word_source(ALL_ONES.to_bits());
        let is_special = self.compare_floats(float::EQUAL_OR_UNORDERED, residual, all_ones);
        self.test_mask(is_special);
        let (special, ordinary) = (self.code.cold_block(), self.code.block());
        let join = self.code.block();
        let result = self.code.param(join, Class::V);
        self.code.branch_only(Condition::NotEqual, special, ordinary);
        self.code.switch_to(ordinary);
        self.code.jump(join, &[quick]);

        self.code.switch_to(special);
        let one = self.word(one);
        let divided = self.op(Op::Divps, &[one], x);
        self.code.jump(join, &[divided]);
        self.code.switch_to(join);
        result
    }
}
