//! Computes constants and simplifies what follows from the definitions of the ops.

mod rules;
#[cfg(test)]
mod tests;

use crate::cfg;
use crate::entity::{Inst, Value};
use crate::function::{BlockCall, Function, Imm, InstData, Operands, Terminator};
use crate::op::{Attribute, Op};
use crate::pass::aliases::Aliases;
use crate::pass::{remove_unreachable, simplify_params};
use crate::types::Type;
use rules::Simpler;

/// How often the whole function is gone over. Each time but the first needs a branch that was decided the time before.
const MAX_ROUNDS: u32 = 8;

/// How often one instruction is rewritten in place.
const MAX_STEPS: u32 = 8;

/// Folds constants, applies identities that change no bit of any result, and turns decided branches into jumps.
///
/// Float arithmetic is simplified by an identity only where that flushes as much: `x * 1` is `x` if `x` is itself a
/// sum. What moves bits, negation included, may be simplified like integers. Definitions are visited before uses, so
/// one round suffices for straight code.
pub fn fold(func: &mut Function) {
    remove_unreachable(func);
    for _ in 0..MAX_ROUNDS {
        let mut folder = Folder { func, replaced: Aliases::default(), insts: Vec::new() };
        if !folder.round() {
            break;
        }
        remove_unreachable(func);
        simplify_params(func);
    }
}

struct Folder<'f> {
    func: &'f mut Function,
    /// The values whose instructions are gone. What stands in for one is not replaced itself.
    replaced: Aliases,
    /// The current block's instructions so far.
    insts: Vec<Inst>,
}

impl Folder<'_> {
    /// Goes over the function once; returns whether a branch lost an edge.
    fn round(&mut self) -> bool {
        let mut decided = false;
        for block in cfg::reverse_postorder(self.func) {
            let insts = std::mem::take(&mut self.func.blocks[block].insts);
            self.insts.reserve(insts.len());
            for inst in insts {
                self.visit(inst);
            }
            self.func.blocks[block].insts = std::mem::take(&mut self.insts);
            let mut terminator = self.func.blocks[block].terminator.take();
            if let Some(terminator) = &mut terminator {
                terminator.for_each_use_mut(|value| *value = self.resolve(*value));
                decided |= self.decide(terminator);
            }
            self.func.blocks[block].terminator = terminator;
        }
        // Edges backwards came before the instructions that define what they give.
        self.replaced.apply_to_ends(self.func);
        decided
    }

    /// Appends an instruction in its simplest form, or nothing if its result is some other value; returns its result.
    fn visit(&mut self, inst: Inst) -> Option<Value> {
        let mut data = self.func.insts[inst];
        self.func.origin = data.origin;
        let mut is_changed = false;
        for arg in data.args.iter_mut() {
            let before = std::mem::replace(arg, self.replaced.find(*arg));
            is_changed |= before != *arg;
        }
        for _ in 0..MAX_STEPS {
            is_changed |= self.order_operands(&mut data);
            match rules::simplify(self, &data) {
                None => break,
                Some(Simpler::Value(value)) => {
                    self.replaced.replace(data.result.expect("only values stand in for others"), value);
                    return Some(value);
                }
                Some(Simpler::Bits(bits)) => {
                    let ty = data.result.map_or(data.ty, |result| self.func.ty(result));
                    data = InstData { op: Op::Const, ty, args: Operands::new(&[]), imm: Imm::Bits(bits), ..data };
                    is_changed = true;
                    break;
                }
                Some(Simpler::Inst { op, ty, args, imm }) => {
                    let ty = op.inst_type(ty);
                    data = InstData { op, ty, args, imm, ..data };
                    is_changed = true;
                }
            }
        }
        if is_changed {
            self.func.insts[inst] = data;
        }
        self.insts.push(inst);
        data.result
    }

    /// A literal comes second, so that the rules look for it there only. Says whether it came first.
    fn order_operands(&self, data: &mut InstData) -> bool {
        let is_first = data.op.attribute() == Attribute::Commutes
            && self.func.constant(data.args[0]).is_some()
            && self.func.constant(data.args[1]).is_none();
        if is_first {
            data.args.swap(0, 1);
        }
        is_first
    }

    /// Appends an instruction that a rule needs besides the one it rewrites. The rules that do ask for simpler ops than
    /// their own, so this does not recurse far.
    fn emit(&mut self, op: Op, ty: Type, args: &[Value]) -> Value {
        let inst = self.func.make_inst(op, ty, args, Imm::None);
        self.visit(inst).expect("rules ask for ops with a result")
    }

    fn literal(&mut self, ty: Type, bits: u32) -> Value {
        let inst = self.func.make_inst(Op::Const, ty, &[], Imm::Bits(u64::from(bits)));
        self.insts.push(inst);
        self.func.insts[inst].result.expect("a literal has a result")
    }

    fn resolve(&self, value: Value) -> Value {
        self.replaced.find(value)
    }

    /// The bits of a literal of at most 32 bits.
    fn constant(&self, value: Value) -> Option<u32> {
        if self.func.ty(value) == Type::F64 { None } else { self.func.constant(value).map(|bits| bits as u32) }
    }

    /// The instruction that defines a value, if it is of this op.
    fn def(&self, value: Value, op: Op) -> Option<InstData> {
        self.func.def_inst(value).filter(|inst| inst.op == op).copied()
    }

    /// Whether two values are one, or equal literals.
    fn are_equal(&self, a: Value, b: Value) -> bool {
        a == b
            || self.func.ty(a) == self.func.ty(b)
                && self.func.constant(a).is_some_and(|k| self.func.constant(b) == Some(k))
    }

    /// Simplifies a branch; returns whether it has lost an edge.
    fn decide(&self, terminator: &mut Terminator) -> bool {
        let call: BlockCall = match terminator {
            Terminator::BrIf { condition, then_call, else_call } => {
                while let Some(not) = self.def(*condition, Op::Not) {
                    *condition = not.args[0];
                    std::mem::swap(then_call, else_call);
                }
                match self.constant(*condition) {
                    _ if then_call == else_call => then_call.clone(),
                    Some(0) => else_call.clone(),
                    Some(_) => then_call.clone(),
                    None => return false,
                }
            }
            Terminator::Switch { value, cases, default } => match self.constant(*value) {
                Some(value) => {
                    cases.iter().find(|(case, _)| *case == value).map_or(&*default, |(_, call)| call).clone()
                }
                None if cases.iter().all(|(_, call)| call == default) => default.clone(),
                None => return false,
            },
            Terminator::Jump(_) | Terminator::Return => return false,
        };
        *terminator = Terminator::Jump(call);
        true
    }
}
