//! Which members of input and output blocks the functions name. Compilers declare `gl_PerVertex` whole, and what of it
//! nobody reads or writes is no element of an interface.

use std::collections::BTreeSet;

use foldhash::HashMap;

use spirv::Op;

use super::Lowering;
use super::types::{Kind, Ty};
use crate::error::LowerError;

/// By variable, the members of its block that are named; none where the whole is.
pub(super) type Usage = HashMap<u32, Option<BTreeSet<u32>>>;

impl Lowering<'_> {
    /// Looks for every block among the inputs and outputs.
    pub(super) fn find_usage(&mut self) -> Result<(), LowerError> {
        let mut usage = Usage::default();
        let mut levels: HashMap<u32, usize> = HashMap::default();
        for (id, _, ty) in self.variables.declared() {
            if let Some((level, _)) = self.block_of(ty) {
                levels.insert(id, level);
                usage.insert(id, Some(BTreeSet::new()));
            }
        }
        let instructions = self.module.instructions();
        for instruction in instructions.skip_while(|instruction| instruction.opcode() != Some(Op::Function)) {
            if let (Some(Op::AccessChain | Op::InBoundsAccessChain), &[_, _, base, ref indices @ ..]) =
                (instruction.opcode(), instruction.operands())
                && let (Some(&level), Some(members)) = (levels.get(&base), usage.get_mut(&base))
            {
                let index = indices.get(level).and_then(|index| match self.globals.get(index) {
                    Some(super::Def::Constant { bits, .. }) => bits.first().map(|&bits| bits as u32),
                    _ => None,
                });
                match (index, &mut *members) {
                    (Some(index), Some(members)) => _ = members.insert(index),
                    (None, _) => *members = None,
                    (_, None) => {}
                }
                continue;
            }
            for operand in instruction.operands() {
                // A number that is no id is one of a block at worst, which is then there whole.
                if let Some(members) = usage.get_mut(operand) {
                    *members = None;
                }
            }
        }
        self.variables.usage = usage;
        Ok(())
    }

    /// The structure that a type is, or that its elements are, and how many indices lead to it.
    pub(super) fn block_of(&self, ty: Ty) -> Option<(usize, Ty)> {
        match *self.types.kind(ty) {
            Kind::Struct(_) => Some((0, ty)),
            Kind::Array { element, .. } if matches!(self.types.kind(element), Kind::Struct(_)) => Some((1, element)),
            _ => None,
        }
    }
}
