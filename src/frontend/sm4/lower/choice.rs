//! What an operand names: one constant buffer, view or sampler, or the one of several that an index chooses at run
//! time.
//!
//! Shader model 5.1 declares ranges of registers, and instructions name a range and a register in it. The IR has no
//! index of resources, so a dynamic one becomes an access for each register of the range. Accesses through views and
//! samplers lie under a `switch`: an index that is the same in all lanes costs one access, and one that differs as many
//! as there are different values. Rows of constant buffers are all loaded and selected among, so that what is uniform
//! is still computed once a call. A register that the range does not have reads zero, as one to which nothing is bound.

use std::ops::RangeInclusive;

use shaderjit_ir::{Block, Type, Value};

use super::Lowering;
use super::operand::{Place, as_float};
use super::registers::Refusal;
use crate::error::LowerError;
use crate::frontend::sm4::declaration::Binding;
use crate::frontend::sm4::operand::{Mask, Operand};

/// One of a kind, or one of several.
pub(super) enum Choice<T> {
    /// It is known.
    One(T),
    /// It is the one whose number `chosen` is, if there is such a one.
    Among { chosen: Value, numbered: Vec<(u32, T)> },
}

/// What an instruction writes to each component of its destination; nothing for those that are not in its mask.
pub(super) type Answer = [Option<Value>; 4];

impl Lowering {
    /// The declaration that an operand of a view or sampler names, and the register.
    pub(super) fn named(&mut self, operand: &Operand, what: &str) -> Result<(u32, Place), LowerError> {
        let [id, register] = match operand.index_count() {
            1 => {
                let [id] = self.places(operand)?;
                [id, id]
            }
            // Shader model 5.1 names the range first, then the register in it.
            _ => self.places(operand)?,
        };
        match id {
            Place { base: id, dynamic: None } => Ok((id, register)),
            _ => Err(self.unsupported(format!("a dynamic choice of {what}"))),
        }
    }

    /// What an operand names by its register, of a declaration that has the range `binding`.
    pub(super) fn choice<T>(
        &mut self,
        binding: Option<Binding>,
        register: Place,
        mut get: impl FnMut(&mut Lowering, u32) -> Result<T, Refusal>,
    ) -> Result<Choice<T>, LowerError> {
        let offset = self.offset;
        let mut get = |this: &mut Lowering, register| get(this, register).map_err(|refusal| refusal.at(offset));
        let (Some(binding), Some(_)) = (binding, register.dynamic) else {
            // That something is not declared is for `get` to say.
            return Ok(Choice::One(get(self, register.base)?));
        };
        let mut numbered = Vec::new();
        // How long the range may be is bounded by how many things of its kind there may be.
        for slot in self.slots(binding)? {
            numbered.push((slot, get(self, slot)?));
        }
        Ok(Choice::Among { chosen: self.index_value(register), numbered })
    }

    /// The registers of a range that a dynamic index may name.
    fn slots(&self, binding: Binding) -> Result<RangeInclusive<u32>, LowerError> {
        if !binding.is_unbounded() {
            return Ok(binding.slots());
        }
        let what = "a dynamic choice from a range without an end, whose length the options do not say";
        let length = self.options.unbounded.ok_or_else(|| self.unsupported(what))?;
        Ok(binding.lower..=binding.lower.saturating_add(length.get() - 1))
    }

    /// What `access` gives for the components of `mask` with the view or sampler that is chosen; zeros if there is no
    /// such one.
    pub(super) fn access<T: Copy>(
        &mut self,
        choice: &Choice<T>,
        mask: Mask,
        mut access: impl FnMut(&mut Lowering, T) -> Result<Answer, LowerError>,
    ) -> Result<Answer, LowerError> {
        let (chosen, numbered) = match choice {
            Choice::One(one) => return access(self, *one),
            Choice::Among { chosen, numbered } => (*chosen, numbered),
        };
        self.cost.add_chosen_accesses(numbered.len() as u64).map_err(|refusal| refusal.at(self.offset))?;
        self.among(chosen, numbered, mask, access)
    }

    /// What `access` gives for the components of `mask` with the one of some numbered that is chosen, each in a block
    /// of its own; zeros if none is.
    pub(super) fn among<T: Copy>(
        &mut self,
        chosen: Value,
        numbered: &[(u32, T)],
        mask: Mask,
        mut access: impl FnMut(&mut Lowering, T) -> Result<Answer, LowerError>,
    ) -> Result<Answer, LowerError> {
        let mut results = [None; 4];
        let zero = self.b.f32(0.0);
        for component in mask.components() {
            let variable = self.b.declare_var(Type::F32);
            self.b.def_var(variable, zero);
            results[component.index()] = Some(variable);
        }
        let arms: Vec<(u32, Block)> = numbered.iter().map(|&(number, _)| (number, self.b.create_block())).collect();
        let exit = self.b.create_block();
        self.b.switch(chosen, &arms, exit);
        self.flow.live = false;
        for (&(_, block), &(_, one)) in arms.iter().zip(numbered) {
            self.start_joined(block);
            let answer = access(self, one)?;
            for (word, variable) in answer.into_iter().zip(results) {
                if let (Some(word), Some(variable)) = (word, variable) {
                    let word = as_float(&mut self.b, word);
                    self.b.def_var(variable, word);
                }
            }
            self.jump(exit);
        }
        self.start_joined(exit);
        Ok(results.map(|variable| variable.map(|variable| self.b.use_var(variable))))
    }

    /// What `load` gives of the constant buffer that is chosen; zero if there is no such one.
    pub(super) fn select<T: Copy>(
        &mut self,
        choice: &Choice<T>,
        ty: Type,
        mut load: impl FnMut(&mut Lowering, T) -> Value,
    ) -> Result<Value, LowerError> {
        let (chosen, numbered) = match choice {
            Choice::One(one) => return Ok(load(self, *one)),
            Choice::Among { chosen, numbered } => (*chosen, numbered),
        };
        self.cost.add_chosen_constants(numbered.len() as u64).map_err(|refusal| refusal.at(self.offset))?;
        let mut value = self.b.constant(ty, 0);
        for &(number, one) in numbered {
            let loaded = load(self, one);
            let number = self.b.i32(number);
            let is_chosen = self.b.ieq([chosen, number]);
            value = self.b.select([is_chosen, loaded, value]);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
