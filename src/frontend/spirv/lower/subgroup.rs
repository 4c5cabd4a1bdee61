//! Subgroups, which have one invocation each: the least size that Vulkan allows. What the invocations of a subgroup
//! tell one another is then what each knows, whatever the engine and its lanes, and diverges nowhere.

use shaderjit_ir::{Type, Value};
use spirv::{BuiltIn, GroupOperation, Op};

use super::Lowering;
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;
use crate::stage::Stage;

impl Lowering<'_> {
    /// A builtin of subgroups, if it is one.
    pub(super) fn subgroup_built_in(&mut self, built_in: BuiltIn, number: u32) -> Option<Value> {
        let first = u32::from(number == 0);
        let bits = match built_in {
            BuiltIn::SubgroupSize => 1,
            BuiltIn::SubgroupLocalInvocationId => 0,
            BuiltIn::SubgroupEqMask | BuiltIn::SubgroupGeMask | BuiltIn::SubgroupLeMask => first,
            BuiltIn::SubgroupGtMask | BuiltIn::SubgroupLtMask => 0,
            BuiltIn::NumSubgroups if self.stage == Stage::Compute => {
                self.interface.thread_group.map_or(1, |threads| threads.iter().product())
            }
            BuiltIn::SubgroupId if self.stage == Stage::Compute => {
                return Some(self.b.sysval(shaderjit_ir::SysVal::VertexId));
            }
            _ => return None,
        };
        Some(self.b.i32(bits))
    }

    /// Lowers an instruction of subgroups.
    pub(super) fn subgroup(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let &[ty, id, _scope, ref operands @ ..] = instruction.operands() else {
            return Err(self.malformed(instruction));
        };
        let ty = self.value_type(ty)?;
        let scalars: Vec<Value> = match (opcode, operands) {
            (Op::GroupNonUniformElect, []) => vec![self.b.i1(true)],
            (Op::GroupNonUniformAll | Op::GroupNonUniformAny, &[value]) => vec![self.scalar(value)?],
            (Op::GroupNonUniformAllEqual, &[_]) => vec![self.b.i1(true)],
            (Op::GroupNonUniformBroadcastFirst, &[value])
            | (
                Op::GroupNonUniformBroadcast
                | Op::GroupNonUniformShuffle
                | Op::GroupNonUniformShuffleXor
                | Op::GroupNonUniformShuffleUp
                | Op::GroupNonUniformShuffleDown,
                &[value, _],
            ) => self.value(value)?.1.to_vec(),
            (Op::GroupNonUniformBallot, &[value]) => {
                let value = self.scalar(value)?;
                if self.b.ty(value) != Type::I1 {
                    return Err(self.malformed(instruction));
                }
                let zero = self.b.i32(0);
                vec![self.truth(value), zero, zero, zero]
            }
            (Op::GroupNonUniformInverseBallot, &[ballot]) | (Op::GroupNonUniformBallotBitExtract, &[ballot, _]) => {
                let bit = self.first_bit(instruction, ballot)?;
                vec![self.is_true(bit)]
            }
            (Op::GroupNonUniformBallotBitCount, &[operation, ballot]) => {
                let bit = self.first_bit(instruction, ballot)?;
                vec![match GroupOperation::from_u32(operation) {
                    Some(GroupOperation::ExclusiveScan) => self.b.i32(0),
                    _ => bit,
                }]
            }
            (Op::GroupNonUniformBallotFindLSB | Op::GroupNonUniformBallotFindMSB, &[_]) => vec![self.b.i32(0)],
            (_, &[operation, value, ..]) => {
                let (_, scalars) = self.value(value)?;
                match GroupOperation::from_u32(operation) {
                    Some(GroupOperation::ExclusiveScan) => {
                        let identities = scalars.iter().map(|&scalar| self.identity(opcode, self.b.ty(scalar)));
                        let identities: Option<Vec<(Type, u64)>> = identities.collect();
                        let identities = identities.ok_or_else(|| self.malformed(instruction))?;
                        identities.into_iter().map(|(ty, bits)| self.b.constant(ty, bits)).collect()
                    }
                    Some(_) => scalars.to_vec(),
                    None => return Err(self.malformed(instruction)),
                }
            }
            _ => return Err(self.malformed(instruction)),
        };
        self.check_type(ty, &scalars)?;
        self.define_value(id, ty, scalars)
    }

    /// Bit 0 of a ballot.
    fn first_bit(&mut self, instruction: &Instruction<'_>, ballot: u32) -> Result<Value, LowerError> {
        let (_, scalars) = self.value(ballot)?;
        let Some(&word) = scalars.first().filter(|&&word| self.b.ty(word) == Type::I32) else {
            return Err(self.malformed(instruction));
        };
        let one = self.b.i32(1);
        Ok(self.b.and([word, one]))
    }

    /// What changes nothing: what a scan over nobody gives.
    fn identity(&self, opcode: Op, ty: Type) -> Option<(Type, u64)> {
        use Op::*;
        let word = |bits: u32| Some((Type::I32, u64::from(bits)));
        let float = |number: f32| Some((Type::F32, u64::from(number.to_bits())));
        let double = |number: f64| Some((Type::F64, number.to_bits()));
        match (opcode, ty) {
            (
                GroupNonUniformIAdd | GroupNonUniformUMax | GroupNonUniformBitwiseOr | GroupNonUniformBitwiseXor,
                Type::I32,
            ) => word(0),
            (GroupNonUniformIMul, Type::I32) => word(1),
            (GroupNonUniformUMin | GroupNonUniformBitwiseAnd, Type::I32) => word(u32::MAX),
            (GroupNonUniformSMin, Type::I32) => word(i32::MAX as u32),
            (GroupNonUniformSMax, Type::I32) => word(i32::MIN as u32),
            (GroupNonUniformFAdd, Type::F32) => float(0.0),
            (GroupNonUniformFMul, Type::F32) => float(1.0),
            (GroupNonUniformFMin, Type::F32) => float(f32::INFINITY),
            (GroupNonUniformFMax, Type::F32) => float(f32::NEG_INFINITY),
            (GroupNonUniformFAdd, Type::F64) => double(0.0),
            (GroupNonUniformFMul, Type::F64) => double(1.0),
            (GroupNonUniformFMin, Type::F64) => double(f64::INFINITY),
            (GroupNonUniformFMax, Type::F64) => double(f64::NEG_INFINITY),
            (GroupNonUniformLogicalAnd, Type::I1) => Some((Type::I1, 1)),
            (GroupNonUniformLogicalOr | GroupNonUniformLogicalXor, Type::I1) => Some((Type::I1, 0)),
            _ => None,
        }
    }
}
