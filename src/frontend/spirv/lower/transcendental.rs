//! Functions that have no op of their own, made of those that have: exp2, log2, sin, cos, square roots and polynomials.
//!
//! Vulkan asks for an error of some units in the last place where it asks for any; near zero, where the formulas
//! cancel, the first terms of the series stand in for them.

use shaderjit_ir::Value;
use std::f32::consts::{FRAC_PI_2, LN_2, LOG2_E, PI};

use super::Lowering;

/// Below this the series of odd functions are as exact as floats are.
const SMALL: f32 = 0.25;

impl Lowering<'_> {
    /// `c0 + x (c1 + x (c2 + …))`.
    fn polynomial(&mut self, x: Value, coefficients: &[f32]) -> Value {
        let (&last, others) = coefficients.split_last().expect("a polynomial has a coefficient");
        let mut sum = self.b.f32(last);
        for &coefficient in others.iter().rev() {
            let coefficient = self.b.f32(coefficient);
            sum = self.b.fmad([sum, x, coefficient]);
        }
        sum
    }

    /// An odd function near zero: `x (c0 + x² (c1 + …))`.
    fn series(&mut self, x: Value, coefficients: &[f32]) -> Value {
        let square = self.b.fmul([x, x]);
        let sum = self.polynomial(square, coefficients);
        self.b.fmul([x, sum])
    }

    /// The magnitude with the sign of a number.
    fn signed_as(&mut self, magnitude: Value, number: Value) -> Value {
        let sign = self.b.i32(0x8000_0000);
        let (bits, number) = (self.b.bitcast_i32([magnitude]), self.b.bitcast_i32([number]));
        let sign = self.b.and([number, sign]);
        let bits = self.b.xor([bits, sign]);
        self.b.bitcast_f32([bits])
    }

    /// The first where `x` is small, else the second.
    fn if_small(&mut self, x: Value, small: Value, large: Value) -> Value {
        let (magnitude, bound) = (self.b.fabs([x]), self.b.f32(SMALL));
        let is_small = self.b.flt([magnitude, bound]);
        self.b.select([is_small, small, large])
    }

    pub(super) fn scaled(&mut self, x: Value, factor: f32) -> Value {
        let factor = self.b.f32(factor);
        self.b.fmul([x, factor])
    }

    pub(super) fn exponential(&mut self, x: Value) -> Value {
        let power = self.scaled(x, LOG2_E);
        self.b.fexp2([power])
    }

    pub(super) fn logarithm(&mut self, x: Value) -> Value {
        let logarithm = self.b.flog2([x]);
        self.scaled(logarithm, LN_2)
    }

    pub(super) fn power(&mut self, x: Value, y: Value) -> Value {
        let logarithm = self.b.flog2([x]);
        let power = self.b.fmul([logarithm, y]);
        self.b.fexp2([power])
    }

    pub(super) fn reciprocal(&mut self, x: Value) -> Value {
        let one = self.b.f32(1.0);
        self.b.fdiv([one, x])
    }

    pub(super) fn reciprocal_root(&mut self, x: Value) -> Value {
        let root = self.b.fsqrt([x]);
        self.reciprocal(root)
    }

    /// The angle of a vector, from -π to π.
    pub(super) fn angle(&mut self, y: Value, x: Value) -> Value {
        let (ay, ax) = (self.b.fabs([y]), self.b.fabs([x]));
        let (low, high) = (self.b.pmin([ay, ax]), self.b.pmax([ay, ax]));
        let (zero, one) = (self.b.f32(0.0), self.b.f32(1.0));
        // Two zeros have angle 0, and two infinities are as far as each other.
        let are_equal = self.b.feq([low, high]);
        let is_zero = self.b.feq([high, zero]);
        let quotient = self.b.fdiv([low, high]);
        let quotient = self.b.select([are_equal, one, quotient]);
        let quotient = self.b.select([is_zero, zero, quotient]);
        let angle = self.small_angle(quotient);
        let right = self.b.f32(FRAC_PI_2);
        let other = self.b.fsub([right, angle]);
        let is_steep = self.b.flt([ax, ay]);
        let angle = self.b.select([is_steep, other, angle]);
        let pi = self.b.f32(PI);
        let behind = self.b.fsub([pi, angle]);
        // Also for -0.
        let bits = self.b.bitcast_i32([x]);
        let zero = self.b.i32(0);
        let is_behind = self.b.slt([bits, zero]);
        let angle = self.b.select([is_behind, behind, angle]);
        self.signed_as(angle, y)
    }

    pub(super) fn arctangent(&mut self, x: Value) -> Value {
        let one = self.b.f32(1.0);
        self.angle(x, one)
    }

    /// The arc tangent of a number from 0 to 1: that of `(x - 1/2) / (1 + x/2)` and of 1/2, above 1/4.
    fn small_angle(&mut self, x: Value) -> Value {
        // Terms of the series up to x^15; what is left out is below 2^-27 for arguments up to 0.34.
        const SERIES: [f32; 8] =
            [1.0, -1.0 / 3.0, 1.0 / 5.0, -1.0 / 7.0, 1.0 / 9.0, -1.0 / 11.0, 1.0 / 13.0, -1.0 / 15.0];
        const ARCTANGENT_OF_HALF: f32 = 0.463_647_6;
        let [half, one, bound] = [0.5, 1.0, SMALL].map(|number| self.b.f32(number));
        let above = self.b.fsub([x, half]);
        let below = self.b.fmad([x, half, one]);
        let moved = self.b.fdiv([above, below]);
        let is_small = self.b.flt([x, bound]);
        let argument = self.b.select([is_small, x, moved]);
        let angle = self.series(argument, &SERIES);
        let half_angle = self.b.f32(ARCTANGENT_OF_HALF);
        let sum = self.b.fadd([angle, half_angle]);
        self.b.select([is_small, angle, sum])
    }

    /// `sqrt((1 - x) (1 + x))`.
    fn other_leg(&mut self, x: Value) -> Value {
        let one = self.b.f32(1.0);
        let (below, above) = (self.b.fsub([one, x]), self.b.fadd([one, x]));
        let square = self.b.fmul([below, above]);
        self.b.fsqrt([square])
    }

    pub(super) fn arcsine(&mut self, x: Value) -> Value {
        let leg = self.other_leg(x);
        self.angle(x, leg)
    }

    pub(super) fn arccosine(&mut self, x: Value) -> Value {
        let leg = self.other_leg(x);
        self.angle(leg, x)
    }

    pub(super) fn hyperbolic_sine(&mut self, x: Value) -> Value {
        let magnitude = self.b.fabs([x]);
        let (up, half) = (self.exponential(magnitude), self.b.f32(0.5));
        let down = self.reciprocal(up);
        let difference = self.b.fsub([up, down]);
        let large = self.b.fmul([difference, half]);
        let large = self.signed_as(large, x);
        let small = self.series(x, &[1.0, 1.0 / 6.0, 1.0 / 120.0, 1.0 / 5040.0]);
        self.if_small(x, small, large)
    }

    pub(super) fn hyperbolic_cosine(&mut self, x: Value) -> Value {
        let magnitude = self.b.fabs([x]);
        let (up, half) = (self.exponential(magnitude), self.b.f32(0.5));
        let down = self.reciprocal(up);
        let sum = self.b.fadd([up, down]);
        self.b.fmul([sum, half])
    }

    pub(super) fn hyperbolic_tangent(&mut self, x: Value) -> Value {
        let magnitude = self.b.fabs([x]);
        let twice = self.scaled(magnitude, -2.0);
        let (falling, one) = (self.exponential(twice), self.b.f32(1.0));
        let (above, below) = (self.b.fsub([one, falling]), self.b.fadd([one, falling]));
        let large = self.b.fdiv([above, below]);
        let large = self.signed_as(large, x);
        let small = self.series(x, &[1.0, -1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2835.0, -1382.0 / 155_925.0]);
        self.if_small(x, small, large)
    }

    pub(super) fn inverse_hyperbolic_sine(&mut self, x: Value) -> Value {
        let (magnitude, one) = (self.b.fabs([x]), self.b.f32(1.0));
        let square = self.b.fmad([magnitude, magnitude, one]);
        let root = self.b.fsqrt([square]);
        let sum = self.b.fadd([magnitude, root]);
        let large = self.logarithm(sum);
        let large = self.signed_as(large, x);
        let small = self.series(x, &[1.0, -1.0 / 6.0, 3.0 / 40.0, -15.0 / 336.0, 105.0 / 3456.0, -945.0 / 42_240.0]);
        self.if_small(x, small, large)
    }

    pub(super) fn inverse_hyperbolic_cosine(&mut self, x: Value) -> Value {
        let one = self.b.f32(1.0);
        let (below, above) = (self.b.fsub([x, one]), self.b.fadd([x, one]));
        let square = self.b.fmul([below, above]);
        let root = self.b.fsqrt([square]);
        let sum = self.b.fadd([x, root]);
        self.logarithm(sum)
    }

    pub(super) fn inverse_hyperbolic_tangent(&mut self, x: Value) -> Value {
        let one = self.b.f32(1.0);
        let (above, below) = (self.b.fadd([one, x]), self.b.fsub([one, x]));
        let quotient = self.b.fdiv([above, below]);
        let logarithm = self.logarithm(quotient);
        let large = self.scaled(logarithm, 0.5);
        let small = self.series(x, &[1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0]);
        self.if_small(x, small, large)
    }
}
