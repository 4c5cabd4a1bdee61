//! A type that only the verifier makes: what a back end takes, so that no unchecked function becomes code.

use super::{Verifier, VerifyErrors};
use crate::batch::fill_waves;
use crate::entity::Value;
use crate::function::Function;
use crate::set::EntitySet;
use crate::uniform::uniform_values;
use std::ops::Deref;

/// A function that keeps every [rule](super::Rule), is in lockstep form, and has plain ops only. It cannot be changed.
///
/// ```
/// use shaderjit_ir::verify::Verified;
///
/// let mut b = shaderjit_ir::FunctionBuilder::new("f", 0, 0);
/// b.ret();
/// let mut function = b.finish();
/// function.lockstep = true; // nothing diverges
/// assert!(Verified::new(function).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Verified(Function);

impl Verified {
    /// Checks a function.
    ///
    /// # Errors
    /// The rules it breaks, those of [`verify`](super::verify) and those of the form.
    pub fn new(func: Function) -> Result<Verified, VerifyErrors> {
        let mut verifier = Verifier::new(&func);
        match verifier.run().and_then(|()| verifier.stage(Verifier::back_end_form)) {
            Ok(()) => Ok(Verified(func)),
            Err(errors) => Err(errors),
        }
    }

    /// Checks the function of a [batch program](crate::batch) for waves of so many lanes, which has ops that others
    /// have not, and gives it back with its [uniform values](crate::uniform).
    pub(crate) fn batch(func: Function, wave: usize) -> Result<(Function, EntitySet<Value>), VerifyErrors> {
        let fills_waves = fill_waves(&func, wave);
        let mut verifier = Verifier { is_batch: true, fills_waves, ..Verifier::new(&func) };
        verifier.run().and_then(|()| verifier.stage(Verifier::back_end_form))?;
        let uniform = verifier.uniform.take().unwrap_or_else(|| uniform_values(&func));
        Ok((func, uniform))
    }

    /// The function, to be changed.
    pub fn into_inner(self) -> Function {
        self.0
    }
}

impl Deref for Verified {
    type Target = Function;

    fn deref(&self) -> &Function {
        &self.0
    }
}
