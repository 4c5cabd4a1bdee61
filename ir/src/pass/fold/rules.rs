//! The identities. Each holds for all operands, to the bit (NaN payloads apart).

use super::Folder;
use crate::double;
use crate::entity::Value;
use crate::eval::eval;
use crate::function::{Imm, InstData, Operands};
use crate::op::{Attribute, Effect, ImmKind, Op};
use crate::types::Type;

/// What an instruction can be replaced by.
pub(super) enum Simpler {
    /// A value there is already.
    Value(Value),
    /// A literal of the result's type.
    Bits(u64),
    /// Another instruction.
    Inst { op: Op, ty: Type, args: Operands, imm: Imm },
}

fn value(value: Value) -> Option<Simpler> {
    Some(Simpler::Value(value))
}

fn bits(bits: u32) -> Option<Simpler> {
    Some(Simpler::Bits(u64::from(bits)))
}

fn inst(op: Op, ty: Type, args: &[Value]) -> Option<Simpler> {
    Some(Simpler::Inst { op, ty, args: Operands::new(args), imm: Imm::None })
}

/// One step; `None` if no rule applies.
pub(super) fn simplify(f: &mut Folder<'_>, data: &InstData) -> Option<Simpler> {
    use Op::*;
    if data.args.is_empty() && data.op != UniformLoad {
        return None;
    }
    evaluate(f, data).or_else(|| evaluate_double(f, data)).or_else(|| match (data.op, &*data.args) {
        (Select, &[c, a, b]) => select(f, data.ty, c, a, b),
        (Not, &[a]) => not(f, a),
        (And | Or | Xor, &[a, b]) => logic(f, data.op, data.ty, a, b),
        (BitcastI32 | BitcastF32, &[a]) => bitcast(f, data.op, a),
        (F64lo | F64hi | F64join, args) => words(f, data.op, args),
        (Fneg | Fabs, &[a]) => sign(f, data.op, a),
        (Utof, &[a]) if without_top_bit(f, a) => inst(Itof, Type::I32, &[a]),
        (Fmulz, &[a, b]) => plain_product(f, a, b).or_else(|| signs_cancel(f, Fmulz, &[a, b])),
        (Fma | Fmad, &[a, b, c]) => times_one(f, a, b, c).or_else(|| signs_cancel(f, data.op, &[a, b, c])),
        (Fadd | Fsub | Fmul | Fdiv, &[a, b]) => neutral(f, data.op, a, b).or_else(|| signs_cancel(f, data.op, &[a, b])),
        (Fround24 | Fflush24, &[a]) => float24(f, data.op, a),
        (UniformLoad | UniformLoadAt, _) => uniform_load(f, data),
        (Output | ArrayStore | ArrayStoreMasked, _) => stored_bitcast(f, data),
        (Any, &[a]) => (f.constant(a).is_some() || f.def(a, Any).is_some()).then_some(Simpler::Value(a)),
        (op, &[a, b]) => {
            same_operands(op, a, b).or_else(|| with_literal(f, op, a, b)).or_else(|| with_negation(f, op, a, b))
        }
        _ => None,
    })
}

/// The literal a value is, or the condition and the two literals it is one of.
fn arms(f: &Folder<'_>, value: Value) -> Option<(Option<Value>, [u32; 2])> {
    if let Some(literal) = f.constant(value) {
        return Some((None, [literal; 2]));
    }
    let select = f.def(value, Op::Select)?;
    let [condition, a, b] = *select.args else { return None };
    Some((Some(condition), [f.constant(a)?, f.constant(b)?]))
}

