//! Values as TOML has them: numbers and lists of them, as components of inputs and as variables of constant buffers.

use serde::Deserialize;
use shaderjit::error::CallError;
use shaderjit::{Call, ComponentType, Scalar, UniformValue};

/// A number, or lists of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    /// A name that stands for a value.
    Name(String),
    List(Vec<Value>),
}

impl Value {
    /// The bits that a number has as a component of that type.
    pub fn bits(&self, ty: ComponentType) -> Result<u32, String> {
        let fits = |value: i64| u32::try_from(value).ok().or(i32::try_from(value).ok().map(|value| value as u32));
        match (self, ty) {
            (&Value::Float(value), ComponentType::F32) => Ok((value as f32).to_bits()),
            (&Value::Integer(value), ComponentType::F32) => Ok((value as f32).to_bits()),
            (&Value::Integer(value), _) => fits(value).ok_or_else(|| format!("{value} has more than 32 bits")),
            (&Value::Bool(value), _) => Ok(value.into()),
            (Value::Float(value), _) => Err(format!("{value} is no integer")),
            (Value::Name(name), _) => Err(format!("{name:?} stands where a number is wanted")),
            (Value::List(_), _) => Err("a list stands where a number is wanted".to_string()),
        }
    }

    /// The value with those that names stand for.
    pub fn resolved(&self, known: &dyn Fn(&str) -> Option<Value>) -> Result<Value, String> {
        match self {
            Value::Name(name) => known(name).ok_or_else(|| format!("nothing is named {name:?}")),
            Value::List(values) => {
                values.iter().map(|value| value.resolved(known)).collect::<Result<_, _>>().map(Value::List)
            }
            number => Ok(number.clone()),
        }
    }

    /// The components of a row; one number is a row of one.
    fn row(&self, ty: ComponentType) -> Result<Vec<u32>, String> {
        match self {
            Value::List(numbers) => numbers.iter().map(|number| number.bits(ty)).collect(),
            number => Ok(vec![number.bits(ty)?]),
        }
    }

    /// Rows, and whether they are one a vertex.
    pub fn rows(&self, ty: ComponentType) -> Result<(Vec<Vec<u32>>, bool), String> {
        match self {
            Value::List(rows) if rows.iter().any(|row| matches!(row, Value::List(_))) => {
                Ok((rows.iter().map(|row| row.row(ty)).collect::<Result<_, _>>()?, true))
            }
            row => Ok((vec![row.row(ty)?], false)),
        }
    }

    /// Every number, in order.
    pub fn numbers<'v>(&'v self, all: &mut Vec<&'v Value>) {
        match self {
            Value::List(values) => values.iter().for_each(|value| value.numbers(all)),
            number => all.push(number),
        }
    }
}

/// A value as a constant of one of the types that it may be.
struct As<'v, const SCALAR: u8>(&'v Value);

const SCALARS: [(Scalar, ComponentType); 4] = [
    (Scalar::F32, ComponentType::F32),
    (Scalar::I32, ComponentType::I32),
    (Scalar::U32, ComponentType::U32),
    (Scalar::Bool, ComponentType::U32),
];

impl<const SCALAR: u8> UniformValue for As<'_, SCALAR> {
    const SCALAR: Scalar = SCALARS[SCALAR as usize].0;

    fn lengths(&self, lengths: &mut Vec<usize>) {
        let mut value = self.0;
        while let Value::List(values) = value {
            lengths.push(values.len());
            match values.first() {
                Some(first) => value = first,
                None => break,
            }
        }
    }

    fn words(&self, words: &mut Vec<u32>) {
        let mut numbers = Vec::new();
        self.0.numbers(&mut numbers);
        words.extend(numbers.iter().map(|number| number.bits(SCALARS[SCALAR as usize].1).unwrap_or_default()));
    }
}

/// Sets a variable to a value of the type that it has.
pub fn set(call: &mut Call<'_>, name: &str, value: &Value) -> Result<(), CallError> {
    let mut numbers = Vec::new();
    value.numbers(&mut numbers);
    let are_numbers = numbers.iter().all(|number| matches!(number, Value::Integer(_)));
    let are_bools = numbers.iter().all(|number| matches!(number, Value::Bool(_)));
    let mut outcome = if are_bools { call.set(name, As::<3>(value)) } else { call.set(name, As::<0>(value)) }.map(drop);
    if are_numbers && !are_bools {
        // Written without a point it may be any number.
        for number in 1..4 {
            if !matches!(outcome, Err(CallError::TypeMismatch { .. })) {
                break;
            }
            let again = match number {
                1 => call.set(name, As::<1>(value)).map(drop),
                2 => call.set(name, As::<2>(value)).map(drop),
                _ => call.set(name, As::<3>(value)).map(drop),
            };
            outcome = again.or(outcome);
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_they_are_bound_to() {
        assert_eq!(Value::Integer(2).bits(ComponentType::F32), Ok(2.0f32.to_bits()));
        assert_eq!(Value::Integer(-1).bits(ComponentType::U32), Ok(u32::MAX));
        assert!(Value::Integer(1 << 32).bits(ComponentType::I32).is_err());
        assert!(Value::Float(0.5).bits(ComponentType::U32).is_err());
    }

    #[test]
    fn names_stand_for_values() {
        let known = |name: &str| (name == "two").then_some(Value::Integer(2));
        let list = |name: &str| Value::List(vec![Value::Name(name.to_string()), Value::Float(0.5)]);
        assert_eq!(list("two").resolved(&known), Ok(Value::List(vec![Value::Integer(2), Value::Float(0.5)])));
        assert_eq!(list("three").resolved(&known), Err("nothing is named \"three\"".to_string()));
        assert!(Value::Name("two".to_string()).bits(ComponentType::F32).is_err());
    }
}
