//! Functions in which no NaN's payload can be seen.

use crate::cfg;
use crate::entity::Value;
use crate::function::{Function, Imm};
use crate::op::Op;
use crate::types::Type;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// The bits that every NaN has then.
pub(crate) const NAN: u32 = 0x7fc0_0000;

/// Whether an op does arithmetic on floats, and does not only move their bits.
pub(crate) fn makes_nans(op: Op) -> bool {
    op.result().fixed() == Some(Type::F32) && !matches!(op, Op::Fneg | Op::Fabs | Op::BitcastF32)
}

/// Gives every NaN that arithmetic makes the same bits. The IR leaves them open, and programs can look at them: without
/// this, two correct engines may differ in integers computed from a NaN's bits.
pub fn canonicalize_nans(func: &mut Function) {
    let mut replaced: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    for block in cfg::reverse_postorder(func) {
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            let mut data = func.insts[inst];
            data.args.iter_mut().for_each(|arg| *arg = replaced[*arg].expand().unwrap_or(*arg));
            func.insts[inst] = data;
            func.blocks[block].insts.push(inst);
            if let Some(result) = data.result.filter(|_| makes_nans(data.op)) {
                let mut append = |op, ty, args: &[Value], imm| {
                    let inst = func.make_inst(op, ty, args, imm);
                    func.blocks[block].insts.push(inst);
                    func.insts[inst].result.expect("the op has a result")
                };
                let nan = append(Op::Const, Type::F32, &[], Imm::Bits(NAN.into()));
                let is_nan = append(Op::Funo, Type::I1, &[result, result], Imm::None);
                replaced[result] = append(Op::Select, Type::F32, &[is_nan, nan, result], Imm::None).into();
            }
        }
    }
    // What comes over back edges was not replaced yet; the canonicalizing code itself must not be.
    for index in 0..func.layout.len() {
        let block = func.layout[index];
        if let Some(terminator) = &mut func.blocks[block].terminator {
            terminator.for_each_use_mut(|value| *value = replaced[*value].expand().unwrap_or(*value));
        }
    }
}