/// A pure op on literals, or on selections among literals by one condition. The latter is how comparisons come: as
/// masks of all ones or zero that are tested again.
fn evaluate(f: &mut Folder<'_>, data: &InstData) -> Option<Simpler> {
    let (op, args) = (data.op, &data.args);
    // Most first operands are neither.
    if let Some(&first) = args.first()
        && !f.func.def_inst(first).is_some_and(|def| matches!(def.op, Op::Const | Op::Select))
    {
        return None;
    }
    let result_ty = f.func.ty(data.result?);
    let is_wide = matches!(result_ty, Type::F64 | Type::Row);
    if op == Op::Select || op.effect() != Effect::Pure || op.imm() != ImmKind::None || is_wide {
        return None;
    }
    // What other lanes have is no matter of this one's selection.
    if op.is_of_lockstep() {
        return None;
    }
    let mut condition = None;
    let mut operands = [[[0u32; 1]; Operands::MAX]; 2];
    for (index, &arg) in args.iter().enumerate() {
        let (chosen_by, literals) = arms(f, arg)?;
        if chosen_by.is_some() && condition.is_some() && chosen_by != condition {
            return None;
        }
        condition = condition.or(chosen_by);
        for arm in 0..2 {
            operands[arm][index] = [literals[arm]];
        }
    }
    let compute = |operands: &[[u32; 1]]| {
        let [separate] = eval(op, data.ty, operands, false);
        // Code is folded before it is known whether `fmad` rounds once.
        let same = op.attribute() != Attribute::Composite || eval(op, data.ty, operands, true) == [separate];
        same.then_some(separate)
    };
    let [a, b] = [compute(&operands[0][..args.len()])?, compute(&operands[1][..args.len()])?];
    match (condition, result_ty) {
        (Some(condition), Type::I1) if a != b => {
            if a != 0 {
                value(condition)
            } else {
                inst(Op::Not, Type::I1, &[condition])
            }
        }
        (Some(condition), ty) if a != b => {
            let (a, b) = (f.literal(ty, a), f.literal(ty, b));
            inst(Op::Select, ty, &[condition, a, b])
        }
        _ => bits(a),
    }
}

/// A pure op on literals that takes or gives a double.
fn evaluate_double(f: &Folder<'_>, data: &InstData) -> Option<Simpler> {
    let is_move = matches!(data.op, Op::F64join | Op::F64lo | Op::F64hi);
    if !is_move && !double::is_double_op(data.op) {
        return None;
    }
    let mut operands = [0; double::OPERANDS];
    for (operand, &arg) in operands.iter_mut().zip(data.args.iter()) {
        *operand = f.func.constant(arg)?;
    }
    Some(Simpler::Bits(match data.op {
        Op::F64join => operands[1] << 32 | operands[0],
        Op::F64lo => operands[0] & u64::from(u32::MAX),
        Op::F64hi => operands[0] >> 32,
        op => double::eval(op, operands),
    }))
}

/// The words of what was made of words, and what is made of another's words.
fn words(f: &Folder<'_>, op: Op, args: &[Value]) -> Option<Simpler> {
    match (op, args) {
        (Op::F64lo, &[a]) => value(f.def(a, Op::F64join)?.args[0]),
        (Op::F64hi, &[a]) => value(f.def(a, Op::F64join)?.args[1]),
        (Op::F64join, &[low, high]) => {
            let (low, high) = (f.def(low, Op::F64lo)?.args[0], f.def(high, Op::F64hi)?.args[0]);
            if low == high { value(low) } else { None }
        }
        _ => None,
    }
}

fn select(f: &mut Folder<'_>, ty: Type, c: Value, a: Value, b: Value) -> Option<Simpler> {
    if f.are_equal(a, b) {
        return value(a);
    }
    if let Some(condition) = f.constant(c) {
        return value(if condition != 0 { a } else { b });
    }
    if let Some(not) = f.def(c, Op::Not) {
        return inst(Op::Select, ty, &[not.args[0], b, a]);
    }
    // Under the same condition an inner selection is decided.
    if let Some(inner) = f.def(a, Op::Select).filter(|inner| inner.args[0] == c) {
        return inst(Op::Select, ty, &[c, inner.args[1], b]);
    }
    if let Some(inner) = f.def(b, Op::Select).filter(|inner| inner.args[0] == c) {
        return inst(Op::Select, ty, &[c, a, inner.args[2]]);
    }
    if ty != Type::I1 {
        return None;
    }
    match (f.constant(a), f.constant(b)) {
        (Some(1), Some(0)) => value(c),
        (Some(0), Some(1)) => inst(Op::Not, ty, &[c]),
        (Some(1), _) => inst(Op::Or, ty, &[c, b]),
        (_, Some(0)) => inst(Op::And, ty, &[c, a]),
        _ if a == c => inst(Op::Or, ty, &[c, b]),
        _ if b == c => inst(Op::And, ty, &[c, a]),
        _ => None,
    }
}

/// Comparisons that have an opposite become it. `flt` and `fle` have none: with NaN neither order holds.
fn not(f: &Folder<'_>, a: Value) -> Option<Simpler> {
    let inner = *f.func.def_inst(a)?;
    let opposite = match inner.op {
        Op::Not => return value(inner.args[0]),
        Op::Ieq => Op::Ine,
        Op::Ine => Op::Ieq,
        Op::Feq => Op::Fne,
        Op::Fne => Op::Feq,
        Op::Deq => Op::Dne,
        Op::Dne => Op::Deq,
        Op::Slt => return inst(Op::Sle, Type::I1, &[inner.args[1], inner.args[0]]),
        Op::Sle => return inst(Op::Slt, Type::I1, &[inner.args[1], inner.args[0]]),
        Op::Ult => return inst(Op::Ule, Type::I1, &[inner.args[1], inner.args[0]]),
        Op::Ule => return inst(Op::Ult, Type::I1, &[inner.args[1], inner.args[0]]),
        _ => return None,
    };
    inst(opposite, Type::I1, &inner.args)
}

