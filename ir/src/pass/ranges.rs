//! Elimination of checks: the comparisons of bounds that [ranges](crate::ranges) of integers decide.

use crate::dom::DominatorTree;
use crate::entity::Value;
use crate::function::{Function, Imm, InstData, Operands};
use crate::op::Op;
use crate::pass::Aliases;
use crate::ranges::{Range, Ranges};
use crate::types::Type;
use cranelift_entity::SecondaryMap;

/// Decides comparisons and selects, drops masks that take nothing away, and moves what is added to an address into the
/// offset of the access.
///
/// Only functions that access buffers have bounds worth the time.
pub fn ranges(func: &mut Function) {
    if func.resources.is_empty() {
        return;
    }
    let tree = DominatorTree::new(func);
    let ranges = Ranges::of(func, &tree, &SecondaryMap::new());
    let mut aliases = Aliases::default();
    for &block in tree.reverse_postorder() {
        let known = |value| ranges.within(block, value);
        for at in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[at];
            let mut data = func.insts[inst];
            data.args.iter_mut().for_each(|arg| *arg = aliases.find(*arg));
            if let (Some(result), Some(same)) = (data.result, same(func, &known, &data)) {
                aliases.replace(result, same);
                continue;
            }
            match data.result.filter(|&result| func.ty(result) == Type::I1).and_then(|truth| known(truth)?.literal()) {
                Some(bit) => {
                    let (args, imm) = (Operands::new(&[]), Imm::Bits(bit.into()));
                    data = InstData { op: Op::Const, ty: Type::I1, args, imm, ..data };
                }
                None => while move_into_offset(func, &known, &mut data) {},
            }
            func.insts[inst] = data;
        }
    }
    aliases.apply(func);
}

/// The value that an instruction's result is, because of what is known of its operands.
fn same(func: &Function, known: &dyn Fn(Value) -> Option<Range>, data: &InstData) -> Option<Value> {
    match data.op {
        Op::Select => match known(data.args[0])?.literal()? {
            0 => Some(data.args[2]),
            _ => Some(data.args[1]),
        },
        Op::And => {
            let mask = func.constant(data.args[1])? as u32;
            known(data.args[0])?.is_within(mask).then_some(data.args[0])
        }
        _ => None,
    }
}

/// Takes what is added to an address into the offset of the access, where the sum does not wrap around.
fn move_into_offset(func: &Function, known: &dyn Fn(Value) -> Option<Range>, data: &mut InstData) -> bool {
    let Imm::ResourceByte { resource, offset } = data.imm else { return false };
    let Some(InstData { op: Op::Iadd, args, .. }) = func.def_inst(data.args[0]) else { return false };
    let (base, most) = (args[0], known(args[0]).map_or(u32::MAX, |base| base.most));
    // Memory takes the word that an address is in, and adds the offset to that.
    let added = func.constant(args[1]).map(|bits| bits as u32).filter(|added| added.is_multiple_of(4));
    let Some(added) = added else { return false };
    let (Some(offset), Some(_)) = (offset.checked_add(added), most.checked_add(added)) else { return false };
    data.imm = Imm::ResourceByte { resource, offset };
    data.args[0] = base;
    true
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_keeps_meaning;
    use super::*;
    use crate::parse::parse;

    #[test]
    fn random_functions_keep_their_meaning() {
        assert_keeps_meaning(ranges);
    }

    /// Makes something else of each operand that is outside its range.
    fn spoil_outside(func: &mut Function) {
        let tree = DominatorTree::new(func);
        let ranges = Ranges::of(func, &tree, &SecondaryMap::new());
        for &block in tree.reverse_postorder() {
            for inst in std::mem::take(&mut func.blocks[block].insts) {
                let mut data = func.insts[inst];
                for arg in data.args.iter_mut() {
                    let Some(Range { least, most, zeros }) = ranges.within(block, *arg) else { continue };
                    if func.ty(*arg) != Type::I32 || func.constant(*arg).is_some() {
                        continue;
                    }
                    let mut put = |op: Op, ty: Type, args: &[Value], imm: Imm| {
                        let inst = func.make_inst(op, ty, args, imm);
                        func.blocks[block].insts.push(inst);
                        func.insts[inst].result.unwrap()
                    };
                    let low = u32::MAX.checked_shl(zeros).map_or(u32::MAX, |high| !high);
                    let [least, most, low, zero] =
                        [least, most, low, 0].map(|bits| put(Op::Const, Type::I32, &[], Imm::Bits(bits.into())));
                    let mut put = |op, ty, args: &[Value]| put(op, ty, args, Imm::None);
                    let is_above = put(Op::Ule, Type::I1, &[least, *arg]);
                    let is_below = put(Op::Ule, Type::I1, &[*arg, most]);
                    let bits = put(Op::And, Type::I32, &[*arg, low]);
                    let is_multiple = put(Op::Ieq, Type::I1, &[bits, zero]);
                    let both = put(Op::And, Type::I1, &[is_above, is_below]);
                    let all = put(Op::And, Type::I1, &[both, is_multiple]);
                    let other = put(Op::Not, Type::I32, &[*arg]);
                    *arg = put(Op::Select, Type::I32, &[all, *arg, other]);
                }
                func.insts[inst] = data;
                func.blocks[block].insts.push(inst);
            }
        }
    }

    #[test]
    fn operands_of_random_functions_are_in_their_ranges() {
        assert_keeps_meaning(spoil_outside);
    }

    /// A number goes from one parameter of a loop to the one before it, once a round: whether it is small is not known,
    /// however many there are.
    #[test]
    fn long_chains_of_parameters_decide_nothing_wrongly() {
        for length in [2, 15, 16, 17, 40] {
            let list = |f: &dyn Fn(usize) -> String| (0..length).map(f).collect::<Vec<_>>().join(", ");
            let (params, next) =
                (list(&|n| format!("v{}: i32", 10 + n)), list(&|n| format!("v{}", 10 + (n + 1).min(length - 1))));
            let first = list(&|n| if n == length - 1 { "v1" } else { "v0" }.to_string());
            let text = format!(
                "function \"chain\" inputs 0 outputs 1 {{
                    resource0 \"t0\"
                block0:
                    v0 = const.i32 0
                    v1 = const.i32 5000
                    v2 = const.i32 100
                    jump block1({first})
                block1({params}):
                    v3 = resource_load.i32 resource0[0], v10
                    v4 = ult v10, v2
                    br_if v4, block1({next}), block2
                block2:
                    output.i32 0.0, v3
                    return
                }}"
            );
            let mut func = parse(&text).unwrap();
            ranges(&mut func);
            assert!(func.insts.values().any(|inst| inst.op == Op::Ult), "{length}: {func}");
        }
    }
}
