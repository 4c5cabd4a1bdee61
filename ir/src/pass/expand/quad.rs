//! Derivatives: differences between the pixels of a quad (Direct3D 11.3 functional specification, 22.5.2 to 22.5.5).

use super::Emit;
use crate::op::Op;

/// The two pixels between which a difference is taken, from the first to the second.
fn pixels(op: Op) -> (Op, Op) {
    match op {
        Op::QuadDx | Op::QuadDxFine | Op::QuadDxMasked | Op::QuadDxFineMasked => (Op::QuadLeft, Op::QuadRight),
        _ => (Op::QuadTop, Op::QuadBottom),
    }
}

/// Where it is taken, if that is the same for the whole quad.
fn place(op: Op) -> Option<Op> {
    match op {
        Op::QuadDx | Op::QuadDxMasked => Some(Op::QuadTop),
        Op::QuadDy | Op::QuadDyMasked => Some(Op::QuadLeft),
        _ => None,
    }
}

/// A derivative that all lanes take together.
pub fn derivative<E: Emit>(e: &mut E, op: Op, a: E::Value) -> E::Value {
    let difference = difference(e, op, a);
    everywhere(e, op, difference)
}

/// A derivative that only some lanes take: zero where one of the two pixels is not among them.
pub fn masked_derivative<E: Emit>(e: &mut E, op: Op, a: E::Value, mask: E::Value) -> E::Value {
    let (first, second) = pixels(op);
    let difference = difference(e, op, a);
    let (one, zero) = (e.f32(1.0), e.f32(0.0));
    let runs = e.op(Op::Select, &[mask, one, zero]);
    let [first, second] = [first, second].map(|pixel| e.op(pixel, &[runs]));
    let both = e.op(Op::Pmin, &[first, second]);
    let both = e.op(Op::Fne, &[both, zero]);
    let known = e.op(Op::Select, &[both, difference, zero]);
    everywhere(e, op, known)
}

fn difference<E: Emit>(e: &mut E, op: Op, a: E::Value) -> E::Value {
    let (first, second) = pixels(op);
    let [first, second] = [first, second].map(|pixel| e.op(pixel, &[a]));
    e.op(Op::Fsub, &[second, first])
}

/// A difference as it is in the place where it is taken.
fn everywhere<E: Emit>(e: &mut E, op: Op, difference: E::Value) -> E::Value {
    match place(op) {
        Some(place) => e.op(place, &[difference]),
        None => difference,
    }
}
