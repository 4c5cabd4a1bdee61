//! Bitwise ops of each other's results, rotations, and tests of bits: with masks, one instruction does what two or
//! three ops do.

use super::{Case, EDGES, Rows, check, lockstep};
use shaderjit_ir::{FunctionBuilder, Op, SysVal, Type, Value};

const BITWISE: [Op; 4] = [Op::And, Op::Or, Op::Xor, Op::Not];

fn rows() -> Rows {
    let word = |n: usize, by: u32| (n as u32).wrapping_mul(0x9e37_79b9).rotate_left(by);
    (0..EDGES.len()).map(|n| [EDGES[n], word(n, 7), word(n + 3, 13), 0]).collect()
}

fn words(b: &mut FunctionBuilder) -> [Value; 3] {
    [0, 1, 2].map(|component| b.input(Type::I32, 0, component))
}

/// Does an op on one or two operands.
fn apply(b: &mut FunctionBuilder, op: Op, args: [Value; 2]) -> Value {
    if op == Op::Not { b.op(op, &args[..1]) } else { b.op(op, &args) }
}

/// Every pair of ops, with either operand of the outer one; one operand a literal; the inner result seen by others,
/// too.
#[test]
fn ops_of_results_of_ops() {
    for inner in BITWISE {
        for outer in BITWISE {
            for literal in 0..4 {
                let mut b = FunctionBuilder::new("pair", 1, 4);
                let mut operands = words(&mut b);
                if let Some(operand) = operands.get_mut(literal) {
                    *operand = b.i32(0x0ff0_a5c3);
                }
                let [x, y, z] = operands;
                for (output, is_seen) in [(0, false), (1, true)] {
                    for (component, is_first) in [(0, true), (1, false)] {
                        let first = apply(&mut b, inner, [x, y]);
                        let args = if is_first { [first, z] } else { [z, first] };
                        let second = apply(&mut b, outer, args);
                        b.output(output, component, second);
                        if is_seen {
                            b.output(output, component + 2, first);
                        }
                    }
                }
                // One result that two ops use, and one that an op uses twice.
                let shared = apply(&mut b, inner, [y, z]);
                for (component, other) in [(0, x), (1, z), (2, shared)] {
                    let value = apply(&mut b, outer, [shared, other]);
                    b.output(2, component, value);
                }
                // A chain, the links of which could each be part of two pairs.
                let mut chain = x;
                for other in [y, z, x, y, z] {
                    chain = apply(&mut b, outer, [chain, other]);
                    chain = apply(&mut b, inner, [other, chain]);
                }
                b.output(3, 0, chain);
                b.ret();
                check(&lockstep(b), &[Case::new(rows())]);
            }
        }
    }
}

#[test]
fn two_results_that_meet() {
    for outer in [Op::And, Op::Or, Op::Xor] {
        let mut b = FunctionBuilder::new("tree", 1, 1);
        let [x, y, z] = words(&mut b);
        let (a, c) = (b.xor([x, y]), b.and([y, z]));
        let (both, other) = (b.op(outer, &[a, c]), b.op(outer, &[c, x]));
        b.output(0, 0, both);
        b.output(0, 1, other);
        b.ret();
        check(&lockstep(b), &[Case::new(rows())]);
    }
}

/// Shifts that make a rotation, and others that do not.
#[test]
fn shifts_to_either_side() {
    for join in [Op::Or, Op::Xor, Op::Iadd, Op::And] {
        for [left, right] in [[1, 31], [8, 24], [31, 1], [16, 16], [7, 24], [32, 32], [33, 63], [0, 0]] {
            let mut b = FunctionBuilder::new("shifts", 1, 1);
            let [x, y, _] = words(&mut b);
            let amounts = [left, right].map(|amount| b.i32(amount));
            for (component, other) in [(0, x), (1, y)] {
                let shifted = [b.ishl([x, amounts[0]]), b.ushr([other, amounts[1]])];
                let joined = b.op(join, &shifted);
                b.output(0, component, joined);
            }
            // What is seen elsewhere is computed anyway.
            let shifted = [b.ushr([y, amounts[1]]), b.ishl([y, amounts[0]])];
            let joined = b.op(join, &shifted);
            b.output(0, 2, joined);
            b.output(0, 3, shifted[1]);
            b.ret();
            check(&lockstep(b), &[Case::new(rows())]);
        }
    }
}

/// Bits that words have in common, asked for alone, beside other uses, and of what is made of bits.
#[test]
fn tests_of_bits() {
    for test in [Op::Ieq, Op::Ine] {
        for compared in [0, 1] {
            for is_literal in [false, true] {
                let mut b = FunctionBuilder::new("tests", 1, 2);
                let [x, y, z] = words(&mut b);
                let (zero, id) = (b.i32(compared), b.sysval(SysVal::InstanceId));
                let mask = if is_literal { b.i32(0x8000_0001) } else { y };
                let (seen, made) = (b.and([z, mask]), b.xor([x, z]));
                let bits = [b.and([x, mask]), seen, b.and([made, mask]), b.and([x, id]), b.and([id, id])];
                for (at, bits) in (0..).zip(bits) {
                    let truth = b.op(test, &[bits, zero]);
                    let value = b.select([truth, x, z]);
                    b.output(at / 4, (at % 4) as u8, value);
                }
                b.output(1, 1, seen);
                b.ret();
                check(&lockstep(b), &[Case { instance: 5, ..Case::new(rows()) }]);
            }
        }
    }
}
