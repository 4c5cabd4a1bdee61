//! Composites: which scalars of which operands a value has. Nothing is computed but what an index chooses.

use std::rc::Rc;

use shaderjit_ir::{Type, Value};
use spirv::Op;

use super::types::{Kind, Scalar, Ty};
use super::{Def, Lowering};
use crate::error::LowerError;
use crate::frontend::spirv::decode::Instruction;

impl Lowering<'_> {
    /// Lowers an instruction on composites.
    pub(super) fn composite(&mut self, opcode: Op, instruction: &Instruction<'_>) -> Result<(), LowerError> {
        let &[ty, id, ref operands @ ..] = instruction.operands() else { return Err(self.malformed(instruction)) };
        if opcode == Op::CopyObject {
            // Whatever it is: pointers and images as well.
            let &[from] = operands else { return Err(self.malformed(instruction)) };
            let def = self.def(from)?;
            return self.define(id, def);
        }
        let ty = self.value_type(ty)?;
        let scalars: Vec<Value> = match (opcode, operands) {
            (Op::CompositeConstruct, parts) => {
                let mut scalars = Vec::with_capacity(self.types.scalars(ty) as usize);
                for &part in parts {
                    scalars.extend_from_slice(&self.value(part)?.1);
                    self.limit("number of scalars of a value", scalars.len() as u64, super::types::MAX_SCALARS.into())?;
                }
                scalars
            }
            (Op::CompositeExtract, &[composite, ref indices @ ..]) => {
                let (from, scalars) = self.value(composite)?;
                let (part, first) = self.part(from, indices)?;
                if part != ty {
                    return Err(self.malformed(instruction));
                }
                scalars[first..first + self.types.scalars(part) as usize].to_vec()
            }
            (Op::CompositeInsert, &[object, composite, ref indices @ ..]) => {
                let (whole, scalars) = self.value(composite)?;
                let (given, object) = self.value(object)?;
                let (part, first) = self.part(whole, indices)?;
                if part != given || whole != ty {
                    return Err(self.malformed(instruction));
                }
                let mut scalars = scalars.to_vec();
                scalars[first..first + object.len()].copy_from_slice(&object);
                scalars
            }
            (Op::VectorShuffle, &[first, second, ref components @ ..]) => {
                let (all, second) = (self.value(first)?.1, self.value(second)?.1);
                let all: Vec<Value> = all.iter().chain(second.iter()).copied().collect();
                let mut scalars = Vec::with_capacity(components.len());
                for &component in components {
                    scalars.push(match all.get(component as usize) {
                        Some(&scalar) => scalar,
                        // No component: anything will do.
                        None if component == u32::MAX => all[0],
                        None => return Err(self.malformed(instruction)),
                    });
                }
                scalars
            }
            (Op::VectorExtractDynamic, &[vector, index]) => {
                let (vector, index) = (self.value(vector)?.1, self.integer(index)?);
                vec![self.chosen(index, &vector)]
            }
            (Op::VectorInsertDynamic, &[vector, component, index]) => {
                let (vector, component) = (self.value(vector)?.1, self.scalar(component)?);
                let index = self.integer(index)?;
                let mut scalars = Vec::with_capacity(vector.len());
                for (number, &old) in (0..).zip(vector.iter()) {
                    self.same_types(&[old], &[component])?;
                    let number = self.b.i32(number);
                    let is_it = self.b.ieq([index, number]);
                    scalars.push(self.b.select([is_it, component, old]));
                }
                scalars
            }
            // The same scalars in a type that lies otherwise in memory.
            (Op::CopyLogical, &[from]) => self.value(from)?.1.to_vec(),
            (Op::Transpose, &[matrix]) => {
                let (from, scalars) = self.value(matrix)?;
                let Some((rows, columns)) = self.types.matrix(from) else { return Err(self.malformed(instruction)) };
                let at = |row: u32, column: u32| scalars[(column * rows + row) as usize];
                (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).map(|(r, c)| at(r, c)).collect()
            }
            (Op::Select, &[condition, then, other]) => {
                return self.select(instruction, (ty, id), condition, then, other);
            }
            _ => return Err(self.malformed(instruction)),
        };
        self.check_type(ty, &scalars)?;
        self.define_value(id, ty, scalars)
    }

    /// The part of a type that literal indices lead to, and the number of its first scalar.
    fn part(&self, mut ty: Ty, indices: &[u32]) -> Result<(Ty, usize), LowerError> {
        let mut first = 0;
        for &index in indices {
            let part = self.types.part(ty, index);
            let (part, offset) = part.ok_or_else(|| self.invalid(format!("part {index} of what has fewer")))?;
            (ty, first) = (part, first + offset as usize);
        }
        Ok((ty, first))
    }

    fn select(
        &mut self,
        instruction: &Instruction<'_>,
        (ty, id): (Ty, u32),
        condition: u32,
        then: u32,
        other: u32,
    ) -> Result<(), LowerError> {
        if let (Def::Pointer(_) | Def::Handle(_), _) | (_, Def::Pointer(_) | Def::Handle(_)) =
            (self.def(then)?, self.def(other)?)
        {
            return Err(self.unsupported("OpSelect of pointers"));
        }
        let (conditions, then, other) = (self.value(condition)?.1, self.value(then)?.1, self.value(other)?.1);
        self.same_types(&then, &other)?;
        if conditions.is_empty() || conditions.len() != 1 && conditions.len() != then.len() {
            return Err(self.malformed(instruction));
        }
        if conditions.iter().any(|&condition| self.b.ty(condition) != Type::I1) {
            return Err(self.malformed(instruction));
        }
        let each = conditions.iter().cycle().zip(then.iter().zip(other.iter()));
        let scalars: Rc<[Value]> =
            each.map(|(&condition, (&then, &other))| self.b.select([condition, then, other])).collect();
        self.check_type(ty, &scalars)?;
        self.define_value(id, ty, scalars)
    }

    /// That values are as many as others, and of the same types.
    pub(super) fn same_types(&self, a: &[Value], b: &[Value]) -> Result<(), LowerError> {
        if a.len() != b.len() || a.iter().zip(b).any(|(&a, &b)| self.b.ty(a) != self.b.ty(b)) {
            return Err(self.invalid("operands of different types"));
        }
        Ok(())
    }

    /// That values can be the scalars of a type.
    pub(super) fn check_type(&self, ty: Ty, scalars: &[Value]) -> Result<(), LowerError> {
        let kinds = self.types.flatten(ty);
        if kinds.len() != scalars.len() || kinds.iter().zip(scalars).any(|(kind, &value)| kind.ir() != self.b.ty(value))
        {
            return Err(self.invalid("a result of another type"));
        }
        Ok(())
    }

    /// The scalar type of each component of a vector, or of a scalar, and how many there are.
    pub(super) fn vector(&self, ty: Ty) -> Result<(Scalar, usize), LowerError> {
        match (self.types.kind(ty), self.types.scalar(ty)) {
            (Kind::Scalar(_) | Kind::Vector { .. }, Some(scalar)) => Ok((scalar, self.types.scalars(ty) as usize)),
            _ => Err(self.invalid("neither a scalar nor a vector")),
        }
    }
}
