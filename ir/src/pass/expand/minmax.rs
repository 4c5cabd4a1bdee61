//! Multiplication and comparison with the rules of D3D and PICA200.

use super::Emit;
use crate::op::Op;

/// What rounds twice, where it is not fused.
pub(super) fn fmad<E: Emit>(e: &mut E, a: E::Value, b: E::Value, c: E::Value) -> E::Value {
    let product = e.op(Op::Fmul, &[a, b]);
    e.op(Op::Fadd, &[product, c])
}

/// The product is NaN without a NaN operand only for zero times infinity.
pub(super) fn fmulz<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    let product = e.op(Op::Fmul, &[a, b]);
    let is_nan = e.op(Op::Funo, &[product, product]);
    let from_nan = e.op(Op::Funo, &[a, b]);
    let from_numbers = e.op(Op::Not, &[from_nan]);
    let is_zero_times_infinity = e.op(Op::And, &[is_nan, from_numbers]);
    let zero = e.f32(0.0);
    e.op(Op::Select, &[is_zero_times_infinity, zero, product])
}

/// `pmin` gives the second operand if either is NaN: right unless the NaN is that second one.
pub(super) fn fmin<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    let least = e.op(Op::Pmin, &[a, b]);
    e.is_nan(b).map_or(least, |is_nan| e.op(Op::Select, &[is_nan, a, least]))
}

/// `pmax` gives the second operand if either is NaN: right unless the NaN is that second one.
pub(super) fn fmax<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    let greatest = e.op(Op::Pmax, &[a, b]);
    e.is_nan(b).map_or(greatest, |is_nan| e.op(Op::Select, &[is_nan, a, greatest]))
}

/// NaN is not greater than zero, so it becomes zero.
pub(super) fn fsat<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (zero, one) = (e.f32(0.0), e.f32(1.0));
    let positive = e.op(Op::Pmax, &[a, zero]);
    e.op(Op::Pmin, &[positive, one])
}
