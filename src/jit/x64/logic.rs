//! Instruction selection by truth tables: two bitwise ops by one instruction, whose immediate says what becomes of
//! three bits. Only machines with masks have it.

use super::Selector;
use super::code::Source;
use super::table::Op as X;
use foldhash::{HashMap, HashSet};
use regalloc2::VReg;
use shaderjit_ir::batch::BatchProgram;
use shaderjit_ir::function::Operands;
use shaderjit_ir::{Block, Op, Type, Value};

/// A bitwise op, one operand of which is another's result.
#[derive(Clone, Copy)]
pub struct Logic {
    inner: Op,
    outer: Op,
    /// The inner op's and the outer one's other. Negation, which has but one, counts it twice.
    operands: [Value; 3],
    /// Whether this pair alone needs the inner op's operands for it.
    is_only: bool,
}

/// Columns of a truth table: the bit of each operand in each of the eight cases.
const COLUMNS: [u8; 3] = [0xf0, 0xcc, 0xaa];

/// A bitwise op on columns.
fn apply(op: Op, a: u8, b: u8) -> u8 {
    match op {
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        _ => !a,
    }
}

/// The pairs of a block.
#[derive(Default)]
pub struct Pairs {
    by_outer: HashMap<Value, Logic>,
    /// The results of the inner ops, which are not computed.
    inner: HashSet<Value>,
}

/// A bitwise op of a block.
struct Bitwise {
    op: Op,
    result: Value,
    args: Operands,
    /// How many times others use its result, and the last of those uses.
    uses: u32,
    last_use: Option<u32>,
}

/// A use of such a result by another such op.
struct Use {
    user: u32,
    /// The other operand.
    other: Option<Value>,
    /// The use of the same result before.
    before: Option<u32>,
}

impl Pairs {
    /// Finds them: the inner op has no other use than outer ops. What is taken is part of another pattern.
    pub fn of(program: &BatchProgram, block: Block, is_taken: impl Fn(Value) -> bool) -> Pairs {
        let (mut ops, mut uses) = (Vec::<Bitwise>::new(), Vec::<Use>::new());
        let mut numbers: HashMap<Value, usize> = HashMap::default();
        for inst in program.insts_in(block) {
            let is_bitwise = matches!(inst.op, Op::And | Op::Or | Op::Xor | Op::Not) && inst.ty == Type::I32;
            let is_alone = |&result: &Value| is_bitwise && !program.uniform.contains(result) && !is_taken(result);
            let Some(result) = inst.result.filter(is_alone) else { continue };
            for (at, arg) in inst.args.iter().enumerate() {
                let Some(&number) = numbers.get(arg) else { continue };
                let other = inst.args.iter().copied().enumerate().find(|&(place, _)| place != at);
                let (used, use_number) = (&mut ops[number], uses.len() as u32);
                used.uses += 1;
                let before = used.last_use.replace(use_number);
                uses.push(Use { user: ops.len() as u32, other: other.map(|(_, other)| other), before });
            }
            numbers.insert(result, ops.len());
            ops.push(Bitwise { op: inst.op, result, args: inst.args, uses: 0, last_use: None });
        }
        let mut pairs = Pairs::default();
        for inner in &ops {
            let at = |number: Option<u32>| number.map(|number| &uses[number as usize]);
            let users = || {
                let uses = std::iter::successors(at(inner.last_use), |found| at(found.before));
                uses.map(|found| (&ops[found.user as usize], found.other))
            };
            let is_outer = |value: Value| pairs.by_outer.contains_key(&value);
            let is_bound =
                |(outer, other): (&Bitwise, Option<Value>)| is_outer(outer.result) || other == Some(inner.result);
            let all = program.uses[inner.result];
            let is_seen = all.guards + all.others != inner.uses;
            if inner.uses == 0 || is_seen || is_outer(inner.result) || users().any(is_bound) {
                continue;
            }
            let (a, b) = (inner.args[0], *inner.args.last().expect("it has operands"));
            let is_only = inner.uses == 1;
            let pair = |(outer, other): (&Bitwise, Option<Value>)| {
                let operands = [a, b, other.unwrap_or(a)];
                (outer.result, Logic { inner: inner.op, outer: outer.op, operands, is_only })
            };
            pairs.by_outer.extend(users().map(pair));
            pairs.inner.insert(inner.result);
        }
        pairs
    }

    /// Whether an op is the inner one of pairs.
    pub fn is_inner(&self, value: Value) -> bool {
        self.inner.contains(&value)
    }

    /// The pair that gives a value.
    pub fn get(&self, value: Value) -> Option<Logic> {
        self.by_outer.get(&value).copied()
    }
}

impl Selector<'_> {
    /// Selects for both ops of a pair. The result takes the register of an operand: one that nothing else uses, if
    /// there is one.
    pub(super) fn logic(&mut self, Logic { inner, outer, operands, is_only }: Logic) -> VReg {
        let sources = operands.map(|operand| self.source(operand));
        let is_memory = |at: &usize| matches!(sources[*at], Source::Memory(_));
        let mut order = [0, 1, 2];
        order.sort_by_key(|&at| (is_memory(&at), !self.dies(operands[at]) || at < 2 && !is_only));
        let mut columns = [0; 3];
        std::iter::zip(order, COLUMNS).for_each(|(at, column)| columns[at] = column);
        let table = apply(outer, apply(inner, columns[0], columns[1]), columns[2]);
        let [first, second] = [order[0], order[1]].map(|at| self.simd.in_register(sources[at]));
        self.simd.op_imm(X::Ternlogd, &[first, second], sources[order[2]], table.into())
    }
}
