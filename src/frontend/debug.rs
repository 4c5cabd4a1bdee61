//! What the variables and arrays of a function are called in the program it was lowered from: beside the IR's records,
//! all that a trace needs to speak the program's language.

use foldhash::HashMap;
use shaderjit_ir::records::Records;
use shaderjit_ir::{Array, Variable};
use std::fmt;

/// A component of a register of the program, or a register that is one number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegisterName {
    /// As listings have it: `r3`, `x0[5]`, `oDepth`, `aL`.
    pub register: String,
    /// 0 to 3 for x to w; none of what has no components.
    pub component: Option<u8>,
}

impl RegisterName {
    /// A component of a numbered register.
    pub(crate) fn numbered(letters: &str, number: u32, component: u8) -> RegisterName {
        RegisterName { register: format!("{letters}{number}"), component: Some(component) }
    }

    /// A register that is one number.
    pub(crate) fn alone(name: impl Into<String>) -> RegisterName {
        RegisterName { register: name.into(), component: None }
    }

    /// `x`, `y`, `z` or `w`.
    pub fn letter(&self) -> Option<char> {
        self.component.map(|component| ['x', 'y', 'z', 'w'][usize::from(component & 3)])
    }
}

impl fmt::Display for RegisterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.register)?;
        self.letter().map_or(Ok(()), |letter| write!(f, ".{letter}"))
    }
}

/// What the cells of an array are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArrayName {
    /// The elements of one register: `x0[5]`.
    Indexed(String),
    /// Registers that follow each other from a number on: `o3`.
    Registers(&'static str, u32),
    /// Output registers of control points, so many of each.
    Points(u32),
    /// Registers of one component a cell, as far as they have names.
    Cells(Vec<Option<RegisterName>>),
}

impl ArrayName {
    /// What a component of an element is.
    pub fn cell(&self, element: u32, component: u8) -> Option<RegisterName> {
        Some(match self {
            ArrayName::Indexed(name) => {
                RegisterName { register: format!("{name}[{element}]"), component: Some(component) }
            }
            ArrayName::Registers(letters, first) => {
                RegisterName::numbered(letters, first.wrapping_add(element), component)
            }
            &ArrayName::Points(registers) => {
                let (point, register) = (element.checked_div(registers)?, element % registers);
                RegisterName { register: format!("o{register}[{point}]"), component: Some(component) }
            }
            ArrayName::Cells(names) => names.get(element as usize)?.clone()?,
        })
    }
}

/// What a trace needs to know of a function.
#[derive(Clone, Debug)]
pub struct DebugInfo {
    /// Where instructions begin, and what they write.
    pub(crate) records: Box<Records>,
    /// The registers that variables are.
    pub(crate) registers: HashMap<Variable, RegisterName>,
    /// What arrays are.
    pub(crate) arrays: HashMap<Array, ArrayName>,
}
