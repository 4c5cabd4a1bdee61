//! Bit manipulation that no SIMD instruction set offers.

use super::Emit;
use crate::op::Op;

/// Swaps neighbouring groups of 1, 2, 4, 8 and 16 bits.
pub(super) fn bitrev<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let mut value = a;
    for (shift, mask) in [(1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0f0f_0f0f), (8, 0x00ff_00ff), (16, 0x0000_ffff)] {
        let (shift, mask) = (e.i32(shift), e.i32(mask));
        let high = e.op(Op::Ushr, &[value, shift]);
        let high = e.op(Op::And, &[high, mask]);
        let low = e.op(Op::And, &[value, mask]);
        let low = e.op(Op::Ishl, &[low, shift]);
        value = e.op(Op::Or, &[high, low]);
    }
    value
}