/// `and`, `or`, `xor` of truth values and of words.
fn logic(f: &mut Folder<'_>, op: Op, ty: Type, a: Value, b: Value) -> Option<Simpler> {
    let ones = if ty == Type::I1 { 1 } else { u32::MAX };
    if a == b {
        return if op == Op::Xor { bits(0) } else { value(a) };
    }
    if let Some(literal) = f.constant(b) {
        return match op {
            _ if literal == 0 => {
                if op == Op::And {
                    bits(0)
                } else {
                    value(a)
                }
            }
            Op::And if literal == ones => value(a),
            Op::Or if literal == ones => bits(ones),
            Op::Xor if literal == ones => inst(Op::Not, ty, &[a]),
            _ => regroup(f, op, ty, a, literal),
        };
    }
    let are_opposite = |x: Value, y: Value| f.def(x, Op::Not).is_some_and(|not| not.args[0] == y);
    if are_opposite(a, b) || are_opposite(b, a) {
        return bits(if op == Op::And { 0 } else { ones });
    }
    if ty == Type::I1 {
        return None;
    }
    let mask = |value| arms(f, value).and_then(|(condition, arms)| (arms == [ones, 0]).then_some(condition?));
    if let (Some(c), Some(d)) = (mask(a), mask(b)) {
        let both = f.emit(op, Type::I1, &[c, d]);
        let (all, none) = (f.literal(ty, ones), f.literal(ty, 0));
        return inst(Op::Select, ty, &[both, all, none]);
    }
    masked(f, op, ty, a, b).or_else(|| masked(f, op, ty, b, a))
}

/// `and` or `or` of a selection among zero and all ones with anything else selects.
fn masked(f: &mut Folder<'_>, op: Op, ty: Type, mask: Value, other: Value) -> Option<Simpler> {
    let (Some(condition), literals) = arms(f, mask)? else { return None };
    if op == Op::Xor || literals.iter().any(|&literal| literal != 0 && literal != u32::MAX) {
        return None;
    }
    let neutral = if op == Op::And { u32::MAX } else { 0 };
    let absorbing = f.literal(ty, !neutral);
    let [a, b] = literals.map(|literal| if literal == neutral { other } else { absorbing });
    inst(Op::Select, ty, &[condition, a, b])
}

/// `(x op k) op literal` is `x op (k op literal)` for the associative ops.
fn regroup(f: &mut Folder<'_>, op: Op, ty: Type, a: Value, literal: u32) -> Option<Simpler> {
    let inner = f.def(a, op)?;
    let [k] = eval(op, ty, &[[f.constant(inner.args[1])?], [literal]], false);
    let k = f.literal(ty, k);
    inst(op, ty, &[inner.args[0], k])
}

/// To and fro is nothing; a load gives either type; a selection of what was cast is done before the cast.
fn bitcast(f: &mut Folder<'_>, op: Op, a: Value) -> Option<Simpler> {
    let (back, ty) = match op {
        Op::BitcastI32 => (Op::BitcastF32, Type::I32),
        _ => (Op::BitcastI32, Type::F32),
    };
    let inner = *f.func.def_inst(a)?;
    match inner.op {
        op if op == back => value(inner.args[0]),
        Op::UniformLoad | Op::UniformLoadAt | Op::ResourceLoad | Op::Input => {
            Some(Simpler::Inst { op: inner.op, ty, args: inner.args, imm: inner.imm })
        }
        Op::Select => {
            let [condition, a, b] = *inner.args else { return None };
            let cast = |f: &Folder<'_>, arm| f.def(arm, back).map(|cast| cast.args[0]);
            if [a, b].iter().any(|&arm| f.constant(arm).is_none() && cast(f, arm).is_none()) {
                return None;
            }
            let mut args = [condition, a, b];
            for arm in &mut args[1..] {
                *arm = match cast(f, *arm) {
                    Some(value) => value,
                    None => f.literal(ty, f.constant(*arm)?),
                };
            }
            inst(Op::Select, ty, &args)
        }
        _ => None,
    }
}

