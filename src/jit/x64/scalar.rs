//! Integer ops on what is the same in all lanes, in general registers. What a register holds is zero-extended.

use super::Selector;
use super::encode::{Condition, Size};
use super::table::Op as X;
use regalloc2::VReg;
use shaderjit_ir::function::{InstData, Terminator};
use shaderjit_ir::{Block, Op, Type, Value};

/// The condition that a comparison of integers is.
fn condition(op: Op) -> Option<Condition> {
    Some(match op {
        Op::Ieq => Condition::Equal,
        Op::Ine => Condition::NotEqual,
        Op::Slt => Condition::Less,
        Op::Sle => Condition::LessEqual,
        Op::Ult => Condition::Below,
        Op::Ule => Condition::BelowEqual,
        _ => return None,
    })
}

/// The instruction on general registers that an op of two operands is.
pub fn binary(op: Op) -> Option<X> {
    Some(match op {
        Op::And => X::And,
        Op::Or => X::Or,
        Op::Xor => X::Xor,
        Op::Iadd => X::Add,
        Op::Isub => X::Sub,
        Op::Imul => X::Imul,
        _ => return None,
    })
}

impl Selector<'_> {
    /// An op whose operands and result are no floats; `None` if vectors do it.
    pub(super) fn scalar_op(&mut self, inst: &InstData) -> Option<VReg> {
        let op = inst.op;
        if let Some(condition) = condition(op) {
            let condition = self.compare_scalars(inst, condition);
            return Some(self.simd.set(condition));
        }
        if matches!(op, Op::Udiv | Op::Urem) {
            return None;
        }
        if let Some((machine, value, literal)) = self.by_literal(inst) {
            let value = self.scalar(value);
            return Some(self.simd.general_imm(machine, value, literal));
        }
        let a = self.scalar(inst.args[0]);
        let b = if inst.args.len() > 1 { self.scalar(inst.args[1]) } else { a };
        if let Some(machine) = binary(op) {
            return Some(self.simd.general(machine, &[a], b));
        }
        match op {
            Op::Not if inst.ty == Type::I1 => Some(self.simd.general_imm(X::XorImmediate, a, 1)),
            Op::Not => Some(self.simd.general_imm(X::Not, a, 0)),
            Op::Ishl => Some(self.shifted(X::Shlx, a, b)),
            Op::Ushr => Some(self.shifted(X::Shrx, a, b)),
            Op::Sshr => Some(self.shifted(X::Sarx, a, b)),
            Op::Popcnt => Some(self.simd.general(X::Popcnt, &[], a)),
            Op::Clz => Some(self.simd.general(X::Lzcnt, &[], a)),
            Op::Ctz => Some(self.simd.general(X::Tzcnt, &[], a)),
            Op::Umulhi => {
                let product = self.simd.general(X::Imul64, &[a], b);
                Some(self.simd.general_imm(X::Shr64, product, 32))
            }
            Op::Smulhi => {
                let [a, b] = [a, b].map(|word| self.simd.general(X::Movsxd, &[], word));
                let product = self.simd.general(X::Imul64, &[a], b);
                Some(self.simd.general_imm(X::Shr64, product, 32))
            }
            Op::Smin | Op::Smax | Op::Umin | Op::Umax => {
                self.simd.compare(X::Cmp, a, b);
                let condition = match op {
                    Op::Smin => Condition::Less,
                    Op::Smax => Condition::Greater,
                    Op::Umin => Condition::Below,
                    _ => Condition::Above,
                };
                Some(self.simd.choose(condition, a, b))
            }
            _ => None,
        }
    }

    /// The instruction, the operand and the immediate that an op is of whose other operand is a literal.
    pub(super) fn by_literal(&self, inst: &InstData) -> Option<(X, Value, u32)> {
        let &[first, second] = &inst.args[..] else { return None };
        let commutes = matches!(inst.op, Op::And | Op::Or | Op::Xor | Op::Iadd | Op::Imul);
        let (value, literal) = match self.literal(second) {
            Some(literal) => (first, literal),
            None => (second, self.literal(first).filter(|_| commutes)?),
        };
        Some(match inst.op {
            Op::And => (X::AndImmediate, value, literal),
            Op::Or => (X::OrImmediate, value, literal),
            Op::Xor => (X::XorImmediate, value, literal),
            Op::Iadd => (X::AddImmediate, value, literal),
            Op::Isub => (X::SubImmediate, value, literal),
            Op::Imul => (X::ImulImmediate, value, literal),
            Op::Ishl => (X::Shl, value, literal & 31),
            Op::Ushr => (X::Shr, value, literal & 31),
            Op::Sshr => (X::Sar, value, literal & 31),
            _ => return None,
        })
    }

    fn shifted(&mut self, op: X, value: VReg, amount: VReg) -> VReg {
        self.simd.code.inst(op, Size::X, &[value, amount], None, None, 0).expect("it has a result")
    }

    /// Sets flags by a comparison, and gives the condition that holds if it does.
    fn compare_scalars(&mut self, inst: &InstData, condition: Condition) -> Condition {
        match [inst.args[0], inst.args[1]].map(|value| (value, self.literal(value))) {
            [(a, _), (_, Some(bits))] => {
                let a = self.scalar(a);
                self.simd.compare_imm(X::CmpImmediate, a, bits);
                condition
            }
            [(_, Some(bits)), (b, _)] => {
                let b = self.scalar(b);
                self.simd.compare_imm(X::CmpImmediate, b, bits);
                condition.exchanged()
            }
            [(a, _), (b, _)] => {
                let [a, b] = [a, b].map(|value| self.scalar(value));
                self.simd.compare(X::Cmp, a, b);
                condition
            }
        }
    }

    // ---- conditions

    /// Whether a value is nothing but what the branch at the end of its block asks: it is compared there.
    pub(super) fn is_asked_by_branch(&self, block: Block, inst: &InstData) -> bool {
        let Terminator::BrIf { condition, .. } = *self.func.blocks[block].terminator() else { return false };
        let is_left =
            |this: &Self, asked: Value| inst.result == Some(asked) && this.is_uniform(asked) && this.dies(asked);
        // What holds in any lane is what holds in all of them.
        let any = self.func.def_inst(condition).filter(|def| def.op == Op::Any && self.dies(condition));
        let is_asked = is_left(self, condition) || any.is_some_and(|any| is_left(self, any.args[0]));
        is_asked && (inst.op == Op::Any || is_scalar_comparison(self, inst))
    }

    /// Sets flags by a uniform truth value, and gives the condition that holds if it does.
    pub(super) fn branch_condition(&mut self, value: Value) -> Condition {
        let func = self.func;
        if self.values[value].0[0] == VReg::invalid()
            && let Some(inst) = func.def_inst(value)
        {
            // Left to the branch.
            if let Some(condition) = condition(inst.op) {
                return self.compare_scalars(inst, condition);
            }
            if inst.op == Op::Any && !self.is_uniform(inst.args[0]) {
                let mask = self.mask(inst.args[0]);
                self.simd.test_mask(mask);
                return Condition::NotEqual;
            }
            if inst.op == Op::Any {
                return self.branch_condition(inst.args[0]);
            }
        }
        let bit = self.scalar(value);
        self.simd.compare(X::Test, bit, bit);
        Condition::NotEqual
    }
}

/// Whether an instruction compares integers that are the same in all lanes.
fn is_scalar_comparison(this: &Selector<'_>, inst: &InstData) -> bool {
    condition(inst.op).is_some() && inst.args.iter().all(|&arg| this.is_uniform(arg))
}
