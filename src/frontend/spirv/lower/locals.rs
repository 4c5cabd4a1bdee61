//! Variables of the invocation: registers, or an array where an index chooses among them.

use shaderjit_ir::{Array, Type, Value};

use super::Lowering;
use super::types::Scalar;
use super::variables::Storage;
use crate::error::LowerError;

impl Lowering<'_> {
    pub(super) fn load_local(
        &mut self,
        local: usize,
        first: u32,
        count: u32,
        steps: &[(Value, u32)],
        component: Option<(Value, u32)>,
    ) -> Result<Vec<Value>, LowerError> {
        // An index of a component chooses among all of them.
        let loaded = component.map_or(count, |(_, components)| components);
        let scalars: Vec<Value> = match self.variables.locals[local].storage.clone() {
            Storage::Registers(variables) => {
                let Some(range) = variables.get(first as usize..(first + loaded) as usize) else {
                    return Err(self.invalid("a pointer behind the end of a variable"));
                };
                if !steps.is_empty() {
                    return Err(self.invalid("an index of a variable that was not found"));
                }
                range.iter().map(|&variable| self.b.use_var(variable)).collect()
            }
            Storage::Array { array, scalars } => {
                let dynamic = self.sum(steps, 1, false);
                let mut values = Vec::with_capacity(loaded as usize);
                for number in first..first.saturating_add(loaded) {
                    let Some(&scalar) = scalars.get(number as usize) else {
                        return Err(self.invalid("a pointer behind the end of a variable"));
                    };
                    let index = self.array_index(number, dynamic);
                    values.push(self.array_load(array, scalar, index));
                }
                values
            }
        };
        match component {
            Some((index, _)) => Ok(vec![self.chosen(index, &scalars)]),
            None => Ok(scalars),
        }
    }

    /// The one of several values that an index chooses; the last, if it is out of range.
    pub(super) fn chosen(&mut self, index: Value, scalars: &[Value]) -> Value {
        let (&last, others) = scalars.split_last().expect("a vector has components");
        others.iter().enumerate().rev().fold(last, |rest, (number, &scalar)| {
            let number = self.b.i32(number as u32);
            let is_it = self.b.ieq([index, number]);
            self.b.select([is_it, scalar, rest])
        })
    }

    pub(super) fn store_local(
        &mut self,
        local: usize,
        first: u32,
        steps: &[(Value, u32)],
        component: Option<(Value, u32)>,
        scalars: &[Value],
    ) -> Result<(), LowerError> {
        let scalars = match component {
            Some((index, count)) => {
                let old = self.load_local(local, first, count, steps, None)?;
                let &[new] = scalars else { return Err(self.invalid("a component of several scalars")) };
                let mut all = Vec::with_capacity(old.len());
                for (number, old) in (0..).zip(old) {
                    if self.b.ty(old) != self.b.ty(new) {
                        return Err(self.invalid("a component of another type"));
                    }
                    let number = self.b.i32(number);
                    let is_it = self.b.ieq([index, number]);
                    all.push(self.b.select([is_it, new, old]));
                }
                all
            }
            None => scalars.to_vec(),
        };
        let range = first as usize..(first as usize).saturating_add(scalars.len());
        let variable = &mut self.variables.locals[local];
        if steps.is_empty() {
            variable.written.get_mut(range.clone()).into_iter().for_each(|written| written.fill(true));
        } else {
            variable.written.fill(true);
        }
        match variable.storage.clone() {
            Storage::Registers(variables) => match variables.get(range) {
                Some(variables) if steps.is_empty() => self.assign(variables, &scalars),
                _ => Err(self.invalid("a pointer behind the end of a variable")),
            },
            Storage::Array { array, scalars: kinds } => {
                let dynamic = self.sum(steps, 1, false);
                for (number, value) in range.zip(scalars) {
                    let Some(&kind) = kinds.get(number).filter(|kind| kind.ir() == self.b.ty(value)) else {
                        return Err(self.invalid("a pointer behind the end of a variable"));
                    };
                    let index = self.array_index(number as u32, dynamic);
                    self.array_store(array, kind, index, value);
                }
                Ok(())
            }
        }
    }

    pub(super) fn array_index(&mut self, number: u32, dynamic: Option<Value>) -> Value {
        let number = self.b.i32(number);
        match dynamic {
            Some(dynamic) => self.b.iadd([dynamic, number]),
            None => number,
        }
    }

    pub(super) fn array_load(&mut self, array: Array, scalar: Scalar, index: Value) -> Value {
        match scalar.ir() {
            Type::I1 => {
                let word = self.b.array_load(Type::I32, array, 0, index);
                self.is_true(word)
            }
            Type::F64 => {
                let words = [0, 1].map(|component| self.b.array_load(Type::I32, array, component, index));
                self.b.f64join(words)
            }
            ty => self.b.array_load(ty, array, 0, index),
        }
    }

    pub(super) fn array_store(&mut self, array: Array, scalar: Scalar, index: Value, value: Value) {
        match scalar.ir() {
            Type::I1 => {
                let word = self.truth(value);
                self.b.array_store(array, 0, index, word);
            }
            Type::F64 => {
                let (low, high) = (self.b.f64lo([value]), self.b.f64hi([value]));
                self.b.array_store(array, 0, index, low);
                self.b.array_store(array, 1, index, high);
            }
            _ => self.b.array_store(array, 0, index, value),
        }
    }

    /// Whether a word is not zero.
    pub(super) fn is_true(&mut self, word: Value) -> Value {
        let zero = self.b.i32(0);
        self.b.ine([word, zero])
    }

    /// 1 or 0.
    pub(super) fn truth(&mut self, value: Value) -> Value {
        let [one, zero] = [1, 0].map(|bits| self.b.i32(bits));
        self.b.select([value, one, zero])
    }
}