/// Sign bits are cleared and flipped without a look at the rest.
fn sign(f: &Folder<'_>, op: Op, a: Value) -> Option<Simpler> {
    match (op, f.def(a, Op::Fneg), f.def(a, Op::Fabs)) {
        (Op::Fneg, Some(inner), _) => value(inner.args[0]),
        (Op::Fabs, Some(inner), _) => inst(Op::Fabs, Type::F32, &inner.args),
        (Op::Fabs, _, Some(_)) => value(a),
        _ => None,
    }
}

/// Whether the top bit of an integer is cleared: it is the same number with a sign and without, and machines are
/// quicker with one.
fn without_top_bit(f: &Folder<'_>, a: Value) -> bool {
    let literal = |value| f.constant(value);
    f.def(a, Op::And).is_some_and(|and| literal(and.args[1]).is_some_and(|mask| mask <= i32::MAX as u32))
        || f.def(a, Op::Ushr).is_some_and(|shift| literal(shift.args[1]).is_some_and(|by| by & 31 != 0))
}

/// `x * 1 + c` is `x + c`, however often it rounds: the sum flushes denormals and quietens NaN as the product would.
fn times_one(f: &Folder<'_>, a: Value, b: Value, c: Value) -> Option<Simpler> {
    let is_one = |value| f.constant(value) == Some(1.0f32.to_bits());
    match (is_one(a), is_one(b)) {
        (true, _) => inst(Op::Fadd, Type::F32, &[b, c]),
        (_, true) => inst(Op::Fadd, Type::F32, &[a, c]),
        _ => None,
    }
}

/// What arithmetic gives has no denormals and no signalling NaN, so that adding -0 or multiplying by 1 leaves it as it
/// is.
fn neutral(f: &Folder<'_>, op: Op, a: Value, b: Value) -> Option<Simpler> {
    use Op::*;
    let is = |value, literal: f32| f.constant(value) == Some(literal.to_bits());
    let other = match op {
        Fadd if is(b, -0.0) => a,
        Fadd if is(a, -0.0) => b,
        Fsub if is(b, 0.0) => a,
        Fmul | Fdiv if is(b, 1.0) => a,
        Fmul if is(a, 1.0) => b,
        _ => return None,
    };
    let made_by = f.func.def_inst(other)?.op;
    matches!(made_by, Fadd | Fsub | Fmul | Fmulz | Fdiv | Fsqrt | Fma | Fmad | Itof | Utof)
        .then_some(Simpler::Value(other))
}

/// IEEE 754 defines subtraction as the sum with the negated operand, and the sign of products and quotients apart from
/// their magnitude: so two negations go, or one goes into the op.
fn signs_cancel(f: &Folder<'_>, op: Op, args: &[Value]) -> Option<Simpler> {
    let negated = |value| f.def(value, Op::Fneg).map(|neg| neg.args[0]);
    match (op, negated(args[0]), negated(args[1])) {
        (Op::Fadd, _, Some(b)) => inst(Op::Fsub, Type::F32, &[args[0], b]),
        (Op::Fadd, Some(a), None) => inst(Op::Fsub, Type::F32, &[args[1], a]),
        (Op::Fsub, _, Some(b)) => inst(Op::Fadd, Type::F32, &[args[0], b]),
        (Op::Fmul | Op::Fmulz | Op::Fdiv, Some(a), Some(b)) => inst(op, Type::F32, &[a, b]),
        (Op::Fma | Op::Fmad, Some(a), Some(b)) => inst(op, Type::F32, &[a, b, args[2]]),
        _ => None,
    }
}

/// A product that cannot be of zero and infinity is like any other: that of a value with itself or with a normal
/// number.
fn plain_product(f: &Folder<'_>, a: Value, b: Value) -> Option<Simpler> {
    let is_normal = |value| f.constant(value).is_some_and(|bits| f32::from_bits(bits).is_normal());
    if a == b || is_normal(a) || is_normal(b) { inst(Op::Fmul, Type::F32, &[a, b]) } else { None }
}

/// What is rounded to a float24 is one, and no denormal; what has no denormals has none.
fn float24(f: &Folder<'_>, op: Op, a: Value) -> Option<Simpler> {
    let is_done = f.def(a, Op::Fround24).is_some() || op == Op::Fflush24 && f.def(a, Op::Fflush24).is_some();
    if is_done { value(a) } else { None }
}

