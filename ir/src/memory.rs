//! Memory that functions write: buffers, views of texels, and what the invocations of a group share. What lies where
//! is its caller's to say, through [`Textures`](crate::texture::Textures); so every engine gets the same bits.
//!
//! *Order of effects.* The invocations of a group run in waves. What they write happens by phase, wave and lane: all
//! waves come to a [barrier](Op::Barrier) before any goes on; between two barriers one wave runs after the other; and
//! an instruction writes lane by lane. With several threads at work the order among groups is free.
//!
//! *Who writes.* Lanes that are [active](crate::op::SysVal::Active), no others: `lockstep` puts every op that writes
//! under a mask, and the verifier follows each mask back to there. Nothing that writes runs twice: a function has
//! either guards or writes.

use crate::entity::Value;
use crate::function::Function;
use crate::op::{Memory, Op};
use crate::set::EntitySet;
use crate::types::Type;
use std::fmt;

/// What kind of memory a resource is that functions write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Bytes that the caller binds.
    Buffer,
    /// Elements or texels of a format that the caller binds.
    Texels,
    /// So many bytes that the invocations of a group share, zero when it begins.
    Shared(u32),
}

impl MemoryKind {
    /// Why `op` cannot access this kind; none if it can.
    pub fn objection(self, op: Op) -> Option<&'static str> {
        let is_texels = matches!(self, MemoryKind::Texels);
        match op {
            Op::TexelLoad | Op::TexelStore | Op::TexelStoreMasked | Op::TexelAtomic | Op::TexelAtomicMasked => {
                (!is_texels).then_some("it has bytes and no texels")
            }
            Op::MemorySize => None,
            _ if !is_memory_op(op) => Some("it is memory that is written"),
            _ => is_texels.then_some("it has texels and no bytes"),
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryKind::Buffer => f.write_str("buffer"),
            MemoryKind::Texels => f.write_str("texels"),
            MemoryKind::Shared(bytes) => write!(f, "shared {bytes}"),
        }
    }
}

macro_rules! define_functions {
    ($( $(#[$doc:meta])* $name:ident $text:literal |$old:ident, $value:ident, $compare:ident| $new:expr; )*) => {
        /// What an atomic op makes of a word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AtomicFunction { $( $(#[$doc])* $name, )* }

        impl AtomicFunction {
            /// Every function.
            pub const ALL: &'static [AtomicFunction] = &[$( AtomicFunction::$name, )*];

            /// The name in the text form.
            pub const fn name(self) -> &'static str { match self { $( AtomicFunction::$name => $text, )* } }

            /// The word that takes the place of the old one.
            pub fn apply(self, old: u32, value: u32, compare: u32) -> u32 {
                match self { $( AtomicFunction::$name => { let ($old, $value, $compare) = (old, value, compare); $new } )* }
            }
        }
    };
}
define_functions! {
    /// The sum, modulo 2^32.
    Add "iadd" |old, value, _compare| old.wrapping_add(value);
    /// Bitwise and.
    And "and" |old, value, _compare| old & value;
    /// Bitwise or.
    Or "or" |old, value, _compare| old | value;
    /// Bitwise exclusive or.
    Xor "xor" |old, value, _compare| old ^ value;
    /// Signed minimum.
    Smin "smin" |old, value, _compare| (old as i32).min(value as i32) as u32;
    /// Signed maximum.
    Smax "smax" |old, value, _compare| (old as i32).max(value as i32) as u32;
    /// Unsigned minimum.
    Umin "umin" |old, value, _compare| old.min(value);
    /// Unsigned maximum.
    Umax "umax" |old, value, _compare| old.max(value);
    /// The value.
    Exchange "exchange" |_old, value, _compare| value;
    /// The value, if the old word is the second of the row, else that.
    CompareExchange "compare_exchange" |old, value, compare| if old == compare { value } else { old };
}

/// Whether an op accesses memory that functions write.
pub const fn is_memory_op(op: Op) -> bool {
    matches!(op.memory(), Some(Memory::Buffer)) || matches!(op, Op::MemorySize)
}

impl Function {
    /// Whether it writes memory of its caller's or of its group.
    pub fn writes_memory(&self) -> bool {
        self.has_on_memory(Op::writes_buffers)
    }

    /// Whether it reads or writes any.
    pub(crate) fn accesses_memory(&self) -> bool {
        self.has_on_memory(|op| op.memory() == Some(Memory::Buffer))
    }

    fn has_on_memory(&self, is_such: impl Fn(Op) -> bool) -> bool {
        // Most functions have no such memory, and are asked often.
        let mut insts = self.layout.iter().flat_map(|&block| self.insts_in(block));
        self.resources.values().any(|data| data.memory.is_some()) && insts.any(|inst| is_such(inst.op))
    }
}

/// The `i1` values of a function that hold in active lanes only. Starts from "all of them" and takes back what is not,
/// until nothing changes.
pub(crate) fn active_values(func: &Function) -> EntitySet<Value> {
    let mut active = EntitySet::with_capacity(func.values.len());
    for &block in &func.layout {
        active.extend(func.defs_in(block).filter(|&value| func.ty(value) == Type::I1));
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &func.layout {
            for inst in func.insts_in(block) {
                let Some(result) = inst.result.filter(|&result| active.contains(result)) else { continue };
                let has = |at: usize| active.contains(inst.args[at]);
                let is_active = match inst.op {
                    Op::And => has(0) || has(1),
                    Op::Or => has(0) && has(1),
                    Op::Select => (has(1) || has(0) && func.constant(inst.args[2]) == Some(0)) && (has(2)),
                    Op::Ine => is_active_test(func, inst.args[0], inst.args[1]),
                    Op::Const => func.constant(result) == Some(0),
                    // What was kept in a slot is followed back in the function that it was made of.
                    Op::SlotLoad => true,
                    _ => false,
                };
                if !is_active {
                    changed |= active.remove(result);
                }
            }
            let given: Vec<(Value, Value)> = func.passed(block).collect();
            for (param, arg) in given {
                if func.ty(param) == Type::I1 && !active.contains(arg) {
                    changed |= active.remove(param);
                }
            }
        }
    }
    active
}

/// Whether one is [`SysVal::Active`](crate::op::SysVal::Active) and the other zero.
fn is_active_test(func: &Function, a: Value, b: Value) -> bool {
    let reads = |value| {
        let imm = crate::function::Imm::SysVal(crate::op::SysVal::Active);
        func.def_inst(value).is_some_and(|inst| inst.op == Op::Sysval && inst.imm == imm)
    };
    let is_zero = |value| func.constant(value) == Some(0);
    reads(a) && is_zero(b) || reads(b) && is_zero(a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_do_what_they_are_called() {
        let made = |function: AtomicFunction| function.apply(0x8000_0001, 3, 0x8000_0001);
        let made: Vec<u32> = AtomicFunction::ALL.iter().map(|&function| made(function)).collect();
        let [low, high] = [0x8000_0001, 3];
        assert_eq!(made, [0x8000_0004, 1, 0x8000_0003, 0x8000_0002, low, high, high, low, 3, 3]);
        assert_eq!(AtomicFunction::CompareExchange.apply(7, 3, 8), 7);
    }
}
