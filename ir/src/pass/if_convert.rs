//! Turns small branches into selects: computing both sides costs less than masks, tests and jumps.

use super::{remove_unreachable, simplify_params, straighten};
use crate::cfg::{self, Edge, Lists};
use crate::double;
use crate::entity::{Block, Value};
use crate::function::{BlockCall, Function, Imm, Terminator};
use crate::op::{Effect, Op};
use crate::texture;

/// The most both arms of a branch and its selects may cost together, in units of one simple SIMD instruction.
const BUDGET: u32 = 16;

/// Converts branches whose arms meet again at once, are cheap and write nothing; inner ones first, then what that makes
/// small.
pub fn if_convert(func: &mut Function) {
    straighten(func);
    // Each round joins what the last one made straight; a branch that stays within the budget is not nested deeper than
    // it.
    for _ in 0..BUDGET {
        if !convert_all(func) {
            return;
        }
        remove_unreachable(func);
        simplify_params(func);
        straighten(func);
    }
}

fn convert_all(func: &mut Function) -> bool {
    if func.layout.len() == 1 {
        return false;
    }
    let predecessors = cfg::predecessors(func);
    let mut changed = false;
    for block in cfg::reverse_postorder(func).into_iter().rev() {
        changed |= convert(func, &predecessors, block);
    }
    changed
}

/// An edge of a branch, followed through a block that only computes, to where it leads.
#[derive(Clone)]
struct Arm {
    body: Option<Block>,
    end: BlockCall,
    cost: u32,
}

fn convert(func: &mut Function, predecessors: &Lists<Edge>, block: Block) -> bool {
    let Terminator::BrIf { condition, then_call, else_call } = func.blocks[block].terminator() else { return false };
    let condition = *condition;
    let (then_arm, else_arm) = (arm(func, predecessors, then_call), arm(func, predecessors, else_call));
    // Either both arms are bodies that meet, or one of them is the plain edge to where the other ends.
    let direct = |call: &BlockCall| Arm { body: None, end: call.clone(), cost: 0 };
    let candidates = [
        (then_arm.clone(), else_arm.clone()),
        (then_arm, Some(direct(else_call))),
        (Some(direct(then_call)), else_arm),
        (Some(direct(then_call)), Some(direct(else_call))),
    ];
    let meeting = candidates.into_iter().find_map(|pair| match pair {
        (Some(a), Some(b)) if a.end.block == b.end.block && a.end.block != block => Some((a, b)),
        _ => None,
    });
    let Some((then_arm, else_arm)) = meeting else { return false };
    let selects = then_arm.end.args.iter().zip(&else_arm.end.args).filter(|(a, b)| a != b).count() as u32;
    if then_arm.cost + else_arm.cost + selects > BUDGET {
        return false;
    }
    for body in [then_arm.body, else_arm.body].into_iter().flatten() {
        let insts = std::mem::take(&mut func.blocks[body].insts);
        func.blocks[block].insts.extend(insts);
    }
    let args =
        then_arm.end.args.iter().zip(&else_arm.end.args).map(|(&a, &b)| select(func, block, condition, a, b)).collect();
    func.blocks[block].terminator = Some(Terminator::Jump(BlockCall { block: then_arm.end.block, args }));
    true
}

fn select(func: &mut Function, block: Block, condition: Value, a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    let inst = func.make_inst(Op::Select, func.ty(a), &[condition, a, b], Imm::None);
    func.blocks[block].insts.push(inst);
    func.insts[inst].result.expect("select has a result")
}

/// The arm behind an edge, if it is a body that could be moved into the block before it.
fn arm(func: &Function, predecessors: &Lists<Edge>, call: &BlockCall) -> Option<Arm> {
    let data = &func.blocks[call.block];
    let Some(Terminator::Jump(end)) = &data.terminator else { return None };
    if predecessors[call.block].len() != 1 || !data.params.is_empty() || end.block == call.block {
        return None;
    }
    let mut cost = 0;
    for &inst in &data.insts {
        cost += cost_of(func.insts[inst].op)?;
        if cost > BUDGET {
            return None;
        }
    }
    Some(Arm { body: Some(call.block), end: end.clone(), cost })
}

/// A rough cost; `None` if the op must stay under its control flow.
fn cost_of(op: Op) -> Option<u32> {
    match op.effect() {
        Effect::Write | Effect::Convergent => return None,
        Effect::Pure | Effect::Read => {}
    }
    Some(match op {
        Op::Const | Op::BitcastI32 | Op::BitcastF32 | Op::Input | Op::Sysval | Op::F64lo | Op::F64hi | Op::F64join => 0,
        Op::RowJoin | Op::RowWord => 0,
        Op::Fdiv | Op::Fsqrt | Op::UniformLoadAt | Op::Ftoi | Op::Ftou | Op::Utof | Op::Fmulz => 4,
        Op::Fmin | Op::Fmax | Op::Fmad | Op::Fsat => 2,
        Op::Fflush24 => 3,
        Op::Fround24
        | Op::F32tof24
        | Op::Fexp2
        | Op::Flog2
        | Op::Fsin
        | Op::Fcos
        | Op::F16tof32
        | Op::F32tof16
        | Op::Bitrev => BUDGET + 1,
        Op::Udiv | Op::Urem | Op::Umulhi | Op::Smulhi | Op::Popcnt | Op::Clz | Op::Ctz => BUDGET + 1,
        Op::ArrayLoad | Op::ResourceLoad => BUDGET + 1,
        // Calls, most of them.
        op if double::is_double_op(op) || texture::is_access(op) => BUDGET + 1,
        _ => 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionBuilder;
    use crate::types::Type;

    /// if (input 0.x < 0) { r = then(input) } output 0.x = r
    fn triangle(then: impl Fn(&mut FunctionBuilder, Value) -> Value) -> Function {
        let mut b = FunctionBuilder::new("triangle", 1, 1);
        let register = b.declare_var(Type::F32);
        let (x, zero) = (b.input(Type::F32, 0, 0), b.f32(0.0));
        b.def_var(register, x);
        let (arm, join) = (b.create_block(), b.create_block());
        let below = b.flt([x, zero]);
        b.br_if(below, arm, join);
        b.seal_block(arm);
        b.switch_to_block(arm);
        let value = then(&mut b, x);
        b.def_var(register, value);
        b.jump(join);
        b.seal_block(join);
        b.switch_to_block(join);
        let value = b.use_var(register);
        b.output(0, 0, value);
        b.ret();
        b.finish()
    }

    #[test]
    fn a_small_arm_becomes_a_select() {
        let mut func = triangle(|b, x| b.fneg([x]));
        if_convert(&mut func);
        let expected = r#"function "triangle" inputs 1 outputs 1 {
block0:
    v0 = input.f32 0.0
    v1 = const.f32 0.0
    v2 = flt v0, v1
    v3 = fneg v0
    v4 = select.f32 v2, v3, v0
    output.f32 0.0, v4
    return
}
"#;
        assert_eq!(func.to_string(), expected);
    }

    #[test]
    fn a_costly_arm_and_one_that_writes_stay() {
        for func in [
            triangle(|b, x| b.fexp2([x])),
            triangle(|b, x| {
                b.output(0, 1, x);
                x
            }),
        ] {
            let mut converted = func.clone();
            if_convert(&mut converted);
            assert_eq!(converted, func);
        }
    }
}