/// What is known of the index goes into the row; what is known of the space is the value.
fn uniform_load(f: &Folder<'_>, data: &InstData) -> Option<Simpler> {
    let Imm::Row { space, row, component } = data.imm else { return None };
    let Some(&index) = data.args.first() else {
        let table = f.func.spaces[space].table.as_ref()?;
        return bits(table.get(row as usize).map_or(0, |row| row[usize::from(component)]));
    };
    let at = |op, offset, args: &[Value]| {
        let imm = Imm::Row { space, row: row.wrapping_add(offset), component };
        Some(Simpler::Inst { op, ty: data.ty, args: Operands::new(args), imm })
    };
    if let Some(index) = f.constant(index) {
        return at(Op::UniformLoad, index, &[]);
    }
    let sum = f.def(index, Op::Iadd)?;
    at(Op::UniformLoadAt, f.constant(sum.args[1])?, &sum.args[..1])
}

/// Writes take the bits of either type.
fn stored_bitcast(f: &Folder<'_>, data: &InstData) -> Option<Simpler> {
    let position = if data.op == Op::Output { 0 } else { 1 };
    let stored = data.args[position];
    let cast = f.def(stored, Op::BitcastI32).or_else(|| f.def(stored, Op::BitcastF32))?;
    let mut args = data.args;
    args[position] = cast.args[0];
    Some(Simpler::Inst { op: data.op, ty: f.func.ty(cast.args[0]), args, imm: data.imm })
}

/// Integer ops whose operands are one value. Of floats only what holds for NaN, too, and does not flush.
fn same_operands(op: Op, a: Value, b: Value) -> Option<Simpler> {
    if a != b {
        return None;
    }
    match op {
        Op::Isub => bits(0),
        Op::Ieq | Op::Sle | Op::Ule => bits(1),
        Op::Ine | Op::Slt | Op::Ult | Op::Flt | Op::Dlt => bits(0),
        Op::Smin | Op::Smax | Op::Umin | Op::Umax => value(a),
        _ => None,
    }
}

/// Sums and differences of integers with a negated operand: that is how Direct3D's programs subtract.
fn with_negation(f: &Folder<'_>, op: Op, a: Value, b: Value) -> Option<Simpler> {
    let negated =
        |value| f.def(value, Op::Isub).filter(|sub| f.constant(sub.args[0]) == Some(0)).map(|sub| sub.args[1]);
    match (op, negated(a), negated(b)) {
        (Op::Iadd, _, Some(b)) => inst(Op::Isub, Type::I32, &[a, b]),
        (Op::Iadd, Some(a), None) => inst(Op::Isub, Type::I32, &[b, a]),
        (Op::Isub, _, Some(b)) => inst(Op::Iadd, Type::I32, &[a, b]),
        _ => None,
    }
}

/// Integer ops with a literal as second operand, and shifts of zero.
fn with_literal(f: &mut Folder<'_>, op: Op, a: Value, b: Value) -> Option<Simpler> {
    let is_shift = matches!(op, Op::Ishl | Op::Ushr | Op::Sshr);
    if is_shift && f.constant(a) == Some(0) {
        return value(a);
    }
    if is_shift && let Some(mask) = f.def(b, Op::And) {
        // Shifts count modulo 32 by themselves.
        let is_needless = f.constant(mask.args[1]).is_some_and(|mask| mask & 31 == 31);
        return if is_needless { inst(op, Type::I32, &[a, mask.args[0]]) } else { None };
    }
    let literal = f.constant(b)?;
    let power = literal.is_power_of_two().then(|| literal.trailing_zeros());
    match (op, literal, power) {
        (Op::Iadd | Op::Isub, 0, _) => value(a),
        (Op::Iadd, ..) => regroup(f, op, Type::I32, a, literal),
        (Op::Isub, ..) => {
            let negated = f.literal(Type::I32, literal.wrapping_neg());
            inst(Op::Iadd, Type::I32, &[a, negated])
        }
        (Op::Imul | Op::Umulhi | Op::Smulhi, 0, _) => bits(0),
        (Op::Imul | Op::Udiv, 1, _) => value(a),
        (Op::Urem, 1, _) => bits(0),
        (Op::Imul | Op::Udiv, _, Some(power)) => {
            let power = f.literal(Type::I32, power);
            inst(if op == Op::Imul { Op::Ishl } else { Op::Ushr }, Type::I32, &[a, power])
        }
        (Op::Urem, _, Some(_)) => {
            let mask = f.literal(Type::I32, literal - 1);
            inst(Op::And, Type::I32, &[a, mask])
        }
        (Op::Udiv | Op::Urem, 0, _) => bits(u32::MAX),
        (Op::Umin | Op::Umax, 0, _) => {
            if op == Op::Umin {
                bits(0)
            } else {
                value(a)
            }
        }
        (Op::Ult, 0, _) => bits(0),
        _ if is_shift && literal & 31 == 0 => value(a),
        _ => None,
    }
}
